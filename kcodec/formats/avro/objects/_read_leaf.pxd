"""Avro's values that have no others below them, as Python objects."""

from kcodec.formats.avro.objects._read_node cimport Node

# What reads the values of a node of a plan with the columns of `columns.layout`; its path is not set.
cdef Node make_leaf(object node, tuple columns, bint floor)

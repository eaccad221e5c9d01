"""Python objects without others below them, as Avro."""

from kcodec.formats.avro.objects._write_node cimport Node

# What writes the values of a node of a plan with the columns of `columns.layout`; its path is not set.
cdef Node make_leaf(object node, tuple columns, bint floor)

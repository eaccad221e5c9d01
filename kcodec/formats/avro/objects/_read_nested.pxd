"""Avro's records, collections and unions as Python objects."""

from kcodec.formats.avro.objects._read_node cimport Node

# What reads the values of a plan.
cdef Node make_root(object plan, object limits, object form)

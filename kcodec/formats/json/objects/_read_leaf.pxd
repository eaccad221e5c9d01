from kcodec.formats.json.objects._read_node cimport Node


# Make what reads a value that has no others in it.
cdef Node make_leaf(object node, object kind, int levels)

"""Where in a row a value stands that failed."""

from libc.stdint cimport int32_t

from kcodec.formats.avro.rows._context cimport Context
from kcodec.formats.avro.rows._program cimport Op
from kcodec.plan._program cimport Program


cdef str failed_path(const Context *context, Program program):
    """Return the path of the op that failed; empty if the row as a whole did."""
    cdef const Op *op = context.op
    cdef int32_t at
    path = ""
    if op == NULL:
        return path
    indexes = []
    # From the inside out; a CALL has a path of its own.
    for at in range(context.trail_size):
        if context.trail_items[at] >= 0:
            indexes.append(context.trail_items[at])
        else:
            path = _join(program.path(<int32_t>(op - context.ops), indexes[::-1]), path)
            op = context.trail_ops[at]
            indexes = []
    return _join(program.path(<int32_t>(op - context.ops), indexes[::-1]), path)


cdef str _join(str outer, str inner):
    return f"{outer}.{inner}" if outer and inner and inner[0] not in "[." else outer + inner

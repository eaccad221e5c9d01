"""What compiled plans of all formats have in common."""

from libc.stdint cimport int32_t, int64_t, uint8_t

from kcodec.columns.built._builder cimport Shape
from kcodec.wire.binary.status cimport Status


cdef struct Head:
    # The first members of every format's Op.
    int32_t code
    int32_t column
    int64_t place         # of the column, in bytes from the first `Column` or `Input`
    int32_t next          # how far it is to the op after this one and all that belongs to it


cdef class Program:
    cdef readonly object plan
    cdef readonly object limits
    cdef readonly Shape shape             # decoding: what its columns start from
    cdef readonly object layout
    cdef readonly int64_t expansion       # bytes that one run of every op may yield beyond its payload
    cdef readonly dict divisors           # decoding: list or map column -> least bytes of an item
    cdef readonly list costs              # encoding: per column, bytes that one of its values takes at most
    cdef set required                     # encoding: columns that must not be null, which PUT_REQUIRED checks
    cdef bint checking                    # these checks are being compiled
    cdef bint trusts_text                 # encoding: columns of text are known to be UTF-8
    cdef uint8_t *table                   # the ops
    cdef size_t op_bytes
    cdef int32_t count
    cdef int32_t stop                     # ops of the root
    cdef int32_t checked_stop             # encoding: from `stop` to here the same again, with checks
    cdef int32_t column_bytes
    cdef int32_t capacity
    cdef list keep                        # Python objects that ops point into
    cdef list paths                       # per op: steps, None where an index goes
    cdef list reasons                     # per op: a code and the op's own reason for it, or None

    cdef int grow(self) except -1
    cdef int32_t new_op(self, int32_t code, int32_t column, object path, object node) except -1
    cdef uint8_t *constant(self, object data, int64_t margin) except NULL
    cdef int least(self, int32_t column, int64_t size) except -1
    cdef int cost(self, int32_t column, int64_t size) except -1
    cdef object path(self, int32_t op, list indexes)
    cdef object fault(self, int64_t row, object offset, Status status, int32_t op, object path)
    cdef tuple failure(self, Status status, int32_t op, object path)


# The number by which kernels know a code of errors.
cdef int32_t status_of(object code) except -1


cdef inline tuple inside(tuple path, object name):
    """Go from a value to a member of it."""
    if not name:
        return path
    return (*path, f".{name}" if path else name)

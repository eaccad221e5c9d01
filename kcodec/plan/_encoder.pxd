"""The loop over the rows of columns that are encoded."""

from libc.stdint cimport int32_t, int64_t, uint8_t

from kcodec.columns.rows._binary cimport BinaryBuilder
from kcodec.columns.rows._rows cimport Int32Buffer
from kcodec.columns.written._inputs cimport Inputs, is_valid
from kcodec.plan._failures cimport Failures


cdef enum Answer:
    DONE
    GROW
    FAULT
    DISORDER
    FOUL
    OUT_OF_MEMORY


cdef struct Range:
    const void *table
    const void *first
    const void *stop


cdef class Encoder:
    cdef Inputs inputs
    cdef BinaryBuilder builder
    cdef Int32Buffer selector
    cdef list compiled         # the programs
    cdef int32_t programs
    cdef Range *ranges         # per program, all of its ops, and those that write a row; NULL: there is none
    cdef Failures failures
    cdef list told             # of rows that failed by programs that are not used any more
    cdef bint stop             # at the first failure
    cdef int64_t *costs        # per column: bytes that one of its values takes at most
    cdef int64_t *stretch      # per column: what a byte of its text or data becomes at most; NULL: 1
    cdef int64_t around        # bytes of a row beside those of its value
    cdef int64_t slop          # bytes behind a block that may be written over
    cdef int64_t block_rows
    cdef int64_t in_order      # the offsets of rows before this one have been looked at
    cdef int64_t one_by_one    # rows before this one are written one by one
    cdef bint trusting         # the programs take text for UTF-8

    cdef int use(self, list programs) except -1

    # What formats do.
    cdef bint put_rows(self, int64_t end) noexcept nogil
    cdef uint8_t *put_row(self, int64_t row, uint8_t *out, int32_t program) noexcept nogil
    cdef bint note(self, int64_t row, int32_t program) noexcept nogil

    cdef int64_t max_bytes(self, int64_t row, int64_t end) noexcept nogil
    cdef Answer advance(self) noexcept nogil
    cdef int tell(self) except -1
    cdef object encode(self, bint stop)


cdef inline int32_t program_of(Encoder encoder, int64_t row) noexcept nogil:
    """Return the row's program, or -1 if the row becomes null."""
    cdef const int32_t *chosen = encoder.selector.data
    cdef int32_t program = 0 if chosen == NULL else chosen[row]
    if program < 0 or program >= encoder.programs or encoder.ranges[program].first == NULL:
        return -1
    return program if is_valid(&encoder.inputs.columns[0], row) else -1

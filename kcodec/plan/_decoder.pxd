"""The loop over the rows of a column that is decoded."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

from kcodec.columns.built._builder cimport Builder
from kcodec.columns.rows._rows cimport Int32Buffer, Rows, Slice
from kcodec.plan._failures cimport Failures
from kcodec.plan._program cimport Program
from kcodec.wire.binary.cursor cimport unlikely
from kcodec.wire.binary.status cimport Status

cdef enum:
    MAX_ROWS = 512             # of a block, for any format
    MAX_ROOM = 16 << 20        # that is made for a block, in all columns together
    FEW_ROWS = 8               # of a block, for which these ask for their room rather than that there are fewer
    MANY_ROWS = 128            # of a column, and for each null row at most, for which leaving these out saves time
    SPARE = 16                 # bytes of items that a byte of a payload may yield before that counts as expansion


cdef enum Answer:
    GO_ON
    DONE
    GROW
    FAULT
    OVERSIZED
    OTHER_PREFIX
    OUT_OF_MEMORY


cdef class Decoder:
    cdef Rows rows
    cdef object picked         # the places of these in the column, if they are not all of it
    cdef Builder builder
    cdef Int32Buffer selector
    cdef Int32Buffer starts    # per row, where its payload starts
    cdef bytes prefix          # or what all rows start with,
    cdef const uint8_t *prefix_start
    cdef int64_t prefix_size
    cdef uint64_t prefix_word  # its first eight bytes
    cdef uint64_t prefix_mask  # and which bits of these it has
    cdef bint trailing         # anything may stand behind a value
    cdef Int32Buffer ends      # per row, where it ends
    cdef int64_t start         # where payloads start, without `starts`
    cdef bint bounded          # payloads do not all start there and end with their rows
    cdef list compiled         # the programs
    cdef int32_t programs
    cdef const void **tables   # per program, its ops; NULL: there is none
    cdef int32_t *stops        # and how many belong to its root
    cdef int64_t *divisor      # per list or map column: bytes that an item takes at least
    cdef int64_t expansion     # of all programs: bytes that a row may yield beyond its payload
    cdef int64_t block_rows    # a block is full with as many rows
    cdef int64_t block_bytes   # or when its rows hold as much
    cdef bint in_blocks        # the format has `read_together`,
    cdef bint unsliced         # which can do without slices where rows are adjacent
    cdef bint growing          # columns of the block in hand get their room value by value
    cdef bint always_growing   # and so for all blocks
    cdef int64_t most_rows     # of a block for which there is room
    cdef int64_t max_expansion
    cdef bint always_checked   # texts are always checked as they are read
    cdef bint stop             # at the first row that fails
    cdef Failures failures     # rows that failed, of formats that note them
    # The block in hand:
    cdef int64_t row           # its first
    cdef int64_t count         # of its rows
    cdef int64_t next          # how many of these are read
    cdef int64_t together      # how many are stored, but for those of which `read_together` knew better
    cdef int64_t payload       # bytes that they hold
    cdef int64_t extra         # room beyond these that blocks get
    cdef bint checked          # its texts are checked as they are read, to find the guilty one
    cdef bint sliced           # where they are stands in
    cdef Slice *slices

    # What formats do.
    cdef void begin(self, int64_t room) noexcept nogil
    cdef int64_t read_together(self) noexcept nogil
    cdef Status read_row(self, int64_t row, const Slice *slice, int32_t program) noexcept nogil
    cdef Answer fail_row(self, int64_t row, const Slice *slice, int32_t program) noexcept nogil
    cdef object fault(self, int64_t row, const Slice *slice, int32_t chosen)
    cdef int prepare(self, Program program) except -1

    cdef Int32Buffer of_rows(self, values, name)
    cdef const uint8_t *bounded_payload(self, int64_t row, const Slice *slice, const uint8_t **end) noexcept nogil
    cdef int64_t max_items_bytes(self, int64_t row, const Slice *slice) noexcept nogil
    cdef bint reads_alike(self) noexcept nogil
    cdef bint step_over_prefix(self) noexcept nogil
    cdef bint take_rows(self, int64_t row) noexcept nogil
    cdef void slice_rows(self) noexcept nogil
    cdef int64_t with_slack(self, int64_t first, int64_t count) noexcept nogil
    cdef int64_t room(self) noexcept nogil
    cdef const int64_t *divisors(self) noexcept nogil
    cdef int fit_block(self) except -1
    cdef Answer advance(self) noexcept nogil
    cdef object among_all(self, faults)
    cdef list behind_prefix(self, list faults)
    cdef object decode(self, bint stop)


cdef inline int32_t program_of(Decoder decoder, int64_t at) noexcept nogil:
    """Return the program of a row of the block, or -1 if the row is null."""
    cdef const int32_t *chosen = decoder.selector.data
    cdef int32_t program = 0 if chosen == NULL else chosen[decoder.row + at]
    if (
        decoder.slices[at].start == NULL or program < 0 or program >= decoder.programs
        or decoder.tables[program] == NULL
    ):
        return -1
    return program


cdef inline const uint8_t *payload_of(
    Decoder decoder, int64_t row, const Slice *slice, const uint8_t **end
) noexcept nogil:
    """Return where the payload of a row starts, and where it ends; NULL if that is not within the row."""
    if unlikely(decoder.bounded):
        return decoder.bounded_payload(row, slice, end)
    end[0] = slice.end
    return slice.start + decoder.start if decoder.start <= slice.end - slice.start else NULL

"""The loop over the rows of a column that is decoded, the same for all formats.

Rows are decoded in blocks: columns are given room for all that a block can hold, then its rows are read without a
check. Where that is too much room, blocks get fewer rows, and in the end none of it: then each text and item of a row
asks for its own. Text is checked for a block as a whole. If it is wrong, or a row fails before that is known, the
block is read again with each text checked where it stands, so that the first error of a row is found. A row that fails
is written over with null.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcmp

from kcodec.columns.built._builder cimport builder_of
from kcodec.columns.built._column cimport hide, set_null
from kcodec.columns.built._scatter cimport BEHIND, scatter
from kcodec.columns.rows._rows cimport SLACK, Int32Buffer, Rows, Slice
from kcodec.plan._program cimport Program
from kcodec.wire.binary.cursor cimport likely, load_le64, unlikely
from kcodec.wire.binary.status cimport NEED_ROOM, NO_MEMORY, OK, SIZE_LIMIT, Status

from kcodec.columns.faults import Faults, joined
from kcodec.plan.failure import OtherPrefix


cdef class Decoder:
    """Decodes one column; what it is given is that of `kcodec.plan.kernel.RowKernel.decode`, and more.

    `ends` (int32) has per row where the payload ends, and `start` is where payloads start without `starts`. `picked`
    (int32) has the only rows that are decoded, in order; the others are null. Null rows are left out likewise,
    unless they are few. What is left is read as a column of its own, and then put where it belongs (`scatter`).
    """

    def __init__(self, values, programs, selector, starts, ends, start, trailing, picked=None):
        cdef Program program
        cdef int32_t at
        self.rows = Rows(values, picked)
        if picked is None and self.rows.validity != NULL:
            if MANY_ROWS <= self.rows.length <= MANY_ROWS * values.null_count:
                picked = self.rows.leave_nulls()
        for program in programs:
            if program is not None:
                break
        self.picked = picked
        self.builder = builder_of(program.shape, self.rows.length if picked is None else len(values) + BEHIND)
        self.builder.rows = self.rows.length
        self.selector = self.of_rows(selector, "selector")
        if isinstance(starts, bytes):
            self.prefix = starts
            self.prefix_start = <const uint8_t *>PyBytes_AS_STRING(starts)
            self.prefix_size = len(starts)
            self.prefix_word = int.from_bytes(starts[:8], "little")
            self.prefix_mask = int.from_bytes(b"\xff" * len(starts[:8]), "little")
            starts = None
        self.starts = self.of_rows(starts, "starts")
        self.ends = self.of_rows(ends, "ends")
        self.start = start
        self.bounded = starts is not None or ends is not None or start < 0
        self.trailing = trailing
        self.failures = Failures()
        self.compiled = list(programs)
        self.programs = len(programs)
        self.tables = <const void **>calloc(self.programs, sizeof(void *))
        self.stops = <int32_t *>calloc(self.programs, sizeof(int32_t))
        self.divisor = <int64_t *>calloc(self.builder.count, sizeof(int64_t))
        self.slices = <Slice *>malloc((min(self.rows.length, MAX_ROWS) + 1) * sizeof(Slice))
        if self.tables == NULL or self.stops == NULL or self.divisor == NULL or self.slices == NULL:
            raise MemoryError
        for at in range(self.builder.count):
            # Until a program has items for this column, a payload (divided by this) makes room for none.
            self.divisor[at] = 1 << 30
        for at in range(self.programs):
            program = self.compiled[at]
            if program is None:
                continue
            self.tables[at] = program.table
            self.stops[at] = program.stop
            self.expansion = max(self.expansion, program.expansion)
            self.max_expansion = program.limits.max_expansion
            for column, least in program.divisors.items():
                self.divisor[column] = min(self.divisor[column], <int64_t>least)
            self.prepare(program)

    def __dealloc__(self):
        free(self.tables)
        free(self.stops)
        free(self.divisor)
        free(self.slices)

    cdef Int32Buffer of_rows(self, values, name):
        """Return what a buffer of one int32 for each row of the column has for those that are decoded."""
        cdef Int32Buffer all_rows = Int32Buffer(values, len(self.rows.array), name)
        cdef int32_t *kept
        cdef int64_t row
        if all_rows.data == NULL or self.rows.places == NULL:
            return all_rows
        found = PyBytes_FromStringAndSize(NULL, self.rows.length * sizeof(int32_t))
        kept = <int32_t *>PyBytes_AS_STRING(found)
        for row in range(self.rows.length):
            kept[row] = all_rows.data[self.rows.places[row]]
        return Int32Buffer(found, self.rows.length, name)

    cdef int prepare(self, Program program) except -1:
        """Take the bounds that the format needs from one of the programs."""
        return 0

    cdef void begin(self, int64_t room) noexcept nogil:
        """Prepare for the block, which may store up to `room` more than its rows hold."""

    cdef int64_t read_together(self) noexcept nogil:
        """Read rows from `next` on together; return how many, -1 without memory."""
        return 0

    cdef Status read_row(self, int64_t row, const Slice *slice, int32_t program) noexcept nogil:
        """Read one row."""
        return OK

    cdef Answer fail_row(self, int64_t row, const Slice *slice, int32_t program) noexcept nogil:
        """Note why the row that was read last failed, and go on; FAULT has `fault` called for that."""
        return FAULT

    cdef object fault(self, int64_t row, const Slice *slice, int32_t chosen):
        """Return what is known of the row that failed last; None if the format has dealt with the row itself."""

    cdef const uint8_t *bounded_payload(self, int64_t row, const Slice *slice, const uint8_t **end) noexcept nogil:
        cdef const int32_t *ends = self.ends.data
        cdef int64_t start
        start = self.start if self.starts.data == NULL else self.starts.data[row]
        end[0] = slice.end
        if ends != NULL:
            if ends[row] < 0 or ends[row] > slice.end - slice.start:
                return NULL
            end[0] = slice.start + ends[row]
        return slice.start + start if 0 <= start <= end[0] - slice.start else NULL

    cdef int64_t max_items_bytes(self, int64_t row, const Slice *slice) noexcept nogil:
        """Return what the items of a row may take, but for their text."""
        cdef const uint8_t *end
        cdef const uint8_t *start = payload_of(self, row, slice, &end)
        return self.max_expansion + (SPARE * (end - start) if start != NULL else 0)

    cdef bint reads_alike(self) noexcept nogil:
        """Return whether one program reads all rows, from their beginning or behind the prefix."""
        return self.selector.data == NULL and not self.bounded and self.tables[0] != NULL

    cdef bint step_over_prefix(self) noexcept nogil:
        """Move the start of the block's rows behind the prefix; return whether all of them have it."""
        cdef int64_t size = self.prefix_size
        cdef uint64_t word = self.prefix_word
        cdef uint64_t mask = self.prefix_mask
        cdef int64_t at
        cdef Slice *slice
        for at in range(self.count):
            slice = &self.slices[at]
            if slice.start == NULL:
                continue
            if slice.end - slice.start < size:
                return False
            if likely(size <= 8 and slice.limit - slice.start >= 8):
                if load_le64(slice.start) & mask != word:
                    return False
            elif memcmp(slice.start, self.prefix_start, size) != 0:
                return False
            slice.start += size
        return True

    cdef bint take_rows(self, int64_t row) noexcept nogil:
        """Take the rows of the block, which starts at `row`; return whether all of them have the prefix."""
        cdef int64_t most = self.block_rows if self.growing else self.most_rows
        self.count = 0
        if self.unsliced and self.prefix_size <= 8 and not self.growing:
            self.count = self.rows.adjacent(row, most, self.block_bytes, &self.payload)
        self.sliced = self.count == 0
        if self.sliced:
            self.count = self.rows.fill(row, self.slices, most, self.block_bytes, &self.payload)
            return self.prefix_size == 0 or self.step_over_prefix()
        return self.prefix_size == 0 or self.rows.have_prefix(
            row, self.count, self.prefix_size, self.prefix_word, self.prefix_mask
        )

    cdef void slice_rows(self) noexcept nogil:
        """Find the slices of a block whose rows are adjacent."""
        cdef int64_t bytes
        self.rows.fill(self.row, self.slices, self.count, self.payload, &bytes)
        if self.prefix_size:
            self.step_over_prefix()
        self.sliced = True

    cdef int64_t with_slack(self, int64_t first, int64_t count) noexcept nogil:
        """Return how many of some rows are left without the last ones that SLACK bytes may not be read behind."""
        cdef const Slice *slice
        cdef int64_t at = count
        while self.sliced and at:
            at -= 1
            slice = &self.slices[first + at]
            if slice.start == NULL:
                continue  # of a null row nothing is read, and no limit is known
            if slice.limit - slice.end >= SLACK:
                break
            count = at
        return count

    cdef int64_t room(self) noexcept nogil:
        return self.extra + self.count * self.expansion

    cdef const int64_t *divisors(self) noexcept nogil:
        return NULL if self.growing else self.divisor

    cdef int fit_block(self) except -1:
        """Make room for the block; or let it have fewer rows, or its columns grow while they are read."""
        if not self.growing and self.builder.missing(self.count, self.payload, self.room(), self.divisor) > MAX_ROOM:
            if self.count > FEW_ROWS:
                self.most_rows = self.count // 2
                self.extra //= 2
                # The block is filled again.
                self.count = 0
                self.next = 0
                return 0
            # A row may be larger than others. Where blocks were made small in vain, they all are.
            self.always_growing = self.most_rows < self.block_rows
            self.growing = self.checked = True
            self.extra = 0
        self.builder.grow(
            self.row, self.count, self.payload, self.room(), self.divisors(), self.rows.bytes_from(self.row)
        )
        return 0

    cdef Answer advance(self) noexcept nogil:
        """Decode until something needs the GIL: all is done, a column must grow, or a row has failed."""
        cdef int64_t row
        cdef int64_t together
        cdef int32_t program
        cdef const Slice *slice
        cdef Status status
        cdef Answer answer
        while True:
            if self.next == self.count:
                row = self.row + self.count
                if self.count and not self.checked and self.builder.invalid_text(self.row, row) >= 0:
                    self.checked = True
                else:
                    if self.count:
                        self.builder.pack(row, row == self.rows.length)
                    self.row = row
                    if row == self.rows.length:
                        return DONE
                    self.growing = self.always_growing
                    self.checked = self.always_checked or self.growing
                    if not self.take_rows(row):
                        return OTHER_PREFIX
                self.next = 0
            if self.next == 0:
                if not self.builder.has_room(self.row, self.count, self.payload, self.room(), self.divisors()):
                    return GROW
                self.begin(self.room())
            while self.next < self.count:
                together = self.read_together() if self.in_blocks and not self.growing else 0
                if likely(together > 0):
                    self.next += together
                    continue
                if unlikely(together < 0):
                    return OUT_OF_MEMORY
                if not self.sliced:
                    self.slice_rows()
                row = self.row + self.next
                slice = &self.slices[self.next]
                program = program_of(self, self.next)
                if program < 0:
                    set_null(self.builder.columns, 0, row, self.builder.wide)
                    self.next += 1
                    continue
                if unlikely(self.growing):
                    self.builder.begin_row(row, self.max_items_bytes(row, slice))
                status = self.read_row(row, slice, program)
                if unlikely(self.growing) and status == OK:
                    self.builder.row_bytes = self.builder.items_bytes(row)
                    if self.builder.row_bytes > self.builder.max_row_bytes:
                        status = SIZE_LIMIT
                if likely(status == OK):
                    self.next += 1
                    continue
                if status == NEED_ROOM:
                    # The rows read so far are a block of their own; the next one starts here, with more room.
                    self.extra = 2 * self.extra + (1 << 12)
                    self.count = self.next
                    if self.next == 0:
                        self.count = 1
                        self.payload = slice.end - slice.start
                    break
                if status == NO_MEMORY:
                    return OUT_OF_MEMORY
                if not self.checked:
                    self.checked = True
                    self.next = 0
                    break
                if self.next < self.together:
                    # Rows behind this one are stored already, so its text and items cannot be taken back, only hidden
                    # by a null.
                    hide(self.builder.columns, row)
                else:
                    set_null(self.builder.columns, 0, row, self.builder.wide)
                self.next += 1
                if self.growing and status == SIZE_LIMIT and self.builder.row_bytes > self.builder.max_row_bytes:
                    return OVERSIZED
                answer = self.fail_row(row, slice, program)
                if answer != GO_ON:
                    return answer

    cdef object among_all(self, faults):
        """Count the rows of faults among all rows."""
        return Faults.of(faults).at(self.picked) if faults and self.picked is not None else faults

    cdef list behind_prefix(self, list faults):
        """Count the bytes of faults from where their rows begin."""
        cdef int64_t size = self.prefix_size
        return [fault._replace(offset=fault.offset + size) for fault in faults] if size else faults

    cdef object decode(self, bint stop):
        """Return the array and the rows that failed; with `stop`, only the first that failed."""
        cdef Answer answer
        cdef int64_t at
        cdef Program program
        self.stop = stop
        self.most_rows = self.block_rows
        # Of many lists, room for all that a block may hold is more than is kept for the next call.
        if self.builder.missing(self.block_rows, self.block_bytes, 0, self.divisor) > MAX_ROOM // 2:
            self.block_bytes //= 2
        # Only rows that ask for their room are held to less than a block may have.
        self.always_growing = self.max_expansion < MAX_ROOM and self.builder.has_items()
        faults = []
        while True:
            with nogil:
                answer = self.advance()
            if answer == DONE:
                if self.failures.count:
                    faults = joined([self.failures.faults(self.compiled, self.prefix_size), faults])
                if self.picked is not None:
                    self.builder.rows = len(self.rows.array)
                    scatter(
                        self.builder.columns, self.builder.count, self.rows.places, self.rows.length, self.builder.rows,
                        self.builder.wide,
                    )
                return self.builder.finish(), self.among_all(faults)
            if answer == GROW:
                self.fit_block()
            elif answer == FAULT or answer == OVERSIZED:
                at = self.next - 1
                if answer == FAULT:
                    fault = self.fault(self.row + at, &self.slices[at], program_of(self, at))
                else:
                    program = self.compiled[program_of(self, at)]
                    fault = program.fault(
                        self.row + at, self.slices[at].end - self.slices[at].start, SIZE_LIMIT, -1, ""
                    )
                if fault is not None:
                    faults += self.behind_prefix([fault])
                    if stop:
                        return None, self.among_all(faults)
            elif answer == OTHER_PREFIX:
                raise OtherPrefix
            elif self.builder.problem is not None:
                raise self.builder.problem
            else:
                raise MemoryError

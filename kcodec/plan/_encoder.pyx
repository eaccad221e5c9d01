"""The loop over the rows of columns that are encoded, the same for all formats.

A block of rows is given room for all that its values can take before it is written, so writing is not checked.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport calloc, free

from kcodec.columns.rows._binary cimport BinaryBuilder
from kcodec.columns.rows._rows cimport Int32Buffer
from kcodec.columns.written._inputs cimport Inputs, is_valid
from kcodec.plan._failures cimport Failures
from kcodec.plan._program cimport Program
from kcodec.wire.binary.cursor cimport unlikely

from kcodec.columns.faults import joined
from kcodec.errors import ArrayError

cdef enum:
    LOOK_ROWS = 1024           # whose offsets are looked at together, while they are near
    MAX_ROOM = 64 << 20        # that is made for a block of more than a row


cdef class Encoder:
    """Encodes one array, with 64-bit offsets if the result is large.

    The programs are of its type; rows that choose None become null. The selector (int32) has per row which program it
    chooses, negative: none; without it all choose the first.
    """

    def __init__(self, array, programs, selector, large):
        self.programs = len(programs)
        for program in programs:
            if program is not None:
                break
        self.inputs = Inputs(array, program.layout)
        self.builder = BinaryBuilder(self.inputs.length, large)
        self.costs = <int64_t *>calloc(self.inputs.count, sizeof(int64_t))
        self.selector = Int32Buffer(selector, self.inputs.length, "selector")
        self.ranges = <Range *>calloc(self.programs, sizeof(Range))
        if self.costs == NULL or self.ranges == NULL:
            raise MemoryError
        self.failures = Failures()
        self.told = []
        self.use(list(programs))

    cdef int use(self, list programs) except -1:
        """Write rows by these programs from now on."""
        cdef Program program
        cdef int32_t at
        cdef int32_t number
        cdef bint checked
        self.compiled = programs
        for number in range(self.programs):
            program = self.compiled[number]
            if program is None:
                continue
            # Where no column has a null that must not be there, nothing is checked.
            checked = self.inputs.any_null(program.required)
            self.ranges[number].table = program.table
            self.ranges[number].first = program.table + (program.stop if checked else 0) * program.op_bytes
            self.ranges[number].stop = (
                program.table + (program.checked_stop if checked else program.stop) * program.op_bytes
            )
            for at in range(self.inputs.count):
                self.costs[at] = max(self.costs[at], <int64_t>program.costs[at])

    def __dealloc__(self):
        free(self.ranges)
        free(self.costs)
        free(self.stretch)

    cdef bint put_rows(self, int64_t end) noexcept nogil:
        """Write all rows up to `end` together; False if not all were, which the builder counts."""
        return False

    cdef uint8_t *put_row(self, int64_t row, uint8_t *out, int32_t program) noexcept nogil:
        """Write one row; return the position behind, or NULL for a failure."""
        return out

    cdef bint note(self, int64_t row, int32_t program) noexcept nogil:
        """Note why the row that was written last has failed; return False without memory."""
        return False

    cdef int64_t max_bytes(self, int64_t row, int64_t end) noexcept nogil:
        return self.inputs.max_bytes(self.costs, self.stretch, row, end) + (end - row) * self.around

    cdef Answer advance(self) noexcept nogil:
        """Write rows until all are done, the output must grow, a row has failed, or offsets lead elsewhere.

        Text of arrays is UTF-8 by Arrow's rules, so it is looked at together, without a check where it is written.
        """
        cdef uint8_t *out
        cdef int64_t row = self.builder.row
        cdef int64_t end
        cdef int64_t needed
        cdef int64_t at
        cdef int32_t program
        cdef bint same_program = self.selector.data == NULL and self.ranges[0].first != NULL
        while row < self.builder.rows:
            end = min(row + self.block_rows, self.builder.rows)
            if end > self.in_order:
                self.in_order = min(row + LOOK_ROWS, self.builder.rows)
                if not self.inputs.in_order(row, self.in_order):
                    return DISORDER
                if self.trusting and not self.inputs.is_utf8():
                    self.trusting = False
                    return FOUL
            needed = self.max_bytes(row, end)
            # Room is made for the most that rows can take: where that is much, for few of them.
            while needed > MAX_ROOM and end - row > 1:
                end = row + (end - row) // 2
                needed = self.max_bytes(row, end)
            if not self.builder.has_room(needed + self.slop):
                return GROW
            if row < self.one_by_one or not self.put_rows(end):
                self.one_by_one = end
                for at in range(self.builder.row, end):
                    out = NULL
                    if same_program:
                        program = 0 if is_valid(&self.inputs.columns[0], at) else -1
                    else:
                        program = program_of(self, at)
                    if program >= 0:
                        out = self.put_row(at, self.builder.data + self.builder.used, program)
                        if unlikely(out == NULL):
                            if not self.note(at, program):
                                return OUT_OF_MEMORY
                            if self.stop:
                                return FAULT
                    self.builder.end_row(out)
            row = end
        return DONE

    cdef int tell(self) except -1:
        """Keep what is told of the rows that failed so far, by the programs that they were written by."""
        if self.failures.count:
            self.told.append(self.failures.faults(self.compiled, -1))
            self.failures = Failures()
        return 0

    cdef object encode(self, bint stop):
        """Return the array and the rows that failed; with `stop`, only the first that failed."""
        cdef Answer answer
        self.stop = stop
        while True:
            with nogil:
                answer = self.advance()
            if answer == DONE or answer == FAULT:
                self.tell()
                return self.builder.finish() if answer == DONE else None, joined(self.told) if self.told else []
            if answer == OUT_OF_MEMORY:
                raise MemoryError
            if answer == DISORDER:
                raise ArrayError("offsets of the array are not in order")
            if answer == FOUL:
                # From here on each text is checked where it is written.
                self.tell()
                self.use(
                    [each and type(each)(each.plan, each.limits, trusts_text=False) for each in self.compiled]
                )
                continue
            self.builder.grow(
                self.max_bytes(0, min(self.builder.rows, LOOK_ROWS)),
                self.max_bytes(self.builder.row, self.builder.rows),
            )

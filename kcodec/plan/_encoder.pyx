"""The loop over the rows of columns that are encoded, the same for all formats.

A block of rows is given room for all that its values can take before it is written, so writing is not checked.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport calloc, free

from kcodec.columns._binary cimport BinaryBuilder
from kcodec.columns._reader cimport Inputs, is_valid
from kcodec.columns._rows cimport Int32Buffer
from kcodec.wire.cursor cimport unlikely

cdef enum:
    SAMPLE_ROWS = 1024         # what the room for all rows is guessed from


cdef class Encoder:
    """Encodes one array.

    Parameters
    ----------
    array : pyarrow.Array
        What to encode.
    programs : sequence of Program or None
        Programs for its type; rows that choose None become null.
    selector : buffer of int32, optional
        Per row which program; negative: none. By default the first for all.
    large : bool
        Give the result 64-bit offsets.
    """

    def __init__(self, array, programs, selector, large):
        cdef int32_t at
        cdef int32_t number
        self.inputs = Inputs(array, next(each for each in programs if each is not None).layout)
        self.builder = BinaryBuilder(self.inputs.length, large)
        self.costs = <int64_t *>calloc(self.inputs.count, sizeof(int64_t))
        self.selector = Int32Buffer(selector, self.inputs.length, "selector")
        self.programs = len(programs)
        self.usable = <uint8_t *>calloc(self.programs, 1)
        if self.costs == NULL or self.usable == NULL:
            raise MemoryError
        for number, program in enumerate(programs):
            if program is not None:
                self.usable[number] = True
                for at in range(self.inputs.count):
                    self.costs[at] = max(self.costs[at], <int64_t>program.costs[at])

    def __dealloc__(self):
        free(self.usable)
        free(self.costs)
        free(self.stretch)

    cdef bint put_rows(self, int64_t end) noexcept nogil:
        """Write all rows up to `end` together; False if nothing was written."""
        return False

    cdef uint8_t *put_row(self, int64_t row, uint8_t *out, int32_t program) noexcept nogil:
        """Write one row; return the position behind, or NULL for a failure."""
        return out

    cdef object fault(self, int64_t row, int32_t chosen):
        """Give the facts of the row that failed last."""

    cdef int32_t program_of(self, int64_t row) noexcept nogil:
        """Give the program of a row; -1 if it becomes null."""
        cdef int32_t program = 0 if self.selector.data == NULL else self.selector.data[row]
        if program < 0 or program >= self.programs or not self.usable[program]:
            return -1
        return program if is_valid(&self.inputs.columns[0], row) else -1

    cdef int64_t most_bytes(self, int64_t row, int64_t end) noexcept nogil:
        return self.inputs.most_bytes(self.costs, self.stretch, row, end) + (end - row) * self.around

    cdef Answer advance(self) noexcept nogil:
        """Write rows until all are done, the output must grow, or a row has failed."""
        cdef uint8_t *out
        cdef int64_t row = self.builder.row
        cdef int64_t end
        cdef int64_t at
        cdef int32_t program
        while row < self.builder.rows:
            end = min(row + self.block_rows, self.builder.rows)
            if not self.builder.has_room(self.most_bytes(row, end) + self.slop):
                return GROW
            if row < self.one_by_one or not self.put_rows(end):
                self.one_by_one = end
                for at in range(row, end):
                    out = NULL
                    program = self.program_of(at)
                    if program >= 0:
                        out = self.put_row(at, self.builder.data + self.builder.used, program)
                        if unlikely(out == NULL):
                            self.builder.end_row(NULL)
                            return FAULT
                    self.builder.end_row(out)
            row = end
        return DONE

    cdef object encode(self, bint stop):
        """Give the array, and the rows that failed; after the first one that does, if `stop`, and without the array."""
        cdef Answer answer
        cdef int64_t row
        faults = []
        while True:
            with nogil:
                answer = self.advance()
            if answer == DONE:
                return self.builder.finish(), faults
            if answer == GROW:
                self.builder.grow(
                    self.most_bytes(0, min(self.builder.rows, SAMPLE_ROWS)),
                    self.most_bytes(self.builder.row, self.builder.rows),
                )
            else:
                row = self.builder.row - 1
                faults.append(self.fault(row, self.program_of(row)))
                if stop:
                    return None, faults

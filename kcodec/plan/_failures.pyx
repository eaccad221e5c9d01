"""Why rows failed, noted without the GIL: a fault of Python takes longer to make than a row takes to read.

Rows mostly fail in few ways, so each way is told once (`Kind`), and rows have its number.
"""

from libc.stdint cimport int32_t, int64_t, uint32_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcmp, memcpy

from kcodec.plan._program cimport Program
from kcodec.wire.binary.cursor cimport likely, unlikely

import pyarrow as pa

from kcodec.columns.faults import Faults


cdef class Failures:
    def __dealloc__(self):
        cdef int64_t at
        for at in range(self.kind_count):
            free(self.kinds[at].items)
        free(self.kinds)
        free(self.failures)

    cdef bint note(
        self, int64_t row, int64_t offset, int32_t program, int32_t op, Status status, int64_t *items, int32_t level
    ) noexcept nogil:
        cdef Kind kind
        cdef Failure *failure
        cdef void *grown
        kind.program = program
        kind.op = op
        kind.status = status
        kind.items = items
        kind.level = level
        if unlikely(self.count == self.room):
            grown = realloc(self.failures, (2 * self.room + 64) * sizeof(Failure))
            if grown == NULL:
                return False
            self.failures = <Failure *>grown
            self.room = 2 * self.room + 64
        failure = &self.failures[self.count]
        failure.row = row
        failure.offset = offset
        failure.kind = self.number(&kind)
        if unlikely(failure.kind < 0):
            return False
        self.count += 1
        return True

    cdef int64_t number(self, const Kind *kind) noexcept nogil:
        """Return the number of a kind, which is a new one unless it came lately; -1 without memory."""
        cdef size_t size = kind.level * sizeof(int64_t)
        cdef uint32_t place = <uint32_t>(kind.program * 31 + kind.op * 7 + <int32_t>kind.status)
        cdef int64_t number
        cdef Kind *known
        cdef void *grown
        cdef int32_t at
        for at in range(kind.level):
            place = place * 31 + <uint32_t>kind.items[at]
        place &= RECENT - 1
        number = self.recent[place]
        if likely(number < self.kind_count):
            known = &self.kinds[number]
            if likely(
                known.op == kind.op and known.status == kind.status and known.program == kind.program
                and known.level == kind.level
            ) and (size == 0 or memcmp(known.items, kind.items, size) == 0):
                return number
        number = self.kind_count
        if number == self.kind_room:
            grown = realloc(self.kinds, (2 * self.kind_room + 8) * sizeof(Kind))
            if grown == NULL:
                return -1
            self.kinds = <Kind *>grown
            self.kind_room = 2 * self.kind_room + 8
        self.kinds[number] = kind[0]
        self.kinds[number].items = NULL
        if size:
            self.kinds[number].items = <int64_t *>malloc(size)
            if self.kinds[number].items == NULL:
                return -1
            memcpy(self.kinds[number].items, kind.items, size)
        self.recent[place] = number
        self.kind_count += 1
        return number

    cdef object faults(self, list programs, int64_t before):
        """Return the rows that failed, given the programs they chose from and the bytes in front of each payload.

        Where these are negative, rows failed that are written, of which no byte is at fault.
        """
        cdef int64_t at
        cdef int64_t i
        cdef int64_t *target
        cdef Kind *kind
        cdef Program program
        kinds = []
        for at in range(self.kind_count):
            kind = &self.kinds[at]
            program = programs[kind.program]
            path = program.path(kind.op, [kind.items[i] for i in range(kind.level)]) if kind.op >= 0 else ""
            kinds.append(program.failure(kind.status, kind.op, path))
        columns = []
        for at in range(3):
            if at == 1 and before < 0:
                columns.append(pa.nulls(self.count, pa.int64()))
                continue
            buffer = pa.allocate_buffer(self.count * sizeof(int64_t))
            target = <int64_t *><size_t>buffer.address
            for i in range(self.count):
                target[i] = (<int64_t *>&self.failures[i])[at] + (before if at == 1 else 0)
            columns.append(pa.Array.from_buffers(pa.int64(), self.count, [None, buffer]))
        return Faults(*columns, kinds)

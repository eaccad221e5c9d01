"""What compiled plans of all formats have in common: a flat, read-only table of ops, and what is known of each.

An op is followed by the ops of what is below it. What it needs beside its numbers (texts, tables, constants) it points
to; the program keeps that alive.
"""

from cpython.bytearray cimport PyByteArray_AS_STRING
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport free, realloc
from libc.string cimport memset

from kcodec.columns.built._builder cimport Shape
from kcodec.columns.built._column cimport Column
from kcodec.columns.written._inputs cimport Input
from kcodec.wire.binary.status cimport Status

from kcodec.columns.types.layout import layout
from kcodec.errors import CODES, Fault
from kcodec.plan.failure import bounded

_CODES = list(CODES)


cdef int32_t status_of(object code) except -1:
    return _CODES.index(code) + 1


cdef class Program:
    """A plan made ready to run. It is never changed once made, so threads may share it.

    An op of the format takes `op_bytes`. `trusts_text` is whether columns of text that is written are known to be
    UTF-8; columns of bytes never are.
    """

    def __init__(self, plan, limits, op_bytes, trusts_text=True):
        self.plan = plan
        self.trusts_text = trusts_text
        self.limits = limits
        self.op_bytes = op_bytes
        if plan.direction == "decode":
            self.column_bytes = sizeof(Column)
            self.shape = Shape(plan.arrow_type)
            self.layout = self.shape.layout
        else:
            self.column_bytes = sizeof(Input)
            self.layout = layout(plan.arrow_type)
        self.divisors = {}
        self.costs = [0] * len(self.layout)
        self.required = set()
        self.keep = []
        self.paths = []
        self.reasons = []
        # A program without ops has a table too: NULL stands for no program.
        self.grow()

    def __dealloc__(self):
        free(self.table)

    def __reduce__(self):
        return type(self), (self.plan, self.limits)

    cdef int grow(self) except -1:
        cdef int32_t capacity = 2 * self.capacity + 16
        cdef void *grown = realloc(self.table, capacity * self.op_bytes)
        if grown == NULL:
            raise MemoryError
        self.table = <uint8_t *>grown
        self.capacity = capacity
        return 0

    cdef int32_t new_op(self, int32_t code, int32_t column, object path, object node) except -1:
        """Add an op of zeros, but for its head; return its number. A node with a code has a reason of its own."""
        cdef Head *head
        if self.count == self.capacity:
            self.grow()
        head = <Head *>(self.table + self.count * self.op_bytes)
        memset(head, 0, self.op_bytes)
        head.code = code
        head.column = column
        head.place = <int64_t>max(column, 0) * self.column_bytes
        head.next = 1
        self.paths.append(path)
        self.reasons.append((node.code, node.reason) if node is not None and node.code else None)
        self.count += 1
        return self.count - 1

    cdef uint8_t *constant(self, object data, int64_t margin) except NULL:
        """Copy bytes to memory that lives as long as the program, with so many zeros behind them."""
        block = bytearray(data)
        block += bytes(max(margin, 1))
        self.keep.append(block)
        return <uint8_t *>PyByteArray_AS_STRING(block)

    cdef int least(self, int32_t column, int64_t size) except -1:
        """Note how many bytes an item of a list or map takes at least."""
        self.divisors[column] = min(max(size, 1), self.divisors.get(column, 1 << 30))
        return 0

    cdef int cost(self, int32_t column, int64_t size) except -1:
        """Add up the most that a value can take; ops that stand twice are counted once."""
        if not self.checking:
            self.costs[column] += size
        return 0

    cdef object path(self, int32_t op, list indexes):
        """Return an op's path, with the positions of the items it was in, outermost first."""
        positions = iter(indexes)
        return "".join([f"[{next(positions, 0)}]" if step is None else step for step in self.paths[op]])

    cdef object fault(self, int64_t row, object offset, Status status, int32_t op, object path):
        """Return what is known of a row that failed at an op; with -1, of one that failed as a whole."""
        return Fault(row, offset, *self.failure(status, op, path))

    cdef tuple failure(self, Status status, int32_t op, object path):
        """Return path, code and reason of what failed at an op."""
        code = _CODES[<int>status - 1]
        own = self.reasons[op] if op >= 0 else None
        return bounded(path), code, own[1] if own and own[0] == code and own[1] else CODES[code]

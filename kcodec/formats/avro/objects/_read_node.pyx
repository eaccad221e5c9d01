"""What reads one value of Avro as a Python object, and where it reads."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport INT64_MAX, uint8_t

from kcodec.plan._budget cimport set_limits
from kcodec.wire.binary.status cimport Status

from kcodec.errors import CODES
from kcodec.plan.failure import RowError

cdef list _CODES = list(CODES)


cdef class Node:
    cdef object read(self, Cursor *c):
        raise NotImplementedError

    cdef object fail(self, const Cursor *c, Status status, const uint8_t *at, str reason=""):
        at = at if c.outside == NULL else c.outside
        raise RowError(_CODES[<int>status - 1], at - c.start, where(c, self.path), reason)


cdef str where(const Cursor *c, tuple path):
    cdef Frame *frame = c.frame
    found = []
    while frame != NULL:
        found.append(frame.item)
        frame = frame.outer
    positions = iter(found[::-1])
    return "".join([f"[{next(positions, 0)}]" if step is None else step for step in path])


cdef int begin(Cursor *c, bytes data, object limits) except -1:
    c.start = c.p = <const uint8_t *>PyBytes_AS_STRING(data)
    c.end = c.start + PyBytes_GET_SIZE(data)
    c.outside = NULL
    c.frame = NULL
    set_limits(&c.budget, limits)
    c.budget.room = INT64_MAX
    c.budget.expanded = 0
    c.budget.zero_items = 0
    return 0

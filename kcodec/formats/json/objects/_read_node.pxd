"""What reads a value of JSON as a Python object, and where it stands."""

from libc.stdint cimport int64_t, uint8_t

from kcodec.objects._quick cimport odd
from kcodec.wire.binary.cursor cimport load_le32, unlikely
from kcodec.wire.text.json cimport json_plain, json_space


cdef enum:
    #: What a value counts as expansion: more than the width of any column, so that the limits of columns are kept.
    WIDTH = 32
    LONGEST = 40              # characters of a number that is read here
    NULL_WORD = 0x6C6C756E    # "null"


cdef struct Cursor:
    const uint8_t *p
    const uint8_t *end
    int64_t spent             # what the document counts as expansion, as far as it is read
    int64_t limit


cdef inline int spend(Cursor *c, int64_t cost) except -1:
    c.spent += cost
    if unlikely(c.spent > c.limit):
        odd()
    return 0


cdef class Node:
    """Reads one value, at its first byte."""

    cdef bint nullable
    cdef int64_t cost

    cdef object read(self, Cursor *c)


cdef inline object value_of(Node node, Cursor *c):
    """Read a value behind any space."""
    if unlikely(c.p >= c.end or c.p[0] <= 32):
        c.p = json_space(c.p, c.end)
        if c.p >= c.end:
            odd()
    if c.p[0] == 110:
        if not node.nullable or c.end - c.p < 4 or load_le32(c.p) != NULL_WORD:
            odd()
        c.p += 4
        return None
    return node.read(c)


cdef inline uint8_t behind(Cursor *c) except? 0:
    """Go behind any space; return the byte there, which there must be."""
    if unlikely(c.p >= c.end or c.p[0] <= 32):
        c.p = json_space(c.p, c.end)
        if c.p >= c.end:
            odd()
    return c.p[0]


cdef inline int64_t plain_string(Cursor *c) except -1:
    """Go behind a string without escapes; return its size."""
    cdef const uint8_t *first = c.p + 1
    cdef const uint8_t *at
    if c.p[0] != 34:
        odd()
    at = json_plain(first, c.end, NULL)
    if at >= c.end or at[0] != 34:
        odd()
    c.p = at + 1
    return at - first

"""Rows of a block that have failed: why, and what is read in their place."""

from libc.stdint cimport int64_t

from kcodec.formats.json._program cimport Op
from kcodec.formats.json.block._lanes cimport Block


cdef void drop(Block *block, int64_t lane) noexcept nogil
cdef void fill(Block *block, const Op *op) noexcept nogil
cdef bint note(Block *block, int64_t lane) noexcept nogil
cdef bint drop_failed(Block *block, int64_t lane) noexcept nogil
cdef bint check(Block *block, int64_t lane) noexcept nogil
cdef bint try_row(Block *block, const Op *root, int64_t lane) noexcept nogil


cdef inline bint is_valid(Block *block, int64_t lane) noexcept nogil:
    """Return whether a whole document is UTF-8, as every slower path expects; if not, the row has failed."""
    return block.checked[lane] or check(block, lane)

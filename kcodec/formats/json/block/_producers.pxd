"""Blocks of documents of several producers, each of which writes its keys in an order of its own."""

from libc.stdint cimport int64_t

from kcodec.columns.built._order cimport Copies
from kcodec.formats.json._program cimport Op
from kcodec.formats.json.block._lanes cimport Block


cdef enum Apart:
    TOLD           # the block is read
    ALIKE          # rows of one order are not as expected
    MANY           # there are too many orders


# Read a block, the rows of each order of keys together, which so many of their first keys tell apart. But for TOLD the
# block is as it was, and what is stored of it counts for nothing.
cdef Apart read_apart(Block *block, const Op *root, int64_t depth, Copies *copies) noexcept nogil

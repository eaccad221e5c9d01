"""Blocks of documents to columns, a column at a time."""

from kcodec.formats.json._program cimport Op
from kcodec.formats.json.block._lanes cimport Block


# Read the first `Block.count` rows, whose documents stand from `Block.start` to `Block.end`, with JSON_MARGIN readable
# bytes behind them; those that are dropped already are null. `Block.count` becomes the number of rows, from the first
# on, that were read or dropped.
cdef void read_block(Block *block, const Op *root) noexcept nogil

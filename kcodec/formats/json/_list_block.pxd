"""Lists of a block of documents, whose items are leaves."""

from kcodec.columns._builder cimport offset_t
from kcodec.formats.json._lanes cimport Block
from kcodec.formats.json._program cimport Op


cdef void read_lists(Block *block, const Op *op, offset_t *tag) noexcept nogil

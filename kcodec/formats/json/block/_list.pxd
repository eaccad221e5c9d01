"""Lists of a block of documents, whose items are leaves."""

from kcodec.columns.built._column cimport offset_t
from kcodec.formats.json._program cimport Op
from kcodec.formats.json.block._lanes cimport Block


cdef void read_lists(Block *block, const Op *op, offset_t *tag) noexcept nogil

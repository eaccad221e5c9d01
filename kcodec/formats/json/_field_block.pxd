"""Fields of a block of documents, which come in one order."""

from kcodec.formats.json._lanes cimport Block
from kcodec.formats.json._program cimport Op


cdef void read_field(Block *block, const Op *op) noexcept nogil
cdef void read_fields(Block *block, const Op *container) noexcept nogil

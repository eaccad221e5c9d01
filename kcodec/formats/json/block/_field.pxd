"""Fields of a block of documents, which come in one order."""

from kcodec.formats.json._program cimport Op
from kcodec.formats.json.block._lanes cimport Block


cdef void read_field(Block *block, const Op *op) noexcept nogil
cdef void read_fields(Block *block, const Op *container) noexcept nogil
cdef void read_tuples(Block *block, const Op *container) noexcept nogil
cdef bint checks_first(const Block *block, const Op *root) noexcept nogil

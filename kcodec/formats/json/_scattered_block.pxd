"""Fields of a block of documents whose keys come in any order, and not all in each."""

from kcodec.formats.json._lanes cimport Block
from kcodec.formats.json._program cimport Op


cdef void read_scattered(Block *block, const Op *container) noexcept nogil

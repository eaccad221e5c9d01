"""Fields of a block of documents whose keys come in any order and may be missing."""

from kcodec.formats.json._program cimport Op
from kcodec.formats.json.block._lanes cimport Block


cdef void read_scattered(Block *block, const Op *container) noexcept nogil

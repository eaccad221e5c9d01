"""Texts of a block of documents."""

from libc.stdint cimport int8_t

from kcodec.columns.built._column cimport Column, offset_t
from kcodec.formats.json._program cimport Op
from kcodec.formats.json.block._lanes cimport Block


cdef inline bint is_inner(int8_t byte) noexcept nogil:
    """Return whether a byte of UTF-8 continues a character."""
    return byte < -64


cdef void check_texts(Block *block, const Column *column, const Column *list, bint cut) noexcept nogil
cdef void read_texts(Block *block, const Op *op, offset_t *tag) noexcept nogil

"""Blocks of values to Protobuf, a field at a time."""

from libc.stdint cimport int32_t, int64_t

from kcodec.columns.written._slots cimport Slots
from kcodec.formats.protobuf.rows._program cimport Message
from kcodec.formats.protobuf.rows._put cimport Writing

cdef enum:
    MAX_INNER = 6    # messages inside messages


cdef bint put_fields(
    Slots *block, Writing *writing, const int64_t *costs, const Message *message, const int64_t *lanes, int64_t count,
    int32_t level, int32_t depth
) noexcept nogil

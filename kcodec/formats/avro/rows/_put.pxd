"""What the writers of Avro share: where the values are, how they fail, and the row loop."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcpy

from kcodec.columns.written._inputs cimport Input, start_of
from kcodec.formats.avro.rows._program cimport Op
from kcodec.wire.binary.cursor cimport copy32, likely, write_varint
from kcodec.wire.binary.status cimport Status

cdef enum:
    TRAIL = 512      # steps of an error's path that are kept


cdef struct Context:
    const Op *ops
    const Input *columns
    Status status
    const Op *op
    int32_t trail_size
    int64_t item
    int64_t trail_items[TRAIL]


cdef inline uint8_t *fail(Context *context, Status status, const Op *op, int64_t item) noexcept nogil:
    context.status = status
    context.op = op
    context.item = item
    context.trail_size = 0
    return NULL


cdef int64_t read_integer(const Op *op, const Input *column, int64_t index, Status *status) noexcept nogil
cdef uint8_t *write_decimal(
    const Op *op, const Input *column, int64_t index, uint8_t *out, Status *status
) noexcept nogil
cdef int32_t find_symbol(const Op *op, const uint8_t *text, int64_t size) noexcept nogil
cdef int32_t choose(Context *context, const Op *op, const Input *column, int64_t index) noexcept nogil
cdef uint8_t *put(
    Context *context, const Op *first, const Op *stop, int64_t index, int64_t count, uint8_t *out
) noexcept nogil


cdef inline uint8_t *write_text(const Input *column, int64_t item, uint8_t *out) noexcept nogil:
    """Write text or bytes; most are short."""
    cdef int64_t begin = start_of(column, item)
    cdef int64_t length = start_of(column, item + 1) - begin
    cdef const uint8_t *source = column.data + begin
    if likely(length < 32) and likely(column.limit - source >= 32):
        out[0] = <uint8_t>(length << 1)
        copy32(out + 1, source)
        return out + 1 + length
    out = write_varint(out, <uint64_t>length << 1)
    memcpy(out, source, length)
    return out + length

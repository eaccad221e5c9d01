"""Items that are one value each, and entries that are text and one value: a loop that does nothing but read them."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from kcodec.columns.built._column cimport Column, offset_t
from kcodec.formats.avro.rows._context cimport Context
from kcodec.formats.avro.rows._leaf cimport read_small_decimal
from kcodec.formats.avro.rows._program cimport (
    DO_BOOLEAN, DO_BYTES, DO_DECIMAL, DO_DOUBLE, DO_FLOAT, DO_INT, DO_INT_TO_LONG, DO_LONG, DO_STRING, Op,
)
from kcodec.wire.binary.cursor cimport (
    copy32, copy_wide, ctz64, gather7_by, has_pext, likely, load_le32, load_le64, multiply_overflows, read_length,
    read_varint32, read_varint64, unlikely, unzigzag32, unzigzag64,
)
from kcodec.wire.binary.decimal cimport decimal_limit
from kcodec.wire.binary.status cimport OK
from kcodec.wire.binary.varint_run cimport read_int_as_long_run, read_int_run, read_long_run

cdef enum:
    AHEAD = 64      # bytes that may be read behind where an item begins


cdef inline const uint8_t *take_text(
    Column *column, offset_t *offset, const uint8_t *p, const uint8_t *end, const uint8_t *limit
) noexcept nogil:
    """Read text or bytes to where the last one ended; return the position behind it, or NULL."""
    cdef int64_t length = p[0]
    cdef const uint8_t *q
    cdef offset_t used = offset[0]
    if likely((length & 0xC1) == 0):
        length >>= 1
        p += 1
        if unlikely(length > end - p):
            return NULL
        copy32(column.data + used, p)
    else:
        q = p
        if read_length(&q, end, &length) != OK or length < 0 or length > end - q or length + 32 > limit - q:
            return NULL
        p = q
        copy_wide(column.data + used, p, length)
    offset[1] = used + <offset_t>length
    return p + length


cdef int64_t read_items(
    Context *context, const Op *first, const Op *stop, int64_t index, int64_t count, const uint8_t **at, offset_t *tag
) noexcept nogil:
    """Run one op, or one for text and another, for values behind each other; return how many were read.

    All others are left to the row loop: those of other ops, wrong ones, and those near the end of memory. Columns must
    have room for all values.
    """
    cdef const Op *op = stop - 1
    cdef Column *texts
    cdef Column *column
    cdef offset_t *ends
    cdef offset_t *value_ends
    cdef uint8_t *data
    cdef const uint8_t *end = context.end
    cdef const uint8_t *limit = context.limit
    cdef const uint8_t *p = at[0]
    cdef const uint8_t *q
    cdef const uint8_t *r
    cdef int32_t code
    cdef int64_t factor
    cdef bint keyed = op != first
    cdef bint pext = has_pext()
    cdef int64_t width
    cdef uint64_t most
    cdef int64_t item = 0
    cdef uint64_t long
    cdef uint64_t stops
    cdef uint32_t word
    # Items of no bytes have no ops: what stands there is of others, or behind the program.
    if stop == first or stop - first > 2 or keyed and first.code != DO_STRING:
        return 0
    texts = <Column *>(<char *>context.columns + first.place)
    column = <Column *>(<char *>context.columns + op.place)
    ends = <offset_t *>texts.offsets + index
    value_ends = <offset_t *>column.offsets + index
    data = column.data
    code = op.code
    factor = op.factor
    width = 8 if code == DO_DOUBLE else 4
    most = decimal_limit(op.precision) if code == DO_DECIMAL else 0
    if not keyed and (code == DO_DOUBLE or code == DO_FLOAT):
        count = min(count, (end - p) // width)
        memcpy(data + index * width, p, count * width)
        at[0] = p + count * width
        return count
    if not keyed and code == DO_LONG:
        return read_long_run(at, end, limit, count, <int64_t *>data + index, factor, pext)
    if not keyed and code == DO_INT:
        return read_int_run(at, end, limit, count, <int32_t *>data + index, pext)
    if not keyed and code == DO_INT_TO_LONG:
        return read_int_as_long_run(at, end, limit, count, <int64_t *>data + index, factor, pext)
    while item < count and limit - p >= AHEAD:
        q = p
        if keyed:
            q = take_text(texts, ends + item, q, end, limit)
            if unlikely(q == NULL) or unlikely(limit - q < AHEAD):
                break
        if code == DO_STRING or code == DO_BYTES:
            q = take_text(column, value_ends + item, q, end, limit)
            if unlikely(q == NULL):
                break
        elif code == DO_LONG:
            long = load_le64(q)
            stops = ~long & 0x8080808080808080ULL
            if likely(stops != 0):
                q += (ctz64(stops) >> 3) + 1
                long = gather7_by(long & (stops ^ (stops - 1)), pext)
            else:
                r = q
                if read_varint64(&r, end, limit, &long) != OK:
                    break
                q = r
            if unlikely(q > end) or unlikely(
                multiply_overflows(unzigzag64(long), factor, <int64_t *>data + index + item)
            ):
                break
        elif code == DO_INT or code == DO_INT_TO_LONG:
            r = q
            if unlikely(read_varint32(&r, end, limit, &word) != OK):
                break
            q = r
            if code == DO_INT:
                (<int32_t *>data)[index + item] = unzigzag32(word)
            else:
                (<int64_t *>data)[index + item] = unzigzag32(word) * factor
        elif code == DO_DOUBLE or code == DO_FLOAT:
            if unlikely(width > end - q):
                break
            if code == DO_DOUBLE:
                (<uint64_t *>data)[index + item] = load_le64(q)
            else:
                (<uint32_t *>data)[index + item] = load_le32(q)
            q += width
        elif code == DO_DECIMAL and column.width == 16:
            q = read_small_decimal(op, column, index + item, q, end, most)
            if unlikely(q == NULL):
                break
        elif code == DO_BOOLEAN:
            if unlikely(q >= end) or unlikely(q[0] > 1):
                break
            data[index + item] = q[0]
            q += 1
        else:
            break
        p = q
        item += 1
    at[0] = p
    return item

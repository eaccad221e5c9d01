"""Lists and maps of single values to Avro binary, each written where it stands.

Items of one value that cannot be wrong, and entries of a text and such a value, need no program: the loops here ask
what they are once for all rows of a block.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

from kcodec.columns.written._inputs cimport Input, start_of
from kcodec.columns.written._slots cimport Slots
from kcodec.formats.avro.rows._program cimport (
    PUT_BOOLEAN, PUT_DOUBLE, PUT_FLOAT, PUT_INT, PUT_LONG, PUT_MAP, PUT_TEXT, Op,
)
from kcodec.formats.avro.rows._put cimport Context, write_text
from kcodec.wire.binary.cursor cimport (
    has_pext, load_le32, load_le64, put_varint, store_le32, store_le64, write_varint, zigzag64,
)


cdef bint is_plain(const Context *context, const Op *op) noexcept nogil:
    """Return whether `put_plain` writes the lists or maps of an op."""
    cdef const Op *value = op + op.next - 1
    cdef const Input *column = <const Input *>(<const char *>context.columns + value.place)
    if op.next != 2 and (op.code != PUT_MAP or op.next != 3 or op[1].code != PUT_TEXT):
        return False
    return (
        value.code == PUT_LONG or value.code == PUT_INT or value.code == PUT_BOOLEAN or value.code == PUT_TEXT
        or value.code == PUT_DOUBLE and column.width == 8 or value.code == PUT_FLOAT and column.width == 4
    )


cdef inline void put_lists(
    Slots *block, const Input *column, const Input *keys, const Input *values, int32_t code, const int64_t *lanes,
    int64_t count
) noexcept nogil:
    cdef bint pext = has_pext()
    cdef const uint8_t *data = values.data
    cdef int64_t first = values.first
    cdef int64_t at
    cdef int64_t item
    cdef int64_t end
    cdef uint8_t *out
    for at in range(count):
        out = block.out[lanes[at]]
        item = start_of(column, block.first + lanes[at])
        end = start_of(column, block.first + lanes[at] + 1)
        if item != end:
            out = write_varint(out, <uint64_t>(end - item) << 1)
        while item < end:
            if keys != NULL:
                out = write_text(keys, item, out)
            if code == PUT_LONG:
                out = put_varint(out, zigzag64((<const int64_t *>data)[item]), pext)
            elif code == PUT_INT:
                out = put_varint(out, zigzag64((<const int32_t *>data)[item]), pext)
            elif code == PUT_DOUBLE:
                store_le64(out, load_le64(data + 8 * item))
                out += 8
            elif code == PUT_FLOAT:
                store_le32(out, load_le32(data + 4 * item))
                out += 4
            elif code == PUT_BOOLEAN:
                out[0] = (data[(first + item) >> 3] >> ((first + item) & 7)) & 1
                out += 1
            else:
                out = write_text(values, item, out)
            item += 1
        out[0] = 0
        block.out[lanes[at]] = out + 1


cdef void put_plain(
    Slots *block, const Context *context, const Op *op, const int64_t *lanes, int64_t count
) noexcept nogil:
    """Write the lists or maps of some lanes, of which `is_plain` is true."""
    cdef const Input *columns = context.columns
    cdef const Op *value = op + op.next - 1
    cdef const Input *column = &columns[op.column]
    cdef const Input *keys = NULL
    cdef const Input *values = &columns[value.column]
    if op.next == 3:
        keys = &columns[op[1].column]
    if value.code == PUT_LONG:
        put_lists(block, column, keys, values, PUT_LONG, lanes, count)
    elif value.code == PUT_INT:
        put_lists(block, column, keys, values, PUT_INT, lanes, count)
    elif value.code == PUT_DOUBLE:
        put_lists(block, column, keys, values, PUT_DOUBLE, lanes, count)
    elif value.code == PUT_FLOAT:
        put_lists(block, column, keys, values, PUT_FLOAT, lanes, count)
    elif value.code == PUT_BOOLEAN:
        put_lists(block, column, keys, values, PUT_BOOLEAN, lanes, count)
    else:
        put_lists(block, column, keys, values, PUT_TEXT, lanes, count)

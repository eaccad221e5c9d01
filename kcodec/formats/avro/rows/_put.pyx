"""Values to Avro binary, a row at a time: every op, and the facts of what fails.

The bytes are those of Avro Java's plain encoder: collections are one block without a byte size, decimals have the
fewest bytes. There is room for all that is written.
"""

from libc.stdint cimport INT32_MAX, INT32_MIN, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, \
    uint32_t, uint64_t
from libc.string cimport memcmp, memcpy, memmove

from kcodec.columns.written._inputs cimport Input, is_valid, start_of
from kcodec.formats.avro.rows._program cimport *
from kcodec.wire.binary.cursor cimport (
    copy32, has_pext, likely, load_le64, multiply_overflows, put_varint, store_be64, store_le32, store_le64, top64,
    unlikely, write_varint, zigzag64,
)
from kcodec.wire.binary.decimal cimport (
    decimal_limit, decimal_number, decimal_number_to_bytes, decimal_parse, decimal_rescale, decimal_resize,
    decimal_to_bytes, decimal_to_fixed,
)
from kcodec.wire.binary.status cimport *
from kcodec.wire.text.isotime cimport iso_write
from kcodec.wire.text.utf8 cimport utf8_valid

cdef enum:
    VARINT = 10      # bytes of the longest


cdef inline Status load_integer(const Input *column, int64_t index, int64_t *value) noexcept nogil:
    if column.width == 8:
        value[0] = (<const int64_t *>column.data)[index]
        if not column.signed and value[0] < 0:
            return OUT_OF_RANGE
    elif column.width == 4:
        value[0] = (<const int32_t *>column.data)[index]
        if not column.signed:
            value[0] = <uint32_t>value[0]
    elif column.width == 2:
        value[0] = (<const int16_t *>column.data)[index]
        if not column.signed:
            value[0] = <uint16_t>value[0]
    else:
        value[0] = (<const int8_t *>column.data)[index]
        if not column.signed:
            value[0] = <uint8_t>value[0]
    return OK


cdef int64_t read_integer(const Op *op, const Input *column, int64_t index, Status *status) noexcept nogil:
    """Read the value that goes on the wire: `op.size` bits, scaled by `op.factor`."""
    cdef int64_t value = 0
    cdef int64_t quotient
    status[0] = load_integer(column, index, &value)
    if status[0] != OK:
        return 0
    if op.factor > 1:
        quotient = value // op.factor
        if quotient * op.factor != value:
            if op.scale:
                quotient -= value < 0
            else:
                status[0] = INEXACT
        value = quotient
    elif op.factor < 0:
        if multiply_overflows(value, -op.factor, &value):
            status[0] = OUT_OF_RANGE
    if op.size == 32 and status[0] == OK and (value > INT32_MAX or value < INT32_MIN):
        status[0] = OUT_OF_RANGE
    return value


cdef Status read_float(const Input *column, int64_t index, float *value) noexcept nogil:
    cdef double wide
    if column.width == 4:
        value[0] = (<const float *>column.data)[index]
        return OK
    wide = (<const double *>column.data)[index]
    value[0] = <float>wide
    # A NaN is not equal to itself, and keeps being one.
    return OK if <double>value[0] == wide or wide != wide else INEXACT


cdef bint fits(const Op *op, const Input *column, int64_t index) noexcept nogil:
    """Return whether a branch of a union of two number types holds a value exactly."""
    cdef Status status
    cdef float real
    if op.code == PUT_INTEGER or op.code == PUT_INT:
        read_integer(op, column, index, &status)
        return status == OK
    if op.code == PUT_FLOAT:
        return read_float(column, index, &real) == OK
    return True


cdef inline const uint8_t *bytes_of(const Input *column, int64_t index, int64_t *length) noexcept nogil:
    """Return where text or bytes begin, of a fixed size or not."""
    cdef int64_t begin
    if column.offsets == NULL:
        length[0] = column.width
        return column.data + index * column.width
    begin = start_of(column, index)
    length[0] = start_of(column, index + 1) - begin
    return column.data + begin


cdef uint8_t *write_decimal(
    const Op *op, const Input *column, int64_t index, uint8_t *out, Status *status
) noexcept nogil:
    cdef uint8_t slot[40]
    cdef uint8_t digits[40]
    cdef const uint8_t *value = column.data + index * column.width
    cdef int words = column.width >> 3
    cdef int64_t size
    cdef int64_t low
    cdef uint8_t number[16]
    if column.width == 16 and op.factor == 0 and op.size <= 8:
        # Most are of 64 bits.
        low = <int64_t>load_le64(value)
        if <int64_t>load_le64(value + 8) == low >> 63 and write_small_decimal(op, low, &out):
            status[0] = OK
            return out
    if column.offsets != NULL:
        value = bytes_of(column, index, &size)
        return write_decimal_text(op, value, size, out, status)
    if words < 2:
        if load_integer(column, index, &size) != OK:
            # Unsigned, with the highest bit.
            size = (<const int64_t *>column.data)[index]
        store_le64(number, <uint64_t>size)
        store_le64(number + 8, <uint64_t>(size >> 63) if column.signed else 0)
        value = number
        words = 2
    if words == 2 and op.precision > 38:
        memcpy(slot, value, 16)
        store_le64(slot + 16, 0 if value[15] < 0x80 else 0xFFFFFFFFFFFFFFFFULL)
        store_le64(slot + 24, 0 if value[15] < 0x80 else 0xFFFFFFFFFFFFFFFFULL)
        value = slot
        words = 4
    # A slot holds 76 digits, though the schema may allow more.
    status[0] = decimal_rescale(value, words, op.factor, min(op.precision, 76), slot)
    if status[0] != OK:
        return out
    if op.size:
        status[0] = decimal_to_fixed(slot, words, out, op.size)
        return out + op.size
    size = decimal_to_bytes(slot, words, digits)
    out = write_varint(out, <uint64_t>size << 1)
    memcpy(out, digits, 32)
    return out + size


cdef inline bint write_small_decimal(const Op *op, int64_t value, uint8_t **at) noexcept nogil:
    """Write a decimal of 64 bits; return False if it has too many digits or takes too many bytes."""
    cdef uint8_t *out = at[0]
    cdef uint64_t sign = <uint64_t>(value >> 63)
    # Bytes that its bits and one of the sign fill.
    cdef int64_t least = (top64(((<uint64_t>value ^ sign) << 1) | 1) >> 3) + 1
    cdef int64_t size = op.size if op.size else least
    if unlikely(size < least) or unlikely((<uint64_t>value ^ sign) - sign > decimal_limit(op.precision)):
        return False
    if op.size == 0:
        out[0] = <uint8_t>(size << 1)
        out += 1
    store_be64(out, <uint64_t>value << (64 - 8 * size))
    at[0] = out + size
    return True


cdef uint8_t *write_decimal_text(
    const Op *op, const uint8_t *text, int64_t size, uint8_t *out, Status *status
) noexcept nogil:
    """Write a decimal that is too wide for a column of decimals."""
    cdef decimal_number number
    cdef size_t take
    cdef size_t zeros
    cdef size_t length
    cdef uint8_t *place = out + op.size + VARINT
    status[0] = decimal_parse(<const char *>text, size, op.scale, op.precision, &number, &take, &zeros)
    if status[0] != OK:
        return out
    # The length stands before the digits, but is known after them: they are written further on, and moved.
    length = decimal_number_to_bytes(&number, take, zeros, place)
    if op.size:
        status[0] = decimal_resize(place, length, out, op.size)
        return out + op.size
    out = write_varint(out, <uint64_t>length << 1)
    memmove(out, place, length)
    return out + length


cdef uint8_t *write_iso(const Op *op, const Input *column, int64_t index, uint8_t *out) noexcept nogil:
    """Write a date or time as text; NULL if it has no form."""
    cdef int64_t value
    cdef uint8_t *end
    if column.width == 4:
        value = (<const int32_t *>column.data)[index]
    else:
        value = (<const int64_t *>column.data)[index]
    # The length is one byte.
    end = iso_write(value, op.precision, op.scale, out + 1)
    if end != NULL:
        out[0] = <uint8_t>((end - out - 1) << 1)
    return end


cdef int32_t find_symbol(const Op *op, const uint8_t *text, int64_t size) noexcept nogil:
    cdef const int32_t *table = op.table
    cdef int32_t symbol = table[1 + (symbol_hash(text, size) & table[0])]
    while symbol:
        if op.texts[symbol - 1].size == size and memcmp(op.texts[symbol - 1].data, text, size) == 0:
            return symbol - 1
        symbol = table[1 + table[0] + symbol]
    return -1


cdef uint8_t *put(
    Context *context, const Op *first, const Op *stop, int64_t index, int64_t count, uint8_t *out
) noexcept nogil:
    """Run a range of ops for `count` values of a scope, the first at `index`; return the position, or NULL."""
    cdef const Input *columns = context.columns
    cdef const Op *op
    cdef const Input *column
    cdef const uint8_t *source
    cdef int32_t branch
    cdef int64_t value
    cdef int64_t length
    cdef int64_t begin
    cdef float real
    cdef double wide
    cdef uint32_t word
    cdef Status status
    cdef bint pext = has_pext()
    if count > 1 and stop - first == 1:
        # Numbers of a list, behind each other.
        column = <const Input *>(<const char *>columns + first.place)
        length = column.width
        if first.code == PUT_LONG:
            for value in range(index, index + count):
                out = put_varint(out, zigzag64((<const int64_t *>column.data)[value]), pext)
            return out
        if first.code == PUT_INT:
            for value in range(index, index + count):
                out = put_varint(out, zigzag64((<const int32_t *>column.data)[value]), pext)
            return out
        if first.code == PUT_DOUBLE and length == 8 or first.code == PUT_FLOAT and length == 4:
            memcpy(out, column.data + index * length, count * length)
            return out + count * length
    while count > 0:
        op = first
        while op != stop:
            column = <const Input *>(<const char *>columns + op.place)
            if op.code == PUT_TEXT:
                out = write_text(column, index, out)
                op += 1
            elif op.code == PUT_BYTES or op.code == PUT_STRING:
                source = bytes_of(column, index, &length)
                if op.code == PUT_STRING and not utf8_valid(source, length):
                    return fail(context, INVALID_UTF8, op, index)
                out = write_varint(out, <uint64_t>length << 1)
                memcpy(out, source, length)
                out += length
                op += 1
            elif op.code == PUT_LONG:
                out = put_varint(out, zigzag64((<const int64_t *>column.data)[index]), pext)
                op += 1
            elif op.code == PUT_INT:
                out = put_varint(out, zigzag64((<const int32_t *>column.data)[index]), pext)
                op += 1
            elif op.code == PUT_NULLABLE or op.code == PUT_NULLABLE_TEXT or op.code == PUT_NULLABLE_DOUBLE:
                # The common forms, without a branch on what is random: whether there is a value.
                if op.code == PUT_NULLABLE_TEXT:
                    value = start_of(column, index)
                    source = column.data + value
                    length = start_of(column, index + 1) - value
                    if likely(length < 32) and likely(column.limit - source >= 32):
                        value = is_valid(column, index)
                        out[0] = <uint8_t>((value ^ op.size) << 1)
                        out[1] = <uint8_t>(length << 1)
                        copy32(out + 2, source)
                        out += 1 + ((1 + length) & -value)
                        op += op.next
                        continue
                elif op.code == PUT_NULLABLE_DOUBLE:
                    value = is_valid(column, index)
                    out[0] = <uint8_t>((value ^ op.size) << 1)
                    store_le64(out + 1, (<const uint64_t *>column.data)[index])
                    out += 1 + ((<int64_t>8) & -value)
                    op += op.next
                    continue
                if is_valid(column, index):
                    out[0] = <uint8_t>(2 - 2 * op.size)
                    op += 1
                else:
                    out[0] = <uint8_t>(2 * op.size)
                    op += op.next
                out += 1
            elif op.code == PUT_DOUBLE:
                if column.width == 8:
                    store_le64(out, (<const uint64_t *>column.data)[index])
                else:
                    wide = (<const float *>column.data)[index]
                    memcpy(&value, &wide, 8)
                    store_le64(out, value)
                out += 8
                op += 1
            elif op.code == PUT_ENUM:
                begin = start_of(column, index)
                branch = find_symbol(op, column.data + begin, start_of(column, index + 1) - begin)
                if unlikely(branch < 0):
                    return fail(context, UNKNOWN_SYMBOL, op, index)
                out = write_varint(out, <uint64_t>branch << 1)
                op += 1
            elif op.code == PUT_DECIMAL:
                out = write_decimal(op, column, index, out, &context.status)
                if unlikely(context.status != OK):
                    return fail(context, context.status, op, index)
                op += 1
            elif op.code == PUT_ISO:
                out = write_iso(op, column, index, out)
                if unlikely(out == NULL):
                    return fail(context, OUT_OF_RANGE, op, index)
                op += 1
            elif op.code == PUT_BOOLEAN:
                value = index + column.first
                out[0] = (column.data[value >> 3] >> (value & 7)) & 1
                out += 1
                op += 1
            elif op.code == PUT_ARRAY or op.code == PUT_MAP:
                begin = start_of(column, index)
                length = start_of(column, index + 1) - begin
                if length:
                    out = write_varint(out, <uint64_t>length << 1)
                    out = put(context, op + 1, op + op.next, begin, length, out)
                    if unlikely(out == NULL):
                        if context.trail_size < TRAIL:
                            context.trail_items[context.trail_size] = context.item - begin
                            context.trail_size += 1
                        context.item = index
                        return NULL
                out[0] = 0
                out += 1
                op += op.next
            elif op.code == PUT_INTEGER:
                value = read_integer(op, column, index, &context.status)
                if unlikely(context.status != OK):
                    return fail(context, context.status, op, index)
                out = write_varint(out, zigzag64(value))
                op += 1
            elif op.code == PUT_FLOAT:
                status = read_float(column, index, &real)
                if unlikely(status != OK):
                    return fail(context, status, op, index)
                memcpy(&word, &real, 4)
                store_le32(out, word)
                out += 4
                op += 1
            elif op.code == PUT_FIXED:
                source = bytes_of(column, index, &length)
                if unlikely(length != op.size):
                    return fail(context, FIXED_SIZE, op, index)
                memcpy(out, source, length)
                out += length
                op += 1
            elif op.code == PUT_UNION:
                branch = choose(context, op, column, index)
                if unlikely(context.status != OK):
                    return fail(context, context.status, op, index)
                out = write_varint(out, <uint64_t>branch << 1)
                op = context.ops + op.table[3 * branch + 2]
            elif op.code == DO_JUMP:
                op += op.next
            elif op.code == PUT_REQUIRED:
                if not is_valid(column, index):
                    return fail(context, NULL_VALUE, op, index)
                op += 1
            elif op.code == PUT_DEFAULT:
                memcpy(out, op.texts[0].data, op.texts[0].size)
                out += op.texts[0].size
                op += 1
            else:  # DO_FAIL
                return fail(context, <Status>op.status, op, index)
        index += 1
        count -= 1
    return out


cdef int32_t choose(
    Context *context, const Op *op, const Input *column, int64_t index
) noexcept nogil:
    """Choose the branch of a union that holds a value."""
    cdef bint present = is_valid(column, index)
    cdef int32_t branch
    cdef int32_t chosen = -1
    cdef const int32_t *entry
    cdef const Op *body
    context.status = OK
    for branch in range(op.size):
        entry = &op.table[3 * branch]
        if entry[0] == IF_ABSENT:
            if not present:
                return branch
        elif not present:
            continue
        elif entry[0] == IF_MEMBER:
            if is_valid(&context.columns[entry[1]], index):
                if chosen >= 0:
                    context.status = UNION_MEMBERS
                    return -1
                chosen = branch
        else:
            # Numbers of different width: the first that holds the value.
            body = &context.ops[entry[2]]
            chosen = branch
            if fits(body, &context.columns[body.column], index):
                return branch
    if chosen < 0:
        context.status = UNION_MEMBERS if present else NULL_VALUE
    return chosen

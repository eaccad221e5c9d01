"""The envelopes of Kafka Connect's JsonConverter.

Wire form::

    {"schema": value, "payload": value}     in either order

Almost all rows of a column are alike around the payload, as they have the same schema: the beginning and the end of
some rows are remembered, and a row that has both is not looked at further. Others are scanned by quotes and brackets
only; what the values hold is checked by who reads them. Keys with escapes are left to the plain twin.
"""

from cpython.bytearray cimport PyByteArray_AS_STRING
from libc.stdint cimport INT32_MAX, int32_t, int64_t, uint8_t
from libc.string cimport memcmp

from kcodec.columns.rows._rows cimport Rows, Slice
from kcodec.wire.binary.status cimport (
    DUPLICATE_KEY, JSON_SYNTAX, JSON_TYPE, OK, SIZE_LIMIT, TRAILING_BYTES, TRUNCATED, Status,
)

from kcodec.errors import CODES
from kcodec.formats.connect._envelope_py import Envelope, faults, scan as scan_plainly

__all__ = ["scan", "split", "unlike"]

_CODES = list(CODES)

cdef enum:
    KEPT = 8


cdef enum Answer:
    DONE
    FOUND       # parts of a row that is new around its payload
    FAULT
    ODD         # a key with escapes


cdef struct Parts:
    int64_t schema
    int64_t schema_end
    int64_t payload
    int64_t payload_end
    bint odd
    int64_t at                # of the fault
    Status status


cdef struct Kept:
    const uint8_t *start      # the row up to its payload
    int64_t start_size
    const uint8_t *end        # and from there on
    int64_t end_size
    int32_t number


cdef struct State:
    Kept kept[KEPT]
    int32_t count
    int64_t row
    Parts parts


cdef inline bint is_space(uint8_t byte) noexcept nogil:
    return byte == 0x20 or byte == 0x0A or byte == 0x0D or byte == 0x09


cdef inline int64_t space(const uint8_t *data, int64_t at, int64_t size) noexcept nogil:
    while at < size and is_space(data[at]):
        at += 1
    return at


cdef inline int64_t bad(Parts *parts, Status status, int64_t at) noexcept nogil:
    parts.status = status
    parts.at = at
    return -1


cdef int64_t string_end(const uint8_t *data, int64_t at, int64_t size, Parts *parts) noexcept nogil:
    """Pass a string, from the byte after its first quote past its last one; -1 if it does not end."""
    while at < size and data[at] != 0x22:
        if data[at] == 0x5C:
            parts.odd = True
            at += 1
        at += 1
    if at >= size:
        return bad(parts, TRUNCATED, size)
    return at + 1


cdef int64_t skip(const uint8_t *data, int64_t begin, int64_t size, Parts *parts) noexcept nogil:
    """Pass a value by its quotes and brackets."""
    cdef int64_t at = begin
    cdef int64_t depth = 0
    cdef uint8_t byte
    while at < size:
        byte = data[at]
        if byte == 0x22:
            if at > begin and depth == 0:
                break
            at = string_end(data, at + 1, size, parts)
            if at < 0 or depth == 0:
                return at
        elif byte == 0x7B or byte == 0x5B:
            if at > begin and depth == 0:
                break
            depth += 1
            at += 1
        elif byte == 0x7D or byte == 0x5D:
            if depth == 0:
                break
            depth -= 1
            at += 1
            if depth == 0:
                return at
        elif depth == 0 and (byte == 0x2C or is_space(byte)):
            break
        else:
            at += 1
    if depth or at >= size:
        return bad(parts, TRUNCATED, size)
    if at == begin:
        return bad(parts, JSON_SYNTAX, at)
    return at


cdef int64_t expect(const uint8_t *data, int64_t at, int64_t size, uint8_t byte, Parts *parts) noexcept nogil:
    if at >= size:
        return bad(parts, TRUNCATED, size)
    if data[at] != byte:
        return bad(parts, JSON_SYNTAX, at)
    return at + 1


cdef Answer scan_row(const uint8_t *data, int64_t size, Parts *parts) noexcept nogil:
    """Find the parts of an envelope."""
    cdef int64_t at = 0
    cdef int64_t begin
    cdef int64_t name_end
    cdef int64_t value
    cdef int64_t end
    cdef int64_t close
    cdef bint is_schema
    cdef bint known
    cdef bint first = True
    parts.status = OK
    parts.schema = -1
    parts.payload = -1
    if size >= 3 and data[0] == 0xEF and data[1] == 0xBB and data[2] == 0xBF:
        at = 3
    at = space(data, at, size)
    if at >= size or data[at] != 0x7B:
        bad(parts, JSON_TYPE, at)
        return FAULT
    at = space(data, at + 1, size)
    while not first or at >= size or data[at] != 0x7D:
        begin = at
        parts.odd = False
        at = expect(data, at, size, 0x22, parts)
        if at < 0:
            return FAULT
        name_end = string_end(data, at, size, parts)
        if name_end < 0:
            return FAULT
        if parts.odd:
            return ODD
        is_schema = name_end - at == 7 and memcmp(data + at, b"schema", 6) == 0
        known = is_schema or (name_end - at == 8 and memcmp(data + at, b"payload", 7) == 0)
        at = expect(data, space(data, name_end, size), size, 0x3A, parts)
        if at < 0:
            return FAULT
        value = space(data, at, size)
        end = skip(data, value, size, parts)
        if end < 0:
            return FAULT
        if not known:
            bad(parts, JSON_TYPE, begin)
            return FAULT
        close = space(data, end, size)
        if (parts.schema if is_schema else parts.payload) >= 0:
            bad(parts, DUPLICATE_KEY, begin)
            return FAULT
        if is_schema:
            parts.schema = value
            parts.schema_end = end
        else:
            parts.payload = at
            parts.payload_end = close
        first = False
        if close >= size:
            bad(parts, TRUNCATED, size)
            return FAULT
        at = close
        if data[at] == 0x7D:
            break
        if data[at] != 0x2C:
            bad(parts, JSON_SYNTAX, at)
            return FAULT
        at = space(data, at + 1, size)
    if parts.schema < 0 or parts.payload < 0:
        bad(parts, JSON_TYPE, at)
        return FAULT
    at = space(data, at + 1, size)
    if at < size:
        bad(parts, TRAILING_BYTES, at)
        return FAULT
    return FOUND


cdef inline int32_t remembered(
    const State *state, const uint8_t *start, int64_t size, int32_t recent
) noexcept nogil:
    """Find a row's beginning and end among the remembered ones, the most recent first; -1 if they are not there."""
    cdef const Kept *kept
    cdef int32_t at = recent
    cdef int32_t left = state.count
    while left > 0:
        left -= 1
        kept = &state.kept[at]
        if kept.start_size + kept.end_size <= size \
                and memcmp(kept.end, start + size - kept.end_size, kept.end_size) == 0 \
                and memcmp(kept.start, start, kept.start_size) == 0:
            return at
        at = at + 1 if at + 1 < state.count else 0
    return -1


cdef Answer advance(
    Rows rows, State *state, int32_t *selector, int32_t *starts, int32_t *ends
) noexcept nogil:
    """Split rows until one has to be looked at with Python."""
    cdef Slice value
    cdef const Kept *kept
    cdef int64_t size
    cdef int32_t at
    cdef int32_t recent = 0
    while state.row < rows.length:
        rows.slice(state.row, &value)
        if value.start == NULL:
            selector[state.row] = -1
            state.row += 1
            continue
        size = value.end - value.start
        if size > INT32_MAX:
            bad(&state.parts, SIZE_LIMIT, 0)
            return FAULT
        at = remembered(state, value.start, size, recent)
        if at < 0:
            return scan_row(value.start, size, &state.parts)
        recent = at
        kept = &state.kept[at]
        selector[state.row] = kept.number
        starts[state.row] = <int32_t>kept.start_size
        ends[state.row] = <int32_t>(size - kept.end_size)
        state.row += 1
    return DONE


cdef Answer look(const uint8_t *start, int64_t size, Parts *parts) except DONE:
    """Find the parts of a row, whatever its keys."""
    cdef Answer answer = scan_row(start, size, parts)
    return plainly(start, size, parts) if answer == ODD else answer


cdef Answer plainly(const uint8_t *start, int64_t size, Parts *parts) except DONE:
    """Find the parts of a row with an odd key."""
    cdef int status
    envelope = scan_plainly(start[:size])
    if envelope.code:
        status = _CODES.index(envelope.code) + 1
        bad(parts, <Status>status, envelope.at)
        return FAULT
    parts.schema, parts.schema_end, parts.payload, parts.payload_end = envelope[:4]
    return FOUND


cdef tuple fault_of(int64_t row, const Parts *parts):
    return row, parts.at, _CODES[<int>parts.status - 1]


def scan(data):
    """Find the parts of one envelope; see the plain twin."""
    cdef const uint8_t *start = data
    cdef Parts parts
    if look(start, len(data), &parts) == FAULT:
        _, at, code = fault_of(0, &parts)
        return Envelope(code=code, at=at)
    return Envelope(parts.schema, parts.schema_end, parts.payload, parts.payload_end)


def unlike(values, rows):
    """Return which of some rows are not envelopes; see the plain twin."""
    cdef Rows column = Rows(values)
    cdef Slice value
    cdef Parts parts
    cdef int64_t row
    found = []
    for row in rows:
        column.slice(row, &value)
        if look(value.start, value.end - value.start, &parts) == FAULT:
            found.append(fault_of(row, &parts))
    return faults(found)


def split(values, max_schemas):
    """Find schema and payload of each row; see the plain twin for parameters and result."""
    cdef Rows rows = Rows(values)
    cdef State state
    cdef Slice value
    cdef Kept *kept
    cdef Answer answer
    cdef int64_t added = 0
    cdef bytes start
    cdef bytes end
    chosen = bytearray(rows.length * sizeof(int32_t))
    first = bytearray(rows.length * sizeof(int32_t))
    behind = bytearray(rows.length * sizeof(int32_t))
    cdef int32_t *selector = <int32_t *>PyByteArray_AS_STRING(chosen)
    cdef int32_t *starts = <int32_t *>PyByteArray_AS_STRING(first)
    cdef int32_t *ends = <int32_t *>PyByteArray_AS_STRING(behind)
    texts = {}
    found = []
    held = [None] * KEPT      # what entries point into
    state.count = 0
    state.row = 0
    while True:
        with nogil:
            answer = advance(rows, &state, selector, starts, ends)
        if answer == DONE:
            break
        rows.slice(state.row, &value)
        if answer == ODD:
            answer = plainly(value.start, value.end - value.start, &state.parts)
        selector[state.row] = -1
        if answer == FAULT:
            found.append(fault_of(state.row, &state.parts))
            state.row += 1
            continue
        text = value.start[state.parts.schema:state.parts.schema_end]
        if text not in texts and len(texts) == max_schemas:
            break
        number = texts.setdefault(text, len(texts))
        selector[state.row] = number
        starts[state.row] = <int32_t>state.parts.payload
        ends[state.row] = <int32_t>state.parts.payload_end
        start = value.start[:state.parts.payload]
        end = value.start[state.parts.payload_end:value.end - value.start]
        held[added % KEPT] = (start, end)
        kept = &state.kept[added % KEPT]
        kept.start = <const uint8_t *>start
        kept.start_size = len(start)
        kept.end = <const uint8_t *>end
        kept.end_size = len(end)
        kept.number = number
        added += 1
        state.count = min(added, KEPT)
        state.row += 1
    for buffer in (chosen, first, behind):
        del buffer[state.row * sizeof(int32_t):]
    return chosen, first, behind, list(texts), faults(found), state.row

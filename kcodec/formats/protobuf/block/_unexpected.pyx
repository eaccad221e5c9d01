"""Fields of Protobuf that the reader's message does not have, or has in another form, for blocks of rows.

A writer whose message has more fields writes them in all of its rows, at the same places. What is met there is noted,
for the program's op at that place, and its rows are read with that in mind from then on.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport calloc

from kcodec.formats.protobuf.block._lanes cimport Block, Lane, Lanes
from kcodec.formats.protobuf.block._values cimport read_long
from kcodec.formats.protobuf.rows._program cimport FIXED32, FIXED64, LENGTH, PACKABLE, PACKED, VARINT, Message, Op
from kcodec.wire.binary.cursor cimport ctz64, likely, load_le64


cdef const uint8_t *skip_field(const uint8_t *p, const uint8_t *end, uint64_t *tag) noexcept nogil:
    """Read past a field, whatever it is, but for groups; return the position behind, or NULL."""
    cdef uint64_t raw
    cdef uint64_t stops
    cdef int64_t size
    cdef int32_t wire_type
    if likely(not p[0] & 0x80):
        # Mostly a tag is one byte, a length is too, and a varint has eight at most. Behind `end` is SLACK.
        wire_type = p[0] & 7
        stops = ~load_le64(p + 1) & 0x8080808080808080ULL
        size = 0
        if wire_type == VARINT and stops:
            size = 2 + (ctz64(stops) >> 3)
        elif wire_type == LENGTH and stops & 0x80:
            size = 2 + p[1]
        elif wire_type == FIXED32 or wire_type == FIXED64:
            size = 5 if wire_type == FIXED32 else 9
        if size and likely(size <= end - p):
            tag[0] = p[0]
            return p + size
    size = read_long(p, end, tag)
    wire_type = tag[0] & 7
    if size > end - p or tag[0] >> 32:
        return NULL
    p += size
    size = 4 if wire_type == FIXED32 else 8
    if wire_type == VARINT:
        size = read_long(p, end, &raw)
    elif wire_type == LENGTH:
        size = read_long(p, end, &raw)
        if raw >> 31:
            return NULL
        size += <int64_t>raw
    elif wire_type != FIXED64 and wire_type != FIXED32:
        return NULL
    return p + size if size <= end - p else NULL


cdef bint skip_newer(const Lane *lane, uint64_t last) noexcept nogil:
    """Return whether a lane holds nothing more than unknown fields behind the last one that is known."""
    cdef const uint8_t *p = lane.at
    cdef uint64_t tag = 0
    while p != NULL and p < lane.end:
        p = skip_field(p, lane.end, &tag)
        if tag >> 3 <= last:
            return False
    return p != NULL


cdef const uint8_t *find_field(const uint8_t *p, const uint8_t *end, uint64_t number) noexcept nogil:
    """Return where the first field of such a number, or of a greater one, stands in a payload that is in order."""
    cdef const uint8_t *at = p
    cdef uint64_t tag = 0
    while at != NULL and tag >> 3 < number:
        p = at
        at = skip_field(p, end, &tag)
    return p


cdef inline bint is_other_form(const Op *op, uint64_t tag) noexcept nogil:
    """Return whether a tag that has an op's number is that of the same list, packed or not."""
    return op.flags & PACKABLE and (tag & 7 == LENGTH or tag & 7 == <uint64_t>op.wire_type)


cdef void skip_unknown(const Op *op, const Lanes *lanes, uint64_t before) noexcept nogil:
    """Move lanes behind fields, up to an op's, that the message does not have, or with another wire type."""
    cdef int64_t at
    cdef Lane *lane
    cdef const uint8_t *p
    cdef uint64_t tag = 0
    for at in range(lanes.count):
        lane = &lanes.lane[at]
        while (load_le64(lane.at) & op.tag_mask) != op.tag and lane.at < lane.end:
            p = skip_field(lane.at, lane.end, &tag)
            if p == NULL or tag >> 3 <= before or tag >> 3 > op.number:
                break
            if tag >> 3 == op.number and (tag & 7 == op.tag & 7 or is_other_form(op, tag)):
                break
            lane.at = p


cdef void repack(Op *op) noexcept nogil:
    """Make the op of a list read items that are packed if they were not, and the other way round."""
    op.flags ^= PACKED
    op.tag = op.tag & ~<uint64_t>7 | <uint64_t>(LENGTH if op.flags & PACKED else op.wire_type)


cdef void learn(Block *block, const Message *message, const Lane *lane) noexcept nogil:
    """Note what the rest of a lane holds that is not expected; `block.learned` is then set if that is new."""
    cdef const Op *ops = block.context.ops + message.ops
    cdef const uint8_t *p = lane.at
    cdef uint64_t tag = 0
    cdef uint64_t before = 0
    cdef int32_t at = 0
    cdef uint8_t met
    if message.unknown >= 0:
        return
    while p < lane.end:
        before = tag >> 3
        p = skip_field(p, lane.end, &tag)
        if p == NULL or tag >> 3 < before:
            return
        while at < message.count and ops[at].number < tag >> 3:
            at += 1
        if at == message.count:
            return
        if ops[at].number == tag >> 3 and tag & 7 == ops[at].tag & 7:
            continue
        met = REPACKED if ops[at].number == tag >> 3 and is_other_form(&ops[at], tag) else UNKNOWN
        if block.met == NULL:
            block.met = block.known[block.program] = <uint8_t *>calloc(block.ops, 1)
            if block.met == NULL:
                return
        if not block.met[message.ops + at] & met:
            block.met[message.ops + at] |= met
            block.learned = True

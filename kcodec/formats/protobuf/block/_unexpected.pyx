"""Fields of Protobuf that come otherwise than a block of rows expects them.

A writer whose message has more fields, or whose encoder has an order of its own, writes all of its rows alike. What is
met there is noted, by op of the program, and rows are read with that in mind from then on.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc

from kcodec.formats.protobuf.block._lanes cimport Block, Lane, Lanes, Met, take
from kcodec.formats.protobuf.block._values cimport read_long
from kcodec.formats.protobuf.rows._program cimport FIXED32, FIXED64, LENGTH, PACKABLE, PACKED, VARINT, Message, Op
from kcodec.formats.protobuf.rows._row cimport place_of
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


cdef const uint8_t *find_field(const uint8_t *p, const uint8_t *end, uint64_t number) noexcept nogil:
    """Return where the first field of such a number, or of a greater one, stands in a payload that is in order."""
    cdef const uint8_t *at = p
    cdef uint64_t tag = 0
    while at != NULL and tag >> 3 < number:
        p = at
        at = skip_field(p, end, &tag)
    return p


cdef inline int32_t field_of(const Op *ops, const Message *message, uint64_t tag) noexcept nogil:
    """Return the position of the field that a tag is of, by its number and wire type; -1 if it is unknown."""
    cdef uint64_t number = tag >> 3
    cdef uint64_t wire_type = tag & 7
    cdef int32_t position
    if message.count == 0 or number > ops[message.count - 1].number:
        return -1
    if number == 0:
        # Not an unknown field either: it is wrong.
        return 0
    if number < <uint64_t>message.table_size:
        position = message.table[number]
    else:
        position = place_of(ops, message.count, <uint32_t>number)
    if position < 0 or wire_type == ops[position].tag & 7:
        return position
    # A list that may be packed is read both ways.
    if ops[position].flags & PACKABLE and (wire_type == LENGTH or wire_type == <uint64_t>ops[position].wire_type):
        return position
    return -1


cdef bint skip_rest(const Block *block, const Message *message, const Lane *lane) noexcept nogil:
    """Return whether a lane holds nothing more than unknown fields."""
    cdef const Op *ops = block.context.ops + message.ops
    cdef const uint8_t *p = lane.at
    cdef uint64_t tag = 0
    while p != NULL and p < lane.end:
        p = skip_field(p, lane.end, &tag)
        if p != NULL and field_of(ops, message, tag) >= 0:
            return False
    return p != NULL


cdef void skip_unknown(const Block *block, const Message *message, const Op *op, const Lanes *lanes) noexcept nogil:
    """Move lanes behind unknown fields that stand before the field of an op."""
    cdef const Op *ops = block.context.ops + message.ops
    cdef int64_t at
    cdef Lane *lane
    cdef const uint8_t *p
    cdef uint64_t tag = 0
    for at in range(lanes.count):
        lane = &lanes.lane[at]
        while (load_le64(lane.at) & op.tag_mask) != op.tag and lane.at < lane.end:
            p = skip_field(lane.at, lane.end, &tag)
            if p == NULL or field_of(ops, message, tag) >= 0:
                break
            lane.at = p


cdef void repack(Op *op) noexcept nogil:
    """Make the op of a list read items that are packed if they were not, and the other way round."""
    op.flags ^= PACKED
    op.tag = op.tag & ~<uint64_t>7 | <uint64_t>(LENGTH if op.flags & PACKED else op.wire_type)


cdef void learn(Block *block, const Message *message, const Lane *lane, bint reorder) noexcept nogil:
    """Note how fields come in the rest of a lane; `block.learned` is set if that is new.

    With `reorder`, fields that are out of turn are read in the order of this lane from now on.
    """
    cdef int64_t mark = block.used
    cdef int32_t count = message.count
    cdef int32_t *fields = <int32_t *>take(block, count * sizeof(int32_t))
    cdef int32_t *turns = <int32_t *>take(block, count * sizeof(int32_t))
    cdef uint8_t *seen = <uint8_t *>take(block, count)
    cdef Met *met
    cdef int32_t at
    cdef int32_t found
    if block.met == NULL:
        block.met = block.known[block.program] = <Met *>calloc(block.ops, sizeof(Met))
    if fields != NULL and turns != NULL and seen != NULL and block.met != NULL:
        met = block.met + message.ops
        for at in range(count):
            turns[at + met[at].shift] = at
            seen[at] = 0
        found = look_at_rest(block, message, lane, met, fields, turns, seen)
        if found and reorder:
            put_last(met, count, fields, found, turns, seen)
            block.learned = True
    block.used = mark


cdef int32_t look_at_rest(
    Block *block, const Message *message, const Lane *lane, Met *met, int32_t *fields, const int32_t *turns,
    uint8_t *seen
) noexcept nogil:
    """Note how fields come in the rest of a lane, and list them; return how many they are, if they are out of turn.

    No order reads a field that comes twice, and what is wrong is for the row loop to say.
    """
    cdef const Op *ops = block.context.ops + message.ops
    cdef const uint8_t *p = lane.at
    cdef uint64_t tag = 0
    cdef uint8_t what = 0
    cdef int32_t found = 0
    cdef int32_t field
    cdef bint out_of_turn = False
    while p < lane.end:
        p = skip_field(p, lane.end, &tag)
        if p == NULL:
            return 0
        field = field_of(ops, message, tag)
        if field < 0 and message.unknown >= 0:
            # The row loop keeps them.
            return 0
        if tag >> 3 == 0:
            # No field has this number, which the row loop says.
            return 0
        if field < 0:
            what = UNKNOWN
            continue
        if (tag ^ ops[field].tag) & 7:
            what |= REPACKED
        elif met[field].what & REPACKED:
            what |= MIXED
        if what & ~met[field].what:
            met[field].what |= what
            block.learned = True
        elif found == 0:
            # It came as expected, behind its turn.
            out_of_turn = True
        what = 0
        if found and fields[found - 1] == field:
            continue
        if seen[field]:
            return 0
        out_of_turn |= found > 0 and turns[field] < turns[fields[found - 1]]
        seen[field] = 1
        fields[found] = field
        found += 1
    return found if out_of_turn else 0


cdef void put_last(
    Met *met, int32_t count, const int32_t *fields, int32_t found, int32_t *turns, const uint8_t *seen
) noexcept nogil:
    """Let some fields have their turns behind all others."""
    cdef int32_t at
    cdef int32_t turn = 0
    for at in range(count):
        # `turns` becomes their order: what has been read of it is behind.
        turns[turn] = at + met[at].shift
        turn += not seen[turns[turn]]
    for at in range(count):
        met[at].shift = (turns[at] if at < count - found else fields[at - count + found]) - at

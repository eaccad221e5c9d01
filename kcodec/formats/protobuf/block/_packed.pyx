"""Lists of a block of rows of Protobuf that are packed: one length, and the items behind each other.

Of some writers lists of the same field are packed, of others each item has a tag of its own. Then a list is read as
runs of items, of which one that is not packed is the shortest.
"""

from libc.stdint cimport INT64_MAX, int64_t, uint8_t, uint64_t
from libc.string cimport memcpy

from kcodec.columns.built._column cimport Column, offset_at, set_end
from kcodec.formats.protobuf.block._lanes cimport MEMORY, Block, Lane, Lanes, reject, take
from kcodec.formats.protobuf.block._values cimport put_values, read_size, size_of
from kcodec.formats.protobuf.rows._program cimport FIXED32, READ_INT64, VARINT, Op
from kcodec.wire.binary.cursor cimport load_le64, unlikely
from kcodec.wire.binary.varint_run cimport read_packed


cdef inline const uint8_t *packed_run(
    Block *block, const Op *op, Lane *lane, const uint8_t **stop
) noexcept nogil:
    """Find the packed run at a lane, and move the lane behind it; return where the run starts."""
    cdef const uint8_t *p = lane.at
    cdef int64_t size
    cdef int64_t head
    if (load_le64(p) & op.tag_mask) != op.tag or p >= lane.end:
        stop[0] = p
        return p
    p += op.tag_size
    size = p[0]
    head = 1
    if size >= 0x80:
        head = read_size(p, lane.end, &size)
    if unlikely(head + size > lane.end - p):
        reject(block, lane)
        lane.at = lane.end
        stop[0] = lane.end
        return lane.end
    lane.at = p + head + size
    stop[0] = lane.at
    return p + head


cdef bint read_packed_values(
    Block *block, const Op *op, Column *column, const Lanes *lists, Lanes *items
) noexcept nogil:
    """Read lists of packed varints, all but those of enums; return whether there is room for that.

    `items` become lanes that are not asked where they are.
    """
    cdef bint wide = block.context.wide
    cdef bint pext = block.pext
    cdef int64_t base = offset_at(column, lists.base, wide)
    cdef int64_t room = (MEMORY - block.used) // <int64_t>sizeof(uint64_t)
    cdef uint64_t *values = <uint64_t *>(block.memory + block.used)
    cdef int64_t count = 0
    cdef int64_t found
    cdef int64_t at
    cdef Lane *lane
    cdef const uint8_t *p
    cdef const uint8_t *stop
    items.lane = NULL
    items.base = base
    items.dense = True
    if op.code == READ_INT64:
        # Blocks have room for all that payloads can hold.
        values = <uint64_t *>column[1].data + base
        room = INT64_MAX
    for at in range(lists.count):
        lane = &lists.lane[at]
        p = packed_run(block, op, lane, &stop)
        if unlikely(stop - p > room - count):
            return False
        found = read_packed(p, stop, pext, values + count)
        if unlikely(found < 0):
            reject(block, lane)
        else:
            count += found
        set_end(column, lane.index, base + count, wide)
    items.count = count
    put_values(block, items, op, column + 1, values, NULL)
    return True


cdef inline const uint8_t *next_run(
    Block *block, const Op *packed, const Op *single, Lane *lane, const uint8_t **stop
) noexcept nogil:
    """Find the run at a lane, packed or of one item, and move the lane behind it; NULL if there is none."""
    cdef const uint8_t *p = lane.at
    cdef uint64_t tag = load_le64(p) & single.tag_mask
    cdef int64_t size
    if p >= lane.end:
        return NULL
    if tag == packed.tag:
        return packed_run(block, packed, lane, stop)
    if tag != single.tag:
        return NULL
    p += single.tag_size
    size = size_of(p, lane.end) if single.wire_type == VARINT else 4 if single.wire_type == FIXED32 else 8
    if unlikely(size > lane.end - p):
        reject(block, lane)
        p = lane.end
        size = 0
    lane.at = p + size
    stop[0] = lane.at
    return p


cdef bint find_packed(
    Block *block, const Op *op, const Op *single, Column *column, const Lanes *lanes, Lanes *items
) noexcept nogil:
    """Find the items of lists that are packed, or not where there is an op for a `single` one.

    Return whether there is room for them.
    """
    cdef bint wide = block.context.wide
    cdef int64_t base = offset_at(column, lanes.base, wide)
    cdef Lane *item = <Lane *>(block.memory + block.used)
    cdef int64_t room = (MEMORY - block.used) // <int64_t>sizeof(Lane)
    cdef int64_t width = 0 if op.wire_type == VARINT else 4 if op.wire_type == FIXED32 else 8
    cdef int64_t count = 0
    cdef int64_t size
    cdef Lane *lane
    cdef const uint8_t *p
    cdef const uint8_t *stop
    cdef int64_t at
    for at in range(lanes.count):
        lane = &lanes.lane[at]
        p = packed_run(block, op, lane, &stop) if single == NULL else next_run(block, op, single, lane, &stop)
        while p != NULL:
            if unlikely(stop - p > room - count):
                return False
            while p < stop:
                size = width if width else size_of(p, stop)
                if unlikely(size > stop - p):
                    reject(block, lane)
                    break
                item.at = p
                p += size
                item.end = p
                item.index = base + count
                item.row = lane.row
                item += 1
                count += 1
            p = NULL if single == NULL else next_run(block, op, single, lane, &stop)
        set_end(column, lane.index, base + count, wide)
    items.lane = <Lane *>take(block, count * sizeof(Lane))
    items.count = count
    items.base = base
    items.dense = True
    return items.lane != NULL


cdef void copy_packed(Block *block, const Op *op, Column *column, const Lanes *lanes) noexcept nogil:
    """Read lists of fixed width that are packed: as they are stored."""
    cdef bint wide = block.context.wide
    cdef int64_t used = offset_at(column, lanes.base, wide)
    cdef int64_t width = 4 if op.wire_type == FIXED32 else 8
    cdef uint8_t *data = column[1].data
    cdef Lane *lane
    cdef const uint8_t *p
    cdef const uint8_t *stop
    cdef int64_t at
    for at in range(lanes.count):
        lane = &lanes.lane[at]
        p = packed_run(block, op, lane, &stop)
        if unlikely((stop - p) & (width - 1)):
            reject(block, lane)
        else:
            memcpy(data + used * width, p, stop - p)
            used += (stop - p) // width
        set_end(column, lane.index, used, wide)

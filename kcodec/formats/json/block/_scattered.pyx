"""Fields of a block of documents whose keys come in any order and may be missing.

First _places.pyx finds where the values of each row stand, then they are read from there.
"""

from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcpy, memset

from kcodec.columns.built._column cimport BITS, FIXED, Column, offset_t
from kcodec.formats.json._context cimport Context
from kcodec.formats.json._program cimport ABSENT, BOOLEAN, FOLD, STRING, Op
from kcodec.formats.json._quick cimport read_quickly, store_number
from kcodec.formats.json.block._drop cimport fill, is_valid, try_row
from kcodec.formats.json.block._field cimport read_field
from kcodec.formats.json.block._lanes cimport LANES, Block, is_dropped
from kcodec.formats.json.block._places cimport PLACED, Place, Places, begin_places, locate
from kcodec.formats.json.block._text cimport check_texts, is_inner
from kcodec.formats.json.block._value cimport read_one
from kcodec.wire.binary.cursor cimport ctz64, likely, unlikely
from kcodec.wire.text.json cimport json_plain32, json_tight


cdef void locate_rows(Block *block, const Op *container) noexcept nogil:
    """Find the values of all rows; `Block.value` becomes where each row ends."""
    cdef Context *context = block.context
    cdef Places *places = &block.places
    cdef const Op *op
    cdef uint64_t lacking
    cdef int64_t lane
    if block.depth >= context.max_depth or not container.fields or not begin_places(places, container):
        block.count = 0
        return
    places.spaced = block.spaced
    for lane in range(block.count):
        if is_dropped(block, lane):
            continue
        context.end = block.end[lane]
        block.value[lane] = NULL
        if not container.forms & FOLD or is_valid(block, lane):
            block.value[lane] = locate(
                places, context, lane, block.start[lane], block.at[lane], context.max_depth - block.depth - 1
            )
        if block.value[lane] == NULL or (places.unknown and not is_valid(block, lane)):
            if not try_row(block, container, lane):
                break
    op = container + 1
    for _ in range(container.fields):
        if not op.forms & ABSENT or op.data != NULL:
            lacking = ~(places.came[op.number] | block.dropped)
            while lacking:
                lane = ctz64(lacking)
                lacking &= lacking - 1
                if lane < block.count:
                    try_row(block, container, lane)
        op += op.next


cdef void read_some(Block *block, const Op *op, uint64_t came, offset_t *tag) noexcept nogil:
    """Read a field that not all rows have."""
    cdef const Place *places = &block.places.table[op.number * PLACED]
    cdef Column *column = &block.context.columns[op.column]
    cdef const uint8_t *p
    cdef const uint8_t *at
    cdef const uint8_t *end
    cdef int64_t lane
    cdef int64_t value = 0
    cdef int64_t size
    cdef int fraction = 0
    cdef int64_t next = 0          # the first row that nothing is stored of yet
    cdef int8_t least = 0
    cdef offset_t *offsets = <offset_t *>column.offsets + block.row
    cdef uint64_t left = came
    if column.valid != NULL:
        memset(column.valid + block.row, 0, block.count)
    if column.kind == FIXED:
        memset(column.data + block.row * column.width, 0, block.count * column.width)
    elif column.kind == BITS:
        memset(column.data + block.row, 0, block.count)
    while left:
        lane = ctz64(left)
        left &= left - 1
        p = block.start[lane] + places[lane].start
        end = block.end[lane]
        at = NULL
        if op.code == STRING:
            for next in range(next, lane):
                offsets[next + 1] = offsets[next]
            next = lane + 1
            least = min(least, <int8_t>p[1])
            size = json_plain32(p + 1, column.data + offsets[lane])
            if likely(p[0] == 34) and likely(size < 32) and likely(p[size + 1] == 34) and likely(p + size + 2 <= end):
                offsets[lane + 1] = offsets[lane] + <offset_t>size
                at = p + size + 2
        elif op.code != BOOLEAN and block.inside:
            at = json_tight(p, end, &value, &fraction)
            if at != NULL and not store_number(op.code, op, column, block.row + lane, value, fraction, p[0] == 45):
                at = NULL
        if unlikely(at == NULL):
            at = read_quickly(op, column, block.row + lane, p, end, True, tag)
        if likely(at != NULL):
            if column.valid != NULL:
                column.valid[block.row + lane] = 1
        else:
            at = read_one(block, op, lane, p)
        if unlikely(at != block.start[lane] + places[lane].stop):
            block.count = lane
            break
    if op.code == STRING:
        for next in range(next, block.count):
            offsets[next + 1] = offsets[next]
        check_texts(block, column, NULL, is_inner(least))


cdef void read_scattered(Block *block, const Op *container) noexcept nogil:
    """Read objects, from their brackets on, whose keys come in any order and may be missing."""
    cdef const Op *op = container + 1
    cdef const uint8_t *ends[LANES]
    cdef const Place *places
    cdef uint64_t all
    cdef uint64_t came
    cdef uint64_t dropped
    cdef int64_t lane
    locate_rows(block, container)
    memcpy(ends, block.value, block.count * sizeof(ends[0]))
    memset(&block.key, 0, sizeof(block.key))
    block.depth += 1
    for _ in range(container.fields):
        if block.count == 0:
            return
        places = &block.places.table[op.number * PLACED]
        all = <uint64_t>-1 >> (64 - block.count)
        came = block.places.came[op.number] & all & ~block.dropped
        dropped = block.dropped & all
        if came | dropped == all:
            for lane in range(block.count):
                block.at[lane] = block.start[lane] + places[lane].start
            # Nothing stands before a value that is where it is looked for.
            memset(&block.key, 0, sizeof(block.key))
            if dropped:
                fill(block, op)
            read_field(block, op)
            for lane in range(block.count):
                if not is_dropped(block, lane) and unlikely(block.at[lane] != block.start[lane] + places[lane].stop):
                    block.count = lane
                    break
        elif op.code >= BOOLEAN and op.code <= STRING:
            if block.wide:
                read_some(block, op, came, <int64_t *>NULL)
            else:
                read_some(block, op, came, <int32_t *>NULL)
        else:
            for lane in range(block.count):
                if not came >> lane & 1:
                    read_one(block, op, lane, NULL)
                elif read_one(block, op, lane, block.start[lane] + places[lane].start) \
                        != block.start[lane] + places[lane].stop:
                    block.count = lane
                    break
        op += op.next
    memcpy(block.at, ends, block.count * sizeof(ends[0]))
    block.depth -= 1

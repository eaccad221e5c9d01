"""Blocks of documents of several producers, each of which writes its keys in an order of its own.

    {"id":1,"name":"a"}    {"name":"bc","id":27}    {"id":3,"name":"d"}
           first                  second                   first

The rows of one order are read a field at a time, as if there were no others, and then those of the next. They are
stored like this, and put into their own order when all are (kcodec/columns/built/_order.pyx). Null rows stand behind
all orders until then.
The first keys of a row tell its order. Where they tell too little, a row is not as expected, and where there are too
many orders this is not worth its while: such blocks are read wherever their keys are (_scattered.pyx).
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from kcodec.columns.built._column cimport set_null
from kcodec.columns.built._order cimport Copies, reorder
from kcodec.formats.json._program cimport Op, key_hash
from kcodec.formats.json.block._decode cimport read_block
from kcodec.formats.json.block._lanes cimport LANES, Block, is_dropped
from kcodec.wire.binary.cursor cimport unlikely
from kcodec.wire.text.json cimport json_past, json_past_brackets, json_plain_size, json_space

cdef enum:
    ORDERS = 4         # of a block, at most


cdef uint32_t first_keys(const uint8_t *p, const uint8_t *end, int64_t count) noexcept nogil:
    """Return a hash of the first keys of a document, not 0; of less, if it is odd."""
    cdef uint32_t found = 1
    cdef int64_t size
    while True:
        # A bracket, then a comma.
        p = json_space(p + 1, end)
        if unlikely(p >= end or p[0] != 34):
            return found
        size = json_plain_size(p + 1)
        found = key_hash(p + 1, size, found) | 1
        count -= 1
        if count == 0:
            return found
        p = json_space(p + size + 2, end)
        if unlikely(p >= end or p[0] != 58):
            return found
        p = json_space(p + 1, end)
        if unlikely(p >= end):
            return found
        p = json_past_brackets(p, end) if p[0] | 32 == 123 else json_past(p, end)
        if unlikely(p == NULL):
            return found
        p = json_space(p, end)
        if unlikely(p >= end or p[0] != 44):
            return found


cdef int orders_of(const Block *block, int64_t depth, uint8_t *order, int64_t *sizes) noexcept nogil:
    """Set the order of each row, and how many rows have each; return how many orders there are, 0 for too many.

    That of null rows is ORDERS.
    """
    cdef uint32_t keys[ORDERS]
    cdef uint32_t found
    cdef int64_t lane
    cdef int count = 0
    cdef int at
    cdef int each
    memset(keys, 0, sizeof(keys))
    memset(sizes, 0, (ORDERS + 1) * sizeof(sizes[0]))
    for lane in range(block.count):
        if unlikely(is_dropped(block, lane)):
            order[lane] = ORDERS
            sizes[ORDERS] += 1
            continue
        found = first_keys(block.start[lane], block.end[lane], depth)
        # Which it is cannot be predicted, so that all are compared.
        at = count
        for each in range(ORDERS):
            at -= (found == keys[each]) * (count - each)
        if unlikely(at == count):
            if count == ORDERS:
                return 0
            keys[count] = found
            count += 1
        order[lane] = <uint8_t>at
        sizes[at] += 1
    return count


cdef Apart read_apart(Block *block, const Op *root, int64_t depth, Copies *copies) noexcept nogil:
    cdef int64_t sizes[ORDERS + 1]
    cdef int64_t begin[ORDERS + 1]
    cdef uint8_t order[LANES]
    cdef int64_t source[LANES]
    cdef const uint8_t *start[LANES]
    cdef const uint8_t *end[LANES]
    cdef const uint8_t *sorted_start[LANES]
    cdef const uint8_t *sorted_end[LANES]
    cdef int64_t row = block.row
    cdef int64_t count = block.count
    cdef int64_t done = 0
    cdef int64_t lane
    cdef uint64_t dropped = block.dropped
    cdef int orders = orders_of(block, depth, order, sizes)
    cdef int at
    if orders < 2:
        return ALIKE if orders else MANY
    memcpy(start, block.start, count * sizeof(start[0]))
    memcpy(end, block.end, count * sizeof(end[0]))
    for at in range(orders):
        begin[at] = done
        done += sizes[at]
    begin[ORDERS] = done
    block.dropped = 0
    for lane in range(count):
        at = order[lane]
        sorted_start[begin[at]] = start[lane]
        sorted_end[begin[at]] = end[lane]
        source[lane] = begin[at]
        begin[at] += 1
    done = 0
    for at in range(orders):
        block.row = row + done
        block.count = sizes[at]
        memcpy(block.start, sorted_start + done, sizes[at] * sizeof(start[0]))
        memcpy(block.end, sorted_end + done, sizes[at] * sizeof(end[0]))
        read_block(block, root)
        done += sizes[at]
        if unlikely(block.count < sizes[at]) or unlikely(block.dropped | block.failed):
            break
    else:
        for lane in range(row + done, row + count):
            set_null(block.context.columns, 0, lane, block.wide)
        if reorder(block.context.columns, 0, block.context.columns[0].end, row, source, count, block.wide, copies):
            block.row = row
            block.count = count
            return TOLD
    memcpy(block.start, start, count * sizeof(start[0]))
    memcpy(block.end, end, count * sizeof(end[0]))
    block.row = row
    block.count = count
    block.dropped = dropped
    block.failed = 0
    return ALIKE

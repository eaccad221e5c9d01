"""Blocks of documents to columns, a column at a time.

The row loop asks of every value which op it is, and guesses wrong after each null and each list, because what came
before is never the same; and it cannot start on a value before it knows how long the one before is. Here one op runs
for all rows of a block before the next one does: it is asked once, what is random is computed rather than branched
on, and the rows do not wait for each other.

    documents:  {"id":1,"name":"a"}    {"id":27,"name":"bc"}    {"id":3, ...
                      ^ at[0]                 ^ at[1]                 ^ at[2]    all take one step with each op

So the fields must come in one order, which is that of the schema or that of the first row (_field.pyx). Some may
be absent, others between them that the schema does not have. Where that does not hold, it is first found where the
values of each row stand (_places.pyx), and they are read from there (_scattered.pyx). Tuples have no keys to look for.
Values in a form that is not common are left to the row loop, one by one. A row that fails in one of them, or between
them, fails as it would there, if all before came in order: that is noted, and the row is *dropped*. The others go on,
and so that no loop has to ask which these are, it goes on with them: what it reads is a filler of the shortest values,
where they are expected (_drop.pyx). In the end its values are made null. So it is, for the time of an object, with rows
that have null or nothing in its place, if they are few. An object whose keys come in another order soon, row by row, is
left to the row loop for some blocks.
A row that is not as expected otherwise ends the block before it: the row loop reads it, and what is stored of it until
then is written over.
"""

from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memset

from kcodec.formats.json._context cimport fail
from kcodec.formats.json._program cimport TUPLE, Op
from kcodec.formats.json.block._drop cimport drop, drop_failed, is_valid, try_row
from kcodec.formats.json.block._field cimport checks_first, read_fields, read_tuples
from kcodec.formats.json.block._key cimport is_spaced
from kcodec.formats.json.block._lanes cimport BEFORE, Block, first_lane, is_dropped, set_valid
from kcodec.formats.json.block._scattered cimport read_scattered
from kcodec.wire.binary.cursor cimport unlikely
from kcodec.wire.binary.status cimport TRAILING_BYTES
from kcodec.wire.text.json cimport json_space


cdef void read_block(Block *block, const Op *root) noexcept nogil:
    cdef uint8_t bracket = 91 if root.code == TUPLE else 123
    cdef const uint8_t *p
    cdef const uint8_t *end
    cdef int64_t lane
    block.depth = 0
    if root != block.root:
        block.root = root
        block.checks = checks_first(block, root)
    block.failed = 0
    memset(block.checked, 0, block.count * sizeof(block.checked[0]))
    if block.dropped:
        block.filler[BEFORE] = bracket
        for lane in range(block.count):
            if is_dropped(block, lane):
                drop(block, lane)
    for lane in range(block.count):
        p = block.start[lane]
        end = block.end[lane]
        if unlikely(p >= end or p[0] != bracket):
            if end - p >= 3 and p[0] == 0xEF and p[1] == 0xBB and p[2] == 0xBF:
                p += 3
            p = json_space(p, end)
            block.at[lane] = p
            if (p >= end or p[0] != bracket) and not try_row(block, root, lane):
                break
        else:
            block.at[lane] = p
    if block.checks:
        for lane in range(block.count):
            if not is_valid(block, lane) and not drop_failed(block, lane):
                break
    if block.count == 0:
        return
    lane = first_lane(block)
    block.spaced = is_spaced(root, block.at[lane], block.end[lane])
    block.sought = 0
    block.disordered = False
    block.later = NULL
    set_valid(block, root)
    if root.code == TUPLE:
        read_tuples(block, root)
    elif block.scattered:
        read_scattered(block, root)
    else:
        read_fields(block, root)
    for lane in range(block.count):
        p = block.at[lane]
        end = block.end[lane]
        if unlikely(p != end) and not (block.dropped | block.failed) >> lane & 1:
            if is_valid(block, lane):
                p = json_space(p, end)
                if p == end or block.trailing:
                    continue
                fail(block.context, TRAILING_BYTES, NULL, p)
                block.context.level = 0
            if not drop_failed(block, lane):
                break

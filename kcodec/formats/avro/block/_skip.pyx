"""Values of a block of rows that are dropped, a column at a time; see _decode.pyx."""

from libc.stdint cimport int64_t, uint8_t, uint64_t

from kcodec.columns.rows._rows cimport SLACK
from kcodec.formats.avro.block._lanes cimport DEPTH, LANES, LONG_LISTS, Block, reject, without_odd
from kcodec.formats.avro.rows._context cimport Context
from kcodec.formats.avro.rows._program cimport (
    SKIP_ARRAY, SKIP_BYTES, SKIP_INT, SKIP_LONG, SKIP_NULLABLE, SKIP_NULLABLE_BYTES, SKIP_NULLABLE_LONG,
    SKIP_NULLABLE_STRING, SKIP_STRING, Op,
)
from kcodec.formats.avro.rows._skip cimport skip
from kcodec.wire.binary.cursor cimport ctz64, likely, load_le64, prefetch, read_length, read_varint64, unlikely
from kcodec.wire.binary.status cimport OK


cdef bint short_lists(Block *block, const int64_t *lanes, int64_t count, int64_t *counts) noexcept nogil:
    """Look how many items the lists of some rows have; return whether it pays to read them in step."""
    cdef const uint8_t *p
    cdef int64_t total = 0
    cdef int64_t at
    for at in range(count):
        p = block.at[lanes[at]]
        if unlikely(p == block.end[lanes[at]]):
            counts[lanes[at]] = 0
            reject(block, lanes[at])
            continue
        # Neither more than 63, nor a block that has its size.
        if unlikely(p[0] & 0x81):
            return False
        counts[lanes[at]] = p[0] >> 1
        total += p[0] >> 1
    return total <= LONG_LISTS * count


cdef bint sized_lists(
    Block *block, const int64_t *lanes, int64_t count, int64_t *counts, const uint8_t **stops
) noexcept nogil:
    """Look at lists as `short_lists` does, of which some say how many bytes their items are.

        -count | bytes | items

    Go's hamba/avro writes all of its lists so. `stops` is where the items must end, or NULL, and lanes are moved to the
    last byte before them.
    """
    cdef const uint8_t *heads[LANES]
    cdef const uint8_t *p
    cdef int64_t total = 0
    cdef int64_t at
    cdef int64_t lane
    cdef int64_t size
    for at in range(count):
        lane = lanes[at]
        p = heads[at] = block.at[lane]
        stops[lane] = NULL
        counts[lane] = 0
        if unlikely(p == block.end[lane]):
            reject(block, lane)
            continue
        if unlikely(p[0] & 0x80):
            return False
        if p[0] & 1:
            size = p[1]
            if unlikely(size & 0x80 and p[2] & 0x80):
                return False
            heads[at] = p + 1
            if size & 0x80:
                size = size & 0x7F | <int64_t>p[2] << 7
                heads[at] = p + 2
            # Nor is there a size below 0.
            if unlikely(size & 1 or (size >> 1) >= block.end[lane] - heads[at]):
                reject(block, lane)
                continue
            stops[lane] = heads[at] + 1 + (size >> 1)
        counts[lane] = (p[0] >> 1) + (p[0] & 1)
        total += counts[lane]
    if total > LONG_LISTS * count:
        return False
    for at in range(count):
        block.at[lanes[at]] = heads[at]
    return True


cdef void end_lists(
    Block *block, const int64_t *lanes, int64_t count, const int64_t *counts, const uint8_t **stops
) noexcept nogil:
    """Read the ends of lists; for an empty one, the count was the end already. `stops` is NULL if none has its size."""
    cdef const uint8_t *p
    cdef int64_t at
    cdef int64_t lane
    cdef int64_t some
    for at in range(count):
        lane = lanes[at]
        p = block.at[lane]
        some = counts[lane] > 0
        if unlikely(some & ((p == block.end[lane]) | (p[0] != 0))):
            reject(block, lane)
        elif stops != NULL and unlikely(stops[lane] != NULL and stops[lane] != p):
            reject(block, lane)
        block.at[lane] = p + some


cdef bint skip_nullables(Block *block, const Op *op, const int64_t *lanes, int64_t count) noexcept nogil:
    """Drop values of several ops that may be null, of some rows; return False to end the attempt."""
    cdef int64_t present[LANES]
    cdef int64_t chosen_count = 0
    cdef int64_t at
    cdef int64_t lane
    cdef const uint8_t *p
    for at in range(count):
        lane = lanes[at]
        p = block.at[lane]
        if unlikely(p[0] & 0xFD) or unlikely(p == block.end[lane]):
            reject(block, lane)
            continue
        block.at[lane] = p + 1
        present[chosen_count] = lane
        chosen_count += (p[0] >> 1) ^ op.size
    return skip_lanes(block, op + 1, op + op.next, present, chosen_count) >= 0


cdef int64_t skip_lanes(
    Block *block, const Op *op, const Op *stop, int64_t *lanes, int64_t count
) noexcept nogil:
    """Run ops that drop values for some rows.

    Returns how many lanes are left, which then stand first; -1 ends the attempt.
    """
    cdef Context *context = block.context
    cdef const uint8_t **ats = block.at
    cdef const uint8_t **ends = block.end
    cdef int64_t ahead = block.ahead
    cdef const uint8_t *p
    cdef const uint8_t *q
    cdef uint64_t stops
    cdef uint64_t word
    cdef int64_t at
    cdef int64_t lane
    cdef int64_t length
    cdef int64_t present
    cdef int64_t null_branch
    cdef int64_t size
    cdef int64_t chosen_count
    cdef int64_t step
    cdef int64_t counts[LANES]
    cdef int64_t active[LANES]
    cdef int64_t rejected = block.rejected
    if block.depth == DEPTH:
        return -1
    block.depth += 1
    while count and op != stop:
        size = op.size
        null_branch = op.size
        if op.code == SKIP_STRING:
            for at in range(count):
                lane = lanes[at]
                p = ats[lane]
                prefetch(p + ahead)
                length = p[0]
                if likely((length & 0x81) == 0):
                    length >>= 1
                    p += 1
                else:
                    q = p
                    if read_length(&q, ends[lane], &length) != OK:
                        length = -1
                    p = q
                if unlikely(length < 0) or unlikely(length > ends[lane] - p):
                    reject(block, lane)
                    continue
                ats[lane] = p + length
        elif op.code == SKIP_BYTES:
            for at in range(count):
                lane = lanes[at]
                if unlikely(size > ends[lane] - ats[lane]):
                    reject(block, lane)
                    continue
                ats[lane] += size
        elif op.code == SKIP_LONG:
            for at in range(count):
                lane = lanes[at]
                p = ats[lane]
                stops = ~load_le64(p) & 0x8080808080808080ULL
                if unlikely(stops == 0):
                    q = p
                    if read_varint64(&q, ends[lane], q, &stops) != OK:
                        reject(block, lane)
                        continue
                    ats[lane] = q
                    continue
                if unlikely((ctz64(stops) >> 3) >= ends[lane] - p):
                    reject(block, lane)
                    continue
                ats[lane] = p + (ctz64(stops) >> 3) + 1
        elif op.code == SKIP_INT:
            for at in range(count):
                lane = lanes[at]
                p = ats[lane]
                word = load_le64(p)
                stops = ~word & 0x8080808080ULL
                length = (ctz64(stops | 1ULL << 63) >> 3) + 1
                # Of a fifth byte four bits count.
                if unlikely(length > 4 and word & 0xF000000000ULL) or unlikely(length > ends[lane] - p):
                    reject(block, lane)
                    continue
                ats[lane] = p + length
        elif op.code == SKIP_NULLABLE_BYTES:
            size = op.factor
            for at in range(count):
                lane = lanes[at]
                p = ats[lane]
                length = 1 + (size & -<int64_t>((p[0] >> 1) ^ null_branch))
                if unlikely(p[0] & 0xFD) or unlikely(length > ends[lane] - p):
                    reject(block, lane)
                    continue
                ats[lane] = p + length
        elif op.code == SKIP_NULLABLE_LONG:
            for at in range(count):
                lane = lanes[at]
                p = ats[lane]
                present = (p[0] >> 1) ^ null_branch
                stops = ~load_le64(p + 1) & 0x8080808080808080ULL
                if likely(stops != 0):
                    length = 1 + (((ctz64(stops) >> 3) + 1) & -present)
                else:
                    q = p + 1
                    if present and read_varint64(&q, ends[lane], q, &stops) != OK:
                        q = ends[lane] + 1
                    length = q - p
                if unlikely(p[0] & 0xFD) or unlikely(length > ends[lane] - p):
                    reject(block, lane)
                    continue
                ats[lane] = p + length
        elif op.code == SKIP_NULLABLE_STRING:
            for at in range(count):
                lane = lanes[at]
                p = ats[lane]
                present = (p[0] >> 1) ^ null_branch
                if unlikely(p[0] & 0xFD) or unlikely(p == ends[lane]):
                    reject(block, lane)
                    continue
                length = p[1] & -present
                if likely((length & 0x81) == 0):
                    length >>= 1
                    p += 1 + present
                else:
                    q = p + 1
                    if read_length(&q, ends[lane], &length) != OK:
                        length = -1
                    p = q
                if unlikely(length < 0) or unlikely(length > ends[lane] - p):
                    reject(block, lane)
                    continue
                ats[lane] = p + length
        elif op.code == SKIP_ARRAY and op.minimum > 0 and short_lists(block, lanes, count, counts):
            chosen_count = 0
            for at in range(count):
                active[chosen_count] = lanes[at]
                ats[lanes[at]] += 1
                chosen_count += counts[lanes[at]] > 0
            step = 0
            while chosen_count:
                length = skip_lanes(block, op + 1, op + op.next, active, chosen_count)
                if length < 0:
                    return -1
                step += 1
                chosen_count = 0
                for at in range(length):
                    lane = active[at]
                    active[chosen_count] = lane
                    chosen_count += counts[lane] > step
            end_lists(block, lanes, count, counts, NULL)
        elif op.next > 1 and op.code == SKIP_NULLABLE:
            # It always has ops behind it. Asked for its code alone, the compiler makes a table of jumps of all codes,
            # with which the loops above take 3 % longer.
            if not skip_nullables(block, op, lanes, count):
                return -1
        else:
            for at in range(count):
                lane = lanes[at]
                context.depth = 0
                context.end = ends[lane]
                context.limit = ends[lane] + SLACK
                p = skip(context, op, op + op.next, 0, 1, ats[lane])
                if unlikely(p == NULL):
                    reject(block, lane)
                    continue
                ats[lane] = p
        if unlikely(block.rejected != rejected):
            count = without_odd(block, lanes, count, rejected)
            rejected = block.rejected
        op += op.next
    block.depth -= 1
    return count

"""Removing values from columns: map entries whose key comes again later, and what dropped rows hold."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t, uintptr_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcmp, memmove, memset

from kcodec.columns.built._column cimport BITS, BLOB, FIXED, LIST, MAP, TEXT, Column, offset_at, offset_t
from kcodec.columns.built._order cimport Copies, reorder
from kcodec.wire.binary.cursor cimport load_le64
from kcodec.wire.text.utf8 cimport utf8_valid_values32, utf8_valid_values64

cdef enum:
    FEW = 8          # up to this many keys of a map are compared with each other
    TOGETHER = 2048  # entries of maps that are looked at together
    WORDS = 128      # of bits, of which each key of a map sets one


cdef void set_offset(Column *column, int64_t index, int64_t value, bint wide) noexcept nogil:
    if wide and column.kind != MAP:
        (<int64_t *>column.offsets)[index] = value
    else:
        (<int32_t *>column.offsets)[index] = <int32_t>value


cdef void move_items(
    Column *columns, int32_t scope, int64_t start, int64_t end, int64_t to, bint wide
) noexcept nogil:
    """Move the items from `start` to `end` of a list or map down to `to`, over what stood there."""
    cdef int32_t at = scope + 1
    cdef Column *column
    cdef int64_t count = end - start
    cdef int64_t item
    cdef int64_t begin
    cdef int64_t stop
    cdef int64_t place
    if count == 0:    # columns that grow as they are read may have no memory yet
        return
    while at < columns[scope].end:
        column = &columns[at]
        if column.valid != NULL:
            memmove(column.valid + to, column.valid + start, count)
        if column.kind == FIXED:
            memmove(column.data + to * column.width, column.data + start * column.width, count * column.width)
        elif column.kind == BITS:
            memmove(column.data + to, column.data + start, count)
        elif column.kind == TEXT or column.kind == BLOB or column.kind == LIST or column.kind == MAP:
            begin = offset_at(column, start, wide)
            place = offset_at(column, to, wide)
            stop = offset_at(column, end, wide)
            if column.kind == LIST or column.kind == MAP:
                move_items(columns, at, begin, stop, place, wide)
            elif stop > begin:
                memmove(column.data + place, column.data + begin, stop - begin)
            for item in range(count):
                stop = offset_at(column, start + item + 1, wide)
                place += stop - begin
                set_offset(column, to + item + 1, place, wide)
                begin = stop
            at = column.end
            continue
        at += 1


cdef void empty_values(
    Column *columns, int32_t at, offset_t *offsets, int64_t count, const int64_t *dropped, int64_t dropped_count,
    bint wide
) noexcept nogil:
    """Remove what some of the last values hold from a column of texts or lists."""
    cdef Column *column = &columns[at]
    cdef offset_t place = offsets[dropped[0]]
    cdef offset_t begin
    cdef offset_t stop
    cdef int64_t value
    cdef int64_t turn
    cdef int64_t last
    for turn in range(dropped_count):
        # The values behind the dropped one, up to the next of these, move together.
        last = dropped[turn + 1] if turn + 1 < dropped_count else count
        begin = offsets[dropped[turn] + 1]
        stop = offsets[last]
        if begin != place:
            if column.kind == LIST or column.kind == MAP:
                move_items(columns, at, begin, stop, place, wide)
            elif stop > begin:
                memmove(column.data + place, column.data + begin, stop - begin)
            for value in range(dropped[turn] + 1, last + 1):
                offsets[value] -= begin - place
        place += stop - begin


cdef void empty_column(
    Column *columns, int32_t at, int64_t first, int64_t count, const int64_t *dropped, int64_t dropped_count, bint wide
) noexcept nogil:
    """Remove what some of the last rows, which start at `first`, hold from a column of texts or lists."""
    cdef Column *column = &columns[at]
    if wide and column.kind != MAP:
        empty_values(columns, at, <int64_t *>column.offsets + first, count, dropped, dropped_count, wide)
    else:
        empty_values(columns, at, <int32_t *>column.offsets + first, count, dropped, dropped_count, wide)


cdef void empty_rows(
    Column *columns, int64_t first, int64_t count, const int64_t *dropped, int64_t dropped_count, bint wide
) noexcept nogil:
    """Remove what some of the last rows, which start at `first`, hold from all columns of texts and lists."""
    cdef int32_t at = 0
    while at < columns[0].end:
        if columns[at].offsets == NULL:
            at += 1
            continue
        empty_column(columns, at, first, count, dropped, dropped_count, wide)
        at = columns[at].end


cdef inline const uint8_t *bytes_of(const Column *keys, int64_t item, bint wide, int64_t *size) noexcept nogil:
    """Find the bytes of a key: text, bytes, a number or a boolean."""
    cdef int64_t at
    if keys.kind == TEXT or keys.kind == BLOB:
        at = offset_at(keys, item, wide)
        size[0] = offset_at(keys, item + 1, wide) - at
        return keys.data + at
    size[0] = keys.width if keys.kind == FIXED else 1
    return keys.data + item * size[0]


cdef bint same_key(const Column *keys, int64_t a, int64_t b, bint wide) noexcept nogil:
    cdef int64_t size = 0
    cdef int64_t other = 0
    cdef const uint8_t *first = bytes_of(keys, a, wide, &size)
    cdef const uint8_t *second = bytes_of(keys, b, wide, &other)
    return size == other and memcmp(first, second, size) == 0


cdef inline uint64_t mixed(uint64_t hash, uint64_t word) noexcept nogil:
    hash = (hash ^ word) * 0x9E3779B97F4A7C15ULL
    return hash ^ hash >> 29


cdef uint64_t hash_key(const Column *keys, int64_t item, uint64_t seed, bint wide) noexcept nogil:
    cdef int64_t size = 0
    cdef const uint8_t *key = bytes_of(keys, item, wide, &size)
    cdef int64_t at = 0
    cdef uint64_t result = seed
    while size - at >= 8:
        result = mixed(result, load_le64(key + at))
        at += 8
    while at < size:
        result = mixed(result, key[at])
        at += 1
    return result * 0xBF58476D1CE4E5B9ULL >> 17


cdef bint surely_differ(const Column *keys, int64_t first, int64_t last, bint wide) noexcept nogil:
    """Return True if no two keys of one map are the same; False: they may be.

    Each key sets a bit, by its size and its first and last eight bytes, behind which there is room to load more.
    """
    cdef uint64_t bits[WORDS]
    cdef int shift = 54 if last - first <= 8 else 51
    cdef const uint8_t *key
    cdef int64_t size = 0
    cdef int64_t item
    cdef uint64_t word
    cdef uint64_t bit
    cdef bint same = False
    if last - first > WORDS or keys.kind == BITS or keys.kind == FIXED and keys.width > 8:
        return False
    memset(bits, 0, 1 << (64 - shift - 3))
    for item in range(first, last):
        key = bytes_of(keys, item, wide, &size)
        if size >= 8:
            word = load_le64(key) ^ load_le64(key + size - 8) * 0x94D049BB133111EBULL
        elif size:
            word = load_le64(key) & ((<uint64_t>1 << (8 * size)) - 1)
        else:
            word = 0
        word = mixed(<uint64_t>size, word) * 0xBF58476D1CE4E5B9ULL >> shift
        bit = <uint64_t>1 << (word & 63)
        same |= (bits[word >> 6] & bit) != 0
        bits[word >> 6] |= bit
    return not same


cdef int mark_by_hash(
    const Column *keys, int64_t first, int64_t last, uint8_t *dropped, int64_t *origins, bint wide
) noexcept nogil:
    """Mark all but the last entry of each key; return 1 if any was marked, 0 if none, -1 without memory.

    `origins`, unless NULL, gets for each entry the number of the first one that has its key.
    """
    cdef int64_t size = 16
    cdef int64_t *slots
    cdef int64_t item
    cdef int64_t slot
    cdef int found = 0
    # Whoever writes the keys cannot know where this memory is, so cannot make them collide.
    cdef uint64_t seed = <uint64_t><uintptr_t>dropped * 0x94D049BB133111EBULL
    while size < 2 * (last - first):
        size *= 2
    slots = <int64_t *>calloc(size, sizeof(int64_t))
    if slots == NULL:
        return -1
    for item in range(first, last):
        slot = <int64_t>(hash_key(keys, item, seed, wide) & <uint64_t>(size - 1))
        while slots[slot] != 0 and not same_key(keys, first + slots[slot] - 1, item, wide):
            slot = (slot + 1) & (size - 1)
        if origins != NULL:
            origins[item - first] = origins[slots[slot] - 1] if slots[slot] != 0 else item - first
        if slots[slot] != 0:
            dropped[slots[slot] - 1] = 1
            found = 1
        slots[slot] = item - first + 1
    free(slots)
    return found


cdef int has_duplicates(const Column *keys, int64_t first, int64_t last, bint wide) noexcept nogil:
    """Return 1 if two entries of one map have the same key, 0 if none have, -1 without memory."""
    cdef uint8_t *marks
    cdef int found
    if surely_differ(keys, first, last, wide):
        return 0
    marks = <uint8_t *>calloc(last - first, 1)
    if marks == NULL:
        return -1
    found = mark_by_hash(keys, first, last, marks, NULL, wide)
    free(marks)
    return found


cdef bint as_before(const Column *map_column, int64_t index, int64_t first, int64_t last, bint wide) noexcept nogil:
    """Return whether the keys of a map are those that an earlier one begins with: each of these comes once.

    Most maps of a topic have the same keys in the same order.
    """
    cdef const Column *keys = map_column + 1
    cdef const int32_t *offsets = <const int32_t *>map_column.offsets
    cdef int64_t model = map_column.model
    cdef int64_t begin
    cdef int64_t place
    cdef int64_t other
    cdef int64_t item
    cdef int64_t differ = 0
    if first == last:
        return True
    if model >= index or last - first > offsets[model + 1] - offsets[model] or keys.kind != TEXT and keys.kind != BLOB:
        return False
    begin = offsets[model]
    place = offset_at(keys, first, wide)
    other = offset_at(keys, begin, wide)
    for item in range(1, last - first + 1):
        differ |= (offset_at(keys, first + item, wide) - place) ^ (offset_at(keys, begin + item, wide) - other)
    return differ == 0 and memcmp(keys.data + place, keys.data + other, offset_at(keys, last, wide) - place) == 0


cdef bint may_repeat(Column *map_column, int64_t first, int64_t count, bint wide) noexcept nogil:
    """Return False if surely no map has a key twice (True: one may have); all maps before them have none.

    No branch depends on their sizes.
    """
    cdef const Column *keys = map_column + 1
    cdef const int32_t *offsets = <const int32_t *>map_column.offsets + first
    cdef int64_t begin = offsets[0]
    cdef int64_t total = offsets[count] - begin
    cdef uint32_t marks[TOGETHER + 4]
    cdef int64_t most = 0
    cdef int64_t at
    cdef int64_t item
    cdef int64_t place
    cdef int64_t size
    cdef uint64_t head
    cdef uint64_t tail
    cdef uint32_t same = 0
    if total > FEW * count:
        for at in range(count):
            if not as_before(map_column, first, offsets[at], offsets[at + 1], wide):
                break
        else:
            return False
    if total > TOGETHER or keys.kind != TEXT and keys.kind != BLOB:
        return True
    for at in range(count):
        place = offsets[at] - begin
        size = offsets[at + 1] - offsets[at]
        most = max(most, size)
        # Those beyond the map's own are written over by the next one.
        for item in range(4):
            marks[place + item] = <uint32_t>at
        for item in range(4, size):
            marks[place + item] = <uint32_t>at
    if most > FEW:
        return True
    for item in range(total if most > 1 else 0):
        place = offset_at(keys, begin + item, wide)
        size = offset_at(keys, begin + item + 1, wide) - place
        head = load_le64(keys.data + place)
        tail = load_le64(keys.data + place + max(size - 8, 0))
        if size < 8:
            head &= (<uint64_t>1 << (8 * size)) - 1
            tail = 0
        head = (head ^ tail * 0x9E3779B97F4A7C15ULL) + (<uint64_t>size << 32) + marks[item]
        marks[item] = <uint32_t>(head * 0xBF58476D1CE4E5B9ULL >> 32)
    for at in range(1, most):
        for item in range(total - at):
            same |= marks[item] == marks[item + at]
    if not same:
        for at in range(count):
            if offsets[at + 1] - offsets[at] == most:
                map_column.model = first + at
                break
    return same


cdef int64_t take_out(
    Column *columns, int32_t map_column, int64_t first, int64_t last, const uint8_t *dropped, bint wide
) noexcept nogil:
    """Take the entries that are marked out of a map; return where it now ends."""
    cdef int64_t count = last - first
    cdef int64_t item = 0
    cdef int64_t start
    cdef int64_t to = first
    while item < count:
        if dropped[item]:
            item += 1
            continue
        start = item
        while item < count and not dropped[item]:
            item += 1
        if first + start != to:
            move_items(columns, map_column, first + start, first + item, to, wide)
        to += item - start
    return to


cdef bint valid_items(const Column *columns, int32_t scope, int64_t first, int64_t last, bint wide) noexcept nogil:
    """Return whether all text in some items of a list or map is UTF-8."""
    cdef int32_t at = scope + 1
    cdef const Column *column
    cdef bint valid = True
    while valid and at < columns[scope].end:
        column = &columns[at]
        if column.kind == LIST or column.kind == MAP:
            valid = first == last or valid_items(
                columns, at, offset_at(column, first, wide), offset_at(column, last, wide), wide
            )
            at = column.end
            continue
        if column.kind == TEXT and wide:
            valid = utf8_valid_values64(column.data, <const int64_t *>column.offsets + first, last - first)
        elif column.kind == TEXT:
            valid = utf8_valid_values32(column.data, <const int32_t *>column.offsets + first, last - first)
        at += 1
    return valid


cdef int64_t drop_earlier_duplicates(
    Column *columns, int32_t map_column, int64_t index, int64_t first, int64_t last, bint checked, bint wide
) noexcept nogil:
    """Keep the last entry of each key of the map at an index; return where the map now ends, -1 without memory.

    All maps before it hold each key once. Where text has not been `checked`, the answer is FOUL if it is not UTF-8.
    """
    cdef const Column *keys = &columns[map_column + 1]
    cdef uint8_t *dropped
    cdef int64_t to = last
    cdef int found
    if as_before(&columns[map_column], index, first, last, wide):
        return last
    if surely_differ(keys, first, last, wide):
        columns[map_column].model = index
        return last
    dropped = <uint8_t *>calloc(last - first, 1)
    if dropped == NULL:
        return -1
    found = mark_by_hash(keys, first, last, dropped, NULL, wide)
    if found == 1:
        # What is dropped is not looked at later.
        if checked or valid_items(columns, map_column, first, last, wide):
            to = take_out(columns, map_column, first, last, dropped, wide)
        else:
            to = FOUL
    free(dropped)
    return -1 if found < 0 else to


cdef int64_t replace_duplicates(
    Column *columns, int32_t map_column, int64_t first, int64_t last, bint wide
) noexcept nogil:
    """Keep the last entry of each key of one map, in the place of the first; return where the map now ends.

    The result is -1 without memory.
    """
    cdef int64_t count = last - first
    cdef uint8_t *dropped = <uint8_t *>calloc(count, 1)
    # Per entry the first one of its key; then, per first one, the entry that is kept; then these without gaps.
    cdef int64_t *origins = <int64_t *>malloc(count * sizeof(int64_t))
    cdef int64_t *kept = <int64_t *>malloc(count * sizeof(int64_t))
    cdef Copies copies
    cdef int64_t to = -1
    cdef int64_t item
    cdef int64_t number = 0
    copies.memory = NULL
    copies.room = 0
    if dropped != NULL and origins != NULL and kept != NULL \
            and mark_by_hash(&columns[map_column + 1], first, last, dropped, origins, wide) >= 0:
        for item in range(count):
            kept[item] = -1
        for item in range(count):
            if not dropped[item]:
                kept[origins[item]] = number
                number += 1
        to = take_out(columns, map_column, first, last, dropped, wide)
        number = 0
        for item in range(count):
            if kept[item] >= 0:
                kept[number] = kept[item]
                number += 1
        if not reorder(columns, map_column + 1, columns[map_column].end, first, kept, number, wide, &copies):
            to = -1
    free(copies.memory)
    free(kept)
    free(origins)
    free(dropped)
    return to

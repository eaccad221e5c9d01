"""Confluent's frame of columns of values (see ``frame.pxd``). The Python twin is ``_framing_py``."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t, uintptr_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcmp, memcpy, memset

from kcodec.wire.binary.cursor cimport copy32, load_be32, load_be64, load_le64, prefetch
from kcodec.wire.binary.frame cimport (
    BYTES, GUID_SIZE, ID_SIZE, LEVELS, NUMBER, PREFIX, ZIGZAG, Layout, read_frame, read_head, read_indexes, read_named,
    write_guid, write_id, write_indexes,
)
from kcodec.wire.binary.status cimport NEED_ROOM, OK, Status
from kcodec.wire.buffers.column cimport (
    BAD_SLICE, Column, no_buffers, offset_at, read_buffer, read_column, release_buffers, slice_at,
    write_buffer,
)

from kcodec.wire._faults import bad_slice, decode_error, encode_error

__all__ = ["join", "join_heads", "split", "split_heads"]

cdef enum:
    AHEAD = 24        # rows after which one is asked for, where their frames are at hand
    SEEN = 16         # frames at hand that are not Confluent's


cdef inline uint64_t leading(const uint8_t *start, bint indexes) noexcept nogil:
    """Return what most frames are: a zero, an id, and 00 or 02 and one byte where message indexes follow."""
    cdef uint64_t word = load_le64(start)
    if not indexes:
        return word & 0xFFFFFFFFFFULL
    return word & (0xFFFFFFFFFFFFULL if (word >> 40 & 0xFF) == 0 else 0xFFFFFFFFFFFFFFULL)


cdef inline uint64_t place_of(uint64_t bits) noexcept nogil:
    """Return where the key of such a frame is at hand, if it is."""
    return (bits * 0x9E3779B97F4A7C15ULL) >> 56


cdef inline Status read_key(
    const FrameValue *value, int indexes, Key *key, int32_t *levels, int32_t *size
) noexcept nogil:
    """Read one frame: its key, its message indexes, and how many bytes it has."""
    cdef const uint8_t *at
    cdef Status status = read_frame(value.start, value.end, size)
    if status != OK:
        return status
    key.packed = False
    key.guid = size[0] == GUID_SIZE
    if key.guid:
        key.high = load_be64(value.start + 1)
        key.low = load_be64(value.start + 9)
    else:
        key.high = load_be32(value.start + 1)
        key.low = 0
    key.levels = 0
    if indexes:
        at = value.start + size[0]
        status = read_indexes(&at, value.end, value.limit, levels, LEVELS, &key.levels, indexes == ZIGZAG)
        size[0] = <int32_t>(at - value.start)
    return status


cdef int read_layout(Layout *layout, given) except -1:
    """Take over a `kcodec.frames.Layout`."""
    prefix, layout.packs, layout.id_size, _ = given
    layout.prefix_size = len(prefix)
    if layout.prefix_size > PREFIX or layout.id_size not in (4, 8, 16):
        raise ValueError("not a layout of frames")
    memcpy(layout.prefix, <const uint8_t *>prefix, layout.prefix_size)
    return 0


cdef class FrameKeys:
    """The distinct keys of a column, found by open addressing; see ``_framing.pxd``."""

    def __cinit__(self, int indexes, layout=None):
        self.indexes = indexes
        if layout is not None:
            read_layout(&self.layout, layout)
            self.is_number = layout[3]
        self.last = -1
        memset(self.recent, -1, sizeof(self.recent))
        self.resize(64, 2 * LEVELS if indexes else 0)

    def __dealloc__(self):
        free(self.keys)
        free(self.slots)
        free(self.levels)

    cdef int resize(self, int32_t size, int64_t room) except -1:
        cdef Key *keys = <Key *>calloc(size // 2, sizeof(Key))
        cdef int32_t *slots = <int32_t *>calloc(size, sizeof(int32_t))
        cdef int32_t *levels = <int32_t *>calloc(room + 1, sizeof(int32_t))
        cdef int32_t number
        if keys == NULL or slots == NULL or levels == NULL:
            free(keys)
            free(slots)
            free(levels)
            raise MemoryError
        if self.count:
            memcpy(keys, self.keys, self.count * sizeof(Key))
        if self.used:
            memcpy(levels, self.levels, <size_t>self.used * sizeof(int32_t))
        free(self.keys)
        free(self.slots)
        free(self.levels)
        self.keys = keys
        self.slots = slots
        self.levels = levels
        self.size = size
        self.room = room
        for number in range(self.count):
            self.slots[self.slot(&keys[number], levels + keys[number].first)] = number + 1
        return 0

    cdef int grow(self) except -1:
        """Make room for the key that there was none for."""
        return self.resize(2 * self.size if self.count == self.size // 2 else self.size, 2 * self.room)

    cdef int32_t slot(self, const Key *key, const int32_t *levels) noexcept nogil:
        """Return where a key is, or would be."""
        # Whoever writes the keys cannot know where this object is, so cannot make them collide.
        cdef uint64_t mixed = (key.high ^ <uint64_t><uintptr_t><void *>self) * 0x9E3779B97F4A7C15ULL
        cdef int32_t i
        mixed = (mixed ^ (mixed >> 32) ^ key.low) * 0xBF58476D1CE4E5B9ULL
        for i in range(key.levels):
            mixed = (mixed ^ (mixed >> 32) ^ <uint64_t>levels[i]) * 0x9E3779B97F4A7C15ULL
        cdef int32_t at = <int32_t>(mixed >> 33) & (self.size - 1)
        while self.slots[at] and not self.equal(&self.keys[self.slots[at] - 1], key, levels):
            at = (at + 1) & (self.size - 1)
        return at

    cdef bint equal(self, const Key *known, const Key *key, const int32_t *levels) noexcept nogil:
        return (
            known.guid == key.guid and known.high == key.high and known.low == key.low
            and known.packed == key.packed and known.levels == key.levels
            and memcmp(self.levels + known.first, levels, <size_t>key.levels * sizeof(int32_t)) == 0
        )

    cdef int32_t number(self, Key *key, const int32_t *levels) noexcept nogil:
        """Return the number of a key, added if it is new; -1 if there is no room for it."""
        cdef int32_t at = self.slot(key, levels)
        if self.slots[at] == 0:
            if self.count == self.size // 2 or self.room - self.used < key.levels:
                return -1
            key.first = self.used
            memcpy(self.levels + self.used, levels, <size_t>key.levels * sizeof(int32_t))
            self.used += key.levels
            self.keys[self.count] = key[0]
            self.count += 1
            self.slots[at] = self.count
        return self.slots[at] - 1

    cdef object name(self, const Key *key):
        """Return what a key names its schema by: a number or bytes."""
        if self.layout.id_size == 8:
            return <int64_t>key.high if self.is_number else (<object>key.high).to_bytes(8, "big")
        return (<object>key.high << 64 | <object>key.low).to_bytes(16, "big") if key.guid else key.high

    def values(self) -> list:
        """Return the keys: ids and GUIDs, with message indexes pairs of one and a tuple of these."""
        cdef Key *key
        cdef int32_t at
        cdef int64_t i
        result = []
        for at in range(self.count):
            key = &self.keys[at]
            name = self.name(key)
            if self.indexes:
                name = name, tuple([self.levels[i] for i in range(key.first, key.first + key.levels)])
            result.append(name)
        return result

    def packed(self) -> list:
        """Return whether the payloads of each key are compressed."""
        cdef int32_t at
        return [bool(self.keys[at].packed) for at in range(self.count)]

    cdef Status read_any(
        self, const FrameValue *value, Key *key, int32_t *levels, int32_t *size, int32_t *head
    ) noexcept nogil:
        """Read one frame of any kind; `head` has how many bytes it has before what names a message, if it is right."""
        cdef const uint8_t *at = value.start
        cdef Status status
        head[0] = 0
        if self.layout.id_size == 0:
            status = read_frame(at, value.end, size)
            if status != OK:
                return status
            head[0] = size[0]
            return read_key(value, self.indexes, key, levels, size)
        status = read_head(&self.layout, at, value.end, size)
        if status != OK:
            return status
        head[0] = size[0]
        at += self.layout.prefix_size
        key.packed = self.layout.packs and at[0] != 0
        at += self.layout.packs
        key.guid = self.layout.id_size == 16
        key.high = load_be32(at) if self.layout.id_size == 4 else load_be64(at)
        key.low = load_be64(at + 8) if key.guid else 0
        key.levels = 0
        at += self.layout.id_size
        # A compressed payload is compressed with what names its message.
        if self.indexes and not key.packed:
            if self.indexes == NUMBER or self.indexes == BYTES:
                status = read_named(&at, value.end, value.limit, levels, &key.levels, self.indexes == BYTES)
            else:
                status = read_indexes(
                    &at, value.end, value.limit, levels, LEVELS, &key.levels, self.indexes == ZIGZAG
                )
        size[0] = <int32_t>(at - value.start)
        return status

    cdef int64_t scan_heads(
        self, const FrameValue *values, int64_t count, int32_t *selector, int32_t *starts
    ) noexcept nogil:
        """Read frames that are not Confluent's, as `scan` does; one with the bytes of the last one is not read."""
        cdef const FrameValue *value
        # Frames of these rows, by some bits of their ids: what begins with the same bytes need not be read.
        cdef const uint8_t *known[SEEN]
        cdef int32_t[SEEN] sizes
        cdef int32_t[SEEN] numbers
        cdef Key key
        cdef int32_t[LEVELS] levels
        cdef int32_t size = 0
        cdef int32_t head = 0
        cdef int32_t whole = self.layout.prefix_size + self.layout.packs + self.layout.id_size
        cdef int32_t number
        cdef uint32_t place
        cdef int64_t row
        memset(<void *>known, 0, sizeof(known))
        for row in range(count):
            prefetch(values[row].start)
        for row in range(count):
            value = &values[row]
            if value.start == NULL:
                selector[row] = NULL_ROW
                continue
            place = 0
            if value.end - value.start >= whole:
                place = (load_be32(value.start + whole - 4) * 0x9E3779B1U) >> 28
                if (
                    known[place] != NULL and value.end - value.start >= sizes[place]
                    and memcmp(value.start, known[place], <size_t>sizes[place]) == 0
                ):
                    selector[row] = numbers[place]
                    starts[row] = sizes[place]
                    continue
            if self.read_any(value, &key, levels, &size, &head) != OK:
                selector[row] = BAD_FRAME
                continue
            number = self.number(&key, levels)
            if number < 0:
                return row
            known[place] = value.start
            sizes[place] = size
            numbers[place] = number
            selector[row] = number
            starts[row] = size
        return count

    cdef int64_t known(
        self, const uint8_t *data, const int32_t *offsets, const uint8_t *limit, int32_t *selector, int32_t *starts,
        int64_t row, int64_t rows,
    ) noexcept nogil:
        """Step over rows whose frames are at hand, in any order; return the first one of another."""
        cdef const uint8_t *at
        cdef uint64_t bits
        cdef uint64_t place
        cdef bint has_indexes = self.indexes != 0
        while row < rows:
            at = data + offsets[row]
            if row + AHEAD < rows:
                prefetch(data + offsets[row + AHEAD])
            if limit - at < 8:
                break
            bits = leading(at, has_indexes)
            place = place_of(bits)
            if self.recent[place] != bits or offsets[row + 1] - offsets[row] < self.sizes[place]:
                break
            selector[row] = self.numbers[place]
            starts[row] = self.sizes[place]
            row += 1
        return row

    cdef int64_t scan(
        self, const FrameValue *values, int64_t count, int32_t *selector, int32_t *starts
    ) noexcept nogil:
        """Read frames; return the row at which there was no room for its key, or how many there are."""
        cdef const FrameValue *value
        cdef Key key
        cdef int32_t[LEVELS] levels
        cdef int32_t number = self.last
        cdef int32_t size = 0
        cdef int indexes = self.indexes
        cdef bint has_indexes = indexes != 0
        cdef uint64_t bits
        cdef uint64_t place = 0
        cdef int64_t row
        if self.layout.id_size:
            return self.scan_heads(values, count, selector, starts)
        for row in range(count):
            prefetch(values[row].start)
        for row in range(count):
            value = &values[row]
            if value.start == NULL:
                selector[row] = NULL_ROW
                continue
            bits = 1
            if value.limit - value.start >= 8:
                bits = leading(value.start, has_indexes)
                place = place_of(bits)
                if self.recent[place] == bits and self.sizes[place] <= value.end - value.start:
                    selector[row] = self.numbers[place]
                    starts[row] = self.sizes[place]
                    continue
            if read_key(value, indexes, &key, levels, &size) != OK:
                selector[row] = BAD_FRAME
                continue
            if number < 0 or not self.equal(&self.keys[number], &key, levels):
                number = self.number(&key, levels)
                if number < 0:
                    self.last = -1
                    return row
            selector[row] = number
            starts[row] = size
            if bits & 0xFF == 0 and size == (5 if not has_indexes else 6 if bits >> 40 == 0 else 7):
                self.recent[place] = bits
                self.numbers[place] = number
                self.sizes[place] = size
        self.last = number
        return count


cdef Py_ssize_t split_ids(const Column *column, Py_ssize_t row, int32_t *ids, int64_t *starts) noexcept nogil:
    """Read the ids of rows that lie at int32 offsets; return the first one that begins with no id."""
    cdef const int32_t *offsets = <const int32_t *>column.offsets
    cdef const uint8_t *data = column.data
    cdef int64_t size = column.size
    cdef Py_ssize_t rows = column.rows
    cdef int64_t first
    cdef int64_t last = offsets[row]
    while row < rows:
        first = last
        last = offsets[row + 1]
        if first < 0 or last - first < ID_SIZE or last > size or data[first] != 0:
            break
        ids[row] = <int32_t>load_be32(data + first + 1)
        starts[row] = first + ID_SIZE
        row += 1
    return row


cdef int split_loop(
    const Column *column, Py_ssize_t *row, const uint8_t *valid, int32_t *ids, int64_t *starts, uint8_t *guids,
    int32_t *levels, int64_t room, int64_t *level_ends
) noexcept nogil:
    cdef const uint8_t *start = NULL
    cdef const uint8_t *at
    cdef int64_t size = 0
    cdef int64_t used = level_ends[row[0]] if level_ends != NULL else 0
    cdef int32_t prefix = 0
    cdef int32_t made = 0
    cdef Status status
    if valid == NULL and level_ends == NULL and column.width == 4:
        row[0] = split_ids(column, row[0], ids, starts)
    while row[0] < column.rows:
        if not slice_at(column, row[0], &start, &size):
            return BAD_SLICE
        at = start
        ids[row[0]] = -1
        if valid == NULL or valid[row[0]]:
            status = read_frame(start, start + size, &prefix)
            if status != OK:
                return status
            if prefix == ID_SIZE:
                ids[row[0]] = <int32_t>load_be32(start + 1)
            elif guids == NULL:
                return NEED_ROOM
            else:
                memcpy(guids + 16 * row[0], start + 1, 16)
            at += prefix
            if level_ends != NULL:
                status = read_indexes(
                    &at, start + size, column.data + column.size, levels + used, room - used, &made, True
                )
                if status != OK:
                    return status
                used += made
        starts[row[0]] = at - column.data
        row[0] += 1
        if level_ends != NULL:
            level_ends[row[0]] = used
    return OK


cdef int join_loop(
    const Column *column, Py_ssize_t *row, const uint8_t *valid, const uint8_t *keys, int key_size, bint one_key,
    const int32_t *levels, int64_t level_count, const int64_t *level_ends, Py_ssize_t level_rows,
    uint8_t *out, int64_t room, int64_t *out_offsets
) noexcept nogil:
    cdef const uint8_t *source = NULL
    cdef const uint8_t *key
    cdef uint8_t *to
    cdef int64_t size = 0
    cdef int64_t first = 0
    cdef int64_t last = 0
    cdef int64_t index_room = 0
    cdef int64_t at = 0
    cdef Py_ssize_t which
    cdef Status status
    out_offsets[0] = 0
    while row[0] < column.rows:
        if not slice_at(column, row[0], &source, &size):
            return BAD_SLICE
        # One list of indexes is that of all rows; none are no indexes.
        if level_rows > 0:
            which = 0 if level_rows == 1 else row[0]
            first = level_ends[which]
            last = level_ends[which + 1]
            if not 0 <= first <= last <= level_count:
                return BAD_SLICE
            index_room = 5 * (last - first + 1)
        if valid == NULL or valid[row[0]]:
            if at + 1 + key_size + index_room + size > room:
                return NEED_ROOM
            key = keys if one_key else keys + row[0] * key_size
            if key_size == 4:
                at += write_id(out + at, (<const uint32_t *>key)[0])
            else:
                at += write_guid(out + at, key)
            if level_rows > 0:
                to = out + at
                status = write_indexes(&to, levels + first, last - first)
                if status != OK:
                    return status
                at = to - out
            if size <= 32 and column.data + column.size - source >= 32 and room - at >= 32:
                copy32(out + at, source)
            else:
                memcpy(out + at, source, <size_t>size)
            at += size
        row[0] += 1
        out_offsets[row[0]] = at
    return OK


cdef const uint8_t *flags(const Py_buffer *view, Py_ssize_t rows) except? NULL:
    """Return the validity bytes; NULL if there are none."""
    if view.len == 0:
        return NULL
    if view.len < rows:
        raise ValueError("valid must have an element for each row")
    return <const uint8_t *>view.buf


cdef int split_heads_loop(
    const Column *column, Py_ssize_t *row, const uint8_t *valid, const Layout *layout, uint8_t *keys, int64_t *starts
) noexcept nogil:
    cdef const uint8_t *start = NULL
    cdef int64_t size = 0
    cdef int32_t head
    cdef Status status
    while row[0] < column.rows:
        if not slice_at(column, row[0], &start, &size):
            return BAD_SLICE
        head = 0
        if valid == NULL or valid[row[0]]:
            status = read_head(layout, start, start + size, &head)
            if status != OK:
                return status
            memcpy(keys + row[0] * layout.id_size, start + head - layout.id_size, <size_t>layout.id_size)
        starts[row[0]] = start + head - column.data
        row[0] += 1
    return OK


cdef int join_heads_loop(
    const Column *column, Py_ssize_t *row, const uint8_t *valid, const uint8_t *heads, Py_ssize_t head_size,
    bint one_head, uint8_t *out, int64_t room, int64_t *out_offsets
) noexcept nogil:
    cdef const uint8_t *source = NULL
    cdef int64_t size = 0
    cdef int64_t at = 0
    out_offsets[0] = 0
    while row[0] < column.rows:
        if not slice_at(column, row[0], &source, &size):
            return BAD_SLICE
        if valid == NULL or valid[row[0]]:
            if at + head_size + size > room:
                return NEED_ROOM
            memcpy(out + at, heads if one_head else heads + row[0] * head_size, <size_t>head_size)
            memcpy(out + at + head_size, source, <size_t>size)
            at += head_size + size
        row[0] += 1
        out_offsets[row[0]] = at
    return OK


def split_heads(source, valid, layout, keys, starts) -> None:
    """Read frames that are not Confluent's: the bytes of their ids."""
    cdef Py_buffer views[5]
    cdef Column column
    cdef Layout c_layout
    cdef Py_ssize_t row = 0
    cdef const uint8_t *c_valid
    cdef int status
    memset(&c_layout, 0, sizeof(c_layout))
    read_layout(&c_layout, layout)
    no_buffers(views, sizeof(views))
    try:
        read_column(source, &column, views)
        read_buffer(valid, &views[2])
        write_buffer(keys, &views[3])
        write_buffer(starts, &views[4])
        c_valid = flags(&views[2], column.rows)
        if views[3].len // c_layout.id_size < column.rows or views[4].len // 8 < column.rows:
            raise ValueError("no room for the ids")
        with nogil:
            status = split_heads_loop(
                &column, &row, c_valid, &c_layout, <uint8_t *>views[3].buf, <int64_t *>views[4].buf
            )
        if status == BAD_SLICE:
            raise bad_slice(row)
        if status != OK:
            raise decode_error(status, row, offset_at(&column, row))
    finally:
        release_buffers(views, sizeof(views))


def join_heads(source, valid, heads, head_size: int, one_head: bool, out, out_offsets) -> None:
    """Write every row behind its head, or the one that all have."""
    cdef Py_buffer views[6]
    cdef Column column
    cdef Py_ssize_t row = 0
    cdef Py_ssize_t c_head_size = head_size
    cdef const uint8_t *c_valid
    cdef bint c_one_head = one_head
    cdef int status
    no_buffers(views, sizeof(views))
    try:
        read_column(source, &column, views)
        read_buffer(valid, &views[2])
        read_buffer(heads, &views[3])
        write_buffer(out, &views[4])
        write_buffer(out_offsets, &views[5])
        c_valid = flags(&views[2], column.rows)
        if c_head_size < 0 or c_head_size > 32 or views[3].len < c_head_size * (1 if c_one_head else column.rows):
            raise ValueError("too few heads")
        if views[5].len // 8 < column.rows + 1:
            raise ValueError("no room for the offsets")
        with nogil:
            status = join_heads_loop(
                &column, &row, c_valid, <const uint8_t *>views[3].buf, c_head_size, c_one_head,
                <uint8_t *>views[4].buf, views[4].len, <int64_t *>views[5].buf
            )
        if status == NEED_ROOM:
            raise ValueError("no room for the framed values")
        if status == BAD_SLICE:
            raise bad_slice(row)
    finally:
        release_buffers(views, sizeof(views))


def split(source, first: int, valid, ids, starts, guids, levels, level_ends) -> int:
    """Read frames from a row on, with message indexes if `level_ends` has room for their ends.

    Return the first row whose GUID or indexes had no room, or the number of rows.
    """
    cdef Py_buffer views[8]
    cdef Column column
    cdef Py_ssize_t row = first
    cdef const uint8_t *c_valid
    cdef uint8_t *c_guids
    cdef int64_t *c_ends
    cdef int status
    no_buffers(views, sizeof(views))
    try:
        read_column(source, &column, views)
        read_buffer(valid, &views[2])
        write_buffer(ids, &views[3])
        write_buffer(starts, &views[4])
        write_buffer(guids, &views[5])
        write_buffer(levels, &views[6])
        write_buffer(level_ends, &views[7])
        c_valid = flags(&views[2], column.rows)
        if not 0 <= row <= column.rows:
            raise ValueError("first is out of range")
        if views[3].len // 4 < column.rows or views[4].len // 8 < column.rows:
            raise ValueError("no room for the ids")
        c_guids = <uint8_t *>views[5].buf if views[5].len // 16 >= column.rows else NULL
        c_ends = <int64_t *>views[7].buf if views[7].len // 8 > column.rows else NULL
        with nogil:
            status = split_loop(
                &column, &row, c_valid, <int32_t *>views[3].buf, <int64_t *>views[4].buf, c_guids,
                <int32_t *>views[6].buf, views[6].len // 4, c_ends
            )
        if status == BAD_SLICE:
            raise bad_slice(row)
        if status != OK and status != NEED_ROOM:
            raise decode_error(status, row, offset_at(&column, row))
        return row
    finally:
        release_buffers(views, sizeof(views))


def join(
    source, valid, keys, key_size: int, one_key: bool, levels, level_ends, level_rows: int, out, out_offsets,
) -> None:
    """Write every row behind its frame: keys are native 32-bit ids, or GUIDs of 16 bytes.

    Each row, or all if there is one, has the message indexes between two of `level_ends`.
    """
    cdef Py_buffer views[8]
    cdef Column column
    cdef Py_ssize_t row = 0
    cdef Py_ssize_t c_level_rows = level_rows
    cdef const uint8_t *c_valid
    cdef int c_key_size = key_size
    cdef bint c_one_key = one_key
    cdef int status
    no_buffers(views, sizeof(views))
    try:
        read_column(source, &column, views)
        read_buffer(valid, &views[2])
        read_buffer(keys, &views[3])
        read_buffer(levels, &views[4])
        read_buffer(level_ends, &views[5])
        write_buffer(out, &views[6])
        write_buffer(out_offsets, &views[7])
        c_valid = flags(&views[2], column.rows)
        if c_key_size not in (4, 16) or views[3].len // c_key_size < (1 if c_one_key else column.rows):
            raise ValueError("too few keys")
        if views[5].len // 8 <= c_level_rows or 1 < c_level_rows < column.rows:
            raise ValueError("too few message indexes")
        if views[7].len // 8 < column.rows + 1:
            raise ValueError("no room for the offsets")
        with nogil:
            status = join_loop(
                &column, &row, c_valid, <const uint8_t *>views[3].buf, c_key_size, c_one_key,
                <const int32_t *>views[4].buf, views[4].len // 4, <const int64_t *>views[5].buf, c_level_rows,
                <uint8_t *>views[6].buf, views[6].len, <int64_t *>views[7].buf
            )
        if status == NEED_ROOM:
            raise ValueError("no room for the framed values")
        if status == BAD_SLICE:
            raise bad_slice(row)
        if status != OK:
            raise encode_error(status, row)
    finally:
        release_buffers(views, sizeof(views))

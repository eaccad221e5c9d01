"""The columns of records: how they stand in memory, and how they are handed to pyarrow.

All columns go through the Arrow C data interface at once, as the children of one struct: that takes a fraction of the
time that an array for each of them does, of which there are 13, and may have as few rows as a batch has records.
"""

from cpython.ref cimport Py_DECREF, Py_INCREF
from libc.stdint cimport INT32_MAX, int8_t, int16_t, int32_t, int64_t, uint8_t, uint32_t, uintptr_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, memset

from kcodec.columns.built._c_data cimport ArrowArray
from kcodec.wire.binary.cursor cimport pack_bytes, read_varint32, unzigzag32

import pyarrow as pa

from kcodec.errors import CapacityError
from kcodec.protocol.batch.schema import CONTROL_TYPES, record_schema

cdef extern from "Python.h":
    int Py_IsInitialized() nogil

cdef enum:
    ALIGNMENT = 64
    INLINE = 12             # bytes of a view that stand in it
    CONTROL_TYPE_COUNT = 8

# Columns of the record table, then what stands below them.
cdef enum:
    OFFSET
    TIMESTAMP
    TIMESTAMP_TYPE
    KEY
    VALUE
    HEADERS
    LEADER_EPOCH
    PRODUCER_ID
    PRODUCER_EPOCH
    SEQUENCE
    IS_TRANSACTIONAL
    CONTROL_TYPE
    BATCH
    COLUMNS
    HEADER_ITEM = COLUMNS
    HEADER_KEY
    HEADER_VALUE
    CONTROL_NAMES
    ROOT
    ARRAYS

cdef tuple SCHEMAS = (record_schema(views=False), record_schema(views=True))


cdef class Area:
    """A buffer of pyarrow's pool that is handed out in aligned pieces."""

    def __cinit__(self, size: int):
        self.buffer = pa.allocate_buffer(size)
        self.next = <uint8_t *><uintptr_t>self.buffer.address

    cdef void *take(self, int64_t size) noexcept:
        cdef uint8_t *start = self.next
        self.next += rounded(size)
        return start


cdef inline int64_t rounded(int64_t size) noexcept nogil:
    return (size + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT


cdef int64_t rounded_sizes(int64_t rows) noexcept nogil:
    return (
        3 * rounded(8 * rows) + 2 * rounded(16 * rows) + 4 * rounded(4 * rows + 4) + rounded(2 * rows)
        + 2 * rounded(rows) + 5 * rounded((rows + 15) // 8)
    )


cdef Area lay_out(Columns *columns, int64_t rows):
    """Make room for the columns of at most so many rows."""
    cdef Area area = Area(rounded_sizes(rows))
    cdef int i
    memset(columns, 0, sizeof(Columns))
    columns.offset = <int64_t *>area.take(8 * rows)
    columns.timestamp = <int64_t *>area.take(8 * rows)
    columns.producer_id = <int64_t *>area.take(8 * rows)
    columns.key = <uint8_t *>area.take(16 * rows)
    columns.value = <uint8_t *>area.take(16 * rows)
    columns.leader_epoch = <int32_t *>area.take(4 * rows + 4)
    columns.sequence = <int32_t *>area.take(4 * rows + 4)
    columns.batch = <int32_t *>area.take(4 * rows + 4)
    columns.headers = <int32_t *>area.take(4 * rows + 4)
    columns.producer_epoch = <int16_t *>area.take(2 * rows)
    columns.timestamp_type = <int8_t *>area.take(rows)
    columns.control = <int8_t *>area.take(rows)
    columns.transactional = <uint8_t *>area.take((rows + 15) // 8)
    for i in range(4):
        columns.bitmaps[i] = <uint8_t *>area.take((rows + 15) // 8)
    return area


cdef int64_t pack(uint8_t *bits, uint8_t *valid, int64_t rows) noexcept nogil:
    """Pack bytes that are 0 or 1 into bits, and count the zeros. There is room for 8 rows more."""
    cdef int64_t row
    cdef int64_t ones = 0
    for row in range(rows):
        ones += valid[row]
    if ones < rows:
        memset(valid + rows, 0, 8)
        pack_bytes(bits, valid, (rows + 7) & ~<int64_t>7)
    return rows - ones


cdef void copy_headers(
    Columns *columns, int64_t rows, int32_t *key_offsets, uint8_t *keys, int32_t *value_offsets, uint8_t *values,
    uint8_t *valid
) noexcept nogil:
    """Copy what the row loop has checked."""
    cdef int64_t row
    cdef int64_t item = 0
    cdef int64_t last
    cdef int32_t key_bytes = 0
    cdef int32_t value_bytes = 0
    cdef const uint8_t *at
    cdef uint32_t raw = 0
    cdef int32_t size
    key_offsets[0] = 0
    value_offsets[0] = 0
    for row in range(rows):
        last = columns.headers[row + 1]
        if item == last:
            continue
        at = columns.places[row]
        while item < last:
            # The length is within the row, so that there is no end to look for.
            read_varint32(&at, at + 5, at + 5, &raw)
            size = unzigzag32(raw)
            memcpy(keys + key_bytes, at, size)
            at += size
            key_bytes += size
            read_varint32(&at, at + 5, at + 5, &raw)
            size = unzigzag32(raw)
            valid[item] = size >= 0
            if size > 0:
                memcpy(values + value_bytes, at, size)
                at += size
                value_bytes += size
            item += 1
            key_offsets[item] = key_bytes
            value_offsets[item] = value_bytes


cdef struct Exported:
    # Everything that the arrays of one result point to, but for their data.
    ArrowArray arrays[ARRAYS]
    ArrowArray *children[ARRAYS]
    const void *buffers[3 * ARRAYS]
    void *owner             # a tuple of what holds the data
    int64_t piece_sizes[1]  # and more, then the buffers of the two columns of views


cdef void release_child(ArrowArray *array) noexcept nogil:
    array.release = NULL


cdef void release_root(ArrowArray *array) noexcept nogil:
    cdef Exported *exported = <Exported *>array.private_data
    array.release = NULL
    if Py_IsInitialized():
        with gil:
            Py_DECREF(<object>exported.owner)
    free(exported)


cdef object export(Columns *columns, int64_t rows, Area area, object data, object expanded, Pieces *pieces, bint views):
    """Hand the columns over as one record batch; keys and values as views, or copied."""
    cdef int64_t items = columns.header_count
    cdef int32_t count = pieces.count
    cdef int64_t sizes[2]
    cdef uint8_t *view_columns[2]
    cdef int64_t nulls[5]
    cdef int i
    view_columns[0] = columns.key
    view_columns[1] = columns.value
    for i in range(2):
        sizes[i] = 0 if views else bytes_of(view_columns[i], rows)
        if sizes[i] > INT32_MAX - INLINE:
            raise CapacityError("more than 2 GiB of keys or values in one batch: read them as views")
    # Without headers their columns are empty, and any offsets begin with the 0 that theirs consist of.
    cdef int32_t *key_offsets = columns.headers
    cdef int32_t *value_offsets = columns.headers
    cdef Area below = None if views and not items else Area(
        2 * rounded(4 * items + 4) + rounded(columns.header_keys) + rounded(columns.header_values)
        + rounded((items + 15) // 8) + rounded(items + 8)
        + (0 if views else 2 * rounded(4 * rows + 4) + rounded(sizes[0] + INLINE) + rounded(sizes[1] + INLINE))
    )
    cdef uint8_t *keys = NULL
    cdef uint8_t *values = NULL
    cdef uint8_t *bitmap = NULL
    cdef uint8_t *valid = NULL
    if items:
        key_offsets = <int32_t *>below.take(4 * items + 4)
        value_offsets = <int32_t *>below.take(4 * items + 4)
        keys = <uint8_t *>below.take(columns.header_keys)
        values = <uint8_t *>below.take(columns.header_values)
        bitmap = <uint8_t *>below.take((items + 15) // 8)
        valid = <uint8_t *>below.take(items + 8)
    cdef int32_t *copy_offsets[2]
    cdef uint8_t *copies[2]
    if not views:
        for i in range(2):
            copy_offsets[i] = <int32_t *>below.take(4 * rows + 4)
            copies[i] = <uint8_t *>below.take(sizes[i] + INLINE)
    with nogil:
        if items:
            copy_headers(columns, rows, key_offsets, keys, value_offsets, values, valid)
        for i in range(4):
            nulls[i] = pack(columns.bitmaps[i], columns.valid[i], rows)
        nulls[4] = pack(bitmap, valid, items)
        if not views:
            for i in range(2):
                copy_out(view_columns[i], rows, pieces, copy_offsets[i], copies[i])
    cdef Exported *exported = <Exported *>calloc(
        1, sizeof(Exported) + count * sizeof(int64_t) + 2 * (count + 3) * sizeof(void *)
    )
    if exported == NULL:
        raise MemoryError
    owner = (area, below, data, expanded) if views else (area, below)
    Py_INCREF(owner)
    exported.owner = <void *>owner
    cdef ArrowArray *arrays = exported.arrays
    cdef const void **piece_buffers = <const void **>(exported.piece_sizes + count)
    for i in range(ARRAYS):
        fixed(exported, i, rows, NULL)
    fixed(exported, OFFSET, rows, columns.offset)
    fixed(exported, TIMESTAMP, rows, columns.timestamp)
    fixed(exported, TIMESTAMP_TYPE, rows, columns.timestamp_type)
    fixed(exported, LEADER_EPOCH, rows, columns.leader_epoch)
    fixed(exported, PRODUCER_ID, rows, columns.producer_id)
    fixed(exported, PRODUCER_EPOCH, rows, columns.producer_epoch)
    fixed(exported, SEQUENCE, rows, columns.sequence)
    fixed(exported, IS_TRANSACTIONAL, rows, columns.transactional)
    fixed(exported, CONTROL_TYPE, rows, columns.control)
    fixed(exported, BATCH, rows, columns.batch)
    for i in range(2):
        if views:
            arrays[KEY + i].buffers = piece_buffers + i * (count + 3)
            arrays[KEY + i].n_buffers = count + 3
            arrays[KEY + i].buffers[1] = view_columns[i]
            memcpy(arrays[KEY + i].buffers + 2, pieces.start, count * sizeof(void *))
            arrays[KEY + i].buffers[count + 2] = exported.piece_sizes
        else:
            variable(exported, KEY + i, rows, copy_offsets[i], copies[i])
    if views:
        memcpy(exported.piece_sizes, pieces.size, count * sizeof(int64_t))
    nullable(&arrays[TIMESTAMP], columns.bitmaps[VALID_TIMESTAMP], nulls[VALID_TIMESTAMP])
    nullable(&arrays[CONTROL_TYPE], columns.bitmaps[VALID_CONTROL], nulls[VALID_CONTROL])
    nullable(&arrays[KEY], columns.bitmaps[VALID_KEY], nulls[VALID_KEY])
    nullable(&arrays[VALUE], columns.bitmaps[VALID_VALUE], nulls[VALID_VALUE])
    fixed(exported, HEADERS, rows, columns.headers)
    parent(exported, HEADERS, HEADER_ITEM, 1)
    fixed(exported, HEADER_ITEM, items, NULL)
    arrays[HEADER_ITEM].n_buffers = 1
    parent(exported, HEADER_ITEM, HEADER_KEY, 2)
    variable(exported, HEADER_KEY, items, key_offsets, keys)
    variable(exported, HEADER_VALUE, items, value_offsets, values)
    nullable(&arrays[HEADER_VALUE], bitmap, nulls[4])
    variable(exported, CONTROL_NAMES, CONTROL_TYPE_COUNT, NAME_OFFSETS, NAMES)
    arrays[CONTROL_TYPE].dictionary = &arrays[CONTROL_NAMES]
    arrays[ROOT].n_buffers = 1
    parent(exported, ROOT, OFFSET, COLUMNS)
    arrays[ROOT].private_data = exported
    arrays[ROOT].release = release_root
    return pa.RecordBatch._import_from_c(<uintptr_t>&arrays[ROOT], SCHEMAS[views])


cdef int64_t bytes_of(const uint8_t *views, int64_t rows) noexcept nogil:
    cdef int64_t total = 0
    cdef int64_t row
    for row in range(rows):
        total += (<const int32_t *>views)[4 * row]
    return total


cdef void copy_out(
    const uint8_t *views, int64_t rows, const Pieces *pieces, int32_t *offsets, uint8_t *out
) noexcept nogil:
    """Copy what views are of; there is room for a whole view behind the last."""
    cdef const int32_t *view
    cdef int64_t row
    cdef int32_t at = 0
    offsets[0] = 0
    for row in range(rows):
        view = <const int32_t *>views + 4 * row
        if view[0] <= INLINE:
            memcpy(out + at, view + 1, INLINE)
        else:
            memcpy(out + at, pieces.start[view[2]] + view[3], view[0])
        at += view[0]
        offsets[row + 1] = at


cdef void fixed(Exported *exported, int at, int64_t length, const void *data) noexcept:
    cdef ArrowArray *array = &exported.arrays[at]
    array.length = length
    array.n_buffers = 2
    array.buffers = &exported.buffers[3 * at]
    array.buffers[1] = data
    array.release = release_child
    exported.children[at] = array


cdef void variable(Exported *exported, int at, int64_t length, const void *offsets, const void *data) noexcept:
    fixed(exported, at, length, offsets)
    exported.arrays[at].n_buffers = 3
    exported.arrays[at].buffers[2] = data


cdef void parent(Exported *exported, int at, int first, int count) noexcept:
    exported.arrays[at].n_children = count
    exported.arrays[at].children = &exported.children[first]


cdef void nullable(ArrowArray *array, const void *bitmap, int64_t nulls) noexcept:
    array.null_count = nulls
    array.buffers[0] = bitmap if nulls else NULL


cdef int32_t NAME_OFFSETS[CONTROL_TYPE_COUNT + 1]
cdef bytes NAME_BYTES = "".join(CONTROL_TYPES).encode()
cdef const char *NAMES = NAME_BYTES


def _lay_out_names() -> None:
    for number, name in enumerate(CONTROL_TYPES):
        NAME_OFFSETS[number + 1] = NAME_OFFSETS[number] + <int32_t>len(name)


_lay_out_names()

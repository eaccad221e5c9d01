"""The columns of records, while they are read; and how they are handed to pyarrow in one step."""

from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t


cdef struct Columns:
    int64_t *offset
    int64_t *timestamp
    uint8_t *key
    uint8_t *value
    int64_t *producer_id
    int32_t *leader_epoch
    int32_t *sequence
    int32_t *batch
    int32_t *headers        # one more than rows
    int16_t *producer_epoch
    int8_t *timestamp_type
    int8_t *control
    uint8_t *transactional  # bits
    uint8_t *bitmaps[4]     # bits: timestamp, key, value, control
    uint8_t *valid[4]       # bytes, the same
    const uint8_t **places  # where the headers of a row start, if it has any
    int64_t header_count
    int64_t header_keys     # bytes
    int64_t header_values


# Places in `Columns.bitmaps` and `Columns.valid`.
cdef enum:
    VALID_TIMESTAMP
    VALID_KEY
    VALID_VALUE
    VALID_CONTROL


cdef class Area:
    cdef readonly object buffer
    cdef uint8_t *next

    cdef void *take(self, int64_t size) noexcept


cdef struct Pieces:
    # The buffers that views are of: the first for what was expanded, then windows of what was scanned.
    const uint8_t **start
    int64_t *size
    int32_t count


cdef Area lay_out(Columns *columns, int64_t rows)
cdef object export(Columns *columns, int64_t rows, Area area, object data, object expanded, Pieces *pieces, bint views)

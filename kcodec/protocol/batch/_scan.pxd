"""The batches of a buffer, as their headers say: what the records are read by."""

from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint32_t

from kcodec.wire.binary.status cimport Status

cdef enum:
    LOG_OVERHEAD = 12
    SMALLEST = 14
    HEADER = 61
    SMALLEST_RECORD = 7
    MESSAGE_HEADER = 18
    LOG_APPEND = 8
    TRANSACTIONAL = 16
    CONTROL = 32

cdef enum Stop:
    MORE
    END
    PARTIAL
    ZEROS
    DAMAGED

cdef struct Batch:
    int64_t position
    int64_t offset
    int64_t start           # of the records, or of the message set that a message holds
    int64_t end
    int64_t base_timestamp
    int64_t max_timestamp
    int64_t producer_id
    int64_t fault_at
    int32_t size
    int32_t leader_epoch
    int32_t last_delta
    int32_t base_sequence
    int32_t count
    int32_t status
    uint32_t crc
    int32_t good_records    # those before the bad one
    int16_t producer_epoch
    uint8_t magic
    uint8_t attributes
    int8_t crc_valid        # -1: not compared
    bint expanded
    bint wanted
    bint partial            # whether other records follow those that are to be read


cdef class Batches:
    cdef Batch *batches
    cdef Py_ssize_t room
    cdef Py_ssize_t length
    cdef Stop reason
    cdef readonly int64_t end
    cdef readonly int64_t stop_at

    cdef Batch *append(self) noexcept nogil
    cdef Batch *at(self, Py_ssize_t number) except NULL


cdef struct Message:
    int64_t timestamp
    int64_t key
    int32_t key_size        # -1: null
    int64_t value
    int32_t value_size
    int64_t fault_at


cdef Status message(const uint8_t *data, int64_t at, int64_t end, Message *out) noexcept nogil

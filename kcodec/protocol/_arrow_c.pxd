"""The Arrow C data interface: how columns of many buffers are handed to pyarrow in one step."""

from libc.stdint cimport int64_t


cdef struct ArrowArray:
    int64_t length
    int64_t null_count
    int64_t offset
    int64_t n_buffers
    int64_t n_children
    const void **buffers
    ArrowArray **children
    ArrowArray *dictionary
    void (*release)(ArrowArray *) noexcept nogil
    void *private_data

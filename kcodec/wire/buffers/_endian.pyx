"""Fixed-width values between places with strides. The Python twin is ``_endian_py``."""

from libc.stdint cimport uint8_t

from kcodec.wire.binary.endian cimport move16, move32, move64
from kcodec.wire.buffers.column cimport no_buffers, read_buffer, release_buffers, write_buffer


cdef void move_all(
    uint8_t *target, Py_ssize_t target_stride, const uint8_t *source, Py_ssize_t source_stride,
    Py_ssize_t count, int size, bint swap
) noexcept nogil:
    cdef Py_ssize_t i
    if size == 2:
        for i in range(count):
            move16(target + i * target_stride, source + i * source_stride, swap)
    elif size == 4:
        for i in range(count):
            move32(target + i * target_stride, source + i * source_stride, swap)
    else:
        for i in range(count):
            move64(target + i * target_stride, source + i * source_stride, swap)


def move(
    source, offset: int, stride: int, target, target_offset: int, target_stride: int, count: int, size: int,
    swap: bool,
) -> None:
    """Move ``count`` values of ``size`` bytes, turning their bytes around with ``swap``."""
    cdef Py_buffer views[2]
    cdef Py_ssize_t at = offset
    cdef Py_ssize_t step = stride
    cdef Py_ssize_t to = target_offset
    cdef Py_ssize_t to_step = target_stride
    cdef Py_ssize_t c_count = count
    cdef int c_size = size
    cdef bint c_swap = swap
    no_buffers(views, sizeof(views))
    try:
        read_buffer(source, &views[0])
        write_buffer(target, &views[1])
        if c_size not in (2, 4, 8) or at < 0 or to < 0 or step < c_size or to_step < c_size:
            raise ValueError("size, offset or stride out of range")
        if c_count <= 0:
            return
        if (
            at > views[0].len - c_size or c_count - 1 > (views[0].len - c_size - at) // step
            or to > views[1].len - c_size or c_count - 1 > (views[1].len - c_size - to) // to_step
        ):
            raise ValueError("the values reach outside a buffer")
        with nogil:
            move_all(
                <uint8_t *>views[1].buf + to, to_step, <const uint8_t *>views[0].buf + at, step,
                c_count, c_size, c_swap
            )
    finally:
        release_buffers(views, sizeof(views))

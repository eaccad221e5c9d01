"""Whether offsets go down somewhere."""

from libc.stdint cimport int32_t, int64_t


cdef extern from "offsets.h" nogil:
    # Whether any of `count` values ends before it starts.
    bint falls32 "kcodec_falls32"(const int32_t *offsets, int64_t count)
    bint falls64 "kcodec_falls64"(const int64_t *offsets, int64_t count)

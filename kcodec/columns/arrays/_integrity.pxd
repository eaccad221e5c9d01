"""Arrays as Arrow's C data interface hands them over."""

from kcodec.columns.built._c_data cimport ArrowArray, ArrowSchema


cdef class Kind:
    cdef object type
    cdef object capsule
    cdef const ArrowSchema *schema
    cdef bint is_exact        # types that are equal to it are of the same memory
    cdef bint is_plain
    cdef bint has_views


cdef class Exported:
    cdef Kind kind
    cdef ArrowArray array

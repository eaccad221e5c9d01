"""Where the cells of delimited text end; see delimited.h. 64 bytes are read, whatever they hold."""

from libc.stdint cimport uint8_t, uint64_t


cdef extern from "delimited.h" nogil:
    ctypedef struct DelimitedMarks "kc_delimited_marks":
        uint64_t delimiters
        uint64_t odd
        uint64_t wide
        uint64_t words

    bint is_of_number "kc_is_of_number"(uint8_t byte)
    DelimitedMarks delimited_marks "kc_delimited_marks_of"(const uint8_t *at, uint8_t delimiter)

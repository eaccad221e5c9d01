"""Where the values of the fields of documents stand, whatever the order of their keys."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

from kcodec.formats.json._context cimport Context
from kcodec.formats.json._program cimport Op

cdef enum:
    PLACED = 64                    # documents, at most


cdef struct Place:                 # of a value, counted from the start of its document
    int32_t start
    int32_t stop


cdef struct Places:
    int32_t room                   # fields
    const Op *container            # that the rest is of
    uint64_t *came                 # per field: a bit for each document that has it
    Place *table                   # per field and document
    const Op **follows             # per field, and before the first: the two that came after it last
    int64_t guesses                # keys of these documents, and of those before
    int64_t hits                   # that were one of these two
    bint guessed                   # whether they are compared first
    bint spaced                    # a space stands behind commas
    bint unknown                   # keys have been read past that no field has
    int64_t strange                # keys of rows that no field has, in a block


# Prepare for documents of a program; False without memory.
cdef bint begin_places(Places *places, const Op *container) noexcept nogil
cdef void free_places(Places *places) noexcept nogil

# Find the values of an object, from its bracket past the one that closes it. NULL if it is not in a common form, or has
# a field twice. What the values hold is not looked at, but they are values if they can be read up to their end.
cdef const uint8_t *locate(
    Places *places, Context *context, int64_t lane, const uint8_t *start, const uint8_t *p, int32_t levels
) noexcept nogil

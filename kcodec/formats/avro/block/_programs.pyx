"""Programs of one block of rows: which of them do the same, as a whole or in part."""

from libc.stdint cimport int32_t
from libc.string cimport memcmp

from kcodec.formats.avro.block._lanes cimport PROGRAMS
from kcodec.formats.avro.rows._program cimport CALL, DO_ARRAY, DO_ENUM, DO_MAP, DO_SKIP, Op


cdef bint has_list(const Op *op) noexcept nogil:
    cdef int32_t at
    if op.code == DO_SKIP:
        return False
    for at in range(op.next):
        if op[at].code == DO_ARRAY or op[at].code == DO_MAP:
            return True
    return False


cdef bint same_ops(const Op *a, const Op *b) noexcept nogil:
    """Return whether two ops, with all that belongs to them, do the same."""
    cdef int32_t at
    cdef int32_t symbol
    if a.next != b.next:
        return False
    for at in range(a.next):
        if (
            a[at].code != b[at].code or a[at].column != b[at].column or a[at].next != b[at].next
            or a[at].size != b[at].size or a[at].factor != b[at].factor or a[at].precision != b[at].precision
            or a[at].scale != b[at].scale or a[at].minimum != b[at].minimum or a[at].status != b[at].status
            or (a[at].texts == NULL) != (b[at].texts == NULL) or a[at].table != NULL or b[at].table != NULL
        ):
            return False
        if a[at].code == CALL:
            return False
        if a[at].texts != NULL:
            for symbol in range(a[at].size if a[at].code == DO_ENUM else 1):
                if a[at].texts[symbol].size != b[at].texts[symbol].size or (
                    (a[at].texts[symbol].data == NULL) != (b[at].texts[symbol].data == NULL)
                ):
                    return False
                if a[at].texts[symbol].data != NULL and memcmp(
                    a[at].texts[symbol].data, b[at].texts[symbol].data, a[at].texts[symbol].size
                ):
                    return False
    return True


cdef void find_alike(int32_t *alike, const Op **programs, const int32_t *stops, int32_t count) noexcept nogil:
    """Find for each program the first that does the same: revisions of a schema often differ in nothing else."""
    cdef int32_t first[PROGRAMS]
    cdef int32_t found = 0
    cdef int32_t program
    cdef int32_t at
    for program in range(count):
        alike[program] = program
        if programs[program] == NULL:
            continue
        for at in range(found):
            if same_program(programs[program], stops[program], programs[first[at]], stops[first[at]]):
                alike[program] = first[at]
                break
        else:
            if found < PROGRAMS:
                first[found] = program
                found += 1


cdef bint same_program(const Op *a, int32_t stop, const Op *b, int32_t other_stop) noexcept nogil:
    cdef const Op *end = a + stop
    if stop != other_stop:
        return False
    while a != end:
        if not same_ops(a, b):
            return False
        b += a.next
        a += a.next
    return True

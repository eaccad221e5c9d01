"""The row loop of JSON."""

from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memcmp

from kcodec.columns.built._column cimport offset_t
from kcodec.formats.json._context cimport Context
from kcodec.formats.json._program cimport FOLD, Op
from kcodec.wire.binary.cursor cimport load_le64

# What `run` goes through: objects have a loop of their own, which knows nothing of items.
ctypedef char fields_t
ctypedef short items_t

ctypedef fused values_t:
    fields_t
    items_t


cdef inline bint is_key(const Op *op, const uint8_t *p, const uint8_t *end, uint64_t never) noexcept nogil:
    """Return whether the key of an op stands here, which may go beyond the end; False if `never` is not 0."""
    cdef uint64_t first = (load_le64(p) ^ op.key.words[0]) & op.key.masks[0]
    cdef uint64_t second = (load_le64(p + 8) ^ op.key.words[1]) & op.key.masks[1]
    if first | second | never:
        return False
    return op.key_size <= 16 or (op.key_size <= end - p and memcmp(p, op.name, op.key_size) == 0)


# Return whether the key of an op stands here, its letters in any case.
cdef bint is_folded_key(const Op *op, const uint8_t *p, const uint8_t *end) noexcept nogil


cdef inline bint is_key_of(const Op *container, const Op *op, const uint8_t *p, const uint8_t *end) noexcept nogil:
    """Return whether the key of a container's field stands here, in any case if that is one to it."""
    return is_key(op, p, end, 0) or (container.forms & FOLD and is_folded_key(op, p, end))


# Read a key and its colon, up to `Context.after`, and give the op of its field; NULL if there is none, or for a
# failure: then the status is not OK. `Context.folded` tells whether it took folding to find it.
cdef const Op *find(Context *context, const Op *container, const uint8_t *p) noexcept nogil

# Read the values of a container, from its bracket past the one that closes it; without one, the value of `op`. The
# container's own value has the number `index` in its scope. Return the position behind, or NULL.
cdef const uint8_t *run(
    Context *context, const Op *container, const Op *op, int64_t index, const uint8_t *p, offset_t *tag,
    values_t which
) noexcept nogil

# Read one document, and what may stand around it: a byte order mark and space. Return NULL for a failure.
cdef const uint8_t *read_document(
    Context *context, const Op *root, int64_t row, const uint8_t *p, bint wide, bint trailing
) noexcept nogil

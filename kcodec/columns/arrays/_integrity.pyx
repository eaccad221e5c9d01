"""What an Arrow array refers to, which `pyarrow.Array.validate` looks at only at its ends.

That is offsets, views, run ends, indices, and the members of unions. The array is walked as it is handed over by
Arrow's C data interface. Of a slice only what it shows is looked at.

Small arrays take longer to hand over than to walk. So their types, which takes longest, are handed over once, and
arrays that have nothing to look at are not.
"""

from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t, uintptr_t
from libc.string cimport memcmp, memcpy

from kcodec.columns.built._c_data cimport ArrowArray, ArrowSchema
from kcodec.wire.binary.offsets cimport falls32, falls64

import pyarrow as pa

from kcodec.columns.arrays._integrity_py import check_offsets as check_plainly, lacks_memory
from kcodec.errors import ArrayError

__all__ = ["check_offsets"]


cdef enum:
    MAX_NESTING = 1000
    MAX_KINDS = 8
    MAX_CODES = 128    # of a union's members

# pyarrow before 25 crashes where it hands over views that a cast made of short values alone.
HANDS_OVER_SHORT_VIEWS = int(pa.__version__.split(".")[0]) >= 25

#: Types of the last arrays, the last one first, with what was handed over of them. A variable of the module and not of
#: C: threads read and bind it, which no lock of the interpreter keeps apart in every build.
kinds = ()


ctypedef fused Number:
    int8_t
    int16_t
    int32_t
    int64_t
    uint8_t
    uint16_t
    uint32_t
    uint64_t


ctypedef fused Offset:
    int32_t
    int64_t


cdef class Kind:
    """A type, handed over."""

    def __cinit__(self, kind):
        self.type = kind
        self.capsule = kind.__arrow_c_schema__()
        self.schema = <const ArrowSchema *>PyCapsule_GetPointer(self.capsule, "arrow_schema")
        self.is_exact = is_exact(self.schema, 0, False)
        self.is_plain = is_plain(self.schema, 0)
        self.has_views = has_views(self.schema, 0)


cdef Kind kind_of(object kind):
    """Return what was handed over of a type."""
    global kinds
    cdef Kind known
    for known in kinds:
        if known.type is kind or known.is_exact and known.type.equals(kind):
            return known
    known = Kind(kind)
    if known.is_exact:
        kinds = (known, *kinds[: MAX_KINDS - 1])
    return known


cdef class Exported:
    """An array, handed over."""

    def __cinit__(self, array):
        self.kind = kind_of(array.type)
        array._export_to_c(<uintptr_t>&self.array)

    def __dealloc__(self):
        if self.array.release != NULL:
            self.array.release(&self.array)


def check_offsets(array):
    """Raise an `ArrayError` if an array that passed `pyarrow.Array.validate` still points outside of its buffers."""
    cdef Exported exported
    cdef const char *found
    cdef Kind kind = kind_of(array.type)
    if kind.is_plain:
        return
    if kind.has_views and not HANDS_OVER_SHORT_VIEWS and lacks_memory(array):
        check_plainly(array)
        return
    exported = Exported(array)
    with nogil:
        found = walk(exported.kind.schema, &exported.array, 0, exported.array.length, 0, NULL)
    if found != NULL:
        raise ArrayError(f"an array of {array.type}: {found.decode()}")


cdef bint is_exact(const ArrowSchema *kind, int depth, bint stored) noexcept nogil:
    """Return whether equal types are of the same memory: not where values that stand once are of extensions."""
    cdef int64_t child
    if depth > MAX_NESTING or stored and is_extension(kind.metadata):
        return False
    if kind.dictionary != NULL and not is_exact(kind.dictionary, depth + 1, True):
        return False
    stored = stored or kind.format[0] == b"+" and kind.format[1] == b"r"
    for child in range(kind.n_children):
        if not is_exact(kind.children[child], depth + 1, stored):
            return False
    return True


cdef bint is_extension(const char *metadata) noexcept nogil:
    """Return whether pairs of texts have the name of an extension; int32 count | int32 size, text for each."""
    cdef const char *name = b"ARROW:extension:name"
    cdef int32_t left = 0
    cdef int32_t size
    if metadata != NULL:
        memcpy(&left, metadata, 4)
        metadata += 4
    for left in range(2 * left, 0, -1):
        memcpy(&size, metadata, 4)
        if left & 1 == 0 and size == 20 and memcmp(metadata + 4, name, 20) == 0:
            return True
        metadata += 4 + size
    return False


cdef bint is_plain(const ArrowSchema *kind, int depth) noexcept nogil:
    """Return whether values of a type, if valid, are all of one size: whether there is nothing to look at."""
    cdef const char *format = kind.format
    cdef int64_t child
    if kind.dictionary != NULL or depth > MAX_NESTING:
        return False
    if format[0] == b"+":
        if format[1] != b"s":
            return False
        for child in range(kind.n_children):
            if not is_plain(kind.children[child], depth + 1):
                return False
        return True
    return not (format[0] == b"u" or format[0] == b"z" or format[0] == b"U" or format[0] == b"Z" or format[0] == b"v")


cdef bint has_views(const ArrowSchema *kind, int depth) noexcept nogil:
    """Return whether there are views of text or bytes among the values of a type."""
    cdef int64_t child
    if depth > MAX_NESTING:
        return False
    if kind.format[0] == b"v" or (kind.dictionary != NULL and has_views(kind.dictionary, depth + 1)):
        return True
    for child in range(kind.n_children):
        if has_views(kind.children[child], depth + 1):
            return True
    return False


cdef struct Above:
    # A struct around values, and what is around that one: where it is null, its values are not read.
    const ArrowArray *array
    const Above *around


cdef const char *walk(
    const ArrowSchema *kind, const ArrowArray *array, int64_t first, int64_t count, int depth, const Above *above
) noexcept nogil:
    """Check `count` values from `first` on, and everything that they refer to."""
    cdef Above here
    cdef const char *format = kind.format
    cdef const char *found
    cdef int64_t start = array.offset + first
    cdef int64_t size
    cdef int64_t child
    if depth > MAX_NESTING:
        return b"types are nested too deeply"
    if count <= 0:
        return NULL
    if first < 0 or first + count > array.length:
        return b"a list ends behind its values"
    if kind.dictionary != NULL:
        return indices(format[0], array, start, count, above) or walk(
            kind.dictionary, array.dictionary, 0, array.dictionary.length, depth + 1, NULL
        )
    if format[0] == b"u" or format[0] == b"z":
        return ascending(<const int32_t *>array.buffers[1], array, start, count)
    if format[0] == b"U" or format[0] == b"Z":
        return ascending(<const int64_t *>array.buffers[1], array, start, count)
    if format[0] == b"v":
        return views(array, start, count)
    if format[0] != b"+":
        return NULL
    if format[1] == b"l" or format[1] == b"m":
        return ascending(<const int32_t *>array.buffers[1], array, start, count) or items(
            <const int32_t *>array.buffers[1], kind, array, start, count, depth
        )
    if format[1] == b"L":
        return ascending(<const int64_t *>array.buffers[1], array, start, count) or items(
            <const int64_t *>array.buffers[1], kind, array, start, count, depth
        )
    if format[1] == b"w":
        size = 0
        format += 3
        while format[0]:
            size = 10 * size + format[0] - 48
            format += 1
        return walk(kind.children[0], array.children[0], start * size, count * size, depth + 1, NULL)
    if format[1] == b"s":
        here.array = array
        here.around = above
        for child in range(kind.n_children):
            found = walk(kind.children[child], array.children[child], start, count, depth + 1, &here)
            if found != NULL:
                return found
        return NULL
    if format[1] == b"r":
        return run_ends(kind.children[0].format[0], array.children[0]) or walk(
            kind.children[1], array.children[1], 0, array.children[1].length, depth + 1, NULL
        )
    if format[1] == b"v":
        if format[2] == b"L":
            found = list_views(<const int64_t *>array.buffers[1], array, start, count)
        else:
            found = list_views(<const int32_t *>array.buffers[1], array, start, count)
        return found or walk(kind.children[0], array.children[0], 0, array.children[0].length, depth + 1, NULL)
    if format[1] == b"u":
        return members(kind, array, start, count) or member_values(kind, array, start, count, depth)
    return NULL


cdef const char *ascending(const Offset *offsets, const ArrowArray *array, int64_t start, int64_t count) noexcept nogil:
    cdef bint falls
    if Offset is int32_t:
        falls = falls32(offsets + start, count)
    else:
        falls = falls64(offsets + start, count)
    # Where the whole array ends, its buffers have been seen to end.
    if falls or offsets[start] < 0 or offsets[start + count] > offsets[array.offset + array.length]:
        return b"offsets are not in order"
    return NULL


cdef const char *items(
    const Offset *offsets, const ArrowSchema *kind, const ArrowArray *array, int64_t start, int64_t count, int depth
) noexcept nogil:
    cdef int64_t first = offsets[start]
    cdef int64_t last = offsets[start + count]
    # Arrow takes values out of views, dictionaries and unions even where no list shows them.
    if has_references(kind.children[0], depth) and first >= 0 and last <= array.children[0].length:
        first = 0
        last = array.children[0].length
    return walk(kind.children[0], array.children[0], first, last - first, depth + 1, NULL)


cdef bint has_references(const ArrowSchema *kind, int depth) noexcept nogil:
    """Return whether values of a type (not counting the items of lists) are views, in a dictionary or of a union."""
    cdef int64_t child
    if kind.dictionary != NULL or kind.format[0] == b"v":
        return True
    if kind.format[0] == b"+" and kind.format[1] == b"u":
        return True
    if kind.format[0] == b"+" and kind.format[1] == b"s" and depth <= MAX_NESTING:
        for child in range(kind.n_children):
            if has_references(kind.children[child], depth + 1):
                return True
    return False


cdef bint is_null(const ArrowArray *array, int64_t at) noexcept nogil:
    cdef const uint8_t *valid = <const uint8_t *>array.buffers[0]
    return valid != NULL and not (valid[at >> 3] >> (at & 7)) & 1


cdef const char *views(const ArrowArray *array, int64_t start, int64_t count) noexcept nogil:
    cdef const int32_t *view
    cdef const int64_t *sizes = <const int64_t *>array.buffers[array.n_buffers - 1]
    cdef int64_t at
    for at in range(start, start + count):
        view = <const int32_t *>array.buffers[1] + 4 * at
        # Arrow's casts add up all lengths, those of nulls too.
        if view[0] >= 0 and (view[0] <= 12 or is_null(array, at)):
            continue
        if (
            view[0] < 0 or not 0 <= view[2] < array.n_buffers - 3
            or not 0 <= view[3] <= sizes[view[2]] - view[0]
        ):
            return b"a view is outside of its buffer"
    return NULL


cdef const char *members(const ArrowSchema *kind, const ArrowArray *array, int64_t start, int64_t count) noexcept nogil:
    """Check of some values which member of a union each is of, and which value of that."""
    cdef const int8_t *codes = <const int8_t *>array.buffers[0]
    cdef const int32_t *places = NULL if kind.format[2] == b"s" else <const int32_t *>array.buffers[1]
    cdef const char *format = kind.format + 4           # +us:code,code or +ud:code,code
    cdef int64_t lengths[MAX_CODES]
    cdef int64_t at
    cdef int code = 0
    for at in range(MAX_CODES):
        lengths[at] = 0
    for at in range(kind.n_children):
        code = 0
        while 48 <= format[0] <= 57:
            code = 10 * code + format[0] - 48
            format += 1
        format += 1
        lengths[code] = array.children[at].length
    for at in range(start, start + count):
        if codes[at] < 0 or not 0 <= (at if places == NULL else places[at]) < lengths[codes[at]]:
            return b"a value is outside of the members of its union"
    return NULL


cdef const char *member_values(
    const ArrowSchema *kind, const ArrowArray *array, int64_t start, int64_t count, int depth
) noexcept nogil:
    """Check the members of a union: of a dense one all that they hold."""
    cdef const char *found
    cdef int64_t child
    for child in range(kind.n_children):
        if kind.format[2] == b"d":
            start = 0
            count = array.children[child].length
        found = walk(kind.children[child], array.children[child], start, count, depth + 1, NULL)
        if found != NULL:
            return found
    return NULL


cdef const char *list_views(
    const Offset *offsets, const ArrowArray *array, int64_t start, int64_t count
) noexcept nogil:
    cdef const Offset *sizes = <const Offset *>array.buffers[2]
    cdef int64_t length = array.children[0].length
    cdef int64_t at
    for at in range(start, start + count):
        if sizes[at] < 0 or not 0 <= offsets[at] <= length - sizes[at]:
            return b"a list is outside of its values"
    return NULL


cdef bint is_hidden(const Above *above, int64_t at) noexcept nogil:
    """Return whether a struct around a value is null."""
    while above != NULL:
        if is_null(above.array, at):
            return True
        at -= above.array.offset
        above = above.around
    return False


cdef const char *outside(
    const Number *numbers, const ArrowArray *array, int64_t start, int64_t count, const Above *above
) noexcept nogil:
    cdef int64_t length = array.dictionary.length
    cdef int64_t at
    for at in range(start, start + count):
        if (numbers[at] < 0 or <uint64_t>numbers[at] >= <uint64_t>length) and not is_null(array, at):
            # For structs that are all null Arrow makes indices of 0, and no value that they could mean.
            if length or not is_hidden(above, at - array.offset):
                return b"an index is outside of its dictionary"
    return NULL


cdef const char *indices(
    char code, const ArrowArray *array, int64_t start, int64_t count, const Above *above
) noexcept nogil:
    cdef const void *numbers = array.buffers[1]
    if code == b"c":
        return outside(<const int8_t *>numbers, array, start, count, above)
    if code == b"C":
        return outside(<const uint8_t *>numbers, array, start, count, above)
    if code == b"s":
        return outside(<const int16_t *>numbers, array, start, count, above)
    if code == b"S":
        return outside(<const uint16_t *>numbers, array, start, count, above)
    if code == b"i":
        return outside(<const int32_t *>numbers, array, start, count, above)
    if code == b"I":
        return outside(<const uint32_t *>numbers, array, start, count, above)
    if code == b"l":
        return outside(<const int64_t *>numbers, array, start, count, above)
    return outside(<const uint64_t *>numbers, array, start, count, above)


cdef const char *run_ends(char code, const ArrowArray *ends) noexcept nogil:
    cdef int64_t at
    cdef int64_t last = 0
    cdef int64_t end
    for at in range(ends.offset, ends.offset + ends.length):
        if code == b"s":
            end = (<const int16_t *>ends.buffers[1])[at]
        elif code == b"i":
            end = (<const int32_t *>ends.buffers[1])[at]
        else:
            end = (<const int64_t *>ends.buffers[1])[at]
        if end <= last:
            return b"run ends are not in order"
        last = end
    return NULL

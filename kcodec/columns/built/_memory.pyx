"""Memory of pyarrow's pool that is kept for the next call, once the arrays that were written into it are gone.

The pool gives pages back that nobody has used for some milliseconds, and decodes are often further apart than that.
Each would then touch fresh pages, which costs up to half of its time. So the last of its memory is kept, and what is
written next takes what comes closest to the size that it needs.
"""

from cpython.buffer cimport PyBuffer_FillInfo
from cpython.object cimport PyObject
from cpython.ref cimport Py_DECREF, Py_INCREF
from libc.stdint cimport int64_t, uint8_t, uintptr_t
from libc.string cimport memcpy

cimport cython

from kcodec.columns.built._c_data cimport ArrowArray

import pyarrow as pa

cdef extern from "Python.h":
    bint Py_IsInitialized() nogil


__all__ = ["release_unused"]

cdef enum:
    LEAST = 16 << 10   # bytes that are worth keeping
    MOST = 64 << 20    # bytes that are kept

#: What is kept, the oldest first.
cdef list spare = []


cdef class Kept:
    """A piece of what calls leave for later ones."""


cdef class Memory(Kept):
    """Memory that grows, until an array has it."""

    cdef int resize(self, int64_t room, bint shrink) except -1:
        if self.buffer is None:
            self.buffer = pa.allocate_buffer(room, resizable=True)
        else:
            self.buffer.resize(room, shrink)
        self.data = <uint8_t *><uintptr_t>self.buffer.address
        self.room = room
        return 0

    cdef object lend(self, int64_t first, int64_t size):
        """Return the first bytes as a buffer, and free the rest."""
        if self.room != first + size:
            self.resize(first + size, True)
        if self.room < LEAST:
            return self.buffer.slice(first, size) if first else self.buffer
        self.first = first
        self.size = size
        return pa.py_buffer(self)

    def __getbuffer__(self, Py_buffer *buffer, int flags):
        PyBuffer_FillInfo(buffer, self, self.data + self.first, self.size, 1, flags)

    def __releasebuffer__(self, Py_buffer *buffer):
        # Arrow alone has asked for it, once.
        keep(self)


cdef Memory with_room(Memory memory, int64_t room):
    """Return memory of at least so many bytes, filled with those of another, if any, as far as that has them.

    The other one must not be used any more.
    """
    cdef Memory found = take(room)
    if found is None:
        found = memory if memory is not None else Memory()
    if found.room < room or found.buffer is None:
        found.resize(room, False)
    found.asked = room
    if memory is not None and found is not memory:
        memcpy(found.data, memory.data, min(memory.room, room))
        keep(memory)
    return found


cdef object hand_over(ArrowArray *array, Memory memory, object kind):
    """Return an array whose buffers are all in one piece of memory; that is kept or freed with the last of it."""
    array.release = release_all
    array.private_data = <void *>memory
    Py_INCREF(memory)
    return pa.Array._import_from_c(<uintptr_t>array, kind)


cdef void release_all(ArrowArray *array) noexcept nogil:
    array.release = NULL
    # Whoever outlives the interpreter has nothing to give back to.
    if Py_IsInitialized():
        release_memory(<PyObject *>array.private_data)


cdef void release_memory(PyObject *memory) noexcept with gil:
    keep(<Memory>memory)
    Py_DECREF(<Memory>memory)


cdef Memory take(int64_t room):
    """Return what is kept of about that size, or None."""
    cdef Memory memory
    cdef int64_t at
    cdef int64_t best = -1
    cdef int64_t apart = room >> 3
    if room < LEAST:
        return None
    with cython.critical_section(spare):
        for at in range(len(spare)):
            memory = <Memory>spare[at]
            # What was trimmed grows again where it is.
            if -apart <= memory.asked - room <= apart:
                best = at
                apart = abs(memory.asked - room)
        return spare.pop(best) if best >= 0 else None


cdef int keep(Memory memory) except -1:
    """Keep memory that is no longer used, if it is worth that."""
    return keep_in(spare, memory, MOST, MOST // LEAST) if memory.room >= LEAST else 0


cdef int keep_in(list others, Kept piece, int64_t most, int64_t pieces) except -1:
    """Add a piece to those that are kept, and free the oldest where they take more bytes, or are more, than allowed."""
    cdef int64_t kept = 0
    cdef int64_t at
    if piece.room > most:
        return 0
    with cython.critical_section(others):
        others.append(piece)
        for at in range(len(others) - 1, -1, -1):
            kept += (<Kept>others[at]).room
            if kept > most or len(others) - at > pieces:
                del others[: at + 1]
                break
    return 0


def release_unused():
    """Give the memory that is kept back to pyarrow's pool."""
    with cython.critical_section(spare):
        spare.clear()

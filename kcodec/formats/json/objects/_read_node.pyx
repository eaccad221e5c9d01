"""What reads a value of JSON as a Python object."""

__all__ = ["Unknown"]


class Unknown(Exception):
    """A plan has something that only columns have."""


cdef class Node:
    cdef object read(self, Cursor *c):
        raise NotImplementedError

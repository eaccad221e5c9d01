"""Calls for one value, without Python's own work: to find what reads it took longer than to read a small value."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.dict cimport PyDict_GetItemWithError
from cpython.object cimport PyObject

import functools

from kcodec._impl import VARIABLE, environment
from kcodec.errors import DecodeError
from kcodec.objects.form import ObjectForm

__all__ = ["quick_decode_one", "quick_deserialize_one"]

cdef dict _environment = environment
cdef object _variable = VARIABLE
# The usual form.
cdef str _maps = ObjectForm().maps
cdef str _unions = ObjectForm().unions


cdef bint _is_chosen(object implementation) except -1:
    """Return whether the environment chooses what it chose when something was made."""
    cdef PyObject *chosen = PyDict_GetItemWithError(_environment, _variable)
    return implementation is None if chosen == NULL else implementation is <object>chosen


def quick_decode_one(original):
    """See `kcodec.objects.kernel`."""

    def decode_one(self, value, *, maps=None, unions=_unions, into=None):
        cdef tuple usual
        if (maps is None or maps is _maps) and unions is _unions and into is None:
            usual = self._usual
            if usual is not None and _is_chosen(usual[0]):
                try:
                    return usual[1](value)
                except DecodeError:
                    # Read once more by what tells all that is wrong.
                    pass
        return original(self, value, maps=maps, unions=unions, into=into)

    return functools.update_wrapper(decode_one, original)


def quick_deserialize_one(original):
    """See `kcodec.objects.kernel`."""

    def deserialize_one(self, value, headers=None, *, maps=None, unions=_unions, into=None):
        cdef tuple usual
        cdef Py_ssize_t size
        cdef PyObject *found
        if (
            headers is None and type(value) is bytes and into is None and unions is _unions
            and (maps is None or maps is _maps)
        ):
            usual = self._one_reader.usual
            if usual is not None and _is_chosen(usual[0]):
                size = usual[1]
                if PyBytes_GET_SIZE(value) >= size:
                    prefix = PyBytes_FromStringAndSize(PyBytes_AS_STRING(value), size)
                    found = PyDict_GetItemWithError(usual[2], prefix)
                    if found != NULL:
                        known = <tuple>found
                        try:
                            made = known[0].decode_one(value, size)
                        except DecodeError:
                            return original(self, value)
                        usual[3](known[1])
                        return made
        return original(self, value, headers, maps=maps, unions=unions, into=into)

    return functools.update_wrapper(deserialize_one, original)

"""A codec's call for one value, without Python's own work: to find what reads it took longer than a small value."""

from cpython.dict cimport PyDict_GetItemWithError
from cpython.object cimport PyObject

cdef extern from "Python.h":
    PyObject *PyTuple_GET_ITEM(object values, Py_ssize_t at)
    object PyObject_CallOneArg(object function, object argument)

import functools

from kcodec._impl import VARIABLE, environment
from kcodec.errors import DecodeError

__all__ = ["quickly"]

cdef dict _environment = environment
cdef object _variable = VARIABLE
cdef str _maps = "pairs"
cdef str _unions = "members"


def quickly(decode_one):
    """See `kcodec.objects.kernel`."""

    def quick(self, value, *, maps=_maps, unions=_unions, into=None):
        cdef PyObject *chosen
        if maps is _maps and unions is _unions and into is None:
            usual = self._usual
            chosen = PyDict_GetItemWithError(_environment, _variable)
            if chosen == NULL:
                chosen = <PyObject *>None
            if usual is not None and chosen == PyTuple_GET_ITEM(usual, 0):
                try:
                    return PyObject_CallOneArg(<object>PyTuple_GET_ITEM(usual, 1), value)
                except DecodeError:
                    # Read once more by what tells all that is wrong.
                    pass
        return decode_one(self, value, maps=maps, unions=unions, into=into)

    return functools.update_wrapper(quick, decode_one)

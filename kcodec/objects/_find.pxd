"""Values of a dict, which other threads may change meanwhile."""

from cpython.object cimport PyObject


cdef extern from *:
    """
    static inline int kc_find(PyObject *mapping, PyObject *key, PyObject **value) {
    #if PY_VERSION_HEX >= 0x030D0000
        return PyDict_GetItemRef(mapping, key, value);
    #else
        *value = PyDict_GetItemWithError(mapping, key);
        Py_XINCREF(*value);
        return *value != NULL ? 1 : PyErr_Occurred() != NULL ? -1 : 0;
    #endif
    }
    """
    # Give a new reference to the value of a key, or NULL: a borrowed one would not outlive what drops the value.
    int find "kc_find"(dict mapping, object key, PyObject **value) except -1

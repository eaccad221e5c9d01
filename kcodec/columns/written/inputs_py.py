"""The columns of an array to be encoded in plain Python."""

from typing import Any

import pyarrow as pa

from kcodec.columns.arrays._integrity_py import check_offsets
from kcodec.columns.types.plain import is_list


class Inputs:
    """The columns of an array that is encoded, numbered as in `kcodec.columns.types.layout`, each as `leaf` returns it.

    The offsets say where the items of each list or map start; those of other columns are None.
    """

    def __init__(self, array: pa.Array) -> None:
        check_offsets(array)
        self.arrays: list[pa.Array] = []
        self.offsets: list[Any] = []
        self._add(array)

    def leaf(self, array: pa.Array) -> pa.Array:
        """Return the column to read for one that has no columns below it."""
        return array

    def _add(self, array: pa.Array) -> None:
        kind, number = array.type, len(self.arrays)
        self.arrays.append(array)
        self.offsets.append(None)
        if pa.types.is_struct(kind):
            for i in range(kind.num_fields):
                self._add(array.field(i))
        elif pa.types.is_map(kind):
            self.offsets[number] = array.offsets.to_pylist()
            # Not `keys` and `items`: these forget where the entries start.
            self._add(array.values.field(0))
            self._add(array.values.field(1))
        elif is_list(kind):
            self.offsets[number] = array.offsets.to_pylist()
            self._add(array.values)
        else:
            self.arrays[number] = self.leaf(array)

"""Arrow arrays in and out of pandas UDFs, because Spark 3.5 and 4.0 have no functions of Arrow arrays.

What a pandas UDF returns is converted value by value, and loses types on the way: digits of decimals in lists, null
structs, dates before 1677. Two habits of Spark's serializer let an Arrow array through as it is:

- a Series over an extension array that has ``__arrow_array__`` becomes what that returns;
- before that, nested values are converted by ``Series.apply``, for which an extension array is asked to ``map`` itself.

A struct has to be a DataFrame, which knows no null row. So it comes in a struct of one field, which the query takes.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pandas.api.extensions import ExtensionArray, ExtensionDtype

from kcodec.columns.arrays.nested import cast_leaves

#: The field of a struct in which another one comes.
BOX = "value"

#: From here on a float may stand for several whole numbers, and up to here.
_EXACT, _LARGEST = 1 << 53, 1 << 63


class _ArrowDtype(ExtensionDtype):  # type: ignore[misc]
    """The dtype of `_ArrowArray`: objects, as far as Spark is concerned."""

    name = "kcodec"
    type = object
    kind = "O"
    na_value = None

    @classmethod
    def construct_array_type(cls) -> Any:
        return _ArrowArray


class _ArrowArray(ExtensionArray):  # type: ignore[misc]
    """An Arrow array that pandas only carries, without looking into it."""

    def __init__(self, array: pa.Array) -> None:
        self._array = array

    @property
    def dtype(self) -> _ArrowDtype:
        return _ArrowDtype()

    @property
    def nbytes(self) -> int:
        return int(self._array.nbytes)

    def __len__(self) -> int:
        return len(self._array)

    def __getitem__(self, item: Any) -> Any:
        # pandas looks at the first value of what `map` returns, to see whether it is a Series.
        return None if isinstance(item, (int, np.integer)) else self

    def __arrow_array__(self, type: pa.DataType | None = None) -> pa.Array:
        # Spark has names of its own for the items of lists and the entries of maps.
        return self._array if type is None else cast_leaves(self._array, type)

    def isna(self) -> Any:
        return np.zeros(len(self._array), bool)

    def copy(self) -> "_ArrowArray":
        return self

    def map(self, mapper: Any, na_action: Any = None) -> "_ArrowArray":
        """Return the array, whose values need none of Spark's conversions."""
        return self


def call(function: Callable[..., pa.Array], form: str, *columns: "pd.Series[Any]") -> Any:
    """Call a function of Arrow arrays with what Spark gives to a pandas UDF, and return what Spark takes from it.

    In the form ``"plain"`` the result is a column; in ``"boxed"`` a struct, which comes in the field `BOX` of another;
    in ``"frame"`` a struct as Spark's SQL takes it, a DataFrame of its fields, in which null rows are rows of nulls.
    The columns are of bytes, texts or numbers, or of lists of structs of them, as objects where there are nulls. If
    Spark has made something else of one on its way than what it was, it is a `TypeError`.
    """
    array = function(*map(_arrow, columns))
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    if form == "boxed":
        return pd.DataFrame({BOX: _ArrowArray(array)})
    if form == "frame":
        names = [field.name for field in array.type]
        return pd.DataFrame(
            {name: _ArrowArray(part) for name, part in zip(names, array.flatten(), strict=True)}
        )
    return pd.Series(_ArrowArray(array))


def _arrow(column: "pd.Series[Any]") -> pa.Array:
    if isinstance(column, pd.DataFrame):
        raise TypeError(
            "structs reach a function as pandas DataFrames on this version of Spark, which lose types"
        )
    array = pa.array(column, from_pandas=True)
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    if pa.types.is_float64(array.type) and array.null_count:
        return _whole(array)
    return array.cast(pa.binary()) if pa.types.is_null(array.type) else array


def _whole(array: pa.Array) -> pa.Array:
    """Return the whole numbers that are floats here because there are nulls among them; or what were floats before."""
    if not pc.all(pc.equal(pc.floor(array), array)).as_py():
        return array
    largest = pc.max(pc.abs(array)).as_py() or 0
    if largest > _LARGEST:
        return array
    if largest >= _EXACT:
        raise TypeError(
            f"whole numbers of {_EXACT} or more lose digits beside nulls on this version of Spark: cast them to "
            "decimal(20,0) first"
        )
    return array.cast(pa.int64())

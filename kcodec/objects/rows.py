"""Arrow columns to lists of Python objects, and such lists to columns."""

from typing import Any

import pyarrow as pa

from kcodec._impl import kernel
from kcodec.columns.arrays.given import arrays, column_of, sound
from kcodec.errors import check_kind
from kcodec.objects.collector import uncollected

#: With fewer rows, telling what makes each column takes longer than the values do.
_FEW = 4
#: What the name of a type has where times are in UTC, to which pyarrow gives a zone of another class.
_UTC = "tz=UTC"
#: The last type that was asked for it, and the answer: to find it takes longer than the values of one row.
_asked: tuple[pa.DataType, bool] = (pa.null(), False)


def rows(array: Any) -> list[Any]:
    """Return the values of a column as Python objects: what ``to_pylist()`` returns, several times as fast.

    Parameters
    ----------
    array : pyarrow.Array, ChunkedArray, RecordBatch, Table, or an Arrow producer
        A column of any type; those of a batch or table become dicts.

    Returns
    -------
    list
        Equal to what pyarrow's ``to_pylist()`` returns; times in UTC may have the zone `datetime.timezone.utc`.

    Raises
    ------
    ArrayError
        If the column points outside of its buffers.
    OverflowError
        For a date or time outside the years 1 to 9999.
    ValueError
        For a struct two of whose fields have the same name, and for nanoseconds that Python's times do not hold.
    TypeError
        If it is no column.

    Examples
    --------
    >>> rows(pa.array([{"id": 7, "tags": ["a", None]}, None]))
    [{'id': 7, 'tags': ['a', None]}, None]
    """
    if isinstance(array, (list, tuple)):
        raise TypeError(f"{type(array).__name__} is not an Arrow column")
    if isinstance(array, pa.ChunkedArray):
        chunks = array.chunks
    elif isinstance(array, pa.Array):
        chunks = [array]
    else:
        chunks = arrays(array)[0]
    made: list[Any] = []
    for chunk in map(sound, chunks):
        is_quick = len(chunk) < _FEW and not _has_utc(chunk.type)
        found = chunk.to_pylist() if is_quick else uncollected(kernel("objects._rows").rows, chunk)
        made = found if len(chunks) == 1 else made + found
    return made


def _has_utc(kind: pa.DataType) -> bool:
    global _asked
    known, has_utc = _asked
    if not kind.equals(known):
        has_utc = _UTC in str(kind)
        # At once, as other threads may ask.
        _asked = kind, has_utc
    return has_utc


def column(values: Any, kind: pa.DataType) -> pa.Array | pa.ChunkedArray:
    """Return a list of Python objects as a column of a type, without losing anything of them.

    Parameters
    ----------
    values : list or tuple
        Dicts for structs, in which missing keys are nulls; dicts or lists of pairs for maps.
    kind : pyarrow.DataType
        The type of the column, such as ``codec.arrow_type``.

    Returns
    -------
    pyarrow.Array or pyarrow.ChunkedArray
        In chunks if they take more than 2 GiB.

    Raises
    ------
    TypeError
        If a value is not of the type or loses a part in it, or if a key is no field, with the row or the field.

    Examples
    --------
    >>> column([{"id": 7}, None], pa.struct([("id", pa.int64()), ("name", pa.string())])).to_pylist()
    [{'id': 7, 'name': None}, None]
    >>> column([{"idd": 7}], pa.struct([("id", pa.int64())]))
    Traceback (most recent call last):
    TypeError: the rows: there is no field 'idd': did you mean 'id'?
    """
    check_kind(pa.DataType, "an Arrow type", kind=kind)
    if not isinstance(values, (list, tuple)):
        raise TypeError(f"{type(values).__name__} is no list of values")
    return column_of(values, kind)

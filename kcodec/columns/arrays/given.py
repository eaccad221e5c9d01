"""What users hand in as a column, as Arrow arrays."""

import math
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import datetime, time, timedelta
from decimal import Decimal
from numbers import Real
from typing import Any
from uuid import UUID

import pyarrow as pa

from kcodec._impl import kernel
from kcodec._lazy import compute as pc
from kcodec.arguments import Payloads
from kcodec.columns.arrays.values import typed
from kcodec.columns.types.plain import is_list, list_of
from kcodec.errors import ArrayError, near, one_line

BYTES = pa.binary()
#: What pyarrow calls the index of a frame of pandas, where it has no name.
_INDEX = re.compile(r"__index_level_\d+__")
#: What pyarrow and pandas raise for a frame that they cannot hand over.
REFUSED = (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError, ValueError)
#: Types of payloads, but for binary of a fixed size; most columns are of the first.
_PAYLOADS = (
    BYTES,
    pa.string(),
    pa.large_binary(),
    pa.large_string(),
    pa.binary_view(),
    pa.string_view(),
)
#: The arrays of some of these.
_PLAIN = frozenset({pa.BinaryArray, pa.StringArray, pa.LargeBinaryArray, pa.LargeStringArray})


def valid(array: pa.Array) -> pa.Array:
    """Return an array whose buffers are as long as its type says: what is between its first and last value is not seen.

    That is enough for what kernels encode, who look at the rest themselves. Of one without rows no buffer counts.
    """
    try:
        array.validate()
    except pa.ArrowInvalid as error:
        if len(array):
            raise ArrayError(str(error)) from None
        # Over Arrow's C interface, pyarrow takes a slice without rows for one of no memory, whatever its offset.
        return pa.nulls(0, array.type)
    return array


def sound(array: pa.Array) -> pa.Array:
    """Return an array whose values are where its type says; others come by IPC, or of buffers."""
    array = valid(array)
    kernel("columns.arrays._integrity").check_offsets(array)
    return array


def sound_column(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column whose chunks are `sound`."""
    return pa.chunked_array(map(sound, column.chunks), column.type)


def arrays(
    values: Any,
    kind: pa.DataType | None = BYTES,
    *,
    check: Callable[[pa.Array], pa.Array] = sound,
    fold: bool = False,
) -> tuple[list[pa.Array], bool]:
    """Return a column of any type as checked Arrow arrays that share its memory, and whether it came in chunks.

    A batch or table counts as a struct of its columns, a list or tuple as values of `kind` (by default bytes, or None).
    A list of more than 2 GiB comes in chunks. With `fold`, keys of a list's values may be the upper case of which is a
    name; they stay as they are.
    Others are producers, any object with ``__arrow_c_array__`` or ``__arrow_c_stream__``, such as those of polars and
    duckdb, and arrays and series of NumPy and pandas; of frames of pandas, an index without a name is no column.
    Extension types become their storage, but UUIDs.
    """
    if isinstance(values, pa.Array):
        return [_stored(check(values))], False
    if isinstance(values, (list, tuple)):
        found = _listed(values, kind, fold)
        return (found.chunks, True) if isinstance(found, pa.ChunkedArray) else ([found], False)
    if not isinstance(values, (pa.ChunkedArray, pa.RecordBatch, pa.Table)):
        if hasattr(values, "__arrow_c_array__"):
            values = pa.array(values)
        elif hasattr(values, "__arrow_c_stream__"):
            values = _streamed(values)
        elif hasattr(values, "__array__"):
            values = _of_numpy(values)
        else:
            wanted = "bytes" if kind == BYTES else "values"
            if isinstance(values, dict) and kind != BYTES:
                wanted += "; pyarrow.table(...) makes columns of it"
            if hasattr(values, "collect_schema"):
                wanted += "; collect() gives the columns of a lazy frame"
            raise TypeError(f"{type(values).__name__} is not an Arrow column, nor a list of {wanted}")
    if isinstance(values, pa.RecordBatch):
        return [check(values.to_struct_array())], False
    if isinstance(values, pa.Table):
        return [check(batch.to_struct_array()) for batch in values.to_batches()], True
    if isinstance(values, pa.ChunkedArray):
        return [_stored(check(chunk)) for chunk in values.chunks], True
    return [_stored(check(values))], False


def _streamed(values: Any) -> pa.ChunkedArray:
    check_objects(values)
    if type(values).__module__.partition(".")[0] != "pandas":
        return pa.chunked_array(values)
    try:
        column = pa.chunked_array(values)
    except REFUSED as error:
        raise TypeError(f"{type(values).__name__} is not an Arrow column: {told(error, values)}") from None
    kind = column.type
    if not pa.types.is_struct(kind):
        return column
    kept = columns_kept(kind)
    if not kept or len(kept) == kind.num_fields:
        return column
    fields = [kind.field(place) for place in kept]
    chunks = [
        pa.StructArray.from_arrays([chunk.field(place) for place in kept], fields=fields)
        for chunk in column.chunks
    ]
    return pa.chunked_array(chunks, pa.struct(fields))


def columns_kept(fields: Iterable[pa.Field]) -> list[int]:
    """Return the places of the columns of a frame of pandas, without those of an index that has no name."""
    return [place for place, field in enumerate(fields) if _INDEX.fullmatch(field.name) is None]


def told(error: BaseException, frame: Any = None) -> str:
    """Return what an error says, of objects in a frame of pandas with what to do; pyarrow ends with the column."""
    hint = ""
    is_pandas = type(frame).__module__.partition(".")[0] == "pandas"
    if is_pandas and str(error.args[-1]).endswith("with type object"):
        hint = "; to_pandas(types_mapper=pandas.ArrowDtype) keeps the types of columns, such as maps"
    return ": ".join(map(str, reversed(error.args))) + hint


def check_objects(values: Any) -> None:
    """Raise TypeError for columns of polars and pandas that are others for Arrow.

    polars hands over the addresses of Python objects, as bytes, and integers of 128 bits under a name of its own;
    pandas periods as numbers, and masked arrays as if no value were masked.
    """
    kind = type(values)
    if kind.__module__.partition(".")[0] == "pandas":
        for name, column in values.items() if kind.__name__ == "DataFrame" else [(None, values)]:
            _check_pandas(column, f"pandas' {kind.__name__}" if name is None else f"pandas' column {name!r}")
        return
    if kind.__module__.partition(".")[0] != "polars" or kind.__name__ not in ("DataFrame", "Series"):
        return
    for column in [values] if kind.__name__ == "Series" else values.get_columns():
        if str(column.dtype) == "Object":
            raise TypeError(
                f"polars' column {column.name!r} is of Python objects: cast them, such as to text"
            )
        if str(column.dtype) in ("Int128", "UInt128"):
            raise TypeError(
                f"polars' column {column.name!r} is of {column.dtype}, which Arrow does not have: cast it, "
                "such as to Decimal(38, 0)"
            )


def _check_pandas(column: Any, name: str) -> None:
    kind = str(column.dtype)
    if kind.startswith("period["):
        raise TypeError(f"{name} is of {kind}, which Arrow has as numbers: to_timestamp() makes times of it")
    if kind != "object":
        return
    # Most have values of one class: those of the first that is not missing.
    known = (each for each in column if each is not None and not isinstance(each, float))
    if not hasattr(next(known, None), "dtype"):
        return
    if any(type(each).__name__ == "MaskedArray" and each.count() < each.size for each in column):
        raise TypeError(
            f"{name} has masked arrays of NumPy, of which Arrow has what is masked, too: of each tolist() has nulls; "
            "DuckDB's relations are taken as they are, without df()"
        )


def _stored(array: pa.Array) -> pa.Array:
    """Return the storage of an extension type, but of UUIDs: types that are made in Python cannot be kept."""
    kind = array.type
    if isinstance(kind, pa.BaseExtensionType) and kind.extension_name != "arrow.uuid":
        return array.storage
    return array


def _listed(values: Any, kind: pa.DataType | None, fold: bool) -> pa.Array | pa.ChunkedArray:
    """Make an array of Python values: of the columns of a type that they have, or of what they are.

    More than an array holds comes in chunks.
    """
    try:
        found = kernel("columns.rows._binary").binary_array(values, others=kind == BYTES)
        if found is not None:
            return found
        if kind == BYTES:
            return pa.array(values, BYTES)
    except (pa.ArrowTypeError, UnicodeEncodeError) as error:
        raise TypeError(
            f"a list holds bytes and None ({error}); pass other values as an Arrow column, "
            "such as pyarrow.array makes"
        ) from None
    if all(isinstance(value, (bytes, type(None))) for value in values):
        return pa.array(values, BYTES)
    return typed(values, None if kind is None else _used(values, kind, fold))


def folded_column(values: Sequence[Any], kind: pa.DataType) -> pa.Array | pa.ChunkedArray:
    """Make a column of Python values by a type, of which they may lack fields; names of fields may be in lower case.

    >>> folded_column([{"a": 1}], pa.struct([("A", pa.int8()), ("B", pa.int8())])).type
    StructType(struct<a: int8>)
    """
    return typed(values, _used(values, kind, True))


def column_of(values: Sequence[Any], kind: pa.DataType) -> pa.Array | pa.ChunkedArray:
    """Make a column of a type of Python values; TypeError where one does not fit it whole."""
    lost = _coarser(_used(values, kind, False), kind)
    if lost:
        raise TypeError(f"{lost[0] or 'the rows'}: a value is finer than {lost[1]}")
    return typed(values, kind)


def _coarser(used: pa.DataType, kind: pa.DataType, path: str = "") -> tuple[str, pa.DataType] | None:
    """Return the first place where values need the finer type `used`, and the type that is too coarse."""
    if pa.types.is_temporal(kind):
        # Numbers are units of the type that is given.
        return None if used == kind or pa.types.is_integer(used) else (path, kind)
    if pa.types.is_struct(kind):
        parts = [(field.type, kind.field(field.name).type, f"{path}.{field.name}") for field in used]
    elif pa.types.is_map(kind):
        parts = [(used.item_type, kind.item_type, f"{path}[].value")]
    elif is_list(kind):
        parts = [(used.value_type, kind.value_type, f"{path}[]")]
    else:
        return None
    found = (_coarser(below, wanted, at.lstrip(".")) for below, wanted, at in parts)
    return next((each for each in found if each), None)


def _used(values: Any, kind: pa.DataType, fold: bool, path: str = "") -> pa.DataType:
    """Return a type with the fields that some of the values have, so that others count as missing.

    It holds the values whole: of what is finer than a type, pyarrow would drop the rest. Numbers for times stay
    numbers, since what is written may count other units than its columns.
    """
    if not pa.types.is_nested(kind):
        # Most are, and a list may be of one row.
        return _used_plain(values, kind, path)
    if pa.types.is_struct(kind):
        rows = [value for value in values if isinstance(value, dict)]
        if path and len(rows) != len(values):
            _check_dicts(values, kind, path)
        if not rows:
            return kind
        used = dict.fromkeys(name for row in rows for name in row)
        known = {field.name: field for field in kind}
        if fold:
            known = {
                **{name: known[name.upper()] for name in map(str, used) if name.upper() in known},
                **known,
            }
        unknown = [str(name) for name in used if name not in known]
        if unknown:
            hint = near(unknown[0], known)
            raise TypeError(f"{path or 'the rows'}: there is no field {unknown[0]!r}{hint}")
        return pa.struct(
            [
                pa.field(
                    name,
                    _used([row.get(name) for row in rows], field.type, fold, f"{path}.{name}".lstrip(".")),
                    field.nullable,
                    field.metadata,
                )
                for name, field in known.items()
                if name in used
            ]
        )
    if is_list(kind):
        _check_lists(values, kind, path)
        items = [item for value in values if _is_items(value) for item in value]
        field = kind.value_field
        field = field.with_type(_used(items, field.type, fold, f"{path}[]"))
        return list_of(field, kind)
    if pa.types.is_map(kind):
        _check_entries(values, kind, path)
        entries = [value.items() if isinstance(value, dict) else value for value in values]
        pairs = [pair for each in entries if isinstance(each, Collection) for pair in each]
        items = [pair[1] for pair in pairs if isinstance(pair, (list, tuple)) and len(pair) == 2]
        field = kind.item_field
        field = field.with_type(_used(items, field.type, fold, f"{path}[].value"))
        return pa.map_(kind.key_field, field, kind.keys_sorted)
    return kind


def _used_plain(values: Sequence[Any], kind: pa.DataType, path: str) -> pa.DataType:
    """Return the type that values of a type without fields are, as `_used` does."""
    is_time = pa.types.is_temporal(kind)
    if is_time or pa.types.is_integer(kind):
        _check_whole(values, kind, path)
    if not is_time:
        return kind
    # Days are days wherever they are written.
    if not pa.types.is_date(kind) and (number := _number(values)) is not None:
        _check_numbers(values, number, path)
        return pa.int64()
    return _finer(values, kind, path)


def _number(values: Sequence[Any]) -> Any:
    """Return the first of the values that is a number, which pyarrow would take as so many units of the column."""
    if {*map(type, values)} <= {datetime, time, timedelta, type(None)}:
        return None
    numbers = (value for value in values if isinstance(value, (Real, Decimal)))
    return next((value for value in numbers if not isinstance(value, bool)), None)


def _check_numbers(values: Sequence[Any], number: Any, path: str) -> None:
    """Raise TypeError if not all values are numbers: as a column of numbers is read, times would be other ones."""
    for value in values:
        if isinstance(value, (datetime, time, timedelta)):
            raise TypeError(f"{path or 'the rows'}: {number} is a number, but {value} is a time")


def _is_items(value: Any) -> bool:
    return isinstance(value, Collection) and not isinstance(value, (str, bytes, dict))


def _check_lists(values: Sequence[Any], kind: pa.DataType, path: str) -> None:
    """Raise TypeError if a text stands where a list does: pyarrow would take its letters."""
    for value in values:
        if isinstance(value, (str, bytes, bytearray)):
            raise TypeError(f"{path or 'the rows'}: {one_line(repr(value), 40)} is no {one_line(kind, 100)}")


def _check_entries(values: Sequence[Any], kind: pa.DataType, path: str) -> None:
    """Raise TypeError if a map is a text, or one of its pairs is null: pyarrow would make entries of them."""
    for value in values:
        if isinstance(value, (str, bytes, bytearray)) or (
            isinstance(value, (list, tuple)) and any(pair is None for pair in value)
        ):
            raise TypeError(f"{path or 'the rows'}: {one_line(repr(value), 40)} is no {one_line(kind, 100)}")


def _check_dicts(values: Sequence[Any], kind: pa.DataType, path: str) -> None:
    """Raise TypeError if a plain value stands where a struct does, such as for one of the members of a union."""
    for value in values:
        if isinstance(value, (str, bytes, bool, int, float)):
            shown = one_line(repr(value), 40)
            raise TypeError(f"{path}: {shown} is no {one_line(kind, 100)}, but a dict is wanted")


def _check_whole(values: Sequence[Any], kind: pa.DataType, path: str) -> None:
    """Raise TypeError if one of the values is a number with a fraction, or a UUID, which pyarrow takes for a number."""
    if not {*map(type, values)} <= {int, type(None)}:
        for value in values:
            if isinstance(value, UUID):
                raise TypeError(f"{path or 'the rows'}: {value!r} is no {kind}")
            if isinstance(value, (Real, Decimal)) and math.isfinite(value) and value != round(value):
                raise TypeError(f"{path or 'the rows'}: {value} is no {kind}")


def _finer(values: Sequence[Any], kind: pa.DataType, path: str) -> pa.DataType:
    """Return a type in which the times among the values are whole."""
    if pa.types.is_date(kind):
        times = [value for value in values if isinstance(value, datetime)]
        cut = next((value for value in times if value.time() != time.min), None)
        if cut is None:
            return kind
        if any(value is not None and not isinstance(value, datetime) for value in values):
            raise TypeError(f"{path or 'the rows'}: {cut} is no {kind}")
        return pa.timestamp("us", "UTC" if any(value.tzinfo for value in times) else None)
    step = {"s": 1_000_000, "ms": 1_000}.get(kind.unit, 1)
    if pa.types.is_duration(kind):
        is_whole = all(value.microseconds % step == 0 for value in values if isinstance(value, timedelta))
        return kind if is_whole else pa.duration("us")
    if pa.types.is_timestamp(kind) and kind.tz is None:
        _check_local(values, kind, path)
    if all(value.microsecond % step == 0 for value in values if isinstance(value, (datetime, time))):
        return kind
    return pa.timestamp("us", kind.tz) if pa.types.is_timestamp(kind) else pa.time64("us")


def _check_local(values: Sequence[Any], kind: pa.DataType, path: str) -> None:
    """Raise TypeError if a time has another zone than UTC: what its clocks show is not what pyarrow would take."""
    for value in values:
        if isinstance(value, datetime) and value.tzinfo is not None and value.utcoffset():
            raise TypeError(f"{path or 'the rows'}: {value} has a time zone, and {kind} has none")


def _of_numpy(values: Any) -> Any:
    """Make an array of an array of NumPy or a series of pandas, whose missing values are nulls."""
    if getattr(getattr(values, "dtype", None), "kind", "") == "S":
        raise TypeError(
            "NumPy's arrays of type S have lost zero bytes at the ends: make them with dtype=object"
        )
    check_objects(values)
    try:
        return pa.array(values, from_pandas=True)
    except (pa.ArrowException, ValueError) as error:
        raise TypeError(f"{type(values).__name__} is not an Arrow column: {told(error, values)}") from None


def payloads(values: Payloads) -> tuple[list[pa.Array], bool]:
    """Return a column of payloads: as `arrays`, but with chunks that are binary or string, in any layout.

    Dictionaries and run ends are unpacked, extension types are replaced by their storage, and a column
    without a type is all null.
    """
    if type(values) in _PLAIN:
        # Most are, and a call of few rows takes as long as what is asked of them.
        return [sound(values)], False
    chunks, chunked = arrays(values)
    return [_payload(chunk) for chunk in chunks], chunked


def _payload(array: pa.Array) -> pa.Array:
    kind = array.type
    if kind in _PAYLOADS:
        return array
    if isinstance(kind, pa.BaseExtensionType):
        return _payload(array.storage)
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        values = array.dictionary if pa.types.is_dictionary(kind) else array.values
        if not len(array):
            # Nobody has looked at values of which none shows.
            return _payload(values.slice(0, 0))
        values = without_view(_payload(values))
        if pa.types.is_dictionary(kind):
            return values.take(array.indices)
        runs = pa.RunEndEncodedArray.from_arrays(array.run_ends, values)
        return pc.run_end_decode(runs.slice(array.offset, len(array)))
    if pa.types.is_null(kind):
        return pa.nulls(len(array), pa.binary())
    if pa.types.is_fixed_size_binary(kind):
        return array
    hint = ", such as one of the table's columns" if pa.types.is_struct(kind) else ""
    raise TypeError(f"a column of {kind} does not hold payloads: binary or string is needed{hint}")


def without_view(array: pa.Array) -> pa.Array:
    """Return an array of text or bytes that is no view, which Arrow does not take values from."""
    return array.cast(pa.large_binary()) if array.type in (pa.string_view(), pa.binary_view()) else array

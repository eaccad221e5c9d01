"""What users hand in as a column, as Arrow arrays."""

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from kcodec._impl import kernel
from kcodec._lazy import compute as pc
from kcodec.columns.types import is_list, list_of
from kcodec.errors import ArrayError, near

__all__ = ["BYTES", "arrays", "payloads", "sound", "valid", "without_view"]

BYTES = pa.binary()


def valid(array: pa.Array) -> pa.Array:
    """Return an array whose buffers are as long as its type says: what is between its first and last value is not seen.

    That is enough for what kernels encode, who look at the rest themselves.
    """
    try:
        array.validate()
    except pa.ArrowInvalid as error:
        raise ArrayError(str(error)) from None
    return array


def sound(array: pa.Array) -> pa.Array:
    """Return an array whose values are where its type says; others come by IPC, or of buffers."""
    valid(array)
    if not pa.types.is_primitive(array.type):
        kernel("columns._integrity").check_offsets(array)
    return array


def arrays(
    values: Any,
    kind: pa.DataType | None = BYTES,
    *,
    check: Callable[[pa.Array], pa.Array] = sound,
    fold: bool = False,
) -> tuple[list[pa.Array], bool]:
    """Return a column of any type as checked Arrow arrays that share its memory, and whether it came in chunks.

    A batch or table counts as a struct of its columns, a list or tuple as values of `kind` (by default bytes, or None).
    With `fold`, keys of a list's values may be the upper case of which is a name; they stay as they are.
    Others are producers, any object with ``__arrow_c_array__`` or ``__arrow_c_stream__``, such as those of polars and
    duckdb, and arrays and series of NumPy and pandas. Extension types become their storage.
    """
    if isinstance(values, (list, tuple)):
        return [_listed(values, kind, fold)], False
    if not isinstance(values, (pa.Array, pa.ChunkedArray, pa.RecordBatch, pa.Table)):
        if hasattr(values, "__arrow_c_array__"):
            values = pa.array(values)
        elif hasattr(values, "__arrow_c_stream__"):
            values = pa.chunked_array(values)
        elif hasattr(values, "__array__"):
            values = _of_numpy(values)
        else:
            wanted = "bytes" if kind == BYTES else "values"
            if isinstance(values, dict) and kind != BYTES:
                wanted += "; pyarrow.table(...) makes columns of it"
            raise TypeError(f"{type(values).__name__} is not an Arrow column, nor a list of {wanted}")
    if isinstance(values, pa.RecordBatch):
        return [check(values.to_struct_array())], False
    if isinstance(values, pa.Table):
        return [check(batch.to_struct_array()) for batch in values.to_batches()], True
    if isinstance(values, pa.ChunkedArray):
        return [_stored(check(chunk)) for chunk in values.chunks], True
    return [_stored(check(values))], False


def _stored(array: pa.Array) -> pa.Array:
    """Return the storage of an extension type: those that are made in Python cannot be kept by their type."""
    return array.storage if isinstance(array.type, pa.BaseExtensionType) else array


def _listed(values: Any, kind: pa.DataType | None, fold: bool) -> pa.Array:
    """Make an array of Python values: of the columns of a type that they have, or of what they are."""
    try:
        found = kernel("columns._binary").binary_array(values, others=kind == BYTES)
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
    try:
        return pa.array(values, None if kind is None else _used(values, kind, fold))
    except (pa.ArrowException, UnicodeEncodeError, OverflowError, ValueError) as error:
        raise TypeError(f"the values of the list do not fit one type: {error}") from None


def _used(values: Any, kind: pa.DataType, fold: bool, path: str = "") -> pa.DataType:
    """Return a type with the fields that some of the values have, so that others count as missing."""
    if pa.types.is_struct(kind):
        rows = [value for value in values if isinstance(value, dict)]
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
        items = [item for value in values if isinstance(value, (list, tuple)) for item in value]
        field = kind.value_field
        field = field.with_type(_used(items, field.type, fold, f"{path}[]"))
        return list_of(field, kind)
    return kind


def _of_numpy(values: Any) -> Any:
    """Make an array of an array of NumPy or a series of pandas, whose missing values are nulls."""
    if getattr(getattr(values, "dtype", None), "kind", "") == "S":
        raise TypeError(
            "NumPy's arrays of type S have lost zero bytes at the ends: make them with dtype=object"
        )
    try:
        return pa.array(values, from_pandas=True)
    except (pa.ArrowException, ValueError) as error:
        raise TypeError(f"the values are no Arrow column: {error}") from None


def payloads(values: Any) -> tuple[list[pa.Array], bool]:
    """Return a column of payloads: as `arrays`, but with chunks that are binary or string, in any layout.

    Dictionaries and run ends are unpacked, extension types are replaced by their storage, and a column
    without a type is all null.
    """
    chunks, chunked = arrays(values)
    return [_payload(chunk) for chunk in chunks], chunked


def _payload(array: pa.Array) -> pa.Array:
    kind = array.type
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
    allowed = (
        pa.string(),
        pa.large_string(),
        pa.string_view(),
        pa.binary(),
        pa.large_binary(),
        pa.binary_view(),
    )
    if kind in allowed or pa.types.is_fixed_size_binary(kind):
        return array
    raise TypeError(f"a column of {kind} does not hold payloads: binary or string is needed")


def without_view(array: pa.Array) -> pa.Array:
    """Return an array of text or bytes that is no view, which Arrow does not take values from."""
    return array.cast(pa.large_binary()) if array.type in (pa.string_view(), pa.binary_view()) else array

"""What users hand in as a column, as Arrow arrays."""

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from kcodec._impl import kernel
from kcodec.errors import ArrayError

__all__ = ["arrays", "payloads"]


def arrays(values: Any) -> tuple[list[pa.Array], bool]:
    """Return a column of any type as sound Arrow arrays that share its memory, and whether it came in chunks.

    A batch or table counts as a struct of its columns, a list or tuple as bytes and None. Others are producers: any
    object with ``__arrow_c_array__`` or ``__arrow_c_stream__``, such as those of polars and duckdb.
    """
    if isinstance(values, (list, tuple)):
        try:
            values = pa.array(values, pa.binary())
        except (pa.ArrowTypeError, UnicodeEncodeError) as error:
            raise TypeError(
                f"a list holds bytes and None ({error}); pass other values as an Arrow column, "
                "such as pyarrow.array makes"
            ) from None
    elif not isinstance(values, (pa.Array, pa.ChunkedArray, pa.RecordBatch, pa.Table)):
        if hasattr(values, "__arrow_c_array__"):
            values = pa.array(values)
        elif hasattr(values, "__arrow_c_stream__"):
            values = pa.chunked_array(values)
        else:
            raise TypeError(f"{type(values).__name__} is not an Arrow column, nor a list of bytes")
    if isinstance(values, pa.RecordBatch):
        return [_sound(values.to_struct_array())], False
    if isinstance(values, pa.Table):
        return [_sound(batch.to_struct_array()) for batch in values.to_batches()], True
    if isinstance(values, pa.ChunkedArray):
        return [_sound(chunk) for chunk in values.chunks], True
    return [_sound(values)], False


def _sound(array: pa.Array) -> pa.Array:
    """Return an array whose values are where its type says; others come by IPC, or of buffers."""
    try:
        array.validate()
    except pa.ArrowInvalid as error:
        raise ArrayError(str(error)) from None
    defect = kernel("columns._integrity").defect(array)
    if defect is not None:
        raise ArrayError(f"an array of {array.type}: {defect}")
    return array


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
    if pa.types.is_dictionary(kind):
        return _without_view(_payload(array.dictionary)).take(array.indices)
    if pa.types.is_run_end_encoded(kind):
        values = _without_view(_payload(array.values))
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


def _without_view(array: pa.Array) -> pa.Array:
    """Copy a view, which Arrow does not take values from by their indices."""
    return array.cast(pa.large_binary()) if array.type in (pa.string_view(), pa.binary_view()) else array

"""Where the schema ids of a column are: in a prefix, in headers, or in the configuration."""

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from kcodec._lazy import compute as pc
from kcodec.columns.casts import cast_bytes
from kcodec.columns.faults import refused
from kcodec.columns.frames import common_frame, decode_frames
from kcodec.columns.source import arrays, payloads, without_view
from kcodec.columns.types import is_list
from kcodec.errors import ConfigError, Fault
from kcodec.serde.config import SerdeConfig

__all__ = ["Framed", "Key", "framed_chunks", "last_header", "prefixed", "schema_key"]

#: What a frame names: a schema by its id or GUID, and with message indexes which of its messages.
Key = int | bytes | tuple[int | bytes, tuple[int, ...]]


def schema_key(key: Key) -> int | bytes:
    """Return the id or GUID of a key."""
    return key[0] if isinstance(key, tuple) else key


class Framed:
    """One array of values, with the schema and the start of the payload of each.

    The attributes are those of `KeyedFrames`, but `starts` may be None where all payloads start at 0, and keys from
    the number `headers` on stood in headers. `used` are the keys that rows have, where that is known. Without a
    `selector` all rows seem to have the only key, and `starts` is the prefix that they then have.
    """

    def __init__(
        self,
        values: pa.Array,
        keys: list[Key],
        selector: Any,
        starts: Any,
        faults: Sequence[Fault] = (),
        headers: int | None = None,
        used: list[Key] | None = None,
    ) -> None:
        self.values = values
        self.keys = keys
        self.selector = selector
        self.starts = starts
        self.faults = faults
        self.headers = len(keys) if headers is None else headers
        # Not cached properties: before Python 3.12 these have a lock, which may be held when the process is forked.
        self._used = used

    def __len__(self) -> int:
        return len(self.values)

    @property
    def _indices(self) -> pa.Array:
        if self.selector is None:
            return pa.repeat(pa.scalar(0, pa.int32()), len(self))
        return _column(self.selector, len(self))

    @property
    def used(self) -> list[Key]:
        """The keys that rows have, in the order of their first rows."""
        if self._used is None:
            self._used = [self.keys[index] for index in pc.unique(self._indices).to_pylist() if index >= 0]
        return self._used

    def numbers(self, rows: pa.Array) -> pa.Array:
        """Return the numbers of the keys that some rows have."""
        return self._indices.take(rows)

    def in_header(self, index: int) -> bool:
        """Return whether a key stood in a header."""
        return index >= self.headers

    def rows(self, numbers: Sequence[int]) -> pa.Array:
        """Return the rows whose keys have some numbers, in order."""
        found = pc.is_in(self._indices, value_set=pa.array(numbers, pa.int32()))
        return pc.indices_nonzero(found).cast(pa.int64())


def framed_chunks(
    chunks: list[pa.Array],
    headers: Any,
    config: SerdeConfig,
    name: str,
    indexes: int,
    is_known: Callable[[Key], bool],
) -> list[Framed]:
    """Look for the schemas of a column's values where the settings say that they are.

    `name` is that of the header, and `indexes` which message indexes frames have. Where all prefixes seem to have one
    key, and that is known, they are left to the decoder.
    """
    framing = config.framing
    if framing == "config":
        schema = config.use_id if config.use_id is not None else config.guid
        if schema is None:
            raise ConfigError("ConfigSchemaIdDeserializer needs use.schema.id or use.schema.guid")
        key: Key = (schema, config.use_indexes) if indexes else schema
        return [one_schema(chunk, key) for chunk in chunks]
    if framing == "prefix" or (framing == "dual" and headers is None):
        return [_of_one_key(chunk, indexes, is_known) or prefixed(chunk, indexes) for chunk in chunks]
    if headers is None:
        raise ConfigError("HeaderSchemaIdDeserializer needs headers=")
    column = schema_headers(headers, name)
    rows = sum(map(len, chunks))
    if len(column) != rows:
        raise ConfigError(f"{len(column)} headers for {rows} values")
    framed, row = [], 0
    for chunk in chunks:
        framed.append(from_headers(chunk, column.slice(row, len(chunk)), framing == "dual", indexes))
        row += len(chunk)
    return framed


def _of_one_key(values: pa.Array, indexes: int, is_known: Callable[[Key], bool]) -> Framed | None:
    frame = common_frame(values, indexes)
    if frame is None or not is_known(frame[1]):
        return None
    prefix, key = frame
    return Framed(values, [key], None, prefix, used=[key])


def prefixed(values: pa.Array, indexes: int) -> Framed:
    """Look for schema ids in prefixes."""
    frames = decode_frames(values, indexes)
    keys = list(frames.keys)
    return Framed(values, keys, frames.selector, frames.starts, frames.faults, used=keys)


def one_schema(values: pa.Array, key: Key) -> Framed:
    """Treat all values as written with one schema."""
    selector = pc.if_else(values.is_valid(), pa.scalar(0, pa.int32()), pa.scalar(-1, pa.int32()))
    return Framed(values, [key], selector.buffers()[1], None)


def from_headers(values: pa.Array, headers: pa.Array, is_dual: bool, indexes: int) -> Framed:
    """Look for schema ids in headers and, if `is_dual`, in the prefixes of values that have no such header."""
    present = headers.is_valid()
    rows = len(values)
    named = decode_frames(pc.if_else(values.is_valid(), headers, pa.scalar(None, headers.type)), indexes)
    framed = decode_frames(values, indexes) if is_dual else None
    keys = list(framed.keys) if framed is not None else []
    faults = [
        fault._replace(offset=None, reason=f"{fault.reason} (in the header of the schema id)")
        for fault in named.faults
    ]
    in_header = _column(named.selector, rows)
    in_header = pc.if_else(
        pc.less(in_header, 0), in_header, pc.add(in_header, pa.scalar(len(keys), pa.int32()))
    )
    if framed is not None:
        with_header = set(pc.indices_nonzero(present).to_pylist()) if framed.faults else set()
        faults += [fault for fault in framed.faults if fault.row not in with_header]
        selector = pc.if_else(present, in_header, _column(framed.selector, rows))
        starts = pc.if_else(present, pa.scalar(0, pa.int32()), _column(framed.starts, rows))
    else:
        missing = pc.and_(values.is_valid(), pc.invert(present))
        faults += refused(missing, "frame_truncated", "there is no header of the schema id")
        selector = pc.if_else(missing, pa.scalar(-2, pa.int32()), in_header)
        starts = None
    return Framed(
        values,
        keys + list(named.keys),
        selector.buffers()[1],
        None if starts is None else starts.buffers()[1],
        faults,
        len(keys),
    )


def schema_headers(headers: Any, name: str) -> pa.Array:
    """Return the header of a name as binary, from any headers that `kcodec.Serde.deserialize` takes."""
    if isinstance(headers, (list, tuple)):
        return pa.array([last_header(row, name) for row in headers], pa.binary())
    chunks, _ = arrays(headers)
    found = [_extract(chunk, name) for chunk in chunks]
    return pa.concat_arrays(found) if len(found) != 1 else found[0]


def last_header(row: Any, name: str) -> bytes | None:
    """Return the last header of a name that a record has, or what is one already."""
    if row is None or isinstance(row, bytes):
        return row
    found = None
    try:
        for pair in row:
            key, value = pair.values() if isinstance(pair, dict) else pair
            if key == name:
                found = value
    except (TypeError, ValueError):
        raise TypeError(
            f"headers are bytes, or a list of pairs of a key and a value, for each row, not {row!r}"
        ) from None
    return found


def _extract(array: pa.Array, name: str) -> pa.Array:
    kind = array.type
    if not is_list(kind):
        return cast_bytes(payloads(array)[0][0], pa.binary())
    if not pa.types.is_struct(kind.value_type) or kind.value_type.num_fields != 2:
        raise TypeError(f"headers of type {kind} are not lists of a key and a value")
    parents = pc.list_parent_indices(array)
    keys, values = map(without_view, pc.list_flatten(array).flatten())
    here = pc.fill_null(pc.equal(keys, pa.scalar(name, keys.type)), False)
    parents, values = parents.filter(here), values.filter(here)
    # Parents ascend, so the last of each is where the next one differs.
    last = pa.concat_arrays([pc.not_equal(parents[1:], parents[:-1]), pa.array([True])])[: len(parents)]
    parents, values = parents.filter(last), values.filter(last)
    rows = pa.array(range(len(array)), parents.type)
    return values.take(pc.index_in(rows, value_set=parents)).cast(pa.binary())


def _column(buffer: Any, rows: int) -> pa.Array:
    """Return a buffer of int32 as a column."""
    return pa.Array.from_buffers(pa.int32(), rows, [None, pa.py_buffer(buffer)])

"""Where the schema ids of a column are: in a prefix, in headers, or in the configuration."""

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from kcodec._lazy import compute as pc
from kcodec.columns.casts import cast_bytes
from kcodec.columns.faults import joined, refused
from kcodec.columns.frames import common_frame, decode_frames
from kcodec.columns.given import arrays, payloads, without_view
from kcodec.columns.packed import unpacked
from kcodec.columns.types import is_list
from kcodec.errors import ConfigError, Fault
from kcodec.frames import Frame
from kcodec.serde.topic import GIVEN, TopicSchemas

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
    topic: TopicSchemas,
    is_known: Callable[[Key], bool],
    max_expansion: int,
) -> list[Framed]:
    """Look for the schemas of a column's values where frame and settings say that they are.

    Where all prefixes seem to have one key, and that is known, they are left to the decoder.
    """
    framing, frame, config = topic.config.framing, topic.frame, topic.config
    if framing == "config":
        schema = config.use_id if config.use_id is not None else config.guid
        if schema is None:
            raise ConfigError("ConfigSchemaIdDeserializer needs use.schema.id or use.schema.guid")
        key: Key = (schema, config.use_indexes) if topic.index_kind else schema
        return [one_schema(chunk, key) for chunk in chunks]
    if framing == "none":
        return [one_schema(chunk, GIVEN) for chunk in chunks]
    if framing == "prefix" or (framing == "dual" and headers is None):
        return [
            _of_one_key(chunk, topic, is_known) or prefixed(chunk, topic, max_expansion) for chunk in chunks
        ]
    if headers is None:
        needs = "HeaderSchemaIdDeserializer" if frame.layout is None else f"{frame!r}"
        raise ConfigError(f"{needs} needs headers=")
    column = schema_headers(headers, topic.header)
    rows = sum(map(len, chunks))
    if len(column) != rows:
        raise ConfigError(f"{len(column)} headers for {rows} values")
    framed, row = [], 0
    for chunk in chunks:
        framed.append(from_headers(chunk, column.slice(row, len(chunk)), framing == "dual", topic))
        row += len(chunk)
    return framed


def _of_one_key(values: pa.Array, topic: TopicSchemas, is_known: Callable[[Key], bool]) -> Framed | None:
    frame = common_frame(values, topic.index_kind, topic.frame)
    if frame is None or not is_known(frame[1]):
        return None
    prefix, key = frame
    return Framed(values, [key], None, prefix, used=[key])


def prefixed(values: pa.Array, topic: TopicSchemas, max_expansion: int) -> Framed:
    """Look for schema ids in prefixes; payloads that are compressed are so no longer."""
    frames = decode_frames(values, topic.index_kind, topic.frame)
    faults: Sequence[Fault] = frames.faults
    if any(frames.packed):
        values, bad = unpacked(values, frames, topic.frame, max_expansion)
        frames = decode_frames(values, topic.index_kind, topic.frame)
        faults = joined([frames.faults, bad])
    keys = list(frames.keys)
    return Framed(values, keys, frames.selector, frames.starts, faults, used=keys)


def one_schema(values: pa.Array, key: Key) -> Framed:
    """Treat all values as written with one schema."""
    selector = pc.if_else(values.is_valid(), pa.scalar(0, pa.int32()), pa.scalar(-1, pa.int32()))
    return Framed(values, [key], selector.buffers()[1], None)


def from_headers(values: pa.Array, headers: pa.Array, is_dual: bool, topic: TopicSchemas) -> Framed:
    """Look for schema ids in headers and, if `is_dual`, in the prefixes of values that have no such header."""
    present = headers.is_valid()
    rows, indexes, frame = len(values), topic.index_kind, topic.frame
    headers = pc.if_else(values.is_valid(), headers, pa.scalar(None, headers.type))
    named = decode_frames(_from_text(headers, frame) if frame.id_type == "hex" else headers, indexes, frame)
    framed = decode_frames(values, indexes) if is_dual else None
    keys = list(framed.keys) if framed is not None else []
    faults = [_of_header(fault, frame) for fault in named.faults]
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
    faults.sort(key=lambda fault: fault.row)
    return Framed(
        values,
        keys + list(named.keys),
        selector.buffers()[1],
        None if starts is None else starts.buffers()[1],
        faults,
        len(keys),
    )


def _of_header(fault: Fault, frame: Frame) -> Fault:
    if frame.id_type == "hex":
        wanted = f"{frame.prefix.decode(errors='replace')} and {2 * frame.id_size} hexadecimal digits"
        return fault._replace(offset=None, code="frame_magic", reason=f"the header is not {wanted}")
    return fault._replace(offset=None, reason=f"{fault.reason} (in the header of the schema id)")


def _from_text(headers: pa.Array, frame: Frame) -> pa.Array:
    """Return the bytes of ids that headers have as text, too few of them where it is no such text."""
    coded = headers.dictionary_encode()
    ids = [frame.read(text) or b"" for text in coded.dictionary.to_pylist()]
    return pa.array(ids, pa.binary()).take(coded.indices)


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

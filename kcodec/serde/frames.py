"""Where the schema ids of a column are: in a prefix, in headers, or in the configuration."""

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from kcodec._lazy import compute as pc
from kcodec.columns.arrays.given import arrays, payloads, without_view
from kcodec.columns.arrays.nested import cast_leaf, multiples
from kcodec.columns.faults import joined, nulled, refused
from kcodec.columns.framed.frames import Indexes, common_frame, decode_frames
from kcodec.columns.framed.packed import unpacked
from kcodec.columns.types.plain import is_list
from kcodec.errors import ConfigError, Fault
from kcodec.frames import Frame
from kcodec.serde.topic import GIVEN, TopicSchemas
from kcodec.wire.single import read, write

__all__ = [
    "Framed",
    "Headers",
    "Key",
    "delimited",
    "framed_chunks",
    "last_header",
    "name_in",
    "prefixed",
    "schema_key",
]

#: Bytes of a message's name in a header are fewer; others name none.
_MAX_NAME = 512
#: Headers of a record: their names and contents.
Headers = tuple[tuple[str, bytes], ...]
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

    def grouped(self, groups: Sequence[Sequence[int]]) -> list[Any]:
        """Return the rows whose keys have the numbers of each group, in order, as NumPy's arrays.

        All rows are looked at once, however many groups there are.
        """
        # Most serdes need no NumPy.
        import numpy as np

        # The last one is that of rows without a key, whose number is -1.
        group_of = np.full(len(self.keys) + 1, -1, np.int32)
        for at, numbers in enumerate(groups):
            group_of[list(numbers)] = at
        found = group_of[self._indices.to_numpy()]
        order = np.argsort(found, kind="stable")
        ends = np.searchsorted(found[order], np.arange(-1, len(groups)), "right")
        return np.split(order, ends)[1:-1]


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
    messages = message_headers(headers, topic.message_header) if topic.message_header else None
    rows = sum(map(len, chunks))
    if len(column) != rows:
        raise ConfigError(f"{len(column)} headers for {rows} values")
    framed, row = [], 0
    for chunk in chunks:
        found = from_headers(chunk, column.slice(row, len(chunk)), framing == "dual", topic)
        framed.append(found if messages is None else _of_messages(found, messages.slice(row, len(chunk))))
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
    headers = nulled(headers, values.is_null())
    read = _from_text(headers, frame, indexes) if frame.id_type == "hex" else headers
    named = decode_frames(read, indexes, frame)
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


def _of_messages(framed: Framed, messages: pa.Array) -> Framed:
    """Add to the keys of an array, which stood in headers, the messages that other headers name.

    Apicurio's serializers of version 3 also write a ``Ref`` with that name in front of the payload, those of version 2
    do not. Where no header names a message, nothing stands there, and it is the one that is wanted.
    """
    ids = _column(framed.selector, len(framed))
    sizes = pc.binary_length(messages)
    is_name = pc.and_(pc.greater(sizes, 0), pc.less(sizes, _MAX_NAME))
    messages = nulled(messages, pc.invert(is_name))
    named = messages.dictionary_encode()
    refs = [ref_of(name) for name in named.dictionary.to_pylist()]
    kinds = len(refs) + 1
    pairs = pc.add(
        pc.multiply(ids.cast(pa.int64()), kinds), pc.fill_null(named.indices.cast(pa.int64()), len(refs))
    )
    pairs = pc.if_else(pc.less(ids, 0), pa.scalar(None, pa.int64()), pairs)
    known = pc.unique(pairs.drop_null())
    selector = pc.coalesce(pc.index_in(pairs, value_set=known, skip_nulls=True), ids)
    keys: list[Key] = []
    for pair in known.to_pylist():
        key, ref = framed.keys[pair // kinds], [*refs, b""][pair % kinds]
        keys.append((schema_key(key), tuple(ref)) if ref else key)
    starts = _starts(framed.values, pa.array(map(delimited, refs), pa.binary()).take(named.indices))
    return Framed(framed.values, keys, selector.buffers()[1], starts.buffers()[1], framed.faults, 0)


def _starts(values: pa.Array, heads: pa.Array) -> pa.Array:
    """Return for each value the length of the given head if the value begins with it, else 0."""
    import numpy as np

    values, sizes = cast_leaf(values, pa.large_binary()), pc.binary_length(heads)
    starts = np.zeros(len(values), np.int32)
    for size in pc.unique(sizes.drop_null()).to_pylist():
        # Only the rows whose heads have this length: each row is looked at once, however many lengths there are.
        rows = pc.indices_nonzero(pc.equal(sizes, size))
        begins = pc.equal(pc.binary_slice(values.take(rows), 0, size), heads.take(rows).cast(values.type))
        starts[rows.filter(begins).to_numpy()] = size
    return pa.array(starts)


def ref_of(name: bytes) -> bytes:
    r"""Return the message that names a message in front of a payload: its only field, of the number 1, is the name.

    >>> ref_of(b"Order")
    b'\n\x05Order'
    """
    return b"\n" + write(len(name)) + name


def name_in(ref: bytes) -> bytes:
    """Return the name in what `ref_of` returns."""
    return ref[read(ref, 1, 32)[1] :]


def delimited(ref: bytes) -> bytes:
    """Return a ``Ref`` as it stands in front of a payload."""
    return write(len(ref)) + ref


def _of_header(fault: Fault, frame: Frame) -> Fault:
    # With an id it is what names the message that is damaged.
    if frame.id_type == "hex" and fault.schema_id is None:
        wanted = f"{frame.prefix.decode(errors='replace')} and {2 * frame.id_size} hexadecimal digits"
        return fault._replace(offset=None, code="frame_magic", reason=f"the header is not {wanted}")
    return fault._replace(offset=None, reason=f"{fault.reason} (in the header of the schema id)")


def _from_text(headers: pa.Array, frame: Frame, indexes: int) -> pa.Array:
    """Return the bytes of ids that headers have as text; too few bytes where the text is not an id.

    What names a message follows the text, as bytes.
    """
    coded = headers.dictionary_encode()
    ids: list[bytes] = []
    for text in coded.dictionary.to_pylist():
        end = frame.size if indexes != Indexes.NONE else len(text)
        found = frame.read(text[:end])
        ids.append(found + text[end:] if isinstance(found, bytes) else b"")
    return pa.array(ids, pa.binary()).take(coded.indices)


def schema_headers(headers: Any, name: str) -> pa.Array:
    """Return the header of a name as binary, from any headers that `kcodec.Serde.deserialize` takes."""
    if isinstance(headers, (list, tuple)):
        return pa.array([last_header(row, name) for row in headers], pa.binary())
    chunks, _ = arrays(headers)
    found = [_extract(chunk, name) for chunk in chunks]
    return pa.concat_arrays(found) if len(found) != 1 else found[0]


def message_headers(headers: Any, name: str) -> pa.Array:
    """Return the header of a name as binary; null where it is missing, or the bytes of another header were given."""
    if isinstance(headers, (list, tuple)):
        found = [None if isinstance(row, bytes) else last_header(row, name) for row in headers]
        return pa.array(found, pa.binary())
    chunks, _ = arrays(headers)
    parts = [
        _extract(each, name) if is_list(each.type) else pa.nulls(len(each), pa.binary()) for each in chunks
    ]
    return pa.concat_arrays(parts) if len(parts) != 1 else parts[0]


def last_header(row: Any, name: str) -> bytes | None:
    """Return the last header of a name among those of a record; bytes are that header already."""
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
        return cast_leaf(payloads(array)[0][0], pa.binary())
    if not pa.types.is_struct(kind.value_type) or kind.value_type.num_fields != 2:
        raise TypeError(f"headers of type {kind} are not lists of a key and a value")
    parents = pc.list_parent_indices(array)
    keys, values = map(without_view, pc.list_flatten(array).flatten())
    here = pc.fill_null(pc.equal(keys, pa.scalar(name, keys.type)), False)
    parents, values = parents.filter(here), values.filter(here)
    # Parents ascend, so the last of each is where the next one differs.
    last = pa.concat_arrays([pc.not_equal(parents[1:], parents[:-1]), pa.array([True])])[: len(parents)]
    parents, values = parents.filter(last), values.filter(last)
    rows = multiples(1, len(array), parents.type)
    return values.take(pc.index_in(rows, value_set=parents)).cast(pa.binary())


def _column(buffer: Any, rows: int) -> pa.Array:
    return pa.Array.from_buffers(pa.int32(), rows, [None, pa.py_buffer(buffer)])

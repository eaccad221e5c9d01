"""Kafka's internal topics as columns: one struct column for each type of record."""

import functools
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from kcodec.codec import check_errors, report
from kcodec.columns.arrays.given import payloads
from kcodec.errors import CODES, ConfigError, DecodeError, Fault, check_booleans, check_choice
from kcodec.plan import Limits
from kcodec.protocol.message.kernel import kernel
from kcodec.protocol.message.plan import MessagePart, decode_plan, message_type
from kcodec.protocol.spec.definitions import Definitions
from kcodec.protocol.spec.message import MessageSpec
from kcodec.protocol.topics.builtin_layouts import builtin_definitions
from kcodec.protocol.topics.prefix import int16_prefix, varint_prefix
from kcodec.protocol.topics.records import FRAMED, RecordType, record_types

#: What a row can be.
KINDS = ("record", "tombstone", "marker", "unknown_type", "unknown_version", "error")
_RECORD, _TOMBSTONE, _MARKER, _UNKNOWN_TYPE, _UNKNOWN_VERSION, _ERROR = range(len(KINDS))

#: Columns before those of the record types. The type is the number that the row itself gives.
_LEADING = (
    pa.field("kind", pa.string(), nullable=False),
    pa.field("type", pa.int16()),
    pa.field("version", pa.int16()),
)

#: A key that is as long as that of a transaction marker: int16 version, int16 type.
_MARKER_LENGTH = 4

_FRAME_VERSION = 1

#: Bytes of the widest value of a column: a UUID.
_MAX_WIDTH = 16


class _Message(NamedTuple):
    """A message of some versions; the label begins the paths of its faults."""

    label: str
    spec: MessageSpec
    versions: tuple[int, ...]
    kind: pa.StructType

    @classmethod
    def of(cls, label: str, spec: MessageSpec, unknown_tags: bool) -> "_Message":
        versions = tuple(spec.valid_versions)
        return cls(label, spec, versions, message_type(spec, versions, unknown_tags=unknown_tags))


class TopicCodec:
    r"""The records of an internal topic.

    Parameters
    ----------
    topic : str
        ``__consumer_offsets``, ``__transaction_state``, ``__share_group_state``, ``__cluster_metadata`` or
        ``__remote_log_metadata``.
    definitions : Definitions, optional
        Of the broker's messages, from `kcodec.protocol.load`. Without them OffsetCommit, GroupMetadata and
        TransactionLog are known.
    compat : {None, "kafka"}
        ``"kafka"`` reads all that Kafka's own readers accept, as for `kcodec.MessageCodec`.
    unknown_tags : bool
        Whether structs have a column ``_unknown_tagged_fields`` of the tags that the definitions do not know.
    limits : Limits, optional
        What one row may cost.

    Attributes
    ----------
    schema : pyarrow.Schema
        Of the tables. ``kind``: what the row is, one of `KINDS`. ``type``: the number of its record type; null if
        it does not name one. ``version``: of its value; null if it has none or does not name one. Then a column for
        each record type, with the fields ``key`` and ``value`` in topics that have keys, else with those of the
        message; null but in rows of that type.

    Raises
    ------
    ConfigError
        If the topic is another, or its records are not among the definitions.

    Notes
    -----
    - ``tombstone``: the value is null; the key is there.
    - ``marker``: the row comes from a control batch. Rows carry no flags of batches, but the 4-byte key of a marker is
      no key of ``__consumer_offsets``, and ``__cluster_metadata`` has no keys at all. Other topics have no markers.
    - ``unknown_type``, ``unknown_version``: written by a newer broker; neither is an error. Of an unknown version of a
      value the key is there.
    - ``error``: the row cannot be decoded, and `decode` was told not to raise.

    The kinds, types and versions of all rows are found at once; then each record type that occurs is read into its
    column, straight from the rows given.

    Examples
    --------
    >>> codec = TopicCodec("__consumer_offsets")
    >>> key = b"\0\1" + b"\0\1g" + b"\0\1t" + bytes(4)
    >>> value = b"\0\3" + (7).to_bytes(8, "big") + (-1).to_bytes(4, "big", signed=True) + b"\0\0" + bytes(8)
    >>> table = codec.decode([key, key, b"\0\x63"], [value, None, b"?"])
    >>> table["kind"].to_pylist()
    ['record', 'tombstone', 'unknown_type']
    >>> table["OffsetCommit"][0].as_py()["value"]["offset"]
    7
    """

    def __init__(
        self,
        topic: str,
        definitions: Definitions | None = None,
        *,
        compat: str | None = None,
        unknown_tags: bool = False,
        limits: Limits | None = None,
    ) -> None:
        check_choice("compat", compat, (None, "kafka"))
        check_booleans(unknown_tags=unknown_tags)
        if definitions is None:
            if topic in FRAMED or topic == "__share_group_state":
                raise ConfigError(f"definitions= are needed for {topic}: kcodec.protocol.load reads Kafka's")
            definitions = builtin_definitions()
        elif not isinstance(definitions, Definitions):
            raise ConfigError(
                f"definitions are what kcodec.protocol.load makes, not a {type(definitions).__name__}"
            )
        self._build(topic, record_types(topic, definitions), compat, unknown_tags, Limits.of(limits))

    def _build(
        self,
        topic: str,
        records: tuple[RecordType, ...],
        compat: str | None,
        unknown_tags: bool,
        limits: Limits,
    ) -> None:
        self.topic = topic
        self.records = records
        self._options = (compat, unknown_tags, limits)
        self._keys = [
            None if each.key is None else _Message.of(f"{each.name}.key", each.key, unknown_tags)
            for each in records
        ]
        self._values = [
            _Message.of(each.name if each.key is None else f"{each.name}.value", each.value, unknown_tags)
            for each in records
        ]
        #: By number of the record type: its place, and the program of its key; -1 for numbers that are of none.
        self._numbers = np.full((2, 1 << 16), -1, np.int32)
        for place, (each, key) in enumerate(zip(records, self._keys, strict=True)):
            for number, version in each.types:
                self._numbers[:, number] = place, 0 if key is None else version - key.versions[0]
        #: By place: the lowest version of the value, and how many there are; the last entry is that of no type.
        self._lowest = np.array([*(value.versions[0] for value in self._values), 0], np.int32)
        self._counts = np.array([*(len(value.versions) for value in self._values), 0], np.int32)
        columns = [
            pa.field(each.name, value.kind if key is None else _pair(key.kind, value.kind))
            for each, key, value in zip(records, self._keys, self._values, strict=True)
        ]
        self.schema = pa.schema([*_LEADING, *columns])
        self._programs: dict[tuple[str, str], list[Any]] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (self.topic, self.records, *self._options)

    def __repr__(self) -> str:
        return f"TopicCodec({self.topic!r}, {', '.join(each.name for each in self.records)})"

    def decode(self, keys: Any, values: Any, errors: str = "raise") -> Any:
        """Decode the records of a topic.

        Parameters
        ----------
        keys, values : pyarrow.Array, ChunkedArray, list of bytes or None, or an Arrow producer
            Binary or string of any layout. Keys may be None for ``__cluster_metadata`` and
            ``__remote_log_metadata``.
        errors : {"raise", "null", "report"}
            What becomes of a row that cannot be decoded: an exception; a row of kind ``error``; or that and a
            row of the report.

        Returns
        -------
        pyarrow.Table
            Of `schema`; with ``errors="report"`` a pair of it and the report. Paths there begin with the record type
            and, if the topic has keys, ``key`` or ``value``; offsets count from its first byte.

        Raises
        ------
        DecodeError
            If ``errors="raise"``: the first row that cannot be decoded.
        ConfigError
            If there are not as many keys as values.
        """
        check_errors(errors)
        pairs = _aligned(keys, values, self.topic in FRAMED)
        batches: list[pa.RecordBatch] = []
        faults: list[Fault] = []
        before = 0
        for key, value in pairs:
            batch, found = self._decode(key, value)
            found.sort(key=lambda fault: fault.row)
            faults += [fault._replace(row=fault.row + before) for fault in found]
            if faults and errors == "raise":
                raise DecodeError(*faults[0])
            batches.append(batch)
            before += len(value)
        table = pa.Table.from_batches(batches, self.schema)
        return (table, report(faults)) if errors == "report" else table

    def _decode(self, keys: pa.Array | None, values: pa.Array) -> tuple[pa.RecordBatch, list[Fault]]:
        if self.topic in FRAMED:
            rows = self._framed(keys, values)
        else:
            assert keys is not None
            rows = self._keyed(keys, values)
        columns: list[pa.Array] = []
        zeros = pa.py_buffer(bytes(_MAX_WIDTH * (len(values) + 1)))
        kinds, faults = rows.kinds, rows.faults
        occurs = np.bincount(rows.places + 1, minlength=len(self.records) + 1)[1:]
        for place, (key, value) in enumerate(zip(self._keys, self._values, strict=True)):
            kind = self.schema.field(len(_LEADING) + place).type
            if not occurs[place]:
                columns.append(_absent(kind, len(values), True, zeros))
                continue
            mine = rows.places == place
            read = functools.partial(self._read, faults, kinds)
            before = None if key is None else read(key, keys, np.where(mine, rows.keys, -1), None)
            column = read(value, values, np.where(mine & (kinds == _RECORD), rows.values, -1), rows.starts)
            if before is not None:
                absent = pa.array(~mine | (kinds == _ERROR))
                column = pa.StructArray.from_arrays(
                    [_present(before), column], fields=list(kind), mask=absent
                )
            columns.append(column)
        leading = [
            pa.DictionaryArray.from_arrays(pa.array(kinds, pa.int8()), pa.array(KINDS)).cast(pa.string()),
            pa.array(rows.types, pa.int16(), mask=rows.untyped),
            pa.array(rows.versions, pa.int16(), mask=rows.unversioned),
        ]
        return pa.RecordBatch.from_arrays([*leading, *columns], schema=self.schema), faults

    def _read(
        self, faults: list[Fault], kinds: Any, message: _Message, array: pa.Array, chosen: Any, starts: Any
    ) -> pa.Array:
        """Read the rows that choose a program; those that fail become errors."""
        compat, _, limits = self._options
        module = kernel()
        programs = self._programs.get((module.__name__, message.label))
        if programs is None:
            plans = [
                decode_plan([MessagePart(message.spec, version)], message.kind)
                for version in message.versions
            ]
            # Threads that come here at once make the same programs; the first ones put there stay.
            programs = self._programs.setdefault(
                (module.__name__, message.label),
                [module.Program(plan, limits, compat == "kafka") for plan in plans],
            )
        decoded, found = module.decode(
            array,
            programs,
            selector=pa.py_buffer(np.ascontiguousarray(chosen, np.int32)),
            starts=None if starts is None else pa.py_buffer(starts),
            start=2,
            trailing=compat == "kafka",
        )
        for fault in found:
            if kinds[fault.row] != _ERROR:
                kinds[fault.row] = _ERROR
                path = f"{message.label}.{fault.path}" if fault.path else message.label
                faults.append(fault._replace(path=path))
        return decoded

    def _keyed(self, keys: pa.Array, values: pa.Array) -> "_Rows":
        """Find what the rows of a coordinator's topic are: int16 type before keys, int16 version before values."""
        types, key_lengths = int16_prefix(keys)
        versions, value_lengths = int16_prefix(values)
        keyless, valueless = _nulls(keys), _nulls(values)
        rows = _Rows(len(keys))
        rows.kinds[valueless] = _TOMBSTONE
        rows.places, rows.keys = self._numbers.take(types.view(np.uint16).astype(np.intp), axis=1)
        rows.places[keyless] = -1
        rows.types, rows.untyped = types, keyless | (key_lengths < 2)
        rows.versions, rows.unversioned = versions, value_lengths < 2
        rows.values = self._value_programs(rows.places, versions)
        rows.kinds[(rows.values < 0) & ~valueless] = _UNKNOWN_VERSION
        rows.kinds[rows.places < 0] = _UNKNOWN_TYPE
        if self.topic == "__consumer_offsets":
            marker = (types == 0) & (key_lengths == _MARKER_LENGTH)
            rows.kinds[marker] = _MARKER
            rows.places[marker] = -1
            rows.untyped, rows.unversioned = rows.untyped | marker, rows.unversioned | marker
        rows.fail(~keyless & (key_lengths < 2), "truncated", "key", key_lengths)
        rows.fail((rows.places >= 0) & ~valueless & (value_lengths < 2), "truncated", "value", value_lengths)
        return rows

    def _value_programs(self, places: Any, versions: Any) -> Any:
        """Return which program reads the value of each row; -1 for none."""
        programs = versions - self._lowest.take(places)
        return np.where((programs >= 0) & (programs < self._counts.take(places)), programs, -1)

    def _framed(self, keys: pa.Array | None, values: pa.Array) -> "_Rows":
        """Find what the rows of a framed topic are: unsigned varints of frame version, type and version."""
        found = varint_prefix(values)
        valueless = _nulls(values)
        known = found.type < 1 << 15
        rows = _Rows(len(values))
        rows.places = np.where(known, self._numbers[0].take(found.type, mode="clip"), -1)
        rows.starts = found.starts
        rows.values = self._value_programs(rows.places, found.version)
        rows.types, rows.versions = (
            found.type.astype(np.int16),
            np.minimum(found.version, 32767).astype(np.int16),
        )
        rows.kinds[rows.values < 0] = _UNKNOWN_VERSION
        rows.kinds[rows.places < 0] = _UNKNOWN_TYPE
        bad = found.truncated | found.overlong | (found.frame != _FRAME_VERSION)
        none = valueless if keys is None else valueless | ~_nulls(keys)
        rows.kinds[none] = _MARKER
        rows.kinds[valueless] = _TOMBSTONE
        rows.places[none] = -1
        rows.untyped = rows.unversioned = bad | none | ~known
        whole = ~(found.truncated | found.overlong | none)
        rows.fail(found.truncated & ~none, "truncated", "frame", found.starts)
        rows.fail(found.overlong & ~none, "varint_overlong", "frame", found.starts)
        reason = f"the frame version is not {_FRAME_VERSION}"
        rows.fail(whole & (found.frame != _FRAME_VERSION), "unsupported_version", "frame", None, reason)
        return rows


class _Rows:
    """What is found out about rows before they are read."""

    def __init__(self, rows: int) -> None:
        self.kinds: Any = np.full(rows, _RECORD, np.int8)
        self.faults: list[Fault] = []
        #: Record type of each row, and the programs of its key and value; -1 for none.
        self.places: Any = None
        self.keys: Any = None
        self.values: Any = None
        self.starts: Any = None
        self.types: Any = None
        self.versions: Any = None
        self.untyped: Any = None
        self.unversioned: Any = None

    def fail(self, rows: Any, code: str, path: str, offsets: Any, reason: str | None = None) -> None:
        for row in np.flatnonzero(rows).tolist():
            self.kinds[row] = _ERROR
            self.places[row] = -1
            offset = 0 if offsets is None else int(offsets[row])
            self.faults.append(Fault(row, offset, path, code, reason or CODES[code]))


def _nulls(array: pa.Array) -> Any:
    return array.is_null().to_numpy(zero_copy_only=False)


def _present(array: pa.StructArray) -> pa.StructArray:
    """Return structs that are nowhere null: where they were, so is what holds them."""
    children = [array.field(place) for place in range(array.type.num_fields)]
    return pa.Array.from_buffers(array.type, len(array), [None], children=children)


def _absent(kind: pa.DataType, rows: int, null: bool, zeros: pa.Buffer) -> pa.Array:
    """Make a column of nulls, or of values for a field that is not nullable.

    All buffers are the same zeros: `pyarrow.nulls` would have nulls in fields that are not nullable, and such columns
    cannot be cast.
    """
    buffers, children = [zeros if null else None], []
    if pa.types.is_struct(kind):
        children = [_absent(field.type, rows, field.nullable, zeros) for field in kind]
    elif pa.types.is_list(kind):
        buffers.append(zeros)
        children = [_absent(kind.value_type, 0, kind.value_field.nullable, zeros)]
    elif kind in (pa.string(), pa.binary()):
        buffers += [zeros, zeros]
    else:
        buffers.append(zeros)
    return pa.Array.from_buffers(kind, rows, buffers, children=children)


def _pair(key: pa.DataType, value: pa.DataType) -> pa.StructType:
    return pa.struct([pa.field("key", key, nullable=False), pa.field("value", value)])


def _aligned(keys: Any, values: Any, optional: bool) -> list[tuple[pa.Array | None, pa.Array]]:
    """Cut keys and values into chunks of the same rows."""
    parts, _ = payloads(values)
    if keys is None:
        if not optional:
            raise ConfigError("keys are needed: they hold the type of each record")
        return [(None, part) for part in parts]
    before, _ = payloads(keys)
    rows = sum(map(len, parts))
    if sum(map(len, before)) != rows:
        raise ConfigError(f"there are {sum(map(len, before))} keys for {rows} values")
    if len(before) == len(parts) == 1:
        return [(before[0], parts[0])]
    if not rows:
        return []
    table = pa.table({"key": pa.chunked_array(before), "value": pa.chunked_array(parts)})
    return [(batch.column(0), batch.column(1)) for batch in table.to_batches()]


def _rebuild(
    topic: str, records: tuple[RecordType, ...], compat: str | None, unknown_tags: bool, limits: Limits
) -> TopicCodec:
    codec = TopicCodec.__new__(TopicCodec)
    codec._build(topic, records, compat, unknown_tags, limits)
    return codec


def decode_topic(
    topic: str,
    keys: Any,
    values: Any,
    *,
    definitions: Definitions | None = None,
    errors: str = "raise",
    compat: str | None = None,
    unknown_tags: bool = False,
) -> Any:
    r"""Decode the records of an internal topic: `TopicCodec` in one call.

    Parameters
    ----------
    topic, definitions, compat, unknown_tags
        As for `TopicCodec`.
    keys, values, errors
        As for `TopicCodec.decode`.

    Returns
    -------
    pyarrow.Table
        As of `TopicCodec.decode`; with ``errors="report"`` a pair of it and the report.

    Raises
    ------
    DecodeError, ConfigError
        As for `TopicCodec` and its `decode`.

    Examples
    --------
    >>> decode_topic("__transaction_state", [b"\0\0\0\1t"], [None]).column("TransactionLog").to_pylist()
    [{'key': {'transactionalId': 't'}, 'value': None}]
    """
    codec = TopicCodec(topic, definitions, compat=compat, unknown_tags=unknown_tags)
    return codec.decode(keys, values, errors)

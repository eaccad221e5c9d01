"""Framed values one by one: which schema each names, and what reads it as a Python object or writes it."""

import sys
from typing import Any

import pyarrow as pa

from kcodec._impl import chosen
from kcodec.codec import Run
from kcodec.columns.faults import short_reason
from kcodec.columns.framed.frames import Indexes, decode_frames, indexes_end
from kcodec.errors import ConfigError, DecodeError, EncodeError, Fault
from kcodec.objects.by_columns import objects_of, with_records
from kcodec.objects.form import ObjectForm, check_class
from kcodec.objects.kernel import Reader, Writer
from kcodec.objects.shape import shape
from kcodec.serde.frames import Key, last_header, schema_key
from kcodec.serde.members import MembersWriter
from kcodec.serde.read import FramedReader
from kcodec.serde.topic import GIVEN, TopicSchemas
from kcodec.serde.write import FramedWriter

#: Bytes of a prefix by its first one: behind it stands a schema id, or a GUID.
_PREFIX_BYTES = {0: 5, 1: 17}
#: Schemas, in each form, whose readers are kept.
_MAX_READERS = 10_000

_Found = tuple[Reader, int | bytes, int | str | None]


class ObjectsReader:
    """What reads the values of a serde one by one.

    A value that names a schema for the first time is looked up as a column of it is; from then on what stands before
    the payload leads to its reader. Formats that have none are read as columns of one row.
    """

    def __init__(self, topic: TopicSchemas, columns: FramedReader) -> None:
        self._topic = topic
        self._columns = columns
        self._forms: dict[Any, dict[Any, _Found]] = {}
        # To find out takes as long as reading a small value.
        self._indexes = self._topic.index_kind
        #: Bytes that stand before most payloads: Confluent's prefix, and the byte of the indexes of a first message.
        self._before = 0
        if self._topic.config.framing in ("prefix", "dual") and self._topic.frame.layout is None:
            self._before = {Indexes.NONE: 5, Indexes.ZIGZAG: 6}.get(self._indexes, 0)
        #: What is called at once; see `kcodec.objects.kernel.quick_deserialize_one`.
        self.usual: tuple[Any, ...] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return ObjectsReader, (self._topic, self._columns)

    def read(self, value: bytes | None, headers: Any, maps: str | None, unions: str, into: Any) -> Any:
        """Read one value; see `kcodec.Serde.deserialize_one`."""
        if into is not None:
            check_class(into)
        readers = self._forms.get((chosen(), maps, unions, into))
        if readers is None:
            form = ObjectForm.of(maps, unions, into)
            if len(self._forms) >= 32:
                # Classes that are made for each call are not to fill the memory.
                self._forms.clear()
            readers = self._forms.setdefault((chosen(), maps, unions, into), {})
            if self._before and form == ObjectForm():
                self.usual = chosen(), self._before, readers, self._columns.meter.read_one
        if value is None:
            self._columns.meter.read(1, (), ())
            return None
        start = self._before
        found = readers.get(value[:start]) if start and headers is None else None
        if found is None:
            form = ObjectForm.of(maps, unions, into)
            found, start = self._found(readers, value, headers, form)
            if found is None:
                return self._in_column(value, headers, form)
        reader, name, schema_id = found
        try:
            made = reader.decode_one(value, start)
        except DecodeError as error:
            fault = Fault(0, error.offset, error.path, error.code, short_reason(error.reason), schema_id)
            self._columns.meter.read(1, (name,), (fault,), raised=True)
            raise DecodeError(*fault) from None
        self._columns.meter.read_one(name)
        return made

    def _found(
        self, readers: dict[Any, _Found], value: bytes, headers: Any, form: ObjectForm
    ) -> tuple[_Found | None, int]:
        """Return what reads a value, and from where on; None for a column of one row."""
        framing, named, start = self._topic.config.framing, None, 0
        if headers is not None and framing in ("dual", "header"):
            named = last_header(headers, self._topic.header)
        if framing == "prefix" or (framing == "dual" and named is None):
            start = self._start_of(value)
            named = value[:start]
        found = readers.get(named)
        if found is None:
            found = self._find(named, form, value, in_header=named is not None and not start)
            if found is not None:
                if len(readers) >= _MAX_READERS:
                    readers.clear()
                readers[named] = found
        return found, start

    def _start_of(self, value: bytes) -> int:
        """Return how many bytes a frame has in front of a payload; 0 where it has to be read in a column."""
        size = self._frame_size(value)
        if not size or self._indexes is Indexes.NONE:
            return size
        return indexes_end(value, size) if self._indexes is Indexes.ZIGZAG else 0

    def _frame_size(self, value: bytes) -> int:
        frame = self._topic.frame
        if frame.layout is None:
            return _PREFIX_BYTES.get(value[0], 0) if value else 0
        packed = frame.compression and value[len(frame.prefix) : len(frame.prefix) + 1] != b"\0"
        return 0 if packed else frame.size

    def _find(self, named: bytes | None, form: ObjectForm, value: bytes, *, in_header: bool) -> _Found | None:
        """Find what reads a value; None for a column of one row, which also says what is wrong with it."""
        key = self._key(named)
        if key is None:
            return None
        found = self._columns.object_reader(key, form, value, in_header=in_header)
        return None if found is None else (found[0], schema_key(key), found[1])

    def _key(self, named: bytes | None) -> Key | None:
        """Return what a prefix or a header names, if it is well-formed."""
        config, topic = self._topic.config, self._topic
        if config.framing == "config":
            schema = config.use_id if config.use_id is not None else config.guid
            return (schema, config.use_indexes) if schema is not None and self._indexes else schema
        if config.framing == "none":
            return GIVEN
        if topic.message_header:
            # Two headers, and perhaps a name in front of the payload.
            return None
        if not named or self._indexes is Indexes.NONE:
            return topic.frame.read(named) if named else None
        if topic.frame.id_type == "hex":
            return None
        frames = decode_frames(pa.array([named], pa.binary()), self._indexes, topic.frame)
        # The last byte of a prefix is that of its indexes, or these go on.
        is_whole = not frames.faults and int.from_bytes(frames.starts[:4], sys.byteorder) == len(named)
        return frames.keys[0] if is_whole else None

    def _in_column(self, value: bytes, headers: Any, form: ObjectForm) -> Any:
        column = self._columns.read([value], Run("raise"), None if headers is None else [headers])
        if form.unions != "members" and not self._topic.format.message_indexes:
            raise ConfigError(f"what has rules is read as a column: unions={form.unions!r} is not")
        (value,), faults = objects_of(column, floor=self._columns.floor)
        if faults:
            raise DecodeError(*faults[0])
        changed = shape(column.type, form)
        return value if changed is None else changed(value)


class _RowWriter:
    """Writes framed values as columns of one row; see `kcodec.objects.kernel.Writer`."""

    def __init__(self, columns: FramedWriter | MembersWriter) -> None:
        self._columns = columns

    def encode_one(self, value: Any, prefix: bytes = b"") -> bytes | None:
        """Write one value, behind the prefix that columns have."""
        written: list[bytes | None] = with_records(
            lambda given: self._columns.write([given], Run("raise", as_list=True))[0], value
        )
        return written[0]

    def encode_list(
        self, values: list[Any], prefix: bytes = b"", stop: bool = False
    ) -> tuple[list[bytes | None], list[Fault]]:
        """Write values up to the first that cannot be written, as an error."""
        return [self.encode_one(value) for value in values], []


class ObjectsWriter:
    """What writes the values of a serde one by one; formats that have no writer are written as columns of one row."""

    def __init__(self, topic: TopicSchemas, columns: FramedWriter | MembersWriter) -> None:
        self._topic = topic
        self._columns = columns
        self._writers: dict[Any, tuple[Writer | None, bytes, int | str | None]] = {}
        self._row = _RowWriter(self._columns)

    def __reduce__(self) -> tuple[Any, ...]:
        return ObjectsWriter, (self._topic, self._columns)

    def write(self, value: Any, unions: str) -> bytes | None:
        """Write one value; see `kcodec.Serde.serialize_one`."""
        if value is None:
            return None
        found = self._writers.get((chosen(), unions))
        if found is None:
            found = self._columns.object_writer(ObjectForm.of(unions=unions), self._row)
            found = found or (None, b"", None)
            self._writers[chosen(), unions] = found
        writer, prefix, schema_id = found
        if writer is None:
            if unions != "members":
                raise ConfigError(
                    f"unions={unions!r} is Avro's, and needs schema=, which is also what is registered: "
                    "a union of other formats is a dict of one member"
                )
            return self._row.encode_one(value)
        try:
            return writer.encode_one(value, prefix)
        except EncodeError as error:
            reason = short_reason(error.reason)
            raise EncodeError(0, None, error.path, error.code, reason, schema_id) from None

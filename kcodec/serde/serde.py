"""Serdes: what a producer's serializer and a consumer's deserializer do, for whole columns."""

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from kcodec._lazy import compute as pc
from kcodec.arguments import Columns, Payloads
from kcodec.codec import Run
from kcodec.errors import ConfigError, check_booleans, check_names, is_whole
from kcodec.formats.schema_format import SchemaFormat, serde_format
from kcodec.frames import CONFLUENT, Frame
from kcodec.objects.kernel import quick_deserialize_one
from kcodec.plan import Limits
from kcodec.protocol.batch.schema import HEADERS
from kcodec.registry.base import RegisteredSchema, RegistryLike, Schema, SchemaRegistry
from kcodec.registry.subjects import record_subject
from kcodec.serde.config import SerdeConfig
from kcodec.serde.members import MembersWriter
from kcodec.serde.metrics import SerdeMetrics
from kcodec.serde.objects import ObjectsReader, ObjectsWriter
from kcodec.serde.read import FramedReader
from kcodec.serde.topic import Given, TopicSchemas, registry_handle
from kcodec.serde.write import FramedWriter

_HEADERS_OUT = (
    "HeaderSchemaIdSerializer, or a frame in a header: use serialize_with_headers, which returns that too"
)


class Serde:
    r"""A format, its frame and a registry, tied together for columns.

    Reading, the schema id (or GUID) of every value is looked at, each id is fetched once and for good, and
    all values come out as one reader's schema, whatever mix of ids the column holds. That schema is, in this
    order: `reader_schema`; the subject's latest version, when the first column is read; the schema of the
    first value that has one. It stays what it then was.

    Writing, a schema is chosen as Confluent's serializer chooses it: registered (``auto.register.schemas``,
    the default), else that of ``use.schema.id``, ``use.schema.guid``, ``use.latest.with.metadata`` or
    ``use.latest.version``, else found under the subject. That choice too is made once per schema. Where it is
    not `schema` itself, the column's values are those of `schema`, converted to the chosen schema's (Avro's rules
    of resolution: a field that it lacks is dropped, one that it adds gets its default, and what does not fit is an
    error of its row; Protobuf needs none, but the chosen schema has the message; JSON Schema needs none). Without
    `schema`, columns are matched with the fields of the chosen schema by name.

    A serde may be used by several threads at once, and pickles with its registry's handle and with every plan
    it has made: for ids it has seen it makes no request.

    Parameters
    ----------
    format : str
        ``"AVRO"``, ``"JSON_SR"``, ``"PROTOBUF"``, or the format of a plugin; see `kcodec.formats.schema_format`.
    registry : SchemaRegistry or str, optional
        A handle of `kcodec.registry.open`, or its URL; by default ``schema.registry.url`` of `config`.
    topic : str, optional
        The topic, which the subject is named after.
    is_key : bool
        Whether the columns are keys.
    schema : str, dict, list, object or kcodec.registry.Schema, optional
        What is written: a schema with references is given as a `Schema`. Protobuf's may be anything that
        `kcodec.ProtobufCodec` takes: imports that come along are registered first. By default it is derived from
        the Arrow type of the column.
    reader_schema : str, int, dict, list, object or kcodec.registry.Schema, optional
        What is read: a schema; ``"latest"`` or ``"version:3"`` of the subject; an id, as a number or
        ``"id:7"``.
    message : str or list of str, optional
        For Protobuf: which message of the schemas is read and written, by its full name, or the last parts of it.
        By default that of a class that is given as `schema`; else that of the first value that is read, and the
        first of the schema to write. Values of other messages are errors of their rows. A list of names reads all
        of these, into a struct with a column for each.
    config : mapping, optional
        Settings under Confluent's own keys, such as ``use.latest.version``; docs/registry.md lists them.
    options : object, optional
        How schemas are laid out in columns: `kcodec.AvroOptions` for Avro,
        `kcodec.JsonSchemaOptions` for JSON Schema, and `kcodec.ProtobufOptions` for
        Protobuf.
    limits : Limits, optional
        What one row may cost.
    frame : kcodec.frames.Frame or str, optional
        What names the schema of a value, if not Confluent's id or GUID: one of `kcodec.frames`, or its name, such as
        ``"GLUE"``. With ``SINGLE_OBJECT`` and ``NONE`` the registry may be left out; the schemas of values are then
        those given.

    Raises
    ------
    ConfigError
        For an unknown setting, with the nearest known one, or a value that it does not take; for another
        argument that is not what it should be.

    Notes
    -----
    - A schema whose root is ``bytes`` has the bytes themselves as payload, without a length. They are read as
      binary, whatever logical type the schema has, and written from binary, or decimals if it is one. They
      are not read as another type, nor a root ``string`` as bytes: ``schema_error``. (Java's deserializer
      gives the text of a buffer object then.)
    - Trailing bytes are accepted unless ``avro.fail.on.trailing.data`` is set, as by Confluent's
      deserializer.
    - The checks ``latest.compatibility.strict`` and ``id.compatibility.strict`` compare the chosen schema
      with `schema`; without `schema` there is nothing to compare, and a row that does not fit is an error of
      its own.
    - Null values (tombstones) stay null, and a column of nothing else registers nothing.

    Examples
    --------
    >>> import pyarrow as pa
    >>> serde = Serde("AVRO", "memory://serde-example", topic="orders")
    >>> values = serde.serialize(pa.array([{"id": 7}, None], pa.struct([pa.field("id", pa.int64(), False)])))
    >>> values.to_pylist()
    [b'\x00\x00\x00\x00\x01\x0e', None]
    >>> serde.deserialize(values).to_pylist()
    [{'id': 7}, None]
    """

    def __init__(
        self,
        format: str,
        registry: RegistryLike | None = None,
        *,
        topic: str | None = None,
        is_key: bool = False,
        schema: object | None = None,
        reader_schema: object | None = None,
        message: object | None = None,
        config: Mapping[str, Any] | None = None,
        options: object | None = None,
        limits: Limits | None = None,
        frame: Frame | str | None = None,
    ) -> None:
        language = serde_format(format)
        if config is not None and not isinstance(config, Mapping):
            raise ConfigError(f"config is a mapping of settings, not {type(config).__name__}")
        check_booleans(is_key=is_key)
        check_names(topic=topic)
        settings = dict(config or {})
        checked = language.options(options)
        limits = Limits.of(limits)
        framed = Frame.of(frame)
        known = SerdeConfig.of(settings, is_key, language.settings).framed(framed, settings, is_key)
        handle = registry_handle(registry, settings.get("schema.registry.url"), framed)
        has_registry = registry is not None or "schema.registry.url" in settings
        language = language.configured(settings)
        if message is None and schema is not None:
            message = language.given_message(schema)
        if message is not None:
            language = language.of_message(message)
        given = None if schema is None else _given(language, schema)
        wanted = _wanted(language, reader_schema)
        if wanted is None and not has_registry:
            wanted = given
        all_given = tuple(each for each in (given, wanted) if isinstance(each, Given))
        self._topic = TopicSchemas(language, handle, topic, is_key, known, framed, all_given, has_registry)
        self._reader = FramedReader(self._topic, wanted, checked, limits)
        writer = MembersWriter if language.members() else FramedWriter
        self._writer = writer(self._topic, given, checked, limits)
        self._one_reader = ObjectsReader(self._topic, self._reader)
        self._one_writer = ObjectsWriter(self._topic, self._writer)

    def __repr__(self) -> str:
        topic = self._topic
        key = ", is_key=True" if topic.is_key else ""
        frame = "" if topic.frame == CONFLUENT else f", frame={topic.frame!r}"
        return f"Serde({topic.format.name!r}, {topic.registry!r}, topic={topic.topic!r}{key}{frame})"

    @property
    def registry(self) -> SchemaRegistry:
        """The registry's handle."""
        return self._topic.registry

    @property
    def topic(self) -> str | None:
        """The topic that subjects are named after; None if none was given, or they are named after records alone."""
        return None if self._topic.config.name_strategy is record_subject else self._topic.topic

    @property
    def header(self) -> str:
        """Name of the Kafka header that a schema id travels in, where it is not a prefix."""
        return self._topic.header

    @property
    def frame(self) -> Frame:
        """What names the schema of a value."""
        return self._topic.frame

    @property
    def writes_headers(self) -> bool:
        """Whether the schema id of what is written goes to that header: see `serialize_with_headers`."""
        return self._topic.config.header_out

    @property
    def reader_schema(self) -> str | None:
        """Text of the schema that columns are read as; None while it depends on the first value.

        Raises
        ------
        RegistryError, SchemaError, ConfigError
            If it is asked for now, and cannot be had.
        """
        decoder = self._reader.decoder()
        return None if decoder is None else decoder.text

    @property
    def metrics(self) -> SerdeMetrics:
        """Counts of what this object has read; a copy made by pickling counts for itself."""
        return self._reader.meter.metrics()

    @property
    def arrow_type(self) -> pa.DataType | None:
        """Type of the columns that are read; None while it depends on the first value."""
        decoder = self._reader.decoder()
        return None if decoder is None else decoder.arrow_type

    @property
    def message_names(self) -> list[str]:
        """Full names of the messages that the schema to read as declares, if it is known and its format has messages.

        Raises
        ------
        RegistryError, SchemaError, ConfigError
            If it is asked for now, and cannot be had.
        """
        return list(self._reader.message_names())

    def line_reader(self) -> Callable[[list[bytes]], pa.Array] | None:
        """Return what reads lines of the format's own JSON, such as Avro's JSON encoding, as columns of `arrow_type`.

        Lines of plain JSON, or of neither, are null. None if the format has no JSON of its own, or no schema is known.

        Raises
        ------
        RegistryError, SchemaError, ConfigError
            If the schema is asked for now, and cannot be had.
        """
        return self._reader.line_reader()

    def select(self, fields: Sequence[str]) -> "Serde":
        """Return the serde that reads nothing but some fields, dotted for those of nested records.

        It is this one if it reads chosen fields already, or its format cannot leave others out.
        """
        reader = self._reader.select(fields)
        if reader is self._reader:
            return self
        made = copy.copy(self)
        made._reader = reader
        made._one_reader = ObjectsReader(made._topic, reader)
        return made

    def fetch(self, schemas: Iterable[int | RegisteredSchema]) -> None:
        """Fetch schemas, so that reading their values later makes no request.

        Parameters
        ----------
        schemas : iterable of int or RegisteredSchema
            Their ids; one that the registry does not have is passed over. Or what it has been asked for already.

        Raises
        ------
        RegistryError
            If the registry cannot be asked.
        """
        self._reader.fetch(schemas)

    def deserialize(
        self, values: Payloads, errors: str = "raise", headers: Any = None, *, use_threads: bool = False
    ) -> Any:
        """Read a column of framed values.

        Parameters
        ----------
        values : pyarrow.Array, ChunkedArray, list of bytes or None, or an Arrow producer
            Binary or string of any layout; nulls stay null.
        errors : {"raise", "null", "report"}
            What becomes of a row that cannot be read: an exception; a null; or a null and a row of the
            report.
        headers : pyarrow.Array, ChunkedArray, list, or an Arrow producer, optional
            One per value: the content of the header `header` (binary, null where there is none), or all
            headers of the record (``list<struct<key: string, value: binary>>`` as Spark has them, or lists of
            pairs), of which the last of that name counts. A value whose header names its schema has no
            prefix.
        use_threads : bool
            Whether the rows are shared among threads, as many as `pyarrow.cpu_count` says: from 10,000 rows on.
            The result comes in chunks.

        Returns
        -------
        pyarrow.Array or pyarrow.ChunkedArray
            In chunks if the values were, with `use_threads`, or of a list of more than 2 GiB; of type null if no value
            ever named a schema. With ``errors="report"`` a pair of it and a `pyarrow.Table` with the columns ``row``,
            ``offset`` (byte in the row's value), ``path``, ``code``, ``reason`` and ``schema_id``.

        Raises
        ------
        DecodeError
            If ``errors="raise"``: the first row that cannot be read. An id that the registry does not have is
            ``unknown_schema_id``, and so is, with a reason of its own, an id that it was not asked for because
            100 others of the column were not there; a schema that cannot be used is ``schema_error``.
        RegistryError
            If the registry cannot be asked. With ``errors="report"`` and a reader's schema that is known, it
            is an error of the rows whose schema is missing instead, ``registry_error``; the next column asks
            again.
        ConfigError, TypeError
            If the subject cannot be named, or the values are not a column of payloads.
        """
        return self._reader.read(values, Run(errors, use_threads=use_threads), headers)

    def serialize(
        self, array: Columns, errors: str = "raise", *, as_list: bool = False, use_threads: bool = False
    ) -> Any:
        r"""Write a column with the prefix that names its schema.

        Parameters
        ----------
        array : pyarrow.Array, ChunkedArray, RecordBatch, Table, list, or an Arrow producer
            What to write; nulls stay null. A list holds Python values, dicts for records.
        errors : {"raise", "null", "report"}
            What becomes of a row that cannot be written, as in `deserialize`.
        as_list : bool
            Whether the result is a list of bytes and None, as producers of other libraries take them.
        use_threads : bool
            Whether the rows are shared among threads, as in `deserialize`.

        Returns
        -------
        pyarrow.Array, pyarrow.ChunkedArray or list
            Binary, in chunks if the column was or with `use_threads`; with ``errors="report"`` a pair of it and
            the report.

        Raises
        ------
        EncodeError
            If ``errors="raise"``: the first row that cannot be written. Its schema is then registered
            already, as by Confluent's serializer.
        RegistryError
            If the registry refuses the schema or does not have it.
        SchemaError
            If the column has no schema, the subject is named after a record that it is not, or a check of
            ``*.compatibility.strict`` fails.
        ConfigError
            If the subject cannot be named, or the schema id goes to a header: see `serialize_with_headers`.

        Examples
        --------
        >>> serde = Serde("AVRO", "memory://list-example", topic="orders", schema='"long"')
        >>> serde.serialize([7, None], as_list=True)
        [b'\x00\x00\x00\x00\x01\x0e', None]
        """
        if self._topic.config.header_out:
            raise ConfigError(_HEADERS_OUT)
        return self._writer.write(array, Run(errors, as_list=as_list, use_threads=use_threads))[0]

    def serialize_one(self, value: Any, *, unions: str = "members") -> bytes | None:
        r"""Write one value, as a loop over messages does.

        With a `schema`, or one that a setting chooses, no column is made, but for what is odd or wrong in messages of
        Protobuf and documents, for several messages, and for what is validated, encrypted or compressed: these are
        written as a column of one row, which takes many times as long.

        Parameters
        ----------
        value : object
            A Python value, a dict for a record, or what else `kcodec.AvroCodec.encode_one` takes for one; None stays
            None.
        unions : {"members", "value"}
            How values of unions are given: see `kcodec.AvroCodec.encode_one`. Other formats have ``"members"``.

        Raises
        ------
        EncodeError, RegistryError, SchemaError, ConfigError
            As `serialize`.
        TypeError
            If the value is written as a column, and does not fit the schema's type.

        Examples
        --------
        >>> schema = {"type": "record", "name": "R", "fields": [{"name": "id", "type": "long"}]}
        >>> serde = Serde("AVRO", "memory://one-example", topic="orders", schema=schema)
        >>> serde.serialize_one({"id": 7})
        b'\x00\x00\x00\x00\x01\x0e'
        """
        if self._topic.config.header_out:
            raise ConfigError(_HEADERS_OUT)
        return self._one_writer.write(value, unions)

    @quick_deserialize_one
    def deserialize_one(
        self,
        value: bytes | None,
        headers: Any = None,
        *,
        maps: str | None = None,
        unions: str = "members",
        into: Any = None,
    ) -> Any:
        r"""Read one value, as a loop over messages does.

        No column is made, but for what is odd or wrong, for payloads of several messages, and for what is validated or
        encrypted: these are read as a column of one row, which takes many times as long.

        Parameters
        ----------
        value : bytes or None
            Framed; None stays None.
        headers : bytes or list of pairs, optional
            Those of the message: the content of the header `header`, or all of them.
        maps, unions, into
            The form of the object: see `kcodec.AvroCodec.decode_one`. With encrypted fields, not ``unions="value"``.

        Returns
        -------
        object
            As ``as_py`` of Arrow gives it: a dict for a record.

        Raises
        ------
        DecodeError, RegistryError, ConfigError
            As `deserialize`.

        Examples
        --------
        >>> serde = Serde("AVRO", "memory://one-example-2", topic="orders", schema='"string"')
        >>> serde.deserialize_one(serde.serialize_one("text"))
        'text'
        """
        return self._one_reader.read(value, headers, maps, unions, into)

    def serialize_with_headers(
        self, array: Columns, errors: str = "raise", *, as_list: bool = False, use_threads: bool = False
    ) -> tuple[Any, Any]:
        r"""Write a column without prefix, and the column of the headers that name its schema.

        Parameters
        ----------
        array : pyarrow.Array, ChunkedArray, RecordBatch, Table, or an Arrow producer
            What to write; nulls stay null.
        errors : {"raise", "null", "report"}
            As in `serialize`.
        as_list, use_threads : bool
            As in `serialize`; a list comes with a list of headers.

        Returns
        -------
        tuple
            What `serialize` returns, and a binary `pyarrow.Array` with one row per value: the content of the
            header `header`, null where the value is null. It is what `deserialize` takes as ``headers``. Where another
            header names the message of Protobuf payloads, as Apicurio's do, it is a column of lists of both, with their
            names.

        Raises
        ------
        ConfigError
            Unless ``value.schema.id.serializer`` (or that of keys) is HeaderSchemaIdSerializer, or the frame stands in
            a header; otherwise as `serialize`.

        Examples
        --------
        >>> import pyarrow as pa
        >>> serializer = {"value.schema.id.serializer": "HeaderSchemaIdSerializer"}
        >>> serde = Serde("AVRO", "memory://header-example", topic="t", schema='"int"', config=serializer)
        >>> values, headers = serde.serialize_with_headers(pa.array([1, None]))
        >>> values.to_pylist(), headers[0].as_py().hex()
        ([b'\x02', None], '01ef524ea1b91e73173d938ade36c1db32')
        >>> serde.deserialize(values, headers=headers).to_pylist()
        [1, None]
        """
        if not self._topic.config.header_out:
            raise ConfigError("serialize_with_headers needs HeaderSchemaIdSerializer, or a frame in a header")
        encoded, named = self._writer.write(array, Run(errors, as_list=as_list, use_threads=use_threads))
        values = encoded[0] if errors == "report" else encoded
        # More than one is told with names.
        several = bool(self._topic.message_header)
        header: Any = None
        if named:
            header = [{"key": name, "value": content} for name, content in named] if several else named[0][1]
        if as_list:
            return encoded, [None if value is None else header for value in values]
        flat = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
        one = pa.array([header, None], HEADERS if several else pa.binary())
        return encoded, one.take(pc.if_else(flat.is_valid(), 0, 1))


def _given(language: SchemaFormat, schema: object) -> Given:
    if isinstance(schema, Schema):
        return Given(schema)
    return Given(Schema(language.given_text(schema), language.type), language.given_imports(schema))


def _wanted(language: SchemaFormat, reader_schema: object) -> Given | int | str | None:
    """Return a reader's schema in the form that it was given: a schema, an id, or a version of the subject."""
    if reader_schema is None:
        return None
    if is_whole(reader_schema):
        return reader_schema
    if isinstance(reader_schema, str):
        kind, colon, number = reader_schema.partition(":")
        if reader_schema == "latest":
            return reader_schema
        if colon and kind in ("id", "version") and number.isdecimal() and len(number) <= 20:
            return int(number) if kind == "id" else reader_schema
    return _given(language, reader_schema)

"""Serdes: what a producer's serializer and a consumer's deserializer do, for whole columns."""

import json
import threading
import uuid
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from kcodec import registry as registries
from kcodec._impl import kernel
from kcodec.codec import Codec, check_errors
from kcodec.columns.source import arrays, payloads
from kcodec.errors import CODES, ConfigError, DecodeError, EncodeError, Fault, RegistryError, SchemaError
from kcodec.formats.avro.codec import AvroReader, AvroWriter, schema_text
from kcodec.formats.avro.schema import PRIMITIVES, parse, same
from kcodec.formats.avro.types import TypeOptions, derive_schema
from kcodec.plan import Limits, Plan
from kcodec.registry.base import RegisteredSchema, Schema, SchemaRegistry
from kcodec.formats.avro.compatibility import can_read
from kcodec.registry.references import resolve
from kcodec.serde.config import SerdeConfig
from kcodec.serde.frames import Framed, from_headers, one_schema, prefixed, schema_headers
from kcodec.serde.metrics import Meter, SerdeMetrics, logger

__all__ = ["Serde"]

#: Arrow types whose columns an encoder is kept for.
_KEPT = 32

#: Ids that the registry does not have, for which it is asked for one column. Any bytes may be ids, and Confluent's
#: clients too remember only those that exist.
_MISSES = 100
_NOT_ASKED = (
    f"one of more than {_MISSES} ids in these values that are not known, too many to ask the registry for"
)


class _Text(NamedTuple):
    """An Avro schema and those it refers to, deepest first."""

    text: str
    named: tuple[str, ...] = ()


class _Source(NamedTuple):
    """How the payloads of one schema id are read: by a plan, as they are, or not at all."""

    schema_id: int | None
    plan: Plan | None = None
    raw: bool = False
    code: str = ""
    reason: str = ""


class _Target(NamedTuple):
    """What a column is written as, and what it is read as before that, if that is another schema."""

    schema_id: int | None
    guid: str
    schema: _Text
    given: _Text | None = None


class Serde:
    r"""A format, its frame and a registry, tied together for columns.

    Reading, the schema id (or GUID) of every value is looked at, each id is fetched once and for good, and
    all values come out as one reader's schema, whatever mix of ids the column holds. That schema is, in this
    order: `reader_schema`; the subject's latest version, when the first column is read; the schema of the
    first value that has one. It stays what it then was.

    Writing, a schema is chosen as Confluent's serializer chooses it: registered (``auto.register.schemas``,
    the default), else that of ``use.schema.id``, ``use.schema.guid``, ``use.latest.with.metadata`` or
    ``use.latest.version``, else found under the subject. That choice too is made once per schema. Where it is
    not `schema` itself, the column's values are those of `schema`, resolved by Avro's rules as the chosen
    schema's: a field that it lacks is dropped, one that it adds gets its default, and what does not fit is an
    error of its row. Without `schema`, columns are matched with the fields of the chosen schema by name.

    A serde may be used by several threads at once, and pickles with its registry's handle and with every plan
    it has made: for ids it has seen it makes no request.

    Parameters
    ----------
    format : {"AVRO"}
        The format.
    registry : SchemaRegistry or str, optional
        A handle of `kcodec.registry.open`, or its URL; by default ``schema.registry.url`` of `config`.
    topic : str, optional
        The topic, which the subject is named after.
    is_key : bool
        Whether the columns are keys.
    schema : str, dict, list or kcodec.registry.Schema, optional
        What is written: a schema with references is given as a `Schema`. By default it is derived from the
        Arrow type of the column.
    reader_schema : str, int, dict, list or kcodec.registry.Schema, optional
        What is read: a schema; ``"latest"`` or ``"version:3"`` of the subject; an id, as a number or
        ``"id:7"``.
    config : mapping, optional
        Settings under Confluent's own keys, see `kcodec.serde.config.KEYS`.
    options : TypeOptions, optional
        How schemas are laid out in columns.
    limits : Limits, optional
        What one row may cost.

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
        registry: SchemaRegistry | str | None = None,
        *,
        topic: str | None = None,
        is_key: bool = False,
        schema: object | None = None,
        reader_schema: object | None = None,
        config: Mapping[str, Any] | None = None,
        options: TypeOptions | None = None,
        limits: Limits | None = None,
    ) -> None:
        if format != "AVRO":
            raise ConfigError(f"format {format!r} is not one of AVRO")
        if config is not None and not isinstance(config, Mapping):
            raise ConfigError(f"config is a mapping of settings, not {type(config).__name__}")
        if options is not None and not isinstance(options, TypeOptions):
            raise ConfigError(f"options= are kcodec.TypeOptions, not {type(options).__name__}")
        config = config or {}
        self._config = SerdeConfig.of(config, is_key)
        self._registry = _registry(registry, config.get("schema.registry.url"))
        self._topic = topic
        self._is_key = is_key
        self._schema = None if schema is None else _schema(schema)
        self._wanted = _wanted(reader_schema)
        self._options = options or TypeOptions()
        self._limits = Limits.of(limits)
        self._reader: _Text | None = None
        self._sources: dict[int | bytes, _Source] = {}
        self._targets: dict[Schema, _Target] = {}
        self._start()

    def _start(self) -> None:
        """Make what does not pickle."""
        self._lock = threading.RLock()
        self._avro_reader: AvroReader | None = None
        self._programs: dict[tuple[str, int | bytes], Any] = {}
        self._writers: dict[_Text, AvroWriter] = {}
        self._conversions: dict[tuple[str, AvroWriter, AvroWriter], Any] = {}
        self._derived: dict[pa.DataType, Schema] = {}
        self._meter = Meter()

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        for name in (
            "_lock",
            "_avro_reader",
            "_programs",
            "_writers",
            "_conversions",
            "_derived",
            "_meter",
        ):
            del state[name]
        with self._lock:
            state["_sources"], state["_targets"] = dict(self._sources), dict(self._targets)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._start()

    def __repr__(self) -> str:
        key = ", is_key=True" if self._is_key else ""
        return f"Serde('AVRO', {self._registry!r}, topic={self._topic!r}{key})"

    @property
    def registry(self) -> SchemaRegistry:
        """The registry's handle."""
        return self._registry

    @property
    def header(self) -> str:
        """Name of the Kafka header that a schema id travels in, where it is not a prefix."""
        return "__key_schema_id" if self._is_key else "__value_schema_id"

    @property
    def reader_schema(self) -> str | None:
        """Text of the schema that columns are read as; None while it depends on the first value.

        Raises
        ------
        RegistryError, SchemaError, ConfigError
            If it is asked for now, and cannot be had.
        """
        with self._lock:
            self._find_reader(None)
            return None if self._reader is None else self._reader.text

    @property
    def metrics(self) -> SerdeMetrics:
        """Counts of what this object has read; a copy made by pickling counts for itself."""
        return self._meter.metrics()

    @property
    def arrow_type(self) -> pa.DataType | None:
        """Type of the columns that are read; None while it depends on the first value."""
        with self._lock:
            self._find_reader(None)
            return None if self._reader is None else self._layout().arrow_type

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
        with self._lock:
            self._find_reader(None)
            for each in schemas:
                if isinstance(each, int):
                    self._source(each)
                elif each.id is not None:
                    self._source(each.id, each)

    def deserialize(self, values: Any, errors: str = "raise", headers: Any = None) -> Any:
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

        Returns
        -------
        pyarrow.Array or pyarrow.ChunkedArray
            In chunks if the values were; of type null if no value ever named a schema. With
            ``errors="report"`` a pair of it and a `pyarrow.Table` with the columns ``row``, ``offset`` (byte
            in the row's value), ``path``, ``code``, ``reason`` and ``schema_id``.

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
        check_errors(errors)
        chunks, chunked = payloads(values)
        framed = self._frames(chunks, headers)
        # In the order of the first rows: the first schema may be the reader's.
        keys = dict.fromkeys(key for part in framed for key in part.used)
        sources = {key: self._sources[key] for key in keys if key in self._sources}
        if len(sources) < len(keys) or self._reader is None:
            with self._lock:
                self._find_reader(None)
                sources = self._look_up(list(keys), errors)
        kind = pa.null() if self._reader is None else self._layout().arrow_type
        return Codec._run(
            lambda part, stop: self._decode(part, sources, kind, stop),
            framed,
            chunked,
            kind,
            errors,
            DecodeError,
        )

    def serialize(self, array: Any, errors: str = "raise") -> Any:
        """Write a column with the prefix that names its schema.

        Parameters
        ----------
        array : pyarrow.Array, ChunkedArray, RecordBatch, Table, or an Arrow producer
            What to write; nulls stay null.
        errors : {"raise", "null", "report"}
            What becomes of a row that cannot be written, as in `deserialize`.

        Returns
        -------
        pyarrow.Array or pyarrow.ChunkedArray
            Binary, in chunks if the column was; with ``errors="report"`` a pair of it and the report.

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
        """
        if self._config.header_out:
            raise ConfigError(
                "HeaderSchemaIdSerializer: use serialize_with_headers, which returns the headers too"
            )
        return self._serialize(array, errors)[0]

    def serialize_with_headers(self, array: Any, errors: str = "raise") -> tuple[Any, Any]:
        r"""Write a column without prefix, and the column of the headers that name its schema.

        Parameters
        ----------
        array : pyarrow.Array, ChunkedArray, RecordBatch, Table, or an Arrow producer
            What to write; nulls stay null.
        errors : {"raise", "null", "report"}
            As in `serialize`.

        Returns
        -------
        tuple
            What `serialize` returns, and a binary `pyarrow.Array` with one row per value: the content of the
            header `header`, null where the value is null. It is what `deserialize` takes as ``headers``.

        Raises
        ------
        ConfigError
            Unless ``value.schema.id.serializer`` (or that of keys) is HeaderSchemaIdSerializer; otherwise as
            `serialize`.

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
        if not self._config.header_out:
            raise ConfigError("serialize_with_headers needs HeaderSchemaIdSerializer")
        encoded, guid = self._serialize(array, errors)
        values = encoded[0] if errors == "report" else encoded
        flat = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
        header = None if guid is None else b"\x01" + uuid.UUID(guid).bytes
        headers = pc.if_else(flat.is_valid(), pa.scalar(header, pa.binary()), pa.scalar(None, pa.binary()))
        return encoded, headers

    # Reading
    # -------------------------------------------------------------------------------------------------

    def _frames(self, chunks: list[pa.Array], headers: Any) -> list[Framed]:
        framing = self._config.framing
        if framing == "config":
            key = self._config.use_id if self._config.use_guid is None else _guid_bytes(self._config.use_guid)
            if self._config.use_id is not None:
                key = self._config.use_id
            if key is None:
                raise ConfigError("ConfigSchemaIdDeserializer needs use.schema.id or use.schema.guid")
            return [one_schema(chunk, key) for chunk in chunks]
        if framing == "prefix" or (framing == "dual" and headers is None):
            return [prefixed(chunk) for chunk in chunks]
        if headers is None:
            raise ConfigError("HeaderSchemaIdDeserializer needs headers=")
        column = schema_headers(headers, self.header)
        rows = sum(map(len, chunks))
        if len(column) != rows:
            raise ConfigError(f"{len(column)} headers for {rows} values")
        framed, row = [], 0
        for chunk in chunks:
            framed.append(from_headers(chunk, column.slice(row, len(chunk)), framing == "dual"))
            row += len(chunk)
        return framed

    def _look_up(self, keys: list[int | bytes], errors: str) -> dict[int | bytes, _Source]:
        """Find out how the payloads of ids are read, at the cost of one failure of the registry at most."""
        sources: dict[int | bytes, _Source] = {}
        failure, misses = "", 0
        # Keys come in the order of their first rows: if only the first bad row counts, no key after one that is not
        # there matters.
        most = 1 if errors == "raise" else _MISSES
        for key in keys:
            new = key not in self._sources
            try:
                if new and failure:
                    source = _unread(key, "registry_error", failure)
                elif new and misses >= most:
                    source = _unread(key, "unknown_schema_id", _NOT_ASKED)
                else:
                    source = self._source(key)
            except RegistryError as error:
                if errors != "report":
                    raise
                failure = f"{CODES['registry_error']}: {error}"
                logger.warning("%s", failure, extra={"schema_id": key})
                source = _unread(key, "registry_error", failure)
            misses += source.code == "unknown_schema_id"
            sources[key] = source
        return sources

    def _source(self, key: int | bytes, registered: RegisteredSchema | None = None) -> _Source:
        """Find out how the payloads of an id are read; only that an id is unknown is not kept."""
        known = self._sources.get(key)
        if known is not None:
            return known
        if registered is None:
            try:
                if isinstance(key, int):
                    registered = self._registry.get(key)
                else:
                    registered = self._registry.get_by_guid(str(uuid.UUID(bytes=key)))
            except RegistryError as error:
                if error.status != 404:
                    raise
                return _unread(key, "unknown_schema_id", CODES["unknown_schema_id"])
            self._meter.fetched(key, self._registry.url)
        schema_id = key if isinstance(key, int) else registered.id
        try:
            self._find_reader(registered)
            source = self._resolve(schema_id, self._texts(registered.schema))
        except SchemaError as error:
            source = _Source(schema_id, code="schema_error", reason=str(error))
        self._sources[key] = source
        return source

    def _resolve(self, schema_id: int | None, writer: _Text) -> _Source:
        reader = self._layout()
        parsed = parse(writer.text, writer.named)
        roots = parsed.type, reader.schema.type
        if roots == ("bytes", "bytes"):
            return _Source(schema_id, raw=True)
        if parsed.type == "bytes" or roots == ("string", "bytes"):
            raise SchemaError(f"values of a root of {parsed.type} are not read as {reader.arrow_type}")
        return _Source(schema_id, reader.plan(parsed))

    def _find_reader(self, first: RegisteredSchema | None) -> None:
        """Decide what columns are read as, if that is possible yet; `first` is the first schema met."""
        if self._reader is not None:
            return
        found = self._reader_text(first)
        if found is None:
            return
        if parse(found.text, found.named).type == "bytes":
            found = _Text('"bytes"')
        self._avro_reader = AvroReader(found.text, found.named, options=self._options, limits=self._limits)
        self._reader = found

    def _reader_text(self, first: RegisteredSchema | None) -> _Text | None:
        wanted, config, registry = self._wanted, self._config, self._registry
        if isinstance(wanted, Schema):
            return self._texts(wanted)
        if isinstance(wanted, int):
            return self._texts(registry.get(wanted).schema)
        required = wanted is not None or config.use_latest or bool(config.use_metadata)
        try:
            subject = config.subject(
                registry, self._topic, self._is_key, None if first is None else first.schema
            )
        except (ConfigError, SchemaError):
            if required:
                raise
            subject = None
        if subject is not None:
            try:
                if wanted is None and config.use_metadata:
                    latest = registry.get_latest_with_metadata(subject, dict(config.use_metadata))
                elif wanted is None or wanted == "latest":
                    latest = registry.get_version(subject)
                else:
                    latest = registry.get_version(subject, int(wanted.removeprefix("version:")))
                return self._texts(latest.schema)
            except RegistryError as error:
                if required or error.status != 404:
                    raise
        return None if first is None or (required and subject is None) else self._texts(first.schema)

    def _layout(self) -> AvroReader:
        if self._avro_reader is None:
            assert self._reader is not None
            self._avro_reader = AvroReader(
                self._reader.text, self._reader.named, options=self._options, limits=self._limits
            )
        return self._avro_reader

    def _texts(self, schema: Schema) -> _Text:
        """Fetch what a schema refers to."""
        if schema.type != "AVRO":
            raise SchemaError(f"a schema of type {schema.type} is not Avro")
        try:
            return _Text(schema.text, tuple(each.schema.text for each in resolve(self._registry, schema)))
        except RegistryError as error:
            if error.status != 404:
                raise
            raise SchemaError(f"a reference does not exist: {error}") from error

    def _program(self, module: Any, key: int | bytes, source: _Source) -> Any:
        if source.plan is None:
            return None
        name = (module.__name__, key)
        program = self._programs.get(name)
        if program is None:
            # Threads that come here at once make the same program; the first one put there stays.
            program = self._programs.setdefault(name, module.Program(source.plan, self._limits))
        return program

    def _decode(
        self, framed: Framed, sources: dict[int | bytes, _Source], kind: pa.DataType, stop: bool
    ) -> tuple[pa.Array, list[Fault]]:
        module = kernel("formats.avro._kernel")
        used = set(framed.used)
        found = [sources[key] if key in used else None for key in framed.keys]
        programs = [
            None if source is None else self._program(module, key, source)
            for key, source in zip(framed.keys, found, strict=True)
        ]
        faults = list(framed.faults)
        ids = memoryview(framed.selector).cast("B").cast("i")
        refused = {index: source for index, source in enumerate(found) if source is not None and source.code}
        for row in framed.rows(refused):
            source = refused[ids[row]]
            offset = None if framed.in_header(ids[row]) else 0
            faults.append(Fault(row, offset, "", source.code, source.reason, source.schema_id))
        if any(program is not None for program in programs):
            array, bad = module.decode(
                framed.values,
                programs,
                selector=framed.selector,
                starts=framed.starts,
                trailing=not self._config.fail_on_trailing,
                stop=stop,
            )
            faults += [fault._replace(schema_id=found[ids[fault.row]].schema_id) for fault in bad]
        else:
            array = pa.nulls(len(framed), kind)
        raw = [index for index, source in enumerate(found) if source is not None and source.raw]
        if raw and not (stop and faults):
            array = framed.payloads(raw, array)
        faults.sort(key=lambda fault: fault.row)
        there = [key for key in used if key in self._sources]
        self._meter.read(len(framed), there, faults[:1] if stop else faults)
        return array, faults

    # Writing
    # -------------------------------------------------------------------------------------------------

    def _serialize(self, array: Any, errors: str) -> tuple[Any, str | None]:
        check_errors(errors)
        chunks, chunked = arrays(array)
        kind = pa.large_binary() if self._options.large else pa.binary()
        if all(chunk.null_count == len(chunk) for chunk in chunks):
            return Codec._run(
                lambda chunk, stop: (pa.nulls(len(chunk), kind), []),
                chunks,
                chunked,
                kind,
                errors,
                EncodeError,
            ), None
        with self._lock:
            target = self._target(chunks[0].type)
            writer = self._writer(target.schema)
            given = None if target.given is None else self._writer(target.given)
            program = None
            if given is not None and writer.schema.type != "bytes":
                program = self._conversion(given, writer)
        prefix = b"" if self._config.header_out else b"\0" + (target.schema_id or 0).to_bytes(4, "big")

        def step(chunk: pa.Array, stop: bool) -> tuple[pa.Array, list[Fault]]:
            faults: list[Fault] = []
            if program is not None and given is not None:
                chunk, faults = given.encode(chunk, large=True, stop=stop)
                if not (stop and faults):
                    chunk, more = kernel("formats.avro._kernel").decode(chunk, [program], stop=stop)
                    faults += [fault._replace(offset=None) for fault in more]
            if stop and faults:
                encoded = chunk
            elif writer.schema.type == "bytes":
                encoded, faults = _raw(chunk, writer, prefix, kind)
            else:
                encoded, more = writer.encode(chunk, prefix=prefix, large=self._options.large, stop=stop)
                faults += more
            faults.sort(key=lambda fault: fault.row)
            return encoded, [fault._replace(schema_id=target.schema_id) for fault in faults]

        return Codec._run(step, chunks, chunked, kind, errors, EncodeError), target.guid

    def _target(self, kind: pa.DataType) -> _Target:
        schema = self._schema or self._derived.get(kind)
        if schema is None:
            while len(self._derived) >= _KEPT:
                del self._derived[next(iter(self._derived))]
            schema = self._derived[kind] = Schema(json.dumps(derive_schema(kind)))
        target = self._targets.get(schema)
        if target is None:
            while len(self._targets) >= _KEPT:
                del self._targets[next(iter(self._targets))]
            target = self._targets[schema] = self._choose(schema)
        return target

    def _writer(self, schema: _Text) -> AvroWriter:
        writer = self._writers.get(schema)
        if writer is None:
            while len(self._writers) >= _KEPT:
                del self._writers[next(iter(self._writers))]
            writer = AvroWriter(schema.text, schema.named, options=self._options, limits=self._limits)
            self._writers[schema] = writer
        return writer

    def _conversion(self, given: AvroWriter, writer: AvroWriter) -> Any:
        """Return the program that reads what one schema wrote as the other."""
        name = (kernel("formats.avro._kernel").__name__, given, writer)
        program = self._conversions.get(name)
        if program is None:
            while len(self._conversions) >= _KEPT:
                del self._conversions[next(iter(self._conversions))]
            reader = AvroReader(writer.schema, options=self._options, limits=self._limits)
            program = self._conversions[name] = reader.program(given.schema)
        return program

    def _choose(self, schema: Schema) -> _Target:
        """Choose what a column is written as, in the order of Confluent's ``AbstractKafkaAvroSerializer``."""
        config, registry = self._config, self._registry
        if config.remove_java:
            schema = _without_java(schema)
        subject = config.subject(registry, self._topic, self._is_key, schema)
        if subject is None:
            raise ConfigError("the subject name strategy gives no subject")
        if config.auto_register:
            found = registry.register(subject, schema, normalize=config.normalize)
            return _Target(found.id, found.guid, self._texts(schema))
        if config.use_id is not None:
            found = registry.get(config.use_id)
            return self._checked(found, schema, config.id_strict, "id")
        if config.use_guid is not None:
            chosen = registry.get_by_guid(config.use_guid)
            target = self._checked(chosen, schema, config.id_strict, "id")
            found = registry.lookup(subject, chosen.schema, normalize=config.normalize)
            return target._replace(schema_id=found.id)
        if config.use_metadata:
            found = registry.get_latest_with_metadata(subject, dict(config.use_metadata))
            return self._checked(found, schema, False, "latest")
        if config.use_latest:
            found = registry.get_version(subject)
            return self._checked(found, schema, config.latest_strict, "latest")
        found = registry.lookup(subject, schema, normalize=config.normalize)
        return _Target(found.id, found.guid, self._texts(schema))

    def _checked(self, found: RegisteredSchema, schema: Schema, strict: bool, name: str) -> _Target:
        chosen = self._texts(found.schema)
        if self._schema is None:
            return _Target(found.id, found.guid, chosen)
        given = self._texts(schema)
        reader, writer = parse(chosen.text, chosen.named), parse(given.text, given.named)
        if strict and not can_read(reader, writer):
            raise SchemaError(
                f"Incompatible schema of type 'AVRO'. Set {name}.compatibility.strict=false to disable this "
                "check"
            )
        return _Target(found.id, found.guid, chosen, None if same(reader, writer) else given)


def _unread(key: int | bytes, code: str, reason: str) -> _Source:
    return _Source(key if isinstance(key, int) else None, code=code, reason=reason)


def _registry(registry: SchemaRegistry | str | None, url: Any) -> SchemaRegistry:
    if registry is None:
        registry = url
    elif url is not None:
        raise ConfigError("schema.registry.url and a registry are both given")
    if registry is None:
        raise ConfigError("no registry is given")
    if isinstance(registry, str):
        return registries.open(registry)
    if not isinstance(registry, SchemaRegistry):
        raise ConfigError(f"a registry is a URL or a handle, not {type(registry).__name__}")
    return registry


def _schema(schema: object) -> Schema:
    if isinstance(schema, Schema):
        return schema
    if isinstance(schema, str):
        return Schema(json.dumps(schema.strip()) if schema.strip() in PRIMITIVES else schema)
    if isinstance(schema, (dict, list)):
        return Schema(schema_text(schema))
    raise ConfigError(f"a schema is JSON text, a dict, a list or a Schema, not {type(schema).__name__}")


def _wanted(reader_schema: object) -> Schema | int | str | None:
    """Tell what a reader's schema is given as: itself, an id, or a version of the subject."""
    if reader_schema is None or reader_schema == "latest":
        return None if reader_schema is None else "latest"
    if isinstance(reader_schema, int) and not isinstance(reader_schema, bool):
        return reader_schema
    if isinstance(reader_schema, str):
        kind, colon, number = reader_schema.partition(":")
        if colon and kind in ("id", "version") and number.isdecimal():
            return int(number) if kind == "id" else reader_schema
    return _schema(reader_schema)


def _guid_bytes(guid: str) -> bytes:
    try:
        return uuid.UUID(guid).bytes
    except ValueError:
        raise ConfigError(f"use.schema.guid={guid!r} is not a GUID") from None


def _raw(
    array: pa.Array, writer: AvroWriter, prefix: bytes, kind: pa.DataType
) -> tuple[pa.Array, list[Fault]]:
    """Write the root type bytes: no length before the content."""
    faults: list[Fault] = []
    if pa.types.is_decimal(array.type):
        # At most 32 bytes, so that the length that comes before them is one byte.
        encoded, faults = writer.encode(array)
        plain = pc.binary_slice(encoded, 1, 2**31 - 1).cast(kind)
    else:
        try:
            if writer.schema.logical and (
                pa.types.is_string(array.type) or pa.types.is_large_string(array.type)
            ):
                raise TypeError(f"a column of {array.type} does not hold decimals")
            plain = payloads(array)[0][0].cast(kind)
        except TypeError as error:
            rows = pc.indices_nonzero(array.is_valid()).to_pylist()
            return pa.nulls(len(array), kind), [
                Fault(row, None, "", "type_mismatch", str(error)) for row in rows
            ]
    if not prefix:
        return plain, faults
    return pc.binary_join_element_wise(pa.scalar(prefix, kind), plain, pa.scalar(b"", kind)), faults


def _without_java(schema: Schema) -> Schema:
    """Leave out ``avro.java.string``, as ``avro.remove.java.properties`` asks."""

    def clean(node: Any) -> Any:
        if isinstance(node, list):
            return [clean(each) for each in node]
        if isinstance(node, dict):
            return {key: clean(each) for key, each in node.items() if key != "avro.java.string"}
        return node

    try:
        text = json.dumps(clean(json.loads(schema.text)), ensure_ascii=False)
    except (ValueError, RecursionError) as error:
        raise SchemaError(f"not JSON: {error}") from None
    return Schema(text, schema.type, schema.references, schema.metadata)

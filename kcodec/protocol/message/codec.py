"""Kafka's messages: a definition and its versions as a codec of columns and of single messages."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from kcodec._kept import Kept
from kcodec._lazy import compute as pc
from kcodec.codec import Codec, Numbered, Run
from kcodec.columns.arrays.given import arrays, payloads
from kcodec.columns.arrays.nested import cast_leaves
from kcodec.columns.types.exact import ExactType
from kcodec.errors import (
    ConfigError,
    DecodeError,
    EncodeError,
    Fault,
    check_booleans,
    check_choice,
    check_kind,
    is_whole,
)
from kcodec.objects.each import EachReader, EachWriter
from kcodec.objects.form import ObjectForm
from kcodec.objects.kernel import Reader, Writer
from kcodec.plan import Limits, Plan
from kcodec.protocol.message.headers import HEADER_TYPES, header_spec
from kcodec.protocol.message.json import from_json, to_json
from kcodec.protocol.message.kernel import kernel
from kcodec.protocol.message.plan import (
    UNKNOWN,
    MessagePart,
    decode_plan,
    encode_plan,
    failing_plan,
    message_type,
    written_type,
)
from kcodec.protocol.spec.message import MessageSpec
from kcodec.protocol.spec.versions import MAX_VERSION, Versions

__all__ = ["UNKNOWN", "MessageCodec"]

#: Arrow types whose programs an encoder keeps.
_KEPT = 64

#: Header -> where the version stands in a payload.
_VERSION_AT = {"version": 0, "request": 2}


class _Options(NamedTuple):
    """How messages are read and written; see `MessageCodec`."""

    header: str | None
    compat: str | None
    unknown_tags: bool
    large: bool
    trailing: bool
    limits: Limits


class MessageCodec(Codec):
    r"""Messages of one definition, at one version.

    Parameters
    ----------
    spec : MessageSpec or str
        The definition, or its JSON text.
    version : int
        Of the messages.
    header : {None, "request", "response", "version"}
        What stands before each message: nothing; the header of a request or response, whose version follows
        from the message's; or the int16 version that coordinators put before keys and values. With the headers
        of requests and responses, columns and dicts have two fields, ``header`` and ``body``. Headers of requests
        have the api key of the definition and the message's version, where they are left out too; others are
        errors.
    compat : {None, "kafka"}
        ``"kafka"`` reads all that Kafka's own reader accepts: any negative length as null, bytes that are no
        UTF-8 as U+FFFD, any tag order and size, any byte as a boolean or marker, bytes after the message,
        versions beyond those of the definition.
    unknown_tags : bool
        Whether decoded structs have a column ``_unknown_tagged_fields`` of the tags that the definition does
        not know. Dicts always hold them, where there are any.
    large : bool
        Whether text, bytes and arrays have 64-bit offsets; without it a column holds 2 GiB at most.
    trailing : bool
        Whether bytes after a message are accepted.
    limits : Limits, optional
        What one row may cost.

    Attributes
    ----------
    arrow_type : pyarrow.StructType
        A field for each one that a version has, named as in the JSON form.

    Raises
    ------
    SchemaError
        If the definition is wrong, or structs are nested deeper than 50 levels.
    ConfigError
        If another argument is wrong, or the version is not a valid one.

    Examples
    --------
    >>> codec = MessageCodec('''{"type": "data", "name": "Commit", "validVersions": "0-1", "flexibleVersions": "1+",
    ...   "fields": [{"name": "Offset", "type": "int64", "versions": "0+"},
    ...              {"name": "Note", "type": "string", "versions": "1+", "taggedVersions": "1+", "tag": 0}]}''', 1)
    >>> codec.decode([bytes(8) + b"\x01\x00\x03\x03ok", None]).to_pylist()
    [{'offset': 0, 'note': 'ok'}, None]
    >>> codec.encode_one({"offset": 1}).hex()
    '000000000000000100'
    """

    def __init__(
        self,
        spec: MessageSpec | str,
        version: int,
        *,
        header: str | None = None,
        compat: str | None = None,
        unknown_tags: bool = False,
        large: bool = False,
        trailing: bool = False,
        limits: Limits | None = None,
    ) -> None:
        options = _Options(header, compat, unknown_tags, large, trailing, Limits.of(limits))
        self._build(spec, (version,), options)

    def _build(self, spec: MessageSpec | str, versions: tuple[int, ...], options: _Options) -> None:
        check_booleans(unknown_tags=options.unknown_tags, large=options.large, trailing=options.trailing)
        self.spec = spec if isinstance(spec, MessageSpec) else MessageSpec.parse(spec)
        self._options = options
        self._check(versions)
        self.versions = tuple(sorted(set(versions)))
        self._arguments = {"spec": self.spec, "versions": self.versions, "options": options}
        self.arrow_type = self._type(versions, options.unknown_tags)
        self._encoded_type = pa.large_binary() if options.large else pa.binary()
        self._trailing = options.trailing or options.compat == "kafka"
        self._start = 2 if options.header == "version" else 0
        self._version_at = _VERSION_AT.get(options.header or "")
        self._api_key = self.spec.api_key if options.header == "request" else None
        self._plans = {version: decode_plan(self._parts(version), self.arrow_type) for version in versions}
        #: Those that depend on nothing but the version, by module and use.
        self._programs: dict[tuple[object, ...], Any] = {}
        #: Those by which columns are encoded, for each version.
        self._encoders: Kept[tuple[object, ...], list[Any]] = Kept(_KEPT)
        self._written_types: Kept[ExactType, pa.DataType] = Kept(_KEPT)

    @classmethod
    def for_versions(
        cls,
        spec: MessageSpec | str,
        versions: Iterable[int] | Versions | None = None,
        *,
        header: str | None = None,
        compat: str | None = None,
        unknown_tags: bool = False,
        large: bool = False,
        trailing: bool = False,
        limits: Limits | None = None,
    ) -> "MessageCodec":
        r"""Make a codec of messages of several versions, which share one set of columns.

        Parameters
        ----------
        spec : MessageSpec or str
            The definition, or its JSON text.
        versions : iterable of int, or Versions
            Which ones; by default all valid versions. Fields that a row's version does not have are at their
            defaults.
        header, compat, unknown_tags, large, trailing, limits
            As for `MessageCodec`.

        Examples
        --------
        >>> codec = MessageCodec.for_versions('''{"type": "data", "name": "M", "validVersions": "0-1",
        ...   "flexibleVersions": "none", "fields": [{"name": "A", "type": "int8", "versions": "0+"},
        ...   {"name": "B", "type": "int8", "versions": "1+", "default": "-1"}]}''')
        >>> codec.decode([b"\x05", b"\x06\x07"], versions=[0, 1]).to_pylist()
        [{'a': 5, 'b': -1}, {'a': 6, 'b': 7}]
        """
        spec = spec if isinstance(spec, MessageSpec) else MessageSpec.parse(spec)
        chosen = tuple(spec.valid_versions if versions is None else versions)
        options = _Options(header, compat, unknown_tags, large, trailing, Limits.of(limits))
        return _rebuild(cls, spec, chosen, options)

    def _check(self, versions: tuple[int, ...]) -> None:
        header, compat = self._options[:2]
        check_choice("header", header, (None, *HEADER_TYPES, "version"))
        check_choice("compat", compat, (None, "kafka"))
        if header in HEADER_TYPES and self.spec.type != header:
            raise ConfigError(f"{self.spec.name} is of type {self.spec.type}: it has no {header} header")
        if not versions:
            raise ConfigError("there must be at least one version")
        valid = self.spec.valid_versions
        for version in versions:
            if not is_whole(version):
                raise ConfigError(f"version {version!r} is not an int")
            if version not in valid and (compat != "kafka" or not 0 <= version <= MAX_VERSION):
                raise ConfigError(f"version {version} of {self.spec.name} is not one of {valid}")

    def _parts(self, version: int) -> list[MessagePart]:
        header = self._options.header
        if header not in HEADER_TYPES:
            return [MessagePart(self.spec, version)]
        fixed: tuple[str, ...] = ()
        before = header_spec(header)
        if header == "request":
            before = header_spec(header, self.spec.api_key, version)
            fixed = ("requestApiKey", "requestApiVersion")[self.spec.api_key is None :]
        return [
            MessagePart(before, self.spec.header_version(version), "header", fixed),
            MessagePart(self.spec, version, "body"),
        ]

    def _type(self, versions: Sequence[int], unknown_tags: bool) -> pa.StructType:
        large = self._options.large
        body = message_type(self.spec, versions, unknown_tags=unknown_tags, large=large)
        if self.header not in HEADER_TYPES:
            return body
        header_versions = {self.spec.header_version(version) for version in versions}
        spec = header_spec(self.header)
        return _framed(message_type(spec, header_versions, unknown_tags=unknown_tags, large=large), body)

    @property
    def version(self) -> int | None:
        """The version of all messages; None if there are several."""
        return self.versions[0] if len(self.versions) == 1 else None

    @property
    def header(self) -> str | None:
        """What stands before each message."""
        return self._options.header

    @property
    def decode_plan(self) -> Plan:
        """The decode plan of the highest version; ``str`` of it is a readable tree."""
        return self._plans[self.versions[-1]]

    def decode(
        self, values: Any, errors: str = "raise", *, versions: Any = None, use_threads: bool = False
    ) -> Any:
        """Decode a column of messages.

        Parameters
        ----------
        values : pyarrow.Array, ChunkedArray, list of bytes or None, or an Arrow producer
            Binary or string of any layout; nulls stay null.
        errors : {"raise", "null", "report"}
            What becomes of a row that cannot be decoded, as for every `Codec`.
        versions : pyarrow.Array or list of int, optional
            The version of each row. Needed by a codec of several versions, unless the rows begin with their
            version or the header of a request; then the version read there counts.
        use_threads : bool
            Whether the rows are shared among threads, as for every `Codec`.

        Returns
        -------
        pyarrow.StructArray or pyarrow.ChunkedArray
            Of `arrow_type`; with ``errors="report"`` a pair of it and the report.

        Raises
        ------
        DecodeError
            If ``errors="raise"``: the first row that cannot be decoded.
        ConfigError
            If the versions are missing.
        """
        run = Run(errors, use_threads=use_threads)
        parts, chunked = run.parts(payloads(values))
        pick = self._picker(versions, sum(map(len, parts)), decoding=True)
        module = kernel()
        programs = self._decoding(module, pick is not None)

        def step(part: Numbered, stop: bool) -> tuple[pa.Array, list[Fault]]:
            array = parts[part.at]
            return module.decode(
                array,
                programs,
                selector=None if pick is None else pick(array, part.start),
                start=self._start,
                trailing=self._trailing,
                stop=stop,
            )

        return run.result(step, Numbered.all(parts), chunked, self.arrow_type, DecodeError)

    def encode(
        self,
        array: Any,
        errors: str = "raise",
        *,
        versions: Any = None,
        as_list: bool = False,
        use_threads: bool = False,
    ) -> Any:
        """Encode a column of messages, or the columns of a table as one struct.

        Parameters
        ----------
        array : pyarrow.Array, ChunkedArray, RecordBatch, Table, list of dicts, or an Arrow producer
            Structs of any of the message's fields, of all of its versions. Fields that are not there are
            written as their defaults.
        errors : {"raise", "null", "report"}
            What becomes of a row that cannot be encoded, as for every `Codec`.
        versions : pyarrow.Array or list of int, optional
            The version to write each row at. Needed by a codec of several versions.
        as_list, use_threads : bool
            As for every `Codec`: whether the result is a list, whether the rows are shared among threads.

        Returns
        -------
        pyarrow.BinaryArray, pyarrow.ChunkedArray or list
            With ``errors="report"`` a pair of it and the report.

        Raises
        ------
        EncodeError
            If ``errors="raise"``: the first row that cannot be encoded.
        ConfigError
            If the versions are missing.
        """
        run = Run(errors, as_list=as_list, use_threads=use_threads)
        # Of a list, the columns are those that its dicts have.
        kind = self._every_field() if isinstance(array, (list, tuple)) else None
        parts, chunked = run.parts(arrays(array, kind))
        pick = self._picker(versions, sum(map(len, parts)), decoding=False)
        module = kernel()

        def step(part: Numbered, stop: bool) -> tuple[pa.Array, Sequence[Fault]]:
            array = parts[part.at]
            kind = self._written(array.type)
            return module.encode(
                cast_leaves(array, kind),
                self._encoding(module, kind, pick is not None),
                selector=None if pick is None else pick(array, part.start),
                large=self._options.large,
                stop=stop,
            )

        return run.result(step, Numbered.all(parts), chunked, self._encoded_type, EncodeError)

    def _picker(self, versions: Any, rows: int, decoding: bool) -> Any:
        """Return a function from a part of a column, and the row it starts at, to the programs of its rows.

        None if all rows have the only program.
        """
        at = self._version_at
        if decoding and versions is None and at is not None:
            known, key = self.versions, self._api_key
            return lambda array, start: kernel().version_selector(array, known, at, key)
        if versions is None:
            if len(self.versions) > 1:
                raise ConfigError(
                    f"{self.spec.name} has several versions here: versions= must give each row's"
                )
            return None
        if isinstance(versions, int):
            versions = [versions] * rows
        given = versions if isinstance(versions, (pa.Array, pa.ChunkedArray)) else _column(versions)
        if len(given) != rows:
            raise ConfigError(f"there are {len(given)} versions for {rows} rows")
        if not (pa.types.is_integer(given.type) or pa.types.is_null(given.type)):
            raise ConfigError(f"versions are integers, not {given.type}")
        # Unsigned ones that are too large become negative, which none of those known is.
        places = pc.index_in(given.cast(pa.int64(), safe=False), pa.array(self.versions, pa.int64()))
        places = pc.fill_null(places, len(self.versions))
        places = pa.concat_arrays(places.chunks) if isinstance(places, pa.ChunkedArray) else places
        buffer = places.buffers()[1] or pa.py_buffer(b"")
        return lambda array, start: buffer.slice((places.offset + start) * 4, len(array) * 4)

    def _program(self, module: Any, plan: Plan) -> Any:
        return module.Program(plan, self._options.limits, self._options.compat == "kafka")

    def _once(self, key: tuple[object, ...], make: Callable[[], Any]) -> Any:
        """Return what is kept for a key, or make it; threads that come here at once make the same."""
        kept = self._programs.get(key)
        return self._programs.setdefault(key, make()) if kept is None else kept

    def _failing(self, module: Any, kind: pa.DataType, direction: str) -> list[Any]:
        """Return a program for rows of all other versions, and one for those of other api keys."""
        reasons = (
            f"the version is not one of {', '.join(map(str, self.versions))}",
            f"the api key is not {self._api_key}",
        )
        plans = [failing_plan(kind, direction, reason) for reason in reasons]
        return [self._program(module, plan) for plan in plans]

    def _decoding(self, module: Any, picked: bool) -> list[Any]:
        """Return a program for each version; where rows are picked, those of `_failing` behind them."""

        def make() -> list[Any]:
            programs = [self._program(module, self._plans[version]) for version in self.versions]
            return [*programs, *self._failing(module, self.arrow_type, "decode")] if picked else programs

        return self._once((module, "decode", picked), make)

    def encode_plan(self, kind: pa.DataType, version: int | None = None) -> Plan:
        """Return the plan by which columns of an Arrow type are written at a version, by default the highest."""
        check_kind(pa.DataType, "an Arrow type", kind=kind)
        version = self.versions[-1] if version is None else self._version(version)
        prefix = version.to_bytes(2, "big") if self.header == "version" else b""
        return encode_plan(self._parts(version), self._written(kind), prefix)

    def _written(self, kind: pa.DataType) -> pa.DataType:
        return self._written_types.get(ExactType(kind), lambda: written_type(kind, self._every_field()))

    def _encoding(self, module: Any, kind: pa.DataType, picked: bool) -> list[Any]:
        """Return what `_decoding` does, for columns of an Arrow type."""

        def make() -> list[Any]:
            plans = [self.encode_plan(kind, version) for version in self.versions]
            programs = [self._program(module, plan) for plan in plans]
            return [*programs, *self._failing(module, kind, "encode")] if picked else programs

        return self._encoders.get((module, ExactType(kind), picked), make)

    # Single messages ------------------------------------------------------------------------------------

    def _version(self, version: int | None) -> int:
        if version is None:
            if len(self.versions) > 1:
                raise ConfigError(f"{self.spec.name} has several versions here: version= must choose one")
            return self.versions[0]
        if version not in self.versions:
            raise ConfigError(f"version {version} is not one of {', '.join(map(str, self.versions))}")
        return version

    def _object_reader(self, form: ObjectForm) -> Reader:
        self._check_form(form)
        return EachReader(lambda data, start: self.decode_one(bytes(data)[start:] if start else data))

    def _object_writer(self, form: ObjectForm) -> Writer:
        self._check_form(form)
        return EachWriter(self.encode_one)

    def decode_one(  # type: ignore[override]  # a message has a version, and no maps or unions
        self, data: bytes, version: int | None = None
    ) -> dict[str, Any]:
        r"""Decode one message.

        Parameters
        ----------
        data : bytes-like
            The message, with its header if there is one.
        version : int, optional
            Needed by a codec of several versions, if the message does not begin with its version.

        Returns
        -------
        dict
            The fields of its version, by the names of the JSON form; UUIDs as 16 bytes. Tags that the
            definition does not know are under ``_unknown_tagged_fields``, if there are any.

        Raises
        ------
        DecodeError
            If it cannot be decoded.

        Examples
        --------
        >>> codec = MessageCodec('''{"type": "data", "name": "M", "validVersions": "0", "flexibleVersions": "0+",
        ...   "fields": [{"name": "A", "type": "bool", "versions": "0+"}]}''', 0)
        >>> codec.decode_one(b"\x01\x01\x05\x02hi")
        {'a': True, '_unknown_tagged_fields': [{'tag': 5, 'data': b'hi'}]}
        """
        module = kernel()
        data = data if isinstance(data, bytes) else bytes(memoryview(data))
        chosen = (
            self._version(version) if version is not None or self._version_at is None else self._named(data)
        )
        program = self._programs.get((module, "decode_one", chosen))
        if program is None:
            plan = decode_plan(self._parts(chosen), self._type((chosen,), True))
            program = self._once((module, "decode_one", chosen), lambda: self._program(module, plan))
        message, fault = module.decode_one(data, program, start=self._start, trailing=self._trailing)
        if fault is not None:
            raise DecodeError(*fault)
        return message

    def encode_one(  # type: ignore[override]
        self, message: dict[str, Any], version: int | None = None
    ) -> bytes:
        """Encode one message.

        Parameters
        ----------
        message : dict
            Fields by the names of the JSON form; those that are not there are at their defaults.
        version : int, optional
            Needed by a codec of several versions.

        Raises
        ------
        EncodeError
            If a value does not fit its field, there is no such field, or the version does not have it and it
            is neither ignorable nor at its default.
        """
        module = kernel()
        version = self._version(version)
        program = self._programs.get((module, "encode_one", version))
        if program is None:
            plan = self.encode_plan(self._every_field(), version)
            program = self._once((module, "encode_one", version), lambda: self._program(module, plan))
        data, fault = module.encode_one(message, program)
        if fault is not None:
            raise EncodeError(*fault)
        return data

    def _named(self, data: bytes) -> int:
        """Return the version that a message names itself."""
        at = self._version_at or 0
        if len(data) < at + 2:
            return self.versions[0]
        if self._api_key not in (None, int.from_bytes(data[:2], "big", signed=True)):
            raise DecodeError(0, 0, "", "unsupported_version", f"the api key is not {self._api_key}")
        version = int.from_bytes(data[at : at + 2], "big", signed=True)
        if version not in self.versions:
            reason = f"the version {version} is not one of {', '.join(map(str, self.versions))}"
            raise DecodeError(0, at, "", "unsupported_version", reason)
        return version

    def _every_field(self) -> pa.StructType:
        """Return the type of all fields and tags that a dict may have."""
        large = self._options.large
        kind = message_type(self.spec, None, unknown_tags=True, large=large)
        if self.header not in HEADER_TYPES:
            return kind
        return _framed(message_type(header_spec(self.header), None, unknown_tags=True, large=large), kind)

    def size(self, message: dict[str, Any], version: int | None = None) -> int:
        """Return how many bytes `encode_one` writes; it raises the same errors."""
        return len(self.encode_one(message, version))

    def to_json(
        self, message: dict[str, Any], version: int | None = None, *, serialize_records: bool = True
    ) -> dict[str, Any]:
        """Turn a message into its JSON form, for `json.dumps`.

        Parameters
        ----------
        message : dict
            As `decode_one` returns it; fields that are not there are at their defaults.
        version : int, optional
            Needed by a codec of several versions.
        serialize_records : bool
            Whether records are written; if not, their number of bytes is, as ``<name>SizeInBytes``.

        Raises
        ------
        EncodeError
            If a field is set that the version does not have and that is not ignorable, or a value is not of its type.
        """
        check_booleans(serialize_records=serialize_records)
        body = (
            message.get("body", {}) if self.header in HEADER_TYPES and isinstance(message, dict) else message
        )
        return to_json(self.spec, self._version(version), body, serialize_records=serialize_records)

    def from_json(self, node: Any, version: int | None = None) -> dict[str, Any]:
        """Read the JSON form of a message, as `json.loads` returns it; keys that no field has are ignored.

        Returned are the fields of the version, and those of other versions that the JSON form holds.

        Raises
        ------
        EncodeError
            If a field is missing, or not of its type.
        """
        return from_json(self.spec, self._version(version), node, compat=self._options.compat)

    # ----------------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        many = len(self.versions) > 1
        shown = [self.spec.name, repr(list(self.versions) if many else self.versions[0])]
        options = self._options._asdict().items()
        shown += [f"{name}={value!r}" for name, value in options if value and value != Limits()]
        return f"MessageCodec{'.for_versions' if many else ''}({', '.join(shown)})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.spec, self.versions, self._options)


def _column(versions: Any) -> pa.Array:
    try:
        return pa.array(versions)
    except (pa.ArrowException, TypeError, OverflowError) as error:
        raise ConfigError(f"versions are no column of integers: {error}") from None


def _framed(header: pa.DataType, body: pa.DataType) -> pa.StructType:
    """Return the type of messages that have a header."""
    return pa.struct([pa.field("header", header, nullable=False), pa.field("body", body, nullable=False)])


def _rebuild(
    kind: type[MessageCodec], spec: MessageSpec, versions: tuple[int, ...], options: _Options
) -> MessageCodec:
    codec = kind.__new__(kind)
    codec._build(spec, versions, options)
    return codec

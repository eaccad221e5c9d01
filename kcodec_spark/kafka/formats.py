"""The formats of keys and values: the options of source and sink, and the codecs and serdes that they mean."""

import functools
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import pyarrow as pa

from kcodec import AvroCodec, JsonCodec, ProtobufCodec
from kcodec.columns.types.ddl import ddl_type
from kcodec.errors import ConfigError, SchemaError
from kcodec.formats.schema_format import find_schema_format, has_messages
from kcodec.formats.table import FORMATS, load
from kcodec_spark import avro, connect_json, protobuf
from kcodec_spark.functions.codecs import WRITTEN, RegistryPlace, known_type, registry_place
from kcodec_spark.functions.framed import framed_serde, framed_writer
from kcodec_spark.kafka.options import PAYLOAD, Given
from kcodec_spark.kafka.payload import Payload
from kcodec_spark.options import RowsOptions
from kcodec_spark.types.arrow import to_arrow_type

#: One word with an ending, which is no schema of any format.
_FILE_NAME = re.compile(r"""[^\s{}"']+\.[A-Za-z]+""")


class _Asked(NamedTuple):
    """What the options say about keys or values."""

    part: str
    format: str
    place: RegistryPlace | None
    schema: str | None
    #: Several messages are fields of a struct.
    message: str | list[str] | None
    fields: list[str] | None
    #: Options that only this format has.
    own: Mapping[str, str]

    @classmethod
    def of(cls, given: Given, part: str, format: str, topics: Sequence[str]) -> "_Asked":
        """Read options; `topics` are those that are named."""
        messages, fields = (_names(given.text(f"{part}.{name}")) for name in ("message", "fields"))
        if messages is not None and not has_messages(format):
            raise ConfigError(f"{part}.message is an option of protobuf")
        return cls(
            part,
            format,
            _place(given, part, format, topics),
            given.text(f"{part}.schema"),
            messages[0] if messages is not None and len(messages) == 1 else messages,
            fields,
            {name: value for name, value in given.names(f"{part}.").items() if name in _find(format).options},
        )

    @property
    def is_key(self) -> bool:
        return self.part == "key"

    @property
    def one_message(self) -> str | None:
        """The message, where only one is possible."""
        if isinstance(self.message, list):
            raise ConfigError(
                f"{self.part}.message: which of several messages a value is, its frame says: give schemaRegistryAddress"
            )
        return self.message

    def needed(self) -> str:
        """Return the schema; raise if none is given."""
        if self.schema is None:
            instead = ", or schemaRegistryAddress" if _is_registered(self.format) else ""
            raise ConfigError(f"{self.part}.schema is needed{instead}")
        return self.schema

    @contextmanager
    def named(self) -> Iterator[None]:
        """Name the option in errors of schemas, and say that it takes a text if it was given the name of a file."""
        try:
            yield
        except SchemaError as error:
            given = {"schema": self.schema, "avroSchema": self.own.get("avroSchema")}
            options = {f"{self.part}.{name}": text for name, text in given.items() if text is not None}
            for option, text in options.items():
                if _FILE_NAME.fullmatch(text):
                    raise SchemaError(
                        f"{option}={text!r} is not a schema: it takes the text of one, not the name of a file"
                    ) from None
            raise SchemaError(f"{' or '.join(options) or self.part}: {error}") from None


class _DerivedEncoder:
    """Encodes by a codec that is made for the type of the first column."""

    def __init__(self, make: Callable[[pa.DataType], Any]) -> None:
        self._make = make
        self._made: dict[pa.DataType, Any] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return _DerivedEncoder, (self._make,)

    def encode(self, column: pa.Array) -> Any:
        if column.type not in self._made:
            self._made[column.type] = self._make(column.type)
        made = self._made[column.type]
        return made(column) if callable(made) else made.encode(column)


def _names(text: str | None) -> list[str] | None:
    """Return names that commas stand between."""
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]


def _fields(asked: _Asked) -> dict[str, Any]:
    return {} if asked.fields is None else {"fields": tuple(asked.fields)}


def _selected(codec: Any, asked: _Asked) -> Any:
    if asked.fields is None:
        return codec
    found = codec.select(asked.fields)
    if found is codec:
        raise ConfigError(
            f"{asked.part}.fields: {asked.format.lower()} is read as a whole: select the columns"
        )
    return found


def _framed(asked: _Asked) -> Any:
    if asked.place is None:
        raise ConfigError(f"{asked.part}.format={asked.format.lower()} needs schemaRegistryAddress")
    return framed_serde(asked.format, *asked.place, asked.schema, _fields(asked), asked.message)


def _read_avro(asked: _Asked) -> Any:
    return avro.avro_codec(asked.schema, asked.own, asked.place, asked.fields)


def _write_avro(asked: _Asked) -> Any:
    return _DerivedEncoder(_derived_avro) if asked.schema is None else AvroCodec(asked.schema, **WRITTEN)


def _derived_avro(kind: pa.DataType) -> Any:
    return avro.derived_writer({}, pa.field("value", kind, False))


def _read_protobuf(asked: _Asked) -> Any:
    message = asked.message if asked.place is not None else asked.one_message
    return protobuf.protobuf_codec(asked.schema, message, asked.own, asked.place, asked.fields)


def _write_protobuf(asked: _Asked) -> Any:
    return ProtobufCodec(asked.needed(), asked.one_message, **protobuf.SIGNED, **WRITTEN)


def _read_json(asked: _Asked) -> Any:
    return _selected(JsonCodec(_json_type(asked.needed(), asked.part)), asked)


def _write_json(asked: _Asked) -> Any:
    return _DerivedEncoder(JsonCodec) if asked.schema is None else _read_json(asked)


def _read_connect(asked: _Asked) -> Any:
    return _selected(connect_json.connect_codec(asked.needed(), asked.own, is_key=asked.is_key), asked)


def _write_connect(asked: _Asked) -> Any:
    if asked.schema is not None:
        return _read_connect(asked)
    return _DerivedEncoder(
        functools.partial(connect_json.connect_codec, options=asked.own, is_key=asked.is_key)
    )


def _by_table(asked: _Asked) -> Any:
    """Return the serde where a registry has the schema, else the codec that the table of formats names."""
    known = FORMATS.get(asked.format)
    if known is None or known.codec is None or asked.place is not None:
        return _framed(asked)
    codec = load(known.codec)
    made = (
        codec(asked.format, asked.needed(), is_key=asked.is_key) if known.is_shared else codec(asked.needed())
    )
    return _selected(made, asked)


class _Format(NamedTuple):
    """How a format is read, and written without a registry, where Spark has its own ways or options of it."""

    read: Callable[[_Asked], Any] = _by_table
    write: Callable[[_Asked], Any] = _by_table
    options: tuple[str, ...] = ()
    #: What encoders with a registry are made with.
    written: Mapping[str, Any] = {}


#: What Spark adds to the table of formats. A document of JSON is of a type of Spark here, not of ksqlDB's columns.
_SPARKS = {
    "AVRO": _Format(_read_avro, _write_avro, avro.OPTIONS),
    "PROTOBUF": _Format(_read_protobuf, _write_protobuf, protobuf.OPTIONS, protobuf.SIGNED),
    "JSON": _Format(_read_json, _write_json),
    "CONNECT_JSON": _Format(_read_connect, _write_connect, connect_json.OPTIONS),
}
#: The options of any format.
FORMAT_OPTIONS = tuple(dict.fromkeys(name for each in _SPARKS.values() for name in each.options))


def _find(format: str) -> _Format:
    return _SPARKS.get(format) or _Format()


def format_of(given: Given, part: str) -> str | None:
    """Return the format of keys or values; None if they are bytes."""
    text = given.text(f"{part}.format")
    if text is None:
        if others := [name for name in given.names(f"{part}.") if name != "format"]:
            raise ConfigError(f"{part}.{others[0]} needs {part}.format, such as avro")
        return None
    name = text.strip().upper()
    if name not in FORMATS and find_schema_format(name) is None:
        known = ", ".join(map(str.lower, FORMATS))
        raise ConfigError(f"{part}.format={text!r} is not one of {known}")
    options = {*PAYLOAD, *_find(name).options}
    for other in given.names(f"{part}."):
        if other not in options:
            raise ConfigError(f"{part}.{other} is not an option of {name.lower()}")
    return None if name in FORMATS and FORMATS[name].is_plain else name


def _is_registered(format: str) -> bool:
    """Return whether a registry may have schemas of a format."""
    known = FORMATS.get(format)
    return find_schema_format(format) is not None if known is None else known.language is not None


def _place(given: Given, part: str, format: str, topics: Sequence[str]) -> RegistryPlace | None:
    """Return where the schemas of keys or values are registered, None without a registry."""
    subject, address = given.text(f"{part}.subject"), given.text("schemaRegistryAddress")
    frame = given.text(f"{part}.frame")
    settings = given.registry if frame is None else {**given.registry, "frame": frame}
    if frame is not None and not _is_registered(format):
        raise ConfigError(f"{part}.frame: {format.lower()} has no schemas in a registry")
    if not _is_registered(format):
        if subject is not None:
            raise ConfigError(f"{part}.subject: {format.lower()} has no schemas in a registry")
        return None
    if address is None:
        return registry_place(subject, None, settings)
    if subject is None:
        if len(topics) != 1:
            raise ConfigError(f"give {part}.subject: there is no single topic to name it after")
        subject = f"{topics[0]}-{part}"
    return subject, address, settings


def payload(given: Given, part: str, topics: Sequence[str], rows: RowsOptions) -> Payload | None:
    """Return what decodes keys or values; None if they are bytes. `topics` are those that are named."""
    format = format_of(given, part)
    if format is None:
        return None
    asked = _Asked.of(given, part, format, topics)
    if asked.place is None:
        asked.needed()
    with asked.named():
        codec = _find(format).read(asked)
    kind = known_type(codec, f"{part}.message")
    if part == "key" and not pa.types.is_struct(kind):
        # What is wrong with it has no place.
        rows = rows._replace(corrupt_column=None)
    try:
        return Payload(codec, rows)
    except ConfigError as error:
        raise ConfigError(f"{part}: {error}") from None


def encoder(given: Given, part: str, format: str, topics: Sequence[str]) -> Any:
    """Return what encodes keys or values: what `kcodec.kafka.write` takes."""
    asked = _Asked.of(given, part, format, topics)
    if asked.fields is not None:
        raise ConfigError(f"{part}.fields: select the columns that are to be written")
    known = _find(format)
    with asked.named():
        if asked.place is not None:
            return framed_writer(format, *asked.place, asked.schema, known.written, asked.message)
        return known.write(asked)


def _json_type(text: str, part: str) -> pa.DataType:
    """Return the Arrow type of a type of Spark, as DDL or as JSON."""
    if text.lstrip()[:1] not in ("{", '"'):
        try:
            return ddl_type(text)
        except SchemaError as error:
            raise ConfigError(f"{part}.schema of json: {error}") from None
    from pyspark.sql.types import _parse_datatype_json_value

    try:
        return to_arrow_type(_parse_datatype_json_value(json.loads(text)))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        if isinstance(error, SchemaError):
            raise
        raise ConfigError(
            f"{part}.schema of json is a type of Spark, as DDL such as 'id BIGINT' or as JSON"
        ) from None

"""``from_protobuf`` and ``to_protobuf``: as in Spark, and as in Databricks, without the jar.

They take what ``pyspark.sql.protobuf.functions`` takes, in the same places, what Databricks adds to it for a schema
registry, and schemas as texts. What they return is a `Column` of the session type that is active when they are called.
"""

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kcodec import ProtobufCodec
from kcodec.errors import ConfigError
from kcodec_spark.functions.codecs import (
    WRITTEN,
    RegistryPlace,
    check_codec,
    field_names,
    reader_of,
    registry_place,
    writer_of,
)
from kcodec_spark.functions.columns import decoded, encoded, encoded_by_shape, is_several
from kcodec_spark.options import flag, integer, read_options
from kcodec_spark.types.protobuf_layout import SparkLayout
from kcodec_spark.workers.udf import Writer, encode_packed

if TYPE_CHECKING:
    from pyspark.sql import Column

#: Spark's options of Protobuf.
OPTIONS = (
    "recursive.fields.max.depth",
    "emit.default.values",
    "enums.as.ints",
    "upcast.unsigned.ints",
    "unwrap.primitive.wrapper.types",
    "convert.any.fields.to.json",
    "retain.empty.message.types",
)
_MAX_DEPTH = 10
#: Spark has no unsigned integers: they are signed ones of the same bits.
SIGNED: dict[str, Any] = {"unsigned": "signed"}
#: Databricks' options of a registry.
_SUBJECT, _ADDRESS = "schema.registry.subject", "schema.registry.address"
_MESSAGE, _EVOLUTION = "schema.registry.protobuf.name", "schema.registry.schema.evolution.mode"
_REGISTRY = (_SUBJECT, _ADDRESS, _MESSAGE, _EVOLUTION)


def from_protobuf(
    data: "Column | str",
    messageName: Any = None,
    descFilePath: str | None = None,
    options: Mapping[str, Any] | None = None,
    binaryDescriptorSet: bytes | None = None,
    *,
    schema: Any = None,
    subject: str | None = None,
    schemaRegistryAddress: str | None = None,
    fields: Sequence[str] | None = None,
    deterministic: bool = False,
) -> "Column":
    """Decode a column of Protobuf.

    Parameters
    ----------
    data : Column or str
        Binary column. Null gives null.
    messageName : str or list of str or codec or serde, optional
        The message, by its full name or the last part of it; by default the schema's first. With a registry, a list
        of names makes a struct of these messages, of which each value sets one. Or a codec or serde
        (`kcodec.ProtobufCodec`, `kcodec.Serde`), without a schema.
    descFilePath : str, optional
        File of the schema as a FileDescriptorSet, which is read when the function is called.
    options : dict, optional
        ``mode``: FAILFAST (default: a row that cannot be decoded fails the query) or PERMISSIVE (it becomes a struct
        of nulls); ``columnNameOfCorruptRecord``: with PERMISSIVE, a further field with ``reason``, ``code``,
        ``offset``, ``path``, ``schema_id`` and ``bytes`` of such a row; as in Spark ``recursive.fields.max.depth``,
        ``emit.default.values``, ``enums.as.ints``, ``upcast.unsigned.ints``, ``unwrap.primitive.wrapper.types``,
        ``convert.any.fields.to.json``, ``retain.empty.message.types``; as in Databricks
        ``schema.registry.subject``, ``schema.registry.address``, ``schema.registry.protobuf.name``, and
        ``confluent.schema.registry.`` with a setting of confluent-kafka's registry client.
    binaryDescriptorSet : bytes, optional
        The schema as a FileDescriptorSet.
    schema : str or mapping or class, optional
        The schema as a .proto text, as texts by path of which the first is the main one, or as a generated class.
        With a registry: the text to read as, rather than the subject's latest.
    subject, schemaRegistryAddress : str, optional
        Subject and address (any that `kcodec.registry.open` takes; without a scheme, http) of the registry: the
        values are framed then, with whatever schema ids and messages, and read as the subject's latest when the
        query is made. Executors fetch the other schemas when they meet their ids.
    fields : sequence of str, optional
        The only fields to decode, dotted below messages (also in lists and maps). The others are skipped in the
        bytes.
    deterministic : bool
        Let Spark treat the function as it treats built-in ones: it may then stand in aggregates and join
        conditions, but a filter on its result may decode twice.

    Returns
    -------
    Column
        Of the type that Spark's ``from_protobuf`` returns.

    Raises
    ------
    SchemaError, ConfigError, RegistryError
        When called. A bad row fails the query with `pyspark.errors.PythonException`, whose last line is that of the
        `kcodec.DecodeError`.

    Examples
    --------
    >>> from kcodec_spark import from_protobuf
    >>> df.select(from_protobuf("value", "Order", "orders.desc"))                       # doctest: +SKIP
    >>> df.select(from_protobuf("value", schema='syntax = "proto3"; message Order { int64 id = 1; }')
    ...           .alias("order"))                                                      # doctest: +SKIP
    >>> df.select(from_protobuf("value", subject="orders-value",                        # doctest: +SKIP
    ...                         schemaRegistryAddress="http://registry:8081").alias("order"))
    """
    settings = read_options(options, (*OPTIONS, *_REGISTRY))
    place = _place(subject, schemaRegistryAddress, settings.format, settings.registry)
    source = _source(descFilePath, binaryDescriptorSet, schema)
    message = messageName
    if place is not None or source is not None:
        message = _message(messageName, settings.format if place else {}, is_several=place is not None)
    own = {name: value for name, value in settings.format.items() if name in OPTIONS}
    reader = reader_of(protobuf_codec(source, message, own, place, fields))
    return decoded(data, reader, settings.rows, "from_protobuf", deterministic=deterministic)


def to_protobuf(
    data: "Column | str | Sequence[Column | str]",
    messageName: Any = None,
    descFilePath: str | None = None,
    options: Mapping[str, Any] | None = None,
    binaryDescriptorSet: bytes | None = None,
    *,
    schema: Any = None,
    subject: str | None = None,
    schemaRegistryAddress: str | None = None,
) -> "Column":
    """Encode a column of structs, or several columns as one message, as Protobuf.

    Parameters
    ----------
    data : Column or str or sequence of these
        What to encode, such as ``struct("*")``; null gives null. Several columns are what ``struct`` of them is.
    messageName, descFilePath, binaryDescriptorSet, schema
        The schema to write as, and its message, as for `from_protobuf`; with a registry without a schema, the
        subject's latest, and with a list of names a struct of these messages, of which each row sets one.
    options : dict, optional
        ``mode`` and ``columnNameOfCorruptRecord``, as for `to_avro`; Databricks' of a registry, as for
        `from_protobuf`, or ``confluent.schema.registry.auto.register.schemas``.
    subject, schemaRegistryAddress : str, optional
        Subject and address of the registry: each value is framed with the id that the schema has there, and its
        message's indexes. A schema that is not registered under the subject is an error, unless registering is asked
        for.

    Returns
    -------
    Column
        Binary.

    Raises
    ------
    SchemaError, ConfigError, RegistryError
        When called. A value that cannot be written fails the query.

    Examples
    --------
    >>> from kcodec_spark import to_protobuf
    >>> df.select(to_protobuf(struct("*"), "Order", "orders.desc"))                     # doctest: +SKIP
    >>> df.select(to_protobuf(["id", "name"], schema=text))                             # doctest: +SKIP
    """
    settings = read_options(options, (*OPTIONS, *_REGISTRY))
    place = _place(subject, schemaRegistryAddress, settings.format, settings.registry)
    source = _source(descFilePath, binaryDescriptorSet, schema)
    write: Writer
    if place is not None:
        from kcodec_spark.functions.framed import framed_writer

        message = _message(messageName, settings.format, is_several=True)
        write = writer_of(framed_writer("PROTOBUF", *place, source, SIGNED, message))
    elif source is not None:
        write = ProtobufCodec(source, _message(messageName, {}), **SIGNED, **WRITTEN).encode
    else:
        write = writer_of(check_codec(_given(messageName), {}, "messageName is"))
    if is_several(data):
        return encoded_by_shape(data, functools.partial(encode_packed, write), "to_protobuf", settings.rows)
    return encoded(data, write, "to_protobuf", settings.rows)


def protobuf_codec(
    source: Any,
    message: Any,
    given: Mapping[str, Any],
    place: RegistryPlace | None,
    fields: Sequence[str] | None,
) -> Any:
    """Return the codec or serde that decodes Protobuf, by what `from_protobuf` takes: `given` are Spark's options.

    Without a schema and a registry, `message` is a codec or a serde.
    """
    codec_options = _codec_options(given)
    if fields is not None:
        codec_options["fields"] = field_names(fields)
    if place is not None:
        from kcodec_spark.functions.framed import framed_serde

        return framed_serde("PROTOBUF", *place, source, codec_options, message)
    if source is not None:
        return ProtobufCodec(source, message, **codec_options)
    taken = given if fields is None else {**given, "fields": fields}
    return check_codec(_given(message), taken, "messageName is")


def _place(
    subject: str | None, address: str | None, options: Mapping[str, Any], settings: Mapping[str, Any]
) -> RegistryPlace | None:
    """Return the registry's place, which Databricks takes as options."""
    evolution = str(options.get(_EVOLUTION, "none"))
    if evolution.lower() != "none":
        raise ConfigError(
            f"{_EVOLUTION} {evolution!r}: only none is supported, the schema stays what it was when the query was made"
        )
    for argument, name in ((subject, _SUBJECT), (address, _ADDRESS)):
        if argument is not None and name in options:
            raise ConfigError(f"the registry is given twice: as an argument, and as {name}")
    return registry_place(options.get(_SUBJECT, subject), options.get(_ADDRESS, address), settings)


def _source(path: str | None, descriptors: bytes | None, schema: Any) -> Any:
    """Return the schema that was given in one of three ways; None without one."""
    given = [each for each in (path, descriptors, schema) if each is not None]
    if len(given) > 1:
        raise ConfigError("one of descFilePath, binaryDescriptorSet and schema is given")
    if descriptors is not None and not isinstance(descriptors, (bytes, bytearray)):
        raise TypeError(f"binaryDescriptorSet is bytes, not {type(descriptors).__name__}")
    if path is None:
        return given[0] if given else None
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise ConfigError(f"descFilePath {path!r} cannot be read: {error.strerror}") from None


def _given(codec: Any) -> Any:
    """Return a codec or a serde that stands in place of a message's name."""
    if codec is None or isinstance(codec, str):
        raise ConfigError(
            "a schema is needed: descFilePath, binaryDescriptorSet, schema, or subject and schemaRegistryAddress"
        )
    return codec


def _message(name: Any, options: Mapping[str, Any], *, is_several: bool = False) -> Any:
    """Return the message's name, or several, which Databricks takes as an option."""
    if name is not None and _MESSAGE in options:
        raise ConfigError(f"the message is given twice: as messageName, and as {_MESSAGE}")
    name = options.get(_MESSAGE, name)
    if (
        name is not None
        and not isinstance(name, str)
        and not (is_several and isinstance(name, (list, tuple)))
    ):
        raise TypeError(f"with a schema, messageName is a str, not {type(name).__name__}")
    return name


def _codec_options(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return Spark's options as those of `kcodec.ProtobufCodec`."""
    depth = integer(given, "recursive.fields.max.depth")
    if depth > _MAX_DEPTH:
        raise ConfigError(f"recursive.fields.max.depth {depth} is more than {_MAX_DEPTH}")
    well_known = ["times"]
    if flag(given, "unwrap.primitive.wrapper.types"):
        well_known.append("wrappers")
    if flag(given, "convert.any.fields.to.json"):
        well_known.append("any")
    return {
        "recursive_depth": depth if depth > 0 else None,
        "absent": "default" if flag(given, "emit.default.values") else "null",
        "enums": "number" if flag(given, "enums.as.ints") else "name",
        **SIGNED,
        "empty_messages": "keep" if flag(given, "retain.empty.message.types") else "drop",
        "round": "truncate",
        "layout": SparkLayout(flag(given, "upcast.unsigned.ints")),
        "well_known": tuple(well_known),
    }

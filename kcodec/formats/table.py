"""The formats that keys and values can be in, by name: what defines each, and what it is called elsewhere.

Registries and serdes find their schema languages here; topics, the console script and Spark their codecs; the package
its names. The documentation's tables are compared with it. What is named is imported when it is first used.
"""

import importlib
from typing import Any, NamedTuple


class Format(NamedTuple):
    """A format of payloads."""

    #: What serdes and topics call it.
    name: str
    #: Where its codec is defined, as ``module:name``; None if the bytes stay as they are. Topics use it where no
    #: registry has schemas of the format, else a serde.
    codec: str | None = None
    #: Where the `SchemaFormat` of its schemas is defined, as ``module:name``; None if no registry has its schemas.
    language: str | None = None
    #: What a registry calls the language.
    type: str | None = None
    #: Whether several formats have this codec: then its first argument is the format's name.
    is_shared: bool = False
    #: The option of the codec without which keys and values mean nothing.
    needs: str | None = None
    #: What a user is told who asks a serde for it.
    instead: str = ""
    #: What the functions of Spark are called behind ``from_`` and ``to_``, which is also their module.
    spark: str | None = None
    #: Where the documentation describes it.
    page: str | None = None

    @property
    def is_plain(self) -> bool:
        """Whether the bytes stay as they are."""
        return self.language is None and self.codec is None


def _ksql(name: str, instead: str = "") -> Format:
    return Format(
        name,
        "kcodec.ksql.codec.codec:KsqlCodec",
        is_shared=True,
        # Without columns a codec of ksqlDB takes keys for null.
        needs="columns",
        instead=instead or "it has no schema in a registry: kcodec.KsqlCodec reads and writes it",
        spark="ksql",
        page="ksql.md",
    )


#: The package's own formats, by name. Those with schemas are in the order in which Confluent's server lists them.
FORMATS = {
    each.name: each
    for each in (
        Format(
            "JSON_SR",
            "kcodec.formats.json_schema.codec:JsonSchemaCodec",
            "kcodec.formats.json_schema.schema_format:JsonSchemaFormat",
            "JSON",
            spark="json_schema",
            page="json_schema.md",
        ),
        Format(
            "PROTOBUF",
            "kcodec.formats.protobuf.codec:ProtobufCodec",
            "kcodec.formats.protobuf.schema_format:ProtobufFormat",
            "PROTOBUF",
            spark="protobuf",
            page="protobuf.md",
        ),
        Format(
            "AVRO",
            "kcodec.formats.avro.codec:AvroCodec",
            "kcodec.formats.avro.schema_format:AvroFormat",
            "AVRO",
            spark="avro",
            page="avro.md",
        ),
        _ksql("KAFKA"),
        _ksql(
            "JSON",
            "with a JSON Schema it is 'JSON_SR'; JSON without a schema is read and written by kcodec.JsonCodec, of "
            "Connect by kcodec.ConnectJsonCodec",
        ),
        _ksql("DELIMITED"),
        _ksql("PROTOBUF_NOSR"),
        Format(
            "CONNECT_JSON",
            "kcodec.formats.connect.codec:ConnectJsonCodec",
            instead="it has no schema in a registry: kcodec.ConnectJsonCodec reads and writes it",
            spark="connect_json",
            page="connect.md",
        ),
        Format("BYTES"),
        Format("NONE"),
    )
}


def load(place: str) -> Any:
    """Return what a place in the table defines.

    Examples
    --------
    >>> load("kcodec.formats.connect.codec:ConnectJsonCodec").__name__
    'ConnectJsonCodec'
    """
    module, _, name = place.partition(":")
    return getattr(importlib.import_module(module), name)


def registered_names() -> list[str]:
    """Return the names of the formats whose schemas are in registries, in the alphabet's order.

    >>> registered_names()
    ['AVRO', 'JSON_SR', 'PROTOBUF']
    """
    return sorted(each.name for each in FORMATS.values() if each.language is not None)


def codec_names() -> dict[str, str]:
    """Return the classes of the codecs, with their modules.

    >>> codec_names()["AvroCodec"]
    'kcodec.formats.avro.codec'
    """
    places = [each.codec.partition(":") for each in FORMATS.values() if each.codec is not None]
    return {name: module for module, _, name in places}


def spark_names() -> dict[str, str]:
    """Return the names of Spark's functions, with their modules in its package.

    >>> spark_names()["from_connect_json"]
    '.connect_json'
    """
    modules = [each.spark for each in FORMATS.values() if each.spark is not None]
    return {f"{way}_{module}": f".{module}" for module in modules for way in ("from", "to")}

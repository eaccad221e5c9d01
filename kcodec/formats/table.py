"""The formats that keys and values can be in, by name: what defines each, and what it needs.

Registries and serdes find their schema languages here, topics and the console script their codecs. What is named is
imported when it is first used.
"""

import importlib
from typing import Any, NamedTuple

__all__ = ["FORMATS", "Format", "load"]


class Format(NamedTuple):
    """A format of payloads.

    Attributes
    ----------
    name : str
        What serdes and topics call it.
    language : str or None
        Where the `SchemaFormat` of its schemas is defined, as ``module:name``; None if no registry has its schemas.
    type : str or None
        What a registry calls the language.
    codec : str or None
        Where the codec that topics read and write it with is defined, as ``module:name``; None if a serde does, or
        nothing, because the bytes stay as they are.
    is_shared : bool
        Whether several formats have this codec: then its first argument is the format's name.
    needs : str or None
        The option of the codec without which keys and values mean nothing.
    instead : str
        What a user is told who asks a serde for it.
    """

    name: str
    language: str | None = None
    type: str | None = None
    codec: str | None = None
    is_shared: bool = False
    needs: str | None = None
    instead: str = ""

    @property
    def is_plain(self) -> bool:
        """Whether the bytes stay as they are."""
        return self.language is None and self.codec is None


def _ksql(name: str, instead: str = "") -> Format:
    # Without columns a codec of ksqlDB takes keys for null.
    codec = "kcodec.ksql.codec.codec:KsqlCodec"
    instead = instead or "it has no schema in a registry: kcodec.KsqlCodec reads and writes it"
    return Format(name, codec=codec, is_shared=True, needs="columns", instead=instead)


#: The package's own formats, by name.
FORMATS = {
    each.name: each
    for each in (
        Format("AVRO", "kcodec.formats.avro.schema_format:AvroFormat", "AVRO"),
        Format("JSON_SR", "kcodec.formats.json_schema.schema_format:JsonSchemaFormat", "JSON"),
        Format("PROTOBUF", "kcodec.formats.protobuf.schema_format:ProtobufFormat", "PROTOBUF"),
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
            codec="kcodec.formats.connect.codec:ConnectJsonCodec",
            instead="it has no schema in a registry: kcodec.ConnectJsonCodec reads and writes it",
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

"""Kafka Connect's JsonConverter, a row at a time: the specification of `kcodec.ConnectJsonCodec`."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from kcodec.errors import ConfigError, SchemaError
from kcodec.formats.connect._envelope_py import ENVELOPE
from kcodec.formats.connect.json_reader import Expansion, to_connect
from kcodec.formats.connect.json_writer import from_connect
from kcodec.formats.connect.schema import ConnectSchema
from kcodec.java.jackson import JacksonError, node_type, read_tree
from kcodec.java.numbers import narrow_integer, round_to_double
from kcodec.plan import Limits
from kcodec.plan.failure import RowError

__all__ = ["ConverterConfig", "JsonConverter", "converter_config"]

#: What Connect says of a document that is no JSON; Jackson's words follow.
SYNTAX = "Converting byte[] to Kafka Connect data failed due to serialization error: "

_FORMATS = ("NUMERIC", "BASE64")


@dataclass(frozen=True)
class ConverterConfig:
    """The settings of a JsonConverter: see the parameters of `kcodec.ConnectJsonCodec`."""

    schemas_enable: bool = True
    decimal_format: str = "BASE64"
    replace_null_with_default: bool = True
    schemas_cache_size: int = 1000
    schema_content: str | None = None

    @property
    def numeric(self) -> bool:
        """Whether decimals are written as numbers."""
        return self.decimal_format == "NUMERIC"


def converter_config(
    given: Mapping[str, Any] | None, *, is_key: bool = False, **keywords: Any
) -> ConverterConfig:
    """Read settings under the names of Connect; `keywords` are the same by their names in `ConverterConfig`.

    If any is that of a worker or a connector, such as ``value.converter.decimal.format``, only these count: those of
    ``key.converter.`` with `is_key`, else those of ``value.converter.``.

    >>> converter_config({"value.converter.schemas.enable": "false", "tasks.max": "1"}).schemas_enable
    False
    """
    if given is not None and not (
        isinstance(given, Mapping) and all(isinstance(name, str) for name in given)
    ):
        # Of what it holds nothing is shown: it may be a credential.
        raise ConfigError(f"config is a mapping of names to values, not this {type(given).__name__}")
    names = {each.name.replace("_", "."): each.name for each in fields(ConverterConfig)}
    defaults = ConverterConfig()
    found = {name: value for name, value in keywords.items() if value != getattr(defaults, name)}
    settings = dict(given or {})
    prefixes = ("key.converter.", "value.converter.")
    if any(name in ("key.converter", "value.converter") or name.startswith(prefixes) for name in settings):
        prefix = prefixes[0 if is_key else 1]
        settings = {name[len(prefix) :]: each for name, each in settings.items() if name.startswith(prefix)}
    kind = settings.pop("converter.type", None)
    if kind is not None and str(kind).lower() != ("key" if is_key else "value"):
        raise ConfigError(f"converter.type {kind!r} is that of the other converter: see is_key=")
    for name, value in settings.items():
        if name not in names:
            raise ConfigError(f"unknown setting {name!r}: not one of {', '.join(names)}")
        if names[name] in found:
            raise ConfigError(f"{name} is given twice")
        found[names[name]] = value
    return replace(defaults, **{name: _checked(name, value) for name, value in found.items()})


def _checked(name: str, value: Any) -> Any:
    shown = name.replace("_", ".")
    text = str(value).strip()
    if name == "decimal_format":
        if text.upper() not in _FORMATS:
            raise ConfigError(
                f"Invalid value {value} for configuration {shown}: "
                f"String must be one of (case insensitive): {', '.join(_FORMATS)}"
            )
        return text.upper()
    if name == "schemas_cache_size":
        if not text.isascii() or not text.isdigit() or len(text) > 20 or int(text) >= 1 << 31:
            raise ConfigError(f"Invalid value {value} for configuration {shown}: a number of schemas")
        return int(text)
    if name == "schema_content":
        if value is not None and not isinstance(value, str):
            raise ConfigError(f"Invalid value {value} for configuration {shown}: JSON text")
        return text or None
    if text.lower() not in ("true", "false"):
        raise ConfigError(f"Invalid value {value} for configuration {shown}: not one of true, false")
    return text.lower() == "true"


class JsonConverter:
    """What ``org.apache.kafka.connect.json.JsonConverter`` does with one value: what it throws is a `RowError` here.

    Defaults may add `max_expansion` characters to a value.

    >>> converter = JsonConverter()
    >>> schema, value = converter.to_connect_data(b'{"schema":{"type":"int8"},"payload":300}')
    >>> converter.from_connect_data(schema, value)
    b'{"schema":{"type":"int8","optional":false},"payload":44}'
    """

    def __init__(
        self,
        config: ConverterConfig = ConverterConfig(),
        max_expansion: int = Limits().max_expansion,
        nonfinite: bool = False,
    ) -> None:
        self.config = config
        self.max_expansion = max_expansion
        self.nonfinite = nonfinite
        content = config.schema_content
        self.content = (
            None
            if content is None
            else ConnectSchema.from_json(content, replace_null=config.replace_null_with_default)
        )

    def to_connect_data(self, data: bytes | None) -> tuple[ConnectSchema | None, Any]:
        """Read the bytes of a value; without a schema, numbers are longs and doubles, objects are dicts."""
        if data is None:
            return None, None
        try:
            if not self.config.schemas_enable:
                return None, _missing(_plain_tree(data))
            if self.content is not None:
                return self.content, self.value(self.content, _tree(data))
            tree = _tree(data)
            if not isinstance(tree, dict) or tree.keys() != {"schema", "payload"}:
                raise RowError("json_type", reason=ENVELOPE)
            if tree["schema"] is None:
                return None, _plain_tree(data)["payload"]
        except JacksonError as error:
            raise _syntax(error) from None
        schema = self.schema(tree["schema"])
        return schema, self.value(schema, tree["payload"])

    def payload(self, schema: ConnectSchema, data: bytes) -> Any:
        """Read the value of a schema from bytes that are not in an envelope."""
        try:
            return self.value(schema, _tree(data))
        except JacksonError as error:
            raise _syntax(error) from None

    def enclosed(self, schema: ConnectSchema, data: bytes) -> Any:
        """Read the value of a schema from the bytes that it has within an envelope, all of which belong to it."""
        start = b"[ "
        try:
            (node,) = _tree(b"%s%s]" % (start, data))
        except JacksonError as error:
            raise _syntax(JacksonError(str(error), error.offset - len(start))) from None
        return self.value(schema, node)

    def value(self, schema: ConnectSchema, node: Any) -> Any:
        """Convert a JSON tree by the converter's settings."""
        expansion = Expansion(self.max_expansion, self.nonfinite)
        return to_connect(schema, node, self.config.replace_null_with_default, expansion)

    def schema(self, tree: Any) -> ConnectSchema:
        """Read the schema of an envelope."""
        try:
            return ConnectSchema.from_tree(tree, replace_null=self.config.replace_null_with_default)
        except SchemaError as error:
            raise RowError("schema_error", reason=str(error)) from None

    def from_connect_data(self, schema: ConnectSchema | None, value: Any) -> bytes | None:
        """Write a value; without a schema its Java class says what it is, and a null is None."""
        if schema is None and value is None:
            return None
        numeric, replace_null = self.config.numeric, self.config.replace_null_with_default
        if not self.config.schemas_enable:
            return from_connect(schema, value, numeric, replace_null).encode()
        text = "null"
        if schema is not None:
            try:
                text = schema.to_text(self.config.decimal_format, replace_null=replace_null)
            except SchemaError as error:
                raise RowError("schema_error", reason=str(error)) from None
        payload = from_connect(schema, value, numeric, replace_null)
        return f'{{"schema":{text},"payload":{payload}}}'.encode()


def _tree(data: bytes) -> Any:
    return read_tree(data, leading_zeros=True)


def _plain_tree(data: bytes) -> Any:
    """Read a value without a schema: integers are longs, other numbers doubles."""
    return read_tree(data, leading_zeros=True, integer=_long, fraction=round_to_double)


def _long(value: int) -> int:
    return narrow_integer(value, 64)


def _missing(tree: Any) -> Any:
    return None if node_type(tree) == "MISSING" else tree


def _syntax(error: JacksonError) -> RowError:
    return RowError("json_syntax", error.offset, reason=f"{SYNTAX}{error}")

"""Schemas of Avro as Connect's ``AvroData`` has them."""

from collections.abc import Mapping

from kcodec.formats.avro.schema import Schema

__all__ = ["AvroSource", "member_name"]

_CONNECT = "org.apache.kafka.connect.data"


def _connect_name(schema: Schema) -> str:
    name = schema.props.get("connect.name")
    return name.removeprefix(f"{_CONNECT}.") if isinstance(name, str) and name.startswith(_CONNECT) else ""


class AvroSource:
    """A type of Avro as Connect's ``AvroData`` has it; see `kcodec.formats.ksql.source.Source`."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema.values[0] if len(schema.values) == 1 else schema

    @property
    def type(self) -> str:
        """Connect's name of the type."""
        schema = self.schema
        if schema.type == "int":
            kind = schema.props.get("connect.type")
            return kind if kind in ("int8", "int16") and "logicalType" not in schema.props else "int32"
        if schema.type == "array" and self._entry is not None:
            return "map"
        return _TYPES.get(schema.type, "")

    @property
    def logical(self) -> str:
        """Connect's name of the logical type."""
        schema = self.schema
        named = _connect_name(schema)
        logical = str(schema.props.get("logicalType", "")).lower()
        if schema.type in ("bytes", "fixed"):
            return "Decimal" if logical == "decimal" or named == "Decimal" else ""
        if schema.type == "int":
            return {"date": "Date", "time-millis": "Time"}.get(logical) or (
                named if named in ("Date", "Time") else ""
            )
        if schema.type == "long":
            return "Timestamp" if logical == "timestamp-millis" or named == "Timestamp" else ""
        return ""

    @property
    def precision(self) -> int:
        """Digits of a Decimal, 0 where the schema has none."""
        return self._parameter("precision", "connect.decimal.precision")

    @property
    def scale(self) -> int:
        """Digits of a Decimal behind the point."""
        return self._parameter("scale", "scale")

    def _parameter(self, name: str, parameter: str) -> int:
        """Return a number of a Decimal: of its logical type, or else a parameter of Connect's."""
        value = self.schema.props.get(name)
        parameters = self.schema.props.get("connect.parameters")
        if not isinstance(value, int) and isinstance(parameters, Mapping):
            value = parameters.get(parameter)
        try:
            return int(value)  # type: ignore[arg-type]
        except (TypeError, ValueError):
            return 0

    @property
    def fields(self) -> list[tuple[str, "AvroSource"]]:
        """The fields of a record, or the members of a union by their names."""
        if self.schema.type == "union":
            return [(member_name(each), AvroSource(each)) for each in self.schema.values]
        return [(field.name, AvroSource(field.type)) for field in self.schema.fields]

    @property
    def key(self) -> "AvroSource":
        """The keys of a map."""
        return AvroSource(Schema("string") if self._entry is None else self._entry.fields[0].type)

    @property
    def item(self) -> "AvroSource":
        """The items of an array, the values of a map."""
        if self._entry is not None:
            return AvroSource(self._entry.fields[1].type)
        assert self.schema.item is not None
        return AvroSource(self.schema.item)

    @property
    def _entry(self) -> Schema | None:
        """The record of an entry, if the array is how Connect writes a map."""
        item = self.schema.item
        if self.schema.type != "array" or item is None or item.type != "record":
            return None
        is_entry = item.props.get("connect.internal.type") == "MapEntry" or item.name == _ENTRY_NAME
        return item if is_entry and [field.name for field in item.fields] == ["key", "value"] else None


_ENTRY_NAME = "io.confluent.connect.avro.MapEntry"
_TYPES = {
    "boolean": "boolean",
    "long": "int64",
    "float": "float32",
    "double": "float64",
    "bytes": "bytes",
    "fixed": "bytes",
    "string": "string",
    "enum": "string",
    "array": "array",
    "map": "map",
    "record": "struct",
    "union": "struct",
}


def member_name(schema: Schema) -> str:
    """Return what Connect calls a member of a union."""
    return schema.simple_name if schema.type in ("record", "enum", "fixed") else schema.type

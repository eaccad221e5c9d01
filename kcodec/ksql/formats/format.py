"""ksqlDB's formats: their names, what each can hold, and when a single column is wrapped."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

import pyarrow as pa

from kcodec.errors import ConfigError, Fault, SchemaError, near
from kcodec.ksql.formats.delimited.rows import DelimitedRows
from kcodec.ksql.formats.json.rows import JsonRows
from kcodec.ksql.formats.primitive import KafkaRows, VoidRows
from kcodec.ksql.types import RowOptions, SqlColumn
from kcodec.plan import Plan


class FormatRows(Protocol):
    """How a format reads and writes arrays of its columns, or of a bare column."""

    arrow_type: pa.DataType

    @property
    def plan(self) -> Plan | None:
        """How rows are read, for formats that have a plan."""

    def decode(self, array: pa.Array, stop: bool) -> tuple[pa.Array, Sequence[Fault]]:
        """Read an array of payloads; with `stop`, up to the first fault."""

    def encode(self, array: pa.Array, stop: bool) -> tuple[pa.Array, Sequence[Fault]]:
        """Write an array; with `stop`, up to the first fault."""


class KsqlFormat(NamedTuple):
    """What a format can do.

    Without `rows`, its schemas are in a registry (`languages.language` returns their language), and columns are
    inferred from them. A single column may stand as a record of it (`wraps`) and bare (`unwraps`); a row that is the
    list of its columns, also of a single one (`lists`), has nothing to wrap. It can be configured with `properties`.
    """

    rows: Callable[[RowOptions], FormatRows] | None
    wraps: bool
    unwraps: bool
    lists: bool = False
    properties: tuple[str, ...] = ()


def _protobuf_rows(options: RowOptions) -> FormatRows:
    # Loaded where it is used, with NumPy.
    from kcodec.ksql.formats.protobuf.schema_format import ProtobufRows

    return ProtobufRows(options)


_NAMED = ("fullSchemaName", "schemaId")
_PROTOBUF = ("unwrapPrimitives", "nullableRepresentation")

#: The formats by their names.
FORMATS: Mapping[str, KsqlFormat] = {
    "JSON": KsqlFormat(JsonRows, wraps=True, unwraps=True),
    "DELIMITED": KsqlFormat(DelimitedRows, wraps=False, unwraps=True, lists=True, properties=("delimiter",)),
    "KAFKA": KsqlFormat(KafkaRows, wraps=False, unwraps=True),
    "NONE": KsqlFormat(VoidRows, wraps=False, unwraps=False),
    "AVRO": KsqlFormat(None, wraps=True, unwraps=True, properties=_NAMED),
    "JSON_SR": KsqlFormat(None, wraps=True, unwraps=True, properties=_NAMED),
    "PROTOBUF": KsqlFormat(None, wraps=True, unwraps=False, properties=(*_NAMED, *_PROTOBUF, "subjectName")),
    "PROTOBUF_NOSR": KsqlFormat(_protobuf_rows, wraps=True, unwraps=True, properties=_PROTOBUF),
}


def format_name(format: object) -> str:
    """Return the name of a format that is given in any case."""
    if not isinstance(format, str) or format.upper() not in FORMATS:
        hint = near(format, FORMATS) if isinstance(format, str) else ""
        raise ConfigError(f"Unknown format: {format}: not one of {', '.join(FORMATS)}{hint}")
    return format.upper()


def chosen_columns(name: str, columns: tuple[SqlColumn, ...], is_key: bool) -> tuple[SqlColumn, ...]:
    """Return the columns of the key or of the value."""
    keys = tuple(column for column in columns if column.kind == "key")
    values = tuple(column for column in columns if column.kind == "value")
    return (keys or values) if is_key and name != "NONE" else keys if is_key else values


def check_keys(columns: tuple[SqlColumn, ...]) -> None:
    """Refuse columns that ksqlDB does not allow in keys."""
    for column in columns:
        if column.type.has_map:
            raise SchemaError(
                "Map keys, including types that contain maps, are not supported as they may lead to unexpected "
                f"behavior due to inconsistent serialization. Key column name: `{column.name}`. "
                f"Column type: {column.type}. See https://github.com/confluentinc/ksql/issues/6621 for more."
            )


def is_wrapped(name: str, columns: tuple[SqlColumn, ...], is_key: bool, wrap: bool | None) -> bool:
    """Return whether rows are records of their columns, as ksqlDB's ``SerdeFeaturesFactory`` does."""
    able = FORMATS[name]
    if wrap is not None and is_key:
        raise ConfigError("wrap is for values: ksqlDB has no choice for keys")
    if wrap is not None and len(columns) != 1:
        raise ConfigError("'WRAP_SINGLE_VALUE' is only valid for single-field value schemas")
    if wrap is not None and not (able.wraps if wrap else able.unwraps):
        text = str(wrap).lower()
        raise ConfigError(f"Format '{name}' does not support 'WRAP_SINGLE_VALUE' set to '{text}'.")
    if len(columns) != 1 or able.lists:
        return True
    if wrap is not None:
        return wrap
    return able.wraps and not (is_key and able.unwraps)

"""ksqlDB's formats: their names, what each can hold, and when a single column is wrapped."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from kcodec.codec import Codec
from kcodec.columns.nested import members
from kcodec.errors import ConfigError, Fault, SchemaError, near
from kcodec.formats.ksql.delimited import DelimitedRows
from kcodec.formats.ksql.json import JsonRows
from kcodec.formats.ksql.plan import written_type
from kcodec.formats.ksql.primitive import KafkaRows, VoidRows
from kcodec.formats.ksql.types import RowOptions, SqlColumn, SqlField, SqlType, arrow_type, columns_of
from kcodec.plan import Limits, Plan

__all__ = ["FORMATS", "KsqlCodec", "KsqlFormat"]


class Rows(Protocol):
    """What a format makes of its columns: how arrays of them, or of the bare column, are read and written."""

    arrow_type: pa.DataType

    @property
    def plan(self) -> Plan | None:
        """How rows are read, for formats that have a plan."""

    def decode(self, array: pa.Array, stop: bool) -> tuple[pa.Array, list[Fault]]:
        """Read an array of payloads; with `stop`, up to the first fault."""

    def encode(self, array: pa.Array, stop: bool) -> tuple[pa.Array, list[Fault]]:
        """Write an array; with `stop`, up to the first fault."""


class KsqlFormat(NamedTuple):
    """What a format can do.

    A single column may stand as a record of it (`wraps`) and bare (`unwraps`); a row that is the list of its columns,
    also of a single one (`lists`), has nothing to wrap. It can be configured with `properties`.
    """

    rows: Callable[[RowOptions], Rows]
    wraps: bool
    unwraps: bool
    lists: bool = False
    properties: tuple[str, ...] = ()


#: The formats by their names.
FORMATS: Mapping[str, KsqlFormat] = {
    "JSON": KsqlFormat(JsonRows, wraps=True, unwraps=True),
    "DELIMITED": KsqlFormat(DelimitedRows, wraps=False, unwraps=True, lists=True, properties=("delimiter",)),
    "KAFKA": KsqlFormat(KafkaRows, wraps=False, unwraps=True),
    "NONE": KsqlFormat(VoidRows, wraps=False, unwraps=False),
}

#: Formats of ksqlDB whose schemas are in a registry.
_ELSEWHERE = dict.fromkeys(
    ("AVRO", "JSON_SR", "PROTOBUF"), ": its schemas are in a registry: kcodec.Serde reads and writes it"
)

_COMPAT = ("ksqldb",)
_WIDE_DECIMALS = ("decimal256", "string")
_ROUND = ("error", "truncate")


class KsqlCodec(Codec):
    r"""Keys or values of a ksqlDB stream or table.

    Parameters
    ----------
    format : str
        A name of `FORMATS`, in any case.
    columns : str, pyarrow.Schema, pyarrow.StructType or sequence of SqlColumn
        What ``CREATE STREAM`` has between its parentheses, such as ``"ID BIGINT KEY, TOTAL DECIMAL(10,2)"``.
    wrap : bool, optional
        Whether a single value column is a record of it, or bare: ksqlDB's ``WRAP_SINGLE_VALUE``. By default
        the format decides; a single key column is bare wherever the format has the choice.
    key : bool
        Whether these are the keys: then the columns marked ``KEY`` count, or all if none is. Otherwise those
        without a mark count.
    compat : {None, "ksqldb"}
        By default values that ksqlDB changes silently are errors of their row: integers out of range, numbers
        cut to integers, anything behind a document. With ``"ksqldb"`` the answer is ksqlDB's own, always.
    properties : mapping, optional
        Of the format, by ksqlDB's names.
    wide_decimals : {"decimal256", "string"}
        What decimals of more than 38 digits become; more than 76 are refused.
    round : {"error", "truncate"}
        What `encode` makes of times that are finer than ksqlDB's milliseconds: errors of their rows, or the next
        earlier milliseconds.
    large : bool
        Whether strings, binaries and lists have 64-bit offsets; without it a column holds 2 GiB at most.
    limits : Limits, optional
        What one row may cost.

    Attributes
    ----------
    columns : tuple of SqlColumn
        The columns that are read and written.
    arrow_type : pyarrow.StructType
        A struct of the columns, also where a single one stands bare.

    Raises
    ------
    SchemaError
        If the columns are wrong, or the format cannot hold them.
    ConfigError
        If another argument is wrong.

    Notes
    -----
    A null payload is a null row, and the other way round. Where a single column is bare, a null of it is
    written as a null payload too.

    Examples
    --------
    >>> codec = KsqlCodec("JSON", "ID BIGINT, TOTAL DECIMAL(10,2)")
    >>> codec.decode([b'{"id": "7", "total": 1.5}', None]).to_pylist()
    [{'ID': 7, 'TOTAL': Decimal('1.50')}, None]
    >>> codec.encode(pa.array([{"ID": 7}])).to_pylist()
    [b'{"ID":7,"TOTAL":null}']
    >>> KsqlCodec("JSON", "K INT KEY", key=True).encode(pa.array([{"K": 7}])).to_pylist()
    [b'7']
    """

    def __init__(
        self,
        format: str,
        columns: object,
        *,
        wrap: bool | None = None,
        key: bool = False,
        compat: str | None = None,
        properties: Mapping[str, str] | None = None,
        wide_decimals: str = "decimal256",
        round: str = "error",
        large: bool = False,
        limits: Limits | None = None,
    ) -> None:
        if not isinstance(format, str) or format.upper() not in FORMATS:
            hint = _ELSEWHERE.get(format.upper(), near(format, FORMATS)) if isinstance(format, str) else ""
            raise ConfigError(f"Unknown format: {format}: not one of {', '.join(FORMATS)}{hint}")
        if compat is not None and compat not in _COMPAT:
            raise ConfigError(f"compat={compat!r} is not one of None, {', '.join(map(repr, _COMPAT))}")
        if wide_decimals not in _WIDE_DECIMALS:
            raise ConfigError(f"wide_decimals={wide_decimals!r} is not one of {', '.join(_WIDE_DECIMALS)}")
        if round not in _ROUND:
            raise ConfigError(f"round={round!r} is not one of {', '.join(_ROUND)}")
        self.format = format.upper()
        self._arguments: dict[str, Any] = {
            "format": self.format,
            "columns": columns_of(columns),
            "wrap": wrap,
            "key": bool(key),
            "compat": compat,
            "properties": _checked_properties(self.format, properties or {}),
            "wide_decimals": wide_decimals,
            "round": round,
            "large": bool(large),
            "limits": Limits.of(limits),
        }
        self.columns = _chosen(self.format, self._arguments["columns"], bool(key))
        self.wrapped = _wrapped(self.format, self.columns, bool(key), wrap)
        for column in self.columns if key else ():
            if column.type.has_map:
                raise SchemaError(
                    "Map keys, including types that contain maps, are not supported. "
                    f"Key column name: `{column.name}`. Column type: {column.type}"
                )
        record = SqlType(
            "STRUCT", fields=tuple(SqlField(column.name, column.type) for column in self.columns)
        )
        self.arrow_type = arrow_type(record, wide_decimals=wide_decimals, large=bool(large))
        self._encoded_type = pa.large_binary() if large else pa.binary()
        rows = FORMATS[self.format].rows if self.columns else VoidRows
        self._rows = rows(
            RowOptions(
                record if self.wrapped else self.columns[0].type,
                self.wrapped,
                compat == "ksqldb",
                self._arguments["properties"],
                bool(large),
                self._arguments["limits"],
                round == "truncate",
            )
        )

    @property
    def plan(self) -> Plan | None:
        """The decode plan; ``str`` of it is a readable tree."""
        return self._rows.plan

    def _decode(self, array: pa.Array, stop: bool) -> tuple[pa.Array, list[Fault]]:
        decoded, faults = self._rows.decode(array, stop)
        if faults and stop:
            return decoded, faults
        if not self.wrapped:
            mask = array.is_null() if array.null_count else None
            if faults:
                failed = pa.array([fault.row for fault in faults])
                mask = pc.or_(array.is_null(), pc.is_in(pa.array(range(len(array))), failed))
            decoded = pa.StructArray.from_arrays([decoded], [self.columns[0].name], mask=mask)
        return decoded if decoded.type == self.arrow_type else decoded.cast(self.arrow_type), faults

    def _encode(self, array: pa.Array, stop: bool) -> tuple[pa.Array, list[Fault]]:
        return self._rows.encode(array if self.wrapped else self._bare(array), stop)

    def _bare(self, array: pa.Array) -> pa.Array:
        """Take the only column of a struct of it; anything else is the column itself."""
        if pa.types.is_struct(array.type) and array.type.num_fields == 1:
            column, field = self.columns[0], array.type.field(0)
            if column.name in (field.name, field.name.upper()) and (
                # A STRUCT may have a field of its own name.
                _is_written(column.type, field.type) or not _is_written(column.type, array.type)
            ):
                return members(array)[0]
        return array

    def _identity(self) -> dict[str, Any]:
        columns = ", ".join(map(str, self._arguments["columns"]))
        return {**self._arguments, "columns": columns, "properties": self._arguments["properties"] or None}


def _chosen(name: str, columns: tuple[SqlColumn, ...], key: bool) -> tuple[SqlColumn, ...]:
    keys = tuple(column for column in columns if column.kind == "key")
    values = tuple(column for column in columns if column.kind == "value")
    chosen = (keys or values) if key and name != "NONE" else keys if key else values
    # ksqlDB reads and writes keys without columns as null, whatever their format.
    if not chosen and not key and name not in ("KAFKA", "NONE"):
        raise SchemaError("there is no value column")
    return chosen


def _is_written(kind: SqlType, given: pa.DataType) -> bool:
    try:
        written_type(kind, given)
    except SchemaError:
        return False
    return True


def _wrapped(name: str, columns: tuple[SqlColumn, ...], key: bool, wrap: bool | None) -> bool:
    """Return whether rows are records of their columns, as ksqlDB's ``SerdeFeaturesFactory`` does."""
    able = FORMATS[name]
    if wrap is not None and key:
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
    return able.wraps and not (key and able.unwraps)


def _checked_properties(name: str, properties: Mapping[str, str]) -> dict[str, str]:
    unknown = [key for key in properties if key not in FORMATS[name].properties]
    if unknown:
        valid = ", ".join(FORMATS[name].properties) or "it has none"
        raise ConfigError(f"{name} does not support the following configs: [{', '.join(unknown)}]: {valid}")
    for key, value in properties.items():
        if not value.strip():
            raise ConfigError(f"{key} cannot be empty. Format configuration: {dict(properties)}")
    return dict(properties)

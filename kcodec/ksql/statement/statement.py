"""What a ``CREATE STREAM`` or ``CREATE TABLE`` says."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from kcodec.columns.shown import html_page, text_page
from kcodec.errors import ConfigError, SchemaError, one_line
from kcodec.java.blanks import trim
from kcodec.ksql.codec.codec import KsqlCodec
from kcodec.ksql.codec.windows import milliseconds
from kcodec.ksql.formats.format import FORMATS
from kcodec.ksql.records.datetimes import DateTimePattern
from kcodec.ksql.statement.properties import check_properties, typed
from kcodec.ksql.types import RESERVED, Parser, SqlColumn, StatementError, quoted_text
from kcodec.registry.base import RegistryLike

#: Columns that every stream and table has, and those of windows.
SYSTEM_COLUMNS = ("ROWTIME", "ROWPARTITION", "ROWOFFSET", "WINDOWSTART", "WINDOWEND")
#: Formats whose schemas are in a registry, from which columns are taken where a statement has none.
INFERRED = tuple(name for name, able in FORMATS.items() if able.rows is None)

_NAME = re.compile("[a-zA-Z0-9_-]*")
_KEYS_AND_TABLES = (
    "Tables have PRIMARY KEYs, which are unique and NON NULL. "
    "Streams have KEYs, which have no uniqueness or NON NULL constraints."
)


@dataclass(frozen=True, repr=False)
class Statement:
    """A ``CREATE STREAM`` or ``CREATE TABLE``, checked as ksqlDB checks it.

    ``str`` of it is the statement's text, its ``repr`` a table of its columns, as notebooks show it too.

    Parameters
    ----------
    kind : {"STREAM", "TABLE"}
        Which of the two.
    name : str
        As ksqlDB keeps it: upper-cased unless it was quoted.
    columns : tuple of SqlColumn
        In the order in which they are declared; those that a registry is to give are not among them.
    properties : mapping
        Of the ``WITH`` clause, by their names in upper case.
    source, or_replace, if_not_exists : bool
        What stands between the first words.

    Attributes
    ----------
    topic : str
        Its topic.
    key_format, value_format : str
        Names of the formats; of keys it is KAFKA unless the statement has another.
    key_properties, value_properties : dict
        What `kcodec.KsqlCodec` takes as ``properties``.
    wrap : bool or None
        ``WRAP_SINGLE_VALUE``.
    timestamp : str or None
        The name of the column that ROWTIME is taken from.
    timestamp_format : str or None
        The pattern of that column, if it is a STRING.
    partitions, replicas, retention : int or None
        Of the topic; the retention in milliseconds.
    window_type : {None, "SESSION", "HOPPING", "TUMBLING"}
        Whether keys have windows.
    window_size : int or None
        The windows' length in milliseconds; sessions have none.
    key_columns, value_columns, header_columns : tuple of SqlColumn
        Those of keys; those of values; those of headers.
    has_schemas : bool
        Whether the schemas of keys or of values are in a registry.

    Raises
    ------
    SchemaError
        With ksqlDB's reason.

    Examples
    --------
    >>> from kcodec.ksql import parse
    >>> [orders] = parse("CREATE STREAM orders (id INT KEY, total DOUBLE) WITH (kafka_topic='o', format='json');")
    >>> orders.name, orders.topic, orders.key_format, orders.value_format
    ('ORDERS', 'o', 'JSON', 'JSON')
    >>> print(orders)
    CREATE STREAM `ORDERS` (`ID` INTEGER KEY, `TOTAL` DOUBLE) WITH (KAFKA_TOPIC='o', FORMAT='JSON');
    """

    kind: str
    name: str
    columns: tuple[SqlColumn, ...]
    properties: Mapping[str, Any]
    source: bool = False
    or_replace: bool = False
    if_not_exists: bool = False

    def __post_init__(self) -> None:
        given = {name.upper(): value for name, value in self.properties.items()}
        object.__setattr__(self, "columns", tuple(self.columns))
        object.__setattr__(self, "properties", {name: typed(name, value) for name, value in given.items()})
        if self.kind not in ("STREAM", "TABLE"):
            raise SchemaError(f"{self.kind!r} is neither STREAM nor TABLE")
        if not _NAME.fullmatch(self.name):
            raise SchemaError(
                "Source names may only contain alphanumeric values, '_' or '-'. "
                f"Got: '{one_line(self.name, 80)}'"
            )
        if not self.name:
            raise SchemaError("name is empty")
        if self.or_replace and self.source:
            what = self.kind.lower()
            raise SchemaError(
                f"Cannot add {what} '{self.name}': CREATE OR REPLACE is not supported on source {what}s."
            )
        check_properties(self.properties)
        for part in ("KEY", "VALUE"):
            self._check_format(part)
        self._check_columns()
        if self.timestamp_format is not None:
            try:
                DateTimePattern(self.timestamp_format)
            except ValueError as error:
                raise SchemaError(
                    f"Invalid datetime format for config:TIMESTAMP_FORMAT, reason:{error}"
                ) from None
        if "TIMESTAMP" in self.properties:
            self._check_timestamp(_reference(self.properties["TIMESTAMP"]))

    def __hash__(self) -> int:
        return hash((self.kind, self.name, self.columns))

    def __repr__(self) -> str:
        return text_page(*self._page())

    def _repr_html_(self) -> str:
        return html_page(*self._page())

    def _page(self) -> tuple[str, Sequence[str], list[tuple[Any, ...]]]:
        """Return what the statement makes of which topic, and its columns with where they are."""
        title = (
            f"{self.kind} {self.name}: topic {self.topic}, key {self.key_format}, value {self.value_format}"
        )
        if self.window_type is not None:
            title += f", {self.window_type} windows"
        places = {
            "key": "primary key" if self.kind == "TABLE" else "key",
            "value": "value",
            "header": "headers",
        }
        return (
            title,
            ("column", "type", "in"),
            [(each.name, each.type, places[each.kind]) for each in self.columns],
        )

    def __str__(self) -> str:
        words = ["CREATE", "OR REPLACE" * self.or_replace, "SOURCE" * self.source, self.kind]
        words += ["IF NOT EXISTS" * self.if_not_exists, "`" + self.name + "`"]
        if self.columns:
            words.append(f"({', '.join(map(str, self.columns))})")
        properties = ", ".join(f"{name}={_literal(value)}" for name, value in self.properties.items())
        return " ".join(filter(None, words)) + f" WITH ({properties});"

    @property
    def key_columns(self) -> tuple[SqlColumn, ...]:
        """The columns of keys."""
        return tuple(column for column in self.columns if column.kind == "key")

    @property
    def value_columns(self) -> tuple[SqlColumn, ...]:
        """The columns of values."""
        return tuple(column for column in self.columns if column.kind == "value")

    @property
    def header_columns(self) -> tuple[SqlColumn, ...]:
        """The columns of headers."""
        return tuple(column for column in self.columns if column.kind == "header")

    @property
    def has_schemas(self) -> bool:
        """Whether the schemas of keys or of values are in a registry."""
        return not {self.key_format, self.value_format}.isdisjoint(INFERRED)

    @property
    def topic(self) -> str:
        """The topic."""
        return str(self.properties["KAFKA_TOPIC"])

    @property
    def key_format(self) -> str:
        """The format of keys."""
        return str(self.properties.get("FORMAT") or self.properties.get("KEY_FORMAT", "KAFKA"))

    @property
    def value_format(self) -> str:
        """The format of values."""
        return str(self.properties.get("FORMAT") or self.properties["VALUE_FORMAT"])

    @property
    def key_properties(self) -> dict[str, str]:
        """The properties of the keys' format, by the names that ksqlDB's formats have for them."""
        return self._format_properties("KEY")

    @property
    def value_properties(self) -> dict[str, str]:
        """The properties of the values' format."""
        return self._format_properties("VALUE")

    def _format_properties(self, part: str) -> dict[str, str]:
        given = self.properties
        name = given.get(f"{part}_SCHEMA_FULL_NAME", given.get(f"{part}_AVRO_SCHEMA_FULL_NAME"))
        found = {
            "fullSchemaName": name,
            "delimiter": given.get(f"{part}_DELIMITER"),
            "nullableRepresentation": given.get(f"{part}_PROTOBUF_NULLABLE_REPRESENTATION", "").lower()
            or None,
            "schemaId": given.get(f"{part}_SCHEMA_ID"),
        }
        return {name: str(value) for name, value in found.items() if value is not None}

    @property
    def wrap(self) -> bool | None:
        """Whether a single value column is a record of it."""
        return self.properties.get("WRAP_SINGLE_VALUE")

    @property
    def timestamp(self) -> str | None:
        """The name of the column that ROWTIME is taken from."""
        name = self.properties.get("TIMESTAMP")
        return None if name is None else _reference(name)

    @property
    def timestamp_format(self) -> str | None:
        """The pattern of the column that ROWTIME is taken from."""
        return self.properties.get("TIMESTAMP_FORMAT")

    @property
    def partitions(self) -> int | None:
        """The partitions of the topic."""
        return self.properties.get("PARTITIONS")

    @property
    def replicas(self) -> int | None:
        """The replicas of the topic."""
        return self.properties.get("REPLICAS")

    @property
    def retention(self) -> int | None:
        """The milliseconds for which the topic keeps records."""
        return self.properties.get("RETENTION_MS")

    @property
    def window_type(self) -> str | None:
        """What windows the keys have."""
        return self.properties.get("WINDOW_TYPE")

    @property
    def window_size(self) -> int | None:
        """The milliseconds of a window."""
        size = self.properties.get("WINDOW_SIZE")
        return None if size is None else milliseconds(size)

    @property
    def infers(self) -> tuple[str, ...]:
        """Which of ``key`` and ``value`` take their columns from a registry."""
        return tuple(
            part
            for part, columns, name in (
                ("key", self.key_columns, self.key_format),
                ("value", self.value_columns, self.value_format),
            )
            if not columns and name in INFERRED
        )

    def key_codec(self, **options: Any) -> KsqlCodec | None:
        """Return the codec of keys; None if they have no columns.

        `options` are further arguments of `kcodec.KsqlCodec`, such as ``registry`` and ``compat``. With a registry,
        columns that the statement lacks are taken from there.
        """
        window = {"window": self.window_type, "window_size": self.window_size, "source": self.name}
        given = {"is_key": True, "properties": self.key_properties, **window, **options}
        return self._codec("key", self.key_format, self.key_columns, given)

    def value_codec(self, **options: Any) -> KsqlCodec | None:
        """Return the codec of values, as `key_codec` does that of keys."""
        given = {"wrap": self.wrap, "properties": self.value_properties, **options}
        return self._codec("value", self.value_format, self.value_columns, given)

    def _codec(
        self, part: str, name: str, columns: tuple[SqlColumn, ...], options: dict[str, Any]
    ) -> KsqlCodec | None:
        registry = options.pop("registry", None)
        config = options.pop("config", None)
        if name in INFERRED:
            options |= {"registry": registry, "config": config, "topic": self.topic}
        if not columns and (part not in self.infers or registry is None):
            return None
        return KsqlCodec(name, columns, **options)

    def inferred(self, registry: RegistryLike | None, config: Mapping[str, Any] | None = None) -> "Statement":
        """Return the statement with the columns that it lacks, from the registry's schemas.

        Parameters
        ----------
        registry : kcodec.registry.SchemaRegistry or str
            A handle or its URL.
        config : mapping, optional
            Settings of Confluent's serializers, as for `kcodec.Serde`.

        Returns
        -------
        Statement
            The same, if it lacks none.

        Raises
        ------
        SchemaError
            If there is no registry to ask, it lacks a schema, or that is not one of ksqlDB's columns.
        RegistryError
            If the registry cannot be asked.
        """
        if not self.infers:
            return self
        if registry is None:
            missing = " and ".join(f"columns of the {part}" for part in self.infers)
            raise SchemaError(f"{self.name} has no {missing}: a registry is needed, or declare them")
        found = [*self.header_columns, *self.key_columns]
        if "key" in self.infers and (keys := self.key_codec(registry=registry, config=config)) is not None:
            primary = self.kind == "TABLE"
            found += [SqlColumn(column.name, column.type, "key", primary) for column in keys.columns]
        found += self.value_columns
        if (
            "value" in self.infers
            and (values := self.value_codec(registry=registry, config=config)) is not None
        ):
            found += [SqlColumn(column.name, column.type) for column in values.columns]
        return replace(self, columns=tuple(found))

    def _check_format(self, part: str) -> None:
        is_key = part == "KEY"
        name = self.key_format if is_key else self.value_format
        nullable = f"{part}_PROTOBUF_NULLABLE_REPRESENTATION"
        if nullable in self.properties and "nullableRepresentation" not in FORMATS[name].properties:
            raise SchemaError(f"Property {nullable} can only be enabled with protobuf format")
        if f"{part}_SCHEMA_ID" in self.properties and "schemaId" not in FORMATS[name].properties:
            raise SchemaError(
                f"{part}_FORMAT should support schema inference when {part}_SCHEMA_ID is provided. "
                f"Current format is {name}."
            )
        given = self.key_properties if is_key else self.value_properties
        unknown = [each for each in given if each not in FORMATS[name].properties]
        if unknown:
            raise SchemaError(f"{name} does not support the following configs: [{', '.join(unknown)}]")
        for each, value in given.items():
            if not trim(value):
                raise SchemaError(f"{each} cannot be empty. Format configuration: {{{each}={value}}}")

    def _check_columns(self) -> None:
        for column in self.key_columns:
            if column.primary == (self.kind == "STREAM"):
                has, wants = ("PRIMARY KEY", "KEY") if column.primary else ("KEY", "PRIMARY KEY")
                raise SchemaError(
                    f"Column `{column.name}` is a '{has}' column: please use '{wants}' for {self.kind.lower()}s. "
                    + _KEYS_AND_TABLES
                )
        if not self.columns and not self.infers:
            raise SchemaError("The statement does not define any columns.")
        seen: set[str | None] = set()
        for column in self.columns:
            if column.name in SYSTEM_COLUMNS:
                raise SchemaError(
                    f"'{column.name}' is a reserved column name. You cannot use it as a name for a column."
                )
            if column.kind == "header":
                if None in seen:
                    raise SchemaError("Schema already contains a HEADERS column.")
                if column.header in seen:
                    raise SchemaError(f"Schema already contains a HEADER('{column.header}') column.")
                seen.add(column.header)
        if self.kind == "TABLE" and not self.key_columns and "key" not in self.infers:
            raise SchemaError("Tables require a PRIMARY KEY. Please define the PRIMARY KEY.")
        if self.wrap is not None and not self.value_columns and "value" not in self.infers:
            raise SchemaError("'WRAP_SINGLE_VALUE' is only valid for single-field value schemas")
        if self.window_type is not None and not self.key_columns and "key" not in self.infers:
            raise SchemaError("Windowed sources require a key column.")
        names = [column.name for column in self.columns]
        for name in names if len(set(names)) < len(names) else ():
            if names.count(name) > 1:
                raise SchemaError(f"Duplicate column names: `{name}`")
        # All that needs no registry is checked now.
        for make in (self.key_codec, self.value_codec):
            try:
                make()
            except ConfigError as error:
                raise SchemaError(str(error)) from None

    def _check_timestamp(self, name: str) -> None:
        found = [column for column in self.columns if column.name == name]
        if not found:
            if self.infers:
                return
            raise SchemaError(
                f"The TIMESTAMP column set in the WITH clause does not exist in the schema: '{name}'"
            )
        base = found[0].type.base
        if base == "STRING":
            if self.timestamp_format is None:
                raise SchemaError(
                    "A String timestamp field has been specified without also specifying the timestamp_format"
                )
        elif self.timestamp_format is not None:
            raise SchemaError(
                "'TIMESTAMP_FORMAT' set in the WITH clause can only be used when the timestamp column is of type "
                "STRING."
            )
        elif base not in ("BIGINT", "TIMESTAMP"):
            raise SchemaError(
                f"Timestamp column, `{name}`, should be LONG(INT64), TIMESTAMP, or a String with a timestamp_format "
                "specified."
            )


class _Reference(Parser):
    reserved = RESERVED


def _reference(text: str) -> str:
    """Return the name of the column that a property names; like ksqlDB, ignore its source and anything behind it."""
    try:
        parser = _Reference(text)
        name = parser.name()
        is_qualified = parser.take(".")
        if is_qualified:
            name = parser.name()
        is_call = not is_qualified and (parser.kind == "text" or parser.is_next("("))
        if is_call or parser.is_next("[") or parser.is_next("->"):
            raise SchemaError(f"Cannot parse text that is not column reference: {one_line(text, 80)}")
    except StatementError as error:
        raise SchemaError(f"the column '{one_line(text, 80)}': {error.reason}") from None
    return name


def _literal(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, (int, Decimal)) else quoted_text(value)

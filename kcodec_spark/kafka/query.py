"""What is decided when a query is made: its columns, and what decodes them."""

import pickle
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from kcodec.columns.types.fields import field_path
from kcodec.errors import ConfigError
from kcodec.kafka.conditions.condition import Condition, paths
from kcodec.kafka.conditions.where import empty, matching, parse
from kcodec.kafka.connection.settings import Settings
from kcodec.kafka.reading.columns import COLUMNS, Columns
from kcodec.kafka.report import ReadReport
from kcodec.protocol.batch.schema import HEADERS
from kcodec_spark.kafka.formats import FORMAT_OPTIONS, payload
from kcodec_spark.kafka.options import ROWS, Given
from kcodec_spark.kafka.payload import Payload
from kcodec_spark.kafka.scan import Scan
from kcodec_spark.options import REGISTRY_PREFIX, RowsOptions, read_options
from kcodec_spark.types.arrow import all_nullable, arrow_schema, from_arrow_type

if TYPE_CHECKING:
    from pyspark.sql.types import StructType


def make(options: Mapping[str, str]) -> "tuple[bytes, StructType]":
    """Return the scan that options ask for, pickled, and its columns; the registry is asked for schemas."""
    from pyspark.sql.types import StructField, StructType

    given = Given(options, False, FORMAT_OPTIONS)
    given.check()
    topics = given.topics()
    named = list(topics) if isinstance(topics, (list, dict)) else []
    rows = _rows(given)
    reset = "error" if given.flag("failOnDataLoss", True) else "earliest"
    config = {"isolation.level": "read_uncommitted", **given.config, "auto.offset.reset": reset}
    settings = Settings.of(config)
    columns = _columns(given)
    key, value = (payload(given, part, named, rows) for part in ("key", "value"))
    _check_decoded("columns", columns, key, value)

    def schema_of(chosen: Any) -> pa.Schema:
        return (
            Columns(
                settings,
                key=key,
                value=value,
                columns=chosen,
                isolation=settings.isolation,
                errors="raise",
                report=ReadReport(),
            )
            .begin(named)
            .fix_schema()
        )

    decoded = schema_of(list(columns))
    shown = len(decoded)
    text = given.text("where")
    condition = None if text is None else parse(text, "where")
    read = {name if name.endswith(".*") else name.rpartition(".")[2]: name for name in columns}
    if condition is not None and (hidden := _hidden(condition, decoded)):
        _check_decoded("where", hidden, key, value)
        read |= hidden
        try:
            decoded = schema_of(read)
        except ConfigError as error:
            raise ConfigError(f"where {text!r}: {error}") from None
    # Spark's own source has headers that may be null, and so may all be where bad values are.
    spark = StructType(
        [
            StructField(each.name, all_nullable(kind) if rows.permissive or each.type == HEADERS else kind)
            for each in decoded
            for kind in [from_arrow_type(each.type)]
        ]
    )
    arrow = arrow_schema(spark)
    if condition is not None:
        try:
            matching(condition, empty(arrow))
        except ConfigError as error:
            raise ConfigError(f"where {text!r}: {error}") from None
    scan = Scan(
        topics, config, given, read, pickle.dumps((key, value)), rows.permissive, arrow, shown, condition
    )
    return pickle.dumps(scan), StructType(spark.fields[:shown])


def _hidden(condition: Condition, schema: pa.Schema) -> dict[str, str]:
    """Return what a condition reads of records that is not among the columns: fields of keys and values only."""
    shown = pa.struct(list(schema))
    names = {".".join(path): path for path in paths(condition) if field_path(shown, path) is None}
    for name, path in names.items():
        if path[0] not in (*COLUMNS, "headers"):
            raise ConfigError(f"where: {name} is neither a column nor a field such as value.id")
    return {name: name for name in names}


def _check_decoded(option: str, names: Iterable[str], key: Payload | None, value: Payload | None) -> None:
    """Raise if an option names fields of keys or values that are bytes."""
    for name in names:
        part, dot, _ = name.partition(".")
        if dot and part in ("key", "value") and (key if part == "key" else value) is None:
            raise ConfigError(
                f"{option}: {name}: give {part}.format, such as avro: without it there are bytes"
            )


def _rows(given: Given) -> RowsOptions:
    options = {name: given.text(name) for name in ROWS if name in given}
    settings = {f"{REGISTRY_PREFIX}{name}": value for name, value in given.registry.items()}
    found = read_options({**options, **settings})
    given.registry = found.registry
    return found.rows


def _columns(given: Given) -> tuple[str, ...]:
    text = given.text("columns")
    headers = given.flag("includeHeaders", False)
    if text is None:
        return (*COLUMNS, "headers") if headers else COLUMNS
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    if headers and "headers" not in names:
        raise ConfigError("includeHeaders: name headers among the columns")
    return names

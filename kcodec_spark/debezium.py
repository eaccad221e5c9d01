"""Debezium's change events as the rows that they hold, in columns of Spark's own."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from kcodec.errors import SchemaError
from kcodec.formats.debezium.unavailable import UNAVAILABLE, Placeholder
from kcodec.formats.debezium.unwrap import DELETED, Extraction, FieldReference
from kcodec_spark.functions.columns import quoted
from kcodec_spark.types.arrow import to_arrow_type

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType


def unwrap(
    df: "DataFrame",
    column: str = "value",
    *,
    delete_tombstone_handling_mode: str = "tombstone",
    add_fields: str | Iterable[str] = (),
    add_fields_prefix: str = "__",
    add_headers: str | Iterable[str] = (),
    add_headers_prefix: str = "__",
    route_by_field: str = "",
    unavailable: str = "keep",
    unavailable_value: str = "__debezium_unavailable_value",
) -> "DataFrame":
    """Take the rows out of Debezium's change events, as its transform ``ExtractNewRecordState`` does.

    Parameters
    ----------
    df : DataFrame
        Batch or stream, classic or Connect.
    column : str
        Name of the column of envelopes, as any of the functions decodes them; null is a tombstone.
    delete_tombstone_handling_mode, add_fields, add_fields_prefix, add_headers, add_headers_prefix, route_by_field
        The settings of the transform, as for `kcodec.unwrap`.
    unavailable, unavailable_value
        As for `kcodec.unwrap`.

    Returns
    -------
    DataFrame
        The messages that the transform lets pass, with all columns: `column` is the struct of the row, null for a
        tombstone; with `add_headers`, ``headers`` has these too, as text; with `route_by_field`, ``topic`` is what the
        row says. Rows that mode PERMISSIVE has made nulls of are not among them: `dead_letters` takes them before.

    Raises
    ------
    SchemaError, ConfigError
        When called, if there is no such column of envelopes, or a setting is not valid.

    Examples
    --------
    >>> from kcodec_spark import from_avro, unwrap
    >>> changes = kafka.withColumn("value", from_avro("value", **registry))             # doctest: +SKIP
    >>> unwrap(changes, delete_tombstone_handling_mode="rewrite").select("value.*")     # doctest: +SKIP
    """
    from pyspark.sql import functions as F

    extraction = Extraction(
        delete_tombstone_handling_mode,
        add_fields,
        add_fields_prefix,
        add_headers,
        add_headers_prefix,
        route_by_field,
        unavailable,
        unavailable_value,
    )
    events = _Events(df, column)
    columns = {column: events.row(extraction)}
    if extraction.headers:
        headers = events.headers(extraction)
        there = [name for name in df.columns if name.lower() == "headers"]
        if there:
            empty = F.array().cast("array<struct<key:string,value:binary>>")
            headers = F.concat(F.coalesce(F.col(there[0]), empty), headers)
        columns["headers"] = headers
    if extraction.route_by_field:
        topic = events.topic(extraction.route_by_field)
        there = [name for name in df.columns if name.lower() == "topic"]
        columns["topic"] = F.coalesce(topic, F.col(there[0])) if there else topic
    return df.where(events.kept(extraction)).withColumns(columns)


class _Events:
    """A column of envelopes."""

    def __init__(self, df: "DataFrame", name: str) -> None:
        from pyspark.sql import functions as F
        from pyspark.sql.types import StructType

        if not isinstance(name, str):
            raise TypeError(f"column is the name of a column, not {type(name).__name__}")
        found = [field for field in df.schema.fields if field.name == name]
        if len(found) != 1:
            raise SchemaError(f"no one column {name}: there are {', '.join(df.columns)}")
        self.column = F.col(quoted(name))
        self.kinds = _kinds(found[0].dataType)
        if not isinstance(self.kinds.get("after"), StructType):
            raise SchemaError(f"{name} is not an envelope of Debezium's: it has no struct named after")
        if not self.kinds.keys() & {"before", "op"}:
            raise SchemaError("without the fields before or op, deletes cannot be told from truncates")
        self.after = self.column.getField("after")

    @property
    def deleted(self) -> "Column":
        if "before" in self.kinds:
            return self.after.isNull() & self.column.getField("before").isNotNull()
        return self.after.isNull() & self.column.getField("op").eqNullSafe("d")

    def kept(self, extraction: Extraction) -> "Column":
        """Return whether the transform lets a message pass."""
        kept = self.after.isNotNull()
        if extraction.keeps_deletes:
            kept = kept | self.deleted
        return kept | self.column.isNull() if extraction.keeps_tombstones else kept

    def row(self, extraction: Extraction) -> "Column":
        from pyspark.sql import functions as F

        kind = self.kinds["after"]
        rows = self.after
        if extraction.rewrites:
            if "before" not in self.kinds:
                raise SchemaError("the row of a delete is in the field before, which is missing")
            before, after = self.kinds["before"].simpleString(), kind.simpleString()
            if before != after:
                raise SchemaError(f"before is {before}, and after {after}")
            rows = F.coalesce(self.after, self.column.getField("before"))
        parts = [(name, rows.getField(name)) for name in _kinds(kind)]
        if extraction.placeholder is not None:
            parts = _without(parts, _kinds(kind), extraction)
        if extraction.rewrites:
            parts.append((DELETED, F.when(self.after.isNull(), F.lit("true")).otherwise(F.lit("false"))))
        parts += [(reference.new, value) for reference, value, _ in self.references(extraction.fields)]
        names = [name for name, _ in parts]
        twice = {name for name in names if names.count(name) > 1}
        if twice:
            raise SchemaError(f"a field's name stands twice in the rows: {', '.join(sorted(twice))}")
        # Nullable each, too: `toArrow` takes no null of a struct that has other fields.
        fields = (F.when(rows.isNotNull(), value).alias(name) for name, value in parts)
        return F.when(rows.isNotNull(), F.struct(*fields))

    def references(
        self, references: Iterable[FieldReference]
    ) -> "list[tuple[FieldReference, Column, DataType]]":
        """Return those of the wanted fields that exist, with their types."""
        found = []
        for reference in references:
            inside = self.kinds
            parent = self.column
            if reference.parent:
                if reference.parent not in self.kinds:
                    raise SchemaError(
                        f"the envelope has no struct {reference.parent}, of which {reference.name} is wanted"
                    )
                inside = _kinds(self.kinds[reference.parent])
                parent = self.column.getField(reference.parent)
            if reference.name in inside:
                found.append((reference, parent.getField(reference.name), inside[reference.name]))
            elif reference.name in self.kinds:
                # What another transform has put beside the struct.
                found.append((reference, self.column.getField(reference.name), self.kinds[reference.name]))
        return found

    def headers(self, extraction: Extraction) -> "Column":
        """Return the headers; for a tombstone only the one that says that it is a delete."""
        from pyspark.sql import functions as F

        def header(reference: FieldReference, text: "Column") -> "Column":
            return F.struct(F.lit(reference.new).alias("key"), text.cast("binary").alias("value"))

        found = self.references(extraction.headers)
        deletes = [header(each, F.lit("d")) for each, _, _ in found if each.name == "op"]
        all_of_them = [header(each, _text(value, kind)) for each, value, kind in found]
        kind = "array<struct<key:string,value:binary>>"
        return F.when(self.column.isNull(), F.array(*deletes).cast(kind)).otherwise(
            F.array(*all_of_them).cast(kind)
        )

    def topic(self, name: str) -> "Column":
        """Return the topic that a field of the row names; null if it is null."""
        from pyspark.sql import functions as F
        from pyspark.sql.types import StringType

        rows = [each for each in ("after", "before") if each in self.kinds]
        if not all(isinstance(_kinds(self.kinds[each]).get(name), StringType) for each in rows):
            raise SchemaError(f"route_by_field: rows have no text field {name}")
        last = self.column.getField(rows[-1])
        topic = F.when(self.after.isNotNull(), self.after.getField(name)).otherwise(last.getField(name))
        return F.when(topic.rlike(r"(?U)\S"), topic)


def _text(value: "Column", kind: "DataType") -> "Column":
    """Return a value as text, instants in ISO 8601 and UTC as Connect's headers are, whatever the session's zone is."""
    from pyspark.sql import functions as F
    from pyspark.sql.types import TimestampType

    if not isinstance(kind, TimestampType):
        return value.cast("string")
    seconds = (F.unix_micros(value).cast("decimal(20,0)") / F.lit(1_000_000)).cast("decimal(18,6)")
    at = F.lit("1970-01-01").cast("timestamp_ntz") + F.make_dt_interval(secs=seconds)
    return F.concat(F.translate(at.cast("string"), " ", "T"), F.lit("Z"))


def _without(
    parts: "list[tuple[str, Column]]", kinds: "Mapping[str, DataType]", extraction: Extraction
) -> "list[tuple[str, Column]]":
    """Return fields with nulls for placeholders, and if so asked, the names of those that have become null."""
    from pyspark.sql import functions as F

    assert extraction.placeholder is not None
    made, lost = [], []
    for name, value in parts:
        unknown = _is_unavailable(value, kinds[name], extraction.placeholder)
        if unknown is not None:
            lost.append(F.when(unknown, F.lit(name)))
            value = F.when(unknown, F.lit(None)).otherwise(value)
        made.append((name, value))
    if extraction.unavailable == "list":
        made.append((UNAVAILABLE, F.array_compact(F.array(*lost).cast("array<string>"))))
    return made


def _is_unavailable(value: "Column", kind: "DataType", placeholder: Placeholder) -> "Column | None":
    """Return whether a value is the placeholder; None for types that never hold it."""
    from pyspark.sql import functions as F
    from pyspark.sql.types import ArrayType

    name = kind.simpleString()
    if name == "string":
        return value.isin(*placeholder.texts)
    if name == "binary":
        return value == F.lit(placeholder.content)
    if name == "map<string,string>":
        pair = F.struct(F.lit(placeholder.text).alias("key"), F.lit(placeholder.text).alias("value"))
        return F.map_entries(value) == F.array(pair)
    if isinstance(kind, ArrayType):
        items = placeholder.items(to_arrow_type(kind.elementType))
        if items is not None:
            found = value == F.array(*map(F.lit, items)).cast(name)
            return found | (value == F.array(F.lit(placeholder.uuid))) if name == "array<string>" else found
    return None


def _kinds(kind: "DataType") -> "dict[str, DataType]":
    """Return the types of a struct's fields by their names; nothing for other types."""
    return {field.name: field.dataType for field in getattr(kind, "fields", ())}

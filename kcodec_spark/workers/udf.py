"""What runs on the executors around a codec: it turns bad rows into nulls, and several columns into one struct."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from kcodec._kept import Kept
from kcodec.codec import report
from kcodec.columns.arrays.casts import cast_rows
from kcodec.columns.arrays.nested import cast_leaves, replace_rows
from kcodec.errors import ConfigError, DecodeError, RegistryError, SchemaError
from kcodec.plan.failure import step
from kcodec_spark.types.arrow import as_wide, is_variant
from kcodec_spark.workers.importer import importer

__all__ = [
    "CORRUPT_FIELDS",
    "UNWRITTEN_FIELDS",
    "Reader",
    "TypedWriter",
    "Writer",
    "corrupt_type",
    "decode_permissive",
    "encode_packed",
    "encode_permissive",
    "loader",
    "pack",
    "read_as",
    "read_wide",
    "refuse_variants",
    "take_one",
    "write_checked",
]

#: The struct that says what is wrong with a row. ``offset`` counts from the first byte of ``bytes``.
CORRUPT_FIELDS = (
    pa.field("reason", pa.string()),
    pa.field("code", pa.string()),
    pa.field("offset", pa.int64()),
    pa.field("path", pa.string()),
    pa.field("schema_id", pa.int64()),
    pa.field("bytes", pa.binary()),
)

#: The same of a row that cannot be written.
UNWRITTEN_FIELDS = tuple(field for field in CORRUPT_FIELDS if field.name not in ("offset", "bytes"))

#: Types, and whether their texts and bytes are to have offsets of 64 bits: what they become.
_WIDE: Kept[tuple[pa.DataType, bool], pa.DataType] = Kept()


class Reader(Protocol):
    """What decodes a column: the ``decode`` of a codec, the ``deserialize`` of a serde."""

    def __call__(self, values: pa.Array, *, errors: str = "raise") -> Any:
        """Return an Arrow array, and with ``errors="report"`` the report too."""


#: What encodes columns: the ``encode`` of a codec, the ``serialize`` of a serde, or what packs columns for these. It
#: takes arrays and ``errors=``, and returns a binary array, and with ``errors="report"`` the report too.
Writer = Callable[..., Any]


def corrupt_type(arrow_type: pa.DataType, column: str | None, *, text_ids: bool = False) -> pa.DataType:
    """Return the type of a record, with the error column if one is wanted; its schema id may be text."""
    if column is None:
        return arrow_type
    if not pa.types.is_struct(arrow_type):
        raise ConfigError(f"columnNameOfCorruptRecord needs a record, and {arrow_type} has no fields")
    taken = [field.name for field in arrow_type if field.name.lower() == column.lower()]
    if taken:
        raise ConfigError(f"columnNameOfCorruptRecord: {taken[0]} is already a field of the record")
    fields = corrupt_fields(pa.string() if text_ids else pa.int64())
    return pa.struct([*arrow_type, pa.field(column, pa.struct(fields))])


def corrupt_fields(id_type: pa.DataType) -> list[pa.Field]:
    """Return the fields of the error column for schema ids of a type."""
    return [field.with_type(id_type) if field.name == "schema_id" else field for field in CORRUPT_FIELDS]


def take_one(
    work: Callable[..., Any], name: str, more: str, *columns: pa.Array, errors: str = "raise"
) -> Any:
    """Decode or encode the one column that a function of SQL takes; where there are more, an error ends with `more`."""
    if len(columns) != 1:
        raise TypeError(f"{name} takes one column, not {len(columns)}{more if columns else ''}")
    return work(*columns, errors=errors)


def read_as(
    read: Callable[..., Any], kind: pa.DataType, values: pa.Array, *beside: pa.Array, errors: str = "raise"
) -> Any:
    """Read values as another type; one that it cannot hold is an error of its row.

    Spark casts only what the outermost of nested functions returns.
    """
    if errors == "raise":
        array, lost = cast_rows(read(values, *beside), kind)
        if lost:
            raise DecodeError(*lost[0])
        return array
    array, found = read(values, *beside, errors=errors)
    array, lost = cast_rows(array, kind)
    return array, pa.concat_tables([found, report(lost)]).sort_by("row") if lost else found


def read_wide(read: Callable[..., pa.Array], *columns: pa.Array) -> pa.Array:
    """Read columns; texts and bytes get offsets as wide as Spark has them.

    With `spark.sql.execution.arrow.useLargeVarTypes` these have 64 bits. Spark would cast whole columns, which Arrow
    refuses where fields that are never null stand within records that are.
    """
    array = read(*columns)
    is_large = any(
        pa.types.is_large_binary(each.type) or pa.types.is_large_string(each.type) for each in columns
    )
    kind = _WIDE.get((array.type, is_large), lambda: as_wide(array.type, is_large))
    return cast_leaves(array, kind)


def decode_permissive(
    read: Callable[..., Any],
    corrupt_column: str | None,
    null_on_registry_failure: bool,
    values: pa.Array,
    *beside: pa.Array,
) -> pa.Array:
    """Decode values, each bad row to a struct of nulls, as Spark does, with what is wrong in the error column."""
    array, report = read(values, *beside, errors="report")
    if report.num_rows and not null_on_registry_failure:
        failed = report.filter(pc.equal(report["code"], "registry_error"))
        if failed.num_rows:
            # No fault of the rows: Spark tries the task again.
            raise RegistryError(failed["reason"][0].as_py())
    if not pa.types.is_struct(array.type):
        return array
    fields = [field.with_nullable(True) for field in array.type]
    children = array.flatten()
    if corrupt_column is not None:
        wrong = corrupt_fields(report["schema_id"].type)
        fields.append(pa.field(corrupt_column, pa.struct(wrong)))
        children.append(_bad_rows(wrong, len(values), report, values))
    # Values may be null that are not bad, such as the null of a union.
    bad, mask = report["row"].to_pylist(), array.is_null()
    if not children:
        return replace_rows(array, bad, pa.array([{}] * len(bad), array.type)) if bad else array
    if bad:
        mask = replace_rows(mask, bad, pa.array([False] * len(bad)))
    return pa.StructArray.from_arrays(children, fields=fields, mask=mask)


def write_checked(write: Writer, *columns: pa.Array, errors: str = "raise") -> Any:
    """Encode columns; see `refuse_variants`."""
    for column in columns:
        refuse_variants(column.type)
    return write(*columns, errors=errors)


def refuse_variants(kind: pa.DataType, path: str = "") -> None:
    """Raise for variants anywhere in a type: they would be written as Spark's internal bytes."""
    if pa.types.is_struct(kind) and is_variant(kind):
        raise SchemaError(f"{path or 'the column'}: Spark's type variant is not written; cast it to another")
    for number in range(kind.num_fields):
        field = kind.field(number)
        refuse_variants(field.type, step(path, field.name))


def encode_permissive(write: Writer, corrupt_column: str | None, *columns: pa.Array) -> pa.Array:
    """Encode columns, each row that cannot be written to a null, with what is wrong in the error column."""
    values, report = write(*columns, errors="report")
    if corrupt_column is None:
        return values
    if report["schema_id"].type != pa.int64():
        # The type of the result was said before the frame was known.
        report = report.set_column(5, "schema_id", pa.nulls(report.num_rows, pa.int64()))
    bad = _bad_rows(UNWRITTEN_FIELDS, len(values), report)
    return pa.StructArray.from_arrays([values, bad], names=["value", corrupt_column])


def _bad_rows(
    fields: Sequence[pa.Field], count: int, report: pa.Table, values: pa.Array | None = None
) -> pa.Array:
    """Return the error column of a report, null in rows without an error; ``bytes`` are from `values`."""
    if not report.num_rows:
        return pa.nulls(count, pa.struct(fields))
    rows = report["row"].combine_chunks()
    found = dict(zip(report.column_names, report.columns, strict=True))
    if values is not None:
        # One by one, as Arrow takes none from views.
        found["bytes"] = pa.chunked_array([pa.array([values[row].as_py() for row in rows.to_pylist()])])
    columns = [found[field.name].combine_chunks().cast(field.type) for field in fields]
    entries = pa.StructArray.from_arrays(columns, fields=list(fields))
    return replace_rows(pa.nulls(count, entries.type), rows.to_pylist(), entries)


class TypedWriter:
    """Encodes by a writer that `make` returns for the type or field of a column: one per query, while it runs."""

    def __init__(self, make: Callable[[Any], Writer]) -> None:
        self.make = make
        self.writers: dict[Any, Writer] = {}

    def __call__(self, array: pa.Array, kind: pa.Field | None = None, *, errors: str = "raise") -> Any:
        """Return the array in bytes, by the writer of a field, or else of the array's type."""
        key = array.type if kind is None else kind
        if key not in self.writers:
            self.writers[key] = self.make(key)
        return self.writers[key](array, errors=errors)


def encode_packed(write: Writer, shape: pa.Array, *columns: pa.Array, errors: str = "raise") -> Any:
    """Encode columns as one struct; see `pack`."""
    return write(pack(shape, columns), errors=errors)


def pack(shape: pa.Array, columns: tuple[pa.Array, ...]) -> pa.Array:
    """Make one struct of columns, with the names that the shape has for them."""
    fields = list(shape.type.value_type)
    if len(fields) != len(columns):
        raise SchemaError(f"{len(columns)} columns for {len(fields)} fields: give * within a struct")
    return pa.StructArray.from_arrays(list(columns), fields=fields)


def loader(
    content: bytes, marker: str | None, level: int, name: str, form: str | None = None
) -> Callable[..., Any]:
    """Return the function that Spark sends; it uses nothing of these packages, so that it can look for them first.

    With a `form` it is one of pandas' Series, whatever it says of itself; see `kcodec_spark.workers.series`.
    """
    find = importer(marker)

    # Spark looks at what it takes and returns.
    def work(*columns: pa.Array) -> pa.Array:
        function: Any = find("kcodec_spark.workers.worker").load(content, level, name)
        array: pa.Array
        if form is None:
            array = function(*columns)
            return array
        array = find("kcodec_spark.workers.series").call(function, form, *columns)
        return array

    return work

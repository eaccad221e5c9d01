"""Debezium's envelopes as the rows that they hold, as its transform ``ExtractNewRecordState`` makes them."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from kcodec._lazy import compute as pc
from kcodec.columns.arrays.given import arrays
from kcodec.columns.arrays.nested import unpack
from kcodec.columns.faults import nulled
from kcodec.columns.types.plain import is_text, plain_type
from kcodec.errors import ConfigError, SchemaError, check_choice
from kcodec.formats.debezium.unavailable import MODES, UNAVAILABLE, Placeholder, is_unavailable

DELETED = "__deleted"

_MODES = ("tombstone", "drop", "rewrite", "rewrite-with-tombstone", "delete-to-tombstone")

#: Where a field stands that is named without its struct: in ``source``, but for these.
_PARENTS = {
    **dict.fromkeys(("op", "ts_ms", "ts_us", "ts_ns"), ""),
    **dict.fromkeys(("id", "data_collection_order", "total_order"), "transaction"),
}


class FieldReference(NamedTuple):
    """A field of the envelope, of its struct `parent` if that is not empty, and the name that it is given."""

    parent: str
    name: str
    new: str

    @classmethod
    def of(cls, text: str, prefix: str) -> "FieldReference":
        """Read ``field``, ``struct.field`` or either with ``:name`` behind it.

        >>> FieldReference.of("source.ts_ms", "__")
        FieldReference(parent='source', name='ts_ms', new='__source_ts_ms')
        >>> FieldReference.of("lsn:POSITION", "_")
        FieldReference(parent='source', name='lsn', new='_POSITION')
        """
        path, *new = text.strip().split(":")
        parts = path.split(".")
        if len(new) > 1 or len(parts) > 2 or not all((*parts, *new)):
            raise ConfigError(f"{text!r} is not a field, struct.field, or one of them with :name behind it")
        name = parts[-1]
        parent = parts[0] if len(parts) == 2 else _PARENTS.get(name, "source")
        return cls(parent, name, prefix + (new[0] if new else "_".join(parts)))


@dataclass(frozen=True)
class Extraction:
    """The settings of the transform, by its own names with underscores; see `unwrap`."""

    delete_tombstone_handling_mode: str = "tombstone"
    add_fields: str | Iterable[str] = ()
    add_fields_prefix: str = "__"
    add_headers: str | Iterable[str] = ()
    add_headers_prefix: str = "__"
    route_by_field: str = ""
    unavailable: str = "keep"
    unavailable_value: str = "__debezium_unavailable_value"

    def __post_init__(self) -> None:
        check_choice("unavailable", self.unavailable, MODES)
        # It says what is wrong with it.
        Placeholder(self.unavailable_value)
        mode = self.delete_tombstone_handling_mode
        if not isinstance(mode, str) or mode.strip().lower() not in _MODES:
            raise ConfigError(f"delete_tombstone_handling_mode={mode!r} is not one of {', '.join(_MODES)}")
        object.__setattr__(self, "delete_tombstone_handling_mode", mode.strip().lower())
        for name in ("add_fields_prefix", "add_headers_prefix", "route_by_field"):
            if not isinstance(getattr(self, name), str):
                raise ConfigError(f"{name}={getattr(self, name)!r} is not text")
        for name in ("add_fields", "add_headers"):
            given = getattr(self, name)
            listed = given.split(",") if isinstance(given, str) else given
            if not isinstance(listed, Iterable):
                raise ConfigError(f"{name}={given!r} is not a list of names")
            texts = tuple(text for text in listed if not isinstance(text, str) or text.strip())
            if not all(isinstance(text, str) for text in texts):
                raise ConfigError(f"{name}={given!r} is not a list of names")
            object.__setattr__(self, name, texts)

    @property
    def placeholder(self) -> Placeholder | None:
        """What stands for values that are not known, if it is to be replaced."""
        return None if self.unavailable == "keep" else Placeholder(self.unavailable_value)

    @property
    def rewrites(self) -> bool:
        """Whether rows have a field that says whether they are deleted."""
        return self.delete_tombstone_handling_mode.startswith("rewrite")

    @property
    def keeps_deletes(self) -> bool:
        """Whether there is a row for each delete."""
        return self.delete_tombstone_handling_mode != "drop"

    @property
    def keeps_tombstones(self) -> bool:
        """Whether there is a row for each tombstone."""
        return self.delete_tombstone_handling_mode == "rewrite-with-tombstone"

    @property
    def fields(self) -> list[FieldReference]:
        """The fields that are added to rows."""
        return [FieldReference.of(text, self.add_fields_prefix) for text in self.add_fields]

    @property
    def headers(self) -> list[FieldReference]:
        """The fields that become headers."""
        return [FieldReference.of(text, self.add_headers_prefix) for text in self.add_headers]


class Unwrapped(NamedTuple):
    """What `unwrap` returns: columns as long as the one given.

    Attributes
    ----------
    values : pyarrow.Array
        Structs of the fields of ``after`` and those added, all of them nullable; null for a tombstone. If the column
        has nothing else, and so no type, neither have these.
    kept : pyarrow.Array
        Booleans: whether the transform lets the message pass.
    headers : pyarrow.Array or None
        Structs of the headers; null where a message has not got one, or its value is null.
    topics : pyarrow.Array or None
        Text: the topic that ``route_by_field`` says; null where it says none.
    """

    values: pa.Array | pa.ChunkedArray
    kept: pa.Array | pa.ChunkedArray
    headers: pa.Array | pa.ChunkedArray | None = None
    topics: pa.Array | pa.ChunkedArray | None = None


def unwrap(
    changes: Any,
    *,
    delete_tombstone_handling_mode: str = "tombstone",
    add_fields: str | Iterable[str] = (),
    add_fields_prefix: str = "__",
    add_headers: str | Iterable[str] = (),
    add_headers_prefix: str = "__",
    route_by_field: str = "",
    unavailable: str = "keep",
    unavailable_value: str = "__debezium_unavailable_value",
) -> Unwrapped:
    """Take the rows out of Debezium's change events, as its transform ``ExtractNewRecordState`` does.

    Parameters
    ----------
    changes : pyarrow.Array, ChunkedArray, RecordBatch, Table or an Arrow producer
        Envelopes as any codec decodes them: structs with ``after``, and as needed ``before``, ``op``, ``source``,
        ``transaction``. Null is a tombstone.
    delete_tombstone_handling_mode : str
        What becomes of deletes, and of the tombstones behind them: ``"tombstone"`` and ``"delete-to-tombstone"`` keep
        a null for each delete, ``"drop"`` neither, ``"rewrite"`` keeps the row that was deleted, with a field
        ``__deleted`` that is ``"true"`` (of others ``"false"``), ``"rewrite-with-tombstone"`` that and the tombstone.
    add_fields : sequence of str, or str with commas
        Fields of the envelope to add to rows: ``op``, ``ts_ms``, ``lsn`` (of ``source``), ``transaction.id``, or with
        a new name ``source.ts_ms:changed``. What the envelope has not got is left out.
    add_fields_prefix : str
        What names of added fields begin with.
    add_headers, add_headers_prefix
        The same for headers.
    route_by_field : str
        The field of the row whose text is the topic.
    unavailable : {"keep", "null", "list"}
        What becomes of ``__debezium_unavailable_value``, which stands for a column of PostgreSQL's that is stored apart
        (TOAST) and that an update left as it was: it stays, as in the transform; or it is null; or null, and rows have
        a field ``__unavailable`` that lists the names of these columns.
    unavailable_value : str
        The connector's ``unavailable.value.placeholder``.

    Returns
    -------
    Unwrapped
        Truncates and other messages without a row are not kept.

    Raises
    ------
    SchemaError
        If the column is not one of envelopes.
    ConfigError
        If an argument is not valid.

    Examples
    --------
    >>> row = pa.struct([("id", pa.int64()), ("name", pa.string())])
    >>> envelope = pa.struct([("before", row), ("after", row), ("op", pa.string())])
    >>> old, new = {"id": 7, "name": "a"}, {"id": 7, "name": "b"}
    >>> events = [{"before": old, "after": new, "op": "u"}, {"before": new, "after": None, "op": "d"}, None]
    >>> found = unwrap(pa.array(events, envelope), delete_tombstone_handling_mode="rewrite", add_fields=["op"])
    >>> found.values.filter(found.kept).to_pylist()[1]
    {'id': 7, 'name': 'b', '__deleted': 'true', '__op': 'd'}
    """
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
    chunks, chunked = arrays(changes, None)
    kind = changes.type if isinstance(changes, pa.ChunkedArray) else None
    if not chunks:
        chunks = [pa.nulls(0, kind)]
    parts = [_unwrapped(unpack(chunk), extraction) for chunk in chunks]
    if not chunked:
        return parts[0]
    columns = zip(*parts, strict=True)
    return Unwrapped(*(None if column[0] is None else pa.chunked_array(column) for column in columns))


def _unwrapped(changes: pa.Array, extraction: Extraction) -> Unwrapped:
    if pa.types.is_null(changes.type):
        # Tombstones alone, which tell a codec without a schema no type.
        structs = {each.parent: pa.struct([]) for each in extraction.headers if each.parent}
        bare = pa.nulls(len(changes), pa.struct({"op": pa.string(), **structs}))
        kept = pa.repeat(pa.scalar(extraction.keeps_tombstones), len(changes))
        topics = changes.cast(pa.string()) if extraction.route_by_field else None
        return Unwrapped(changes, kept, _headers(bare, extraction), topics)
    after = _member(changes, "after")
    if after is None or not pa.types.is_struct(after.type):
        raise SchemaError(f"{changes.type} is not an envelope of Debezium's: it has no struct named after")
    before, op = _member(changes, "before"), _member(changes, "op")
    written = after.is_valid()
    if before is not None:
        deleted = pc.and_not(before.is_valid(), written)
    elif op is not None:
        deleted = pc.and_not(pc.fill_null(pc.equal(op, "d"), False), written)
    else:
        raise SchemaError("without the fields before or op, deletes cannot be told from truncates")
    rows = after
    if extraction.rewrites:
        if before is None or not pa.types.is_struct(before.type):
            raise SchemaError("the row of a delete is in the field before, which is missing")
        rows = pc.if_else(deleted, _as(before, after.type), after)
    names = [field.name for field in rows.type]
    columns = list(rows.flatten())
    if extraction.placeholder is not None:
        columns, lost = _without(columns, names, extraction.placeholder)
        if extraction.unavailable == "list":
            names.append(UNAVAILABLE)
            columns.append(lost)
    if extraction.rewrites:
        names.append(DELETED)
        columns.append(pc.if_else(deleted, "true", "false"))
    for name, column in _references(changes, extraction.fields):
        names.append(name)
        columns.append(column)
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise SchemaError(f"a field's name stands twice in the rows: {', '.join(sorted(twice))}")
    fields = [pa.field(name, column.type) for name, column in zip(names, columns, strict=True)]
    values = pa.StructArray.from_arrays(columns, fields=fields, mask=rows.is_null())
    kept = pc.or_(written, deleted) if extraction.keeps_deletes else written
    if extraction.keeps_tombstones:
        kept = pc.or_(kept, changes.is_null())
    return Unwrapped(values, kept, _headers(changes, extraction), _topics(after, before, extraction))


def _without(
    columns: list[pa.Array], names: list[str], placeholder: Placeholder
) -> tuple[list[pa.Array], pa.Array]:
    """Return columns with nulls for placeholders, and for each row the names of the columns that have become null."""
    made, lost = [], []
    for column, name in zip(columns, names, strict=True):
        unknown = is_unavailable(column, placeholder)
        # Of one type in all chunks, also in those without a placeholder.
        made.append(column if unknown is None else _without_views(unpack(column)))
        if unknown is None or not pc.any(unknown).as_py():
            continue
        made[-1] = nulled(made[-1], unknown)
        lost.append((name, np.asarray(unknown)))
    rows = len(columns[0]) if columns else 0
    counts = sum((unknown.astype(np.int32) for _, unknown in lost), np.zeros(rows, np.int32))
    offsets = np.concatenate([np.zeros(1, np.int32), np.cumsum(counts, dtype=np.int32)])
    # In the order of rows, and within these of columns.
    order = (
        np.argwhere(np.stack([unknown for _, unknown in lost], axis=1))[:, 1] if lost else np.zeros(0, int)
    )
    listed = pa.array([name for name, _ in lost], pa.string()).take(pa.array(order))
    return made, pa.ListArray.from_arrays(pa.array(offsets), listed)


def _member(array: pa.Array, name: str) -> pa.Array | None:
    """Return a field of structs, null where they are; None if there is none of the name."""
    if not pa.types.is_struct(array.type) or array.type.get_field_index(name) < 0:
        return None
    return unpack(pc.struct_field(array, name))


def _as(before: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return the old rows, cast to the type of the new ones."""
    if before.type == kind:
        return before
    try:
        if _has_list_views(before.type):
            # Arrow's cast reads one offset more than they have.
            raise pa.ArrowNotImplementedError("views of lists are not cast")
        return before.cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
        raise SchemaError(f"before is {before.type}, and after {kind}: {error}") from None


def _has_list_views(kind: pa.DataType) -> bool:
    if pa.types.is_list_view(kind) or pa.types.is_large_list_view(kind):
        return True
    return any(_has_list_views(kind.field(number).type) for number in range(kind.num_fields))


def _without_views(column: pa.Array) -> pa.Array:
    """Return views of text or bytes as such, since Arrow's ``if_else`` takes no views."""
    is_view = pa.types.is_string_view(column.type) or pa.types.is_binary_view(column.type)
    return column.cast(plain_type(column.type)) if is_view else column


def _references(changes: pa.Array, references: Iterable[FieldReference]) -> list[tuple[str, pa.Array]]:
    """Return those of the wanted fields that the envelope has, under their new names."""
    found = []
    for reference in references:
        parent = changes if not reference.parent else _member(changes, reference.parent)
        if parent is None:
            raise SchemaError(
                f"the envelope has no struct {reference.parent}, of which {reference.name} is wanted"
            )
        column = _member(parent, reference.name)
        if column is None:
            # What another transform has put beside the struct.
            column = _member(changes, reference.name)
            column = nulled(column, parent.is_null()) if column is not None else None
        if column is not None:
            found.append((reference.new, column))
    return found


def _headers(changes: pa.Array, extraction: Extraction) -> pa.Array | None:
    if not extraction.headers:
        return None
    names, columns = [], []
    for reference in extraction.headers:
        for name, column in _references(changes, [reference]):
            column = _without_views(column) if reference.name == "op" else column
            if reference.name == "op" and is_text(column.type):
                column = pc.if_else(changes.is_null(), pa.scalar("d", column.type), column)
            names.append(name)
            columns.append(column)
    if not names:
        return None
    return pa.StructArray.from_arrays(columns, names)


def _topics(after: pa.Array, before: pa.Array | None, extraction: Extraction) -> pa.Array | None:
    if not extraction.route_by_field:
        return None
    columns = [_member(rows, extraction.route_by_field) for rows in (after, before) if rows is not None]
    plain = [_without_views(column) for column in columns if column is not None]
    texts = [column for column in plain if is_text(column.type)]
    if len(texts) < len(columns):
        raise SchemaError(f"route_by_field: rows have no text field {extraction.route_by_field}")
    # Of a delete the row that there was.
    topic = pc.if_else(after.is_valid(), texts[0], texts[-1])
    blank = pc.fill_null(pc.equal(pc.utf8_trim_whitespace(topic), ""), True)
    return nulled(topic, blank)

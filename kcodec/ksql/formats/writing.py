"""Columns of a statement in the form in which a registered schema is written: what is the same for all languages.

What has to be done depends on types alone, so it is found out once for each Arrow type; most columns stand as they are.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kcodec._kept import Kept
from kcodec._lazy import compute as pc
from kcodec.columns.arrays.casts import cast_rows
from kcodec.columns.arrays.nested import rebuild, replace_rows
from kcodec.columns.faults import joined, refused
from kcodec.columns.types.exact import ExactType
from kcodec.columns.types.plain import MILLIS_PER_DAY
from kcodec.errors import Fault, SchemaError
from kcodec.formats.payloads import SchemaEncoder
from kcodec.ksql.formats.faults import of_field, of_items, without_rows
from kcodec.ksql.formats.json.plan import cast_written, code_of, match_fields, written_type
from kcodec.ksql.types import SqlType

#: Makes of an array what is written, and returns what is lost of it; an array that stays is returned itself.
Change = Callable[[pa.Array], tuple[pa.Array, list[Fault]]]


def missing_field(name: str) -> SchemaError:
    """Return why columns are not written as a schema that was chosen."""
    return SchemaError(f"Schema from Schema Registry misses field with name: {name}")


class WrittenType(Protocol):
    """A type of a schema that columns are written as."""

    @property
    def is_record(self) -> bool:
        """Whether it has fields."""

    @property
    def is_map(self) -> bool:
        """Whether a map is written as a map, rather than as a list of entries."""

    @property
    def is_union(self) -> bool:
        """Whether it is one of its fields, which stands among those of the record around it."""

    @property
    def entry(self) -> "tuple[WrittenType, WrittenType] | None":
        """Keys and values of a map."""

    @property
    def item(self) -> "WrittenType | None":
        """The items of a list."""

    def field(self, column: str) -> "tuple[str, WrittenType]":
        """Return the name of a column's field, and its type; raise `missing_field` if there is none."""

    def leaf(self, kind: SqlType, given: pa.DataType) -> Change | None:
        """Return what is done to values of a simple type."""

    def default(self, kind: SqlType) -> pa.Scalar | None:
        """Return what is written for a null of a column that is a field; None for the null itself."""


class _Form(NamedTuple):
    """What is done to columns of one Arrow type: the type that they are cast to first, and the changes after that."""

    wanted: pa.DataType
    change: Change | None


class ColumnEncoder(SchemaEncoder):
    """The columns of a statement, written by `write`, which takes them in the form of the target."""

    def __init__(
        self, kind: SqlType, target: WrittenType, write: Callable[..., tuple[pa.Array, Sequence[Fault]]]
    ) -> None:
        self._kind = kind
        self._target = target
        self._write = write
        self._forms: Kept[ExactType, _Form] = Kept()

    def _form(self, given: pa.DataType) -> _Form:
        wanted = written_type(self._kind, given)
        return _Form(wanted, _change(self._kind, wanted, self._target))

    def encode(
        self, array: pa.Array, *, prefix: bytes, large: bool, stop: bool
    ) -> tuple[pa.Array, Sequence[Fault]]:
        """Encode an array of the columns."""
        given = array.type
        form = self._forms.get(ExactType(given), lambda: self._form(given))
        plain, lost = cast_written(array, self._kind, form.wanted)
        if form.change is not None:
            changed, found = form.change(plain)
            plain, found = without_rows(changed, found)
            lost = [*lost, *found]
        encoded, faults = self._write(plain, prefix=prefix, large=large, stop=stop)
        return encoded, joined([lost, faults])


def _change(kind: SqlType, given: pa.DataType, target: WrittenType | None) -> Change | None:
    """Return what is done to columns of a type from `written_type`; None where they stand as they are."""
    if pa.types.is_null(given) or target is None:
        return None
    if kind.base == "STRUCT":
        return _struct_change(kind, given, target) if target.is_record else None
    if kind.base == "ARRAY":
        below = _change(kind.parts[0], given.value_type, target.item)
        return None if below is None else partial(_list, below)
    if kind.base == "MAP":
        return None if target.entry is None else _map_change(kind, given, target, *target.entry)
    return target.leaf(kind, given)


class _Field(NamedTuple):
    """A column within a struct: its place and name, whether it or its only member is written, and its null."""

    place: int
    name: str
    change: Change | None
    is_union: bool
    default: pa.Scalar | None


def _struct_change(kind: SqlType, given: pa.DataType, target: WrittenType) -> Change | None:
    changes: list[_Field] = []
    is_same = True
    for field, place in zip(kind.fields, match_fields(kind.fields, given), strict=True):
        # Columns that were missing have been added.
        assert place is not None
        name, below = target.field(field.name)
        default, part = below.default(field.type), given.field(place).type
        made = _change(field.type, part if default is None else _filled_type(part, default), below)
        is_same = is_same and name == given.field(place).name and not below.is_union
        changes.append(_Field(place, name, made, below.is_union, default))
    if is_same and all(each.change is None and each.default is None for each in changes):
        return None
    return partial(_struct, kind, changes, is_same)


def _struct(
    kind: SqlType, changes: list[_Field], is_same: bool, array: pa.Array
) -> tuple[pa.Array, list[Fault]]:
    written: list[tuple[str, pa.Array]] = []
    faults: list[Fault] = []
    for column, (place, name, change, is_union, default) in zip(kind.fields, changes, strict=True):
        part = array.field(place)
        if default is not None and part.null_count:
            part, is_same = _filled(part, default), False
        if change is not None:
            changed, lost = change(part)
            faults += of_field(array, lost, column.name)
            is_same = is_same and changed is part
            part = changed
        if not is_union:
            written.append((name, part))
        elif not pa.types.is_null(part.type):
            faults += of_field(array, _not_one(part), column.name)
            written += zip((field.name for field in part.type), part.flatten(), strict=True)
    if is_same:
        return array, faults
    mask = array.is_null() if array.null_count else None
    names = [name for name, _ in written]
    return pa.StructArray.from_arrays([part for _, part in written], names, mask=mask), faults


def _filled_type(given: pa.DataType, default: pa.Scalar) -> pa.DataType:
    return default.type if pa.types.is_null(given) else given


def _filled(array: pa.Array, default: pa.Scalar) -> pa.Array:
    """Put the default in the place of nulls."""
    if pa.types.is_null(array.type):
        return pa.repeat(default, len(array))
    rows = pc.indices_nonzero(array.is_null()).to_pylist()
    return replace_rows(array, rows, pa.repeat(default, len(rows)).cast(array.type))


def _not_one(array: pa.Array) -> list[Fault]:
    """Return the faults of structs that stand for one of their fields, but have none or several."""
    count = pa.array(np.zeros(len(array), np.int64))
    for part in array.flatten():
        count = pc.add(count, part.is_valid().cast(pa.int64()))
    return refused(pc.and_(array.is_valid(), pc.not_equal(count, 1)), "union_members")


def _list(change: Change, array: pa.Array) -> tuple[pa.Array, list[Fault]]:
    given = array.values
    items, lost = change(given)
    return array if items is given else rebuild(array, [items]), of_items(array, lost)


def _map_change(
    kind: SqlType, given: pa.DataType, target: WrittenType, key: WrittenType, item: WrittenType
) -> Change | None:
    keys = _change(kind.parts[0], given.key_type, key)
    items = _change(kind.parts[1], given.item_type, item)
    return None if target.is_map and keys is items is None else partial(_map, keys, items, target.is_map)


def _map(
    keys: Change | None, items: Change | None, is_map: bool, array: pa.Array
) -> tuple[pa.Array, list[Fault]]:
    parts: list[pa.Array] = []
    faults: list[Fault] = []
    for number, (change, step) in enumerate(((keys, ".key"), (items, ".value"))):
        part = array.values.field(number)
        if change is not None:
            part, lost = change(part)
            faults += of_items(array, lost, step)
        parts.append(part)
    fields = [pa.field("key", parts[0].type, nullable=not is_map), pa.field("value", parts[1].type)]
    entries = pa.StructArray.from_arrays(parts, fields=fields)
    if is_map:
        return rebuild(array, [entries]), faults
    made = pa.list_(pa.field("item", entries.type, nullable=False))
    buffers = array.buffers()[:2]
    return pa.Array.from_buffers(made, len(array), buffers, offset=array.offset, children=[entries]), faults


# What languages do to simple types --------------------------------------------------------------------


def in_utc(array: pa.Array) -> tuple[pa.Array, list[Fault]]:
    """Return local timestamps as those of UTC."""
    return array.cast(pa.timestamp(array.type.unit, "UTC")), []


def time_of_day(array: pa.Array) -> tuple[pa.Array, list[Fault]]:
    """Return integers, or times of milliseconds, as milliseconds of the day; null where they are outside of a day."""
    if pa.types.is_time(array.type):
        array = array.cast(pa.int32())
    bad = pc.fill_null(pc.or_(pc.less(array, 0), pc.greater(array, MILLIS_PER_DAY)), False)
    lost = refused(bad)
    return pc.if_else(bad, None, array).cast(pa.int32()) if lost else array.cast(pa.int32()), lost


def micros_of(array: pa.Array) -> NDArray[np.int64]:
    """Return the microseconds of timestamps; what nulls hold does not matter."""
    # A column without rows may have a buffer of any size.
    return np.frombuffer(array.buffers()[1], np.int64, array.offset + len(array))[array.offset :]


def is_finer(micros: NDArray[np.int64]) -> bool:
    """Return whether some microseconds are not whole milliseconds."""
    whole = micros // 1000
    whole *= 1000
    return not np.array_equal(whole, micros)


def in_millis(array: pa.Array, *, floor: bool) -> tuple[pa.Array, list[Fault]]:
    """Return times as milliseconds; a time that is finer is a fault, or with `floor` cut off."""
    kind = array.type
    is_timestamp = pa.types.is_timestamp(kind)
    if kind.unit == "ms":
        return array, []
    if is_timestamp and kind.unit == "us" and len(array) and not is_finer(micros_of(array)):
        return array, []
    wanted = pa.timestamp("ms", "UTC" if kind.tz else None) if is_timestamp else pa.time32("ms")
    return cast_rows(array, wanted, code_of, floor=floor)

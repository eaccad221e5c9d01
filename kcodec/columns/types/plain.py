"""Arrow types as formats write them."""

import pyarrow as pa

from kcodec._kept import Kept
from kcodec.columns.types.exact import ExactType
from kcodec.errors import SchemaError, check_kind

#: Units in a second.
PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}

#: Digits of a second that a unit has.
SECOND_DIGITS = {"s": 0, "ms": 3, "us": 6, "ns": 9}

#: By their bits, decimals that are whole numbers of as many digits as there can be.
WHOLE_DECIMALS = {128: pa.decimal128(38, 0), 256: pa.decimal256(76, 0)}

#: Units in a millisecond; a negative number is that of milliseconds in a unit, as numbers of JSON are multiplied.
PER_MILLI = {"s": -1000, "ms": 1, "us": 1000, "ns": 1_000_000}

MILLIS_PER_DAY = 86_400_000

#: Levels of an Arrow type that can be written. Schemas have fewer levels, so that deeper types cannot match one.
_MAX_ARROW_NESTING = 200

_plain_types: Kept[tuple[ExactType, bool, bool], pa.DataType] = Kept(256)


def plain_type(kind: pa.DataType, *, sized: bool = True, days: bool = False) -> pa.DataType:
    """Return the type that a column is cast to, without loss, before it is encoded.

    Dictionaries, run ends, views of text and bytes, small decimals, half floats, lists of a fixed size and extension
    types become the plain type of the same values; ``date64`` becomes a timestamp in milliseconds, unless `days` are
    wanted. Unless a format has `sized` bytes, bytes of a fixed size become others.
    """
    check_kind(pa.DataType, "an Arrow type", kind=kind)
    return _plain_types.get((ExactType(kind), sized, days), lambda: _plain(kind, 0, sized, days))


def _plain(kind: pa.DataType, depth: int, sized: bool, days: bool) -> pa.DataType:
    types = pa.types
    if depth > _MAX_ARROW_NESTING:
        raise SchemaError(f"an Arrow type is nested deeper than {_MAX_ARROW_NESTING} levels")
    stored = stored_type(kind)
    if stored is not None:
        return _plain(stored, depth + 1, sized, days)
    if kind == pa.string_view():
        return pa.large_string()
    if kind == pa.binary_view():
        return pa.large_binary()
    if types.is_fixed_size_binary(kind) and not sized:
        return pa.binary()
    if types.is_decimal(kind) and kind.bit_width < 128:
        return pa.decimal128(kind.precision, kind.scale)
    if types.is_float16(kind):
        return pa.float32()
    if types.is_date64(kind) and not days:
        return pa.timestamp("ms")
    if types.is_struct(kind):
        return pa.struct([_plain_field(field, depth, sized, days) for field in kind])
    if types.is_map(kind):
        key, item = (_plain_field(field, depth, sized, days) for field in (kind.key_field, kind.item_field))
        # Keys that are nulls are those of an empty map.
        return pa.map_(key.with_type(pa.string()) if types.is_null(key.type) else key, item)
    if is_list(kind) or types.is_fixed_size_list(kind):
        return list_of(_plain_field(kind.value_field, depth, sized, days), kind)
    return kind


def _plain_field(field: pa.Field, depth: int, sized: bool, days: bool) -> pa.Field:
    # Not a new field: items of Spark's empty arrays are nulls that are not nullable, which pyarrow refuses to make.
    return field.with_type(_plain(field.type, depth + 1, sized, days)).remove_metadata()


def stored_type(kind: pa.DataType) -> pa.DataType | None:
    """Return the type of what an extension type is stored as, or of the values of a dictionary or of run ends.

    >>> print(stored_type(pa.dictionary(pa.int8(), pa.string())), stored_type(pa.string()))
    string None
    """
    if isinstance(kind, pa.BaseExtensionType):
        return kind.storage_type
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        return kind.value_type
    return None


def is_text(kind: pa.DataType) -> bool:
    """Return whether a plain type is one of text."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def is_bytes(kind: pa.DataType) -> bool:
    """Return whether a plain type is one of bytes of any size."""
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind))


def is_list(kind: pa.DataType) -> bool:
    """Return whether a plain type is one of lists."""
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))


def zone_hint(kind: pa.DataType, other: pa.DataType) -> str:
    """Return what to say of a type that is not taken as another because only one of them has a time zone.

    >>> zone_hint(pa.timestamp("us"), pa.timestamp("us", "UTC"))
    ': it has no time zone, and timestamp[us, tz=UTC] has one'
    >>> zone_hint(pa.int64(), pa.timestamp("us", "UTC"))
    ''
    """
    both = pa.types.is_timestamp(kind) and pa.types.is_timestamp(other)
    if not both or (kind.tz is None) == (other.tz is None):
        return ""
    own, wanted = ("no", "one") if kind.tz is None else ("a", "none")
    return f": it has {own} time zone, and {other} has {wanted}"


def map_hint(kind: pa.DataType) -> str:
    """Return what to say of a type that is not taken as a map because rows of dicts were made columns: it is a struct.

    >>> map_hint(pa.struct([("a", pa.string())]))
    ', which pa.Table.from_pylist(rows, pa.schema(codec.arrow_type)) makes of dicts'
    >>> map_hint(pa.list_(pa.string()))
    ''
    """
    made = ", which pa.Table.from_pylist(rows, pa.schema(codec.arrow_type)) makes of dicts"
    return made if pa.types.is_struct(kind) else ""


def list_of(item: pa.Field, like: pa.DataType) -> pa.DataType:
    """Return the type of lists of an item whose offsets are as wide as those of another; none has a fixed size."""
    return pa.large_list(item) if pa.types.is_large_list(like) else pa.list_(item)


def nullable(kind: pa.DataType) -> pa.DataType:
    """Return the type with all fields nullable, but for the keys of maps.

    >>> print(nullable(pa.struct([pa.field("a", pa.list_(pa.field("item", pa.int8(), False)), False)])))
    struct<a: list<item: int8>>
    """
    types = pa.types

    def item(field: pa.Field) -> pa.Field:
        return field.with_type(nullable(field.type)).with_nullable(True)

    if types.is_struct(kind):
        return pa.struct([item(field) for field in kind])
    if types.is_map(kind):
        return pa.map_(item(kind.key_field).with_nullable(False), item(kind.item_field))
    return list_of(item(kind.value_field), kind) if is_list(kind) else kind


def in_microseconds(kind: pa.DataType) -> pa.DataType:
    """Return the type with microseconds where it has nanoseconds, which Python's dates and times do not hold.

    >>> print(in_microseconds(pa.struct([("at", pa.timestamp("ns", "UTC")), ("took", pa.duration("ms"))])))
    struct<at: timestamp[us, tz=UTC], took: duration[ms]>
    """
    types = pa.types

    def item(field: pa.Field) -> pa.Field:
        return field.with_type(in_microseconds(field.type))

    if types.is_struct(kind):
        return pa.struct([item(field) for field in kind])
    if types.is_map(kind):
        return pa.map_(item(kind.key_field), item(kind.item_field))
    if is_list(kind):
        return list_of(item(kind.value_field), kind)
    if types.is_timestamp(kind) and kind.unit == "ns":
        return pa.timestamp("us", kind.tz)
    if types.is_duration(kind) and kind.unit == "ns":
        return pa.duration("us")
    return pa.time64("us") if kind == pa.time64("ns") else kind


def type_at(kind: pa.DataType, path: str) -> pa.DataType | None:
    """Return the type of the value that a path of an error names; None where there is no such column.

    >>> type_at(pa.struct([("a.b", pa.list_(pa.struct([("C", pa.date32())])))]), "a.b[7].c")
    DataType(date32[day])
    """
    types = pa.types
    if not path:
        return kind
    if path[0] == "[" and kind.num_fields:
        rest = path.partition("]")[2]
        if not types.is_map(kind):
            return type_at(kind.field(0).type, rest.removeprefix("."))
        for name, below in ((".key", kind.key_type), (".value", kind.item_type)):
            if rest.startswith(name):
                return type_at(below, rest[len(name) :].removeprefix("."))
    elif types.is_struct(kind):
        for field in kind:
            name, rest = field.name, path[len(field.name) :]
            # ksqlDB finds columns whatever their case.
            if path.lower().startswith(name.lower()) and rest[:1] in ("", ".", "["):
                found = type_at(field.type, rest.removeprefix("."))
                if found is not None:
                    return found
    return None

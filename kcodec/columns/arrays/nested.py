"""Nested columns rebuilt with other columns below them, which `pyarrow.Array.cast` does not do."""

from collections.abc import Callable, Sequence

import pyarrow as pa

from kcodec._impl import kernel
from kcodec._lazy import compute as pc
from kcodec.columns.shown import shortened
from kcodec.columns.types.plain import PER_SECOND, is_list, list_of, plain_type, stored_type, zone_hint
from kcodec.errors import CapacityError, SchemaError, near

#: Rows are replaced one by one if at most one row in so many is.
_ROWS_PER_SLICE = 50


def unpack(array: pa.Array) -> pa.Array:
    """Return an array in a layout that Arrow's cast takes everywhere; `ArrayError` if its values are not where it says.

    Dictionaries (of views too) and run ends become their values, extension types their storage, lists of a fixed size
    lists. No part is a slice any more: Arrow casts a column of nulls in a sliced struct to one that is not valid.
    """
    kernel("columns.arrays._integrity").check_offsets(array)
    return _unpacked(array)


def _unpacked(array: pa.Array) -> pa.Array:
    types, kind = pa.types, array.type
    if isinstance(kind, pa.BaseExtensionType):
        return _unpacked(array.storage)
    if not len(array) and stored_type(kind) is not None:
        # Nobody has looked at values of which none shows.
        return pa.nulls(0, plain_type(kind))
    if types.is_dictionary(kind):
        # Without values all are null, or beneath nulls.
        return (
            _taken(array.dictionary, array.indices)
            if len(array.dictionary)
            else pa.nulls(len(array), plain_type(kind))
        )
    if types.is_run_end_encoded(kind):
        numbers = multiples(1, len(array.values), pa.int32())
        runs = pa.RunEndEncodedArray.from_arrays(array.run_ends, numbers)
        return _taken(array.values, pc.run_end_decode(runs.slice(array.offset, len(array))))
    if types.is_fixed_size_list(kind):
        offsets = multiples(kind.list_size, len(array) + 1, pa.int32())
        values = array.values.slice(array.offset * kind.list_size, len(array) * kind.list_size)
        return _listed(array, pa.list_(kind.value_field), offsets, values)
    if is_list(kind) or types.is_map(kind):
        offsets = pc.subtract(array.offsets, array.offsets[0])
        values = array.values.slice(array.offsets[0].as_py(), offsets[-1].as_py())
        return _listed(array, kind, offsets, values)
    parts = [_unpacked(part) for part in _below(array)]
    fields = [kind.field(number) for number in range(len(parts))]
    return _again(array, parts, fields) if parts else array


def multiples(step: int, count: int, kind: pa.DataType) -> pa.Array:
    """Return so many numbers: 0, a step, two steps, and so on.

    >>> multiples(2, 4, pa.int8()).to_pylist()
    [0, 2, 4, 6]
    """
    steps = pa.repeat(pa.scalar(step, kind), count)
    return pc.cumulative_sum_checked(steps, start=pa.scalar(-step, kind))


def _taken(array: pa.Array, rows: pa.Array) -> pa.Array:
    """Return the values in some places of a dictionary, or of runs."""
    _refuse(array.type, pa.types.is_union, pa.types.is_list_view, pa.types.is_large_list_view)
    values = _unpacked(array)
    # Views of text and small decimals cannot be taken.
    values = values.cast(plain_type(values.type))
    try:
        return values.take(rows)
    except pa.ArrowInvalid as error:
        raise CapacityError(
            f"more than 2 GiB of {values.type} from a dictionary or runs in one call; cast its values to a type of"
            " 64-bit offsets, or give fewer rows"
        ) from error


def can_take(kind: pa.DataType) -> bool:
    """Return whether pyarrow takes single rows out of any column of a type.

    >>> can_take(pa.struct([("a", pa.list_(pa.string()))])), can_take(pa.list_(pa.string_view()))
    (True, False)
    """
    types = pa.types
    if types.is_struct(kind) or is_list(kind) or types.is_map(kind):
        return all(can_take(kind.field(number).type) for number in range(kind.num_fields))
    return bool(
        types.is_primitive(kind)
        or types.is_null(kind)
        or types.is_decimal128(kind)
        or types.is_decimal256(kind)
        or kind in (pa.string(), pa.large_string(), pa.binary(), pa.large_binary())
        or types.is_fixed_size_binary(kind)
    )


def members(array: pa.Array) -> list[pa.Array]:
    """Return the columns of a struct, null where it is null, but for those that pyarrow cannot make null.

    Runs cannot be, and are unpacked.
    """
    if array.null_count:
        for field in array.type:
            _refuse(field.type, pa.types.is_union)
        if any(_is_runs(field.type) for field in array.type):
            parts = [array.field(number) for number in range(array.type.num_fields)]
            parts = [_unpacked(part) if _is_runs(part.type) else part for part in parts]
            array = _again(array, parts, list(array.type))
    return list(array.flatten())


def _is_runs(kind: pa.DataType) -> bool:
    stored = stored_type(kind)
    return stored is not None and (pa.types.is_run_end_encoded(kind) or _is_runs(stored))


def _refuse(kind: pa.DataType, *is_refused: Callable[[pa.DataType], bool]) -> None:
    """Raise a `TypeError` for types, anywhere in a type, whose values end the process or raise when they are taken."""
    stored = stored_type(kind)
    if stored is not None:
        _refuse(stored, *is_refused)
    elif any(is_one(kind) for is_one in is_refused):
        raise TypeError(
            f"a column of {kind} is not written where others are null, in a dictionary or in runs"
        )
    else:
        for number in range(kind.num_fields):
            _refuse(kind.field(number).type, *is_refused)


def _listed(array: pa.Array, kind: pa.DataType, offsets: pa.Array, values: pa.Array) -> pa.Array:
    """Make lists of values, null where the array is null."""
    valid = array.is_valid().buffers()[1] if array.null_count else None
    child = _unpacked(values)
    kind = _lists(kind, kind.field(0), child)
    return pa.Array.from_buffers(kind, len(array), [valid, offsets.buffers()[1]], children=[child])


def _lists(kind: pa.DataType, field: pa.Field, child: pa.Array) -> pa.DataType:
    """Return the type of lists or maps of such values."""
    if pa.types.is_map(kind):
        # Counted here, as Arrow 18 ends the process where they have not been.
        if child.null_count or child.field(0).null_count:
            raise SchemaError("the entries and keys of a map are never null")
        return pa.map_(*child.type)
    return list_of(field.with_type(child.type), kind)


def cast_leaves(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return an array as a type of the same structs, lists and maps, unpacked if it is not of that type yet.

    Arrow's cast of a whole column refuses fields that are never null beneath structs that are.

    >>> inner = pa.struct([pa.field("a", pa.list_(pa.int8()), nullable=False)])
    >>> array = pa.array([{"s": None, "t": "x"}], pa.struct([("s", inner), ("t", pa.string_view())]))
    >>> cast_leaves(array, pa.struct([("s", inner), ("t", pa.string())])).to_pylist()
    [{'s': None, 't': 'x'}]
    """
    return array if array.type == kind else cast_unpacked(unpack(array), kind)


def plain_array(array: pa.Array) -> pa.Array:
    """Return an array in the layout that others of its kind stand for, see `plain_type`.

    >>> plain_array(pa.array(["a"], pa.string_view())).type
    DataType(large_string)
    """
    return cast_leaves(array, plain_type(array.type))


def cast_unpacked(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """Cast the leaves of an unpacked array: Arrow makes broken lists of structs that have columns of nulls."""
    if array.type == kind:
        return array
    below = _below(array)
    fields = [kind.field(number) for number in range(len(below))]
    parts = [cast_unpacked(part, field.type) for part, field in zip(below, fields, strict=True)]
    if is_list(kind) and pa.types.is_large_list(kind) != pa.types.is_large_list(array.type):
        offsets = array.offsets.cast(pa.int64() if pa.types.is_large_list(kind) else pa.int32())
        valid = array.is_valid().buffers()[1] if array.null_count else None
        return pa.Array.from_buffers(kind, len(array), [valid, offsets.buffers()[1]], children=parts)
    return _again(array, parts, fields) if parts else cast_leaf(array, kind)


def cast_leaf(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """Cast an array without others below it as Arrow does, which makes broken arrays of more than 2 GiB of views.

    What 32-bit offsets do not address is a `CapacityError`.
    """
    if pa.types.is_string_view(array.type) or pa.types.is_binary_view(array.type):
        array = array.cast(plain_type(array.type))
    try:
        return array.cast(kind)
    except pa.ArrowInvalid as error:
        if not (pa.types.is_large_string(array.type) or pa.types.is_large_binary(array.type)):
            raise
        if (pc.sum(pc.binary_length(array)).as_py() or 0) >= 1 << 31:
            raise CapacityError(
                "more than 2 GiB in one call; pass large=True for 64-bit offsets, or fewer rows"
            ) from error
        # Arrow looks at the offsets of what the array is a slice of.
        return pa.concat_arrays([array]).cast(kind)


def add_columns(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """Add the columns of nulls that structs of an unpacked array lack, which only newer versions of Arrow's cast add.

    >>> kind = pa.list_(pa.struct([("a", pa.int8()), ("b", pa.null())]))
    >>> print(add_columns(pa.array([[{"a": 1}]]), kind).type)
    list<item: struct<a: int64, b: null>>
    """
    below = _below(array)
    fields = [kind.field(number) for number in range(kind.num_fields)]
    parts = [add_columns(part, field.type) for part, field in zip(below, fields, strict=False)]
    if pa.types.is_struct(array.type):
        parts += [pa.nulls(len(array)) for _ in fields[len(parts) :]]
    return _again(array, parts, fields) if parts else array


def hide_nulls(array: pa.Array) -> pa.Array:
    """Set values behind the nulls of structs to null, since Arrow's cast reads them."""
    parts = [hide_nulls(part) for part in _below(array)]
    fields = [array.type.field(number) for number in range(len(parts))]
    return _again(array, parts, fields) if parts else array


def floor_times(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """Cut times off that are finer than those of a type: what is left is not later, before 1970 neither.

    The array is unpacked, and has the columns of the type.

    >>> floor_times(pa.array([-1], pa.timestamp("us")), pa.timestamp("ms")).cast(pa.int64()).to_pylist()
    [-1]
    """
    types, given = pa.types, array.type
    if given == kind:
        return array
    if (types.is_timestamp(given) and types.is_timestamp(kind)) or (
        types.is_time(given) and types.is_time(kind)
    ):
        factor = PER_SECOND[given.unit] // PER_SECOND[kind.unit]
        if factor < 2:
            return array
        bits = pa.int32() if given.bit_width == 32 else pa.int64()
        # Arrow's division cuts towards zero.
        values = array.view(bits).cast(pa.int64())
        cut = pc.divide(values, factor)
        later = pc.less(values, pc.multiply(cut, factor))
        cut = pc.subtract(cut, later.cast(pa.int64()))
        bits = pa.int32() if kind.bit_width == 32 else pa.int64()
        unit = pa.timestamp(kind.unit, given.tz) if types.is_timestamp(given) else kind
        return cut.cast(bits).view(unit)
    below = _below(array)
    fields = [given.field(number) for number in range(len(below))]
    parts = [floor_times(part, kind.field(number).type) for number, part in enumerate(below)]
    return _again(array, parts, fields) if parts else array


def arrange(array: pa.Array, kind: pa.DataType, path: str = "", *, counted: bool = False) -> pa.Array:
    """Rebuild an unpacked array in the form of a type; only its numbers and times may still be of other types.

    Fields of structs are found by their names; nullable ones may be missing. Other kinds are a `TypeError`: a double
    for a decimal, a timestamp for a date, a zoned for a local timestamp. Integers of 64 bits are durations, and with
    `counted` times and timestamps, as the type counts them.
    """
    types, source = pa.types, array.type
    if source == kind:
        return array
    if types.is_null(source):
        return pa.nulls(len(array), kind)
    if types.is_struct(source) and types.is_struct(kind):
        return _arrange_fields(array, kind, path, counted)
    if is_list(source) and is_list(kind):
        items = arrange(array.values, kind.value_type, f"{path}[]", counted=counted)
        return _again(array, [items], [kind.value_field])
    if types.is_map(source) and types.is_map(kind):
        keys = arrange(array.values.field(0), kind.key_type, f"{path}[].key", counted=counted)
        items = arrange(array.values.field(1), kind.item_type, f"{path}[].value", counted=counted)
        fields = [kind.key_field.with_type(keys.type), kind.item_field.with_type(items.type)]
        entries = pa.StructArray.from_arrays([keys, items], fields=fields)
        return _again(array, [entries], [pa.field("entries", entries.type, False)])
    if source == pa.int64() and (
        types.is_duration(kind) or (counted and (types.is_timestamp(kind) or types.is_time(kind)))
    ):
        try:
            # Arrow has no cast from 64 bits to times of 32.
            return (array.cast(pa.int32()) if types.is_time32(kind) else array).cast(kind)
        except pa.ArrowInvalid as error:
            raise TypeError(f"{path or 'the column'}: {error}") from None
    if not _is_kin(source, kind):
        hint = zone_hint(source, kind)
        raise TypeError(f"{path or 'the column'}: {source} is not written as {kind}{hint}; cast it before")
    # Arrow casts integers to decimals by their types alone.
    return array.cast(pa.decimal128(20, 0)) if types.is_integer(source) and types.is_decimal(kind) else array


def _arrange_fields(array: pa.Array, kind: pa.DataType, path: str, counted: bool) -> pa.Array:
    parts = dict(zip((field.name for field in array.type), members(array), strict=True))
    unknown = [name for name in parts if kind.get_field_index(name) < 0]
    if unknown or len(parts) < array.type.num_fields:
        raise TypeError(
            f"{path or 'the column'}: {shortened(kind, 200)} has no place for {unknown or 'names that stand twice'}"
            + (near(unknown[0], (field.name for field in kind)) if unknown else "")
        )
    columns, fields = [], []
    for field in kind:
        below = f"{path}.{field.name}".lstrip(".")
        if field.name not in parts and not field.nullable:
            raise TypeError(f"{below}: the column is missing, and cannot be null{near(field.name, parts)}")
        part = parts.get(field.name, pa.nulls(len(array)))
        columns.append(arrange(part, field.type, below, counted=counted))
        fields.append(field.with_type(columns[-1].type))
    mask = array.is_null() if array.null_count else None
    return pa.StructArray.from_arrays(columns, fields=fields, mask=mask)


_TEXTS = (pa.string(), pa.large_string(), pa.string_view())
_BINARIES = (pa.binary(), pa.large_binary(), pa.binary_view())


def _is_kin(source: pa.DataType, kind: pa.DataType) -> bool:
    """Return whether Arrow casts one leaf type to another and refuses values that would be lost."""
    types = pa.types
    if types.is_integer(source):
        return bool(types.is_integer(kind) or types.is_decimal(kind) or types.is_floating(kind))
    if types.is_floating(source):
        return bool(types.is_floating(kind) and source.bit_width <= kind.bit_width)
    if types.is_timestamp(source):
        return bool(types.is_timestamp(kind) and (source.tz is None) == (kind.tz is None))
    for is_same in (types.is_decimal, types.is_date, types.is_time):
        if is_same(source):
            return bool(is_same(kind))
    if types.is_fixed_size_binary(source):
        return kind in _BINARIES
    return any(source in same and kind in same for same in (_TEXTS, _BINARIES))


def _below(array: pa.Array) -> list[pa.Array]:
    types, kind = pa.types, array.type
    if types.is_struct(kind):
        return members(array)
    return [array.values] if is_list(kind) or types.is_map(kind) else []


def _again(array: pa.Array, parts: Sequence[pa.Array], fields: Sequence[pa.Field]) -> pa.Array:
    fields = [field.with_type(part.type) for field, part in zip(fields, parts, strict=True)]
    types, kind = pa.types, array.type
    if types.is_struct(kind):
        mask = array.is_null() if array.null_count else None
        return pa.StructArray.from_arrays(parts, fields=fields, mask=mask)
    kind = _lists(kind, fields[0], parts[0])
    return pa.Array.from_buffers(kind, len(array), array.buffers()[:2], offset=array.offset, children=parts)


def rebuild(array: pa.Array, parts: Sequence[pa.Array]) -> pa.Array:
    """Return a struct, list or map of other parts, which have as many values; its own fields, but for their types."""
    if pa.types.is_map(array.type):
        return _again(array, parts, [pa.field("entries", parts[0].type, False)])
    return _again(array, parts, [array.type.field(number) for number in range(len(parts))])


def replace_rows(array: pa.Array, rows: Sequence[int], values: pa.Array) -> pa.Array:
    """Put values in the place of rows, which are in order."""
    if len(rows) * _ROWS_PER_SLICE > len(array):
        places = list(range(len(array)))
        for number, row in enumerate(rows):
            places[row] = len(array) + number
        return pa.concat_arrays([array, values]).take(pa.array(places, pa.int64()))
    # Whole runs of rows are copied faster than rows one by one.
    parts, at = [], 0
    for number, row in enumerate(rows):
        parts += [array.slice(at, row - at), values.slice(number, 1)]
        at = row + 1
    return pa.concat_arrays([*parts, array.slice(at)])

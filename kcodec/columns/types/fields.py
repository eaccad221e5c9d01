"""Which fields of nested columns are wanted, by their dotted names."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from kcodec.columns.types.plain import is_list, list_of
from kcodec.errors import ConfigError, near


def field_names(fields: object) -> tuple[str, ...] | None:
    """Return the names that ``fields=`` lists, one at least; None if it is not given.

    >>> field_names(["id", "address.city"])
    ('id', 'address.city')
    """
    if fields is None:
        return None
    names = tuple(fields) if isinstance(fields, Iterable) and not isinstance(fields, str) else ()
    if not names or not all(isinstance(name, str) for name in names):
        raise ConfigError(f"fields={fields!r} is not a list of one name or more")
    return names


def field_tree(names: Iterable[str]) -> dict[str, Any]:
    """Turn dotted names into nested dicts; an empty one stands for everything below it.

    >>> field_tree(["id", "address.city", "address.zip", "id.high"])
    {'address': {'city': {}, 'zip': {}}, 'id': {}}
    """
    root: dict[str, Any] = {}
    whole: set[str] = set(names)
    for name in sorted(whole):
        steps = name.split(".")
        if any(".".join(steps[:n]) in whole for n in range(1, len(steps))):
            continue
        node = root
        for step in steps:
            node = node.setdefault(step, {})
    return root


def check_field(name: str, known: Collection[str], path: str, record: str) -> None:
    """Raise a ConfigError that offers a near name if a name is not among the fields of a record."""
    if name not in known:
        raise ConfigError(f"{path or 'the root'} ({record}) has no field {name}{near(name, known)}")


def field_path(kind: pa.DataType, steps: Sequence[str]) -> list[str] | None:
    """Return the names of the fields that the steps of a dotted name lead through; None if it is that of none.

    Names may have dots themselves, as those of Protobuf's messages.

    >>> kind = pa.struct([("shop.Order", pa.struct([("id", pa.int64())]))])
    >>> field_path(kind, ["shop", "Order", "id"])
    ['shop.Order', 'id']
    """
    if not steps:
        return []
    for end in range(1, len(steps) + 1) if pa.types.is_struct(kind) else ():
        name = ".".join(steps[:end])
        index = kind.get_field_index(name)
        if index >= 0 and (below := field_path(kind.field(index).type, steps[end:])) is not None:
            return [name, *below]
    return None


def chosen(kind: pa.DataType, fields: Sequence[str] | None) -> pa.DataType:
    """Return a type with nothing but some fields, dotted for those of structs below; also in lists and maps.

    A field that is not there is a `ConfigError`.

    >>> print(chosen(pa.struct([("a", pa.list_(pa.struct([("b", pa.int8()), ("c", pa.int8())])))]), ["a.c"]))
    struct<a: list<item: struct<c: int8>>>
    """
    return kind if fields is None else _chosen(kind, field_tree(fields), "")


def _chosen(kind: pa.DataType, wanted: Mapping[str, Any], path: str) -> pa.DataType:
    types = pa.types
    if not wanted:
        return kind
    if types.is_struct(kind):
        names = {field.name: None for field in kind}  # near names are looked for in their order
        for name in wanted:
            check_field(name, names, path, "an object")
        return pa.struct(
            [
                field.with_type(
                    _chosen(field.type, wanted[field.name], f"{path}.{field.name}" if path else field.name)
                )
                for field in kind
                if field.name in wanted
            ]
        )
    if types.is_map(kind):
        item = kind.item_field
        return pa.map_(kind.key_field, item.with_type(_chosen(item.type, wanted, path)))
    if is_list(kind):
        return list_of(kind.value_field.with_type(_chosen(kind.value_type, wanted, path)), kind)
    raise ConfigError(f"{path or 'the root'} has no fields")

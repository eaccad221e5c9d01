"""Values of the vectors of protobuf-java, in the form in which columns have them."""

import struct
from typing import Any

import pyarrow as pa

__all__ = ["column_value", "same"]


def column_value(value: Any, kind: pa.DataType) -> Any:
    """Return a value of the vectors as ``to_pylist`` gives it; maps have the last entry of each key."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, list):
        return [column_value(item, kind.value_type) for item in value]
    if "r" in value:
        found = {
            name: column_value(item, kind.field(name).type)
            for name, item in value["r"]
            if kind.get_field_index(name) >= 0
        }
        if kind.get_field_index("_unknown_fields") >= 0:
            found["_unknown_fields"] = bytes.fromhex(value["u"]) if value.get("u") else None
        return found
    if "m" in value:
        entries: dict[Any, Any] = {}
        for key, item, *_ in value["m"]:
            entries[column_value(key, kind.key_type)] = column_value(item, kind.item_type)
        return list(entries.items())
    (mark, content), *_ = value.items()
    if mark == "i":
        return int(content)
    if mark in ("f32", "f64"):
        size = 4 if mark == "f32" else 8
        return struct.unpack(">f" if size == 4 else ">d", int(content, 16).to_bytes(size, "big"))[0]
    if mark == "b":
        return bytes.fromhex(content)
    if mark == "e":
        return content[0] if content[0] is not None else str(content[1])
    return content


def same(left: Any, right: Any) -> bool:
    """Return whether two values are the same, NaN and the sign of zero included."""
    if isinstance(left, float) and isinstance(right, float):
        return struct.pack("<d", left) == struct.pack("<d", right) or (left != left and right != right)
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(left[name], right[name]) for name in left)
    if isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)):
        return len(left) == len(right) and all(map(same, left, right))
    return type(left) is type(right) and left == right

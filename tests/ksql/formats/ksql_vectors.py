"""ksqlDB's vectors: their columns and values, as what codecs take and give."""

import base64
import decimal
import math

import pyarrow as pa

from kcodec.ksql.types import SqlType

DAY = 86_400_000
PREFIX = "Failed to deserialize value from topic: t. "


def payload(vector):
    """Return the bytes of a measured vector."""
    if vector["bytes"] is None:
        return None
    return bytes.fromhex(vector["bytes"]) if vector["hex"] else vector["bytes"].encode()


def tagged(value, kind: SqlType):
    """Write a value, as `pyarrow.array` takes it for the type, the way the vectors do."""
    if value is None:
        return None
    if kind.base == "DOUBLE":
        return "double:" + {math.inf: "Infinity", -math.inf: "-Infinity"}.get(
            value, "NaN" if value != value else repr(value)
        )
    if kind.base == "DECIMAL":
        return f"decimal:{value}"
    if kind.base == "BYTES":
        return f"bytes:{base64.b64encode(value).decode()}"
    if kind.base == "TIME":
        return f"time:{value}"
    if kind.base == "DATE":
        return f"date_ms:{value * DAY}"
    if kind.base == "TIMESTAMP":
        return f"timestamp:{value // 1000}"
    if kind.base == "ARRAY":
        return [tagged(item, kind.item) for item in value]
    if kind.base == "MAP":
        return {key: tagged(item, kind.item) for key, item in value}
    if kind.base == "STRUCT":
        return {field.name: tagged(value[field.name], field.type) for field in kind.fields}
    return value


def plain(expected):
    """Write doubles of an expected value as Python does."""
    if isinstance(expected, str) and expected.startswith("double:"):
        text = expected.removeprefix("double:")
        return expected if text in ("NaN", "Infinity", "-Infinity") else f"double:{float(text)!r}"
    if isinstance(expected, list):
        return [plain(item) for item in expected]
    if isinstance(expected, dict):
        return {key: plain(item) for key, item in expected.items()}
    return expected


def untagged(value, kind: SqlType):
    """Make what `pyarrow.array` takes of a value of a row to be encoded."""
    if value is None:
        return None
    if kind.base == "DOUBLE":
        return float(value)
    if kind.base == "DECIMAL":
        return decimal.Decimal(value).quantize(decimal.Decimal(1).scaleb(-kind.scale))
    if kind.base == "BYTES":
        return base64.b64decode(value)
    if kind.base == "TIMESTAMP":
        return value * 1000
    if kind.base == "ARRAY":
        return [untagged(item, kind.item) for item in value]
    if kind.base == "MAP":
        return [(key, untagged(item, kind.item)) for key, item in value.items()]
    if kind.base == "STRUCT":
        return {
            field.name: untagged(value.get(field.name, value.get(field.name.upper())), field.type)
            for field in kind.fields
        }
    return value


def storage(array: pa.Array) -> pa.Array:
    """Make dates and times the integers that they are."""
    kind = array.type
    if pa.types.is_temporal(kind):
        return array.view(pa.int32() if kind.bit_width == 32 else pa.int64())
    if pa.types.is_struct(kind):
        fields = [storage(array.field(i)) for i in range(kind.num_fields)]
        names = [field.name for field in kind]
        return pa.StructArray.from_arrays(fields, names, mask=array.is_null()) if names else array
    if pa.types.is_map(kind):
        return pa.MapArray.from_arrays(array.offsets, array.keys, storage(array.items), mask=array.is_null())
    if pa.types.is_list(kind):
        return pa.ListArray.from_arrays(array.offsets, storage(array.values), mask=array.is_null())
    return array

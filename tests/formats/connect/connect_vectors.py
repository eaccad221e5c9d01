"""The vectors of Kafka's JsonConverter, and the values they hold."""

import base64
from decimal import Decimal

from kcodec.formats.connect.values import Float32, Int8, Int16, Int32, Map, Millis, Struct
from kcodec.java.numbers import round_to_float

_CLASSES = {"int8": Int8, "int16": Int16, "int32": Int32, "int64": int, "date_ms": Millis, "string": str}


def untag(tagged):
    """Turn a tagged value of the vectors into the form of `kcodec.formats.connect.values`."""
    if tagged is None:
        return None
    kind, value = tagged["t"], tagged["v"]
    if kind == "boolean":
        return value
    if kind == "bytes":
        return base64.b64decode(value)
    if kind == "float32":
        return Float32(round_to_float(Decimal(value)) if Decimal(value).is_finite() else value)
    if kind == "float64":
        return float(value)
    if kind == "decimal":
        return Decimal(value)
    if kind == "array":
        return [untag(item) for item in value]
    if kind == "map":
        return Map((untag(key), untag(item)) for key, item in value)
    if kind == "struct":
        return Struct({name: untag(item) for name, item in value.items()})
    return _CLASSES[kind](value)


def same(one, other) -> bool:
    """Whether two values are the same in Java: class, scale and sign of zero included."""
    if isinstance(one, dict) and not isinstance(one, Struct):
        one = Map(one.items())
    if type(one) is not type(other):
        return False
    if isinstance(one, Map):
        return len(one) == len(other) and all(any(same(a, b) for b in other) for a in one)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, Struct):
        return one.keys() == other.keys() and all(same(one[name], other[name]) for name in one)
    if isinstance(one, Decimal):
        return one.as_tuple() == other.as_tuple()
    return repr(one) == repr(other) if isinstance(one, float) else one == other

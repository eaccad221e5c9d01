"""JSON to Connect's values, exactly as ``org.apache.kafka.connect.json.JsonConverter`` reads them.

This and `kcodec.formats.connect.json_writer` are the specification of ``compat="connect"``, one value at a time: with
every leniency of the original, and with its own words for what it refuses.
"""

from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Any

from kcodec.columns.types.plain import MILLIS_PER_DAY
from kcodec.errors import is_whole
from kcodec.formats.connect.json_writer import from_connect
from kcodec.formats.connect.model import DATE, DECIMAL, LOGICAL, TIME, TIMESTAMP, ConnectType
from kcodec.formats.connect.values import CLASSES, JAVA_NAMES, Float32, Map, Millis, Struct, is_integer
from kcodec.java.jackson import decode_base64, node_type
from kcodec.java.numbers import narrow_integer, round_to_double, round_to_float
from kcodec.plan.failure import RowError

#: Bytes of a decimal in Base64; to read more takes time that grows with their square.
_MAX_UNSCALED = 750


class Expansion:
    """Counts the characters that defaults add to a document: one of a few kilobytes may ask for gigabytes of them.

    It also says whether to read NaN and infinities as text, which JsonConverter writes but does not read.
    """

    def __init__(self, max_characters: int, nonfinite: bool = False) -> None:
        self.nonfinite = nonfinite
        self._left = max_characters
        self._sizes: dict[int, int] = {}

    def default(self, schema: ConnectType) -> Any:
        """Return the default of a schema, or raise ``size_limit``."""
        key = id(schema)
        if key not in self._sizes:
            self._sizes[key] = len(from_connect(schema, schema.default, True))
        self._left -= self._sizes[key]
        if self._left < 0:
            raise RowError("size_limit")
        return schema.default


def to_connect(schema: ConnectType, node: Any, replace_null: bool, expansion: Expansion | None) -> Any:
    """Convert a tree of `kcodec.java.jackson.read_tree` to a value, as ``JsonConverter.convertToConnect`` does.

    `replace_null` is Connect's ``replace.null.with.default``, and `expansion` bounds the defaults.
    """
    if node is None:
        if schema.default is not None and replace_null:
            return schema.default if expansion is None else expansion.default(schema)
        if schema.optional:
            return None
        raise RowError(
            "null_value", reason=f"Invalid null value for required {CLASSES[schema.type][1]} field"
        )
    if schema.name in _READERS:
        return _READERS[schema.name](schema, node)
    if schema.type in ("array", "map", "struct"):
        return _CONTAINERS[schema.type](schema, node, replace_null, expansion)
    if expansion is not None and expansion.nonfinite and schema.type in ("float", "double"):
        node = _NONFINITE.get(node, node) if isinstance(node, str) else node
        if isinstance(node, float):
            return Float32(node) if schema.type == "float" else node
    return _scalar(schema.type, node)


_NONFINITE = {name: float(name) for name in ("NaN", "Infinity", "-Infinity")}


def _scalar(kind: str, node: Any) -> Any:
    number = isinstance(node, (int, Decimal)) and not isinstance(node, bool)
    if kind == "boolean":
        return node is True
    if kind == "string":
        return node if isinstance(node, str) else None
    if kind == "bytes":
        return read_base64(node, "Invalid bytes field") if isinstance(node, str) else None
    if kind == "float":
        return Float32(round_to_float(node) if number else 0.0)
    if kind == "double":
        return round_to_double(node) if number else 0.0
    if kind == "int64":
        return narrow_integer(node, 64) if number else 0
    bits = int(kind[3:])
    return CLASSES[kind][0](narrow_integer(node, bits) if number else 0)


def read_base64(text: str, message: str) -> bytes:
    """Decode Base64 as Jackson does; raise `RowError` for anything else."""
    try:
        return decode_base64(text)
    except ValueError:
        raise RowError("invalid_base64", reason=message) from None


_INVALID_DECIMAL = "Invalid bytes for Decimal field"


def read_unscaled(text: str, scale: int) -> Decimal:
    """Read the Base64 of a decimal without its scale; raise `RowError` for anything else, or if it is too long."""
    data = read_base64(text, _INVALID_DECIMAL)
    if not data:
        raise RowError("empty_decimal", reason=_INVALID_DECIMAL)
    if len(data) > _MAX_UNSCALED:
        raise RowError("number_length")
    sign, digits, _ = Decimal(int.from_bytes(data, "big", signed=True)).as_tuple()
    return Decimal((sign, digits, -scale))


def _decimal(schema: ConnectType, node: Any) -> Decimal:
    if isinstance(node, (int, Decimal)) and not isinstance(node, bool):
        return Decimal(node)
    if isinstance(node, str):
        if schema.scale is None:
            read_base64(node, _INVALID_DECIMAL)
            raise RowError("schema_error", reason=_INVALID_DECIMAL)
        return read_unscaled(node, schema.scale)
    raise RowError(
        "type_mismatch",
        reason="Invalid type for Decimal, underlying representation should be numeric or bytes but was "
        + node_type(node),
    )


def _date(schema: ConnectType, node: Any) -> Millis:
    if not is_integer(node, 32):
        raise _not_integer("Date", "integer", node)
    return Millis(node * MILLIS_PER_DAY)


def _time(schema: ConnectType, node: Any) -> Millis:
    if not is_integer(node, 32):
        raise _not_integer("Time", "integer", node)
    if not 0 <= node <= MILLIS_PER_DAY:
        message = "Time values must use number of milliseconds greater than 0 and less than 86400000"
        raise RowError("out_of_range", reason=message)
    return Millis(node)


def _timestamp(schema: ConnectType, node: Any) -> Millis:
    if not is_whole(node):
        raise _not_integer("Timestamp", "integral", node)
    return Millis(narrow_integer(node, 64))


def _not_integer(name: str, wanted: str, node: Any) -> RowError:
    return RowError(
        "type_mismatch",
        reason=f"Invalid type for {name}, underlying representation should be {wanted} but was {node_type(node)}",
    )


_READERS = {DECIMAL: _decimal, DATE: _date, TIME: _time, TIMESTAMP: _timestamp}


def _array(schema: ConnectType, node: Any, replace_null: bool, expansion: Expansion | None) -> list[Any]:
    # What has no children yields nothing; of an object, its values.
    items: Iterable[Any] = node if isinstance(node, list) else node.values() if isinstance(node, dict) else ()
    result = []
    for index, item in enumerate(items):
        try:
            result.append(to_connect(schema.parts[0], item, replace_null, expansion))
        except RowError as error:
            raise error.within(f"[{index}]") from None
    return result


def _map(schema: ConnectType, node: Any, replace_null: bool, expansion: Expansion | None) -> Map:
    key_schema, value_schema = schema.parts
    result: dict[Any, tuple[Any, Any]] = {}
    for index, (key, item) in enumerate(_pairs(node, named=key_schema.type == "string")):
        try:
            if key_schema.type != "string":
                key = to_connect(key_schema, key, replace_null, expansion)
        except RowError as error:
            raise error.within(f"[{index}].key") from None
        # Java's maps have no order; the engine keeps the last entry of a key where it stands.
        identity = _identity(key)
        result.pop(identity, None)
        try:
            result[identity] = (key, to_connect(value_schema, item, replace_null, expansion))
        except RowError as error:
            raise error.within(f"[{index}].value") from None
    return Map(result.values())


def _pairs(node: Any, *, named: bool) -> Iterator[tuple[Any, Any]]:
    """Yield the entries of a map, up to the first item that is not an entry."""
    if named:
        if not isinstance(node, dict):
            message = "Maps with string fields should be encoded as JSON objects, but found "
            raise RowError("type_mismatch", reason=message + node_type(node))
        yield from node.items()
        return
    if not isinstance(node, list):
        message = "Maps with non-string fields should be encoded as JSON array of tuples, but found "
        raise RowError("type_mismatch", reason=message + node_type(node))
    for index, entry in enumerate(node):
        if not isinstance(entry, list):
            message = f"Found invalid map entry instead of array tuple: {node_type(entry)}"
            raise RowError("type_mismatch", path=f"[{index}]", reason=message)
        if len(entry) != 2:
            message = f"Found invalid map entry, expected length 2 but found :{len(entry)}"
            raise RowError("type_mismatch", path=f"[{index}]", reason=message)
        yield entry[0], entry[1]


def _identity(key: Any) -> Any:
    """Return a form of a map's key that can be hashed and keeps apart what Java keeps apart."""
    if isinstance(key, Map):
        return frozenset((_identity(name), _identity(value)) for name, value in key)
    if isinstance(key, list):
        return tuple(_identity(item) for item in key)
    if isinstance(key, Struct):
        # Its own arrays are compared by what they hold.
        return tuple(value if isinstance(value, bytes) else _identity(value) for value in key.values())
    if isinstance(key, Decimal):
        return key.as_tuple()
    if isinstance(key, float):
        return str(key)
    if isinstance(key, bytes):
        # An array of Java is equal to itself alone, and of the empty ones there is but one.
        return object() if key else key
    return key


def _struct(schema: ConnectType, node: Any, replace_null: bool, expansion: Expansion | None) -> Struct:
    if not isinstance(node, dict):
        message = f"Structs should be encoded as JSON objects, but found {node_type(node)}"
        raise RowError("type_mismatch", reason=message)
    result = Struct()
    for name, field in schema.fields.items():
        try:
            value = to_connect(field, node.get(name), replace_null, expansion)
        except RowError as error:
            raise error.within(name) from None
        refused = invalid_value(field, value, f'field: "{name}"', name)
        if refused is not None:
            raise refused
        result[name] = value
    return result


_CONTAINERS = {"array": _array, "map": _map, "struct": _struct}
_INTERFACES = {"array": "java.util.List", "map": "java.util.Map", "struct": JAVA_NAMES[Struct]}


def invalid_value(schema: ConnectType, value: Any, place: str, path: str) -> RowError | None:
    """Find what ``ConnectSchema.validateValue`` refuses: nulls that values of the wrong type became, and keys.

    Keys of a map of strings stay text even if their schema has the name of a logical type. A value with parts whose
    schema has such a name is not of the class that Java expects, and fails there.
    """
    if value is None:
        if schema.optional:
            return None
        kind = CLASSES[schema.type][1]
        message = f"Invalid value: null used for required {place}, schema type: {kind}"
        return RowError("null_value", path=path, reason=message)
    if schema.name in LOGICAL:
        java = JAVA_NAMES[type(value)]
        if isinstance(value, str):
            message = (
                f'Invalid Java object for schema "{schema.name}" with type STRING: class {java} for {place}'
            )
            return RowError("type_mismatch", path=path, reason=message)
        if schema.type in _CONTAINERS:
            message = f"class {java} cannot be cast to class {_INTERFACES[schema.type]}"
            raise RowError("type_mismatch", path=path, reason=message)
        return None
    if schema.type == "array":
        element = f"element of array {place}"
        parts = [(schema.parts[0], item, element, f"{path}[{index}]") for index, item in enumerate(value)]
    elif schema.type == "map":
        key_schema, value_schema = schema.parts
        parts = []
        for index, (key, item) in enumerate(value):
            parts.append((key_schema, key, f"key of map {place}", f"{path}[{index}].key"))
            parts.append((value_schema, item, f"value of map {place}", f"{path}[{index}].value"))
    else:
        return None
    return next(filter(None, (invalid_value(*part) for part in parts)), None)

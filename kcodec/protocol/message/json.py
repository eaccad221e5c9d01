"""The JSON form of messages, as Kafka's JsonConverters read and write it.

Keys are the fields' names with a small first letter. Bytes are base64, UUIDs base64 of URLs without padding, nulls
null. Tagged fields at their default are left out, and so are tags that the definition does not know. Records are
base64 too, where Kafka's converters lose them.
"""

import base64
from collections.abc import Callable
from typing import Any

from kcodec.errors import EncodeError, is_whole
from kcodec.java.jackson import decode_base64
from kcodec.protocol.message.plan import UNKNOWN, default_of
from kcodec.protocol.spec.defaults import decode_uuid
from kcodec.protocol.spec.message import MessageSpec
from kcodec.protocol.spec.model import FieldSpec, StructSpec

__all__ = ["from_json", "to_json"]

_INTEGERS = {
    "int8": (-(1 << 7), (1 << 7) - 1, "an 8-bit signed integer"),
    "int16": (-(1 << 15), (1 << 15) - 1, "a 16-bit signed integer"),
    "int32": (-(1 << 31), (1 << 31) - 1, "a 32-bit signed integer"),
    "int64": (-(1 << 63), (1 << 63) - 1, "a 64-bit signed integer"),
    "uint16": (0, (1 << 16) - 1, "a 16-bit unsigned integer"),
    "uint32": (0, (1 << 32) - 1, "a 32-bit unsigned integer"),
}


def _fail(code: str, path: str, reason: str) -> EncodeError:
    return EncodeError(0, None, path, code, reason)


_PYTHON: dict[str, type | tuple[type, ...]] = {
    **dict.fromkeys(_INTEGERS, int),
    **dict.fromkeys(("bytes", "records", "uuid"), (bytes, bytearray, memoryview)),
    "bool": bool,
    "float64": (float, int),
    "string": str,
}


def to_json(
    spec: MessageSpec, version: int, message: dict[str, Any], *, serialize_records: bool = True
) -> dict[str, Any]:
    """Turn a message, as `MessageCodec.decode_one` returns it, into its JSON form; see `MessageCodec.to_json`."""
    return _JsonWriter(spec, version, serialize_records).struct(spec.struct, message, "")


def is_default(structs: dict[str, StructSpec], field: FieldSpec, value: Any) -> bool:
    """Return whether a field has its default, at which a tagged field is not written."""
    default = default_of(field)
    if value is None or default is None:
        return value is default
    if field.type.is_array:
        return isinstance(value, (list, tuple)) and not value
    if field.type.is_struct:
        struct = structs[field.type.element]
        return (
            isinstance(value, dict)
            and not value.get(UNKNOWN)
            and all(
                is_default(structs, each, value[each.json_name])
                for each in struct.fields
                if each.json_name in value
            )
        )
    return (getattr(value, "bytes", value) == getattr(default, "bytes", default)) is True


class _JsonWriter:
    def __init__(self, spec: MessageSpec, version: int, serialize_records: bool) -> None:
        self.structs = spec.structs
        self.version = version
        self.serialize_records = serialize_records

    def struct(self, struct: StructSpec, message: dict[str, Any], path: str) -> dict[str, Any]:
        _check_version("write", struct, self.version, path)
        _expect(message, dict, path)
        prefix = f"{path}." if path else ""
        node: dict[str, Any] = {}
        for field in struct.fields:
            name = field.json_name
            value = message[name] if name in message else _python(default_of(field))
            if self.version not in field.versions:
                if not field.ignorable and not is_default(self.structs, field, value):
                    reason = f"Attempted to write a non-default {name} at version {self.version}"
                    raise _fail("non_default", prefix + name, reason)
            elif field.tagged_in(self.version) and is_default(self.structs, field, value):
                continue
            elif str(field.type) == "records" and not self.serialize_records:
                node[f"{name}SizeInBytes"] = 0 if value is None else len(value)
            else:
                node[name] = self.value(field, value, prefix + name)
        return node

    def value(self, field: FieldSpec, value: Any, path: str) -> Any:
        if value is None:
            if not field.nullable_in(self.version):
                raise _fail("null_value", path, "a null stands where the schema has no null")
            return None
        if field.type.is_array:
            _expect(value, (list, tuple), path)
            return [self.item(field.type.element, each, f"{path}[{i}]") for i, each in enumerate(value)]
        return self.item(field.type.element, value, path)

    def item(self, element: str, value: Any, path: str) -> Any:
        if element in self.structs:
            return self.struct(self.structs[element], value, path)
        value = getattr(value, "bytes", value) if element == "uuid" else value
        _expect(value, _PYTHON[element], path, bool if element != "bool" else ())
        if element == "uuid":
            return base64.urlsafe_b64encode(bytes(value)).decode().rstrip("=")
        if element in ("bytes", "records"):
            return base64.b64encode(bytes(value)).decode()
        return value


def _check_version(verb: str, struct: StructSpec, version: int, path: str) -> None:
    # The message itself, which has no path, is read at any version.
    if path and version not in struct.versions:
        raise _fail("unsupported_version", path, f"Can't {verb} version {version} of {struct.name}")


def _expect(value: Any, kind: Any, path: str, other: Any = ()) -> None:
    if not isinstance(value, kind) or isinstance(value, other):
        raise _fail("type_mismatch", path, f"the field takes no {type(value).__name__}")


def _python(value: Any) -> Any:
    return [] if value == () else value


def from_json(spec: MessageSpec, version: int, node: Any, *, compat: str | None = None) -> dict[str, Any]:
    """Read the JSON form of a message; see `MessageCodec.from_json`.

    With ``compat="kafka"`` three things are read as Kafka does: int8 from 128 to 256, from which it takes 128 away; a
    null that only other versions of the field may have; and what is no object, as one without fields.
    """
    return _JsonReader(spec, version, compat == "kafka").struct(spec.struct, node, "")


class _JsonReader:
    def __init__(self, spec: MessageSpec, version: int, is_lenient: bool) -> None:
        self.structs = spec.structs
        self.valid_versions = spec.valid_versions
        self.version = version
        self.is_lenient = is_lenient

    def struct(self, struct: StructSpec, node: Any, path: str) -> dict[str, Any]:
        _check_version("read", struct, self.version, path)
        if not isinstance(node, dict):
            if not self.is_lenient:
                raise _fail("type_mismatch", path, f"{struct.name} expected a JSON object")
            node = {}
        prefix = f"{path}." if path else ""
        message = {}
        for field in struct.fields:
            name = field.json_name
            within = self.version in field.versions
            if name in node:
                message[name] = self.value(struct, field, node[name], within, prefix + name)
            elif within and not field.tagged_in(self.version):
                reason = f"{struct.name}: unable to locate field '{name}', which is mandatory in version {self.version}"
                raise _fail("type_mismatch", prefix + name, reason)
            elif within:
                message[name] = self.default(field)
        return message

    def default(self, field: FieldSpec) -> Any:
        default = default_of(field)
        if isinstance(default, dict):
            fields = self.structs[field.type.element].fields
            return {each.json_name: self.default(each) for each in fields if self.version in each.versions}
        return _python(default if not hasattr(default, "bytes") else default.bytes)

    def value(self, struct: StructSpec, field: FieldSpec, node: Any, within: bool, path: str) -> Any:
        about = struct.name
        if node is None:
            of_any = self.is_lenient or not within
            possible = self.valid_versions & struct.versions & field.nullable_versions
            if not possible.empty if of_any else field.nullable_in(self.version):
                return None
            if self.is_lenient and field.type.is_struct:
                return self.item(about, field.type.element, node, path)
            raise _fail("null_value", path, f"{about} expected a value of {field.type}, but got null")
        if not field.type.is_array:
            return self.item(about, field.type.element, node, path)
        if not isinstance(node, list):
            raise _fail("type_mismatch", path, f"{about} expected a JSON array, but got {_json_type(node)}")
        return [self.item(about, field.type.element, each, f"{path}[{i}]") for i, each in enumerate(node)]

    def item(self, about: str, element: str, node: Any, path: str) -> Any:
        if element in self.structs:
            return self.struct(self.structs[element], node, path)
        if element in _INTEGERS:
            return self.integer(about, element, node, path)
        expected = {"bool": bool, "float64": float}.get(element, str)
        if not isinstance(node, expected):
            raise _fail("type_mismatch", path, f"{about} expected {element}, but got {_json_type(node)}")
        if element == "uuid":
            data = _decoded(decode_uuid, node, path)
            if len(str(node)) > 24 or len(data) != 16:
                raise _fail("fixed_size", path, f"{about}: {node!r} is not a UUID in base64")
            return data
        if element in ("bytes", "records"):
            return _decoded(decode_base64, node, path)
        return node

    def integer(self, about: str, element: str, node: Any, path: str) -> int:
        lowest, highest, words = _INTEGERS[element]
        if not is_whole(node):
            raise _fail("type_mismatch", path, f"{about}: expected an integer, but got {_json_type(node)}")
        value = node
        if self.is_lenient and element == "int8" and 128 <= value <= 256:
            # As a byte of Java, 128 is -128.
            value -= 128 if value < 256 else 384
        if not lowest <= value <= highest:
            raise _fail("out_of_range", path, f"{about}: value {node} does not fit in {words}.")
        return value


def _decoded(decode: Callable[[str], bytes], text: Any, path: str) -> bytes:
    try:
        return decode(text)
    except ValueError:
        raise _fail("type_mismatch", path, f"{text!r} is not base64") from None


def _json_type(node: Any) -> str:
    if node is None:
        return "null"
    if isinstance(node, bool):
        return "a boolean"
    if isinstance(node, (int, float)):
        return "a number"
    if isinstance(node, str):
        return "a string"
    return "an array" if isinstance(node, list) else "an object"

"""Records of Kafka's internal topics for people to read, as the decoders of Kafka's own dump tool print them."""

import base64
import re
from typing import Any

from kcodec._kept import Kept
from kcodec.errors import CODES, DecodeError, KcodecError
from kcodec.java.jackson import write_tree
from kcodec.protocol.message.codec import MessageCodec
from kcodec.protocol.spec.definitions import Definitions
from kcodec.protocol.spec.message import MessageSpec
from kcodec.protocol.spec.versions import MAX_VERSION
from kcodec.protocol.topics.builtin_layouts import builtin_definitions
from kcodec.protocol.topics.records import FRAMED, record_types
from kcodec.wire.single import read as read_varint

_WORD = re.compile("(?<=[a-z0-9])(?=[A-Z])")


class TopicText:
    r"""Makes text of the keys and values of a topic's records.

    >>> texts = TopicText("__consumer_offsets")
    >>> key = b"\0\1" + b"\0\1g" + b"\0\1t" + bytes(4)
    >>> texts.of(0, key, None)
    ('{"type":"1","data":{"group":"g","topic":"t","partition":0}}', '<DELETE>')
    """

    def __init__(self, topic: str, definitions: Definitions | None = None) -> None:
        self.topic = topic
        self._definitions = builtin_definitions() if definitions is None else definitions
        found = record_types(topic, self._definitions)
        self._types = {number: (each, version) for each in found for number, version in each.types}
        self._codecs: Kept[tuple[str, int, str | None], MessageCodec] = Kept()

    def of(self, offset: int, key: bytes | None, value: bytes | None) -> tuple[str | None, str | None]:
        """Return the texts of a record's key and value; None for what is not printed."""
        framed = self.topic in FRAMED
        try:
            if framed:
                return None, self._framed(value)
            return self._keyed(offset, key, value)
        except KcodecError as error:
            if framed:
                return None, f"Error at {offset}, skipping. {error}"
            return f"Error at offset {offset}, skipping. {error}", None

    def _keyed(self, offset: int, key: bytes | None, value: bytes | None) -> tuple[str | None, str | None]:
        number = _int16(key)
        assert key is not None
        if number not in self._types:
            return f"Unknown record type {number} at offset {offset}, skipping.", None
        kind, version = self._types[number]
        assert kind.key is not None
        found = self._read(kind.key, version, key[2:])
        shown = write_tree({"type": str(number), "data": self._json(kind.key, version, found)})
        if value is None:
            return shown, "<DELETE>"
        version = _int16(value)
        if version not in kind.value.valid_versions:
            reason = f"Found an unknown record version {version} for {number} type"
            raise DecodeError(0, 0, "", "unsupported_version", reason)
        body = self._json(kind.value, version, self._read(kind.value, version, value[2:]))
        if kind.name == "GroupMetadata" and body.get("protocolType") == "consumer":
            for member in body.get("members") or ():
                self._embedded(member, "subscription", "ConsumerProtocolSubscription")
                self._embedded(member, "assignment", "ConsumerProtocolAssignment")
        return shown, write_tree({"version": str(version), "data": body})

    def _framed(self, value: bytes | None) -> str:
        at = 0
        numbers = []
        for _ in range(3):
            number, at, code = read_varint(value or b"", at, 32)
            if code:
                raise DecodeError(0, at, "", code, CODES[code])
            numbers.append(number)
        frame, number, version = numbers
        if frame != 1:
            raise DecodeError(0, 0, "", "unsupported_version", f"the version of the frame is {frame}, not 1")
        if number not in self._types:
            raise DecodeError(0, 1, "", "unsupported_version", f"Unknown metadata id {number}")
        if version > MAX_VERSION:
            raise DecodeError(0, 2, "", "unsupported_version", f"a version of {version} is too large")
        spec = self._types[number][0].value
        data = (value or b"")[at:]
        try:
            found = self._codec(spec, version, None).decode_one(data)
        except DecodeError as error:
            # Of these records, the rest of a value is the only thing that Kafka's reader does not ignore.
            if error.code == "trailing_bytes":
                raise
            found = self._read(spec, version, data)
        body = self._json(spec, version, found)
        return write_tree({"type": _WORD.sub("_", spec.name).upper(), "version": version, "data": body})

    def _embedded(self, member: dict[str, Any], field: str, name: str) -> None:
        """Replace bytes of the consumers' protocol by their content, if they are that and the protocol is known."""
        spec = self._definitions.get(name)
        data = base64.b64decode(member.get(field) or "")
        if spec is not None:
            try:
                version = _int16(data)
                member[field] = self._json(spec, version, self._read(spec, version, data[2:]))
            except KcodecError:
                pass

    def _codec(self, spec: MessageSpec, version: int, compat: str | None = "kafka") -> MessageCodec:
        # Later versions only add tagged fields.
        known = min(max(version, spec.valid_versions.lowest), spec.valid_versions.highest)
        return self._codecs.get((spec.name, known, compat), lambda: MessageCodec(spec, known, compat=compat))

    def _read(self, spec: MessageSpec, version: int, data: bytes) -> dict[str, Any]:
        return self._codec(spec, version).decode_one(data)

    def _json(self, spec: MessageSpec, version: int, message: dict[str, Any]) -> dict[str, Any]:
        return self._codec(spec, version).to_json(message)


def _int16(data: bytes | None) -> int:
    if data is None or len(data) < 2:
        raise DecodeError(0, 0, "", "truncated", CODES["truncated"])
    return int.from_bytes(data[:2], "big", signed=True)

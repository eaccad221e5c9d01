"""The envelopes of Kafka Connect's JsonConverter, in plain Python.

A row is ``{"schema": ..., "payload": ...}``, in either order. Only the envelope is looked at: that the two values
are JSON is checked by who reads them.
"""

from array import array
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import pyarrow as pa

from kcodec.columns.faults import Faults
from kcodec.errors import CODES, Fault
from kcodec.formats.json.tokens import ESCAPES, SPACE

__all__ = ["ENVELOPE", "Envelope", "faults", "scan", "split", "unlike"]

#: What Connect says of a document that is no envelope.
ENVELOPE = (
    'JsonConverter with schemas.enable requires "schema" and "payload" fields and may not contain additional '
    "fields. If you are trying to deserialize plain JSON data, set schemas.enable=false in your converter "
    "configuration."
)

#: Rows whose beginning and end are remembered.
_KEPT = 8


class Envelope(NamedTuple):
    """Where the schema's text and the payload are in a row; or the code of what is wrong with it, and where.

    The payload goes from behind its colon to the comma or brace behind it.
    """

    schema: int = -1
    schema_end: int = -1
    payload: int = -1
    payload_end: int = -1
    code: str = ""
    at: int = 0


class _Bad(Exception):
    def __init__(self, code: str, at: int) -> None:
        super().__init__(code)
        self.code = code
        self.at = at


def scan(data: bytes) -> Envelope:
    """Find the parts of one envelope.

    >>> scan(b'{"schema":null, "payload":1}')
    Envelope(schema=10, schema_end=14, payload=26, payload_end=27, code='', at=0)
    """
    try:
        return _scan(data)
    except _Bad as bad:
        return Envelope(code=bad.code, at=bad.at)


def _scan(data: bytes) -> Envelope:
    at = _space(data, 3 if data.startswith(b"\xef\xbb\xbf") else 0)
    if data[at : at + 1] != b"{":
        raise _Bad("json_type", at)
    schema = payload = (-1, -1)
    first = True
    at = _space(data, at + 1)
    while not first or data[at : at + 1] != b"}":
        begin = at
        name, at = _name(data, at)
        value = _space(data, at)
        end = _skip(data, value)
        close = _space(data, end)
        if name not in ("schema", "payload"):
            raise _Bad("json_type", begin)
        if (schema if name == "schema" else payload) != (-1, -1):
            raise _Bad("duplicate_key", begin)
        if name == "schema":
            schema = value, end
        else:
            payload = at, close
        first = False
        at = _expect(data, close, b",}")
        if data[at - 1 : at] == b"}":
            at -= 1
            break
        at = _space(data, at)
    if -1 in (schema[0], payload[0]):
        raise _Bad("json_type", at)
    end = _space(data, at + 1)
    if end < len(data):
        raise _Bad("trailing_bytes", end)
    return Envelope(*schema, *payload)


def _space(data: bytes, at: int) -> int:
    while at < len(data) and data[at] in SPACE:
        at += 1
    return at


def _expect(data: bytes, at: int, wanted: bytes) -> int:
    if at >= len(data):
        raise _Bad("truncated", len(data))
    if data[at] not in wanted:
        raise _Bad("json_syntax", at)
    return at + 1


def _string(data: bytes, at: int) -> int:
    """Pass a string, from the byte after its first quote past its last one."""
    while at < len(data) and data[at] != 34:
        at += 2 if data[at] == 92 else 1
    if at >= len(data):
        raise _Bad("truncated", len(data))
    return at + 1


def _name(data: bytes, at: int) -> tuple[str, int]:
    begin = _expect(data, at, b'"')
    end = _string(data, begin)
    after = _expect(data, _space(data, end), b":")
    return _text(data[begin : end - 1]), after


def _text(raw: bytes) -> str:
    """Undo the escapes of a key; a key that is wrong is not one of the two either."""
    parts = []
    at = 0
    while at < len(raw):
        size = 1
        if raw[at] != 92:
            parts.append(chr(raw[at]))
        elif raw[at + 1] == 117:
            size = 6
            try:
                parts.append(chr(int(raw[at + 2 : at + 6], 16)) if len(raw) >= at + 6 else "?")
            except ValueError:
                parts.append("?")
        else:
            size = 2
            parts.append(ESCAPES.get(raw[at + 1], "?"))
        at += size
    return "".join(parts)


def _skip(data: bytes, at: int) -> int:
    """Pass a value by its quotes and brackets."""
    begin, depth = at, 0
    while at < len(data):
        byte = data[at]
        if byte == 34:
            if at > begin and not depth:
                break
            at = _string(data, at + 1)
            if not depth:
                return at
        elif byte in b"{[":
            if at > begin and not depth:
                break
            depth += 1
            at += 1
        elif byte in b"}]":
            if not depth:
                break
            depth -= 1
            at += 1
            if not depth:
                return at
        elif not depth and (byte == 44 or byte in SPACE):
            break
        else:
            at += 1
    if depth or at >= len(data):
        raise _Bad("truncated", len(data))
    if at == begin:
        raise _Bad("json_syntax", at)
    return at


def split(
    values: pa.Array, max_schemas: int
) -> tuple[bytearray, bytearray, bytearray, list[bytes], Sequence[Fault], int]:
    """Find schema and payload of each row, up to the row that has one schema more than `max_schemas`.

    Returns the number of each row's schema, -1 without one, and where its payload starts and ends, as buffers of
    int32; the distinct texts of schemas, as they appear; the rows that are no envelopes; and how many rows were
    split. A row that begins and ends like one before it, byte for byte around the payload, is taken to be no more
    than that: whether something else stands there shows when the payload is read, and `unlike` then says what.
    """
    selector, starts, ends = array("i"), array("i"), array("i")
    texts: dict[bytes, int] = {}
    found: list[tuple[int, int, str]] = []
    kept: list[tuple[bytes, bytes, int]] = []
    added = 0
    for row, value in enumerate(values.to_pylist()):
        place = (-1, 0, 0)
        if value is not None:
            data = _bytes(value)
            known = next((each for each in kept if _fits(data, *each[:2])), None)
            if known is not None:
                place = (known[2], len(known[0]), len(data) - len(known[1]))
            else:
                envelope = scan(data)
                if envelope.code:
                    found.append((row, envelope.at, envelope.code))
                else:
                    text = data[envelope.schema : envelope.schema_end]
                    if text not in texts and len(texts) == max_schemas:
                        break
                    number = texts.setdefault(text, len(texts))
                    place = (number, envelope.payload, envelope.payload_end)
                    entry = (data[: envelope.payload], data[envelope.payload_end :], number)
                    kept[added % _KEPT : added % _KEPT + 1] = [entry]
                    added += 1
        for column, each in zip((selector, starts, ends), place, strict=True):
            column.append(each)
    first, second, third = (bytearray(column.tobytes()) for column in (selector, starts, ends))
    return first, second, third, list(texts), faults(found), len(selector)


def _fits(data: bytes, start: bytes, end: bytes) -> bool:
    return len(data) >= len(start) + len(end) and data.startswith(start) and data.endswith(end)


def unlike(values: pa.Array, rows: Iterable[int]) -> Sequence[Fault]:
    """Return which of some rows are not envelopes, though they may begin and end like the row before them."""
    found = {row: scan(_bytes(values[row].as_py())) for row in rows}
    return faults([(row, envelope.at, envelope.code) for row, envelope in found.items() if envelope.code])


def faults(found: Sequence[tuple[int, int, str]]) -> Sequence[Fault]:
    """Make the report of rows that are not envelopes from their numbers, offsets and codes."""
    if not found:
        return []
    return Faults.told_apart(
        (row, at, ("", code, ENVELOPE if code == "json_type" else CODES[code])) for row, at, code in found
    )


def _bytes(value: bytes | str) -> bytes:
    return value.encode("utf-8", "surrogateescape") if isinstance(value, str) else value

"""A pasted message taken apart: its frame, the schema that it names, its value."""

from __future__ import annotations

import base64
import binascii
import re
import uuid
from collections.abc import Callable
from typing import NamedTuple

from kcodec.errors import ConfigError, DecodeError, RegistryError, SchemaError, one_line
from kcodec.formats.schema_format import schema_format
from kcodec.registry.base import RegisteredSchema, context_of, context_prefix
from kcodec.registry.references import named_texts
from kcodec.server.access.guard import ServedRegistry
from kcodec.wire.framing import decode_message_indexes

__all__ = [
    "ENCODINGS",
    "MAX_BYTES",
    "DecodedMessage",
    "Stretch",
    "dump",
    "find_guid",
    "find_schema",
    "inside",
    "read_bytes",
    "read_message",
]

ENCODINGS = ("auto", "hex", "base64", "text")

#: Bytes of a message.
MAX_BYTES = 1 << 20

#: Rows of sixteen bytes that are shown.
_MAX_ROWS = 32

#: What stands between digits or before them, as tools print bytes.
_SEPARATORS = re.compile(r"0[xX]|\\x|[\s:,;_-]+")
#: A line of ``xxd``, ``hexdump -C`` or ``od -A x -t x1``: how many bytes stand before it, digits, and their text.
_DUMP_LINE = re.compile(
    r"(?P<place>[0-9a-f]{6,16})(?P<colon>:?)\s*(?P<digits>(?:(?:[0-9a-f]{2}){1,16} {1,2})*(?:[0-9a-f]{2}){0,16})"
    r"(?P<bar>\s*\|.*\|)?(?(colon)(?:\s.*)?)",
    re.IGNORECASE,
)
_LITERAL = re.compile(r"""(?:[bB](?P<quote>['"])|(?P<json>"))(?P<body>.*)(?(json)"|(?P=quote))""", re.DOTALL)
_ESCAPE = re.compile(r"\\(?:x(?P<hex>[0-9a-fA-F]{2})|u(?P<json>[0-9a-fA-F]{4})|.)", re.DOTALL)
_ESCAPES = re.compile(r"(?:[^\\]|\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|[^xu]))*", re.DOTALL)
_CHARACTERS = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f", "0": "\0", "a": "\a", "v": "\v"}

_NO_FRAME = (
    "No frame: the first byte is neither 00, before a schema id, nor 01, before a GUID. Name the schema if the message "
    "has no frame, or if a header tells its id."
)


class Stretch(NamedTuple):
    """A stretch of a message's bytes, and what it is: ``magic``, ``id``, ``guid``, ``indexes`` or ``payload``."""

    kind: str
    start: int
    end: int


class DecodedMessage(NamedTuple):
    """What is known of a message."""

    #: All its bytes.
    data: bytes
    #: What they are, in order.
    parts: list[Stretch]
    #: Its schema.
    found: RegisteredSchema | None = None
    #: The context of the schema.
    context: str = ""
    #: Its message indexes; empty if its format has none.
    indexes: tuple[int, ...] = ()
    #: Its value as JSON.
    value: str | None = None
    #: Why there is no schema or no value; empty if there are both.
    problem: str = ""
    #: The byte that the problem is at.
    offset: int | None = None
    #: Where in the value the problem is.
    place: str = ""


def read_bytes(text: str, encoding: str = "auto") -> bytes:
    r"""Return the bytes that a text stands for.

    Hexadecimal digits may have spaces, colons, ``0x`` or ``\x`` between them, or be the lines of a dump, as ``xxd`` and
    ``hexdump -C`` print them; Base64 may be that of URLs and go without its padding. Text has escapes: what Python
    prints of bytes, ``b'\x00...'``, or JSON of a text with a character a byte, ``"\u0000..."``. What can be several of
    these is what begins like a frame; what is none of them, or more than `MAX_BYTES`, is a `ValueError`.

    >>> read_bytes("00 00 00 00 07 68 69"), read_bytes(r"\x00\x01"), read_bytes("AAAAAAdoaQ")
    (b'\x00\x00\x00\x00\x07hi', b'\x00\x01', b'\x00\x00\x00\x00\x07hi')
    >>> read_bytes(r"b'\x00\x07hi'"), read_bytes(r'"\u0000\u0007hi"'), read_bytes("00000000: 0007 6869  ..hi")
    (b'\x00\x07hi', b'\x00\x07hi', b'\x00\x07hi')
    """
    kinds = {"hex": (_dump, _hex), "base64": (_base64,), "text": (_escaped,)}
    readers = kinds.get(encoding, (_dump, _hex, _base64, _escaped))
    found = []
    for read in readers:
        data = read(text)
        if data is not None:
            found.append(data)
            if read is _dump:
                # Of which the addresses are digits, too.
                break
    if not found:
        names = {"hex": "not hexadecimal", "base64": "not Base64", "text": "not text with escapes of bytes"}
        raise ValueError(
            f"This is {names.get(encoding, 'neither hexadecimal nor Base64, nor text with escapes')}."
        )
    data = next((each for each in found if each[:1] in (b"\0", b"\1")), found[0])
    if len(data) > MAX_BYTES:
        raise ValueError(f"This message has {len(data):,} bytes; {MAX_BYTES:,} are read.")
    return data


def _dump(text: str) -> bytes | None:
    """Return the bytes of a dump: lines that each begin with the number of the bytes before it."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    data = bytearray()
    for number, line in enumerate(lines):
        found = _DUMP_LINE.fullmatch(line)
        if found is None or int(found["place"], 16) != len(data):
            return None
        digits = found["digits"]
        if not digits:
            # The end, which hexdump and od tell.
            return bytes(data) if data and number == len(lines) - 1 else None
        # Without either it may as well be digits alone.
        if len(lines) == 1 and not found["colon"] and not found["bar"]:
            return None
        data += bytes.fromhex(digits.partition("  ")[0] if found["colon"] else digits)
    return bytes(data) or None


def _escaped(text: str) -> bytes | None:
    """Return the bytes of a text with escapes, as Python and JSON write them."""
    text = text.strip()
    literal = _LITERAL.fullmatch(text)
    if literal is None and text and "\\" not in text:
        return None
    body = text if literal is None else literal["body"]
    if _ESCAPES.fullmatch(body) is None:
        return None
    try:
        return _ESCAPE.sub(_character, body).encode("latin-1")
    except UnicodeEncodeError:
        return None


def _character(found: re.Match[str]) -> str:
    digits = found["hex"] or found["json"]
    return chr(int(digits, 16)) if digits else _CHARACTERS.get(found[0][1], found[0][1])


def _hex(text: str) -> bytes | None:
    try:
        return bytes.fromhex(_SEPARATORS.sub("", text))
    except ValueError:
        return None


def _base64(text: str) -> bytes | None:
    digits = "".join(text.split()).replace("-", "+").replace("_", "/").rstrip("=")
    try:
        return base64.b64decode(digits + "=" * (-len(digits) % 4), validate=True)
    except (binascii.Error, ValueError):
        return None


def inside(context: str) -> str | None:
    """Return the subject that stands for a context, where a subject says in which context an id counts."""
    return context_prefix(context) or None


def find_guid(registry: ServedRegistry, guid: str, context: str) -> tuple[RegisteredSchema, str]:
    """Find a schema by its GUID, and a context that has it: the one given, if it does."""
    # The lowest id of each context.
    ids = dict(reversed(registry.schema_ids(guid)))
    if not ids:
        return registry.get_by_guid(guid), context
    home = context if context in ids else min(ids)
    return registry.get(ids[home], inside(home)), home


def find_schema(registry: ServedRegistry, name: str, context: str) -> tuple[RegisteredSchema, str]:
    """Find a schema by what a reader calls it: an id, a GUID, or a subject, whose latest version is meant."""
    if name.isascii() and name.isdigit() and len(name) <= 10:
        return registry.get(int(name), inside(context)), context
    try:
        return find_guid(registry, str(uuid.UUID(name)), context)
    except ValueError:
        found = registry.get_version(name)
        return found, context_of(found.subject or name)


def read_message(
    registry: ServedRegistry,
    data: bytes,
    context: str,
    given: RegisteredSchema | None = None,
    hidden: Callable[[RegisteredSchema | None, str], str] = lambda found, context: "",
    is_raw: bool = False,
) -> DecodedMessage:
    """Take a message apart.

    Its id counts in the context, which is also that of the schema `given` for a message without a frame. `hidden`
    returns, of the schema that is found and its context, or of none, why nothing is said of it; empty if it may be.
    With `is_raw` the value is shown as consoles print it, with decimals of Avro as their bytes.
    """
    if given is not None:
        return _value(registry, DecodedMessage(data, [], given, context), 0, is_raw)
    size = {b"\0": 5, b"\1": 17}.get(data[:1])
    if size is None:
        return DecodedMessage(
            data,
            [Stretch("payload", 0, len(data))],
            problem=_NO_FRAME if data else "There are no bytes here.",
            offset=0,
        )
    kind = "id" if size == 5 else "guid"
    message = DecodedMessage(data, [Stretch("magic", 0, 1), Stretch(kind, 1, min(size, len(data)))])
    if len(data) < size:
        return message._replace(
            problem=f"The frame ends too early: a {'schema id' if size == 5 else 'GUID'} takes {size - 1} bytes.",
            offset=len(data),
        )
    rest = [*message.parts, Stretch("payload", size, len(data))]
    try:
        if size == 5:
            found = registry.get(int.from_bytes(data[1:5], "big", signed=True), inside(context))
        else:
            found, context = find_guid(registry, str(uuid.UUID(bytes=data[1:17])), context)
    except RegistryError as error:
        problem = hidden(None, context) or f"{one_line(error)}."
        return message._replace(parts=rest, problem=problem, offset=1)
    if problem := hidden(found, context):
        return message._replace(parts=rest, problem=problem, offset=1)
    return _value(registry, message._replace(found=found, context=context), size, is_raw)


def _value(registry: ServedRegistry, message: DecodedMessage, start: int, is_raw: bool) -> DecodedMessage:
    """Add message indexes and the value, which begin at a byte."""
    assert message.found is not None
    schema, data, parts = message.found.schema, message.data, message.parts
    indexes: tuple[int, ...] = ()
    message = message._replace(parts=[*parts, Stretch("payload", start, len(data))])
    try:
        known = schema_format(schema.type)
        parsed = known.parse_known(schema.text, named_texts(registry, schema, message.context))
        # They belong to the frame.
        if known.message_indexes and parts:
            try:
                indexes, end = decode_message_indexes(data, start)
            except DecodeError as error:
                return message._replace(problem=f"{error.code}: {error.reason}.", offset=start)
            parts = [*parts, Stretch("indexes", start, end), Stretch("payload", end, len(data))]
            message, start = message._replace(parts=parts, indexes=indexes), end
        text = known.console_text if is_raw else known.json_text
        return message._replace(value=text(parsed, data, start, indexes))
    except DecodeError as error:
        offset = start if error.offset is None else error.offset
        return message._replace(problem=f"{error.code}: {error.reason}.", offset=offset, place=error.path)
    except (SchemaError, RegistryError, ConfigError) as error:
        return message._replace(problem=f"{one_line(error)}.")


class Cell(NamedTuple):
    """A byte of a dump: two digits, what it belongs to, and whether the problem is there."""

    digits: str
    kind: str
    is_problem: bool


class DumpRow(NamedTuple):
    """Sixteen bytes of a dump."""

    offset: int
    cells: list[Cell]
    text: str


def dump(message: DecodedMessage) -> tuple[list[DumpRow], int]:
    """Return the first bytes of a message in rows, or those around its problem, and how many are left out."""
    data = message.data
    first = 0
    if message.offset is not None and message.offset >= 16 * _MAX_ROWS:
        first = message.offset // 16 * 16 - 8 * _MAX_ROWS
    last = min(len(data), first + 16 * _MAX_ROWS)
    kinds = {
        at: part.kind for part in message.parts for at in range(max(part.start, first), min(part.end, last))
    }
    rows = []
    for start in range(first, last, 16):
        row = data[start : min(start + 16, last)]
        cells = [
            Cell(f"{byte:02x}", kinds.get(start + at, ""), start + at == message.offset)
            for at, byte in enumerate(row)
        ]
        rows.append(DumpRow(start, cells, "".join(chr(byte) if 32 <= byte < 127 else "·" for byte in row)))
    return rows, len(data) - (last - first)

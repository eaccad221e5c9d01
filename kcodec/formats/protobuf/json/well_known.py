"""Messages of google.protobuf that have a JSON form of their own, and the texts of these forms."""

import datetime
import re
from collections.abc import Mapping
from functools import cache

from kcodec.formats.protobuf.descriptor import MessageType
from kcodec.formats.protobuf.language.known import KNOWN, known_file
from kcodec.formats.protobuf.language.link import link
from kcodec.formats.protobuf.language.names import Names
from kcodec.plan.failure import RowError

#: The wrappers: name -> type of their value.
WRAPPERS = {
    "google.protobuf.DoubleValue": "double",
    "google.protobuf.FloatValue": "float",
    "google.protobuf.Int64Value": "int64",
    "google.protobuf.UInt64Value": "uint64",
    "google.protobuf.Int32Value": "int32",
    "google.protobuf.UInt32Value": "uint32",
    "google.protobuf.BoolValue": "bool",
    "google.protobuf.StringValue": "string",
    "google.protobuf.BytesValue": "bytes",
}
_FIELDS = {
    "google.protobuf.Any": ["string", "bytes"],
    "google.protobuf.Timestamp": ["int64", "int32"],
    "google.protobuf.Duration": ["int64", "int32"],
    "google.protobuf.FieldMask": ["repeated string"],
    "google.protobuf.Struct": ["repeated message"],
    "google.protobuf.Value": ["enum", "double", "string", "bool", "message", "message"],
    "google.protobuf.ListValue": ["repeated message"],
    **{name: [kind] for name, kind in WRAPPERS.items()},
}
#: Those that have none, but may be one value of a column.
_PLAIN_FIELDS = {
    "google.type.Date": ["int32"] * 3,
    "google.type.TimeOfDay": ["int32"] * 4,
    "google.type.Decimal": ["string"],
    "confluent.type.Decimal": ["bytes", "uint32", "int32"],
}
#: Seconds from 0001-01-01 to 9999-12-31, and how long a duration may be.
_FIRST, _LAST, _LONGEST = -62135596800, 253402300799, 315576000000
_SECONDS_A_DAY = 86400
_EPOCH = datetime.date(1970, 1, 1).toordinal()
_TIMESTAMP = re.compile(
    rb"(\d{4})-(\d\d)-(\d\d)T([01]\d|2[0-3]):([0-5]\d):([0-5]\d)(?:\.(\d{1,9}))?"
    rb"(?:Z|([+-])([01]\d|2[0-3]):([0-5]\d))"
)
_DURATION = re.compile(rb"(-?)(\d{1,12})(?:\.(\d{1,9}))?s")


def form_of(type: MessageType) -> str:
    """Return the name of a message type that has a JSON form of its own, and the fields for it; else ``""``."""
    return type.name if _has(type, _FIELDS.get(type.name)) else ""


def is_well_known(type: MessageType) -> bool:
    """Return whether a message type has the name and the fields of one that may be one value of a column."""
    return _has(type, _FIELDS.get(type.name) or _PLAIN_FIELDS.get(type.name))


def _has(type: MessageType, wanted: list[str] | None) -> bool:
    if wanted is None:
        return False
    found = ["repeated " * each.repeated + each.type for each in type.by_number.values()]
    return found == wanted and list(type.by_number) == [*range(1, len(wanted) + 1)]


def find_type(url: str, types: Mapping[str, MessageType]) -> MessageType:
    """Return the type of what an Any holds: one of these, or of google.protobuf's own.

    >>> find_type("type.googleapis.com/google.protobuf.Duration", {})
    <message google.protobuf.Duration>
    """
    _, slash, name = url.rpartition("/")
    type = types.get(name) or _types().get(name) if slash else None
    if type is None:
        raise RowError("unresolvable", None, "", f"the type {url!r} of an Any is not known")
    return type


@cache
def _types() -> Mapping[str, MessageType]:
    files = {path: known_file(path) for path in KNOWN if path.startswith("google/protobuf/")}
    return link(Names(files)).messages


def format_timestamp(seconds: int, nanos: int) -> str:
    """Print a time in UTC with 0, 3, 6 or 9 digits of its second.

    >>> format_timestamp(-1, 500_000_000)
    '1969-12-31T23:59:59.500Z'
    """
    if not (_FIRST <= seconds <= _LAST and 0 <= nanos < 10**9):
        raise RowError("out_of_range")
    days, rest = divmod(seconds, _SECONDS_A_DAY)
    date = datetime.date.fromordinal(_EPOCH + days)
    return f"{date}T{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}{_fraction(nanos)}Z"


def parse_timestamp(text: bytes) -> tuple[int, int]:
    """Return seconds and nanoseconds of a time of RFC 3339, with Z or an offset.

    >>> parse_timestamp(b"1970-01-01T01:00:01.5+01:00")
    (1, 500000000)
    """
    match = _TIMESTAMP.fullmatch(text)
    if not match:
        raise RowError("invalid_time")
    year, month, day, hour, minute, second = (int(group) for group in match.groups()[:6])
    try:
        days = datetime.date(year, month, day).toordinal() - _EPOCH
    except ValueError:
        raise RowError("invalid_time") from None
    seconds = days * _SECONDS_A_DAY + hour * 3600 + minute * 60 + second
    if match[8]:
        offset = int(match[9]) * 3600 + int(match[10]) * 60
        seconds += offset if match[8] == b"-" else -offset
    if not _FIRST <= seconds <= _LAST:
        raise RowError("out_of_range")
    return seconds, _nanos(match[7])


def format_duration(seconds: int, nanos: int) -> str:
    """Print a duration in seconds with 0, 3, 6 or 9 digits behind the point.

    >>> format_duration(-1, -500_000_000), format_duration(0, 1000)
    ('-1.500s', '0.000001s')
    """
    if abs(seconds) > _LONGEST or abs(nanos) >= 10**9 or seconds * nanos < 0:
        raise RowError("out_of_range")
    sign = "-" if seconds < 0 or nanos < 0 else ""
    return f"{sign}{abs(seconds)}{_fraction(abs(nanos))}s"


def parse_duration(text: bytes) -> tuple[int, int]:
    """Return seconds and nanoseconds of a duration.

    >>> parse_duration(b"-1.5s")
    (-1, -500000000)
    """
    match = _DURATION.fullmatch(text)
    if not match:
        raise RowError("invalid_time", reason="the text is not a duration in seconds")
    seconds, nanos = int(match[2]), _nanos(match[3])
    if seconds > _LONGEST:
        raise RowError("out_of_range")
    return (-seconds, -nanos) if match[1] else (seconds, nanos)


def _fraction(nanos: int) -> str:
    text = f"{nanos:09}"
    size = 9 if nanos % 1000 else 6 if nanos % 10**6 else 3
    return f".{text[:size]}" if nanos else ""


def _nanos(digits: bytes | None) -> int:
    return int((digits or b"0").ljust(9, b"0"))


def format_paths(paths: list[str]) -> str:
    """Print the paths of a field mask, the words of their names in camel case, as Java does: letters lose their case.

    >>> format_paths(["a.b_c", "", "dE"])
    'a.bC,de'
    """
    return ",".join(_camel(path) for path in paths if path)


def _camel(path: str) -> str:
    first, *others = (_lower(word) for word in path.split("_"))
    return first + "".join(word[:1].upper() + word[1:] if word[:1].isascii() else word for word in others)


def _lower(word: str) -> str:
    return "".join(letter.lower() if letter.isascii() else letter for letter in word)


def parse_paths(text: str) -> list[str]:
    """Return the paths of a field mask.

    >>> parse_paths("a.bC,d")
    ['a.b_c', 'd']
    """
    if "_" in text:
        raise RowError("type_mismatch", reason="the names in a field mask have no underscores in JSON")
    return [re.sub("[A-Z]", lambda letter: f"_{letter[0].lower()}", path) for path in text.split(",") if path]

"""Python values as what is written of them: what both implementations do where values are not of the usual types.

Each function raises `RowError` with no path for a value that it does not take.
"""

import dataclasses
import datetime
import math
import operator
from collections.abc import Collection, Mapping
from decimal import Decimal
from enum import Enum
from numbers import Real
from typing import Any
from uuid import UUID

from kcodec.errors import one_line
from kcodec.plan.failure import RowError

_EPOCH = datetime.date(1970, 1, 1).toordinal()
_START = datetime.datetime(1970, 1, 1)
_MICROSECOND = datetime.timedelta(microseconds=1)
#: What classes have whose instances are records, and what names their fields.
_FIELDS = ("_fields", "__struct_fields__", "__pydantic_fields__", "__attrs_attrs__")
#: How deep records are looked for.
_MAX_DEPTH = 200
#: Members of a union that an error names.
_NAMED_MEMBERS = 8


def unfit(value: Any, wanted: str) -> RowError:
    """Return the error of a value that is of another type.

    >>> str(unfit("7", "number"))
    'a str is no number'
    """
    told = one_line(repr(value), 60) if isinstance(value, Enum) else f"a {type(value).__name__}"
    return RowError("type_mismatch", None, "", f"{told} is no {wanted}")


def whole(value: Any) -> int:
    """Return an integer: also of NumPy's, of other numbers without a fraction, and of members of an `enum.Enum`.

    >>> whole(Decimal("7.00"))
    7
    """
    if isinstance(value, bool):
        raise unfit(value, "integer")
    try:
        return operator.index(value)
    except TypeError:
        pass
    if isinstance(value, Enum) and type(value.value) is int:
        return value.value
    if not isinstance(value, (Real, Decimal)):
        raise unfit(value, "integer")
    try:
        number = operator.index(math.trunc(value))
    except (OverflowError, ValueError):
        raise RowError("out_of_range", None) from None
    if number != value:
        raise RowError("inexact", None)
    return number


def real(value: Any) -> float:
    """Return a floating-point number: also of integers that one holds.

    >>> real(7)
    7.0
    """
    if isinstance(value, bool) or not isinstance(value, Real):
        raise unfit(value, "number")
    try:
        number = float(value)
    except OverflowError:
        raise RowError("out_of_range", None) from None
    if isinstance(value, int) and number != value:
        raise RowError("inexact", None)
    return number


def truth(value: Any) -> bool:
    """Return a boolean, also of NumPy's.

    >>> truth(True)
    True
    """
    if isinstance(value, bool) or type(value).__name__ in ("bool", "bool_"):
        return bool(value)
    raise unfit(value, "boolean")


def octets(value: Any) -> bytes:
    r"""Return bytes; those of text are its UTF-8, also of that of an `enum.Enum`; those of a UUID its 16.

    >>> octets("é")
    b'\xc3\xa9'
    """
    if isinstance(value, (str, Enum)):
        return utf8(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    if isinstance(value, UUID):
        return value.bytes
    raise unfit(value, "bytes")


def utf8(value: Any) -> bytes:
    """Return the UTF-8 of text, of bytes that are UTF-8, or of the text that a UUID or a member of an `enum.Enum` is.

    >>> utf8(b"a")
    b'a'
    """
    try:
        if isinstance(value, str):
            return value.encode()
        if isinstance(value, (bytes, bytearray, memoryview)):
            data = bytes(value)
            data.decode()
            return data
        if isinstance(value, UUID):
            return str(value).encode()
        if isinstance(value, Enum) and isinstance(value.value, str):
            return value.value.encode()
    except UnicodeError:
        raise RowError("invalid_utf8", None) from None
    raise unfit(value, "text")


def days(value: Any) -> int:
    """Return the days since 1970-01-01 of a date, or of a datetime at midnight; an integer is that number.

    >>> days(datetime.date(1970, 1, 2))
    1
    """
    if isinstance(value, datetime.datetime) and value.time() != datetime.time.min:
        raise RowError("inexact", None)
    if isinstance(value, datetime.date):
        return value.toordinal() - _EPOCH
    if isinstance(value, int):
        return whole(value)
    raise unfit(value, "date")


def micros_of_day(value: Any) -> int:
    """Return the microseconds since midnight of a time.

    >>> micros_of_day(datetime.time(0, 0, 1))
    1000000
    """
    if not isinstance(value, datetime.time):
        raise unfit(value, "time")
    return ((value.hour * 60 + value.minute) * 60 + value.second) * 1_000_000 + value.microsecond


def micros(value: Any) -> int:
    """Return the microseconds since 1970 of a datetime, which is in UTC if it has no zone.

    >>> micros(datetime.datetime(1970, 1, 1, 0, 0, 1))
    1000000
    """
    if not isinstance(value, datetime.datetime):
        raise unfit(value, "datetime")
    if getattr(value, "nanosecond", 0):
        # Of pandas, which Python's own do not have.
        raise RowError("inexact", None)
    if value.utcoffset() is not None:
        value = value.astimezone(datetime.timezone.utc).replace(tzinfo=None)
    since: datetime.timedelta = value.replace(tzinfo=None) - _START
    return since // _MICROSECOND


def local_micros(value: Any) -> int:
    """Return the microseconds since 1970 of a datetime for a type without a zone; it has none, or is in UTC.

    Of another zone it could be what its clocks show, or the moment.

    >>> local_micros(datetime.datetime(1970, 1, 1, 0, 0, 1))
    1000000
    """
    if isinstance(value, datetime.datetime) and value.utcoffset():
        reason = f"{value} has a time zone, and what is written has none"
        raise RowError("type_mismatch", None, "", reason)
    return micros(value)


def decimal_text(value: Any) -> str:
    """Return the digits of a decimal, or of an integer.

    >>> decimal_text(Decimal("1.50"))
    '1.50'
    """
    if isinstance(value, Decimal):
        if value.is_finite():
            return str(value)
        raise RowError("type_mismatch", None, "", f"{value} is no decimal")
    if isinstance(value, int) and not isinstance(value, bool):
        return str(Decimal(value))
    raise unfit(value, "decimal")


def items(value: Any) -> list[Any]:
    """Return the items of any collection but text, bytes and mappings.

    >>> items(range(2))
    [0, 1]
    """
    if isinstance(value, (str, bytes, bytearray, memoryview, Mapping)):
        raise unfit(value, "list")
    # Arrays of NumPy are not registered as collections.
    if isinstance(value, Collection) or hasattr(value, "__array__"):
        return list(value)
    raise unfit(value, "list")


def entries(value: Any) -> list[Any]:
    """Return the entries of a mapping, or of a list of pairs.

    >>> entries({"a": 1}), entries([("a", 1)])
    ([('a', 1)], [('a', 1)])
    """
    if isinstance(value, Mapping):
        return list(value.items())
    if isinstance(value, (list, tuple)) and all(isinstance(pair, tuple) and len(pair) == 2 for pair in value):
        return list(value)
    raise unfit(value, "mapping or list of pairs")


def fields(value: Any) -> dict[str, Any]:
    """Return the fields of a record: a mapping, a dataclass, a NamedTuple, or one of pydantic, attrs or msgspec.

    >>> import collections
    >>> fields(collections.namedtuple("P", "x")(7))
    {'x': 7}
    """
    if isinstance(value, Mapping):
        return dict(value)
    kind = type(value)
    if dataclasses.is_dataclass(kind):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(kind)}
    for attribute in _FIELDS:
        named = getattr(kind, attribute, None)
        if named is None:
            continue
        names = {name: name for name in (getattr(each, "name", each) for each in named)}
        if attribute == "__pydantic_fields__" and getattr(kind, "model_config", {}).get("serialize_by_alias"):
            names = {name: field.serialization_alias or name for name, field in named.items()}
        return {shown: getattr(value, name) for name, shown in names.items()}
    raise unfit(value, "record: a mapping, a dataclass or the like is")


def plain(value: Any, depth: int = 0) -> Any:
    """Return a value with a dict for each of its records; the value itself if all of them are dicts.

    >>> import collections
    >>> plain([collections.namedtuple("P", "x")(7)])
    [{'x': 7}]
    """
    kind = type(value)
    if depth == _MAX_DEPTH:
        return value
    if kind is list or kind is tuple:
        made = kind(plain(each, depth + 1) for each in value)
        return made if any(one is not other for one, other in zip(made, value, strict=True)) else value
    try:
        found = fields(value)
    except RowError:
        return value
    changed = {name: plain(each, depth + 1) for name, each in found.items()}
    same = kind is dict and all(changed[name] is each for name, each in found.items())
    return value if same else changed


def members(names: Collection[str], value: Any) -> dict[str, Any]:
    """Return the members of a union, as the fields of a record.

    >>> members(["member0", "member1"], {"member1": 7})
    {'member1': 7}
    """
    try:
        return fields(value)
    except RowError:
        wanted = f"mapping of one member of the union ({_listed(names)}); plain values take unions='value'"
        raise unfit(value, wanted) from None


def no_member(name: Any, names: Collection[str]) -> str:
    """Return why a union cannot be written by a name that none of its members has.

    >>> no_member("str", ["member0", "member1"])
    "the union has no member 'str': it has member0, member1"
    """
    return f"the union has no member {name!r}: it has {_listed(names)}"


def _listed(names: Collection[str]) -> str:
    first = list(names)[:_NAMED_MEMBERS]
    return ", ".join([*first, *["..."] * (len(names) > len(first))])

"""Logical types that a reader's schema changes: what becomes of the values that a writer's schema means.

Avro's specification matches two decimals only if precision and scale are equal, and says nothing of times; Avro Java
reads the writer's bytes as the reader's type, so 3.14 becomes 0.314 where the scale grew by one. Here values are
converted exactly, or not at all; ``compat="avro"`` reads as Java does.
"""

from collections.abc import Iterator
from typing import NamedTuple

from kcodec.errors import SchemaError
from kcodec.formats.avro.changes.resolution import Branches, apply_aliases, unreadable
from kcodec.formats.avro.schema.model import Schema
from kcodec.formats.avro.schema.types import AvroOptions, logical_type
from kcodec.formats.language import Difference

#: Digits by which scales may differ: a bound on what the schemas of strangers cost.
MAX_SHIFT = 1000

#: Changes that are told of one pair of schemas.
_MAX_CHANGES = 1000


class _Meaning(NamedTuple):
    """What values of a logical type are, and the nanoseconds of one; 0 for what is no time."""

    kind: str
    nanos: int = 0


_DAY = 86_400 * 10**9
_MEANINGS = {
    "date": _Meaning("date", _DAY),
    "time-millis": _Meaning("time", 10**6),
    "time-micros": _Meaning("time", 1000),
    "time-nanos": _Meaning("time", 1),
    "timestamp-millis": _Meaning("timestamp", 10**6),
    "timestamp-micros": _Meaning("timestamp", 1000),
    "timestamp-nanos": _Meaning("timestamp", 1),
    "local-timestamp-millis": _Meaning("local-timestamp", 10**6),
    "local-timestamp-micros": _Meaning("local-timestamp", 1000),
    "local-timestamp-nanos": _Meaning("local-timestamp", 1),
    # Debezium's numbers, which have no Arrow type of their own.
    "io.debezium.time.Year": _Meaning("year"),
    "io.debezium.time.MicroDuration": _Meaning("interval", 1000),
    "io.debezium.time.NanoDuration": _Meaning("interval", 1),
}

#: Columns of milliseconds hold microseconds.
_COLUMN_NANOS = {"timestamp-millis": 1000, "local-timestamp-millis": 1000}

#: A date is the midnight that it begins with; of instants, that in UTC.
_MIDNIGHTS = ("timestamp", "local-timestamp")


class Conversion(NamedTuple):
    """How a number on the wire becomes the column's: divided, then multiplied; of decimals, with zeros behind it."""

    #: As those of `kcodec.formats.avro.plans.node.AvroNode`.
    factor: int = 1
    divisor: int = 1
    shift: int = 0
    #: What has changed, for people; empty if nothing has.
    told: str = ""
    #: Why there is no conversion; empty if there is one.
    reason: str = ""


_PLAIN = Conversion()


def conversion(writer: Schema, reader: Schema, options: AvroOptions) -> Conversion:
    """Return how values of one type, which is neither nested nor a union, are read as another that can read it.

    A type without a logical type is numbers, bytes or text: it is read as what the other says, in the unit or at the
    scale of the other. Only bytes of decimals and text are never each other.

    >>> from kcodec.formats.avro.schema.parse import parse
    >>> date, millis, micros, time = (
    ...     parse({"type": "int" if name == "date" else "long", "logicalType": name})
    ...     for name in ("date", "timestamp-millis", "timestamp-micros", "time-micros")
    ... )
    >>> conversion(millis, micros, AvroOptions())
    Conversion(factor=1000, divisor=1, shift=0, told='timestamp-millis -> timestamp-micros: converted', reason='')
    >>> conversion(micros, millis, AvroOptions()).divisor
    1000
    >>> conversion(date, time, AvroOptions()).reason
    "the writer's date is not the reader's time-micros"
    """
    read = _name(reader, options)
    if not read and writer is reader:
        return _PLAIN
    made = _MEANINGS.get(read, _Meaning(read))
    column = _COLUMN_NANOS.get(read, made.nanos)
    plain = Conversion(factor=made.nanos // column) if column else _PLAIN
    if writer is reader or options.compat == "avro":
        return plain
    written = _name(writer, options)
    meant = _MEANINGS.get(written, _Meaning(written))
    if not read or not written:
        if "decimal" in (read, written) and writer.type != reader.type:
            return Conversion(reason=_reason(written or writer.type, read or reader.type))
        return plain
    if meant.kind != made.kind and (meant.kind != "date" or made.kind not in _MIDNIGHTS):
        return Conversion(reason=_reason(written, read))
    if read == "decimal":
        shift = reader.scale - writer.scale
        if abs(shift) > MAX_SHIFT:
            return Conversion(reason=f"the scales {writer.scale} and {reader.scale} are too far apart")
        return Conversion(shift=shift, told=_told(f"scale {writer.scale}", str(reader.scale), shift >= 0))
    if meant == made:
        return plain
    finer = meant.nanos < made.nanos
    return Conversion(
        factor=made.nanos // column if finer else meant.nanos // column,
        divisor=made.nanos // meant.nanos if finer else 1,
        told=_told(written, read, not finer),
    )


def _name(schema: Schema, options: AvroOptions) -> str:
    """Return the name of a logical type, or of what Debezium says of numbers that have none."""
    name = logical_type(schema, options)
    if name or not options.debezium or not schema.props:
        return name
    given = schema.props.get("connect.name")
    return given if isinstance(given, str) and given in _MEANINGS and schema.type in ("int", "long") else ""


def _told(old: str, new: str, always: bool) -> str:
    if old.removeprefix("scale ") == new:
        return ""
    return f"{old} -> {new}: converted" + ("" if always else " if exact")


def _reason(written: str, read: str) -> str:
    return f"the writer's {written} is not the reader's {read}"


def conversions(reader: Schema, writer: Schema) -> list[Difference]:
    """Return where a reader's schema has other logical types than the writer's, by their paths in the reader's schema.

    The type is ``LOGICAL_TYPE_CONVERTED``, or ``LOGICAL_TYPE_MISMATCH`` for values that are errors.

    >>> from kcodec.formats.avro.schema.parse import parse
    >>> old, new = (parse({"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": n}) for n in (2, 3))
    >>> conversions(new, old)
    [Difference(type='LOGICAL_TYPE_CONVERTED', path='/', message='scale 2 -> 3: converted')]
    """
    try:
        found = []
        for difference in _Walk().walk(apply_aliases(writer, reader), reader, ""):
            found.append(difference)
            if len(found) == _MAX_CHANGES:
                break
        return found
    except RecursionError:
        raise SchemaError("types are nested too deeply to be compared") from None


class _Walk:
    """One comparison: the pairs of types met so far."""

    def __init__(self) -> None:
        self.options = AvroOptions()
        self.seen: set[tuple[int, int]] = set()
        self.branches: dict[int, Branches] = {}

    def walk(self, writer: Schema, reader: Schema, path: str) -> Iterator[Difference]:
        if writer.type in ("record", "union") or reader.type in ("record", "union"):
            if (id(writer), id(reader)) in self.seen:
                return
            self.seen.add((id(writer), id(reader)))
        if writer.type == "union":
            for branch in writer.branches:
                yield from self.walk(branch, reader, path)
        elif reader.type == "union":
            if id(reader) not in self.branches:
                self.branches[id(reader)] = Branches(reader)
            index = self.branches[id(reader)].match(writer)
            if index >= 0:
                yield from self.walk(writer, reader.branches[index], f"{path}/{index}")
        elif unreadable(writer, reader):
            return
        elif reader.type == "record":
            written = {field.name: field.type for field in writer.fields}
            for i, field in enumerate(reader.fields):
                if field.name in written:
                    yield from self.walk(written[field.name], field.type, f"{path}/fields/{i}/type")
        elif reader.type in ("array", "map"):
            assert writer.item is not None
            assert reader.item is not None
            step = "items" if reader.type == "array" else "values"
            yield from self.walk(writer.item, reader.item, f"{path}/{step}")
        else:
            found = conversion(writer, reader, self.options)
            if found.reason:
                yield Difference("LOGICAL_TYPE_MISMATCH", path or "/", found.reason)
            elif found.told:
                yield Difference("LOGICAL_TYPE_CONVERTED", path or "/", found.told)

"""What Connect's logical types in a writer's schema change of how documents are read as another schema.

A document tells by itself what its numbers and texts are, but for those of Connect's types: the Base64 of a Decimal has
the scale of the schema that it was written with, and a number is one of days or of milliseconds as that schema says.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from kcodec.formats.connect.model import DATE, DECIMAL, LOGICAL, TIMESTAMP
from kcodec.formats.json_schema.shape import Note, Shape
from kcodec.formats.json_schema.types import decimal_scale
from kcodec.formats.language import Difference
from kcodec.plan.failure import OtherMeaning

#: The keywords under which shapes stand.
_STEPS = {"fields": "properties", "prefix": "prefixItems", "values": "additionalProperties", "items": "items"}


def has_logical_types(shape: Shape) -> bool:
    """Return whether there is a logical type of Connect's in a shape."""
    waiting = [shape]
    while waiting:
        each = waiting.pop()
        if any(note.name in LOGICAL for note in each.notes.values()):
            return True
        waiting += (below for _, _, below in _below(each))
    return False


def written_as(reader: Shape, writer: Shape) -> Shape:
    """Return the shape of a reader with the scales, and the units of dates, of a writer; itself if they are the same.

    If one is a date and the other a time, or the like, it is `OtherMeaning`; but a date may be a timestamp.

    >>> def decimal(scale):
    ...     note = Note(connect="bytes", name=DECIMAL, parameters=(("scale", scale),))
    ...     return Shape(kinds=frozenset(("string",)), notes={"string": note})
    >>> decimal_scale(written_as(decimal("3"), decimal("2")))
    2
    """
    changes: list[Difference] = []
    made = _merged(reader, writer, "#", changes)
    for change in changes:
        if change.type == "LOGICAL_TYPE_MISMATCH":
            raise OtherMeaning(f"{change.path}: {change.message}")
    return made


def conversions(reader: Shape, writer: Shape) -> list[Difference]:
    """Return where a reader's shape has other logical types than the writer's; see `SchemaFormat.conversions`."""
    changes: list[Difference] = []
    _merged(reader, writer, "#", changes)
    return changes


def _merged(reader: Shape, writer: Shape, path: str, changes: list[Difference]) -> Shape:
    changed: dict[str, Any] = {}
    for attribute, key, below in _below(reader):
        other = _there(writer, attribute, key)
        if other is None:
            continue
        where = f"{path}/{_STEPS[attribute]}" + ("" if key is None else f"/{key}")
        made = _merged(below, other, where, changes)
        if made is below:
            continue
        if attribute == "fields":
            changed.setdefault("fields", dict(reader.fields))[key] = made
        elif attribute == "prefix":
            changed.setdefault("prefix", list(reader.prefix))[key] = made
        else:
            changed[attribute] = made
    if "prefix" in changed:
        changed["prefix"] = tuple(changed["prefix"])
    notes = _notes(reader, writer, path, changes)
    if notes is not None:
        changed["notes"] = notes
    return replace(reader, **changed) if changed else reader


def _below(shape: Shape) -> Iterator[tuple[str, Any, Shape]]:
    """Give the shapes below one: the attribute that holds each, and its name or place there."""
    for name, each in shape.fields.items():
        yield "fields", name, each
    for place, each in enumerate(shape.prefix):
        yield "prefix", place, each
    for attribute in ("values", "items"):
        below = getattr(shape, attribute)
        if below is not None:
            yield attribute, None, below


def _there(writer: Shape, attribute: str, key: Any) -> Shape | None:
    """Return the shape that stands in a place of the writer's."""
    if attribute == "fields":
        return writer.fields.get(key)
    if attribute == "prefix":
        return writer.prefix[key] if key < len(writer.prefix) else None
    return getattr(writer, attribute)


def _notes(reader: Shape, writer: Shape, path: str, changes: list[Difference]) -> dict[str, Note] | None:
    """Return what is said of values once the writer's logical type counts; None if it is the reader's."""
    named = {note.name for note in reader.notes.values() if note.name in LOGICAL}
    written = {note.name for note in writer.notes.values() if note.name in LOGICAL}
    if len(named) != 1 or len(written) != 1:
        return None
    read, meant = named.pop(), written.pop()
    if (read, meant) == (TIMESTAMP, DATE):
        changes.append(Difference("LOGICAL_TYPE_CONVERTED", path, "Date -> Timestamp: converted"))
        return {
            kind: note._replace(name=DATE) if note.name == read else note
            for kind, note in reader.notes.items()
        }
    if read != meant:
        reason = f"the writer's {_simple(meant)} is not the reader's {_simple(read)}"
        changes.append(Difference("LOGICAL_TYPE_MISMATCH", path, reason))
        return None
    scale, own = decimal_scale(writer), decimal_scale(reader)
    if scale is None or own is None or own == scale:
        return None
    exact = "" if own > scale else " if exact"
    changes.append(Difference("LOGICAL_TYPE_CONVERTED", path, f"scale {scale} -> {own}: converted{exact}"))
    return {
        kind: note._replace(parameters=tuple({**dict(note.parameters), "scale": str(scale)}.items()))
        if note.name == DECIMAL
        else note
        for kind, note in reader.notes.items()
    }


def _simple(name: str) -> str:
    return name.rpartition(".")[2]

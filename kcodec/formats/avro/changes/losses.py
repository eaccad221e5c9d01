"""Which values come out changed in a reader's schema, although the schemas are compatible."""

from __future__ import annotations

from collections.abc import Iterator

from kcodec.errors import SchemaError
from kcodec.formats.avro.changes.resolution import Branches, apply_aliases
from kcodec.formats.avro.schema.model import Schema
from kcodec.formats.language import Difference

#: Promotions that not all values survive, with the bits that the reader's type holds exactly.
_ROUNDED = {("int", "float"): 24, ("long", "float"): 24, ("long", "double"): 53}

#: Losses that are listed.
_MAX_LOSSES = 1000


def losses(reader: Schema, writer: Schema) -> list[Difference]:
    """Return what is rounded, or read as an enum's default; paths are those of the reader's schema.

    Examples
    --------
    >>> from kcodec.formats.avro.schema.parse import parse
    >>> losses(parse("double"), parse("long"))
    [Difference(type='VALUE_ROUNDED', path='/', message='of more than 53 bits, long is rounded to double')]
    """
    try:
        found = _losses(reader, apply_aliases(writer, reader), "", set(), {})
        return [each for each, _ in zip(found, range(_MAX_LOSSES), strict=False)]
    except RecursionError:
        raise SchemaError("types are nested too deeply to be compared") from None


def _losses(
    reader: Schema, writer: Schema, path: str, seen: set[tuple[int, int]], unions: dict[int, Branches]
) -> Iterator[Difference]:
    """Yield losses; `seen` are the pairs of records that were compared, `unions` those of the reader that were met."""
    if writer.type == "union":
        for branch in writer.branches:
            yield from _losses(reader, branch, path, seen, unions)
        return
    if reader.type == "union":
        # Once for each union: a writer's may have thousands of branches, and so may the reader's.
        if id(reader) not in unions:
            unions[id(reader)] = Branches(reader)
        at = unions[id(reader)].match(writer)
        if at >= 0:
            yield from _losses(reader.branches[at], writer, f"{path}/{at}", seen, unions)
        return
    kinds = writer.type, reader.type
    if kinds in _ROUNDED:
        words = f"of more than {_ROUNDED[kinds]} bits, {kinds[0]} is rounded to {kinds[1]}"
        yield Difference("VALUE_ROUNDED", path or "/", words)
    elif kinds == ("bytes", "string"):
        yield Difference("TEXT_EXPECTED", path or "/", "bytes that are not UTF-8 cannot be read as a string")
    elif kinds == ("enum", "enum") and reader.default is not None:
        missing = [symbol for symbol in writer.symbols if symbol not in reader.numbers]
        if missing:
            words = f"{', '.join(missing)} of {writer.name} is read as {reader.default}"
            yield Difference("SYMBOL_UNKNOWN", f"{path}/symbols", words)
    elif kinds in (("array", "array"), ("map", "map")):
        assert reader.item is not None
        assert writer.item is not None
        step = "items" if reader.type == "array" else "values"
        yield from _losses(reader.item, writer.item, f"{path}/{step}", seen, unions)
    elif kinds == ("record", "record") and (id(reader), id(writer)) not in seen:
        seen.add((id(reader), id(writer)))
        written = {field.name: field.type for field in writer.fields}
        for i, field in enumerate(reader.fields):
            if field.name in written:
                yield from _losses(field.type, written[field.name], f"{path}/fields/{i}/type", seen, unions)

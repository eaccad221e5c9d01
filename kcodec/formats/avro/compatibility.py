"""Whether one schema can read what another wrote.

Of this, levels (BACKWARD, FULL, ...) and lists of differences are made; serializers ask only for the verdict.
"""

from kcodec.formats.avro.schema import Field, Schema

__all__ = ["can_read"]

_PROMOTIONS = {
    "long": ("int",),
    "float": ("int", "long"),
    "double": ("int", "long", "float"),
    "string": ("bytes",),
    "bytes": ("string",),
}


def can_read(reader: Schema, writer: Schema) -> bool:
    """Tell whether every value of one Avro schema can be read as another.

    The rules are those of Avro Java's ``SchemaCompatibility``: stricter than reading itself in that the names
    of records, enums and fixeds must match (the simple name, or an alias), and that all of a union must be
    readable.

    Parameters
    ----------
    reader, writer : kcodec.formats.avro.schema.Schema
        The two schemas.

    Returns
    -------
    bool

    Examples
    --------
    >>> from kcodec.formats.avro.schema import parse
    >>> can_read(parse('["null", "long"]'), parse("int"))
    True
    >>> can_read(parse("int"), parse("long"))
    False
    """
    return _reads(reader, writer, {})


def _reads(reader: Schema, writer: Schema, known: dict[tuple[int, int], bool]) -> bool:
    pair = (id(reader), id(writer))
    if pair not in known:
        # While a pair of recursive types is compared, it is taken to fit.
        known[pair] = True
        known[pair] = _compare(reader, writer, known)
    return known[pair]


def _compare(reader: Schema, writer: Schema, known: dict[tuple[int, int], bool]) -> bool:
    if writer.type == "union":
        return all(_reads(reader, branch, known) for branch in writer.branches)
    if reader.type == "union":
        return any(_reads(branch, writer, known) for branch in reader.branches)
    if reader.type != writer.type:
        return writer.type in _PROMOTIONS.get(reader.type, ())
    if reader.type in ("array", "map"):
        assert reader.item is not None
        assert writer.item is not None
        return _reads(reader.item, writer.item, known)
    if reader.type in ("record", "enum", "fixed"):
        if reader.simple_name != writer.simple_name and writer.name not in reader.aliases:
            return False
        if reader.type == "fixed":
            return reader.size == writer.size
        if reader.type == "enum":
            return reader.default is not None or set(writer.symbols) <= set(reader.symbols)
        return all(_reads_field(field, writer, known) for field in reader.fields)
    return True


def _reads_field(field: Field, writer: Schema, known: dict[tuple[int, int], bool]) -> bool:
    written = [each for each in writer.fields if each.name == field.name or each.name in field.aliases]
    if not written:
        return field.has_default
    return len(written) == 1 and _reads(field.type, written[0].type, known)

"""Whether one Avro schema can read what another wrote, and why not.

Follows Avro Java's ``SchemaCompatibility``: stricter than reading itself in that the names of records, enums and fixeds
must match (the simple name, or an alias), and that all of a union must be readable.
"""

from collections import defaultdict

from kcodec.errors import SchemaError
from kcodec.formats.avro.schema.model import NAMED, PRIMITIVES, Field, Schema
from kcodec.formats.language import Difference

#: Differences that are listed of one pair of types: a bound on types that are used again and again.
MAX_DIFFERENCES = 1000

_PROMOTIONS = {
    "long": ("int",),
    "float": ("int", "long"),
    "double": ("int", "long", "float"),
    "string": ("bytes",),
    "bytes": ("string",),
}

#: What stands for the types of a field that is not plain: no type has this name.
_OTHER = frozenset([""])

_READERS = {
    written: [read for read, promoted in _PROMOTIONS.items() if written in promoted]
    for written in ("int", "long", "float", "string", "bytes")
}


def differences(reader: Schema, writer: Schema) -> list[Difference]:
    """Return why not every value of one Avro schema can be read as another, in the words of Avro Java.

    A pair of named types that stands in several places is listed for each of them, with the first one's path, which
    begins at the branch of a reader's union that it was compared for. A reader's field that several of the writer's
    fields match is ``AMBIGUOUS_FIELD``: Avro Java throws there.

    Examples
    --------
    >>> from kcodec.formats.avro.schema.parse import parse
    >>> differences(parse('["null", "long"]'), parse("int"))
    []
    >>> differences(parse("int"), parse("long"))
    [Difference(type='TYPE_MISMATCH', path='/', message='reader type: INT not compatible with writer type: LONG')]
    """
    try:
        return list(_Comparison().compare(reader, writer, ""))
    except RecursionError:
        raise SchemaError("types are nested too deeply to be compared") from None


class _Comparison:
    """One comparison: what is known of the pairs of types met so far."""

    def __init__(self) -> None:
        self.known: dict[tuple[int, int], list[Difference]] = {}
        self.branches: dict[int, dict[tuple[str, str], list[Schema]]] = {}

    def compare(self, reader: Schema, writer: Schema, path: str) -> list[Difference]:
        kinds = writer.kinds
        if kinds <= PRIMITIVES and kinds <= reader.kinds:
            return []
        if kinds <= PRIMITIVES or reader.kinds <= PRIMITIVES:
            # One object may stand for such a type in several places, each of which has its own path.
            return self.found(reader, writer, path)[:MAX_DIFFERENCES]
        pair = (id(reader), id(writer))
        if pair not in self.known:
            # While a pair of recursive types is compared, it is taken to fit.
            self.known[pair] = []
            self.known[pair] = self.found(reader, writer, path)[:MAX_DIFFERENCES]
        return self.known[pair]

    def found(self, reader: Schema, writer: Schema, path: str) -> list[Difference]:
        if writer.type == "union":
            return self.writer_union(reader, writer, path)
        if reader.type == "union":
            for branch in self.candidates(reader, writer):
                # Avro Java begins a path of its own here, which is that of the pair from then on.
                found = self.compare(branch, writer, "")
                if not found or any(each.type == "AMBIGUOUS_FIELD" for each in found):
                    return found
            message = f"reader union lacking writer type: {writer.type.upper()}"
            return [_difference("MISSING_UNION_BRANCH", path, message)]
        if reader.type != writer.type:
            if writer.type in _PROMOTIONS.get(reader.type, ()):
                return []
            message = (
                f"reader type: {reader.type.upper()} not compatible with writer type: {writer.type.upper()}"
            )
            return [_difference("TYPE_MISMATCH", path, message)]
        if reader.type in ("array", "map"):
            assert reader.item is not None
            assert writer.item is not None
            step = "items" if reader.type == "array" else "values"
            return self.compare(reader.item, writer.item, f"{path}/{step}")
        if reader.type in NAMED:
            return self.named(reader, writer, path)
        return []

    def writer_union(self, reader: Schema, writer: Schema, path: str) -> list[Difference]:
        result: list[Difference] = []
        for i, branch in enumerate(writer.branches):
            result += self.compare(reader, branch, f"{path}/{i}")
            if len(result) >= MAX_DIFFERENCES:
                break
        return result

    def candidates(self, union: Schema, writer: Schema) -> list[Schema]:
        """Return the branches of a reader's union whose type and name can be those of a writer's type."""
        if id(union) not in self.branches:
            branches: dict[tuple[str, str], list[Schema]] = defaultdict(list)
            for branch in union.branches:
                names = {branch.simple_name, *_aliases(branch)} if branch.type in NAMED else {""}
                for name in names:
                    branches[branch.type, name].append(branch)
            self.branches[id(union)] = dict(branches)
        known = self.branches[id(union)]
        if writer.type in NAMED:
            keys = dict.fromkeys([(writer.type, writer.simple_name), (writer.type, writer.name)])
        else:
            keys = dict.fromkeys((kind, "") for kind in (writer.type, *_READERS.get(writer.type, ())))
        return [branch for key in keys for branch in known.get(key, ())]

    def named(self, reader: Schema, writer: Schema, path: str) -> list[Difference]:
        result = []
        if reader.simple_name != writer.simple_name and writer.name not in _aliases(reader):
            result.append(Difference("NAME_MISMATCH", f"{path}/name", f"expected: {writer.name}"))
        if reader.type == "fixed" and reader.size != writer.size:
            message = f"expected: {writer.size}, found: {reader.size}"
            result.append(Difference("FIXED_SIZE_MISMATCH", f"{path}/size", message))
        if reader.type == "enum" and reader.default is None:
            missing = sorted(set(writer.symbols) - set(reader.symbols))
            if missing:
                message = f"[{', '.join(missing)}]"
                result.append(Difference("MISSING_ENUM_SYMBOLS", f"{path}/symbols", message))
        if reader.type == "record":
            plain = writer.plain_fields
            left = [
                (i, field)
                for i, field in enumerate(reader.fields)
                if field.aliases or not plain.get(field.name, _OTHER) <= field.type.kinds
            ]
            written = {field.name: field for field in writer.fields} if left else {}
            for i, field in left:
                result += self.field(field, writer, written, f"{path}/fields/{i}")
                if len(result) >= MAX_DIFFERENCES:
                    break
        return result

    def field(self, field: Field, writer: Schema, written: dict[str, Field], path: str) -> list[Difference]:
        # An alias that is the field's own name counts as another one, as in Avro Java.
        names = [name for name in (field.name, *field.aliases) if name in written]
        if len(names) > 1:
            message = f"{field.name} matches several fields of {writer.name}: {', '.join(names)}"
            return [Difference("AMBIGUOUS_FIELD", path, message)]
        if names:
            return self.compare(field.type, written[names[0]].type, f"{path}/type")
        if field.has_default:
            return []
        if field.type.type == "enum" and field.type.default is not None:
            # As Avro Java has it: an enum's own default does not stand in for the field's.
            return self.compare(field.type, writer, f"{path}/type")
        return [Difference("READER_FIELD_MISSING_DEFAULT_VALUE", path, field.name)]


def _aliases(schema: Schema) -> list[str]:
    """Return the aliases that count: in a namespace, Avro Java compares those without one with a dot before them."""
    return [alias for alias in schema.aliases if "." in alias or "." not in schema.name]


def _difference(kind: str, path: str, message: str) -> Difference:
    return Difference(kind, path or "/", message)

"""Which of the reader's types reads a value of the writer's: names, aliases, promotions, union branches.

The rules are those of Avro Java 1.12.1 (its ``Resolver`` and ``Schema.applyAliases``), which differ from the
letter of the specification: record names are never compared, and a writer's record takes the first branch
of a reader's union whose fields fit.
"""

from collections.abc import Mapping

from kcodec.errors import SchemaError
from kcodec.formats.avro.schema.model import NAMED, Field, Schema, same

__all__ = ["Branches", "apply_aliases", "describe", "equal_unions", "unreadable"]

#: Branches of a union that a reason names.
_NAMED_BRANCHES = 100

_PROMOTIONS = {
    "int": ("long", "float", "double"),
    "long": ("float", "double"),
    "float": ("double",),
    "string": ("bytes",),
    "bytes": ("string",),
}


def describe(schema: Schema) -> str:
    """Return the name of a type for an error's reason."""
    if schema.type == "union":
        names = [branch.name for branch in schema.branches[:_NAMED_BRANCHES]]
        more = len(schema.branches) - len(names)
        return "union of " + ", ".join(names) + (f" and {more} more" if more else "")
    return f"{schema.type} {schema.name}" if schema.type in NAMED else schema.type


def missing_field(writer: Schema, reader: Schema) -> Field | None:
    """Return the first field that the reader's record requires and the writer's lacks."""
    written = {field.name for field in writer.fields}
    for field in reader.fields:
        if field.name not in written and not field.has_default:
            return field
    return None


def unreadable(writer: Schema, reader: Schema) -> str:
    """Return why no value of a type, which is not a union, can be read as another; empty if it can.

    Only the types themselves are looked at, not what is below them: fields, items and branches of a writer's
    union fail on their own, and only where they occur.
    """
    if _is_readable(writer, reader):
        return ""
    told = f"{describe(writer)} cannot be read as {describe(reader)}"
    if writer.type != reader.type:
        return told
    if writer.type in ("enum", "fixed") and writer.simple_name != reader.simple_name:
        return f"{told}: the names differ"
    return f"{describe(writer)} has {writer.size} bytes, the reader's {reader.size}"


def _is_readable(writer: Schema, reader: Schema) -> bool:
    if reader.type == "union":
        return Branches(reader).match(writer) >= 0
    if writer.type != reader.type:
        return reader.type in _PROMOTIONS.get(writer.type, ())
    is_named_alike = writer.type not in ("enum", "fixed") or writer.simple_name == reader.simple_name
    return is_named_alike and writer.size == reader.size


class Branches:
    """The branches of a reader's union, found by what a writer has."""

    def __init__(self, union: Schema) -> None:
        self._first: dict[str, int] = {}
        self._named: dict[tuple[str, str], int] = {}
        self._records: list[tuple[int, str, _Record]] = []
        self._fitting: dict[int, int] = {}
        for i, branch in enumerate(union.branches):
            self._first.setdefault(branch.type, i)
            if branch.type in NAMED:
                self._named[branch.type, branch.name] = i
            if branch.type == "record":
                self._records.append((i, branch.simple_name, _Record(branch)))

    def match(self, writer: Schema) -> int:
        """Return the branch that reads a writer's type, or -1.

        The same type comes first: enums and fixed by full name; records by full name, else the fitting one with
        the same simple name, else the first that fits. Then the first branch that the type is promoted to.
        """
        if writer.type in NAMED:
            found = self._named.get((writer.type, writer.name), -1)
            if found < 0 and writer.type == "record":
                found = self._fitting_record(writer)
        else:
            found = self._first.get(writer.type, -1)
        if found >= 0:
            return found
        promoted = [self._first[kind] for kind in _PROMOTIONS.get(writer.type, ()) if kind in self._first]
        return min(promoted, default=-1)

    def _fitting_record(self, writer: Schema) -> int:
        if id(writer) not in self._fitting:
            found, simple_name = -1, writer.simple_name
            # Each of the writer's records may meet thousands of branches.
            written = {field.name: field.type for field in writer.fields}
            for i, name, branch in self._records:
                if (found < 0 or name == simple_name) and branch.fits(written):
                    found = i
            self._fitting[id(writer)] = found
        return self._fitting[id(writer)]


class _Record:
    """What is asked of a record of the reader's."""

    def __init__(self, record: Schema) -> None:
        self._types = {field.name: field.type for field in record.fields}
        self._needed = {field.name for field in record.fields if not field.has_default}

    def fits(self, written: Mapping[str, Schema]) -> bool:
        """Return whether a record of such fields can be read as this one, looking one level deep."""
        return self._needed <= written.keys() and not any(
            _is_error(kind, self._types[name]) for name, kind in written.items() if name in self._types
        )


def _is_error(writer: Schema, reader: Schema) -> bool:
    if writer.type == "union":
        return False
    if writer.type == "record" and reader.type == "record":
        return missing_field(writer, reader) is not None
    return not _is_readable(writer, reader)


def equal_unions(writer: Schema, reader: Schema) -> bool:
    """Return whether two unions are equal but for namespaces; their branches then match by position."""
    return _equal(writer, reader, set())


def _equal(writer: Schema, reader: Schema, seen: set[tuple[int, int]]) -> bool:
    if writer.type != reader.type:
        return False
    if writer.type in NAMED and writer.simple_name != reader.simple_name:
        return False
    if writer.type in ("array", "map"):
        assert writer.item is not None
        assert reader.item is not None
        return _equal(writer.item, reader.item, seen)
    if writer.type == "union":
        return len(writer.branches) == len(reader.branches) and all(
            _equal(a, b, seen) for a, b in zip(writer.branches, reader.branches, strict=True)
        )
    if writer.type == "record":
        if (id(writer), id(reader)) in seen:
            return True
        seen.add((id(writer), id(reader)))
        return len(writer.fields) == len(reader.fields) and all(
            a.name == b.name and _equal(a.type, b.type, seen)
            for a, b in zip(writer.fields, reader.fields, strict=True)
        )
    return writer.size == reader.size and writer.symbols == reader.symbols


def apply_aliases(writer: Schema, reader: Schema) -> Schema:
    """Return the writer's schema with its types and fields renamed by the reader's aliases.

    Names are replaced twice, as in Avro Java, so a chain of two aliases is followed; but not at all where the
    schemas are equal without it.
    """
    for _ in range(2):
        if same(writer, reader):
            return writer
        types: dict[str, str] = {}
        fields: dict[str, dict[str, str]] = {}
        _collect(reader, set(), types, fields)
        if not types and not fields:
            return writer
        writer = _rename(writer, {}, types, fields)
    return writer


def _collect(
    schema: Schema, seen: set[int], types: dict[str, str], fields: dict[str, dict[str, str]]
) -> None:
    for alias in schema.aliases:
        types[alias] = schema.name
    if schema.type == "record":
        if id(schema) in seen:
            return
        seen.add(id(schema))
        for field in schema.fields:
            for alias in field.aliases:
                fields.setdefault(schema.name, {})[alias] = field.name
            _collect(field.type, seen, types, fields)
        if schema.name in fields:
            for alias in schema.aliases:
                fields[alias] = fields[schema.name]
    elif schema.item is not None:
        _collect(schema.item, seen, types, fields)
    for branch in schema.branches:
        _collect(branch, seen, types, fields)


def _rename(
    schema: Schema,
    renamed: dict[int, Schema],
    types: Mapping[str, str],
    fields: Mapping[str, Mapping[str, str]],
) -> Schema:
    if id(schema) in renamed:
        return renamed[id(schema)]
    if schema.type not in NAMED and schema.item is None and not schema.branches:
        return schema
    result = Schema(schema.type, types.get(schema.name, schema.name))
    renamed[id(schema)] = result
    for name in ("symbols", "default", "size", "logical", "precision", "scale", "doc", "props"):
        setattr(result, name, getattr(schema, name))
    if schema.item is not None:
        result.item = _rename(schema.item, renamed, types, fields)
    names = fields.get(result.name, {})
    seen: set[str] = set()
    for field in schema.fields:
        copy = Field(names.get(field.name, field.name), _rename(field.type, renamed, types, fields))
        copy.default, copy.has_default = field.default, field.has_default
        copy.order, copy.doc, copy.props = field.order, field.doc, field.props
        if copy.name in seen:
            raise SchemaError(f"the reader's aliases give two fields of {result.name} the name {copy.name}")
        seen.add(copy.name)
        result.fields.append(copy)
    for branch in schema.branches:
        result.branches.append(_rename(branch, renamed, types, fields))
        name = result.branches[-1].name
        if name in seen:
            raise SchemaError(f"the reader's aliases give two branches of a union the name {name}")
        seen.add(name)
    return result

"""The fields of Avro records that rules are about."""

from collections.abc import Iterator
from typing import NamedTuple

import pyarrow as pa

from kcodec.columns.types.plain import is_list
from kcodec.formats.avro.schema.model import Field, Schema
from kcodec.formats.avro.schema.types import AvroOptions, member_name, widest
from kcodec.formats.tagged import ITEMS, VALUES, TaggedField, tags_of

#: Types that are read as each other, as Avro resolves schemas.
_PROMOTED = {"string": "bytes", "bytes": "string"}


class _Owner(NamedTuple):
    """The field that values belong to, of the nearest record around them."""

    name: str
    tags: frozenset[str]


def tagged_fields(
    reader: Schema, ruled: Schema, kind: pa.DataType, options: AvroOptions
) -> list[TaggedField]:
    """Return the fields of a column that is laid out as one schema, by the names and tags of another; or the same.

    >>> from kcodec.formats.avro.schema.parse import parse
    >>> from kcodec.formats.avro.schema.types import arrow_type
    >>> field = {"name": "email", "type": ["null", "string"], "confluent:tags": ["PII"]}
    >>> schema = parse({"type": "record", "name": "Order", "namespace": "shop", "fields": [field]})
    >>> [(found.steps, found.name, found.kind) for found in tagged_fields(
    ...     schema, schema, arrow_type(schema), AvroOptions())]
    [(('email',), 'shop.Order.email', 'STRING')]
    """
    return list(_Walk(options).values(reader, ruled, kind, (), None))


class _Walk:
    def __init__(self, options: AvroOptions) -> None:
        self.options = options

    def values(
        self,
        reader: Schema,
        ruled: Schema,
        kind: pa.DataType,
        steps: tuple[str | int, ...],
        owner: _Owner | None,
    ) -> Iterator[TaggedField]:
        """Go through the branches of a union, which is a struct of them unless one alone is not null."""
        branches = reader.values
        if len(branches) > 1 and not widest(reader):
            for number, branch in enumerate(branches):
                name = member_name(branch, number, self.options)
                below = _member(kind, name)
                meant = _same_branch(branch, ruled)
                if below is not None and meant is not None:
                    yield from self.value(branch, meant, below, (*steps, name), owner)
            return
        meant = _same_branch(branches[0], ruled) if branches else None
        if meant is not None:
            yield from self.value(branches[0], meant, kind, steps, owner)

    def value(
        self,
        reader: Schema,
        ruled: Schema,
        kind: pa.DataType,
        steps: tuple[str | int, ...],
        owner: _Owner | None,
    ) -> Iterator[TaggedField]:
        if reader.type == "record":
            for field in reader.fields:
                below, named = _member(kind, field.name), _same_field(field, ruled)
                if below is not None and named is not None:
                    inner = _Owner(f"{ruled.name}.{named.name}", tags_of(named.props))
                    yield from self.values(field.type, named.type, below, (*steps, field.name), inner)
        elif reader.item is not None and ruled.item is not None and is_list(kind):
            yield from self.values(reader.item, ruled.item, kind.value_type, (*steps, ITEMS), owner)
        elif reader.item is not None and ruled.item is not None and pa.types.is_map(kind):
            yield from self.values(reader.item, ruled.item, kind.item_type, (*steps, VALUES), owner)
        elif owner is not None:
            yield TaggedField(steps, owner.name, owner.tags, ruled.type.upper())


def _member(kind: pa.DataType, name: str) -> pa.DataType | None:
    """Return the type of a member of a struct; None if there is none."""
    at = kind.get_field_index(name) if pa.types.is_struct(kind) else -1
    return None if at < 0 else kind.field(at).type


def _same_field(field: Field, ruled: Schema) -> Field | None:
    by_name = {each.name: each for each in ruled.fields}
    return next((by_name[name] for name in (field.name, *field.aliases) if name in by_name), None)


def _same_branch(branch: Schema, ruled: Schema) -> Schema | None:
    """Return the branch that values come from, or the type itself where it is no union."""
    found = [each for each in ruled.values if each.type == branch.type]
    if branch.type == "record" and len(found) > 1:
        # Branches of one union differ in their full names; a reader may have another namespace.
        names = (branch.name, *branch.aliases)
        for is_same in (lambda each: each.name in names, lambda each: each.simple_name == branch.simple_name):
            named = [each for each in found if is_same(each)]
            if named:
                return named[0]
        return None
    promoted = _PROMOTED.get(branch.type)
    found = found or [each for each in ruled.values if each.type == promoted]
    return found[0] if found else None

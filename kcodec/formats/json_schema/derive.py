"""Schemas of Arrow types, as Confluent's generator makes them of classes."""

from typing import Any

import pyarrow as pa

from kcodec.columns.types.plain import is_list, stored_type
from kcodec.errors import SchemaError
from kcodec.formats.json_schema.plan import is_marked
from kcodec.java.jackson import write_tree

#: The drafts of ``json.schema.spec.version``.
DRAFTS = {
    "draft_4": "http://json-schema.org/draft-04/schema#",
    "draft_6": "http://json-schema.org/draft-06/schema#",
    "draft_7": "http://json-schema.org/draft-07/schema#",
    "draft_2019_09": "https://json-schema.org/draft/2019-09/schema",
    "draft_2020_12": "https://json-schema.org/draft/2020-12/schema",
}

_MAX_LEVELS = 90


def derive_text(
    kind: pa.DataType, *, draft: str = "draft_7", nulls: bool = True, closed: bool = True, title: str = ""
) -> str:
    """Return the text of the schema that columns of a type are written with; refuse a type that has no form in JSON.

    The draft is one of `DRAFTS`. With `nulls`, what is nullable is ``oneOf`` null and the type; else it only is not
    required. Objects that are `closed` have no other properties. The whole has the title.

    >>> print(derive_text(pa.struct([pa.field("id", pa.int64(), False)]), draft="draft_2020_12", closed=False))
    {"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"id":{"type":"integer"}},"required":["id"]}
    """
    schema = _Derivation(nulls, closed).schema(pa.field("", kind, False), 0)
    return write_tree({"$schema": DRAFTS[draft], **({"title": title} if title else {}), **schema})


class _Derivation:
    def __init__(self, nulls: bool, closed: bool) -> None:
        self.nulls = nulls
        self.closed = closed

    def schema(self, field: pa.Field, level: int) -> dict[str, Any]:
        types, kind = pa.types, field.type
        if level > _MAX_LEVELS:
            raise SchemaError(f"the type is nested deeper than {_MAX_LEVELS} levels")
        stored = stored_type(kind)
        if stored is not None:
            return self.schema(field.with_type(stored), level)
        if is_marked(field):
            return {}
        if types.is_struct(kind):
            made: dict[str, Any] = {"type": "object"}
            if self.closed:
                made["additionalProperties"] = False
            made["properties"] = {each.name: self.optional(each, level + 1) for each in kind}
            required = [each.name for each in kind if not each.nullable]
            return {**made, "required": required} if required else made
        if types.is_map(kind):
            return {
                "type": "object",
                "additionalProperties": self.optional(
                    kind.item_field.with_name(f"{field.name}[]"), level + 1
                ),
            }
        if is_list(kind) or types.is_fixed_size_list(kind):
            return {
                "type": "array",
                "items": self.optional(kind.value_field.with_name(f"{field.name}[]"), level + 1),
            }
        return self.leaf(field)

    def optional(self, field: pa.Field, level: int) -> dict[str, Any]:
        schema = self.schema(field, level)
        if not field.nullable or not self.nulls or not schema or schema == {"type": "null"}:
            return schema
        return {"oneOf": [{"type": "null", "title": "Not included"}, schema]}

    def leaf(self, field: pa.Field) -> dict[str, Any]:
        types, kind = pa.types, field.type
        for is_one, schema in (
            (types.is_null, {"type": "null"}),
            (types.is_boolean, {"type": "boolean"}),
            (types.is_integer, {"type": "integer"}),
            (types.is_duration, {"type": "integer"}),
            (types.is_floating, {"type": "number"}),
            (types.is_decimal, {"type": "number"}),
            (types.is_date, {"type": "string", "format": "date"}),
            (types.is_time, {"type": "string"}),
        ):
            if is_one(kind):
                return schema
        if types.is_timestamp(kind):
            return {"type": "string", "format": "date-time"} if kind.tz else {"type": "string"}
        if kind in (pa.string(), pa.large_string(), pa.string_view()):
            return {"type": "string"}
        if kind in (pa.binary(), pa.large_binary(), pa.binary_view()) or types.is_fixed_size_binary(kind):
            return {"type": "string", "contentEncoding": "base64"}
        place = f"{field.name}: " if field.name else ""
        raise SchemaError(f"{place}a column of {kind} is not written as JSON")

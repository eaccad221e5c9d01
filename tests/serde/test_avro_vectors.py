"""The Avro lines of what Confluent's serializers and deserializers do."""

import struct
from collections import Counter

import pyarrow as pa
from avro_values import of_vector
from cases import cases
from serde_lines import check_line, deserialized, is_named, lines_of, schema_of, serialized, unused
from side_by_side import comparable

from kcodec.formats.avro.codec import AvroCodec
from kcodec.formats.avro.schema.defaults import varint
from kcodec.formats.avro.schema.parse import parse
from kcodec.formats.avro.schema.types import AvroOptions

LINES = lines_of("avro")

#: Lines (by regular expression on their id) that are answered differently, and why.
ON_PURPOSE = {
    "avro/auto-object/(enum|fixed|record|union-record|union-empty-record|record-unordered-text|nested)": (
        "Java takes the schema from the object; without one, it is derived here from the Arrow type, which "
        "names no records, enums or fixeds and has all branches of a union"
    ),
    "avro/auto-object/bytes-decimal": (
        "Java forgets the logical type of an object that is not a record; an Arrow column of decimals keeps "
        "it (the payload is the same)"
    ),
    "avro/(registered-optional-added/(latest|id-lax)|two-versions/latest)": (
        "Java writes by position and fails at a field that was added; here it gets its default"
    ),
    "avro/registered-narrowed-int/latest-lax": (
        "Java wraps a long to 32 bits silently; here it is an error of its row"
    ),
    "avro/normalize-true/reordered/lookup": (
        "only Java's mock finds a schema whose properties are in another order; a registry compares texts, "
        "and normalization is not part of the embedded ones"
    ),
    "avro/enum-string": "Java refuses text for an enum, which is what an Arrow column of symbols is",
    "de/avro/root(-trailing-flag)?/boolean-2": "Java reads any byte but 1 as false; a boolean is 0 or 1",
}


def write(schema, value) -> bytes:
    """Write a vector's value as Avro, the obvious way."""
    if schema.type == "union":
        index, inner = value["u"]
        return varint(index) + write(schema.branches[index], inner)
    if schema.type == "record":
        return b"".join(
            write(field.type, item) for field, (_, item) in zip(schema.fields, value["r"], strict=True)
        )
    if schema.type == "array":
        items = b"".join(write(schema.item, item) for item in value)
        return (varint(len(value)) + items if value else b"") + b"\0"
    if schema.type == "map":
        items = b"".join(
            varint(len(key.encode())) + key.encode() + write(schema.item, item)
            for key, item in value["m"].items()
        )
        return (varint(len(value["m"])) + items if value["m"] else b"") + b"\0"
    if value is None:
        return b""
    if isinstance(value, bool):
        return bytes([value])
    ((form, content),) = value.items()
    if form == "i":
        return varint(int(content))
    if form in ("f32", "f64"):
        return bytes.fromhex(content)[::-1]
    if form == "e":
        return varint(schema.symbols.index(content))
    data = content.encode() if form == "s" else bytes.fromhex(content)
    return data if schema.type == "fixed" else varint(len(data)) + data


def column(line) -> pa.Array:
    """Make a column of one value."""
    value = line["value"]
    if line["api"] == "java":
        kinds = {"m": pa.map_(pa.string(), pa.field("value", pa.null())), "f32": pa.float32()}
        ((form, content),) = value.items()
        return pa.array([[] if form == "m" else struct.unpack(">f", bytes.fromhex(content))[0]], kinds[form])
    named = [each["schema"] for each in line["registered"]] if line.get("references") else []
    schema = parse(line["schema"], named)
    codec = AvroCodec(line["schema"], named_schemas=named)
    if value is None:
        return pa.nulls(1, codec.arrow_type)
    if line["id"] in ("avro/string-for-int", "avro/enum-string", "avro/enum-unknown", "avro/fixed-short"):
        ((form, content),) = value.items()
        return pa.array([bytes.fromhex(content) if form == "b" else content])
    return codec.decode([write(schema, _plain(value))])


def _plain(value):
    """Take Java's own objects as the raw values of their logical types."""
    if isinstance(value, dict) and "r" in value:
        return {"r": [[name, _plain(item)] for name, item in value["r"]]}
    if isinstance(value, dict) and "java" in value:
        return {
            "2022-01-08": {"i": "19000"},
            "123.45": {"b": "3039"},
            "2020-09-13T12:26:40.123Z": {"i": "1600000000123"},
        }.get(value["java"][1], {"s": value["java"][1]})
    return value


def answer_of(line, array, serde):
    """Return the line's value and the decoded one, in the form in which both can be compared."""
    text = serde.reader_schema
    named = [entry["schema"] for entry in line["registered"] if entry["schema"] != text]
    schema = parse(text, named if "shop.v1.Cart" in text or '"Cart"' in text else [])
    return of_vector(schema, line["value"], array.type, AvroOptions()), comparable(array)[0]


@cases("line", LINES, ids=[line["id"] for line in LINES])
def test_line(impl, line):
    if line["kind"] == "serialize":
        given = schema_of(line, line) if line["api"] == "schema" else None
        pair = serialized(line, column(line), schema=given)
    else:
        pair = deserialized(line, answer_of)
    check_line(line, pair, ON_PURPOSE)


def test_counts():
    assert Counter(line["kind"] for line in LINES) == {"serialize": 121, "deserialize": 72}
    assert sum(is_named(line, ON_PURPOSE) for line in LINES) == 16
    assert unused(LINES, ON_PURPOSE) == []

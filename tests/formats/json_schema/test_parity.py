"""Properties of JSON Schema columns on both implementations: random schemas, documents of them, and damaged ones."""

import json

import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from side_by_side import answer, on_both, same_decode, same_encode
from strategies import damaged

from kcodec import JsonSchemaCodec, SchemaError
from kcodec.formats.json_schema.plan import encode_plan
from kcodec.formats.json_schema.schema import parse
from kcodec.formats.json_schema.shape import shape_of
from kcodec.formats.json_schema.validation import Validator

KERNEL = "formats.json._kernel"
NAMES = st.sampled_from(["a", "b", "id", "é", 'q"uote', "longer than sixteen bytes"])
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
SCALARS = {
    "null": st.none(),
    "boolean": st.booleans(),
    "integer": st.integers(-(2**63), 2**63 - 1),
    "number": st.floats(allow_nan=False, allow_infinity=False),
    "string": TEXTS,
}
ANY = st.recursive(
    st.one_of(*SCALARS.values()),
    lambda below: st.lists(below, max_size=2) | st.dictionaries(TEXTS, below, max_size=2),
    max_leaves=4,
)


@st.composite
def schemas(draw, depth=2):
    """A schema, and a strategy of what it accepts."""
    form = draw(
        st.sampled_from(["scalar", "any", "union", "object", "map", "list", "tuple"][: 7 if depth else 3])
    )
    if form == "any":
        return {}, ANY
    if form == "scalar":
        kind = draw(st.sampled_from(sorted(SCALARS)))
        return {"type": kind}, SCALARS[kind]
    if form == "union":
        kinds = draw(
            st.lists(st.sampled_from(["null", "boolean", "integer", "string"]), min_size=1, unique=True)
        )
        return {"type": kinds}, st.one_of(*(SCALARS[kind] for kind in kinds))
    below, values = draw(schemas(depth=depth - 1))
    if form == "map":
        return {"type": "object", "additionalProperties": below}, st.dictionaries(TEXTS, values, max_size=3)
    if form == "list":
        return {"type": "array", "items": below}, st.lists(values, max_size=3)
    if form == "tuple":
        schema = {
            "type": "array",
            "items": [below, {"type": "boolean"}],
            "additionalItems": False,
            "minItems": 2,
        }
        return schema, st.tuples(values, st.booleans()).map(list)
    fields = draw(st.dictionaries(NAMES, schemas(depth=depth - 1), min_size=1, max_size=3))
    required = draw(st.lists(st.sampled_from(sorted(fields)), unique=True))
    schema = {
        "type": "object",
        "properties": {name: each for name, (each, _) in fields.items()},
        "required": required,
    }
    rows = st.fixed_dictionaries(
        {name: fields[name][1] for name in required},
        optional={name: each for name, (_, each) in fields.items() if name not in required},
    )
    # Keys come in any order, and others between them.
    others = st.dictionaries(st.sampled_from(["x", "y z"]), ANY, max_size=1)
    return schema, st.builds(lambda row, more: dict(reversed([*row.items(), *more.items()])), rows, others)


@st.composite
def documents(draw):
    schema, values = draw(schemas())
    rows = draw(st.lists(values, min_size=1, max_size=4))
    separators = draw(st.sampled_from([None, (",", ":")]))
    escaped = draw(st.booleans())
    return schema, [json.dumps(row, ensure_ascii=escaped, separators=separators).encode() for row in rows]


def known(schema, value):
    """What columns keep of a value: no properties that are not there or unknown, and numbers as doubles."""
    if isinstance(value, dict) and "properties" in schema:
        properties = schema["properties"]
        return {name: known(properties[name], each) for name, each in value.items() if name in properties}
    if isinstance(value, dict) and "additionalProperties" in schema:
        return {name: known(schema["additionalProperties"], each) for name, each in value.items()}
    if isinstance(value, list) and isinstance(schema.get("items"), list):
        return [known(below, each) for below, each in zip(schema["items"], value, strict=True)]
    if isinstance(value, list) and "items" in schema:
        return [known(schema["items"], each) for each in value]
    return value


def without_nulls(schema, value):
    """A value without the properties that may be null: whether they are there, and null, is the same to a column."""
    if isinstance(value, dict) and "properties" in schema:
        return {
            name: without_nulls(schema["properties"][name], each)
            for name, each in value.items()
            if each is not None
        }
    if isinstance(value, dict) and "additionalProperties" in schema:
        return {name: without_nulls(schema["additionalProperties"], each) for name, each in value.items()}
    if isinstance(value, list) and isinstance(schema.get("items"), list):
        return [without_nulls(below, each) for below, each in zip(schema["items"], value, strict=True)]
    if isinstance(value, list) and "items" in schema:
        return [without_nulls(schema["items"], each) for each in value]
    return value


@given(documents(), st.sampled_from(["skip", "keep"]))
def test_what_is_read_is_written_again(pair, unknown):
    schema, rows = pair
    # A property of this name is refused, and a struct cannot be without fields.
    codec = JsonSchemaCodec(schema, unknown=unknown)

    def there_and_back():
        array = codec.decode(rows)
        array.validate(full=True)
        return codec.encode(array).to_pylist()

    for row, written in zip(rows, on_both(there_and_back), strict=True):
        if written is None:
            assert json.loads(row) is None
            continue
        wanted, found = json.loads(row), json.loads(written)
        if unknown == "skip":
            wanted = known(schema, wanted)
            assert without_nulls(schema, found) == without_nulls(schema, wanted)
        # Whatever is written is valid again, if its nulls may stand there.
        assert Validator(parse(codec.schema).documents).violation(written) is None


@given(documents(), st.sampled_from(["skip", "keep"]), st.data())
def test_damaged_documents(pair, unknown, data):
    schema, rows = pair
    codec = JsonSchemaCodec(schema, unknown=unknown)
    rows = [data.draw(damaged(row)) for row in rows]
    same_decode(KERNEL, [codec.decode_plan], rows, trailing=True)
    on_both(lambda: answer(*codec.decode(rows, errors="report")))


@given(documents(), st.sampled_from(["skip", "keep"]))
def test_both_kernels_write_alike(pair, unknown):
    schema, rows = pair
    codec = JsonSchemaCodec(schema, unknown=unknown)
    array = codec.decode(rows)
    assume(array.null_count < len(array))
    shape = shape_of(parse(codec.schema).documents)
    plan = encode_plan(array.type, shape)
    # Texts that are not JSON, too.
    # Arrow breaks lists of nulls in maps when it casts them, even to their own type.
    same_encode(KERNEL, plan, array if array.type == plan.arrow_type else array.cast(plan.arrow_type))


KEYWORDS = st.sampled_from(
    [
        "type", "properties", "items", "prefixItems", "additionalItems", "additionalProperties", "patternProperties",
        "required", "enum", "const", "oneOf", "anyOf", "allOf", "not", "if", "then", "else", "$ref", "$defs",
        "definitions", "dependencies", "format", "contentEncoding", "default", "minItems", "maxItems", "title",
        "connect.type", "connect.parameters", "connect.index", "$id", "a", "key", "value",
    ]
)  # fmt: skip
WORDS = st.sampled_from(
    [
        "integer", "number", "string", "object", "array", "null", "boolean", "#", "#/definitions/a", "#/properties/a",
        "date", "date-time", "map", "bytes", "int8", "base64", "org.apache.kafka.connect.data.Decimal", "a", "",
        "org.apache.kafka.connect.data.Timestamp",
    ]
)  # fmt: skip
SOUP = st.recursive(
    WORDS | st.integers(-1, 3) | st.booleans() | st.none(),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(KEYWORDS, below, max_size=4),
    max_leaves=25,
)


@given(SOUP.filter(lambda schema: isinstance(schema, dict)), st.lists(ANY, max_size=3), st.data())
def test_any_schema(schema, values, data):
    rows = [json.dumps(value).encode() for value in values]
    try:
        codec = JsonSchemaCodec(schema, unknown=data.draw(st.sampled_from(["skip", "keep"])))
    except SchemaError:
        return
    array, _ = codec.decode(rows, errors="report")
    array.validate(full=True)
    on_both(lambda: answer(*codec.decode(rows, errors="report")))
    on_both(lambda: codec.encode(array, errors="null").to_pylist())


@pytest.mark.parametrize("size", [1, 70])
def test_unions_in_blocks(size):
    codec = JsonSchemaCodec(
        {"properties": {"u": {"type": ["integer", "string", "null"]}, "s": {"type": "string"}}}
    )
    rows = [b'{"u":1,"s":"a"}', b'{"u":"x","s":"b"}', b'{"u":null}', b'{"s":"c"}', b'{"u":{},"s":"d"}'] * size
    same_decode(KERNEL, [codec.decode_plan], rows)
    same_decode(KERNEL, [codec.decode_plan], rows, kind=pa.string())

"""Hypothesis strategies: Avro schemas, readers' schemas made from them, and payloads."""

import struct

from hypothesis import strategies as st

from kcodec.formats.avro.schema.defaults import varint

LOGICAL = [
    {"type": "int", "logicalType": "date"},
    {"type": "int", "logicalType": "time-millis"},
    {"type": "long", "logicalType": "time-micros"},
    {"type": "long", "logicalType": "timestamp-millis"},
    {"type": "long", "logicalType": "timestamp-micros"},
    {"type": "long", "logicalType": "timestamp-nanos"},
    {"type": "long", "logicalType": "local-timestamp-millis"},
    {"type": "string", "logicalType": "uuid"},
    {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2},
    {"type": "bytes", "logicalType": "decimal", "precision": 38, "scale": 10},
    {"type": "bytes", "logicalType": "decimal", "precision": 60, "scale": 0},
]
PRIMITIVES = ["null", "boolean", "int", "long", "float", "double", "bytes", "string"]

#: A value of the first type can be read as the second.
PROMOTED = {"int": ["long", "float", "double"], "long": ["float", "double"], "float": ["double"]}
PROMOTED |= {"string": ["bytes"], "bytes": ["string"]}

DEFAULTS = {
    "int": 7,
    "long": -1,
    "string": "é",
    "boolean": True,
    "double": 1.5,
    "null": None,
    "bytes": "\u00ff",
}


@st.composite
def avro_schemas(draw, plain=False):
    """Draw a schema as JSON; a plain one has no logical types and no unions but of a type with null."""
    names = iter(range(1000))

    def leaf():
        kind = draw(st.sampled_from(["primitive", "fixed", "enum"] + ["logical"] * (not plain)))
        if kind == "primitive":
            return draw(st.sampled_from(PRIMITIVES))
        if kind == "logical":
            return draw(st.sampled_from(LOGICAL))
        if kind == "enum":
            symbols = ["A", "B", "ß", "long_symbol"][: draw(st.integers(1, 4))]
            return {"type": "enum", "name": f"E{next(names)}", "symbols": symbols}
        size = draw(st.sampled_from([1, 5, 16] if plain else [0, 1, 5, 16]))
        fixed = {"type": "fixed", "name": f"F{next(names)}", "size": size}
        if size > 4 and not plain and draw(st.booleans()):
            fixed |= {"logicalType": "decimal", "precision": 11, "scale": 3}
        return fixed

    def schema(depth):
        kind = draw(
            st.sampled_from(["leaf"] * 3 + ["record", "array", "map", "nullable", "union"] * (depth > 0))
        )
        if kind == "record":
            return record(depth)
        if kind == "array":
            return {"type": "array", "items": schema(depth - 1)}
        if kind == "map":
            return {"type": "map", "values": schema(depth - 1)}
        if kind == "nullable" or (kind == "union" and plain):
            value = schema(depth - 1)
            if isinstance(value, list) or value == "null":
                return value
            return ["null", value] if draw(st.booleans()) else [value, "null"]
        if kind == "union":
            branches = draw(st.lists(st.sampled_from(PRIMITIVES), unique=True, max_size=4))
            if draw(st.booleans()):
                branches.append(record(depth - 1))
            if draw(st.booleans()):
                branches.append({"type": "array", "items": schema(depth - 1)})
            return branches
        return leaf()

    def record(depth):
        fields = [
            {"name": f"f{i}", "type": schema(depth - 1)} for i in range(draw(st.integers(int(plain), 4)))
        ]
        return {"type": "record", "name": f"R{next(names)}", "fields": fields}

    return record(3) if draw(st.booleans()) else schema(3)


@st.composite
def avro_readers(draw, schema):
    """Draw a reader's schema from a writer's: promoted, dropped, added, nullable, reordered, misfitting."""
    change = draw(st.sampled_from(["deeper", "deeper", "deeper", "same", "nullable", "promote", "other"]))
    if change == "same":
        return schema
    if change == "other":
        return draw(st.sampled_from(PRIMITIVES))
    if change == "nullable" and isinstance(schema, (str, dict)) and schema != "null":
        return ["null", schema]
    if isinstance(schema, str):
        return draw(st.sampled_from(PROMOTED.get(schema, [schema])))
    if isinstance(schema, list):
        branches = [draw(avro_readers(branch)) for branch in schema]
        kept, seen = [], set()
        for branch in branches:
            key = branch if isinstance(branch, str) else None
            if isinstance(branch, dict):
                key = branch.get("name", branch["type"])
            if key is not None and key not in seen:
                seen.add(key)
                kept.append(branch)
        return kept or schema
    if schema["type"] == "record":
        fields = [
            {**field, "type": draw(avro_readers(field["type"]))}
            for field in draw(st.permutations(schema["fields"]))
            if draw(st.integers(0, 4))
        ]
        for i in range(draw(st.integers(0, 2))):
            kind = draw(st.sampled_from(sorted(DEFAULTS)))
            added = {"name": f"added{i}", "type": kind, "default": DEFAULTS[kind]}
            if not draw(st.integers(0, 9)):
                del added["default"]
            fields.insert(draw(st.integers(0, len(fields))), added)
        return {**schema, "fields": fields}
    if schema["type"] in ("array", "map"):
        key = "items" if schema["type"] == "array" else "values"
        return {**schema, key: draw(avro_readers(schema[key]))}
    if schema["type"] == "enum":
        reader = {**schema, "symbols": draw(st.permutations([*schema["symbols"], "new"]))[:3]}
        return {**reader, "default": reader["symbols"][0]} if draw(st.booleans()) else reader
    return schema


INTEGERS = st.one_of(st.integers(-70, 70), st.integers(-(1 << 31), (1 << 31) - 1))
LONGS = st.one_of(INTEGERS, st.integers(-(1 << 63), (1 << 63) - 1))
TEXTS = st.one_of(st.text(max_size=6), st.text("aé", min_size=30, max_size=70))
KEYS = st.one_of(st.sampled_from(["a", "b", ""]), st.text(max_size=3))


@st.composite
def avro_payloads(draw, schema, canonical=True):
    """Draw the bytes of a value of a parsed schema; not canonical: with blocks cut and sized at random."""

    def items(one):
        blocks = []
        for size in draw(st.lists(st.integers(1, 4), max_size=1 if canonical else 3)):
            data = b"".join(one() for _ in range(size))
            if not canonical and draw(st.booleans()):
                blocks.append(varint(-size) + varint(len(data)) + data)
            else:
                blocks.append(varint(size) + data)
        return b"".join(blocks) + b"\0"

    def value(schema):
        kind = schema.type
        if kind == "null":
            return b""
        if kind == "boolean":
            return draw(st.sampled_from([b"\0", b"\1"]))
        if kind in ("int", "long"):
            if schema.logical.startswith("time-"):
                return varint(draw(st.integers(0, 86_399_999)))
            if schema.logical.endswith("-millis"):
                return varint(draw(st.integers(-(1 << 50), 1 << 50)))
            return varint(draw(INTEGERS if kind == "int" else LONGS))
        if kind == "float":
            return struct.pack("<f", draw(st.floats(width=32)))
        if kind == "double":
            return struct.pack("<d", draw(st.floats()))
        if kind == "enum":
            return varint(draw(st.integers(0, len(schema.symbols) - 1)))
        if schema.logical == "decimal":
            bound = 10**schema.precision - 1
            number = draw(st.one_of(st.integers(-1000, 1000), st.integers(-bound, bound)))
            if kind == "fixed":
                return number.to_bytes(schema.size, "big", signed=True)
            size = (number if number >= 0 else ~number).bit_length() // 8 + 1
            return varint(size) + number.to_bytes(size, "big", signed=True)
        if kind == "fixed":
            return draw(st.binary(min_size=schema.size, max_size=schema.size))
        if kind in ("bytes", "string"):
            data = draw(st.binary(max_size=6)) if kind == "bytes" else draw(TEXTS).encode()
            return varint(len(data)) + data
        if kind == "record":
            return b"".join([value(field.type) for field in schema.fields])
        if kind == "array":
            return items(lambda: value(schema.item))
        if kind == "map":
            return entries(schema.item)
        if not schema.branches:
            return b""
        index = draw(st.integers(0, len(schema.branches) - 1))
        return varint(index) + value(schema.branches[index])

    def entries(item):
        if not canonical:
            return items(lambda: key(draw(KEYS)) + value(item))
        names = draw(st.lists(KEYS, unique=True, max_size=3))
        data = b"".join([key(name) + value(item) for name in names])
        return (varint(len(names)) + data if names else b"") + b"\0"

    def key(text):
        return varint(len(text.encode())) + text.encode()

    return value(schema)


@st.composite
def damaged(draw, payload):
    """Draw what may become of a payload: nothing, a cut, other bytes in it, bytes behind it."""
    how = draw(st.sampled_from(["good", "good", "cut", "byte", "insert", "behind", "random"]))
    place = draw(st.integers(0, max(len(payload) - 1, 0)))
    byte = draw(st.one_of(st.sampled_from(b"\0\1\2\x7f\x80\xff"), st.integers(0, 255))).to_bytes(1, "big")
    if how == "cut":
        return payload[:place]
    if how == "byte" and payload:
        return payload[:place] + byte + payload[place + 1 :]
    if how == "insert":
        return payload[:place] + byte * draw(st.sampled_from([1, 9, 10])) + payload[place:]
    if how == "behind":
        return payload + byte
    if how == "random":
        return draw(st.binary(max_size=20))
    return payload

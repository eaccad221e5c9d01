"""Hypothesis strategies: Arrow types, plans with odd forms, documents of them, and what becomes of documents."""

import dataclasses
import json

import pyarrow as pa
from hypothesis import strategies as st

from kcodec.formats.json.node import Form, JsonNode, Op
from kcodec.formats.json.plan import RAW, JsonOptions

LEAVES = [
    pa.null(),
    pa.bool_(),
    pa.int8(),
    pa.int16(),
    pa.int32(),
    pa.int64(),
    pa.uint8(),
    pa.uint16(),
    pa.uint32(),
    pa.uint64(),
    pa.float32(),
    pa.float64(),
    pa.string(),
    pa.binary(),
    pa.binary(5),
    pa.decimal128(9, 2),
    pa.decimal128(38, 10),
    pa.decimal128(20, -2),
    pa.decimal256(60, 5),
    pa.date32(),
    pa.date64(),
    pa.time32("s"),
    pa.time32("ms"),
    pa.time64("us"),
    pa.time64("ns"),
    pa.timestamp("s"),
    pa.timestamp("ms", "UTC"),
    pa.timestamp("us", "UTC"),
    pa.timestamp("ns"),
    pa.duration("ms"),
]
KEYS = [pa.string(), pa.int32(), pa.binary(), pa.bool_(), pa.decimal128(9, 2), pa.date32(), pa.float64()]
NAMES = [
    "a",
    "b",
    "A",
    "id",
    "ID",
    "name_of_sixteen_",
    "é",
    'q"\n',
    "",
    "straße",
    "a_name_that_is_rather_long",
    "😀",
]


LARGE = {pa.string(): pa.large_string(), pa.binary(): pa.large_binary()}


@st.composite
def kinds(draw):
    """Draw an Arrow type, with 32-bit or 64-bit offsets."""
    large = draw(st.booleans())

    def kind(depth):
        form = draw(st.sampled_from(["leaf"] * 2 + ["struct", "list", "map"] * (depth > 0)))
        if form == "struct":
            return struct(depth)
        if form == "list":
            return (pa.large_list if large else pa.list_)(field("item", depth - 1))
        if form == "map":
            return pa.map_(leaf(KEYS), field("value", depth - 1))
        return leaf(LEAVES)

    def leaf(leaves):
        chosen = draw(st.sampled_from(leaves))
        return LARGE.get(chosen, chosen) if large else chosen

    def field(name, depth):
        if not draw(st.integers(0, 12)):
            return pa.field(name, pa.large_string() if large else pa.string(), metadata=RAW)
        chosen = kind(depth)
        return pa.field(name, chosen, pa.types.is_null(chosen) or draw(st.integers(0, 5)) > 0)

    def struct(depth):
        names = draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=5))
        return pa.struct([field(name, depth - 1) for name in names])

    return struct(3) if draw(st.integers(0, 4)) else kind(3)


NUMBERS = st.one_of(
    st.integers(-130, 300).map(str),
    st.integers(-(1 << 65), 1 << 65).map(str),
    st.sampled_from(
        ["0", "-0", "1.0", "-0.0", "1e2", "1E-2", "12.50", "-12.345", "1e400", "1e-400", "0.1", "1.5e+3"]
    ),
    st.sampled_from(["-9223372036854775808", "9223372036854775807", "18446744073709551615", "-128", "127"]),
    st.decimals(allow_nan=False, allow_infinity=False, places=2, min_value=-(10**9), max_value=10**9).map(
        str
    ),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.floats(allow_nan=False, allow_infinity=False, width=32).map(repr),
    st.integers(-(10**40), 10**40).map(lambda value: f"{value}e-5"),
    st.sampled_from(
        ["123456789012345678", "1234567890123456789.5", "0.12345678", "12345678.1234567", "1" * 60]
    ),
)
TEXTS = st.one_of(
    st.text(max_size=6),
    st.text('aé"\\/\n\t\x00\x1f😀', min_size=10, max_size=40),
    st.sampled_from(["2024-02-29", "2023-02-29", "12:34:56", "12:34:56.789", "2024-02-29T12:34:56.789Z"]),
    st.sampled_from(["2024-02-29t12:34:56+01:30", "0001-01-01 00:00:00", "9999-12-31T23:59:59.999999999"]),
    st.sampled_from(
        ["1677-09-21T00:12:43.145224192", "2262-04-11T23:47:16.854775808", "12:34:60", "true", "NaN"]
    ),
    st.sampled_from(
        ["", "YQ==", "YWJj", "YWJjZGU=", "YW-j", "YQ=", "AY/J", "/////w==", "Infinity", "-Infinity"]
    ),
    NUMBERS,
)


@st.composite
def written(draw, text):
    """Draw how a string is written: plainly, or with any characters as escapes."""
    how = draw(st.sampled_from(["plain", "ascii", "all"]))
    if how == "plain":
        return json.dumps(text, ensure_ascii=False)
    if how == "ascii":
        return json.dumps(text)
    units = text.encode("utf-16-be", "surrogatepass").hex()
    return '"' + "".join(f"\\u{units[i : i + 4]}" for i in range(0, len(units), 4)) + '"'


SPACE = st.sampled_from(["", "", "", " ", "\n\t ", "\r\n"])
ANY = st.recursive(
    st.one_of(st.sampled_from(["null", "true", "false"]), NUMBERS, TEXTS.flatmap(written)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda items: "[" + ",".join(items) + "]"),
        st.lists(st.tuples(TEXTS.flatmap(written), inner), max_size=3).map(
            lambda items: "{" + ", ".join(f"{key}:{value}" for key, value in items) + "}"
        ),
    ),
    max_leaves=6,
)


@st.composite
def documents(draw, node):
    """Draw a document for a node of a plan: mostly of its type, sometimes of another."""

    def value(node):
        chance = draw(st.integers(0, 40))
        if chance == 0:
            return draw(ANY)
        if chance < 6 and node.forms & Form.NULL:
            return "null"
        space = draw(SPACE)
        op = node.op
        if op is Op.JSON_OBJECT:
            children = list(node.children)
            if draw(st.booleans()):
                children = draw(st.permutations(children))
            pairs = [(key(child.name, node), value(child)) for child in children if draw(st.integers(0, 9))]
            for _ in range(draw(st.sampled_from([0, 0, 0, 1]))):
                pairs.insert(draw(st.integers(0, len(pairs))), (draw(TEXTS.flatmap(written)), draw(ANY)))
            if pairs and not draw(st.integers(0, 7)):
                pairs.append((pairs[0][0], value(children[0]) if children else draw(ANY)))
            return "{" + space + ",".join(f"{name}{space}:{item}{space}" for name, item in pairs) + "}"
        if op is Op.JSON_TUPLE:
            return "[" + ",".join(space + value(child) for child in node.children) + "]"
        if op is Op.JSON_LIST:
            count = draw(st.integers(0, 3))
            return "[" + ",".join(value(node.children[0]) + space for _ in range(count)) + "]"
        if op is Op.JSON_MAP:
            count = draw(st.integers(0, 3))
            return (
                "{"
                + ",".join(f"{name(node.children[0])}:{value(node.children[1])}" for _ in range(count))
                + "}"
            )
        return space + leaf(node)

    def key(text, node):
        if node.forms & Form.FOLD and draw(st.booleans()):
            text = draw(st.sampled_from([text.lower(), text.upper(), text.swapcase()]))
        return draw(written(text))

    def name(node):
        text = value(node).strip()
        return text if text.startswith('"') else f'"{text}"'

    def leaf(node):
        op = node.op
        if op is Op.JSON_NULL:
            return "null"
        if op is Op.JSON_BOOLEAN:
            return draw(st.sampled_from(["true", "false"]))
        if op in (Op.JSON_INTEGER, Op.JSON_FLOAT, Op.JSON_DECIMAL):
            text = draw(NUMBERS)
            return f'"{text}"' if node.forms & Form.TEXT and draw(st.booleans()) else text
        if op is Op.JSON_TEXT:
            return draw(ANY)
        return draw(TEXTS.flatmap(written))

    return value(node).encode()


@st.composite
def odd_plans(draw, plan):
    """Draw a plan with other forms in its nodes."""

    def odd(node):
        forms = node.forms
        for form in (
            Form.TEXT,
            Form.SCALAR,
            Form.NONFINITE,
            Form.FOLD,
            Form.UNIQUE,
            Form.CANONICAL,
            Form.BASE64,
        ):
            if not draw(st.integers(0, 3)):
                forms |= form
        bounds = draw(st.sampled_from([None, None, (-5, 100)])) if node.op is Op.JSON_INTEGER else None
        data = b""
        if node.op is Op.JSON_INTEGER and not draw(st.integers(0, 3)):
            data = b" 7"
        elif node.op is Op.JSON_STRING and not draw(st.integers(0, 3)):
            data = '"dé\\u0066ault"'.encode()
        elif node.op is Op.JSON_LIST and not draw(st.integers(0, 3)):
            data = b"[ ]"
        elif node.op is Op.JSON_OBJECT and node.column > 0 and not draw(st.integers(0, 3)):
            data = b"{}"
        if data and node.column > 0:
            forms |= Form.ABSENT | (Form.DEFAULT if draw(st.booleans()) else Form.PLAIN)
        scale = draw(st.integers(-2, 6)) if node.op is Op.JSON_DECIMAL else 0
        children = node.children
        if forms & Form.FOLD and node.op is Op.JSON_OBJECT:
            names = {child.name for child in children}
            if any(name.upper() != name and name.upper() in names for name in names):
                forms &= ~Form.FOLD
        return dataclasses.replace(
            node,
            forms=forms,
            bounds=bounds,
            data=data if node.column > 0 else b"",
            scale=scale,
            children=tuple(odd(child) for child in children),
        )

    return dataclasses.replace(plan, root=odd(plan.root))


@st.composite
def entry_plans(draw, plan):
    """Draw a plan whose maps are lists of pairs, of tuples or of objects."""

    def turned(node):
        children = tuple(turned(child) for child in node.children)
        if node.op is Op.JSON_MAP and draw(st.booleans()):
            key, value = children
            entry = JsonNode(
                draw(st.sampled_from([Op.JSON_TUPLE, Op.JSON_OBJECT])),
                children=(dataclasses.replace(key, name="key"), dataclasses.replace(value, name="value")),
            )
            return dataclasses.replace(node, op=Op.JSON_LIST, children=(entry,))
        return dataclasses.replace(node, children=children)

    return dataclasses.replace(plan, root=turned(plan.root))


@st.composite
def damaged(draw, document):
    """Draw what may become of a document: nothing, a cut, other bytes in it, bytes around it."""
    how = draw(st.sampled_from(["good"] * 4 + ["cut", "byte", "insert", "drop", "behind", "before"]))
    place = draw(st.integers(0, max(len(document) - 1, 0)))
    byte = draw(st.one_of(st.sampled_from(b'{}[],:"\\0-1.eEtfnu \x00\x1f\x80\xff'), st.integers(0, 255)))
    one = bytes([byte])
    if how == "cut":
        return document[:place]
    if how == "byte" and document:
        return document[:place] + one + document[place + 1 :]
    if how == "insert":
        return document[:place] + one + document[place:]
    if how == "drop":
        return document[:place] + document[place + 1 :]
    if how == "behind":
        return document + one
    if how == "before":
        return draw(st.sampled_from([b"\xef\xbb\xbf", b" \n", one])) + document
    return document


#: How columns are read and written.
OPTIONS = st.builds(
    JsonOptions,
    times=st.sampled_from(["iso", "number"]),
    decimals=st.sampled_from(["number", "text"]),
    nulls=st.sampled_from(["write", "omit"]),
    duplicate_keys=st.sampled_from(["last", "error"]),
    text_numbers=st.booleans(),
    nonfinite=st.booleans(),
)

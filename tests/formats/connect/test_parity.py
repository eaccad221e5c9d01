"""Connect's JSON as columns on any rows: both implementations, both modes, and the converter alike."""

import json

import pyarrow as pa
from connect_rows import DECIMAL, rows, struct
from hypothesis import example, given, settings
from hypothesis import strategies as st
from side_by_side import answer, on_both
from tries import tries

from kcodec import ConnectJsonCodec
from kcodec.formats.connect.arrow import column_value, unscaled
from kcodec.formats.connect.converter import JsonConverter
from kcodec.plan.failure import RowError

TYPES = st.recursive(
    st.sampled_from(["boolean", "int8", "int16", "int32", "int64", "float", "double", "string", "bytes"]).map(
        lambda name: {"type": name}
    )
    | st.sampled_from(["Date", "Time", "Timestamp"]).map(
        lambda name: {
            "type": "int64" if name == "Timestamp" else "int32",
            "name": f"org.apache.kafka.connect.data.{name}",
        }
    )
    | st.just(DECIMAL),
    lambda inner: st.one_of(
        inner.map(lambda item: {"type": "array", "items": item}),
        st.tuples(st.sampled_from(["string", "int32"]), inner).map(
            lambda pair: {"type": "map", "keys": {"type": pair[0]}, "values": pair[1]}
        ),
        st.dictionaries(st.sampled_from("abcé"), inner, max_size=3).map(lambda fields: struct(**fields)),
    ),
    max_leaves=5,
).flatmap(lambda schema: st.booleans().map(lambda optional: {**schema, "optional": optional}))

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.integers(-200, 200)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(["", "AJw=", "AQ==", "text", "é😀", "!!"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from("abcé"), inner, max_size=3)
        | st.lists(st.tuples(st.integers(0, 3), inner).map(list), max_size=3)
    ),
    max_leaves=6,
)


def fitting(schema):
    """Values of a schema, mostly."""
    plain = {
        "boolean": st.booleans(),
        "int8": st.integers(-128, 127),
        "int16": st.integers(-(2**15), 2**15 - 1),
        "int32": st.integers(0, 2**26),
        "int64": st.integers(-(2**50), 2**50),
        "float": st.floats(width=32, allow_nan=False, allow_infinity=False),
        "double": st.floats(allow_nan=False, allow_infinity=False),
        "string": st.text(max_size=5),
        "bytes": st.sampled_from(["", "AQ==", "AJw="]),
    }
    if schema.get("name") == DECIMAL["name"]:
        values = st.sampled_from(["AJw=", "/w=="]) | st.integers(-1000, 1000).map(lambda n: n / 4)
    elif schema["type"] == "array":
        values = st.lists(fitting(schema["items"]), max_size=3)
    elif schema["type"] == "map" and schema["keys"]["type"] == "string":
        values = st.dictionaries(st.text(max_size=2), fitting(schema["values"]), max_size=3)
    elif schema["type"] == "map":
        values = st.lists(st.tuples(st.integers(0, 3), fitting(schema["values"])).map(list), max_size=3)
    elif schema["type"] == "struct":
        values = st.fixed_dictionaries({field["field"]: fitting(field) for field in schema["fields"]})
    else:
        values = plain[schema["type"]]
    return values | st.none() if schema.get("optional") else values


@st.composite
def columns(draw):
    """A few schemas, and rows of them: fitting, of other values, and damaged."""
    schemas = draw(st.lists(TYPES, min_size=1, max_size=3))
    found = []
    for _ in range(draw(st.integers(1, 6))):
        schema = draw(st.sampled_from(schemas))
        payload = draw(st.one_of(fitting(schema), fitting(schema), VALUES))
        names = {"schema": schema, "payload": payload}
        if draw(st.booleans()):
            names = {"payload": payload, "schema": schema}
        data = json.dumps(names, ensure_ascii=draw(st.booleans())).encode()
        if draw(st.integers(0, 4)) == 0:
            at = draw(st.integers(0, len(data)))
            data = (
                data[:at]
                + draw(st.sampled_from([b"", b"}", b"\xff", b"0", b'"', b",", b"\\"]))
                + data[at + 1 :]
            )
        found.append(data)
    return found


@settings(max_examples=tries(150))
@given(columns(), st.sampled_from([None, "connect"]))
def test_the_implementations_agree(values, compat):
    codec = ConnectJsonCodec(compat=compat)
    on_both(lambda: answer(*codec.decode(values, errors="report")))
    array = codec.decode(values, errors="null")
    if pa.types.is_null(array.type):
        return
    schema = codec._first([pa.array(values, pa.binary())]).schema
    for options in ({}, {"decimal_format": "NUMERIC"}):
        writer = ConnectJsonCodec(schema, compat=compat, **options)
        on_both(lambda: answer(*writer.encode(array, errors="report")))  # noqa: B023


@given(columns())
def test_what_strict_reads_connect_reads_the_same(values):
    # Of an envelope that only Connect takes the schema may be the first; here it is that of both.
    schema = ConnectJsonCodec(compat="connect")._first([pa.array(values, pa.binary())]).schema
    strict, report = ConnectJsonCodec(schema).decode(values, errors="report")
    lenient, _ = ConnectJsonCodec(schema, compat="connect").decode(values, errors="report")
    assert strict.type == lenient.type
    bad = set(report["row"].to_pylist())
    for row, (one, other) in enumerate(zip(strict, lenient, strict=True)):
        # Of numbers, -0.0 is 0.0 for Connect.
        assert (
            row in bad or one == other or str(one).replace("-0.0", "0.0") == str(other).replace("-0.0", "0.0")
        )


@settings(max_examples=tries(300))
@given(columns())
@example(rows((struct(), {}), (struct(a=DECIMAL), {})))
def test_columns_are_what_the_converter_gives_for_each_row(values):
    codec = ConnectJsonCodec(compat="connect")
    array, report = codec.decode(values, errors="report")
    reasons = dict(zip(report["row"].to_pylist(), report["reason"].to_pylist(), strict=True))
    if pa.types.is_null(array.type):
        return
    reader = codec._first([pa.array(values, pa.binary())]).schema
    for row, data in enumerate(values):
        expected, reason = None, None
        try:
            writer, value = JsonConverter().to_connect_data(data)
            expected = column_value(value, writer or reader, reader, pa.field("", array.type))
        except RowError as error:
            reason = error.reason
        assert reasons.get(row) == reason
        # -0.0 and 0.0 are not the same, and Python has no words for all dates.
        made = pa.array([expected], unscaled(array.type)).view(array.type)
        assert str(array[row : row + 1]) == str(made)

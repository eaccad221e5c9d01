"""Connect's schemas: what they refuse, how they compare, defaults, hostile ones."""

import dataclasses
import json
from decimal import Decimal

import pyarrow as pa
import pytest
from connect_rows import DECIMAL, codes, rows, struct

from kcodec import ConnectJsonCodec, ConnectSchema, SchemaError


def test_schemas_that_are_wrong():
    for text, message in (
        ("{", "not JSON"),
        ("[1]", "Schema must contain 'type' field"),
        (
            '{"schema": {"type": "int8"}, "payload": 1}',
            "Schema must contain 'type' field: of an envelope, it is what 'schema' has",
        ),
        (
            '{"type":"struct","fields":[{"field":"a","type":"int8"},{"field":"a","type":"int8"}]}',
            "duplication",
        ),
        ('{"type":"int8","parameters":{"a":1}}', "must have string values"),
        ('{"type":"array","items":' * 150 + "1" + "}" * 150, "100 levels"),
        ('{"type":"int32","default":null}', "Invalid null value for required INT32 field"),
    ):
        with pytest.raises(SchemaError, match=message):
            ConnectSchema.from_json(text)
    with pytest.raises(SchemaError, match="needs a parameter scale"):
        ConnectSchema("bytes", name=DECIMAL["name"]).to_arrow()
    with pytest.raises(SchemaError, match="at most 76"):
        ConnectSchema.decimal(2, precision=80).to_arrow()
    with pytest.raises(SchemaError, match="not a schema"):
        ConnectSchema.from_json('{"type":"\ud83d"}')
    for value in (Decimal("NaN"), float("inf"), b"1", {1: 2}):
        with pytest.raises(SchemaError, match="is not JSON"):
            ConnectSchema.from_json({"type": "double", "default": value})
    number = ConnectSchema("int8")
    for parts, message in (
        ({"fields": {"a": 5}}, "the field 'a' is 5"),
        ({"fields": {5: number}}, "the field 5 is"),
        ({"fields": {"\ud83d": number}}, "half of a surrogate pair"),
        ({"fields": None}, "fields None is not of the type Mapping"),
        ({"key_schema": 5}, "key_schema 5 is not"),
        ({"name": 5}, "name 5 is not of the type str"),
        ({"parameters": {"scale": 2}}, "must have string values"),
    ):
        with pytest.raises(SchemaError, match=message):
            ConnectSchema("struct", **parts)


def test_schemas_are_equal_as_in_java():
    one, other = (ConnectSchema.decimal(2, default=Decimal(text)) for text in ("1.5", "1.50"))
    number = ConnectSchema("int8")
    orders = [ConnectSchema("struct", fields=dict.fromkeys(names, number)) for names in ("ab", "ba")]
    for first, second in ((one, other), orders):
        assert first != second
        assert len({first, second, dataclasses.replace(first)}) == 2
    assert number != "int8"


def test_numbers_in_a_dict_are_as_exact_as_in_text():
    exact = {**DECIMAL, "parameters": {"scale": "20"}, "default": Decimal("0.12345678901234567890")}
    assert '"default":0.12345678901234567890' in ConnectSchema.from_json(exact).to_text("NUMERIC")
    for kind, value, text in (("double", -0.0, "0.0"), ("int8", 10**5000, "0"), ("double", 1.5, "1.5")):
        made = ConnectSchema.from_json({"type": kind, "default": value})
        assert made.to_text().endswith(f'"default":{text}}}')
    large = ConnectSchema.decimal(0, default=Decimal("1" * 5000))
    assert len(large.to_text()) > 2000


@pytest.mark.parametrize("compat", [None, "connect"])
def test_names_and_parameters_of_hostile_schemas(compat, impl):
    def decimal(**parameters):
        return {**DECIMAL, "parameters": parameters}

    good = rows(({"type": "int32"}, 1))
    for schema, code, reason in (
        ({"type": "\ud83d"}, "schema_error", "Unknown schema type: \\ud83d"),
        (struct(**{"\ud83d": {"type": "int8"}}), "schema_error", "half of a surrogate pair"),
        ({"type": "string", "name": "\ud83d"}, "unresolvable", "\\ud83d is not read as int32"),
        *(
            (decimal(scale="2", **{"connect.decimal.precision": text}), None, "is not a number of digits")
            for text in ("1" * 4301, " 9", "1_0", "-1", "0")
        ),
        *((decimal(scale=text), None, "needs a parameter scale") for text in (" 1", "1_0", "1" * 4301, "")),
    ):
        bad = rows((schema, "1"))
        if code != "unresolvable":
            array, _ = ConnectJsonCodec(compat=compat).decode(bad + good, errors="report")
            assert array.to_pylist() == [None, 1]
        array, report = ConnectJsonCodec({"type": "int32"}, compat=compat).decode(good + bad, errors="report")
        assert array.to_pylist() == [1, None]
        if code is not None:
            assert (report["code"][0].as_py(), reason in report["reason"][0].as_py()) == (code, True)
            continue
        with pytest.raises(SchemaError, match=reason):
            ConnectJsonCodec(schema, compat=compat)
    padded = ConnectSchema.from_json(decimal(scale="+" + "0" * 5000 + "2"))
    assert padded.scale == 2


@pytest.mark.parametrize("compat", [None, "connect"])
def test_a_decimal_of_very_many_bytes(compat, impl):
    values = [b'"' + b"f///" * 300 + b'"', b"1.5"]
    codec = ConnectJsonCodec(DECIMAL, schemas_enable=False, compat=compat)
    array, report = codec.decode(values, errors="report")
    assert array.to_pylist() == [None, Decimal("1.50")]
    assert codes(report) == ([0], ["number_length"])
    found, report = ConnectJsonCodec().to_schemaless(rows((DECIMAL, "f///" * 300)), errors="report")
    assert (found, report["code"].to_pylist()) == ([None], ["number_length"])


DAY = 86_400_000


def test_defaults_as_python_has_them():
    inner = ConnectSchema("struct", fields={"n": ConnectSchema("int8"), "o": ConnectSchema("string", True)})
    texts = ConnectSchema("map", key_schema=ConnectSchema("int32"), value_schema=ConnectSchema("string"))
    for schema, default, text in (
        (ConnectSchema("int8"), -5, "-5"),
        (ConnectSchema("int64"), 5, "5"),
        (ConnectSchema("float"), 0.1, "0.1"),
        (ConnectSchema("double"), float("inf"), '"Infinity"'),
        (ConnectSchema("boolean"), False, "false"),
        (ConnectSchema("bytes"), b"\x01", '"AQ=="'),
        (ConnectSchema.date(), DAY, "1"),
        (ConnectSchema.decimal(0), 156, '"AJw="'),
        (ConnectSchema("array", value_schema=ConnectSchema("int16", True)), (1, None), "[1,null]"),
        (texts, {1: "x"}, '[[1,"x"]]'),
        (inner, {"n": 1}, '{"n":1,"o":null}'),
    ):
        made = dataclasses.replace(schema, default=default)
        assert made.to_text().endswith(f',"default":{text}}}')
        assert dataclasses.replace(made) == made
        again = ConnectSchema.from_json(made.to_text())
        assert again == made or default == float("inf")
    for schema, default in (
        (ConnectSchema("int8"), 128),
        (ConnectSchema("int32"), True),
        (ConnectSchema("int32"), "1"),
        (ConnectSchema("double"), 1),
        (ConnectSchema("string"), b""),
        (ConnectSchema.time(), 1.0),
        (inner, {"o": "x"}),
        (inner, {"n": 1, "x": 1}),
        (texts, []),
        (ConnectSchema("array", value_schema=ConnectSchema("int16")), [None]),
        (ConnectSchema.decimal(2), Decimal("NaN")),
    ):
        with pytest.raises(SchemaError, match="Invalid default value"):
            dataclasses.replace(schema, default=default)


def test_a_default_of_another_scale(impl):
    schema = {**DECIMAL, "default": 1.5}
    array = pa.array([Decimal("2.00"), None], pa.decimal128(9, 2))
    for compat in (None, "connect"):
        assert ConnectJsonCodec(compat=compat).decode(rows((schema, None))).to_pylist() == [Decimal("1.50")]
        codec = ConnectJsonCodec(schema, schemas_enable=False, compat=compat)
        assert codec.decode([b"null"]).to_pylist() == [Decimal("1.50")]
        numbers = ConnectJsonCodec(schema, decimal_format="NUMERIC", tombstones=False, compat=compat)
        assert [json.loads(each)["payload"] for each in numbers.encode(array).to_pylist()] == [2.0, 1.5]
        with pytest.raises(SchemaError, match="mismatching scale"):
            ConnectJsonCodec(schema, compat=compat).encode(array)
    _, report = codec.encode(array, errors="report")
    assert codes(report) == ([1], ["inexact"])

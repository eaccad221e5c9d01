"""Columns that are not what their type says: text that is not UTF-8, and unions all of whose values are null."""

import pyarrow as pa
import pytest
from cases import cases
from side_by_side import on_both

from kcodec import (
    AvroCodec,
    ConnectJsonCodec,
    JsonCodec,
    JsonSchemaCodec,
    KsqlCodec,
    MessageCodec,
    ProtobufCodec,
)

BAD = b"\xff\xfe"
NULLS = pa.UnionArray.from_dense(
    pa.array([0, 1, 0], pa.int8()),
    pa.array([0, 0, 1], pa.int32()),
    [pa.nulls(2), pa.array([None], pa.string())],
    ["a", "b"],
)
CODECS = {
    "AVRO": AvroCodec('{"type":"record","name":"R","fields":[{"name":"A","type":["null","string"]}]}'),
    "JSON": JsonCodec(pa.struct([("A", pa.string())])),
    "JSON_SR": JsonSchemaCodec({"type": "object", "properties": {"A": {"type": "string"}}}),
    "CONNECT_JSON": ConnectJsonCodec(schemas_enable=False),
    "CONNECT_JSON of Connect": ConnectJsonCodec(schemas_enable=False, compat="connect"),
    "PROTOBUF": ProtobufCodec('syntax = "proto3"; message M { string A = 1; }'),
    "KSQL JSON": KsqlCodec("JSON", "A STRING"),
    "KSQL KAFKA": KsqlCodec("KAFKA", "A STRING"),
    "DELIMITED": KsqlCodec("DELIMITED", "A STRING"),
}


def foul(kind, rows):
    """Return a column of text with any bytes."""
    plain = pa.large_binary() if kind == pa.large_string() else pa.binary()
    return pa.Array.from_buffers(kind, len(rows), pa.array(rows, plain).buffers())


@cases("name", CODECS)
@cases("kind", [pa.string(), pa.large_string()], ids=str)
@cases("at", [0, 1099])
def test_text_that_is_not_utf_8_costs_its_row(name, kind, at):
    """Rows before and behind it are written as without it, wherever blocks begin."""
    rows = [b"row %d" % number for number in range(1100)]
    good = CODECS[name].encode(pa.StructArray.from_arrays([foul(kind, rows)], ["A"])).to_pylist()
    rows[at] = BAD
    column = pa.StructArray.from_arrays([foul(kind, rows)], ["A"])

    def encode():
        encoded, report = CODECS[name].encode(column, errors="report")
        return encoded.to_pylist(), report.to_pylist()

    encoded, (fault,) = on_both(encode)
    good[at] = None
    assert encoded == good
    # The value of KAFKA is the payload as a whole.
    path = "" if name == "KSQL KAFKA" else "A"
    assert (fault["row"], fault["path"], fault["code"]) == (at, path, "invalid_utf8")


DECIMAL = '{"type":"bytes","logicalType":"decimal","precision":9,"scale":2}'
DECIMALS = {
    "AVRO": AvroCodec(f'{{"type":"record","name":"R","fields":[{{"name":"A","type":{DECIMAL}}}]}}'),
    "KSQL JSON": KsqlCodec("JSON", "A DECIMAL(9, 2)"),
    "DELIMITED": KsqlCodec("DELIMITED", "A DECIMAL(9, 2)"),
}


@pytest.mark.parametrize("name", DECIMALS)
def test_text_that_is_not_utf_8_is_no_number(name):
    column = pa.StructArray.from_arrays([foul(pa.string(), [b"1.5", BAD, b"x", b"2"])], ["A"])
    faults = on_both(lambda: DECIMALS[name].encode(column, errors="report")[1].to_pylist())
    assert [(each["row"], each["code"]) for each in faults] == [(1, "invalid_number"), (2, "invalid_number")]


MESSAGE = """{"type": "data", "name": "M", "validVersions": "0-1", "flexibleVersions": "1+", "fields": [
    {"name": "A", "type": "string", "versions": "0+", "ignorable": true},
    {"name": "B", "type": "string", "versions": "1+", "taggedVersions": "1+", "tag": 0, "ignorable": true},
    {"name": "L", "type": "[]string", "versions": "0+"},
    {"name": "S", "type": "[]S", "versions": "0+", "fields": [{"name": "T", "type": "string", "versions": "0+"}]}]}"""


@cases("version", [0, 1])
@cases("place", ["a", "b", "l[1]", "s[0].t"])
def test_text_of_messages(place, version):
    codec = MessageCodec(MESSAGE, version)

    def texts(at):
        rows = [b"", b"x", b"y", b"z"]
        rows[1] = BAD if place == at else rows[1]
        return foul(pa.string(), rows)

    lists = pa.ListArray.from_arrays(pa.array([0, 2, 3, 3, 4], pa.int32()), texts("l[1]"))
    structs = pa.StructArray.from_arrays([texts("s[0].t")], ["t"])
    structs = pa.ListArray.from_arrays(pa.array([0, 1, 2, 3, 4], pa.int32()), structs)
    columns = {"a": texts("a"), "b": texts("b"), "l": lists, "s": structs}
    if version == 0:
        del columns["b"]
    column = pa.StructArray.from_arrays(list(columns.values()), list(columns))

    def encode():
        encoded, report = codec.encode(column, errors="report")
        return encoded.to_pylist(), [(each["row"], each["path"], each["code"]) for each in report.to_pylist()]

    encoded, faults = on_both(encode)
    # The second text of `l` is of the first row.
    row = 0 if place == "l[1]" else 1
    assert faults == ([] if place not in (*columns, "l[1]", "s[0].t") else [(row, place, "invalid_utf8")])
    assert [number for number, each in enumerate(encoded) if each is None] == [fault[0] for fault in faults]


NESTED = {
    "AVRO": """{"type":"record","name":"R","fields":[{"name":"L","type":{"type":"array","items":"string"}},
        {"name":"M","type":{"type":"map","values":"string"}}]}""",
    "JSON": pa.struct([("L", pa.list_(pa.string())), ("M", pa.map_(pa.string(), pa.string()))]),
    "CONNECT_JSON": None,
    "PROTOBUF": 'syntax = "proto3"; message N { repeated string L = 1; map<string, string> M = 2; }',
}


@cases("name", NESTED)
@cases(("place", "path"), [("item", "L[1]"), ("key", "M"), ("value", "M")])
def test_text_within_lists_and_maps(name, place, path):
    schema = NESTED[name]
    codec = ConnectJsonCodec(schemas_enable=False) if schema is None else type(CODECS[name])(schema)

    def texts(kind):
        rows = [b"%d" % number for number in range(40)]
        rows[21] = BAD if place == kind else rows[21]
        return foul(pa.string(), rows)

    offsets = pa.array(range(0, 42, 2), pa.int32())
    lists = pa.ListArray.from_arrays(offsets, texts("item"))
    maps = pa.MapArray.from_arrays(offsets, texts("key"), texts("value"))
    column = pa.StructArray.from_arrays([lists, maps], ["L", "M"])

    def encode():
        encoded, report = codec.encode(column, errors="report")
        return [row is None for row in encoded.to_pylist()], report.to_pylist()

    missing, (fault,) = on_both(encode)
    assert missing == [row == 10 for row in range(20)]
    assert (fault["row"], fault["code"]) == (10, "invalid_utf8")
    assert fault["path"].startswith(path)


def test_text_beneath_nulls_is_not_looked_at():
    column = foul(pa.string(), [b"a", BAD, b"c"])
    column = pa.Array.from_buffers(pa.string(), 3, [pa.py_buffer(b"\x05"), *column.buffers()[1:]])
    codec = AvroCodec('["null","string"]')
    assert on_both(lambda: codec.encode(column).to_pylist()) == [b"\2\2a", None, b"\2\2c"]


@pytest.mark.skipif(
    NULLS.is_valid()[0].as_py(), reason="older pyarrow does not tell which values of unions are null"
)
@pytest.mark.parametrize("name", ["AVRO", "PROTOBUF"])
@pytest.mark.parametrize("start", [0, 1])
def test_unions_of_nulls_are_nulls(name, start):
    """A union has no nulls of its own; those of its members are nulls, in slices as well."""
    codec = CODECS[name]
    column = pa.StructArray.from_arrays([NULLS], ["A"]).slice(start)
    plain = codec.encode(pa.StructArray.from_arrays([pa.nulls(len(column), pa.string())], ["A"]))
    assert on_both(lambda: codec.encode(column).to_pylist()) == plain.to_pylist()

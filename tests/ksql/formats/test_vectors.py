"""ksqlDB's formats give the answers of ksqlDB: measured of its classes, and those its functional tests expect."""

import json
import re

import pyarrow as pa
import pytest
from ksql_vectors import payload, plain, storage, tagged, untagged
from vector_files import read_vectors

from kcodec import ConfigError, DecodeError, KsqlCodec, SchemaError
from kcodec.ksql.formats.format import FORMATS
from kcodec.ksql.types import SqlColumn, SqlField, SqlType, parse_type

MEASURED = read_vectors("ksql_measured_vectors.jsonl.gz")
#: Days beyond those of date32, which ksqlDB keeps in 64 bits of milliseconds, and 24:00: errors of their rows.
BEYOND_ARROW = {"JSON:134:dec", "JSON:135:dec", "DELIMITED:318:dec"}
#: Formats without a schema in a registry, whose payloads the functional tests have as text or bytes.
PLAIN = ("JSON", "DELIMITED", "KAFKA", "NONE")
#: An object's keys may come in any order.
TREES = ("JSON",)


def codec_of(vector):
    properties = {"delimiter": vector["delimiter"]} if vector["format"] == "DELIMITED" else None
    wrap = False if vector["format"] == "JSON" and vector["unwrap"] else None
    return KsqlCodec(vector["format"], vector["sql"], wrap=wrap, compat="ksqldb", properties=properties)


def rows_of(array, codec):
    """Return the rows of a decoded array as the vectors write them."""
    kind = SqlType("STRUCT", fields=tuple(SqlField(column.name, column.type) for column in codec.columns))
    return [tagged(row, kind) for row in storage(array).to_pylist()]


def measured(name, op):
    return [vector for vector in MEASURED if (vector["format"], vector["op"]) == (name, op)]


@pytest.mark.parametrize("name", [name for name in FORMATS if measured(name, "decode")])
def test_measured_reading(impl, name, capsys):
    rows = refused = 0
    vectors = [v for v in measured(name, "decode") if v["id"] not in BEYOND_ARROW and v["delimiter"] != '"']
    for vector in vectors:
        codec = codec_of(vector)
        array, report = codec.decode([payload(vector)], errors="report")
        expected = vector["expected"]
        if "row" not in expected:
            assert report.num_rows == 1, vector
            with pytest.raises(DecodeError):
                codec.decode([payload(vector)])
            refused += 1
            continue
        assert report.num_rows == 0, (vector, report.to_pylist())
        want = expected["row"]
        if want is not None:
            names = [column.name for column in codec.columns]
            want = dict(zip(names, plain(want), strict=True))
        assert rows_of(array, codec) == [want], vector
        rows += 1
    with capsys.disabled():
        print(f"\n{name} {impl}: {rows} measured rows read, {refused} refused")
    assert rows + refused == len(vectors) > 50


def test_dates_and_times_that_arrow_cannot_hold(impl):
    for vector in MEASURED:
        if vector["id"] in BEYOND_ARROW:
            _, report = codec_of(vector).decode([payload(vector)], errors="report")
            assert report["code"].to_pylist() == ["out_of_range"]


@pytest.mark.parametrize("name", [name for name in FORMATS if measured(name, "encode")])
def test_measured_writing(impl, name, capsys):
    vectors = measured(name, "encode")
    for vector in vectors:
        codec = codec_of(vector)
        row = {
            column.name: untagged(value, column.type)
            for column, value in zip(codec.columns, vector["row"], strict=True)
        }
        written = codec.encode(pa.array([row], codec.arrow_type)).to_pylist()[0]
        expected = vector["expected"]["bytes"]
        assert written == (expected if expected is None else expected.encode()), vector
    with capsys.disabled():
        print(f"\n{name} {impl}: {len(vectors)} measured rows written")
    assert len(vectors) > 10


def sides(shared):
    """Return format, columns, key, wrap, properties and records of every side of the functional tests."""
    for vector in read_vectors("ksql_vectors.jsonl.gz", shared / "vectors"):
        if vector["kind"] != "passthrough":
            continue
        for direction in ("input", "output"):
            side = vector[direction]
            for part in ("key", "value"):
                given = side[part]
                columns = tuple(
                    SqlColumn(column["name"], parse_type(column["sql"]), column["kind"])
                    for column in side["columns"]
                )
                if given["format"] not in PLAIN or not any(column.kind == part for column in columns):
                    continue
                wrap = None
                if part == "value" and given["features"] and given["format"] == "JSON":
                    wrap = given["features"] == ["WRAP_SINGLES"]
                records = [
                    # An input of one to one is what the output's row was read from.
                    (record[part], other.get("row"))
                    for record, other in zip(side["records"], vector["output"]["records"], strict=False)
                    if direction == "output" or (vector["aligned"] and not vector["mapping"])
                ]
                codec = KsqlCodec(
                    given["format"], columns, wrap=wrap, is_key=part == "key", compat="ksqldb",
                    properties={key: text for key, text in given["properties"].items() if key == "delimiter"},
                )  # fmt: skip
                yield vector, direction, part, codec, records


def data_of(record):
    if "text" in record:
        return record["text"].encode()
    return bytes.fromhex(record["hex"]) if "hex" in record else None


def loose(value):
    """Make numbers of texts, and names of any case one."""
    if isinstance(value, dict):
        return {key.upper(): loose(item) for key, item in value.items()}
    if isinstance(value, list):
        return [loose(item) for item in value]
    return value


def plain_row(value, kind):
    """Write a row as the functional tests expect it: decimals as text, doubles to six places."""
    if value is None:
        return None
    if kind.base == "STRUCT":
        return {field.name.upper(): plain_row(value[field.name], field.type) for field in kind.fields}
    if kind.base == "ARRAY":
        return [plain_row(item, kind.item) for item in value]
    if kind.base == "MAP":
        return {key.upper(): plain_row(item, kind.item) for key, item in value}
    if kind.base == "DECIMAL":
        return format(value, "f")
    if kind.base == "BYTES":
        return tagged(value, kind).removeprefix("bytes:")
    if kind.base == "TIMESTAMP":
        return value // 1000
    return pytest.approx(value, abs=1e-6) if kind.base == "DOUBLE" else value


def test_functional_reading_and_writing(impl, shared, capsys):
    counts = {}
    for vector, direction, part, codec, records in sides(shared):
        kind = SqlType("STRUCT", fields=tuple(SqlField(column.name, column.type) for column in codec.columns))
        for record, row in records:
            if "spec" in record or row is None:
                continue
            data = data_of(record)
            array = codec.decode([data])
            want = row.get(part)
            got = plain_row(storage(array).to_pylist()[0], kind)
            if codec.format == "KAFKA" and kind.fields[0].type.base == "BYTES" and data is not None:
                # Here the tests' own serde wrote the text of the Base64.
                got = {kind.fields[0].name: data.decode()}
            if want is None:
                # A column that is null, written bare, is a null record.
                assert got is None or not any(value is not None for value in got.values()), vector["id"]
            else:
                # An input may have columns that the query leaves out, or gives another name.
                wanted = loose(want)
                same = wanted.keys() & got.keys() if direction == "input" else wanted.keys()
                assert {name: got[name] for name in same} == {name: wanted[name] for name in same}, vector[
                    "id"
                ]
            counts[codec.format, "read"] = counts.get((codec.format, "read"), 0) + 1
            if direction == "output":
                again = codec.encode(array).to_pylist()[0]
                if codec.format in TREES and data is not None:
                    assert json.loads(again) == json.loads(data), vector["id"]
                else:
                    assert again == data, vector["id"]
                counts[codec.format, "written"] = counts.get((codec.format, "written"), 0) + 1
    with capsys.disabled():
        print(f"\n{impl}: " + ", ".join(f"{name} {what} {n}" for (name, what), n in sorted(counts.items())))
    assert counts["JSON", "read"] > 250
    assert counts["JSON", "written"] > 130
    assert counts["KAFKA", "written"] > 100
    assert counts["DELIMITED", "read"] > 100


def test_json_of_the_registry_formats(impl, shared, capsys):
    """The JSON behind the prefix of JSON_SR, where it has no maps, is that of JSON."""
    read = unknown = 0
    for vector in read_vectors("ksql_wire_vectors.jsonl.gz", shared / "vectors"):
        if vector["format"] != "JSON_SR":
            continue
        columns = tuple(
            SqlColumn(column["name"], parse_type(column["sql"]), column["kind"])
            for column in vector["columns"]
        )
        key = vector["id"].split("|")[1] == "key"
        wrap = False if not key and vector["features"] == ["UNWRAP_SINGLES"] else None
        codec = KsqlCodec("JSON", columns, is_key=key, wrap=wrap, compat="ksqldb")
        array = codec.decode([bytes.fromhex(vector["body_hex"])])
        if vector["expected"] is None:
            unknown += 1
            continue
        kind = SqlType("STRUCT", fields=tuple(SqlField(column.name, column.type) for column in codec.columns))
        assert plain_row(storage(array).to_pylist()[0], kind) == loose(vector["expected"]), vector["id"]
        read += 1
    with capsys.disabled():
        print(f"\nJSON_SR bodies {impl}: {read} read as expected, {unknown} without an expectation")
    assert (read, unknown) == (65, 1)


CREATE = re.compile(r"CREATE (?:STREAM|TABLE) \S+ \((.*)\) WITH \((.*)\);", re.DOTALL)


def refusals(vector):
    """Make the codecs that a statement asks for; give what they are refused for, or None if none is one of ours."""
    match = CREATE.fullmatch(vector["statements"][-1].strip())
    if match is None or " AS SELECT" in match[0]:
        return None
    given = {name.upper(): value.strip("'") for name, value in re.findall(r"(\w+)=('[^']*'|\w+)", match[2])}
    both = given.get("FORMAT")
    wrap = {"true": True, "false": False}.get(given.get("WRAP_SINGLE_VALUE"))
    formats = {True: given.get("KEY_FORMAT", both or "KAFKA"), False: given.get("VALUE_FORMAT", both)}
    if any(name.upper() not in FORMATS for name in formats.values()):
        return None
    found = []
    for key, name in formats.items():
        side = "KEY_" if key else "VALUE_"
        properties = {each: value for each, value in given.items() if each.startswith(side)}
        properties.pop(f"{side}FORMAT", None)
        try:
            KsqlCodec(
                name, match[1], is_key=key, wrap=None if key else wrap,
                properties=properties,
            )  # fmt: skip
        except (ConfigError, SchemaError) as error:
            found.append(str(error))
    return found


def test_statements_that_ksqldb_refuses(shared, capsys):
    count = 0
    for vector in read_vectors("ksql_vectors.jsonl.gz", shared / "vectors"):
        if vector["kind"] != "exception":
            continue
        found = refusals(vector)
        if found is None:
            continue
        message = vector["expected_exception"]["message"]
        reason = message.partition("reason: ")[2] or message
        assert "Syntax Error" in message or any(
            reason in text or re.split(r"[.:,]", text)[0] in reason for text in found
        ), (vector["id"], found)
        assert found, vector["id"]
        count += 1
    with capsys.disabled():
        print(f"\n{count} statements refused")
    assert count > 12

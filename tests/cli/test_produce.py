"""``kcodec produce``, against a broker of the tests' own."""

import io
import json
import os
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fake_broker import FAST
from kafka_orders import ORDER, ROWS

import kcodec
from kcodec.cli.row_input import open_rows
from kcodec.kafka import read
from kcodec.registry import Rule, RuleSet, Schema


def test_lines_without_an_end(run, cluster, monkeypatch):
    """Nothing is kept of what cannot be one record."""
    monkeypatch.setattr("kcodec.cli.row_input._CHUNK", 10)
    monkeypatch.setattr("kcodec.cli.row_input._LONGEST", 100)
    reads = []

    class Endless(io.BytesIO):
        def read1(self, size):
            reads.append(size)
            assert len(reads) < 50
            return b"\nsecond\n" + b"x" * 2 if len(reads) == 1 else b"x" * size

    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(Endless()))
    status, _, errors = run("produce", "orders")
    reason = "-, line 3 has more than 100 bytes, which no record holds"
    assert (status, errors) == (1, f"kcodec produce: {reason}\n")
    assert run("produce", "orders", stdin=b"\n" + b"x" * 101)[0] == 1
    assert run("produce", "orders", stdin=b"x" * 100 + b"\n" + b"y" * 100)[0] == 0


def test_large_lines_are_written_as_they_come(cluster, monkeypatch, tmp_path):
    monkeypatch.setattr("kcodec.cli.row_input._CHUNK", 10)
    monkeypatch.setattr("kcodec.cli.row_input._GROUP", 40)
    file = tmp_path / "lines"
    file.write_bytes(b"0123456789\n" * 20)
    options = SimpleNamespace(flag=lambda _: False, properties={})
    with open_rows(str(file), "orders", options, None) as rows:
        sizes = [len(batch) for batch in rows.reader()]
    assert (sum(sizes), max(sizes)) == (20, 4)


def test_rows_without_a_format(run, cluster, tmp_path):
    pq.write_table(pa.table({"id": [7], "note": ["p"]}), tmp_path / "rows.parquet")
    pq.write_table(pa.table({"key": [7], "value": ["p"]}), tmp_path / "records.parquet")
    (tmp_path / "lines.txt").write_text("a\n")

    def errors(name, *more):
        status, _, errors = run("produce", "orders", "--file", tmp_path / name, *more)
        assert (status, errors.count("\n")) == (2, 1)
        return errors.removeprefix("kcodec produce: ").strip()

    how = "are neither bytes nor text: say with --"
    assert (
        errors("rows.parquet") == f"values of struct<id: int64, note: string> {how}value how they are written"
    )
    assert errors("records.parquet") == f"keys of int64 {how}key how they are written"
    assert errors("rows.parquet", "--value=avro", "--key-field=id") == errors("records.parquet")
    assert errors("rows.parquet", "--key-field=none") == "--key-field 'none' is none of the fields id, note"
    assert errors("lines.txt", "--key-field=value").startswith("--key-field is for values with fields")


def values(cluster, **given):
    place = {"servers": cluster.address, "config": FAST}
    return read("orders", columns=["key", "value"], **place, **given).read_all().to_pylist()


def test_produce_lines_of_json(run, cluster, registry, tmp_path):
    file = tmp_path / "rows.jsonl"
    file.write_text("\n".join(json.dumps(row) for row in ROWS) + "\n\n")
    avro = ("produce", "orders", "--value", "avro", "--registry", registry, "--partition", "0")
    assert run(*avro, "--file", file)[::2] == (0, "")
    serde = {"format": "AVRO", "registry": registry, "reader_schema": "latest"}
    assert [row["value"] for row in values(cluster, value=serde)] == ROWS
    assert (
        run(
            *avro,
            stdin=b'{"id": 9}\n',
        )[0]
        == 0
    )
    pq.write_table(pa.table({"id": [7], "note": ["p"]}), tmp_path / "rows.parquet")
    assert run(*avro, "--file", tmp_path / "rows.parquet", "--key-field", "note")[0] == 0
    assert [(row["key"], row["value"]["id"]) for row in values(cluster, value=serde)[3:]] == [
        (None, 9),
        (b"p", 7),
    ]
    status, _, errors = run(*avro, stdin=b'{"id": 1}\n{"id": "x"}\n')
    assert (status, "json_type: line 2" in errors) == (1, True)
    schema = tmp_path / "long.avsc"
    schema.write_text('"long"')
    other = ("produce", "orders", "--value", "avro", "--registry", f"sqlite:///{tmp_path}/other.db")
    assert run(*other, "--schema", schema, stdin=b"5\n")[::2] == (0, "")
    nowhere = run(*other[:-1], f"sqlite:///{tmp_path}/third.db", stdin=b"5\n")
    assert nowhere[0] == 2
    assert nowhere[2] == (
        "kcodec produce: Subject 'orders-value' not found. (without --schema FILE the latest one is written: give a "
        "file to register its schema)\n"
    )


@pytest.mark.parametrize(
    ("format", "lines", "shown"),
    [
        ("int", b'5\n{"VALUE":6}\n\n null\n-7\n{"VALUE":null}\n', ["5", "6", "null", "-7", "null"]),
        ("bigint", b"9223372036854775807\n", ["9223372036854775807"]),
        ("double", b'1.5\n {"VALUE":2}\n"NaN"\n', ["1.5", "2.0", "NaN"]),
    ],
)
def test_numbers(run, format, lines, shown):
    """As Kafka's console tools take and print them; also as lines of JSON of kcodec consume are."""
    values = ("orders", "--value", format)
    assert run("produce", *values, "--partition", "0", stdin=lines)[::2] == (0, "")
    assert run("consume", *values, "-o", "text")[1].splitlines() == shown
    lines_of_json = run("consume", *values, "--columns", "value.*")[1]
    assert run("produce", *values, "--partition", "1", stdin=lines_of_json.encode())[::2] == (0, "")
    assert run("consume", *values, "-o", "text")[1].splitlines() == shown * 2
    assert run("consume", *values, "-o", "text", "--property", "print.key=true")[1].startswith("null\t")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"x", "json_syntax: line 3, byte 0: "),
        (b'{"VALUE":"x"}', "json_type: line 3, byte 9, VALUE: "),
        (b'{"id":7}', "missing_key: line 3, byte 0, VALUE: "),
        (b"2147483648", "out_of_range: line 3, byte 0: "),
    ],
)
def test_lines_that_are_no_numbers(run, line, reason):
    status, _, errors = run("produce", "orders", "--value", "int", stdin=b'1\n{"VALUE":2}\n' + line)
    assert status == 1
    assert errors.startswith(f"kcodec produce: {reason}")


def test_produce_lines_of_bytes(run, cluster):
    keys = ("--property", "parse.key=true", "--property", "key.separator=:", "--property", "null.literal=NIL")
    assert run("produce", "orders", "--partition", "0", *keys, stdin=b"a:1\nNIL:2\nc:NIL\n")[::2] == (0, "")
    assert values(cluster) == [
        {"key": b"a", "value": b"1"}, {"key": None, "value": b"2"}, {"key": b"c", "value": None},
    ]  # fmt: skip
    status, _, errors = run("produce", "orders", *keys, stdin=b"none\n")
    assert (status, errors) == (1, "kcodec produce: -, line 1 has no key separator\n")
    nothing = run("produce", "orders", *keys, "--property", "key.separator=", stdin=b"a:1\n")
    assert nothing[::2] == (2, "kcodec produce: --property key.separator is empty\n")


def test_properties_of_keys(run, cluster, registry, tmp_path):
    """None of them is passed over."""
    avro = ("produce", "orders", "--value", "avro", "--registry", registry, "--partition", "0")
    keyed = (*avro, "--key-field", "id", "--key", "avro")
    parsed = run(*avro, "--property", "parse.key=true", stdin=b'{"id": 1}\n')
    assert parsed[0] == 2
    assert "--property parse.key is for lines of bytes" in parsed[2]
    schema = tmp_path / "key.avsc"
    schema.write_text('["null", "long"]')
    assert run(*keyed, "--property", f"key.schema.file={schema}", stdin=b'{"id": 1}\n')[::2] == (0, "")
    assert kcodec.registry.open(registry).get_version("orders-key").schema.text == '["null","long"]'
    lacking = run(*avro, "--property", 'key.schema="string"', stdin=b'{"id": 1}\n')
    assert lacking[::2] == (2, "kcodec produce: a schema is for a --key such as avro\n")
    nameless = run(*avro, "--key", "avro", stdin=b'{"id": 1}\n')
    message = "kcodec produce: --key avro: --key-field says which field of the values is the key\n"
    assert nameless[::2] == (2, message)


def test_lines_of_avros_json(run, cluster, tmp_path):
    """What `consume -o text` prints is what `produce` reads."""
    record = {"type": "record", "name": "shop.B", "fields": [{"name": "flag", "type": "boolean"}]}
    money = {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}
    times = [{"type": "long", "logicalType": "timestamp-micros"}, "null"]
    fields = [
        {"name": "one", "type": ["null", "string", record]},
        {"name": "note", "type": ["null", "string"]},
        {"name": "all", "type": {"type": "map", "values": ["null", money]}},
        {"name": "at", "type": times},
    ]
    (tmp_path / "e.avsc").write_text(json.dumps({"type": "record", "name": "E", "fields": fields}))
    format = ("--value", "avro", "--registry", f"sqlite:///{tmp_path}/e.db")
    place = (*format, "--partition", "0")
    plain = b'{"one":{"member1":{"flag":true}},"all":{"a":11.94},"at":"2024-02-29T00:00:00Z"}\n'
    assert run("produce", "orders", *place, "--schema", tmp_path / "e.avsc", stdin=plain)[::2] == (0, "")
    text = run("consume", "orders", *format, "-o", "text")[1]
    assert text.startswith('{"one":{"shop.B":{"flag":true}},"note":null,"all":{"a":{"bytes":"\\u0004')
    second = text.replace('"note":null', '"note":{"string":"x"}').encode()
    assert run("produce", "orders", *place, stdin=text.encode() + b"\n" + plain + second)[::2] == (0, "")
    assert run("consume", "orders", *format, "-o", "text")[1].splitlines() == [
        *text.splitlines() * 3, second.decode().strip()
    ]  # fmt: skip


def test_all_lines_that_are_wrong(run, cluster, registry):
    avro = ("produce", "orders", "--value", "avro", "--registry", registry, "--partition", "0")
    lines = b'{"id":1}\n\n{"id":"x"}\n{\n{"id":4,"note":7}\n{"id":5}\n'
    status, _, errors = run(*avro, stdin=lines)
    told = errors.splitlines()
    assert (status, len(told)) == (1, 4)
    assert told[0].startswith("kcodec produce: json_type: line 3, byte 6, id: ")
    assert told[0].endswith("(int64 is wanted)")
    assert told[1].startswith("kcodec produce: truncated: line 4, byte 1")
    assert told[2].startswith("kcodec produce: json_type: line 5, byte 15, note: ")
    assert told[3] == "kcodec produce: 2 lines are written, 3 are not"
    assert len(values(cluster)) == 2
    # All or none.
    status, _, errors = run(*avro, "--transactional-id", "t", stdin=lines)
    assert (status, errors.splitlines()[-1]) == (
        1,
        "kcodec produce: nothing is written, since not all lines can be",
    )
    assert len(values(cluster)) == 2


def test_lines_that_cannot_be_written(run, cluster, tmp_path):
    fields = [{"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["A", "B"]}}]
    (tmp_path / "kind.avsc").write_text(json.dumps({"type": "record", "name": "R", "fields": fields}))
    avro = ("--value", "avro", "--registry", f"sqlite:///{tmp_path}/kind.db", "--schema")

    def errors(stdin, *more):
        status, _, errors = run("produce", "orders", *avro, *more, stdin=stdin)
        return status, errors

    good = b'\n{"kind":"A"}\n\n\n{"kind":"B"}\n'
    assert errors(good, tmp_path / "kind.avsc") == (0, "")
    for bad, code in ((b"5", "json_type"), (b'"C"', "unknown_symbol")):
        status, text = errors(good + b'{"kind":' + bad + b"}\n", tmp_path / "kind.avsc")
        assert (status, text.split(", ")[0]) == (1, f"kcodec produce: {code}: line 6")
    for content in (b"{", b'{"type":"nothing"}', b"\xff"):
        (tmp_path / "bad.avsc").write_bytes(content)
        status, text = errors(b"", tmp_path / "bad.avsc")
        assert (status, text.count("\n")) == (2, 1)


PARTS = ("id", "value", "timestamp", "key", "headers")


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
@pytest.mark.parametrize("more", [(), ("--key-field", "id", "--key", "bigint")])
def test_produce_fields_that_are_called_like_parts_of_records(run, cluster, tmp_path, kind, more):
    fields = [{"name": name, "type": "long"} for name in PARTS]
    (tmp_path / "all.avsc").write_text(json.dumps({"type": "record", "name": "All", "fields": fields}))
    row, file = {name: 7 + number for number, name in enumerate(PARTS)}, tmp_path / f"rows.{kind}"
    if kind == "jsonl":
        file.write_text(json.dumps(row))
    else:
        pq.write_table(pa.table({name: [number] for name, number in row.items()}), file)
    place = ("--registry", f"sqlite:///{tmp_path}/all.db", "--value", "avro", "--partition", "0")
    status = run("produce", "orders", *place, "--schema", tmp_path / "all.avsc", "--file", file, *more)
    assert status[::2] == (0, "")
    serde = {"format": "AVRO", "registry": place[1], "reader_schema": "latest"}
    key = (7).to_bytes(8, "big") if more else None
    assert values(cluster, value=serde) == [{"key": key, "value": row}]
    assert cluster.records(("orders", 0))["timestamp"].cast(pa.int64()).to_pylist() != [9]


def test_produce_records_of_parquet(run, cluster, tmp_path):
    when = pa.array([9], pa.timestamp("ms", "UTC"))
    headers = pa.array([[("h", b"1")]], pa.map_("string", "binary"))
    table = pa.table({"key": [b"k"], "value": [b"v"], "timestamp": when, "headers": headers})
    pq.write_table(table, tmp_path / "records.parquet")
    assert run("produce", "orders", "--partition", "0", "--file", tmp_path / "records.parquet")[0] == 0
    found = cluster.records(("orders", 0))
    assert [found[name].to_pylist() for name in ("key", "value", "headers")] == [
        [b"k"], [b"v"], [[{"key": "h", "value": b"1"}]],
    ]  # fmt: skip
    assert found["timestamp"].cast(pa.int64()).to_pylist() == [9]


def wait_until(condition):
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_all_columns_that_consume_writes_are_not_taken_for_values(run, filled, tmp_path):
    file = tmp_path / "orders.parquet"
    options = ("--value", "avro", "--registry", filled)
    assert run("consume", "orders", *options, "--output", file)[0] == 0
    status, _, errors = run("produce", "orders", *options, "--file", file)
    assert status == 2
    assert "has the columns of kcodec consume: with --columns headers,key,timestamp,value it writes" in errors
    assert (
        run("consume", "orders", *options, "--columns", "headers,key,timestamp,value", "--output", file)[0]
        == 0
    )
    assert run("produce", "orders", *options, "--file", file)[0] == 0


def test_produce_lines_as_they_come(run, cluster, monkeypatch):
    receiver, sender = os.pipe()
    with open(receiver) as stdin, ThreadPoolExecutor(1) as threads, open(sender, "wb", buffering=0) as pipe:
        monkeypatch.setattr("sys.stdin", stdin)
        status = threads.submit(run, "produce", "orders", "--partition", "0")
        for text, expected in ((b"one\ntw", [b"one"]), (b"o\nthree\n", [b"one", b"two", b"three"])):
            pipe.write(text)
            wait_until(lambda: cluster.end(("orders", 0)) >= len(expected))  # noqa: B023
            assert [row["value"] for row in values(cluster)] == expected
        pipe.write(b"four")
        pipe.close()
        assert status.result(20)[::2] == (0, "")
    assert values(cluster)[3]["value"] == b"four"


@pytest.mark.parametrize(("more", "count"), [((), 2), (("--transactional-id", "t"), 0)])
def test_produce_until_it_is_interrupted(run, cluster, monkeypatch, more, count):
    class Interrupted(io.BytesIO):
        def read1(self, size=-1):
            found = super().read1(size)
            if not found:
                raise KeyboardInterrupt
            return found

    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(Interrupted(b"one\ntwo\nthr")))
    status, _, errors = run("produce", "orders", "--partition", "0", *more)
    assert (status, "interrupted, of a transaction all rows are, or none is, written" in errors) == (
        130,
        not count,
    )
    assert [row["value"] for row in values(cluster)] == [b"one", b"two"][:count]


@pytest.mark.parametrize("more", [(), ("--value", "avro")])
@pytest.mark.parametrize("name", ["missing.jsonl", "missing.parquet"])
def test_a_file_that_is_not_there_asks_nobody(run, tmp_path, more, name):
    nobody = ("-b", "127.0.0.1:1", "--registry", f"sqlite:///{tmp_path}/empty.db")
    status, _, errors = run("produce", "orders", *nobody, *more, "--file", tmp_path / name)
    assert (status, errors.startswith("kcodec produce: "), "No such file" in errors) == (2, True, True)


@pytest.mark.parametrize("name", ["a.parquet", "a.PARQUET", "a.pq"])
def test_parquet_by_the_name_of_the_file(run, cluster, tmp_path, name):
    """Lines of bytes would be written of others."""
    pq.write_table(pa.table({"value": ["x"]}), tmp_path / name)
    assert run("produce", "orders", "--partition", "0", "--file", tmp_path / name)[::2] == (0, "")
    assert [row["value"] for row in values(cluster)] == [b"x"]
    again = tmp_path / name.upper()
    assert run("consume", "orders", "--columns", "value", "--output", again)[0] == 0
    assert pq.read_table(again).to_pylist() == [{"value": b"x"}]
    (tmp_path / name).write_bytes(b"none")
    status, _, errors = run("produce", "orders", "--file", tmp_path / name)
    assert (status, errors.startswith(f"kcodec produce: {tmp_path / name}: ")) == (2, True)


@pytest.mark.parametrize("is_file", [False, True])
def test_produce_plain_json(run, cluster, tmp_path, is_file):
    """By columns: lines are checked, and written as kcodec writes JSON."""
    schema = "id BIGINT NOT NULL, at TIMESTAMP, price DECIMAL(9, 2)"
    if is_file:
        (tmp_path / "order.ddl").write_text(schema)
    command = ("produce", "orders", "--value", "json", "--partition", "0", "--schema")
    command += (tmp_path / "order.ddl" if is_file else schema,)
    lines = b'{"id": 1, "at": "2026-01-02T03:04:05Z", "price": 1.50}\n{"id": "x"}\n{"id": 2}\n'
    status, _, errors = run(*command, stdin=lines)
    assert status == 1
    assert "json_type: line 2" in errors
    assert "2 lines are written, 1 are not" in errors
    found = [row["value"] for row in values(cluster)]
    assert json.loads(found[0])["price"] == 1.5
    assert [json.loads(value)["id"] for value in found] == [1, 2]
    assert [row["value"]["id"] for row in values(cluster, value=kcodec.JsonCodec(schema))] == [1, 2]


def test_plain_json_needs_columns(run, cluster):
    status, _, errors = run("produce", "orders", "--value", "json", stdin=b"{}\n")
    assert status == 2
    assert "--value json: give the columns with --schema" in errors


def test_rows_that_are_refused_are_named_by_their_lines(run, cluster, tmp_path):
    """Lines before them that are none count; those of a Parquet file have no lines."""
    rules = RuleSet(domain=(Rule("small", type="CEL", kind="CONDITION", expr="message.id < 5"),))
    registry = f"sqlite:///{tmp_path}/rules.db"
    kcodec.registry.open(registry).register("orders-value", Schema(json.dumps(ORDER), rules=rules))
    command = ("produce", "orders", "--value", "avro", "--registry", registry, "--file")
    pq.write_table(pa.table({"id": [1, 7], "note": ["a", "b"]}), tmp_path / "rows.parquet")
    refused = "schema id 1: the rule small: Rule expr failed: message.id < 5\n"
    assert run(*command, tmp_path / "rows.parquet")[2] == f"kcodec produce: rule: row 1, {refused}"
    (tmp_path / "rows.jsonl").write_text('{"id": 1}\nno JSON\n\n{"id": 7}\n')
    rest = "the rule small: Rule expr failed: message.id < 5\n"
    assert f"kcodec produce: rule: line 4: {rest}" in run(*command, tmp_path / "rows.jsonl")[2]
    # With ids in headers, lines are written when all of them have been read.
    errors = run(*command, tmp_path / "rows.jsonl", "--frame", "confluent_header")[2]
    assert f"kcodec produce: rule: line 4, {refused}" in errors


def test_a_format_that_nothing_has(run, tmp_path):
    (tmp_path / "int.avsc").write_text('"int"')
    status, _, errors = run("produce", "orders", "--value", "no_format", "--schema", tmp_path / "int.avsc")
    assert (status, "--value no_format is not one of avro, " in errors) == (2, True)

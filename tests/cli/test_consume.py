"""``kcodec consume``, against a broker of the tests' own."""

import csv
import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fake_broker import FAST
from kafka_orders import ORDER, ROWS

import kcodec
from kcodec.cli.main import main
from kcodec.kafka import read, write
from kcodec.kafka.reading.follower import Follower
from kcodec.protocol import write_batches


def test_consume_lines_of_json(run, filled):
    status, out, _ = run("consume", "orders", "--value", "avro", "--registry", filled)
    rows = [json.loads(line) for line in out.splitlines()]
    assert status == 0
    assert [row["value"] for row in rows] == ROWS
    assert [row["key"] for row in rows] == ["a", "b", None]
    assert rows[0]["headers"] == [{"key": "h", "value": "1"}]
    assert (rows[0]["topic"], rows[0]["partition"], rows[2]["offset"]) == ("orders", 1, 2)
    assert rows[0]["timestamp"].startswith("2026-01-02")


@pytest.mark.parametrize("is_terminal", [True, False])
def test_brokers_that_do_not_answer(monkeypatch, is_terminal):
    """On a terminal nobody has to wait for the error at the end to learn what is tried."""
    errors = io.StringIO()
    errors.isatty = lambda: is_terminal
    monkeypatch.setattr("sys.stderr", errors)
    monkeypatch.setattr("kcodec.kafka.connection.cluster._LONG", 0.05)
    wait = ("-X", "default.api.timeout.ms=300", "-X", "retry.backoff.ms=20")
    assert main(["consume", "orders", "-b", "localhost:1", *wait]) == 2
    *told, end = errors.getvalue().splitlines()
    refused = "kcodec consume: localhost:1: cannot connect: Connection refused"
    assert told == ([f"{refused} (trying again for 0 s)"] if is_terminal else [])
    assert end == f"{refused} (after tries for 300 ms)"


def test_lines_of_a_json_schema(run, cluster, tmp_path):
    registry = f"sqlite:///{tmp_path}/json.db"
    schema = '{"properties":{"id":{"type":"integer"},"any":{}}}'
    kcodec.registry.open(registry).register("orders-value", kcodec.registry.Schema(schema, "JSON"))
    values = ("--value", "json_sr", "--registry", registry)
    lines = b'{"id":1,"any":{"x":[1, 2]}}\n{"id":2}\n'
    assert run("produce", "orders", *values, stdin=lines)[::2] == (0, "")
    status, out, _ = run("consume", "orders", *values, "-o", "text")
    assert status == 0
    assert sorted(out.splitlines()) == ['{"id":1,"any":{"x":[1,2]}}', '{"id":2}']


def test_messages_of_old_formats(run, cluster):
    """Those of the first one have no time, as Kafka's console consumer says."""
    for magic in (0, 1, 2):
        data = write_batches(pa.table({"value": [b"%d" % magic]}), base_offset=magic, magic=magic)
        cluster.logs["orders", 0].append((magic, magic, data))
    _, out, _ = run("consume", "orders", "--property", "print.timestamp=true")
    assert out.splitlines() == ["NO_TIMESTAMP\t0", "CreateTime:-1\t1", "CreateTime:-1\t2"]


def test_times_of_all_years(run, cluster):
    """Milliseconds that are microseconds, as some producers write them, are of years that Python and JSON lack."""
    times = pa.array([1_700_000_000_000_000, 1_700_000_000_000], pa.int64())
    table = pa.table({"value": [b"a", b"b"], "timestamp": times})
    write(table, "orders", partition=0, servers=cluster.address, config=FAST)
    far, near = "+055840-11-08T22:13:20.000000Z", "2023-11-14T22:13:20.000000Z"
    read_all = ("consume", "orders", "--columns", "timestamp", "-o")
    status, out, _ = run(*read_all, "json")
    assert (status, [json.loads(line)["timestamp"] for line in out.splitlines()]) == (0, [far, near])
    for format in ("table", "csv"):
        status, out, _ = run(*read_all, format)
        shown = [line.strip('"').replace(" ", "T") for line in out.splitlines()[1:]]
        assert (status, shown) == (0, [far, near])
    text = run("consume", "orders", "-o", "text", "--property", "print.timestamp=true")[1]
    assert text == "CreateTime:1700000000000000\ta\nCreateTime:1700000000000\tb\n"


def test_what_json_does_not_hold_has_its_place(run, cluster, tmp_path):
    registry = f"sqlite:///{tmp_path}/when.db"
    when = {"type": "long", "logicalType": "timestamp-millis"}
    schema = json.dumps({"type": "record", "name": "R", "fields": [{"name": "when", "type": when}]})
    value = {"format": "AVRO", "registry": registry, "schema": schema}
    times = pa.array([0, 253_402_300_800_000], pa.timestamp("ms", "UTC"))
    rows = pa.table({"value": pa.StructArray.from_arrays([times], ["when"])})
    write(rows, "orders", value=value, partition=1, servers=cluster.address, config=FAST)
    for format in ("json", "table", "csv"):
        status, _, errors = run("consume", "orders", "--value", "avro", "--registry", registry, "-o", format)
        assert status == 2
        assert errors.startswith("kcodec consume: orders-1, offset 1: out_of_range: ")
        assert errors.endswith("; -o parquet has all values\n")


def test_numbers_that_are_not_finite(run, cluster, tmp_path):
    registry = f"sqlite:///{tmp_path}/double.db"
    schema = json.dumps({"type": "record", "name": "R", "fields": [{"name": "x", "type": "double"}]})
    kcodec.registry.open(registry).register("orders-value", kcodec.registry.Schema(schema))
    avro = ("orders", "--value", "avro", "--registry", registry)
    lines = '{"x":"NaN"}\n{"x":"-Infinity"}\n{"x":1.5}\n'
    assert run("produce", *avro, "--partition", "0", stdin=lines.encode())[::2] == (0, "")
    assert run("consume", *avro, "--columns", "value.*")[:2] == (0, lines)


def test_consume_some(run, filled):
    avro = ("consume", "orders", "--value", "avro", "--registry", filled, "--columns", "value.id,offset")

    def ids(*more):
        status, out, errors = run(*avro, *more)
        assert status == 0, errors
        return [json.loads(line)["id"] for line in out.splitlines()]

    assert ids() == [1, 2, 3]
    assert ids("--from", "-1") == [3]
    assert ids("--to=-1") == [1, 2]
    assert ids("--from", '{"orders": {"1": 1}}', "-n", "1") == [2]
    assert ids("--where", "id > 1 and offset != 2") == [2]
    assert ids("--where", "not (id in [1, 2])") == [3]
    for text in ("sometimes", "5", "-0"):
        status, _, errors = run(*avro, f"--from={text}")
        message = f"kcodec consume: --from {text!r} is not earliest, latest, -N, a time or JSON\n"
        assert (status, errors) == (2, message)


def test_more_records_than_there_can_be(run, filled):
    status, out, errors = run("consume", "orders", "--columns", "offset", "-n", str(1 << 70))
    assert (status, len(out.splitlines())) == (0, 3), errors


def test_files_of_settings(run, filled, tmp_path):
    file = tmp_path / "settings"
    file.write_bytes(b"\xef\xbb\xbfclient.id = me\n# none\n! none\n\nauto.offset.reset: \\\n    earliest\n")
    assert run("consume", "orders", "--config", file)[::2] == (0, "")
    file.write_bytes(b"client.id=\xff\n")
    status, _, errors = run("consume", "orders", "--config", file)
    assert (status, errors) == (2, f"kcodec consume: {file} is not text: invalid start byte at byte 10\n")


def test_consume_as_others_print(run, filled, cluster, tmp_path):
    avro = ("consume", "orders", "--value", "avro", "--property", f"schema.registry.url={filled}")
    _, out, _ = run(*avro, "-o", "text", "--property", "print.key=true", "--property", "key.separator=|")
    assert out.splitlines() == [
        'a|{"id":1,"note":{"string":"ä"}}',
        'b|{"id":2,"note":null}',
        'null|{"id":3,"note":{"string":"z"}}',
    ]
    everything = [
        f"--property=print.{name}= True" for name in ("timestamp", "partition", "offset", "headers")
    ]
    _, out, _ = run("consume", "orders", *everything, "--property=print.value=false")
    assert out.splitlines()[:2] == [
        "CreateTime:1767312000000\tPartition:1\tOffset:0\th:1",
        "CreateTime:1767312000000\tPartition:1\tOffset:1\tNO_HEADERS",
    ]
    _, out, _ = run(*avro, "-o", "csv", "--columns", "offset,key,value")
    assert list(csv.reader(io.StringIO(out)))[:2] == [
        ["offset", "key", "value"],
        ["0", "a", '{"id":1,"note":"ä"}'],
    ]
    _, out, _ = run(*avro, "-o", "table", "--columns", "offset,value.note")
    assert out.splitlines() == ["offset  note", "     0  ä", "     1", "     2  z"]
    file = tmp_path / "out.parquet"
    assert run(*avro, "-o", "parquet", "--output", file)[0] == 0
    assert pq.read_table(file)["value"].to_pylist() == ROWS
    assert run(*avro, "-o", "parquet")[::2] == (2, "kcodec consume: -o parquet needs --output FILE\n")
    write(
        pa.table({"value": pa.nulls(2, pa.binary())}),
        "orders",
        partition=0,
        servers=cluster.address,
        config=FAST,
    )
    assert run(*avro, "-o", "parquet", "--output", file)[0] == 0
    assert sorted(pq.read_table(file)["value"].to_pylist(), key=str) == sorted([*ROWS, None, None], key=str)


BLOB = {
    "type": "record",
    "name": "Blob",
    "fields": [
        {"name": "raw", "type": "bytes"},
        {"name": "a", "type": {"type": "array", "items": "bytes"}},
        {"name": "id", "type": {"type": "fixed", "name": "Id", "size": 2}},
    ],
}
BLOBS = [
    {"raw": b"\1\2", "a": [b"\xff"], "id": b"\0\0"},
    {"raw": b"text", "a": [], "id": b"ab"},
    {"raw": b"", "a": [b"\\xff", b""], "id": b"\xff\xff"},
]


@pytest.fixture
def blobs(cluster, tmp_path):
    registry = f"sqlite:///{tmp_path}/blobs.db"
    values = pa.array(BLOBS, kcodec.AvroCodec(BLOB).arrow_type)
    headers = pa.array([[("h", b"\xff1")], [], []], pa.map_("string", "binary"))
    table = pa.table({"key": [b"a\xff", b"b", None], "value": values, "headers": headers})
    serde = kcodec.Serde("AVRO", registry, topic="orders", schema=BLOB)
    write(table, "orders", value=serde, partition=0, servers=cluster.address, config=FAST)
    return registry


def test_bytes_are_shown_alike(run, blobs):
    avro = ("consume", "orders", "--value", "avro", "--registry", blobs, "-n", "1", "-o")
    expected = {
        "key": "a\\xff",
        "headers": [{"key": "h", "value": "\\xff1"}],
        "value": {"raw": "AQI=", "a": ["/w=="], "id": "AAA="},
    }
    assert json.loads(run(*avro, "json", "--columns", "key,headers,value")[1]) == expected
    assert json.loads(run(*avro, "json", "--columns", "value.*")[1]) == expected["value"]
    assert json.loads(run(*avro, "json", "--columns", "value.raw")[1]) == {"raw": "AQI="}

    def cells(names):
        _, row = csv.reader(io.StringIO(run(*avro, "csv", "--columns", names)[1]))
        table = run(*avro, "table", "--columns", names)[1].splitlines()[1]
        assert table.split("  ") == row
        return row

    assert cells("key,value.raw,value.id") == ["a\\xff", "AQI=", "AAA="]
    assert json.loads(cells("headers")[0]) == expected["headers"]
    assert json.loads(cells("value")[0]) == expected["value"]


def test_json_comes_back(run, cluster, blobs):
    values = ("--value", "avro", "--registry", blobs)
    lines = run("consume", "orders", *values, "-o", "json", "--columns", "value.*")[1]
    assert run("produce", "orders", *values, "--partition", "1", stdin=lines.encode())[::2] == (0, "")
    serde = {"format": "AVRO", "registry": blobs}
    for partition in (0, 1):
        found = read(
            "orders",
            start={"orders": {1 - partition: "latest"}},
            columns=["value.*"],
            value=serde,
            servers=cluster.address,
            config=FAST,
        )
        assert found.read_all().to_pylist() == BLOBS


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full disk")
def test_a_file_that_cannot_be_written(run, filled, cluster):
    rows = pa.table({"value": [os.urandom(1_000) for _ in range(3_000)]})
    write(rows, "orders", servers=cluster.address, config={**FAST, "batch.size": 50_000})
    status, _, errors = run("consume", "orders", "-o", "parquet", "--output", "/dev/full")
    assert (status, "No space left" in errors) == (2, True)


def test_consume_what_is_damaged(run, filled, cluster, caplog):
    write(pa.table({"value": [b"\2bad bytes"]}), "orders", partition=1, servers=cluster.address, config=FAST)
    status, out, errors = run(
        "consume", "orders", "--value", "avro", "--registry", filled, "--columns", "value"
    )
    assert status == 1
    assert [json.loads(line)["value"] for line in out.splitlines()] == [*ROWS, None]
    assert errors == "orders-1, offset 3, value: frame_magic: the first byte is not a known magic byte\n"
    # Python would print warnings of a log that is not set up below that.
    assert [record for record in caplog.records if record.levelname == "WARNING"] == []


def test_fields_that_are_called_like_places(run, cluster, tmp_path):
    place = {"type": "record", "name": "Place", "fields": [{"name": "offset", "type": "long"}]}
    (tmp_path / "place.avsc").write_text(json.dumps(place))
    avro = ("--value", "avro", "--registry", f"sqlite:///{tmp_path}/place.db")
    assert (
        run("produce", "orders", *avro, "--schema", tmp_path / "place.avsc", stdin=b'{"offset":7}\n')[0] == 0
    )
    for columns in ("value.offset", "value.*"):
        status, out, errors = run("consume", "orders", *avro, "--columns", columns, "-n", "1")
        assert (status, out, errors) == (0, '{"offset":7}\n', "")


def test_faults_behind_the_last_record(run, filled, cluster):
    rows = pa.table({"value": [b"\2bad bytes", b"\2bad bytes"]})
    write(rows, "orders", partition=0, servers=cluster.address, config=FAST)
    avro = ("consume", "orders", "--value", "avro", "--registry", filled, "--from", '{"orders": {"1": -1}}')
    status, out, errors = run(*avro, "--columns", "value.id", "-n", "1")
    assert (status, json.loads(out), errors.count("\n")) == (1, {"id": None}, 1)
    assert errors.startswith("orders-0, offset 0, value: ")


@pytest.mark.sampled(5)
@pytest.mark.parametrize("columns", ["value", "value.*", "value.id", "offset, value.topic"])
@pytest.mark.parametrize("more", [(), ("--follow",), ("--follow", "--group", "g")], ids=" ".join)
def test_a_number_of_records_is_that_whatever_the_columns(run, cluster, tmp_path, columns, more):
    """What is behind the last record neither counts nor fails, and is read next; fields may be called as places are."""
    fields = [{"name": name, "type": "long"} for name in ("id", "offset", "topic")]
    place = json.dumps({"type": "record", "name": "Place", "fields": fields})
    serde = kcodec.Serde("AVRO", f"sqlite:///{tmp_path}/place.db", topic="orders", schema=place)
    rows = [{"id": number, "offset": -1, "topic": -2} for number in range(3)]
    values = [*serde.serialize(rows, as_list=True), b"bad", b"bad", *serde.serialize(rows[:1], as_list=True)]
    cluster.put(("orders", 0), write_batches(pa.table({"value": pa.array(values, pa.binary())})))
    consume = ("consume", "orders", "--value", "avro", "--registry", f"sqlite:///{tmp_path}/place.db")
    consume += ("--from", "earliest", "--columns", columns, *more, "-n")
    status, out, errors = run(*consume, "2")
    assert (status, errors, len(out.splitlines())) == (0, "", 2)
    if more[1:]:
        assert cluster.committed["g", "orders", 0] == 2
        assert run(*consume, "1")[::2] == (0, "")
        assert cluster.committed["g", "orders", 0] == 3
        return
    # The last record that is wanted is the last that a condition takes, too: none of those behind it is looked at.
    if columns != "value":
        field = "topic" if "topic" in columns else "id"
        assert run(*consume, "3", "--where", f"{field} >= -2 and offset != 5")[::2] == (0, "")
    assert run(*consume, "3")[::2] == (0, "")
    status, out, errors = run(*consume, "4")
    assert (status, len(out.splitlines())) == (1, 4)
    assert errors == "orders-0, offset 3, value: frame_magic: the first byte is not a known magic byte\n"


def test_records_that_were_read_ahead(run, cluster, registry):
    """It takes all partitions to know the columns where the first has nulls: bad records of others are behind it."""
    cluster.put(("orders", 0), write_batches(pa.table({"value": pa.nulls(2, pa.binary())})))
    cluster.put(("orders", 1), write_batches(pa.table({"value": [b"bad", b"bad"]})))
    kcodec.registry.open(registry).delete_subject("orders-value")
    avro = (
        "consume",
        "orders",
        "--value",
        "avro",
        "--registry",
        registry,
        "--columns",
        "value,partition",
        "-n",
    )
    assert run(*avro, "0")[::2] == (0, "")
    status, out, errors = run(*avro, "2")
    assert (status, errors, out.count("null")) == (0, "", 2)
    status, out, errors = run(*avro, "3")
    assert (status, out.count("null"), errors.count("\n")) == (1, 3, 1)
    status, out, errors = run(*avro, "5")
    assert (status, out.count("null"), errors.count("\n")) == (1, 4, 2)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("format", "number"), [("json", signal.SIGINT), ("csv", signal.SIGTERM), ("parquet", signal.SIGTERM)]
)
def test_following_until_a_signal(cluster, filled, tmp_path, format, number):
    """Faults are told, and lines written, as they come; files are closed."""
    write(pa.table({"value": [b"\2bad bytes"]}), "orders", partition=1, servers=cluster.address, config=FAST)
    file = tmp_path / f"out.{format}"
    command = (
        "consume",
        "orders",
        "-b",
        cluster.address,
        "--value",
        "avro",
        "--registry",
        filled,
        "--follow",
    )
    more = ("--from", "earliest", "--columns", "offset,value", "-o", format, "--output", file)
    settings = [f"-X{name}={value}" for name, value in FAST.items()]
    with subprocess.Popen(
        [sys.executable, "-m", "kcodec.cli.main", *command, *more, *settings],
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert any(line.startswith("orders-1, offset 3, value: frame_magic: ") for line in process.stderr)
        if format != "parquet":
            assert len(file.read_text().splitlines()) == 4 + (format == "csv")
        process.send_signal(number)
        assert (process.stderr.read(), process.wait(20)) == ("", 1)
    if format == "parquet":
        assert pq.read_table(file)["offset"].to_pylist() == [0, 1, 2, 3]


@pytest.mark.parametrize("columns", ["value.id", "partition,offset,value.id"])
def test_consume_with_a_group(run, filled, columns):
    """What was written is committed, and nothing behind it."""
    avro = ("consume", "orders", "--value", "avro", "--registry", filled, "--columns", columns)
    for number, expected in ((1, [1]), (0, []), (2, [2, 3])):
        more = ("--follow", "--from", "earliest", "--group", "g", "-n", number)
        status, out, errors = run(*avro, *more)
        assert (status, errors) == (0, "")
        rows = [json.loads(line) for line in out.splitlines()]
        assert [row["id"] for row in rows] == expected
        assert all(len(row) == len(columns.split(",")) for row in rows)


def test_consume_some_of_a_group(run, filled, cluster):
    """A condition leaves records out, which are not read again; those behind the last one that is written are."""
    avro = ("consume", "orders", "--value", "avro", "--registry", filled, "--columns", "value.id")
    group = (*avro, "--follow", "--from", "earliest", "--group", "g", "-n", "1")
    assert json.loads(run(*group, "--where", "id > 1")[1]) == {"id": 2}
    assert json.loads(run(*group)[1]) == {"id": 3}


@pytest.mark.parametrize("subject", ["orders", "others"])
@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_following_what_begins_with_nulls(run, cluster, registry, number, subject):
    """Which columns there are, the latest schema says, or the first value."""
    if subject == "others":
        kcodec.registry.open(registry).delete_subject("orders-value")
    serde = kcodec.Serde("AVRO", registry, topic="others", schema=ORDER)
    for offset, values in enumerate([None, None, serde.serialize(pa.array(ROWS[:1])), None]):
        table = pa.table({"value": pa.nulls(1, pa.binary()) if values is None else values})
        cluster.put(("orders", 0), write_batches(table, base_offset=offset))
    avro = ("consume", "orders", "--value", "avro", "--registry", registry, "--columns", "value.id,offset")
    following = ("--follow", "--from", "earliest", "-X", "max.partition.fetch.bytes=1", "-n", number)
    status, out, errors = run(*avro, *following, "--group", "g", "-o", "csv")
    rows = ["", "", "1", ""][:number]
    assert (status, errors) == (0, "")
    assert [row["id"] for row in csv.DictReader(io.StringIO(out))] == rows
    assert cluster.committed["g", "orders", 0] == number


def test_columns_that_parquet_does_not_have(run, tmp_path):
    text = 'syntax = "proto3"; message Order { int64 id = 1; Nothing none = 2; } message Nothing {}'
    registry = f"sqlite:///{tmp_path}/protobuf.db"
    kcodec.registry.open(registry).register("orders-value", kcodec.registry.Schema(text, "PROTOBUF"))
    place = ("orders", "--value", "protobuf", "--registry", registry, "--message", "Order")
    assert run("produce", *place, stdin=b'{"id":1,"none":{}}\n')[0] == 0
    file = tmp_path / "out.parquet"
    status, _, errors = run("consume", *place, "--output", file)
    assert status == 2
    assert errors.startswith(
        "kcodec consume: -o parquet: Cannot write struct type 'none' with no child field"
    )
    assert errors.endswith("; --columns says which are written\n")
    assert run("consume", *place, "--columns", "value.id", "--output", file)[0] == 0
    assert pq.read_table(file).to_pylist() == [{"id": 1}]


def test_lines_of_protobuf_need_not_have_all_fields(run, tmp_path):
    """As Confluent's console producer takes them; what has to be there, and what a list cannot hold, is told."""
    text = """syntax = "proto2"; message Order { required int64 id = 1; optional string note = 2; repeated int32 n = 3;
        map<string, int32> counts = 4; repeated Item items = 5; message Item { optional int32 a = 1; } }"""
    registry = f"sqlite:///{tmp_path}/protobuf.db"
    kcodec.registry.open(registry).register("orders-value", kcodec.registry.Schema(text, "PROTOBUF"))
    place = ("orders", "--value", "protobuf", "--registry", registry, "--message", "Order")
    lines = b'{"id":1}\n{"note":"x"}\n{"id":3,"n":[null]}\n{"id":4,"items":[{}],"counts":null}\n'
    status, _, errors = run("produce", *place, stdin=lines)
    assert [line.split(": ")[1:3] for line in errors.splitlines()[:2]] == [
        ["missing_required", "line 2, id"],
        ["null_value", "line 3, n[0]"],
    ]
    _, out, _ = run("consume", *place, "--columns", "value.*")
    rows = [json.loads(line) for line in out.splitlines()]
    assert (status, rows) == (
        1,
        [
            {"id": 1, "note": None, "n": [], "counts": {}, "items": []},
            {"id": 4, "note": None, "n": [], "counts": {}, "items": [{"a": None}]},
        ],
    )


@pytest.mark.parametrize("format", ["json", "csv", "parquet"])
def test_following_nothing_but_nulls_until_an_end(run, cluster, registry, monkeypatch, tmp_path, format):
    """What waits for the first value is written when there will be none."""

    def poll(follower, seconds):
        if came:
            raise KeyboardInterrupt
        found = polled(follower, seconds)
        came.extend([] if found is None else [found])
        return found

    polled, came = Follower.poll, []
    monkeypatch.setattr(Follower, "poll", poll)
    kcodec.registry.open(registry).delete_subject("orders-value")
    cluster.put(("orders", 0), write_batches(pa.table({"value": pa.nulls(2, pa.binary())})))
    avro = ("consume", "orders", "--value", "avro", "--registry", registry, "--columns", "offset,value")
    file = tmp_path / f"out.{format}"
    assert run(*avro, "--follow", "--from", "earliest", "-o", format, "--output", file) == (0, "", "")
    if format == "parquet":
        assert pq.read_table(file).to_pylist() == [{"offset": 0, "value": None}, {"offset": 1, "value": None}]
    else:
        lines = {"json": ['{"offset":0,"value":null}', '{"offset":1,"value":null}'], "csv": ["0,", "1,"]}
        assert file.read_text().splitlines()[-2:] == lines[format]


def test_what_is_refused(run, cluster, monkeypatch):
    assert run("consume", "orders", "-X", "fetch.max.byte=1")[2].endswith("did you mean 'fetch.max.bytes'?\n")
    assert run("consume", "orders", "--property", "print.nothing=true")[0] == 2
    assert run("consume", "orders", "-X", "hunter2")[2] == "kcodec consume: -X takes NAME=VALUE\n"
    assert run("consume", "orders", "--where", "offset + 1 > 2")[0] == 2
    assert run("consume", "orders", "--group", "g")[2] == "kcodec consume: --group is for --follow\n"
    endless = run("consume", "orders", "--follow", "--to", "latest", "-n", "0")
    assert endless[::2] == (2, "kcodec consume: --follow has no end: --to is for reading without it\n")
    assert "UNKNOWN_TOPIC_OR_PARTITION" in run("consume", "nothing")[2]
    monkeypatch.delenv("KCODEC_KAFKA_BOOTSTRAP_SERVERS")
    assert run("consume", "orders")[2] == "kcodec consume: no brokers are given: --server HOST:PORT\n"


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (
            ("-o", "text", "--columns", "key"),
            "-o text prints the column 'value', which is not one of --columns",
        ),
        (("--columns", "value", "--property", "print.key=true"), "-o text prints the column 'key'"),
        (("-o", "text", "--columns", "value.id", "--value", "avro"), "-o text prints the column 'value'"),
        (
            ("--columns", "value,timestamp", "--property", "print.timestamp=true"),
            "-o text prints the column 'timestampType'",
        ),
        (("--where", "offset"), "--where 'offset': "),
    ],
)
def test_columns_that_do_not_do(run, filled, more, message):
    status, _, errors = run("consume", "orders", "--registry", filled, *more)
    assert (status, message in errors, errors.count("\n")) == (2, True, 1)


@pytest.mark.parametrize("count", ["-1", "x", "1.5"])
def test_a_number_of_records_that_is_none(run, filled, count):
    with pytest.raises(SystemExit) as left:
        run("consume", "orders", f"-n={count}")
    assert left.value.code == 2


def test_conditions_on_what_is_not_written(run, filled):
    avro = ("consume", "orders", "--value", "avro", "--registry", filled)

    def rows(*more):
        status, out, errors = run(*avro, *more)
        assert (status, errors) == (0, "")
        return [json.loads(line) for line in out.splitlines()]

    assert rows("--columns", "value.note", "--where", "value.id >= 2") == [{"note": None}, {"note": "z"}]
    assert rows("--columns", "value.id", "--where", "key == 'b' or offset == 2") == [{"id": 2}, {"id": 3}]
    assert rows("--columns", "value.*", "--where", "value.id == 2") == [{"id": 2, "note": None}]
    assert rows("--columns", "value.*, offset", "--where", "id == 3") == [{"id": 3, "note": "z", "offset": 2}]
    some = ("--columns", "value.note", "--where", "value.id >= 2", "-n", "1")
    assert rows(*some) == [{"note": None}]
    unknown = run(*avro, "--columns", "value.note", "--where", "value.none == 2")
    assert unknown[::2] == (2, "kcodec consume: --where 'value.none == 2': there is no 'none' in id, note\n")
    # Columns that the command reads for itself are not told.
    unknown = run(*avro, "--columns", "value.note", "--where", "none == 2")
    assert unknown[::2] == (2, "kcodec consume: --where 'none == 2': there is no 'none' in note\n")


def test_keys_that_are_numbers_are_bare(run, registry):
    keyed = ("orders", "--value", "avro", "--registry", registry, "--key", "bigint")
    assert run("produce", *keyed, "--key-field", "id", stdin=b'{"id":5,"note":null}\n{"id":6}\n')[0] == 0
    lines = run("consume", *keyed, "--columns", "key,value.id")[1].splitlines()
    assert sorted(lines) == ['{"key":5,"id":5}', '{"key":6,"id":6}']
    assert run("consume", *keyed, "--columns", "value.id", "--where", "key > 5")[1] == '{"id":6}\n'
    assert run("consume", *keyed, "--columns", "key", "--where", "key > 5", "-o", "csv")[1] == '"key"\n6\n'


def test_files_are_what_they_are_called(run, filled, tmp_path):
    avro = ("consume", "orders", "--value", "avro", "--registry", filled, "--columns", "value.*", "--output")
    for name in ("a.parquet", "a.CSV", "a.jsonl", "a.csv"):
        more = ("-o", "json") if name == "a.csv" else ()
        assert run(*avro, tmp_path / name, *more)[::2] == (0, "")
    assert pq.read_table(tmp_path / "a.parquet").to_pylist() == ROWS
    assert (tmp_path / "a.CSV").read_text().splitlines() == ['"id","note"', '1,"ä"', "2,", '3,"z"']
    for name in ("a.jsonl", "a.csv"):
        assert [json.loads(line) for line in (tmp_path / name).read_text().splitlines()] == ROWS


def test_messages_of_protobuf(run, tmp_path):
    text = """syntax = "proto3"; package shop;
        message Order { int64 id = 1; } message Refund { int64 id = 1; string why = 2; }"""
    registry = f"sqlite:///{tmp_path}/protobuf.db"
    kcodec.registry.open(registry).register("orders-value", kcodec.registry.Schema(text, "PROTOBUF"))
    place = ("orders", "--value", "protobuf", "--registry", registry)
    refund = ("produce", *place, "--partition", "0", "--message", "Refund")
    assert run(*refund, stdin=b'{"id":1,"why":"late"}\n')[::2] == (0, "")
    unsaid = run("produce", *place, stdin=b'{"id":2}\n')
    assert unsaid[::2] == (2, "kcodec produce: no message of 'orders' is known: --message NAME\n")
    assert run("produce", *place, "--partition", "0", "--message", "Order", stdin=b'{"id":2}\n')[0] == 0
    both = ("--message", "Order, shop.Refund")
    status, out, _ = run("consume", *place, *both, "--columns", "value")
    rows = [{"shop.Order": None, "shop.Refund": {"id": 1, "why": "late"}}]
    rows.append({"shop.Order": {"id": 2}, "shop.Refund": None})
    assert (status, [json.loads(line)["value"] for line in out.splitlines()]) == (0, rows)
    some = ("--columns", "value.shop.Refund.why", "--where", "value.shop.Refund.id == 1")
    assert run("consume", *place, *both, *some)[1] == '{"why":"late"}\n'
    status, out, errors = run("consume", *place, "--message", "Refund", "--columns", "value.why")
    assert (status, out) == (1, '{"why":"late"}\n{"why":null}\n')
    assert "values of the message shop.Order are not read as shop.Refund" in errors
    short = ("produce", *place, "--partition", "1", "--message", "Order,Refund")
    status, _, errors = run(*short, stdin=b'{"Refund":{"why":"broken"}}\n{"shop.Refund":{"why":"broken"}}\n')
    assert (status, errors.splitlines()[0]) == (
        1,
        "kcodec produce: union_members: line 1: not exactly one member of the union is set (one of shop.Order, "
        "shop.Refund is wanted)",
    )
    _, out, _ = run(
        "consume", *place, "--message", "Refund", "--from", '{"orders":{"1":0}}', "--to", '{"orders":{"1":1}}'
    )
    assert json.loads(out)["value"] == {"id": 0, "why": "broken"}
    for command, format in (("consume", "avro"), ("produce", "bigint"), ("consume", "bytes")):
        wrong = run(command, "orders", "--registry", registry, "--value", format, "--message", "Order")
        assert wrong[::2] == (2, f"kcodec {command}: --message is for --value protobuf\n")


@pytest.mark.parametrize("format", ["json", "csv", "parquet"])
def test_a_file_is_kept_where_nothing_can_be_read(run, filled, tmp_path, format):
    kept = tmp_path / "kept"
    kept.write_text("as it was")
    for more in (
        ("nothing",),
        ("nothing", "--follow"),
        ("orders", "--columns", "none"),
        ("orders", "--where", "x"),
    ):
        assert run("consume", *more, "-o", format, "--output", kept)[0] == 2
        assert kept.read_text() == "as it was"


def test_formats_without_a_schema(run, cluster):
    for format in ("delimited", "protobuf_nosr"):
        for command in ("consume", "produce"):
            status, _, errors = run(command, "orders", "--value", format, stdin=b"{}\n")
            assert status == 2
            assert errors.startswith(
                f"kcodec {command}: --value {format}: its columns can be given in Python only; "
            )
    for command in ("consume", "produce"):
        status, _, errors = run(command, "orders", "--value", "avroo", stdin=b"")
        assert (status, errors) == (
            2,
            f"kcodec {command}: --value avroo is not one of avro, json_sr, protobuf or a plugin's, with a registry; "
            "json, connect_json (only read), string, bytes, int, bigint, double\n",
        )


def test_no_records(run, filled):
    assert run("consume", "orders", "-n", "0")[:2] == (0, "")
    assert run("consume", "orders", "-n", "0", "--follow")[:2] == (0, "")


def test_plain_json(run, cluster, tmp_path):
    documents = [{"a": 1, "note": "ä"}, {"a": 2, "note": None}, {"a": 3, "tags": ["x"]}]
    lines = "".join(f"{json.dumps(each)}\n" for each in documents).encode()
    assert run("produce", "orders", stdin=lines + b"{\n")[::2] == (0, "")

    def values(*arguments):
        status, out, errors = run("consume", "orders", "--value", "json", *arguments)
        return status, [json.loads(line)["value"] for line in out.splitlines()], errors

    status, found, errors = values("--where", "value.a > 1")
    assert (status, found) == (
        1,
        [{"a": 2, "note": None, "tags": None}, {"a": 3, "note": None, "tags": ["x"]}],
    )
    assert "value: truncated: " in errors
    assert values("--where", "value.note like '_'")[1] == [{"a": 1, "note": "ä", "tags": None}]
    columns = tmp_path / "columns.ddl"
    columns.write_text("a DOUBLE\n")
    for schema in ("a DOUBLE", columns):
        assert values("--schema", schema, "--where", "value.a in (1, 3)")[1] == [{"a": 1.0}, {"a": 3.0}]
    assert values("-n", 1, "--key", "string", "--schema", "note STRING")[0] == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("--value", "json"),
            "--value json: no columns can be seen in the last values: nothing; give them with --schema",
        ),
        (("--key", "json"), "--key json: no columns can be seen in the last keys: nothing"),
        (("--value", "avro", "--schema", "a INT"), "--schema is for --value json"),
        (("--value", "json", "--schema", "a NONE"), "the schema is not Spark's DDL"),
        (("other", "--value", "json"), "--value json of several topics: give the columns with --schema"),
        (("--value", "json", "--message", "A"), "--message is for --value protobuf"),
        (("--value", "delimited"), "its columns can be given in Python only; without --value"),
    ],
)
def test_plain_json_without_columns(run, arguments, message):
    status, _, errors = run("consume", "orders", *arguments)
    assert (status, message in errors) == (2, True), errors

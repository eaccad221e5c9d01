"""What becomes of tables that are written: keys, values, headers, times, partitions, and rows that are none."""

import time
from datetime import datetime, timezone

import numpy as np
import polars
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from fake_broker import FakeCluster
from topic_rows import SMALL, numbers, values

import kcodec
from kcodec.errors import ArrayError, ConfigError, EncodeError
from kcodec.kafka import partition_of, read, write
from kcodec.kafka.writing import producer


def test_the_parts_of_records(fast):
    with FakeCluster({"t": 1}) as cluster:
        when = datetime(2026, 1, 2, tzinfo=timezone.utc)
        table = pa.table(
            {
                "key": [b"a", None, b"c"],
                "value": [b"1", b"2", None],
                "timestamp": pa.array([when, None, when], pa.timestamp("us", "UTC")),
                "headers": [[("h", b"x"), ("h", None)], [], None],
            },
            schema=pa.schema(
                [
                    ("key", pa.binary()),
                    ("value", pa.binary()),
                    ("timestamp", pa.timestamp("us", "UTC")),
                    ("headers", pa.map_(pa.string(), pa.binary())),
                ]
            ),
        )
        before = time.time()
        written = write(table, "t", servers=cluster.address, config=fast)
        assert written == ({"t": {0: 0}}, {"t": {0: 3}})
        assert read(written.ranges, servers=cluster.address, config=fast).read_all().num_rows == 3
        found = read(
            "t", servers=cluster.address, columns=["key", "value", "timestamp", "headers"], config=fast
        )
        rows = found.read_all().to_pylist()
        assert [(row["key"], row["value"]) for row in rows] == [(b"a", b"1"), (None, b"2"), (b"c", None)]
        assert [row["headers"] for row in rows] == [
            [{"key": "h", "value": b"x"}, {"key": "h", "value": None}], [], [],
        ]  # fmt: skip
        assert (rows[0]["timestamp"], rows[2]["timestamp"]) == (when, when)
        assert before - 1 <= rows[1]["timestamp"].timestamp() <= time.time() + 1


def test_times_become_milliseconds(fast):
    """What is finer is cut off, towards the past, as everywhere; a null is the time of the call."""
    now = time.time() * 1000
    for times, expected in (
        (pa.array([1_500, -1_500, -2_000], pa.timestamp("us")), [1, -2, -2]),
        (pa.array([1_999_999, -2_000_001], pa.timestamp("ns", "UTC")), [1, -3]),
        (pa.array([2, 5], pa.uint16()), [2, 5]),
        (pa.nulls(2), [now, now]),
    ):
        with FakeCluster({"t": 1}) as cluster:
            table = pa.table({"value": [b"x"] * len(times), "timestamp": times})
            write(table, "t", servers=cluster.address, config=fast)
            found = cluster.records(("t", 0))["timestamp"].cast(pa.int64()).to_pylist()
            assert found == pytest.approx(expected, abs=0 if times.null_count == 0 else 60_000)


@pytest.mark.parametrize("kind", [pa.timestamp("s"), pa.uint64()])
def test_times_beyond_all_milliseconds(fast, kind):
    with FakeCluster({"t": 1}) as cluster:
        last = 1 << (62 if pa.types.is_timestamp(kind) else 63)
        table = pa.table({"value": [b"x", b"y"], "timestamp": pa.array([1, last], kind)})
        with pytest.raises(EncodeError, match=r"^out_of_range: row 1, timestamp: "):
            write(table, "t", servers=cluster.address, config=fast)


def test_tables_of_values(fast):
    """Without a column `value`, the value is all columns."""
    with FakeCluster({"t": 1}) as cluster:
        place = {"servers": cluster.address, "config": fast}
        serde = {"format": "AVRO", "registry": "memory://kafka-writing"}
        orders = pa.table({"id": [1, 2], "note": ["x", None]})
        write(orders, "t", value=serde, **place)
        write(
            polars.DataFrame({"id": [3], "note": ["y"]}),
            "t",
            value=serde,
            columns={"value": ["id", "note"]},
            **place,
        )
        reader = pa.RecordBatchReader.from_batches(orders.schema, orders.to_batches())
        write(reader, "t", value=serde, columns={"key": "note"}, **place)
        found = read(
            "t", key=None, value={**serde, "reader_schema": "id:1"}, columns=["key", "value"], **place
        )
        rows = found.read_all().to_pylist()
        assert [row["value"]["id"] for row in rows[:3]] == [1, 2, 3]
        assert [row["key"] for row in rows] == [None, None, None, b"x", None]
        for data, more, message in (
            (numbers(1), {"partition": 5}, "partition=5: topic 't' has 1"),
            (numbers(1), {"columns": {"values": "value"}}, "'values' is not one of key, value"),
            (numbers(1), {"columns": {"value": "x"}}, "the data has no column 'x', it has value"),
            (numbers(1).append_column("more", [[1]]), {}, "column 'more' is not one of key, value"),
            (
                numbers(1),
                {"key": serde},
                "key: its format is given, and no column for it: say which with columns=",
            ),
            (numbers(1).append_column("partition", [[1]]), {}, "; partition='partition' writes each row to"),
            (numbers(1), {"compression": "brotli"}, "compression='brotli'"),
            (numbers(1), {"partition": "x"}, "the data has no column 'x'"),
            (numbers(1), {"partition": True}, "partition=True is neither a number"),
            (numbers(1), {"partition": 0.0}, "partition=0.0 is neither a number"),
            (numbers(1), {"columns": ["value"]}, "is not a mapping of key, value"),
            (
                numbers(1),
                {"columns": {"key": None}},
                "'key' is the name of a column, or a list of names, not None",
            ),
            (numbers(1), {"columns": {"value": 3}}, "'value' is the name of a column"),
            (
                pa.table({"id": [1]}),
                {},
                r"value: a column of struct<id: int64> .*, or a format \(value='AVRO'\)",
            ),
        ):
            with pytest.raises(ConfigError, match=message):
                write(data, "t", **more, **place)
        for column in (pa.array([b"a"]), pa.chunked_array([[b"a"]])):
            with pytest.raises(TypeError, match="Array is no table"):
                write(column, "t", servers=cluster.address, config=fast)
        with pytest.raises(ConfigError, match="is not a name"):
            write(numbers(1), ["t"], servers=cluster.address, config=fast)
        with pytest.raises(ConfigError, match="and its options, not a type"):
            write(numbers(1), "t", servers=cluster.address, config=fast, value=kcodec.JsonCodec)
        with pytest.raises(TypeError, match="int is no table"):
            write(5, "t", **place)


@pytest.mark.parametrize("made", [pa.array, pc.dictionary_encode, pc.run_end_encode])
def test_columns_of_any_layout(fast, made):
    """Text of polars comes as views, which Arrow does not take rows of; nor does it of runs."""
    texts = {"topic": ["t", "u", "t"], "key": ["a", "b", "c"], "value": ["x", "y", "z"]}
    columns = {name: made(pa.array(column)) for name, column in texts.items()}
    columns |= {
        "timestamp": made(pa.array([1, 2, 3], pa.timestamp("ms"))),
        "place": made(pa.array([1, 0, 0], pa.int32())),
        "headers": pa.array([[("h", "v")], [], []], pa.map_(pa.string_view(), pa.string_view())),
    }
    frame = polars.DataFrame({name: column for name, column in texts.items() if name != "key"})
    with FakeCluster({"t": 2, "u": 2}) as cluster:
        place = {"servers": cluster.address, "config": fast}
        write(
            pa.table(columns),
            columns={name: name for name in ("key", "value", "timestamp", "headers")},
            partition="place",
            **place,
        )
        found = {
            name: cluster.records(name).select(["key", "value", "headers"]).to_pylist()
            for name in cluster.logs
        }
        assert found["t", 1] == [{"key": b"a", "value": b"x", "headers": [{"key": "h", "value": b"v"}]}]
        assert found["t", 0] == [{"key": b"c", "value": b"z", "headers": []}]
        assert found["u", 0] == [{"key": b"b", "value": b"y", "headers": []}]
        assert found["u", 1] == []
        write(frame, **place)
        assert sum(len(cluster.records(("t", number))) for number in range(2)) == 4


def test_columns_that_lead_outside_of_their_buffers(fast):
    offsets = pa.py_buffer(np.array([0, 1 << 30, 3], np.int32))
    wrong = pa.Array.from_buffers(pa.string(), 2, [None, offsets, pa.py_buffer(b"abc")])
    good = pa.array(["t", "u"])
    with FakeCluster({"t": 1, "u": 1}) as cluster:
        for columns in ({"value": wrong, "topic": good}, {"value": good, "topic": wrong}):
            with pytest.raises(ArrayError):
                write(pa.table(columns), servers=cluster.address, config=fast)


def test_parts_of_a_table_without_rows(fast):
    """A reader of a table gives slices without rows as they are, to which Arrow's C interface has no memory."""
    values = pa.array(["long text of a row", "a"], pa.string_view())
    table = pa.table({"value": pa.chunked_array([values.slice(1, 0), values, values.slice(2)])})
    with FakeCluster({"t": 1}) as cluster:
        write(table, "t", servers=cluster.address, config=fast)
        assert cluster.records(("t", 0))["value"].cast(pa.binary()).to_pylist() == [
            b"long text of a row",
            b"a",
        ]


def test_schema_ids_in_headers(fast):
    config = {"value.schema.id.serializer": "HeaderSchemaIdSerializer"}
    serde = kcodec.Serde("AVRO", "memory://kafka-headers", topic="t", schema='"long"', config=config)
    with FakeCluster({"t": 1}) as cluster:
        place = {"servers": cluster.address, "config": fast}
        data = pa.table(
            {
                "value": pa.array([5, None]),
                "headers": pa.array([[("a", b"1")], None], pa.map_("string", "binary")),
            }
        )
        write(data, "t", value=serde, **place)
        found = read("t", value=serde, columns=["value", "headers"], **place).read_all()
        assert found["value"].to_pylist() == [5, None]
        assert [[pair["key"] for pair in row] for row in found["headers"].to_pylist()] == [
            ["a", serde.header],
            [],
        ]


def test_a_serde_of_another_topic(fast, caplog):
    data = pa.table({"value": [1], "topic": ["t"]})
    other = {"registry": "memory://kafka-other-topic", "topic": "orders", "schema": '"int"'}
    named = {"subject.name.strategy": "RecordName"}
    record = {**other, "schema": '{"type":"record","name":"R","fields":[]}', "config": named}
    with FakeCluster({"t": 1}) as cluster:
        place = {"servers": cluster.address, "config": fast}
        for value in (
            kcodec.Serde("AVRO", **{**other, "topic": "t"}),
            {"format": "AVRO", **other, "topic": "t"},
        ):
            write(data, value=value, **place)
        write(pa.table({"value": [{}]}), "t", value=kcodec.Serde("AVRO", **record), **place)
        assert caplog.text == ""
        serde = kcodec.Serde("AVRO", **other)
        write(pa.concat_tables([data, data]), value=serde, **place)
        assert caplog.text.count("the value of topic t is written by") == 1
        assert "a serde of topic orders" in caplog.text


def test_rows_that_cannot_be_encoded(fast):
    serde = kcodec.Serde("AVRO", "memory://kafka-bad-rows", topic="t", schema='"int"')
    with FakeCluster({"t": 1}) as cluster:
        data = pa.table({"value": [*range(70_000), 1 << 40]})
        with pytest.raises(EncodeError, match="out_of_range: row 70000"):
            write(data, "t", value=serde, servers=cluster.address, config=fast)


def test_rows_that_no_batch_can_have(fast):
    """The row is that of the data, wherever its partition has it."""
    pair = pa.struct([("key", pa.string()), ("value", pa.binary())])
    headers = pa.array(
        [[{"key": None if row == 77 else "h", "value": b""}] for row in range(100)], pa.list_(pair)
    )
    keys = pa.array([b"%d" % (row % 10) for row in range(100)])
    data = numbers(100).append_column("key", keys).append_column("headers", headers)
    with FakeCluster({"t": 4}) as cluster:
        with pytest.raises(EncodeError, match="null_value: row 77"):
            write(data, "t", servers=cluster.address, config=fast)
        with pytest.raises(EncodeError, match="null_value: row 77"):
            write(data.drop_columns("key"), "t", servers=cluster.address, config={**fast, "batch.size": 500})


def test_partitions(fast):
    with FakeCluster({"t": 5}, brokers=2) as cluster:
        place = {"servers": cluster.address, "config": fast}
        keys = pa.array([b"%d" % (number % 40) for number in range(500)])
        table = numbers(500).append_column("key", keys)
        write(table, "t", **place)
        chosen = partition_of(keys, 5).to_pylist()
        for partition in range(5):
            assert values(cluster, partition) == [row for row in range(500) if chosen[row] == partition]
        assert len(set(chosen)) == 5
        before = [len(values(cluster, partition)) for partition in range(5)]
        write(numbers(100), "t", partition=3, **place)
        before[3] += 100
        column = numbers(50).append_column(
            "where", pa.array([number % 2 for number in range(50)], pa.int64())
        )
        write(column, "t", partition="where", **place)
        after = [len(values(cluster, partition)) for partition in range(5)]
        assert after == [before[0] + 25, before[1] + 25, *before[2:]]
        assert values(cluster, 1)[-25:] == list(range(1, 50, 2))
        for bad in (
            pa.array([9] * 50),
            pa.array([-1] * 50, pa.int8()),
            pa.array([(1 << 64) - 1] * 50, pa.uint64()),
        ):
            with pytest.raises(ConfigError, match=rf"partition {bad[0]}: topic 't' has 5"):
                write(column.set_column(1, "where", bad), "t", partition="where", **place)
        # Records without a key fill batches of one partition, then of the next.
        write(numbers(2_000, start=10_000), "t", **place, compression="none")
        assert sum(len(values(cluster, partition)) for partition in range(5)) == 500 + 100 + 50 + 2_000


def test_records_without_a_key_are_spread(fast):
    with FakeCluster({"t": 3}) as cluster:
        write(numbers(5_000), "t", servers=cluster.address, config={**fast, **SMALL})
        spread = [values(cluster, partition) for partition in range(3)]
        assert sorted(value for each in spread for value in each) == list(range(5_000))
        assert min(map(len, spread)) > 1_000
        assert all(each == sorted(each) for each in spread)


def test_partitions_of_a_broker_share_its_connections(fast, monkeypatch):
    """A broker takes the requests of a connection one after the other; the batches of a partition stay on one."""
    sent = {}
    send = producer._Sender._send

    def noted(self, found):
        for log, _ in found:
            sent.setdefault(log.place.partition, set()).add((self.number, self.connection))
        assert len(found) == 1 or sum(batch.size for _, batch in found) <= 9_000
        send(self, found)

    monkeypatch.setattr(producer._Sender, "_send", noted)
    config = {**fast, **SMALL, "max.request.size": 9_000}
    with FakeCluster({"t": 6}, brokers=2) as cluster:
        write(numbers(6_000), "t", servers=cluster.address, config=config, compression="none")
        assert all(len(connections) == 1 for connections in sent.values())
        used = [connection for connections in sent.values() for connection in connections]
        assert sorted(set(used)) == [(0, 0), (0, 1), (1, 0), (1, 1)]
        assert max(map(used.count, used)) == 2

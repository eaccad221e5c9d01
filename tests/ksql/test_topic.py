"""Topics of streams and tables, over a broker of a few lines."""

import pyarrow as pa
import pytest
from fake_broker import FAST, FakeCluster

from kcodec import kafka, ksql
from kcodec.errors import ConfigError, EncodeError, SchemaError
from kcodec.kafka import RecordError

STREAM = "CREATE STREAM s (k INT KEY, v INT, h BYTES HEADER('h')) WITH (kafka_topic='t', format='JSON');"


@pytest.fixture
def place():
    with FakeCluster({"t": 1}) as cluster:
        yield {"servers": cluster.address, "config": dict(FAST)}


def put(place, *records):
    """Write records as they are: key, value, headers."""
    keys, values, headers = zip(*records, strict=True)
    table = pa.table(
        {
            "key": pa.array(keys, pa.binary()),
            "value": pa.array(values, pa.binary()),
            "headers": pa.array(headers, pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))),
        }
    )
    kafka.write(table, "t", **place)


def test_rows_of_python_have_maps(place):
    """What a dict is, its column says."""
    maps = "CREATE STREAM s (m MAP<STRING, INT>, n STRUCT<x INT, l ARRAY<MAP<STRING, STRUCT<y INT>>>>)"
    statement = f"{maps} WITH (kafka_topic='t', value_format='JSON');"
    wanted = [
        b'{"M":{"a":1,"b":2},"N":null}',
        b'{"M":{"c":3},"N":{"X":7,"L":[{"k":{"Y":5}}]}}',
        b'{"M":null,"N":null}',
    ]
    rows = [{"m": {"a": 1, "b": 2}}, {"m": [("c", 3)], "N": {"x": 7, "L": [{"k": {"y": 5}}]}}, {}]
    for data in (
        rows,
        iter(rows),
        {"m": [row.get("m") for row in rows], "N": [row.get("N") for row in rows]},
    ):
        written = ksql.write(statement, data, **place)
        assert (
            kafka.read(written.ranges, columns=["value"], **place).read_all()["value"].to_pylist() == wanted
        )
    with pytest.raises(TypeError, match="column 'm': row 1 of the list does not fit map<string, int32>"):
        ksql.write(statement, [{"m": {}}, {"m": 7}], **place)


def values_of(table):
    return list(zip(table["K"].to_pylist(), table["V"].to_pylist(), strict=True))


def test_read_and_write(place):
    rows = pa.table({"k": [1, 2], "V": [10, None], "rowtime": [1000, 2000]})
    assert ksql.write(STREAM, rows, **place) == ({"t": {0: 0}}, {"t": {0: 2}})
    ksql.write(STREAM, pa.record_batch({"v": [30]}), **place)
    put(place, (b"4", b'{"V":40}', [("h", b"x")]))
    reader = ksql.read(STREAM, **place)
    assert isinstance(reader, pa.RecordBatchReader)
    assert reader.schema.names == ["K", "V", "H", "ROWTIME", "ROWPARTITION", "ROWOFFSET"]
    table = reader.read_all()
    assert values_of(table) == [(1, 10), (2, None), (None, 30), (4, 40)]
    assert table["ROWTIME"].to_pylist()[:2] == [1000, 2000]
    assert table["H"].to_pylist() == [None, None, None, b"x"]
    assert table["ROWOFFSET"].to_pylist() == [0, 1, 2, 3]
    assert values_of(ksql.read(STREAM, start={"t": {0: 2}}, end={"t": {0: 3}}, **place).read_all()) == [
        (None, 30)
    ]


def test_rows_are_written_as_they_were_read(place):
    statement = "CREATE STREAM s (k INT KEY, v INT) WITH (kafka_topic='t', format='JSON');"
    ksql.write(statement, pa.table({"k": [1, 2], "v": [10, None], "rowtime": [1000, 2000]}), **place)
    for row_time in ("milliseconds", "timestamp"):
        ksql.write(statement, ksql.read(statement, row_time=row_time, end={"t": {0: 2}}, **place), **place)
    table = ksql.read(statement, row_time="timestamp", **place).read_all()
    assert values_of(table) == [(1, 10), (2, None)] * 3
    assert table["ROWTIME"].type == pa.timestamp("ms", "UTC")
    assert table["ROWTIME"].cast(pa.int64()).to_pylist() == [1000, 2000] * 3
    with pytest.raises(ConfigError, match="row_time='date' is not one of milliseconds, timestamp"):
        ksql.read(statement, row_time="date", **place)


BAD = [(b"1", b'{"V":1}', None), (b"x", b'{"V":2}', None), (b"3", b"{", None), (b"4", None, None)]


def test_bad_records(place):
    put(place, *BAD)
    with pytest.raises(RecordError, match="json_syntax: t-0, offset 1, key, byte 0") as error:
        ksql.read(STREAM, **place).read_all()
    assert (error.value.column, error.value.position, error.value.code) == ("key", 1, "json_syntax")
    rows = [(1, 1), (None, 2), (3, None), (4, None)]
    assert values_of(ksql.read(STREAM, errors="null", **place).read_all()) == rows
    reader, report = ksql.read(STREAM, errors="report", **place)
    assert values_of(reader.read_all()) == rows
    assert [(each.offset, each.column) for each in report.faults] == [(1, "key"), (2, "value")]


def test_bad_times(place):
    put(place, (None, b'{"T":"2024"}', None), (None, b'{"T":"x"}', None))
    text = """CREATE STREAM s (t STRING)
        WITH (kafka_topic='t', value_format='JSON', timestamp='t', timestamp_format='yyyy');"""
    with pytest.raises(RecordError, match="invalid_time: t-0, offset 1, timestamp, T: by the pattern yyyy"):
        ksql.read(text, **place).read_all()


def test_follow(place):
    put(place, *BAD[:2])
    with ksql.follow(STREAM, start="earliest", errors="report", **place) as follower:
        assert follower.schema.names[:2] == ["K", "V"]
        assert values_of(follower.poll(5)) == [(1, 1), (None, 2)]
        put(place, BAD[3])
        assert values_of(next(follower)) == [(4, None)]
        assert follower.positions == {"t": {0: 3}}
        assert len(follower.report) == 1
        assert follower.poll(0.1) is None
    with (
        ksql.follow(STREAM, start="earliest", **place) as follower,
        pytest.raises(RecordError, match="offset 1, key"),
    ):
        follower.poll(5)


def test_what_is_not_written(place):
    batches = [pa.record_batch({"k": [1, 2]}), pa.record_batch({"k": [3, None]})]
    table = STREAM.replace("STREAM", "TABLE").replace("INT KEY", "INT PRIMARY KEY")
    with pytest.raises(EncodeError, match=r"row 3, K: Value for primary key") as error:
        ksql.write(table, pa.Table.from_batches(batches).to_reader(max_chunksize=2), **place)
    assert error.value.row == 3
    with pytest.raises(SchemaError, match="Column name `x` does not exist"):
        ksql.write(STREAM, pa.table({"x": [1]}), **place)
    with pytest.raises(TypeError, match="row 0 is no dict but int: a table is"):
        ksql.write(STREAM, [1], **place)


def test_arguments(place):
    with pytest.raises(ksql.StatementError, match="SELECT: only CREATE"):
        ksql.read("SELECT 1;", **place)
    avro = STREAM.replace("JSON", "AVRO")
    for call in (ksql.read, ksql.follow):
        with pytest.raises(ConfigError, match="registry= is missing"):
            call(avro, **place)
        with pytest.raises(ConfigError, match="isolation='no'"):
            call(STREAM, isolation="no", **place)
    rows = pa.table({"k": [1], "v": [2]})
    registry = {**place["config"], "schema.registry.url": "memory://ksql-topics"}
    ksql.write(avro, rows, servers=place["servers"], config=registry)
    assert values_of(ksql.read(avro, servers=place["servers"], config=registry).read_all()) == [(1, 2)]
    assert values_of(ksql.read(avro, registry="memory://ksql-topics", **place).read_all()) == [(1, 2)]

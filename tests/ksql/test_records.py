"""Records as the rows of streams and tables, and rows as records."""

import datetime
import struct

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from cases import cases

from kcodec import ArrayError, ConfigError, EncodeError, SchemaError, registry
from kcodec.ksql import Records

HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
JSON = "kafka_topic='t', format='JSON'"


def batch(*rows, first=5, timestamp=1700000000123456):
    """Make a batch of keys, values and headers."""
    keys, values, headers = zip(*rows, strict=True)
    count = len(rows)
    return pa.RecordBatch.from_pydict(
        {
            "key": pa.array(keys, pa.binary()),
            "value": pa.array(values, pa.binary()),
            "partition": pa.array([3] * count, pa.int32()),
            "offset": pa.array(range(first, first + count), pa.int64()),
            "timestamp": pa.array([timestamp] * count, pa.timestamp("us", "UTC")),
            "headers": pa.array(headers, HEADERS),
        }
    )


def rows_of(records, given):
    found = records.read(given)
    assert found.batch.schema == records.schema
    assert found.faults == []
    return found.batch.to_pylist()


def test_order_of_columns(impl):
    """Keys first, whatever stands before them; then the others as they are declared."""
    records = Records(
        f"CREATE STREAM s (v INT, h BYTES HEADER('a'), k STRING KEY, w STRING, `k2` INT KEY) WITH ({JSON});"
    )
    assert records.schema.names == ["K", "k2", "V", "H", "W", "ROWTIME", "ROWPARTITION", "ROWOFFSET"]
    given = batch((b'{"K":"x","k2":1}', b'{"V":7,"W":"w"}', [("a", b"1"), ("b", b"2"), ("a", b"3")]))
    assert rows_of(records, given) == [
        {
            "K": "x", "k2": 1, "V": 7, "H": b"3", "W": "w",
            "ROWTIME": 1700000000123, "ROWPARTITION": 3, "ROWOFFSET": 5,
        }
    ]  # fmt: skip


def test_headers(impl):
    records = Records(
        "CREATE STREAM s (v INT, hs ARRAY<STRUCT<key STRING, value BYTES>> HEADERS) "
        "WITH (kafka_topic='t', value_format='JSON');"
    )
    given = batch((None, b"{}", [("a", b"1"), ("b", None)]), (None, b"{}", []), (None, b"{}", None))
    assert [row["HS"] for row in rows_of(records, given.slice(1))] == [[], []]
    assert rows_of(records, given)[0]["HS"] == [{"KEY": "a", "VALUE": b"1"}, {"KEY": "b", "VALUE": None}]
    one = Records("CREATE STREAM s (v INT, b BYTES HEADER('b')) WITH (kafka_topic='t', value_format='JSON');")
    given = batch((None, b"{}", [("b", b"1"), ("b", None)]), (None, b"{}", None), (None, b"{}", [("b", b"")]))
    assert [row["B"] for row in rows_of(one, given)] == [None, None, b""]
    assert [row["B"] for row in rows_of(one, given.slice(2))] == [b""]


def test_keys_that_are_no_columns_are_not_read(impl):
    records = Records(
        "CREATE STREAM s (v INT) WITH (kafka_topic='t', value_format='JSON', key_format='JSON');"
    )
    assert rows_of(records, batch((b"{not json", b'{"V":1}', [])))[0]["V"] == 1
    assert not records.needs_headers


@cases(
    ("kind", "properties", "values", "times"),
    [
        ("BIGINT", "", [b"17", b"-1", b"null"], [17, -1, None]),
        ("TIMESTAMP", "", [b"17", b"-1", b"null"], [17, -1, None]),
        (
            "STRING",
            ", timestamp_format='yyyy-MM-dd'",
            [b'"1970-01-02"', b'"1970-01-02"', b"null"],
            [82800000] * 2 + [None],
        ),
        ("STRING", ", timestamp_format='yyyy-MM-dd VV'", [b'"1970-01-02 UTC"'], [86400000]),
    ],
)
def test_time_of_a_column(impl, kind, properties, values, times):
    records = Records(
        f"CREATE STREAM s (`at` {kind}) WITH (kafka_topic='t', value_format='JSON', timestamp='`at`'{properties});",
        timezone="Europe/Paris",
    )
    given = batch(*((None, b'{"at":%s}' % value, []) for value in values))
    assert [row["ROWTIME"] for row in rows_of(records, given)] == times


def test_time_of_a_key(impl):
    records = Records(
        "CREATE STREAM s (k BIGINT KEY, v INT) WITH (kafka_topic='t', value_format='JSON', timestamp='k');"
    )
    assert rows_of(records, batch(((9).to_bytes(8, "big"), b"{}", [])))[0]["ROWTIME"] == 9


def test_faults_name_their_part(impl):
    records = Records(
        f"CREATE STREAM s (k INT KEY, v INT, ts STRING) WITH ({JSON}, timestamp='ts', timestamp_format='yyyy');"
    )
    good = b'{"V":1,"TS":"1971"}'
    found = records.read(
        batch((b"x", good, []), (b"1", b'{"V":1,"TS":"x"}', []), (b"2", b"{", []), (b"3", good, []))
    )
    assert [(part, fault.row, fault.code) for part, fault in found.faults] == [
        ("key", 0, "json_syntax"), ("timestamp", 1, "invalid_time"), ("value", 2, "truncated"),
    ]  # fmt: skip
    assert found.faults[1][1].reason == "by the pattern yyyy: could not be parsed at index 0"
    rows = found.batch.select(["K", "V", "ROWTIME"]).to_pylist()
    assert [tuple(row.values()) for row in rows] == [
        (None, 1, 31536000000), (1, 1, None), (2, None, None), (3, 1, 31536000000),
    ]  # fmt: skip


def test_compat(impl):
    text = f"CREATE STREAM s (v INT) WITH ({JSON});"
    given = batch((None, b'{"V":1.9}', []))
    assert Records(text).read(given).faults[0][1].code == "inexact"
    assert rows_of(Records(text, compat="ksqldb"), given)[0]["V"] == 1


def test_windows(impl):
    table = "CREATE TABLE t (k STRING PRIMARY KEY, v INT) WITH (kafka_topic='t', value_format='JSON', window_type="
    key = b"a" + (60_000).to_bytes(8, "big")
    records = Records(table + "'TUMBLING', window_size='10 SECONDS');")
    assert records.schema.names[:3] == ["K", "WINDOWSTART", "WINDOWEND"]
    [row] = rows_of(records, batch((key, b"{}", [])))
    assert (row["K"], row["WINDOWSTART"], row["WINDOWEND"]) == ("a", 60_000, 70_000)
    written = records.write(pa.table({"k": ["a"], "windowstart": [60_000], "v": [1]}))
    assert written["key"].to_pylist() == [key]
    session = Records(table + "'SESSION');")
    both = b"a" + (65_000).to_bytes(8, "big") + (60_000).to_bytes(8, "big")
    [row] = rows_of(session, batch((both, b"{}", [])))
    assert (row["WINDOWSTART"], row["WINDOWEND"]) == (60_000, 65_000)


@pytest.mark.parametrize("format", ["AVRO", "JSON_SR", "PROTOBUF"])
def test_registry(impl, format):
    """What one statement writes, another reads that takes its columns from the registry."""
    place = f"memory://statements-{format}-{impl}"
    columns = "id INT PRIMARY KEY, name STRING, tags ARRAY<STRING>"
    text = f"CREATE TABLE t ({columns}) WITH (kafka_topic='t', format='{format}');"
    with pytest.raises(ConfigError, match="T has schemas in a registry: registry= is missing"):
        Records(text)
    rows = pa.table({"id": [1, 2], "name": ["a", "b"], "tags": [["x"], []]})
    written = Records(text, registry=place).write(rows)
    given = batch(*((row["key"], row["value"], []) for row in written.to_pylist()))
    bare = Records(
        f"CREATE TABLE t WITH (kafka_topic='t', format='{format}');", registry=registry.open(place)
    )
    assert bare.statement.columns[0].primary
    found = [tuple(row.values()) for row in rows_of(bare, given)]
    assert [row[:3] for row in found] == [(1, "a", ["x"]), (2, "b", [])]
    partial = Records(
        f"CREATE TABLE t (`my key` INT PRIMARY KEY) WITH (kafka_topic='t', value_format='{format}');",
        registry=place,
    )
    assert partial.schema.names[:3] == ["my key", "NAME", "TAGS"]


def test_rows_as_records(impl):
    records = Records(f"CREATE STREAM s (k INT KEY, v INT, `w` STRING) WITH ({JSON});")
    time = datetime.datetime(1970, 1, 1, 0, 0, 1, 999, datetime.timezone.utc)
    written = records.write(pa.table({"w": ["x", None], "K": [1, None], "rowtime": [time, None]}))
    assert written.to_pylist() == [
        {"key": b"1", "value": b'{"V":null,"w":"x"}', "timestamp": 1000},
        {"key": None, "value": b'{"V":null,"w":null}', "timestamp": None},
    ]
    assert records.write(pa.record_batch({"v": [7]})).to_pylist() == [
        {"key": None, "value": b'{"V":7,"w":null}'}
    ]
    assert records.write(pa.table({"k": [7]})).to_pylist() == [{"key": b"7", "value": b'{"V":null,"w":null}'}]
    assert records.write(pa.table({"v": pa.array([], pa.int32())})).num_rows == 0


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"x": [1]}, "Column name `x` does not exist"),
        ({"rowoffset": [1]}, "Inserting into column `ROWOFFSET` is not allowed."),
        ({"h": [b"1"]}, "Cannot insert into HEADER columns: H"),
        ({"v": [1], "V": [1]}, "two columns stand for V"),
    ],
)
def test_columns_that_are_not_written(columns, message):
    records = Records(f"CREATE STREAM s (v INT, h BYTES HEADER('a')) WITH ({JSON});")
    with pytest.raises(SchemaError, match=message):
        records.write(pa.table(columns))


def test_rows_that_are_not_written(impl):
    with pytest.raises(SchemaError, match="Cannot insert values into read-only table: T"):
        Records(f"CREATE SOURCE TABLE t (k INT PRIMARY KEY, v INT) WITH ({JSON});").write(
            pa.table({"k": [1]})
        )
    records = Records(f"CREATE TABLE t (k INT PRIMARY KEY, v INT) WITH ({JSON});")
    for columns, row in (({"k": [1, None]}, 1), ({"v": [1]}, 0)):
        with pytest.raises(EncodeError, match=r"primary key column\(s\) K is required") as error:
            records.write(pa.table(columns))
        assert error.value.row == row
    with pytest.raises(EncodeError, match="out_of_range: row 1"):
        records.write(pa.table({"k": [1, 2], "v": [1, 1 << 40]}))


@pytest.mark.parametrize("made", [pc.dictionary_encode, pc.run_end_encode])
def test_times_in_other_layouts(made):
    records = Records(f"CREATE STREAM s (v INT) WITH ({JSON});")
    for times in (pa.array([5, 5, 7]), pa.array([5000, 5999, 7000], pa.timestamp("us"))):
        table = pa.table({"V": [1, 2, 3], "ROWTIME": made(times)})
        assert records.write(table)["timestamp"].to_pylist() == [5, 5, 7]


def test_times_that_are_not_written():
    records = Records(f"CREATE STREAM s (v INT) WITH ({JSON});")
    with pytest.raises(EncodeError, match="row 1, ROWTIME"):
        records.write(pa.table({"V": [1, 2], "ROWTIME": [1.0, 1.5]}))


def test_columns_that_lead_outside_of_their_buffers():
    offsets = pa.py_buffer(struct.pack("<3i", 0, 1 << 30, 3))
    wrong = pa.Array.from_buffers(pa.string(), 2, [None, offsets, pa.py_buffer(b"abc")])
    table = pa.table({"V": pa.chunked_array([pa.array(["a"]), wrong])})
    with pytest.raises(ArrayError):
        Records(f"CREATE STREAM s (v STRING) WITH ({JSON});").write(table)


def test_arguments():
    text = f"CREATE STREAM s (v INT) WITH ({JSON});"
    with pytest.raises(ConfigError, match="timezone: 'Mars' is not a time zone"):
        Records(text, timezone="Mars")
    assert Records("DEFINE x='t'; " + text.replace("'t'", "'${x}'")).statement.topic == "t"
    assert Records(text.replace("'t'", "'${x}'"), variables={"X": "u"}).statement.topic == "u"


def test_a_row_time_is_a_number_or_a_timestamp():
    """Times of the day were their microseconds, and dates an error of pyarrow's."""
    records = Records("CREATE STREAM s (v INT) WITH (kafka_topic='s', format='JSON');")
    for kind in (pa.date32(), pa.time64("us"), pa.duration("ms"), pa.string(), pa.bool_()):
        with pytest.raises(SchemaError, match=r"ROWTIME: Arrow's .* cannot be written as BIGINT"):
            records.write(pa.table({"v": [1], "rowtime": pa.nulls(1, kind)}))
    times = pa.array([1_500], pa.timestamp("us"))
    assert records.write(pa.table({"v": [1], "rowtime": times}))["timestamp"].to_pylist() == [1]

"""The option ``where`` of ``kcodec_kafka`` and filters that Spark hands over, without Spark's Java."""

import json
import math
from datetime import datetime, timezone
from decimal import Decimal

import pyarrow as pa
import pytest
from fake_broker import PATIENT, FakeCluster
from pyspark.sql import datasource as spark

from kcodec import AvroCodec
from kcodec.errors import ConfigError
from kcodec.kafka import RecordError, read
from kcodec.protocol import write_batches
from kcodec_spark.kafka.pushed import push
from kcodec_spark.kafka.query import make
from kcodec_spark.kafka.scan import load
from kcodec_spark.kafka.source import data_source
from kcodec_spark.kafka.stream import stream

SCHEMA = json.dumps(
    {
        "type": "record",
        "name": "R",
        "fields": [
            {"name": "id", "type": "long"},
            {"name": "country", "type": ["null", "string"]},
            {"name": "offset", "type": "int"},
            {
                "name": "price",
                "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2},
            },
            {"name": "ratio", "type": "double"},
            {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
            {"name": "day", "type": {"type": "int", "logicalType": "date"}},
        ],
    }
)
AT = datetime(2026, 1, 31, 12, tzinfo=timezone.utc)
#: Of each partition.
ROWS = 10


def row(number):
    return {
        "id": number,
        "country": [None, "DE", "FR", "Österreich"][number % 4],
        "offset": -number,
        "price": Decimal(number) / 2,
        "ratio": math.nan if number == 3 else number / 4,
        "at": AT.replace(hour=number),
        "day": AT.date().replace(day=number + 1),
    }


@pytest.fixture(scope="module")
def cluster():
    """Give a broker of a topic of two partitions, the second of which begins a second later."""
    values = AvroCodec(SCHEMA).encode([row(number) for number in range(ROWS)])
    with FakeCluster({"t": 2}) as cluster:
        for partition in range(2):
            for number in range(ROWS):
                times = pa.array([1000 * (number + partition)], pa.timestamp("ms", "UTC"))
                batch = pa.table({"value": values[number : number + 1], "timestamp": times})
                cluster.append(("t", partition), write_batches(batch))
        yield cluster


@pytest.fixture
def options(cluster):
    settings = {f"kafka.{name}": str(value) for name, value in PATIENT.items()}
    format = {"subscribe": "t", "value.format": "avro", "value.schema": SCHEMA}
    return {**settings, **format, "kafka.bootstrap.servers": cluster.address}


def rows_of(scan):
    found = load(scan)
    return [each for part in found.ranges() for batch in found.read(part) for each in batch.to_pylist()]


@pytest.mark.parametrize(
    ("text", "columns", "expected"),
    [
        (
            "value.country = 'DE' and value.price > 0.5",
            "partition,value.id",
            [(0, 5), (0, 9), (1, 5), (1, 9)],
        ),
        ("value.ratio > 2", "partition,value.id", [(0, 3), (0, 9), (1, 3), (1, 9)]),
        ("value.country is null and offset < 5 and partition = 1", "partition,offset", [(1, 0), (1, 4)]),
        ("value is null", "offset", []),
        ("topic = 'u'", "offset", []),
        ("timestamp >= '1970-01-01 00:00:09'", "partition,offset", [(0, 9), (1, 8), (1, 9)]),
        ("offset = 9 and partition in [1]", "value.country,partition", [("DE", 1)]),
        # The column of this name is the field's.
        ("offset = -9 and partition = 0", "value.offset", [(-9,)]),
        ("id in [3, 4] and value.country = 'Österreich' and partition = 0", "value.*", None),
        (
            "value.day = '2026-02-01' or value.at < '2026-01-31T01:00:00Z'",
            "partition,offset",
            [(0, 0), (1, 0)],
        ),
        ("key is null and headers is null and offset = 2", "partition", [(0,), (1,)]),
    ],
)
def test_where(options, text, columns, expected):
    scan, shown = make({**options, "where": text, "columns": columns})
    found = rows_of(scan)
    if expected is None:
        assert [each | {"ratio": None} for each in found] == [row(3) | {"ratio": None}]
    else:
        assert [tuple(each.values()) for each in found] == expected
        assert all(list(each) == shown.names for each in found)


def test_all_columns_stay(options):
    with_all, shown = make(options)
    scan, kept = make({**options, "where": "value.id = 2 and topic = 't'"})
    assert kept == shown
    assert rows_of(scan) == [each for each in rows_of(with_all) if each["value"]["id"] == 2]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("value.nothing = 1", "where 'value.nothing = 1': "),
        ("country = 'DE'", "where: country is neither a column nor a field such as value.id"),
        ("value.id = 'x'", "where \"value.id = 'x'\": value.id: "),
        ("offset", "where 'offset': offset is int64, which neither holds nor does not"),
        ("offset >", "where 'offset >': invalid syntax: it is such as"),
    ],
)
@pytest.mark.parametrize("columns", ["offset", "key,value,offset"])
def test_what_cannot_be_asked(options, text, reason, columns):
    with pytest.raises(ConfigError) as told:
        make({**options, "where": text, "columns": columns})
    assert str(told.value).startswith(reason)


def test_bad_values_are_found(options):
    lax = {
        **options,
        "mode": "PERMISSIVE",
        "columnNameOfCorruptRecord": "_e",
        "columns": "value.id,partition",
    }
    scan, shown = make({**lax, "where": "value._e is not null"})
    assert shown.names == ["id", "partition"]
    assert rows_of(scan) == []
    good, _ = make({**lax, "where": "value._e is null and value.country = 'DE'"})
    assert len(rows_of(good)) == 6


@pytest.mark.parametrize("columns", ["value.id,value.country", "value.*", "key,value,headers"])
def test_of_other_records_only_what_is_asked_is_read(options, columns):
    """The text of one record is none: that is told where the record is wanted."""
    values = AvroCodec(SCHEMA).encode([row(number) for number in range(ROWS)]).to_pylist()
    values[5] = values[5].replace(b"DE", b"\xff\xff")
    with FakeCluster({"t": 1}) as cluster:
        cluster.append(("t", 0), write_batches(pa.table({"value": values})))
        strict = {**options, "kafka.bootstrap.servers": cluster.address, "columns": columns}

        def count(text, **others):
            return len(rows_of(make({**strict, "where": text, **others})[0]))

        assert count("value.id <> 5 and value.id > 1") == 7
        for text in ("value.id >= 5", "value.country = 'FR'"):
            with pytest.raises(RecordError, match="invalid_utf8: t-0, offset 5"):
                count(text)
        # A bad value is null, as a whole, and so is what is asked of it.
        assert count("value.id is null", mode="PERMISSIVE") == 1


def fetched(cluster, scan):
    """Return the rows of a scan, and the offsets from which brokers were asked."""
    asked = []
    broker = cluster.brokers[0]

    def fetch(body):
        asked.extend(
            (each["partition"], each["fetchOffset"])
            for topic in body["topics"]
            for each in topic["partitions"]
        )

    broker.hooks["Fetch"] = fetch
    try:
        return rows_of(scan), sorted(asked)
    finally:
        del broker.hooks["Fetch"]


def test_nothing_else_is_fetched(cluster, options):
    text = "timestamp >= '1970-01-01 00:00:05' and timestamp <= '1970-01-01 00:00:06'"
    given = {**options, "columns": "partition,offset", "timestampsInOrder": "true"}
    rows, asked = fetched(cluster, make({**given, "where": text})[0])
    assert [tuple(each.values()) for each in rows] == [(0, 5), (0, 6), (1, 4), (1, 5)]
    assert asked[0] == (0, 5)
    assert {offset for partition, offset in asked if partition == 1} >= {4}
    assert all(4 <= offset <= 7 for _, offset in asked)
    scan = load(make({**given, "where": text})[0])
    assert [tuple(each) for each in scan.ranges()] == [("t", 0, 5, 7), ("t", 1, 4, 6)]
    # Behind the first later record there may be earlier ones.
    scan = load(make({**options, "where": text})[0])
    assert [tuple(each) for each in scan.ranges()] == [("t", 0, 5, 10), ("t", 1, 4, 10)]
    assert fetched(cluster, make({**given, "where": "topic = 'u' or partition > 5"})[0]) == ([], [])


def test_a_range_of_times_is_all_that_is_sent(options):
    """Brokers know no end of a range: what is behind it comes, too, as far as so many bytes are asked for."""
    sent = []

    def counted(body):
        answer = cluster.brokers[0]._Fetch(body)
        sent.append(len(answer["responses"][0]["partitions"][0]["records"]))
        return answer

    with FakeCluster({"t": 1}) as cluster:
        cluster.brokers[0].hooks["Fetch"] = counted
        for number in range(300):
            times = pa.array([1000 * number], pa.timestamp("ms", "UTC"))
            cluster.append(("t", 0), write_batches(pa.table({"value": [bytes(3_000)], "timestamp": times})))
        place = {name: value for name, value in options.items() if not name.startswith("value.")}
        text = "timestamp >= '1970-01-01 00:01:00' and timestamp < '1970-01-01 00:01:10'"
        given = {**place, "kafka.bootstrap.servers": cluster.address, "columns": "offset", "where": text}
        found = rows_of(make({**given, "timestampsInOrder": "true"})[0])
        assert [each["offset"] for each in found] == list(range(60, 70))
        # Of nearly a million.
        assert 30_000 < sum(sent) <= 1 << 16
        sent.clear()
        start, end = (datetime(1970, 1, 1, 0, 1, second, tzinfo=timezone.utc) for second in (0, 10))
        found = read("t", servers=cluster.address, columns=["offset"], start=start, end=end).read_all()
        assert found["offset"].to_pylist() == list(range(60, 70))
        assert 30_000 < sum(sent) <= 1 << 16


def test_streams_read_no_more(options):
    scan, _ = make({**options, "where": "partition = 1 and offset in [3, 5] and value.id < 5"})
    followed = stream(scan)
    parts = followed.parts({"t": {"0": 0, "1": 0}}, {"t": {"0": 10, "1": 10}})
    assert [tuple(each) for each in parts] == [("t", 1, 3, 6)]
    (batch,) = load(scan).read(parts[0])
    assert batch["offset"].to_pylist() == [3]
    assert followed.parts({"t": {"0": 0, "1": 6}}, {"t": {"0": 10, "1": 10}}) == []
    followed.close()


FILTERS = [
    (spark.EqualTo(("value", "country"), "DE"), "value.country = 'DE'"),
    (spark.EqualNullSafe(("value", "country"), "DE"), "value.country = 'DE'"),
    (spark.EqualNullSafe(("value", "country"), None), "value.country is null"),
    (
        spark.Not(spark.EqualNullSafe(("value", "country"), "DE")),
        "value.country is null or value.country <> 'DE'",
    ),
    (spark.Not(spark.EqualTo(("value", "country"), "DE")), "value.country <> 'DE'"),
    (spark.IsNull(("value", "country")), "value.country is null"),
    (spark.IsNotNull(("value",)), "value is not null"),
    (spark.GreaterThan(("value", "ratio"), 2.0), "value.ratio > 2"),
    (spark.GreaterThanOrEqual(("value", "price"), Decimal("3.50")), "value.price >= 3.5"),
    (spark.LessThan(("value", "at"), AT.replace(hour=2)), "value.at < '2026-01-31T02:00:00Z'"),
    (spark.LessThanOrEqual(("value", "day"), AT.date().replace(day=4)), "value.day <= '2026-01-04'"),
    (spark.In(("value", "id"), (2, 7)), "value.id in (2, 7)"),
    (spark.Not(spark.In(("value", "country"), ("DE", "FR"))), "value.country = 'Österreich'"),
    (spark.StringStartsWith(("value", "country"), "Ö"), "value.country = 'Österreich'"),
    (spark.StringEndsWith(("value", "country"), "ich"), "value.country = 'Österreich'"),
    (spark.StringContains(("value", "country"), "rre"), "value.country = 'Österreich'"),
    (spark.Not(spark.StringContains(("value", "country"), "rre")), "value.country in ['DE', 'FR']"),
    (spark.EqualTo(("partition",), 1), "partition = 1"),
]


@pytest.mark.parametrize(("filter", "text"), FILTERS)
def test_filters_are_conditions(options, filter, text):
    scan, _ = make({**options, "columns": "value,partition,offset"})
    pushed, left = push(scan, [filter])
    assert left == []
    expected = rows_of(make({**options, "columns": "value,partition,offset", "where": text})[0])
    # NaN equals nothing.
    assert repr(rows_of(pushed)) == repr(expected) != "[]"


def test_filters_come_to_a_condition(cluster, options):
    """What there was holds as well, and of what Spark asks for, only the wanted offsets are fetched."""
    scan, _ = make({**options, "columns": "offset", "where": "value.country = 'DE'"})
    pushed, left = push(scan, [spark.GreaterThan(("offset",), 4), spark.LessThan(("offset",), 9)])
    assert left == []
    assert [each["offset"] for each in rows_of(pushed)] == [5, 5]
    assert [tuple(each) for each in load(pushed).ranges()] == [("t", 0, 5, 9), ("t", 1, 5, 9)]


@pytest.mark.parametrize(
    "filter",
    [
        spark.EqualTo(("value", "country"), None),
        spark.EqualTo(("value", "id"), "2"),
        spark.EqualTo(("value", "day"), "2026-01-01"),
        spark.EqualTo(("value", "at"), datetime(2026, 1, 1)),
        spark.EqualTo(("value",), (1, 2)),
        spark.EqualTo(("value", "nothing"), 2),
        spark.EqualTo(("timestamp",), AT.date()),
        spark.In(("value", "id"), (2, None)),
        # Spark has rounded it.
        spark.EqualTo(("value", "price"), Decimal("1.000000000000000000000000000E+28")),
        spark.In(("value", "price"), (Decimal("9999999999999999999.999999999"),)),
        spark.Not(spark.In(("value", "id"), (2, None))),
        spark.StringContains(("value", "id"), "2"),
        object(),
    ],
)
def test_what_is_not_understood_spark_keeps(options, filter):
    scan, _ = make({**options, "columns": "value,timestamp"})
    pushed, left = push(scan, [filter, spark.IsNull(("value", "id"))])
    assert left == [filter]
    assert rows_of(pushed) == []


def test_a_condition_that_spark_does_not_show_takes_no_filters(options):
    """Columns that are read for a condition alone are none of the query's."""
    scan, _ = make({**options, "columns": "offset", "where": "value.id > 2"})
    filter = spark.EqualTo(("value.id",), 3)
    assert push(scan, [filter])[1] == [filter]


def test_the_reader_takes_filters_if_so_asked(options):
    kind = data_source(None, 0)
    for given, expected in (({}, False), ({"pushFilters": "true"}, True)):
        source = kind({**options, **given})
        reader = source.reader(source.schema())
        assert ("pushFilters" in type(reader).__dict__) is expected
    assert list(reader.pushFilters([spark.EqualTo(("offset",), 3)])) == []
    assert [each.value[2:] for each in reader.partitions()] == [(3, 4), (3, 4)]
    with pytest.raises(ConfigError, match="pushFilters='maybe' is neither true nor false"):
        make({**options, "pushFilters": "maybe"})

"""Times that are finer than what is written: an error by default, cut off on demand, as Spark does."""

import json

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from cases import cases
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kcodec import AvroCodec, AvroOptions, ConnectJsonCodec, JsonCodec, KsqlCodec, Serde
from kcodec.errors import ConfigError, DecodeError, EncodeError

PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
AVRO_UNITS = {"millis": "ms", "micros": "us", "nanos": "ns"}


def avro(logical, round, kind="long"):
    return AvroCodec({"type": kind, "logicalType": logical}, round=round)


@pytest.mark.usefixtures("impl")
class TestAvro:
    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(
        st.lists(st.none() | st.integers(-(1 << 63), (1 << 63) - 1), max_size=20),
        st.sampled_from(sorted(PER_SECOND)),
        st.sampled_from(sorted(AVRO_UNITS)),
    )
    def test_timestamps_are_cut_towards_the_past(self, values, unit, logical):
        column = pa.array(values, pa.int64()).view(pa.timestamp(unit, "UTC"))
        codec = avro(f"timestamp-{logical}", "truncate")
        encoded, report = codec.encode(column, errors="report")
        raw = AvroCodec('"long"').decode(encoded).to_pylist()
        wire, given = PER_SECOND[AVRO_UNITS[logical]], PER_SECOND[unit]
        expected = [None if value is None else value * wire // given for value in values]
        lost = {row for row, value in enumerate(expected) if value is not None and abs(value) >= 1 << 63}
        lost -= {row for row in lost if expected[row] == -(1 << 63)}
        assert report["row"].to_pylist() == sorted(lost)
        assert raw == [None if row in lost else value for row, value in enumerate(expected)]

    def test_by_default_they_are_errors_that_name_the_option(self):
        column = pa.array([{"t": 1_000}, {"t": -1}], pa.struct([("t", pa.timestamp("us", "UTC"))]))
        field = {"name": "t", "type": ["null", {"type": "long", "logicalType": "timestamp-millis"}]}
        schema = {"type": "record", "name": "R", "fields": [field]}
        encoded, report = AvroCodec(schema).encode(column, errors="report")
        assert encoded.null_count == 1
        (bad,) = report.to_pylist()
        assert (bad["row"], bad["path"], bad["code"]) == (1, "t", "inexact")
        assert 'round="truncate"' in bad["reason"]
        with pytest.raises(EncodeError, match='round="truncate"'):
            AvroCodec(schema).encode(column)
        assert AvroCodec(schema, round="truncate").encode(column).to_pylist() == [b"\x02\x02", b"\x02\x01"]

    def test_other_types(self):
        assert avro("time-millis", "truncate", "int").encode(
            pa.array([1_999_999], pa.time64("ns"))
        ).to_pylist() == [b"\x02"]
        assert avro("date", "truncate", "int").encode(
            pa.array([-1, 86_399_999], pa.timestamp("ms"))
        ).to_pylist() == [b"\x01", b"\x00"]
        # Only times are cut.
        with pytest.raises(EncodeError, match="without loss"):
            AvroCodec('"float"', round="truncate").encode(pa.array([0.1]))

    def test_a_serde_takes_it_as_an_option(self):
        schema = {"type": "long", "logicalType": "timestamp-millis"}
        column = pa.array([-1], pa.timestamp("us", "UTC"))
        strict = Serde("AVRO", "memory://rounding", topic="t", schema=schema)
        with pytest.raises(EncodeError, match='round="truncate"'):
            strict.serialize(column)
        options = AvroOptions(round="truncate")
        lenient = Serde("AVRO", "memory://rounding", topic="t", schema=schema, options=options)
        assert lenient.serialize(column)[0].as_py()[5:] == b"\x01"


@pytest.mark.usefixtures("impl")
class TestJson:
    KIND = pa.struct(
        [
            ("t", pa.timestamp("ms", "UTC")),
            ("l", pa.list_(pa.struct([("v", pa.time32("s"))]))),
            ("m", pa.map_(pa.string(), pa.timestamp("us"))),
        ]
    )
    GIVEN = pa.struct(
        [
            ("t", pa.timestamp("ns", "UTC")),
            ("l", pa.list_(pa.struct([("v", pa.time64("us"))]))),
            ("m", pa.map_(pa.string(), pa.timestamp("ns"))),
        ]
    )

    def test_errors_of_dictionaries_and_runs_name_the_option(self):
        times = pa.array([-1, 1_000], pa.timestamp("us", "UTC"))
        for column in (times.dictionary_encode(), pc.run_end_encode(times)):
            with pytest.raises(EncodeError, match=r'row 0, t: .* round="truncate"'):
                ConnectJsonCodec().encode(pa.record_batch({"t": column}))

    def test_nested_times(self):
        rows = [
            {"t": -1, "l": [{"v": 1_999_999}, None], "m": [("a", -1_001)]},
            {"t": None, "l": [], "m": None},
            None,
            {"t": 1_000_000, "l": [{"v": None}], "m": []},
        ]
        column = pa.array(rows, self.GIVEN)
        expected = [
            {
                "t": "1969-12-31T23:59:59.999Z",
                "l": [{"v": "00:00:01"}, None],
                "m": {"a": "1969-12-31T23:59:59.999998"},
            },
            {"t": None, "l": [], "m": None},
            None,
            {"t": "1970-01-01T00:00:00.001Z", "l": [{"v": None}], "m": {}},
        ]
        for array, wanted in ((column, expected), (column.slice(1, 3), expected[1:])):
            encoded = JsonCodec(self.KIND, round="truncate").encode(array)
            assert [each and json.loads(each) for each in encoded.to_pylist()] == wanted
        report = JsonCodec(self.KIND).encode(column, errors="report")[1]
        assert report["row"].to_pylist() == [0]
        assert 'round="truncate"' in report["reason"][0].as_py()

    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(st.lists(st.none() | st.integers(-(1 << 60), 1 << 60), max_size=10), st.booleans())
    def test_all_values(self, values, compatible):
        column = pa.array(values, pa.int64()).view(pa.timestamp("ns", "UTC"))
        expected = [None if value is None else str(value // 10**6).encode() for value in values]
        compat = "connect" if compatible else None
        connect = ConnectJsonCodec(
            pa.timestamp("ms", "UTC"), schemas_enable=False, round="truncate", compat=compat, tombstones=True
        )
        assert connect.encode(column).to_pylist() == expected
        ksql = KsqlCodec(
            "JSON", "T TIMESTAMP", wrap=False, round="truncate", compat="ksqldb" if compatible else None
        )
        assert ksql.encode(column).to_pylist() == expected

    @cases("compat", [None, "ksqldb"])
    @cases("name", ["JSON", "DELIMITED"])
    def test_ksqldb(self, name, compat):
        table = pa.table({"T": pa.array([-1], pa.timestamp("us")), "U": pa.array([1_999], pa.time64("us"))})
        codec = KsqlCodec(name, "T TIMESTAMP, U TIME", round="truncate", compat=compat)
        expected = {"JSON": b'{"T":-1,"U":1}', "DELIMITED": b'"-1",1'}[name]
        assert codec.encode(table).to_pylist() == [expected]
        report = KsqlCodec(name, "T TIMESTAMP, U TIME", compat=compat).encode(table, errors="report")[1]
        assert report["code"].to_pylist() == ["inexact"]
        assert 'round="truncate"' in report["reason"][0].as_py()

    @pytest.mark.parametrize("compat", [None, "connect"])
    def test_connect(self, compat):
        kind = pa.schema([("t", pa.timestamp("us", "UTC")), ("l", pa.list_(pa.time64("us")))])
        table = pa.table(
            {"t": pa.array([-1], kind.field(0).type), "l": pa.array([[1_999]], kind.field(1).type)}
        )
        codec = ConnectJsonCodec(kind, schemas_enable=False, round="truncate", compat=compat)
        assert codec.encode(table).to_pylist() == [b'{"t":-1,"l":[1]}']
        report = ConnectJsonCodec(kind, schemas_enable=False, compat=compat).encode(table, errors="report")[1]
        assert 'round="truncate"' in report["reason"][0].as_py()


def test_other_words_are_refused():
    for make in (
        lambda round: AvroCodec('"int"', round=round),
        lambda round: JsonCodec(pa.int8(), round=round),
        lambda round: ConnectJsonCodec(round=round),
        lambda round: KsqlCodec("JSON", "ID INT", round=round),
        lambda round: AvroOptions(round=round),
    ):
        assert make("truncate") != make("error")
        with pytest.raises(ConfigError, match="round='down' is not one of"):
            make("down")


def test_what_is_lost_by_reading_is_not_said_to_be_written():
    with pytest.raises(DecodeError, match="the type does not hold the value without loss"):
        JsonCodec(pa.int32()).decode([b"1.5"])

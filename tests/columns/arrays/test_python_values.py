"""Lists of Python's values that are encoded, and what NumPy and pandas hold."""

import datetime
import zoneinfo
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from cases import cases

import kcodec
from kcodec import AvroCodec

_ITEM = {
    "type": "record",
    "name": "I",
    "fields": [{"name": "a", "type": "int"}, {"name": "b", "type": "int", "default": 5}],
}


class TestPythonValues:
    """Lists of values that are encoded, and what NumPy and pandas hold."""

    CODEC = AvroCodec(
        {
            "type": "record",
            "name": "R",
            "fields": [
                {"name": "id", "type": "long"},
                {
                    "name": "at",
                    "type": ["null", {"type": "long", "logicalType": "timestamp-millis"}],
                    "default": None,
                },
                {"name": "items", "type": {"type": "array", "items": _ITEM}, "default": []},
            ],
        }
    )

    def test_a_list_of_dicts(self, impl):
        at = datetime.datetime(2024, 1, 1, tzinfo=datetime.timezone.utc)
        rows = [{"id": 1, "at": at, "items": [{"a": 1}]}, None, {"id": 2, "items": []}]
        values = self.CODEC.encode(rows)
        assert self.CODEC.decode(values).to_pylist() == [
            {"id": 1, "at": at, "items": [{"a": 1, "b": 5}]},
            None,
            {"id": 2, "at": None, "items": []},
        ]
        assert AvroCodec('"long"').encode([1, None, 2]).to_pylist() == [b"\x02", None, b"\x04"]
        # Fields that no row has get their defaults.
        assert self.CODEC.encode([{"id": 7}]).to_pylist() == [b"\x0e\x00\x00"]

    @cases(
        ("rows", "told"),
        [
            ([{"ID": 1}], "the rows: there is no field 'ID': did you mean 'id'?"),
            ([{"id": 1, "items": [{"A": 1}]}], r"items\[\]: there is no field 'A': did you mean 'a'?"),
            (
                [{"id": 1}, {"id": 2}, {"id": "x"}, {"id": 3}],
                "row 2 of the list does not fit int64 at id: Could not convert 'x'",
            ),
            ([{"id": 2**64}], "row 0 of the list does not fit"),
            ([None, 1], "row 1 of the list does not fit"),
            ([{"id": 1}, {"id": 1.5}], r"id: 1\.5 is no int64"),
            ([{"id": Decimal("1.5")}], r"id: 1\.5 is no int64"),
            ([{"id": 1, "at": 1.5}], r"at: 1\.5 is no timestamp"),
            ([{"id": 1, "items": ({"a": 0.5},)}], r"items\[\]\.a: 0\.5 is no int32"),
            (
                [{"id": 1, "items": [{"a": 1}, "x"]}],
                r"items\[\]: 'x' is no struct<a: .*>, but a dict is wanted",
            ),
        ],
    )
    def test_values_that_do_not_fit(self, rows, told):
        with pytest.raises(TypeError, match=told):
            self.CODEC.encode(rows)

    @pytest.mark.parametrize("values", [{"a": 1.5}, [("a", 1.5)]])
    def test_values_of_maps_that_do_not_fit(self, values):
        with pytest.raises(TypeError, match=r"\[\]\.value: 1\.5 is no int32"):
            AvroCodec({"type": "map", "values": "int"}).encode([values])

    def test_dates_beside_times(self):
        values = [datetime.date(2024, 1, 1), datetime.datetime(2024, 1, 1, 10)]
        with pytest.raises(TypeError, match=r"the rows: 2024-01-01 10:00:00 is no date32"):
            AvroCodec({"type": "int", "logicalType": "date"}).encode(values)

    def test_numbers_that_are_whole(self, impl):
        values = [1.0, Decimal("2.00"), np.float32(3), np.int8(4), None]
        assert AvroCodec('"long"').encode(values).to_pylist() == [b"\x02", b"\x04", b"\x06", b"\x08", None]

    @pytest.mark.parametrize(
        ("logical", "fine", "whole"),
        [
            ("date", datetime.datetime(1970, 1, 2, 3), datetime.date(1970, 1, 2)),
            ("time-millis", datetime.time(0, 0, 0, 5999), datetime.time(0, 0, 0, 5000)),
        ],
    )
    def test_times_that_are_finer(self, impl, logical, fine, whole):
        """As in columns: an error of the row, or cut off if that is asked for; not silently, as pyarrow has it."""
        schema = {"type": "int", "logicalType": logical}
        values, report = AvroCodec(schema).encode([None, fine], errors="report")
        assert (values.null_count, report["row"].to_pylist(), report["code"].to_pylist()) == (
            2,
            [1],
            ["inexact"],
        )
        codec = AvroCodec(schema, round="truncate")
        assert codec.decode(codec.encode([fine, None])).to_pylist() == [whole, None]

    def test_an_index_of_pandas_without_a_name_is_no_column(self, impl):
        frame = pd.DataFrame({"id": [1, 2]}, index=[7, 5])
        assert self.CODEC.encode(frame).to_pylist() == self.CODEC.encode(pa.table({"id": [1, 2]})).to_pylist()
        assert self.CODEC.encode(frame.iloc[:0]).to_pylist() == []

    @pytest.mark.parametrize(
        ("frame", "message"),
        [
            (pd.DataFrame({"id": [1, "x"]}), "Conversion failed for column id .*: Could not convert 'x'"),
            (pd.DataFrame({"id": [1j]}), "Conversion failed for column id with type complex128: Unsupported"),
            (pd.DataFrame({"id": [2**70]}), "too large"),
            (pd.DataFrame([[1, 2]], columns=["id", "id"]), r"Duplicate column names found: \['id', 'id'\]"),
            (pd.Series([1, "x"]), "Could not convert 'x'"),
            (np.array([1, "x"], dtype=object), "Could not convert 'x'"),
        ],
        ids=["mixed", "complex", "large", "twice", "series", "numpy"],
    )
    def test_a_frame_of_pandas_that_has_no_arrow_type(self, frame, message):
        with pytest.raises(TypeError, match=rf"is not an Arrow column: .*{message}"):
            self.CODEC.encode(frame)

    @pytest.mark.parametrize("shape", [pd.Series, lambda column: pd.DataFrame({"id": column})])
    def test_columns_of_pandas_that_are_others_for_arrow(self, shape):
        whole, some = np.ma.array([1, 2]), np.ma.array([1, 2], mask=[False, True])
        for column, message in (
            (pd.period_range("2024", periods=2, freq="D"), r"period\[D\], .*: to_timestamp\(\) makes times"),
            ([None, whole, some], "masked arrays of NumPy"),
        ):
            for call in (self.CODEC.encode, lambda given: kcodec.schema_of(pd.DataFrame(given))):
                with pytest.raises(
                    TypeError, match=rf"pandas' (Series|column 'id'|column 0) (is of|has) {message}"
                ):
                    call(shape(column))
        codec = kcodec.AvroCodec('["null", {"type": "array", "items": "long"}]')
        given = pd.Series([None, whole, float("nan"), some.tolist()[:1]])
        assert codec.decode(codec.encode(given)).to_pylist() == [None, [1, 2], None, [1]]

    def test_numpy_and_pandas(self, impl):
        values = [b"\x02\x00\x00", None, b"\x04\x00\x00\x00"[:3]]
        expected = self.CODEC.decode(values)
        objects = np.array(values, dtype=object)
        for given in (
            objects,
            pd.Series(objects),
            pd.Series(values),
            pd.Series(values, dtype=pd.ArrowDtype(pa.binary())),
        ):
            found = self.CODEC.decode(given)
            assert found.to_pylist() == expected.to_pylist()
        assert AvroCodec('"long"').encode(np.array([1, 2])).to_pylist() == [b"\x02", b"\x04"]
        assert AvroCodec('"long"').encode(pd.Series([1, 2])).to_pylist() == [b"\x02", b"\x04"]
        assert self.CODEC.encode(pd.DataFrame({"id": [1]})).to_pylist() == [b"\x02\x00\x00"]
        for wrong in (
            np.array([b"a\0"]),
            np.array([1.5]),
            np.array([[b"a"]], dtype=object),
            np.array([object()]),
        ):
            with pytest.raises(TypeError):
                self.CODEC.decode(wrong)


@cases(
    ("codec", "reason"),
    [
        (kcodec.JsonCodec("t TIMESTAMP"), "t: int64 is not written as timestamp"),
        (
            kcodec.JsonSchemaCodec({"properties": {"t": {"type": "string", "format": "date-time"}}}),
            "t: int64 is not written where the schema has times as text",
        ),
        (kcodec.KsqlCodec("JSON", "t TIMESTAMP"), "t: Arrow's int64 cannot be written as TIMESTAMP"),
        (
            kcodec.ProtobufCodec(
                'syntax = "proto3"; import "google/protobuf/timestamp.proto";'
                "message M { google.protobuf.Timestamp t = 1; }"
            ),
            "int64 cannot be written as google.protobuf.Timestamp",
        ),
    ],
)
def test_numbers_in_lists_are_no_times_where_columns_of_numbers_are_none(codec, reason, impl):
    """Taken as so many units of the column, milliseconds were moments of January 1970."""
    for write in (codec.encode, lambda rows: codec.encode_one(rows[0])):
        with pytest.raises((TypeError, kcodec.KcodecError), match=reason):
            write([{"t": 1_700_000_000_000}])


@cases("value", [[None], [("a", 1), None], "", b""])
def test_what_is_no_map(value, impl):
    """A pair that is null was an empty key with a zero, an empty text a map without entries."""
    codecs = (
        kcodec.JsonCodec("m MAP<STRING, INT>"),
        kcodec.ProtobufCodec('syntax = "proto3"; message M { map<string, int32> m = 1; }'),
    )
    for codec in codecs:
        with pytest.raises(TypeError, match=r"m: .* is no map<string, int32>"):
            codec.encode([{"m": value}])
        with pytest.raises((TypeError, kcodec.EncodeError), match="is no map<string, int32>"):
            codec.encode_one({"m": value})


def test_numbers_and_times_in_one_list(impl):
    codec = kcodec.AvroCodec('{"type": "long", "logicalType": "timestamp-millis"}')
    with pytest.raises(TypeError, match="the rows: 7 is a number, but 2020-01-01 00:00:00 is a time"):
        codec.encode([7, None, datetime.datetime(2020, 1, 1)])


@cases("kind", [pa.timestamp("us"), pa.list_(pa.timestamp("ms"))])
def test_times_of_another_zone_are_none_without_one(kind, impl):
    """Their moment in UTC was taken, which fits neither what clocks show there nor what columns allow."""
    times = (
        datetime.datetime(2020, 6, 1, 12, tzinfo=zoneinfo.ZoneInfo(name)) for name in ("UTC", "Europe/Paris")
    )
    utc, paris = ([[time] if pa.types.is_list(kind) else time] for time in times)
    assert kcodec.column(utc, kind) == pa.array(utc, kind)
    for make in (lambda: kcodec.column(paris, kind), lambda: kcodec.JsonCodec(kind).encode(paris)):
        with pytest.raises(TypeError, match=r"12:00:00\+02:00 has a time zone, and timestamp\[.s\] has none"):
            make()


def test_numbers_of_a_column_of_times():
    """What a number counts is the type's unit, where that is given."""
    assert kcodec.column([7, None], pa.timestamp("ms")) == pa.array([7, None], pa.timestamp("ms"))

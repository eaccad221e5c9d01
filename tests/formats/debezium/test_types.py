"""Debezium's dates and times, which are numbers and text with a name, read as Arrow's and written back."""

import datetime
import json
import pickle
import random

import pyarrow as pa
import pytest
from cases import cases
from hypothesis import given
from hypothesis import strategies as st

import kcodec
from kcodec import AvroCodec, ConfigError, ConnectJsonCodec, ConnectSchema
from kcodec.columns.types.isotime_py import read_iso, write_iso
from kcodec.formats.time_types import TIME_TYPES
from kcodec.objects.by_columns import ColumnReader, ColumnWriter, objects_of

PREFIX = "io.debezium.time."
AVRO = {"int32": "int", "int64": "long", "string": "string"}
#: Values that stand on the wire, and what they are.
VALUES = {
    "Date": [(19000, datetime.date(2022, 1, 8)), (-1, datetime.date(1969, 12, 31))],
    "Time": [(86_399_999, datetime.time(23, 59, 59, 999_000)), (0, datetime.time())],
    "MicroTime": [(86_399_999_999, datetime.time(23, 59, 59, 999_999))],
    "NanoTime": [(86_399_999_999_000, datetime.time(23, 59, 59, 999_999))],
    "Timestamp": [(1_700_000_000_123, datetime.datetime(2023, 11, 14, 22, 13, 20, 123_000))],
    "MicroTimestamp": [(-1, datetime.datetime(1969, 12, 31, 23, 59, 59, 999_999))],
    "NanoTimestamp": [(1_700_000_000_123_456_000, datetime.datetime(2023, 11, 14, 22, 13, 20, 123_456))],
    "ZonedTimestamp": [
        (text, datetime.datetime(2024, 1, 31, 12, 34, 56, micros, datetime.timezone.utc))
        for text, micros in (("2024-01-31T12:34:56.12Z", 120_000), ("2024-01-31T12:34:56Z", 0))
    ],
    "IsoDate": [("2017-09-15Z", datetime.date(2017, 9, 15))],
    "IsoTime": [("15:47:06.000001Z", datetime.time(15, 47, 6, 1)), ("15:47:06Z", datetime.time(15, 47, 6))],
    "IsoTimestamp": [("2017-09-15T15:47:06.5Z", datetime.datetime(2017, 9, 15, 15, 47, 6, 500_000))],
}
#: Values that no column of the type holds, and the code of their error.
BAD = {
    "Time": [(86_400_000, "out_of_range"), (-1, "out_of_range")],
    "MicroTime": [(86_400_000_000, "out_of_range"), (-1, "out_of_range")],
    "NanoTime": [(86_400_000_000_000, "out_of_range")],
    "Timestamp": [(2**62, "out_of_range"), (-(2**63), "out_of_range")],
    "ZonedTimestamp": [
        ("2024-01-31T12:34:56.1234567Z", "inexact"),
        ("2024-01-31T12:34:56", "invalid_time"),
        ("2023-02-29T00:00:00Z", "invalid_time"),
        ("+292278994-08-17T07:12:55.807Z", "invalid_time"),
        ("", "invalid_time"),
        ("Z", "invalid_time"),
        ("ü", "invalid_time"),
    ],
    "IsoDate": [("2017-02-30Z", "invalid_time"), ("2017-02-03+01:00", "invalid_time"), ("Z", "invalid_time")],
    "IsoTime": [("24:00:00Z", "invalid_time"), ("00:00:00+01:00", "invalid_time"), ("Z", "invalid_time")],
    "IsoTimestamp": [("2017-09-15 15:47:06.0000001Z", "inexact"), ("2017-09-15T15:47:06", "invalid_time")],
}


def avro(name, default=None):
    kind = {"type": AVRO[TIME_TYPES[PREFIX + name].wire], "connect.name": PREFIX + name, "connect.version": 1}
    field = {"name": "x", "type": ["null", kind], "default": None}
    if default is not None:
        field = {"name": "x", "type": {**kind, "connect.default": default}, "default": default}
    return {"type": "record", "name": "R", "fields": [field]}


def connect(name):
    return {
        "type": "struct",
        "optional": True,
        "fields": [
            {"field": "x", "type": TIME_TYPES[PREFIX + name].wire, "name": PREFIX + name, "optional": True}
        ],
    }


def avro_bytes(name, values):
    return AvroCodec(avro(name), debezium=False).encode(pa.array([{"x": value} for value in values]))


def connect_bytes(name, values):
    rows = ({"schema": connect(name), "payload": {"x": value}} for value in values)
    return pa.array([json.dumps(row, separators=(",", ":")).encode() for row in rows], pa.binary())


WAYS = {
    "avro": (avro_bytes, lambda name, **more: AvroCodec(avro(name), **more)),
    "connect": (connect_bytes, lambda name, **more: ConnectJsonCodec(connect(name), **more)),
}


@pytest.fixture(params=WAYS)
def way(request):
    return WAYS[request.param]


@cases("name", VALUES)
def test_named_types_are_read_without_being_told(impl, way, name):
    wires, wanted = zip(*VALUES[name], strict=True)
    written, codec = way[0](name, [*wires, None]), way[1](name)
    assert codec.arrow_type.field("x").type == TIME_TYPES[PREFIX + name].arrow_type
    found = codec.decode(written)
    assert found.field("x").to_pylist() == [*wanted, None]
    # Without their envelopes, which say the same in another order.
    assert way[1](name, debezium=False).decode(codec.encode(found)).to_pylist() == [
        {"x": value} for value in (*wires, None)
    ]
    if way is WAYS["avro"]:
        assert codec.encode(found).equals(written)


@pytest.mark.parametrize("name", VALUES)
def test_single_values_take_no_column(monkeypatch, name):
    wire, value = VALUES[name][0]
    document = json.dumps({"x": wire}, separators=(",", ":")).encode()
    codecs = [
        (ConnectJsonCodec(connect(name), schemas_enable=False), document),
        (AvroCodec(avro(name)), avro_bytes(name, [wire])[0].as_py()),
    ]
    monkeypatch.setenv("KCODEC_IMPL", "native")
    monkeypatch.setattr(ColumnReader, "decode_one", None)
    monkeypatch.setattr(ColumnWriter, "encode_one", None)
    for codec, data in codecs:
        assert codec.decode_one(data) == {"x": value}
        assert codec.encode_one({"x": value}) == data


def some_values(seed):
    """Make values that a column of a type may hold or not."""
    r = random.Random(seed)
    years = (1, 1677, 1678, 1969, 1970, 2262, 2263, 9999)
    moments = [
        datetime.datetime(
            r.choice(years),
            r.randint(1, 12),
            r.randint(1, 28),
            r.randint(0, 23),
            59,
            59,
            r.choice((0, 1000, 999_999)),
        )
        for _ in range(8)
    ]
    zones = (datetime.timezone.utc, datetime.timezone(datetime.timedelta(hours=2)))
    for moment in moments:
        yield from (moment, moment.date(), moment.time(), *(moment.replace(tzinfo=zone) for zone in zones))
    yield from (None, 0, -1, 86_400_000, "x", datetime.time(), datetime.time.max)


@cases("options", [{}, {"round": "truncate"}])
@cases("name", VALUES)
def test_single_values_are_written_as_columns_are(impl, name, options):
    codec = ConnectJsonCodec(connect(name), schemas_enable=False, **options)
    columns = ColumnWriter(codec.encode)
    for value in some_values(1):
        answers = []
        for write in (codec.encode_one, columns.encode_one):
            try:
                answers.append(write({"x": value}))
            except kcodec.KcodecError as error:
                answers.append((type(error), str(error)))
        assert answers[0] == answers[1], value


@cases("options", [{}, {"round": "truncate"}])
@cases("name", [name for name in VALUES if TIME_TYPES[PREFIX + name].wire != "string"])
def test_single_numbers_are_read_as_columns_are(impl, name, options):
    r = random.Random(2)
    codec = ConnectJsonCodec(connect(name), schemas_enable=False, **options)
    numbers = [0, -1, 999, 1000, 86_400_000, 86_400_000_000, 2**63 - 1, -(2**63), 2**63, 10**18]
    for number in [*numbers, *(r.randint(-(10**16), 10**16) * 1000 for _ in range(20))]:
        data = json.dumps({"x": number}).encode()
        values, faults = objects_of(codec.decode([data], errors="null"), floor="round" in options)
        try:
            found = codec.decode_one(data)
        except kcodec.DecodeError:
            assert faults or values == [None]
        else:
            assert not faults
            assert found == values[0]


@cases("name", BAD)
def test_what_no_column_holds_is_an_error_of_its_row(impl, way, name):
    values, codes = zip(*BAD[name], strict=True)
    good = VALUES[name][0][0]
    found, report = way[1](name).decode(way[0](name, [good, *values, good]), errors="report")
    assert report["code"].to_pylist() == list(codes)
    assert report["row"].to_pylist() == [*range(1, len(values) + 1)]
    assert set(report["path"].to_pylist()) == {"x"}
    assert found.is_valid().to_pylist() == [True, *[False] * len(values), True]


def test_digits_beyond_the_unit_are_cut_off_when_asked_to(impl, way):
    texts = ["2024-01-31T12:34:56.1234569Z", "1969-12-31T23:59:59.9999999+00:00"]
    found = way[1]("ZonedTimestamp", round="truncate").decode(way[0]("ZonedTimestamp", texts))
    assert [value.value for value in found.field("x")] == [1_706_704_496_123_456, -1]


def test_offsets_are_instants_and_written_in_utc(impl, way):
    # Seconds, as of a place's own time before there were zones, stand behind a second colon.
    texts = ["2024-01-31T14:34:56.5+02:00", "1850-01-01T00:53:28.5+00:53:28", "1850-01-01T00:00:00-0530"]
    codec = way[1]("ZonedTimestamp")
    found = codec.decode(way[0]("ZonedTimestamp", texts))
    plain = way[1]("ZonedTimestamp", debezium=False).decode(codec.encode(found))
    expected = ["2024-01-31T12:34:56.5Z", "1850-01-01T00:00:00.5Z", "1850-01-01T05:30:00Z"]
    assert [row["x"] for row in plain.to_pylist()] == expected
    wrong = [
        f"1850-01-01T00:00:00{zone}"
        for zone in ("+00:53:60", "+00:53:1", "+0053:28", "+005328", "-00:53:28Z")
    ]
    _, report = codec.decode(way[0]("ZonedTimestamp", wrong), errors="report")
    assert report["code"].to_pylist() == ["invalid_time"] * len(wrong)


def test_the_numbers_are_written_as_they_are_and_other_units_too(impl, way):
    codec = way[1]("MicroTimestamp")
    numbers = pa.array([{"x": 5_000_000}, {"x": None}])
    seconds = pa.array([{"x": 5}], pa.struct([("x", pa.timestamp("s"))]))
    nanos = pa.array([{"x": 5_000_000_000}, {"x": 1}], pa.struct([("x", pa.timestamp("ns"))]))
    plain = way[1]("MicroTimestamp", debezium=False)
    assert plain.decode(codec.encode(numbers)).to_pylist() == [{"x": 5_000_000}, {"x": None}]
    assert plain.decode(codec.encode(seconds)).to_pylist() == [{"x": 5_000_000}]
    written, report = codec.encode(nanos, errors="report")
    assert plain.decode(written).to_pylist() == [{"x": 5_000_000}, None]
    assert report["code"].to_pylist() == ["inexact"]
    zoned = pa.array([{"x": 5}], pa.struct([("x", pa.timestamp("us", "UTC"))]))
    if way is WAYS["avro"]:
        assert codec.encode(zoned, errors="report")[1]["code"].to_pylist() == ["type_mismatch"]
    else:
        with pytest.raises(kcodec.SchemaError, match="not written as"):
            codec.encode(zoned)


def test_years_of_more_digits_are_not_written_as_text(impl, way):
    codec = way[1]("ZonedTimestamp")
    values = pa.array([{"x": 2**62}], pa.struct([("x", pa.timestamp("us", "UTC"))]))
    assert codec.encode(values, errors="report")[1]["code"].to_pylist() == ["out_of_range"]


@pytest.mark.parametrize("name", ["Date", "MicroTimestamp", "ZonedTimestamp"])
def test_defaults_are_read_too(impl, name):
    wire, value = VALUES[name][0]
    empty = AvroCodec({"type": "record", "name": "R", "fields": []})
    codec = AvroCodec(empty.schema, avro(name, wire))
    assert codec.decode([b"", b""]).to_pylist() == [{"x": value}] * 2
    schema = connect(name)
    schema["fields"][0]["default"] = wire
    assert ConnectJsonCodec(schema, schemas_enable=False).decode([b"{}"]).to_pylist() == [{"x": value}]


def test_a_default_that_is_no_time_is_an_error_of_the_row(impl):
    codec = AvroCodec('{"type": "record", "name": "R", "fields": []}', avro("ZonedTimestamp", "now"))
    assert codec.decode([b""], errors="report")[1]["code"].to_pylist() == ["invalid_time"]


def test_names_of_other_types_and_logical_types_count_for_more(impl):
    wrong = {"type": "string", "connect.name": PREFIX + "Date"}
    other = {"type": "long", "connect.name": PREFIX + "MicroTimestamp", "logicalType": "timestamp-micros"}
    text = {"type": "string", "connect.name": PREFIX + "ZonedTime"}
    odd = {"type": "long", "connect.name": {"io": 1}}
    kinds = [pa.string(), pa.timestamp("us", "UTC"), pa.string(), pa.int64()]
    assert [AvroCodec(each).arrow_type for each in (wrong, other, text, odd)] == kinds
    assert ConnectSchema.from_json({"type": "string", "name": PREFIX + "Date"}).to_arrow() == pa.string()


def test_within_lists_and_maps(impl, way):
    zoned = {"type": "string", "connect.name": PREFIX + "ZonedTimestamp"}
    schema = {"type": "array", "items": {"type": "map", "values": zoned}}
    rows = [[[("a", "2024-01-31T00:00:00Z"), ("b", "2024-01-31T00:00:00.1Z")], []], [], [[("c", "no")]]]
    written = AvroCodec(schema, debezium=False).encode(
        pa.array(rows, pa.list_(pa.map_(pa.string(), pa.string())))
    )
    codec = AvroCodec(schema)
    found, report = codec.decode(written, errors="report")
    assert report.select(["row", "path", "code"]).to_pylist() == [
        {"row": 2, "path": "[0][0].value", "code": "invalid_time"}
    ]
    assert codec.encode(found).to_pylist() == [*written.to_pylist()[:2], None]


def test_what_is_not_asked_for_stays_as_it_is():
    plain = AvroCodec(avro("MicroTimestamp"), debezium=False)
    assert plain.arrow_type.field("x").type == pa.int64()
    assert pickle.loads(pickle.dumps(plain)) == plain != AvroCodec(avro("MicroTimestamp"))
    compat = ConnectJsonCodec(connect("MicroTimestamp"), compat="connect")
    assert compat.arrow_type.field("x").type == pa.int64()
    with pytest.raises(ConfigError, match="debezium"):
        ConnectJsonCodec(compat="connect", debezium=True)
    with pytest.raises(ConfigError, match="debezium"):
        AvroCodec(avro("Date"), debezium=1)


def test_a_serde_reads_them(impl):
    registry = kcodec.registry.open("memory://debezium")
    schema = json.dumps(avro("MicroTimestamp"))
    serde = kcodec.Serde("AVRO", registry, topic="t", schema=schema, config={"auto.register.schemas": True})
    rows = pa.array([{"x": 7}], pa.struct([("x", pa.timestamp("us"))]))
    assert serde.deserialize(serde.serialize(rows)).cast(rows.type).equals(rows)


@given(
    st.sampled_from([pa.date32(), pa.time64("us"), pa.timestamp("us"), pa.timestamp("us", "UTC")]),
    st.integers(-(2**40), 2**56),
)
def test_text_reads_back_as_what_it_was_written_of(kind, value):
    text = write_iso(value, kind, utc=True)
    if text is not None:
        assert read_iso(text, kind, utc=True) == (value, "")
        assert text.endswith("Z")

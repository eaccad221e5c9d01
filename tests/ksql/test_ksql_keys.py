"""Keys in ksqlDB's formats: their names, bare ones, and the windows behind them."""

import datetime
import json
import pickle
import struct
from decimal import Decimal

import pyarrow as pa
import pytest
from cases import cases
from ksql_codecs import FORMATS, UTC, codec_of, framed, registered

from kcodec import ConfigError, KsqlCodec, SchemaError
from kcodec.registry.memory import MemoryRegistry


def test_names_of_keys(impl):
    registry = MemoryRegistry()
    options = {"registry": registry, "topic": "t", "is_key": True}
    one = KsqlCodec("AVRO", "K STRUCT<A INT> KEY", source="MY_TABLE", **options)
    assert json.loads(one.schema)["name"] == "MyTableKey"
    assert json.loads(one.schema)["fields"][0]["name"] == "A"
    two = KsqlCodec(
        "AVRO", "A INT KEY, B INT KEY", properties={"KEY_SCHEMA_FULL_NAME": "shop.Key"}, **options
    )
    assert json.loads(two.schema)["namespace"] == "shop"
    assert [field["name"] for field in json.loads(two.schema)["fields"]] == ["A", "B"]


@cases(
    ("sql", "value", "body"),
    [
        ("BYTES", b"\1\2", b"\1\2"),
        ("DECIMAL(4, 2)", Decimal("-1.5"), b"\xff\x6a"),
        ("STRING", "ab", b"\x04ab"),
        ("TIMESTAMP", datetime.datetime(1970, 1, 1, 0, 0, 0, 1000, UTC), b"\x02"),
    ],
)
def test_bare_keys_of_avro(impl, sql, value, body):
    """Payloads of the root type bytes have no length."""
    codec = codec_of("AVRO", f"K {sql} KEY", is_key=True)
    written = codec.encode(pa.array([{"K": value}, {"K": None}, None], codec.arrow_type)).to_pylist()
    assert written == [framed(1, body), None, None]
    assert codec.decode(written).to_pylist() == [{"K": value}, None, None]


def test_bare_decimals_fit_or_not(impl):
    registry = MemoryRegistry()
    number = registered(registry, {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 3})
    codec = codec_of("AVRO", "K DECIMAL(4, 2) KEY", is_key=True, registry=registry)
    array, report = codec.decode([framed(number, bytes([5, 220])), framed(number, b"\1")], errors="report")
    assert array.to_pylist() == [{"K": Decimal("1.50")}, None]
    assert report["code"].to_pylist() == ["inexact"]


def test_bare_columns_of_protobuf_without_a_registry(impl):
    codec = KsqlCodec("PROTOBUF_NOSR", "K INT KEY", is_key=True)
    written = codec.encode(pa.array([{"K": 5}, {"K": 0}, {"K": None}]))
    assert written.to_pylist() == [b"\x08\x05", b"", None]
    assert codec.decode(written).to_pylist() == [{"K": 5}, {"K": 0}, None]
    with pytest.raises(SchemaError, match="Unsupported root schema of type ARRAY"):
        KsqlCodec("PROTOBUF_NOSR", "K ARRAY<INT> KEY", is_key=True)


KEYS = ("KAFKA", "JSON", "DELIMITED", *FORMATS, "PROTOBUF_NOSR")


@cases("name", KEYS)
def test_windowed_keys(impl, name):
    registry = MemoryRegistry() if name in FORMATS else None
    options = {"is_key": True, "registry": registry, "topic": "t" if registry else None}
    plain = KsqlCodec(name, "K BIGINT KEY", **options)
    row = {"K": 7, "WINDOWSTART": 10_000, "WINDOWEND": 20_000}
    inner = plain.encode(pa.array([{"K": 7}])).to_pylist()[0]
    session = KsqlCodec(name, "K BIGINT KEY", window="session", **options)
    written = session.encode(pa.array([row, None], session.arrow_type))
    assert written.to_pylist() == [inner + struct.pack(">qq", 20_000, 10_000), None]
    assert session.decode(written).to_pylist() == [row, None]
    times = KsqlCodec(name, "K BIGINT KEY", window="HOPPING", window_size="10 seconds", **options)
    written = times.encode(pa.array([{"K": 7, "WINDOWSTART": 10_000}]))
    assert written.to_pylist() == [inner + struct.pack(">q", 10_000)]
    values = [*written.to_pylist(), b"", b"short", inner + struct.pack(">q", (1 << 63) - 2)]
    array, report = times.decode(values, errors="report")
    assert array.to_pylist() == [
        row,
        None,
        None,
        {"K": 7, "WINDOWSTART": (1 << 63) - 2, "WINDOWEND": (1 << 63) - 1},
    ]
    assert report.select(["row", "code"]).to_pylist() == [{"row": 2, "code": "truncated"}]
    assert pickle.loads(pickle.dumps(times)).decode(written).to_pylist() == [row]


def test_windowed_keys_need_their_window(impl):
    codec = KsqlCodec("KAFKA", "K STRING KEY", is_key=True, window="SESSION")
    written, report = codec.encode(pa.array([{"K": "a", "WINDOWSTART": 1}]), errors="report")
    assert written.to_pylist() == [None]
    assert report.select(["path", "code"]).to_pylist() == [{"path": "WINDOWEND", "code": "null_value"}]
    # What is lost costs its row; beneath a null nothing is.
    row = {"K": "a", "WINDOWSTART": 1.0, "WINDOWEND": 2}
    rows = pa.array([row, {**row, "WINDOWSTART": 1.5}, {**row, "K": None, "WINDOWSTART": 1.5}])
    written, report = codec.encode(rows, errors="report")
    assert written.is_valid().to_pylist() == [True, False, False]
    assert report.select(["row", "path", "code"]).to_pylist() == [
        {"row": 1, "path": "WINDOWSTART", "code": "inexact"}
    ]


def test_windows_are_timestamps_too(impl):
    """As Spark's window has them; taken for numbers, their microseconds were a window of the year 55970."""
    codec = KsqlCodec("KAFKA", "K STRING KEY", is_key=True, window="SESSION")
    millis = pa.array([-5, 1_700_000_000_000, None])
    for unit, zone in (("ms", None), ("us", "UTC"), ("ns", "Europe/Berlin")):
        kind = pa.timestamp(unit, zone)
        times = millis.cast(pa.timestamp("ms")).cast(pa.timestamp(unit)).cast(pa.int64()).cast(kind)
        rows, plain = (
            pa.record_batch({"K": ["a", "b", None], "WINDOWSTART": each, "WINDOWEND": each})
            for each in (times, millis)
        )
        assert codec.encode(rows) == codec.encode(plain)
    fine = pa.record_batch({"K": ["a"], "WINDOWSTART": pa.array([1], pa.timestamp("us")), "WINDOWEND": [2]})
    assert codec.encode(fine, errors="report")[1].select(["path", "code"]).to_pylist() == [
        {"path": "WINDOWSTART", "code": "inexact"}
    ]
    with pytest.raises(SchemaError, match=r"WINDOWEND: Arrow's date32\[day\] cannot be written as BIGINT"):
        codec.encode(pa.table({"K": ["a"], "WINDOWSTART": [1], "WINDOWEND": pa.array([1], pa.date32())}))


def test_windowed_keys_in_runs(impl):
    codec = KsqlCodec("KAFKA", "K INT KEY", is_key=True, window="SESSION")
    parts = [pa.array([7, 7, 8], kind) for kind in (pa.int32(), pa.int64(), pa.int64())]
    names = ["K", "WINDOWSTART", "WINDOWEND"]
    runs = [
        pa.RunEndEncodedArray.from_arrays(pa.array([2, 3], pa.int32()), part.take(pa.array([0, 2])))
        for part in parts
    ]
    for mask in (None, pa.array([False, True, False])):
        plain = codec.encode(pa.StructArray.from_arrays(parts, names, mask=mask))
        rows = pa.StructArray.from_arrays(runs, names, mask=mask)
        assert codec.encode(rows).equals(plain)
        assert codec.encode(pa.DictionaryArray.from_arrays(pa.array([0, 1, 2]), rows)).equals(plain)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"window": "SESSION", "window_size": 5}, "'WINDOW_SIZE' should not be set for SESSION windows."),
        ({"window": "TUMBLING"}, "TUMBLING windows require 'WINDOW_SIZE'"),
        ({"window": "SLIDING"}, "Unknown window type: SLIDING"),
        ({"window": "HOPPING", "window_size": "10"}, "'WINDOW_SIZE'"),
        ({"window": "HOPPING", "window_size": 0}, "'WINDOW_SIZE'"),
        ({"window_size": 5}, "WINDOW_TYPE is not set"),
        ({"window": "SESSION", "is_key": False}, "values have no window"),
    ],
)
def test_wrong_windows(options, message):
    with pytest.raises(ConfigError, match=message):
        KsqlCodec("KAFKA", "K STRING", **{"is_key": True, **options})


@pytest.mark.parametrize("name", ["NONE", "KAFKA", "JSON", "AVRO"])
def test_windows_are_of_key_columns(name):
    with pytest.raises(SchemaError, match=r"Windowed sources require a key column\."):
        KsqlCodec(name, is_key=True, window="SESSION")

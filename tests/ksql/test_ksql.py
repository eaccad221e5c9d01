"""ksqlDB's formats whose schemas are in a registry: columns through an embedded one and back."""

import datetime
import json
import pickle
from decimal import Decimal

import pyarrow as pa
import pytest
from cases import cases
from ksql_codecs import COLUMNS, EMPTY, FORMATS, ROW, UTC, codec_of, framed, record, registered
from side_by_side import comparable

from kcodec import ConfigError, DecodeError, EncodeError, KsqlCodec, SchemaError
from kcodec.registry import Config
from kcodec.registry.memory import MemoryRegistry


@cases("name", [*FORMATS, "PROTOBUF_NOSR"])
def test_columns_there_and_back(impl, name):
    options = {"registry": None} if name == "PROTOBUF_NOSR" else {}
    nullable = {"VALUE_PROTOBUF_NULLABLE_REPRESENTATION": "OPTIONAL"} if "PROTOBUF" in name else {}
    codec = codec_of(name, COLUMNS, properties=nullable, **options)
    rows = pa.array([ROW, None, EMPTY], codec.arrow_type)
    written = codec.encode(rows)
    assert written[1].as_py() is None
    assert comparable(codec.decode(written)) == comparable(rows)
    chunks = codec.decode(pa.chunked_array([written, written]))
    assert comparable(chunks.chunk(1)) == comparable(rows)


def test_the_schema_is_registered_under_the_topic(impl):
    for name, kind in zip(FORMATS, ("AVRO", "PROTOBUF", "JSON"), strict=True):
        registry = MemoryRegistry()
        codec = KsqlCodec(name, "ID BIGINT", registry=registry, topic="orders")
        assert registry.subjects() == []
        codec.encode(pa.array([{"ID": 1}]))
        assert registry.subjects() == ["orders-value"]
        found = registry.get_version("orders-value")
        assert found.schema.type == kind
        assert found.schema.text == codec.schema
        keys = KsqlCodec(name, "ID BIGINT KEY", registry=registry, topic="orders", is_key=True)
        keys.encode(pa.array([{"ID": 1}]))
        assert registry.subjects() == ["orders-key", "orders-value"]


def test_nothing_is_registered_for_nulls(impl):
    registry = MemoryRegistry()
    codec = KsqlCodec("AVRO", "ID BIGINT", registry=registry, topic="orders")
    assert codec.encode(pa.array([None, None], codec.arrow_type)).to_pylist() == [None, None]
    assert registry.subjects() == []


def test_columns_are_given_in_any_form(impl):
    codec = codec_of("AVRO", "ID BIGINT, TOTAL DECIMAL(6,2), AT TIMESTAMP, DAY DATE, CLOCK TIME")
    table = pa.table(
        {
            "clock": pa.array([86_399_999], pa.int32()),
            "day": pa.array([datetime.date(2020, 1, 2)], pa.date64()),
            "at": pa.array([1_000_000_000], pa.timestamp("ns")),
            "total": ["1.5"],
            "id": pa.array([7], pa.uint8()),
        }
    )
    (row,) = codec.decode(codec.encode(table)).to_pylist()
    assert row == {
        "ID": 7,
        "TOTAL": Decimal("1.50"),
        "AT": datetime.datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC),
        "DAY": datetime.date(2020, 1, 2),
        "CLOCK": datetime.time(23, 59, 59, 999000),
    }


@pytest.mark.parametrize("name", FORMATS)
def test_nulls_within_and_slices(impl, name):
    """Protobuf has no nulls in lists; entries of null have the default."""
    codec = codec_of(name, "A ARRAY<STRING>, M MAP<STRING, INT>, R ARRAY<STRUCT<X INT>>")
    rows = [
        {"A": ["a", None], "M": [], "R": []},
        {"A": [], "M": [("k", None)], "R": []},
        {"A": [], "M": [], "R": [None]},
    ]
    array = pa.array(rows, codec.arrow_type)
    written, report = codec.encode(array, errors="report")
    found = codec.decode(written).to_pylist()
    if name == "PROTOBUF":
        assert report.select(["path", "code"]).to_pylist() == [
            {"path": "A[1]", "code": "null_value"},
            {"path": "R[0]", "code": "null_value"},
        ]
        assert found == [None, {"A": [], "M": [("k", 0)], "R": []}, None]
    else:
        assert found == rows
    part, _ = codec.encode(pa.concat_arrays([array] * 3).slice(2, 5), errors="report")
    assert part.to_pylist() == (written.to_pylist() * 3)[2:7]


@cases("name", FORMATS)
@cases(
    ("columns", "value", "path", "code"),
    [
        ("A DECIMAL(3, 1)", Decimal("1.25"), "A", "inexact"),
        ("A DECIMAL(3, 1)", Decimal("1000.0"), "A", "decimal_precision"),
        ("A INT", 1 << 31, "A", "out_of_range"),
        ("A TIMESTAMP", datetime.datetime(2020, 1, 1, 0, 0, 0, 1, UTC), "A", "inexact"),
    ],
)
def test_values_that_do_not_fit_cost_their_row(impl, name, columns, value, path, code):
    codec = codec_of(name, columns)
    written, report = codec.encode(pa.array([{"A": None}, {"A": value}, {"A": None}]), errors="report")
    assert [row is None for row in written.to_pylist()] == [False, True, False]
    assert report.select(["row", "path", "code"]).to_pylist() == [{"row": 1, "path": path, "code": code}]
    with pytest.raises(EncodeError):
        codec.encode(pa.array([{"A": value}]))


@pytest.mark.parametrize("name", FORMATS)
def test_integers_that_are_no_times(impl, name):
    """Spark has times as milliseconds of the day."""
    codec = codec_of(name, "T TIME, R ARRAY<STRUCT<U TIME>>")
    rows = [{"T": 5, "R": [{"U": 1}]}, {"T": -1, "R": None}, {"T": None, "R": [{"U": 0}, {"U": 86_400_001}]}]
    kind = pa.struct([("T", pa.int32()), ("R", pa.list_(pa.struct([("U", pa.int64())])))])
    written, report = codec.encode(pa.array(rows, kind), errors="report")
    assert [row is None for row in written.to_pylist()] == [False, True, True]
    assert report.select(["path", "code"]).to_pylist() == [
        {"path": "T", "code": "out_of_range"},
        {"path": "R[1].U", "code": "out_of_range"},
    ]


@pytest.mark.parametrize("name", FORMATS)
def test_times_may_be_cut_off(impl, name):
    codec = codec_of(name, "A TIMESTAMP, T TIME", round="truncate")
    times = pa.array([1_999_999], pa.int64()).view(pa.time64("ns"))
    table = pa.table({"A": pa.array([-1], pa.timestamp("us", "UTC")), "T": times})
    found = codec.decode(codec.encode(table)).combine_chunks()
    assert found.field("A").cast(pa.int64()).to_pylist() == [-1000]
    assert found.field("T").cast(pa.int32()).to_pylist() == [1]


@pytest.mark.parametrize("name", FORMATS)
def test_damaged_bytes_cost_their_row(impl, name):
    codec = codec_of(name, COLUMNS)
    good = codec.encode(pa.array([ROW], codec.arrow_type)).to_pylist()[0]
    values = [good[:cut] for cut in range(len(good))] + [good[:-1] + bytes([good[-1] ^ 0xFF]), good]
    array, report = codec.decode(values, errors="report")
    array.validate(full=True)
    assert comparable(array)[-1] == comparable(codec.decode([good]))[0]
    assert set(report["row"].to_pylist()) <= set(range(len(values) - 1))


@pytest.mark.parametrize("name", FORMATS)
def test_rows_of_many_schemas_keep_their_order(impl, name):
    registry = MemoryRegistry()
    first = KsqlCodec(name, "A INT", registry=registry, topic="first")
    second = KsqlCodec(name, "A BIGINT, B STRING", registry=registry, topic="second")
    other = KsqlCodec(name, "A STRING, C DOUBLE", registry=registry, topic="third")
    reader = KsqlCodec(name, "A STRING, B STRING", registry=registry)
    rows = [
        first.encode(pa.array([{"A": 1}]))[0],
        second.encode(pa.array([{"A": 2, "B": "b"}]))[0],
        other.encode(pa.array([{"A": "3", "C": 1.0}]))[0],
    ]
    values = pa.array([row.as_py() for row in rows] * 3 + [None, b"\0\0\0\1\0\0\0"])
    array, report = reader.decode(values, errors="report")
    wanted = [{"A": "1", "B": None}, {"A": "2", "B": "b"}, {"A": "3", "B": None}]
    assert array.to_pylist() == [*wanted * 3, None, None]
    assert report.select(["row", "code"]).to_pylist() == [{"row": 10, "code": "unknown_schema_id"}]
    array.validate(full=True)
    # As they come from a topic.
    assert reader.decode(values.cast(pa.binary_view()), errors="null").equals(array)


def test_the_first_bad_row_of_many_schemas(impl):
    registry = MemoryRegistry()
    texts = registered(registry, record(("a", "string")))
    longs = registered(registry, record(("a", {"type": "long"}), name="L"), subject="other")
    reader = KsqlCodec("AVRO", "A STRING", registry=registry)
    values = [framed(longs, b"\x02"), framed(texts, b"\x04a"), framed(longs, b"")]
    with pytest.raises(DecodeError) as error:
        reader.decode(values)
    assert error.value.row == 1
    assert reader.decode(values, errors="report")[1]["row"].to_pylist() == [1, 2]


def test_headers_may_name_the_schema(impl):
    registry = MemoryRegistry()
    number = registered(registry, record(("a", "int")))
    guid = bytes.fromhex(registry.get(number).guid.replace("-", ""))
    codec = codec_of("AVRO", "A INT", registry=registry)
    assert codec.decode([b"\x04"], headers=[b"\1" + guid]).to_pylist() == [{"A": 2}]
    with pytest.raises(ConfigError, match="no schemas"):
        KsqlCodec("JSON", "A INT").decode([b"{}"], headers=[None])


def test_what_was_fetched_is_pickled(impl, monkeypatch):
    registry = MemoryRegistry()
    number = registered(registry, record(("a", "int")))
    codec = codec_of("AVRO", "A INT", registry=registry)
    codec.decode([framed(number, b"\x04")])
    again = pickle.loads(pickle.dumps(codec))

    def refuse(*arguments):
        raise AssertionError("the registry is asked")

    monkeypatch.setattr(MemoryRegistry, "get", refuse)
    assert again.decode([framed(number, b"\x04")]).to_pylist() == [{"A": 2}]
    assert again == codec
    assert repr(again) == repr(codec)


def test_schemas_are_fetched_and_registered_in_advance(impl, monkeypatch):
    registry = MemoryRegistry()
    old = registered(registry, record(("a", "int"), name="KsqlDataSourceSchema"), subject="t-value")
    registry.set_config(Config("NONE"))
    codec = codec_of("AVRO", "A BIGINT", registry=registry)
    number = codec.register()
    codec.fetch()
    again = pickle.loads(pickle.dumps(codec))

    def refuse(*arguments, **options):
        raise AssertionError("the registry is asked")

    for name in ("get", "register", "get_version", "lookup"):
        monkeypatch.setattr(MemoryRegistry, name, refuse)
    written = again.encode(pa.array([{"A": 1}])).to_pylist()
    assert again.decode([*written, framed(old, b"\x04")]).to_pylist() == [{"A": 1}, {"A": 2}]
    assert written == [framed(number, b"\x02\x02")]


def test_without_a_registry_there_is_a_schema(impl):
    codec = KsqlCodec("AVRO", "A INT", properties={"VALUE_SCHEMA_FULL_NAME": "shop.Order"})
    assert json.loads(codec.schema)["connect.name"] == "shop.Order"
    with pytest.raises(ConfigError, match="registry="):
        codec.decode([b"\0\0\0\0\1\0"])
    with pytest.raises(ConfigError, match="registry="):
        codec.encode(pa.array([{"A": 1}]))
    with pytest.raises(ConfigError, match="takes no registry="):
        KsqlCodec("JSON", "A INT", registry=MemoryRegistry())


@pytest.mark.parametrize(
    ("name", "columns", "options", "message"),
    [
        ("AVRO", "M MAP<INT, INT>", {}, "Avro only supports MAPs with STRING keys"),
        ("PROTOBUF", "M MAP<INT, INT>", {}, "PROTOBUF format only supports MAP types with STRING keys"),
        ("JSON_SR", "M MAP<INT, INT>", {}, "JSON only supports MAP types with STRING keys"),
        ("PROTOBUF", "A ARRAY<ARRAY<INT>>", {}, "Array cannot be nested"),
        ("AVRO", "`1st` INT", {}, "Schema is not compatible with Avro"),
        ("PROTOBUF", "`a-b` INT", {}, "Invalid protobuf schema definition"),
        ("AVRO", "K MAP<STRING, INT> KEY", {"is_key": True}, "Map keys, including types that contain maps"),
    ],
)
def test_columns_that_a_format_does_not_have(name, columns, options, message):
    with pytest.raises(SchemaError, match=message):
        KsqlCodec(name, columns, **options)


@cases(
    ("name", "properties", "message"),
    [
        ("AVRO", {"VALUE_AVRO_SCHEMA_FULL_NAME": " "}, "fullSchemaName cannot be empty"),
        (
            "JSON",
            {"VALUE_SCHEMA_FULL_NAME": "a"},
            r"JSON does not support the following configs: \[fullSchemaName\]",
        ),
        (
            "JSON",
            {"VALUE_SCHEMA_ID": 1},
            "VALUE_FORMAT should support schema inference when VALUE_SCHEMA_ID is provided",
        ),
        ("AVRO", {"VALUE_DELIMITER": "|"}, r"AVRO does not support the following configs: \[delimiter\]"),
        (
            "AVRO",
            {"VALUE_PROTOBUF_NULLABLE_REPRESENTATION": "OPTIONAL"},
            "can only be enabled with protobuf format",
        ),
        (
            "PROTOBUF",
            {"VALUE_PROTOBUF_NULLABLE_REPRESENTATION": "x"},
            "String must be one of: OPTIONAL, WRAPPER, null",
        ),
        ("PROTOBUF", {"WRAP_SINGLE_VALUE": False}, "does not support 'WRAP_SINGLE_VALUE' set to 'false'"),
        ("DELIMITED", {"WRAP_SINGLE_VALUE": "true"}, "does not support 'WRAP_SINGLE_VALUE' set to 'true'"),
        ("AVRO", {"KEY_SCHEMA_ID": 1}, "it is for keys"),
        ("AVRO", {"VALUE_THING": 1}, "Invalid config variable"),
        ("AVRO", {"schemaId": "x"}, "is not a number"),
        ("AVRO", {"schemaId": "9" * 5000}, "is not a number"),
        ("AVRO", {"VALUE_SCHEMA_FULL_NAME": "a", "VALUE_AVRO_SCHEMA_FULL_NAME": "b"}, "Cannot supply both"),
        ("PROTOBUF_NOSR", {"VALUE_SCHEMA_FULL_NAME": "a"}, "does not support the following configs"),
    ],
)
def test_wrong_properties(name, properties, message):
    with pytest.raises(ConfigError, match=message):
        KsqlCodec(name, "A INT", properties=properties)

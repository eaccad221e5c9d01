"""Spark's DDL as Arrow types; tests/spark compares with Spark's own parser."""

import contextlib

import pyarrow as pa
import pytest
from cases import cases
from hypothesis import given
from hypothesis import strategies as st

from kcodec import ConfigError, JsonCodec, SchemaError
from kcodec.columns.types.ddl import ddl_text, ddl_type

WRONG = [
    "",
    " ",
    "id",
    "id NOTHING",
    "id VOID NOT NULL",
    "id INT,",
    "id INT, ",
    ", id INT",
    "id INT name STRING",
    "INT x y",
    "id DECIMAL(39)",
    "id DECIMAL(5,6)",
    "id DECIMAL(0)",
    "id DECIMAL(10,-2)",
    "id DECIMAL(10,2",
    "id DECIMAL()",
    "id DECIMAL(99999999999999999999)",
    "id VARCHAR",
    "id VARCHAR(x)",
    "ARRAY",
    "ARRAY<>",
    "ARRAY<INT",
    "ARRAY<INT>>",
    "MAP<INT>",
    "MAP<INT, INT, INT>",
    "STRUCT",
    "STRUCT<a INT",
    "STRUCT<a INT,>",
    "STRUCT<INT>",
    "id INT NOT",
    "id INT COMMENT",
    "id INT COMMENT x",
    "`id INT",
    "größe INT",
    "9 INT",
    "a.b INT",
    "id INT COMMENT 'x",
    "id INT;",
    "id /* INT",
    "TIME(7)",
    "\ud800 INT",
    "`\ud800` INT",
]


def test_types():
    kind = ddl_type(
        """id BIGINT NOT NULL COMMENT 'it''s "the" key', -- of the row
        `a ``b`` <c>`: struct<x: int, Y DOUBLE not null, z struct<>>,
        /* more */ m MAP<STRING, ARRAY<DEC(4, 1)>>, d Decimal, t timestamp_ntz, `größe` string collate utf8_lcase,
        1st VARCHAR(20), `date` date, int int, `` INT, interval int,
        timestamp TIMESTAMP WITHOUT TIME ZONE"""
    )
    inner = pa.struct([("x", pa.int32()), pa.field("Y", pa.float64(), False), ("z", pa.struct([]))])
    assert kind == pa.struct(
        [
            pa.field("id", pa.int64(), False),
            ("a `b` <c>", inner),
            ("m", pa.map_(pa.string(), pa.list_(pa.decimal128(4, 1)))),
            ("d", pa.decimal128(10, 0)),
            ("t", pa.timestamp("us")),
            ("größe", pa.string()),
            ("1st", pa.string()),
            ("date", pa.date32()),
            ("int", pa.int32()),
            ("", pa.int32()),
            ("interval", pa.int32()),
            ("timestamp", pa.timestamp("us")),
        ]
    )
    assert ddl_type("bigint") == pa.int64()
    assert ddl_type("variant int") == pa.struct([("variant", pa.int32())])
    assert ddl_type("Timestamp without TIME zone") == pa.timestamp("us")
    assert ddl_type("decimal(9,2)") == pa.decimal128(9, 2)
    assert ddl_type("STRING COLLATE UTF8_BINARY") == pa.string()
    assert ddl_type("array<array<void>>") == pa.list_(pa.list_(pa.null()))


@cases("text", WRONG)
def test_what_is_no_type(text):
    with pytest.raises(SchemaError):
        ddl_type(text)


@pytest.mark.parametrize("text", ["i INTERVAL DAY TO SECOND", "interval", "v VARIANT", "a ARRAY<VARIANT>"])
def test_what_has_no_column(text):
    with pytest.raises(SchemaError, match="no codec has a type"):
        ddl_type(text)


def test_depth_is_bounded():
    assert str(ddl_type("ARRAY<" * 50 + "INT" + ">" * 50)).count("list") == 50
    for text in (
        "ARRAY<" * 5000 + "INT" + ">" * 5000,
        "STRUCT<a " * 5000,
        "a " * 100_000,
        "`" * 100_001,
        "'" * 100_001,
    ):
        with pytest.raises(SchemaError):
            ddl_type(text)


@given(st.text(alphabet="aint<>(),:` '\"/*-\\ \n9ARRAYMPSTUC", max_size=40))
def test_any_text_is_a_type_or_an_error(text):
    with contextlib.suppress(SchemaError):
        assert isinstance(ddl_type(text), pa.DataType)


def test_a_codec_takes_it(impl):
    codec = JsonCodec("id BIGINT NOT NULL, tags ARRAY<STRING>, amount DECIMAL(10,2)")
    rows = [{"id": 1, "tags": ["a", None], "amount": None}]
    assert codec.decode([b'{"id": 1, "tags": ["a", null]}']).to_pylist() == rows
    assert codec == JsonCodec(codec.arrow_type)
    with pytest.raises(ConfigError, match="DDL"):
        JsonCodec(7)


_LEAVES = (
    *(
        pa.bool_(),
        pa.int8(),
        pa.uint8(),
        pa.int16(),
        pa.uint16(),
        pa.int32(),
        pa.uint32(),
        pa.int64(),
        pa.uint64(),
    ),
    *(pa.float16(), pa.float32(), pa.float64(), pa.string_view(), pa.large_binary(), pa.binary(3), pa.null()),
    *(
        pa.date32(),
        pa.date64(),
        pa.time32("ms"),
        pa.time64("ns"),
        pa.timestamp("ns"),
        pa.timestamp("s", "Asia/Tokyo"),
    ),
    *(pa.decimal128(38, 38), pa.dictionary(pa.int8(), pa.string())),
    *([pa.decimal32(5, 2)] if hasattr(pa, "decimal32") else []),
)


@given(
    st.recursive(
        st.sampled_from(_LEAVES),
        lambda inner: st.one_of(
            inner.map(pa.list_),
            inner.map(lambda kind: pa.map_(pa.string(), kind)),
            st.dictionaries(st.text("aB `.é1", min_size=1), st.tuples(inner, st.booleans())).map(
                lambda fields: pa.struct(
                    [pa.field(name, kind, null or kind == pa.null()) for name, (kind, null) in fields.items()]
                )
            ),
        ),
        max_leaves=8,
    )
)
def test_what_is_written_is_read(kind):
    text = ddl_text(pa.struct([pa.field("a`b", kind)]))
    # What Spark has no width for has become the next one, which stays.
    assert ddl_text(ddl_type(text)) == text


@pytest.mark.parametrize(
    ("kind", "path"),
    [(pa.list_(pa.duration("s")), "a"), (pa.decimal256(50, 2), "a"), (pa.decimal128(5, -2), "a")],
)
def test_what_has_no_ddl(kind, path):
    with pytest.raises(SchemaError, match=f"^{path}(\\[\\])?: Spark's DDL has no type for "):
        ddl_text(pa.struct([("a", kind)]))

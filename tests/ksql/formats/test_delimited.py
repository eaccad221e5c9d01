"""DELIMITED, KAFKA and NONE: what measured vectors do not show, and both implementations on any bytes."""

import csv
import io
import struct

import pyarrow as pa
import pytest
from cases import cases
from hypothesis import given
from hypothesis import strategies as st
from ksql_vectors import storage

from kcodec import ConfigError, DecodeError, KsqlCodec, SchemaError
from kcodec._impl import IMPLEMENTATIONS, kernel
from kcodec.ksql.formats.delimited.reader import read_record
from kcodec.ksql.types import SqlField, SqlType
from kcodec.plan.failure import RowError

COLUMNS = (
    "S STRING, B BOOLEAN, I INT, L BIGINT, D DOUBLE, X DECIMAL(6,2), Y BYTES, T TIME, DAY DATE, AT TIMESTAMP, "
    "E STRING"
)
CODECS = {compat: KsqlCodec("DELIMITED", COLUMNS, compat=compat) for compat in (None, "ksqldb")}
KIND = SqlType("STRUCT", fields=tuple(SqlField(c.name, c.type) for c in CODECS[None].columns))


def codes(codec, values):
    return codec.decode(values, errors="report")[1]["code"].to_pylist()


# Delimited text ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("delimiter", "message"),
    [
        ("", "delimiter cannot be empty"),
        ("ab", "Invalid delimiter value: 'ab'"),
        ('"', "cannot be '\"'"),
        ("\U0001f600", "single character or TAB,SPACE"),
        ("tab", "Invalid delimiter value"),
    ],
)
def test_delimiters_that_are_none(delimiter, message):
    with pytest.raises(ConfigError, match=message):
        KsqlCodec("DELIMITED", "A INT", properties={"delimiter": delimiter})


@pytest.mark.parametrize("kind", ["ARRAY<INT>", "MAP<STRING, INT>", "STRUCT<X INT>"])
def test_types_that_are_not_delimited(kind):
    with pytest.raises(SchemaError, match=r"The 'DELIMITED' format does not support type '\w+', column: `K`"):
        KsqlCodec("DELIMITED", f"K {kind}")


def test_wrapping():
    with pytest.raises(ConfigError, match="'DELIMITED' does not support 'WRAP_SINGLE_VALUE' set to 'true'"):
        KsqlCodec("DELIMITED", "A INT", wrap=True)
    assert KsqlCodec("DELIMITED", "A INT", wrap=False).decode([b"1"]).to_pylist() == [{"A": 1}]
    keys = KsqlCodec("DELIMITED", "A INT KEY, B STRING KEY", is_key=True)
    assert keys.encode(pa.array([{"A": -1, "B": None}, None])).to_pylist() == [b'"-1",', None]


@cases(
    ("payload", "code", "lenient"),
    [
        (b"a,yes", "invalid_boolean", {"A": "a", "B": False}),
        (b"a,TRUE", None, {"A": "a", "B": True}),
        (b"a\xff,true", "invalid_utf8", {"A": "a\ufffd", "B": True}),
        (b"a,true\nb,false", "trailing_bytes", {"A": "a", "B": True}),
        (b"\r\na,true\r\n\n", None, {"A": "a", "B": True}),
        (b'"a"  ,true', None, {"A": "a", "B": True}),
    ],
)
def test_strict_refuses_what_loses_something(impl, payload, code, lenient):
    columns = "A STRING, B BOOLEAN"
    assert codes(KsqlCodec("DELIMITED", columns), [payload]) == ([code] if code else [])
    assert KsqlCodec("DELIMITED", columns, compat="ksqldb").decode([payload]).to_pylist() == [lenient]


@cases(
    ("sql", "text", "code"),
    [
        ("DOUBLE", "1e400", "out_of_range"),
        ("TIME", "86400000", "out_of_range"),
        ("TIMESTAMP", str(2**62), "out_of_range"),
        ("INT", "1e2", "invalid_number"),
        ("INT", "null", "invalid_number"),
        ("INT", "1.0", "invalid_number"),
        ("DECIMAL(4,2)", "1,5", "column_count"),
        ("DECIMAL(4,2)", "1.555", "inexact"),
        ("DECIMAL(4,2)", "100", "decimal_precision"),
        ("BYTES", "YW=", "invalid_base64"),
        ("STRING", '"a', "delimited_syntax"),
        ("STRING", "", "delimited_syntax"),
        ("STRING", "a,b", "column_count"),
    ],
)
def test_refused_cells(impl, sql, text, code):
    assert codes(KsqlCodec("DELIMITED", f"A {sql}"), [text.encode()]) == [code]


def test_facts_of_a_refused_cell(impl):
    codec = KsqlCodec("DELIMITED", "A STRING, B INT")
    with pytest.raises(DecodeError) as error:
        codec.decode([b"a,1", '"é",x'.encode()])
    assert (error.value.row, error.value.offset, error.value.path) == (1, 5, "B")
    assert str(error.value) == 'invalid_number: row 1, byte 5, B: For input string: "x"'


def test_lines_are_counted_as_commons_csv_does():
    with pytest.raises(RowError) as refused:
        read_record(b'a\n"b\r\nc\n"d', KIND, ",", strict=False)
    assert refused.value.reason == "(line 4) invalid char between encapsulated token and delimiter"


CELLS = st.one_of(
    st.text(max_size=5),
    st.sampled_from(
        [
            "",
            "true",
            "TRUE",
            "1",
            "-5",
            "+1",
            "1.50",
            "1e3",
            "1e400",
            "NaN",
            "YWJj",
            "YWJ",
            "null",
            '"',
            '""',
            '"a"',
            '"a" ',
            "a\nb",
            " x",
            "٣",
        ]
    ),
    st.integers(-(2**65), 2**65).map(str),
    st.floats().map(repr),
    # Text is looked at 64 bytes at a time.
    st.sampled_from(["x" * 15, "x" * 16, "é" * 20, "x" * 63, "x" * 64, "1" * 30, "1" * 60 + "x", "\\n" * 20]),
)
DELIMITERS = st.sampled_from([",", "|", "\t", " ", "1", "-", "☺", "é"])
RECORDS = st.lists(CELLS, max_size=12)


@st.composite
def payloads(draw, delimiter):
    """Join cells, sometimes quoted as they should be, and sometimes damaged."""
    cells = draw(RECORDS | st.lists(CELLS, min_size=11, max_size=11))
    if draw(st.booleans()):
        cells = ['"' + cell.replace('"', '""') + '"' if draw(st.booleans()) else cell for cell in cells]
    text = delimiter.join(cells) + draw(st.sampled_from(["", "", "\n", "\r\n", "\nx"]))
    data = bytearray(text.encode("utf-8", "replace"))
    for at in draw(st.lists(st.integers(0, len(data) - 1), max_size=2)) if data else []:
        data[at] = draw(st.integers(0, 255))
    return bytes(data)


@given(st.data())
def test_native_text_is_pure_text(data):
    delimiter = data.draw(DELIMITERS)
    values = pa.array(data.draw(st.lists(st.none() | payloads(delimiter), max_size=5)), pa.binary())
    kinds = data.draw(st.text("snb", min_size=1, max_size=11)).encode()
    native, pure = (
        kernel("ksql.formats.delimited._kernel", impl).to_json(values, delimiter, kinds)
        for impl in IMPLEMENTATIONS
    )
    assert native[0].to_pylist() == pure[0].to_pylist()
    assert native[1] == pure[1]
    native[0].validate(full=True)
    rows = data.draw(
        st.lists(st.none() | st.lists(st.none() | st.booleans() | CELLS, min_size=1, max_size=4), max_size=4)
    )
    codec = KsqlCodec("JSON", "A ARRAY<STRING>", wrap=False)
    texts = [
        None if row is None else [str(x).lower() if isinstance(x, bool) else x for x in row] for row in rows
    ]
    lists = codec.encode(pa.array(texts, pa.list_(pa.string())))
    made = [
        kernel("ksql.formats.delimited._kernel", impl).from_json(lists, delimiter).to_pylist()
        for impl in IMPLEMENTATIONS
    ]
    assert made[0] == made[1]


@pytest.mark.parametrize("compat", CODECS)
@given(values=st.lists(st.none() | payloads(","), min_size=1, max_size=5))
def test_both_loops_agree_with_the_reader(compat, values):
    rows, refused = [], []
    for number, data in enumerate(values):
        row = None
        if data is not None:
            try:
                row = read_record(data, KIND, ",", strict=compat is None)
            except RowError as error:
                refused.append(tuple(error.fault(number)))
        rows.append(row)
    with pytest.MonkeyPatch.context() as patch:
        for impl in IMPLEMENTATIONS:
            patch.setenv("KCODEC_IMPL", impl)
            array, report = CODECS[compat].decode(values, errors="report")
            array.validate(full=True)
            assert repr(storage(array).to_pylist()) == repr(storage(pa.array(rows, array.type)).to_pylist())
            assert list(zip(*report.to_pydict().values(), strict=True)) == refused


ROWS = st.fixed_dictionaries(
    {
        "S": st.text(min_size=1, max_size=6),
        "B": st.none() | st.booleans(),
        "I": st.none() | st.integers(-(2**31), 2**31 - 1),
        "L": st.none() | st.integers(-(2**63), 2**63 - 1),
        "D": st.none() | st.floats(),
        "X": st.none() | st.decimals("-9999.99", "9999.99", places=2),
        "Y": st.none() | st.binary(min_size=1, max_size=6),
        "T": st.none() | st.integers(0, 86_399_999),
        "DAY": st.none() | st.integers(-(2**31), 2**31 - 1),
        "AT": st.none() | st.integers(-(2**40), 2**40).map(lambda ms: ms * 1000),
        "E": st.none() | st.text(min_size=1, max_size=4),
    }
)


@given(rows=st.lists(st.none() | ROWS, min_size=1, max_size=4), delimiter=DELIMITERS)
def test_what_is_written_is_read_again(rows, delimiter):
    named = {"\t": "TAB", " ": "SPACE"}.get(delimiter, delimiter)
    codec = KsqlCodec("DELIMITED", COLUMNS, properties={"delimiter": named})
    array = pa.array(rows, codec.arrow_type)
    with pytest.MonkeyPatch.context() as patch:
        written = []
        for impl in IMPLEMENTATIONS:
            patch.setenv("KCODEC_IMPL", impl)
            written.append(codec.encode(array).to_pylist())
            assert repr(storage(codec.decode(written[-1])).to_pylist()) == repr(storage(array).to_pylist())
        assert written[0] == written[1]


@given(st.lists(st.text(max_size=6), min_size=2, max_size=4))
def test_pythons_csv_reads_what_is_written(texts):
    codec = KsqlCodec("DELIMITED", ", ".join(f"C{n} STRING" for n in range(len(texts))))
    row = pa.array([{f"C{n}": text for n, text in enumerate(texts)}])
    text = codec.encode(row).to_pylist()[0].decode()
    if "\0" not in text:
        assert next(csv.reader(io.StringIO(text, newline=""), strict=True)) == texts


# KAFKA and NONE ---------------------------------------------------------------------------------------


@cases(
    ("sql", "value", "payload"),
    [
        ("INT", -2, struct.pack(">i", -2)),
        ("BIGINT", 1 << 40, struct.pack(">q", 1 << 40)),
        ("DOUBLE", -0.5, struct.pack(">d", -0.5)),
        ("STRING", "é", "é".encode()),
        ("STRING", "", b""),
        ("BYTES", b"\xff\0", b"\xff\0"),
        ("BYTES", b"", b""),
    ],
)
def test_kafkas_serializers(impl, sql, value, payload):
    codec = KsqlCodec("KAFKA", f"K {sql} KEY", is_key=True)
    values = pa.array([b"x", payload, None, payload], pa.binary()).slice(1)
    assert codec.decode(values).to_pylist() == [{"K": value}, None, {"K": value}]
    assert codec.decode(values.slice(0, 0)).to_pylist() == []
    array = pa.array([{"K": value}, {"K": None}, None, {"K": value}], codec.arrow_type)
    assert codec.encode(array).to_pylist() == [payload, None, None, payload]
    assert codec.encode(array.slice(3)).to_pylist() == [payload]


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("INT", "Size of data received by IntegerDeserializer is not 4"),
        ("BIGINT", "Size of data received by LongDeserializer is not 8"),
        ("DOUBLE", "Size of data received by Deserializer is not 8"),
    ],
)
def test_numbers_of_another_size(impl, sql, reason):
    codec = KsqlCodec("KAFKA", f"K {sql}", compat="ksqldb")
    array, report = codec.decode([b"", b"\0" * 9, None, bytes(4 if sql == "INT" else 8)], errors="report")
    assert array.to_pylist() == [None, None, None, {"K": 0}]
    assert report.select(["row", "code", "reason"]).to_pylist() == [
        {"row": 0, "code": "truncated", "reason": reason},
        {"row": 1, "code": "trailing_bytes", "reason": reason},
    ]
    with pytest.raises(DecodeError, match=reason):
        codec.decode([b""])


def test_kafkas_text_that_is_not_utf8(impl):
    values = [b"a", b"a\xff", None]
    assert codes(KsqlCodec("KAFKA", "K STRING"), values) == ["invalid_utf8"]
    lenient = KsqlCodec("KAFKA", "K STRING", compat="ksqldb")
    assert lenient.decode(values).to_pylist() == [{"K": "a"}, {"K": "a\ufffd"}, None]


def test_kafkas_integers_are_checked(impl):
    codec = KsqlCodec("KAFKA", "K INT")
    written, report = codec.encode(pa.array([1 << 40, 1, None]), errors="report")
    assert written.to_pylist() == [None, b"\0\0\0\1", None]
    assert report["code"].to_pylist() == ["out_of_range"]


@pytest.mark.parametrize(
    ("format", "columns", "error", "message"),
    [
        ("KAFKA", "A INT, B INT", SchemaError, "The 'KAFKA' format only supports a single field. Got: "),
        ("KAFKA", "A BOOLEAN", SchemaError, "The 'KAFKA' format does not support type 'BOOLEAN'"),
        (
            "NONE",
            "A INT",
            SchemaError,
            "The 'NONE' format can only be used when no columns are defined. Got: ",
        ),
    ],
)
def test_columns_that_they_cannot_hold(format, columns, error, message):
    with pytest.raises(error, match=message):
        KsqlCodec(format, columns)
    with pytest.raises(
        ConfigError, match=f"Format '{format}' does not support 'WRAP_SINGLE_VALUE' set to 'true'"
    ):
        KsqlCodec(format, "A INT", wrap=True)


@cases(
    ("format", "columns", "key"),
    [("NONE", "V INT", True), ("NONE", "", False), ("KAFKA", "", False), ("DELIMITED", "", True)],
)
def test_no_columns(impl, format, columns, key):
    codec = KsqlCodec(format, columns, is_key=key)
    assert codec.decode([b"anything", None]).to_pylist() == [None, None]
    assert codec.encode(pa.array([{}, None], pa.struct([]))).to_pylist() == [None, None]


def test_large_offsets(impl):
    codec = KsqlCodec("DELIMITED", "A STRING, B BYTES", large=True)
    array = codec.decode([b"x,YWJj", None])
    assert array.type.field("A").type == pa.large_string()
    assert codec.encode(array).type == pa.large_binary()
    assert codec.encode(array).to_pylist() == [b"x,YWJj", None]
    keys = KsqlCodec("KAFKA", "A STRING", large=True)
    assert keys.encode(keys.decode([b"x"])).type == pa.large_binary()

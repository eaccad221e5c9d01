"""Single rows of ksqlDB's JSON, KAFKA and DELIMITED are what columns of one row are."""

import datetime
import random
from decimal import Decimal

from cases import cases
from side_by_side import told

from kcodec import KsqlCodec
from kcodec.objects.by_columns import ColumnReader, ColumnWriter

TYPES = [
    *("BOOLEAN", "INTEGER", "BIGINT", "DOUBLE", "VARCHAR", "BYTES", "DECIMAL(10, 2)", "DATE", "TIME", "TIMESTAMP"),
    *("ARRAY<INTEGER>", "ARRAY<STRUCT<X DOUBLE>>", "MAP<VARCHAR, DOUBLE>", "STRUCT<X INTEGER, `y` VARCHAR>"),
]  # fmt: skip
VALUES = [
    *(True, 0, -1, 2**31, 2**63 - 1, 1.5, 0.1, 1e300, float("nan"), "", "abc", 'é"\n', b"ab", Decimal("1.25")),
    *(Decimal("1.255"), datetime.date(2024, 2, 29), datetime.time(1, 2, 3, 4000), datetime.time(1, 2, 3, 4567)),
    *(datetime.datetime(2024, 1, 2, 3, 4, 5, 6000), datetime.datetime(2024, 1, 2, tzinfo=datetime.UTC)),
    *([], [1, 2], ["a", None], [{"X": 1.5}], [("k", 1.5)], {"k": 1.0}, {"X": 1, "y": "z"}, {"X": 1}, {}, None),
]  # fmt: skip
OPTIONS = [{}, {"compat": "ksqldb"}, {"round": "truncate"}]


@cases("seed", range(20))
def test_they_are_written_as_columns_are(seed, impl):
    r = random.Random(seed)
    columns = [f"F{at} {r.choice(TYPES)}" for at in range(r.randint(1, 3))]
    codec = KsqlCodec("JSON", ", ".join(columns), **r.choice(OPTIONS))
    writer = ColumnWriter(codec.encode)
    for _ in range(40):
        value = {f"F{at}": r.choice(VALUES) for at in range(len(columns)) if r.random() < 0.95}
        if r.random() < 0.1:
            value[r.choice(["f0", "unknown"])] = 1
        assert told(codec.encode_one, value) == told(writer.encode_one, value), value


#: Cells of DELIMITED, some of which are plain for one type and odd for another.
CELLS = [
    *("", "true", "TRUE", "0", "-1", "+1", "007", "-0", "2147483647", "2147483648", "123456789012345678", "-800000"),
    *("9223372036854775807", "9223372036854775808", "1.5", "1.50", "-0.00", "0.50", "12345678.12", "123456789.12"),
    *("1e3", "NaN", "abc", '"a""b"', '""', '"a', '"a" ', '"a"x', "é", '"é,\n"', "a\\b", "\0", "YWI=", "YWI", "YQ=="),
    *("86399999", "86400000", "1600000000000", "-62135596800001", " 7", " ", "\ufeff", "#x", "\ud800"),
]  # fmt: skip
MORE_VALUES = [
    *(-(2**31), 2**31 - 1, -(2**63), -0.5, 0.0, -0.0, 1e7, 9999999.5, 1e-3, 9e-4, "-x", " x", "x ", "x\0", "#", "a,b"),
    *(b"", Decimal("0.00"), Decimal("12"), Decimal("99999999999.25"), Decimal("NaN"), Decimal("0.25"), "\ud800"),
    *(datetime.date(1, 1, 1), datetime.time(1, tzinfo=datetime.timezone.utc)),
    datetime.datetime(1, 1, 1, tzinfo=datetime.timezone(datetime.timedelta(hours=5))),
]  # fmt: skip


@cases("seed", range(20))
def test_rows_of_delimited(seed, impl):
    r = random.Random(seed)
    types = [
        r.choice([*TYPES[:10], "DECIMAL(2, 2)", "DECIMAL(38, 0)", "DECIMAL(40, 3)"])
        for _ in range(r.randint(1, 4))
    ]
    delimiter = r.choice([",", ",", ",", "TAB", ";", "é", "1"])
    columns = ", ".join(f"F{at} {kind}" for at, kind in enumerate(types))
    codec = KsqlCodec("DELIMITED", columns, properties={"delimiter": delimiter}, **r.choice(OPTIONS))
    writer, reader = ColumnWriter(codec.encode), ColumnReader(codec.decode)
    between = "\t" if delimiter == "TAB" else delimiter
    for _ in range(40):
        cells = [r.choice(CELLS) for _ in range(len(types) if r.random() < 0.95 else r.randint(1, 5))]
        row = (between.join(cells) + r.choice(["", "", "", "", "\n", "\nx"])).encode(errors="surrogatepass")
        assert told(codec.decode_one, row) == told(reader.decode_one, row), row
        value = {f"F{at}": r.choice(VALUES + MORE_VALUES) for at in range(len(types)) if r.random() < 0.97}
        assert told(codec.encode_one, value) == told(writer.encode_one, value), value


def test_a_plain_row_of_delimited_takes_no_column(monkeypatch):
    codec = KsqlCodec(
        "DELIMITED", "A STRING, B DECIMAL(4, 2), C DOUBLE, D DATE, E TIME, F TIMESTAMP, G BYTES, H BOOLEAN"
    )
    monkeypatch.setattr(ColumnWriter, "encode_one", None)
    monkeypatch.setattr(ColumnReader, "decode_one", None)
    row = {
        "A": 'a"',
        "B": Decimal("1.50"),
        "C": 0.5,
        "D": datetime.date(1970, 1, 2),
        "E": datetime.time(0, 0, 1),
        "F": datetime.datetime(1970, 1, 1, 0, 0, 2, tzinfo=datetime.timezone.utc),
        "G": b"ab",
        "H": None,
    }
    assert codec.encode_one(row) == b'"a""",1.50,0.5,1,1000,2000,YWI=,'
    assert codec.decode_one(b'"a""",1.50,0.5,1,1000,2000,YWI=,') == row


def test_times_are_in_pythons_own_utc():
    codec = KsqlCodec("DELIMITED", "A INT, B TIMESTAMP")
    # The first row is plain, the second is read by columns.
    for row in b"1,0", b"+1,0":
        assert codec.decode_one(row)["B"].tzinfo is datetime.timezone.utc


@cases("options", [{}, {"compat": "ksqldb"}, {"large": True}], ids=str)
@cases("kind", ["INTEGER", "BIGINT", "DOUBLE", "VARCHAR", "BYTES"])
def test_values_of_kafka(kind, options, impl):
    codec = KsqlCodec("KAFKA", f"K {kind}", **options)
    writer, reader = ColumnWriter(codec.encode), ColumnReader(codec.decode)
    for value in [
        *({"K": each} for each in VALUES),
        {"k": 1},
        {"K": 1, "L": 2},
        {},
        7,
        "x",
        None,
        {"K": "\ud800"},
    ]:
        assert told(codec.encode_one, value) == told(writer.encode_one, value), value
    for data in (
        b"",
        b"abc",
        b"abcd",
        bytes(8),
        b"\x7f\xf0" + bytes(6),
        b"\xff" * 8,
        b"\xc3\xa9",
        b"\xff",
        None,
        bytearray(8),
    ):
        assert repr(told(codec.decode_one, data)) == repr(told(reader.decode_one, data)), data
    assert (
        codec.decode_list([bytes(8), b"x", None], errors="null")
        == codec.decode([bytes(8), b"x", None], "null").to_pylist()
    )


def test_a_plain_value_of_kafka_takes_no_column(monkeypatch):
    codec = KsqlCodec("KAFKA", "K BIGINT")
    monkeypatch.setattr(ColumnWriter, "encode_one", None)
    monkeypatch.setattr(ColumnReader, "decode_one", None)
    assert codec.encode_one({"K": -2}) == b"\xff" * 7 + b"\xfe"
    assert codec.decode_one(b"\xff" * 8) == {"K": -1}


def test_what_is_plain_takes_no_column(monkeypatch):
    codec = KsqlCodec("JSON", "A BIGINT, B ARRAY<VARCHAR>, C DECIMAL(5, 2), D DATE")
    monkeypatch.setenv("KCODEC_IMPL", "native")
    monkeypatch.setattr(ColumnWriter, "encode_one", None)
    written = codec.encode_one(
        {"A": 1, "B": ["x", None], "C": Decimal("1.50"), "D": datetime.date(1970, 1, 3)}
    )
    assert written == b'{"A":1,"B":["x",null],"C":1.50,"D":2}'

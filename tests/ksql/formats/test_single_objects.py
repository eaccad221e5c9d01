"""Single rows of ksqlDB's JSON and KAFKA are what columns of one row are."""

import datetime
import random
from decimal import Decimal

import pytest

from kcodec import KcodecError, KsqlCodec
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


def told(act, value):
    """What an act returns, or its error."""
    try:
        return act(value)
    except (KcodecError, TypeError) as error:
        return type(error), str(error)


@pytest.mark.parametrize("seed", range(20))
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


@pytest.mark.parametrize("options", [{}, {"compat": "ksqldb"}, {"large": True}], ids=str)
@pytest.mark.parametrize("kind", ["INTEGER", "BIGINT", "DOUBLE", "VARCHAR", "BYTES"])
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

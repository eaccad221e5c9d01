"""Single rows of ksqlDB's JSON are written as columns of one row are."""

import datetime
import random
from decimal import Decimal

import pytest

from kcodec import KcodecError, KsqlCodec
from kcodec.objects.by_columns import ColumnWriter

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
        answers = []
        for write in (codec.encode_one, writer.encode_one):
            try:
                answers.append(write(value))
            except KcodecError as error:
                answers.append((type(error), str(error)))
        assert answers[0] == answers[1], value


def test_what_is_plain_takes_no_column(monkeypatch):
    codec = KsqlCodec("JSON", "A BIGINT, B ARRAY<VARCHAR>, C DECIMAL(5, 2), D DATE")
    monkeypatch.setenv("KCODEC_IMPL", "native")
    monkeypatch.setattr(ColumnWriter, "encode_one", None)
    written = codec.encode_one(
        {"A": 1, "B": ["x", None], "C": Decimal("1.50"), "D": datetime.date(1970, 1, 3)}
    )
    assert written == b'{"A":1,"B":["x",null],"C":1.50,"D":2}'

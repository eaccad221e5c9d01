"""Conditions of ``kcodec consume --where``."""

from datetime import datetime
from decimal import Decimal

import pyarrow as pa
import pytest

from kcodec.cli.where import condition
from kcodec.errors import ConfigError

VALUES = [{"id": 1, "note": "ä"}, {"id": 2, "note": None}, {"id": 3, "note": "z"}]


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("value.id == 2", [1]),
        ("value.id >= 2 or offset == 0", [0, 1, 2]),
        ("value.note is None", [1]),
        ("value.note is not None and not flag", [2]),
        ("flag", [0]),
        ("value.note in ['ä', 'q']", [0]),
        ("offset not in (1, 2)", [0]),
        ("when < '2026-01-02'", [0]),
        ("sent < '2026-01-02'", [0]),
        ("sent <= '2026-01-02T01:00:00+01:00'", [0, 1]),
        ("offset < 1.5", [0, 1]),
        ("offset == 1.5", []),
        ("price > 1.25", [1, 2]),
        ("price in [1.5, 2]", [1]),
        ("price < 100", [0, 1, 2]),
        (" or ".join(f"offset == {number}" for number in range(2, 1002)), [2]),
        (f"offset in {[*range(2, 20_001)]}", [2]),
        ("offset != 0 and offset != 1 and offset != 5", [2]),
        ("messages.shop.Order.id > 7 and messages.shop.Order.id < 9", [1]),
    ],
)
def test_conditions(text, rows):
    table = pa.table(
        {
            "offset": [0, 1, 2],
            "value": VALUES,
            "flag": [True, None, False],
            "when": pa.array([datetime(2026, 1, day) for day in (1, 2, 3)], pa.timestamp("us")),
            "sent": pa.array([datetime(2026, 1, day) for day in (1, 2, 3)], pa.timestamp("us", "UTC")),
            "price": pa.array([Decimal("1.25"), Decimal("1.50"), Decimal("2.50")]),
            "messages": [{"shop.Order": {"id": number}, "shop.Refund": None} for number in (7, 8, 9)],
        }
    )
    assert table.filter(condition(text, table.schema))["offset"].to_pylist() == rows


@pytest.mark.parametrize(
    "text",
    [
        "",
        "offset",
        "not offset",
        "value == {'id': 1}",
        "1 < offset",
        "offset < x",
        "offset.x == 1",
        "nothing == 1",
        "offset == 'a'",
        "offset == 99999999999999999999",
        "offset in [1.5]",
        "sent > 'noon'",
        "f()",
        "(" * 300,
    ],
)
def test_conditions_that_are_none(text):
    value = pa.struct([("id", pa.int64())])
    schema = pa.schema([("offset", pa.int64()), ("value", value), ("sent", pa.timestamp("us", "UTC"))])
    with pytest.raises(ConfigError, match="--where"):
        condition(text, schema)


@pytest.mark.parametrize("text", ["offset = 1", "offset == 1 AND flag", "note like 'a%'"])
def test_what_is_no_condition_is_told_what_one_is_like(text):
    with pytest.raises(ConfigError, match=r"invalid syntax: it is such as \"value\.id >= 5 and "):
        condition(text, pa.schema([("offset", pa.int64())]))


def test_conditions_of_many_parts():
    text = " or ".join(f"offset == {number}" for number in range(20_000))
    with pytest.raises(ConfigError, match="--where of more than 1000 parts: `in` takes many values"):
        condition(text, pa.schema([("offset", pa.int64())]))

"""Conditions as text: those of ``kcodec consume --where`` and of Spark's option ``where``."""

from datetime import datetime
from decimal import Decimal

import pyarrow as pa
import pytest
from cases import cases

from kcodec.errors import ConfigError
from kcodec.kafka.conditions.where import Where, named_columns

VALUES = [
    {"id": 1, "note": "ä", "like": None},
    {"id": 2, "note": None, "like": "l"},
    {"id": 3, "note": "z", "like": "no"},
]


@cases(
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
        ("value.note not in ('z', 'q')", [0]),
        ("offset = 1 OR value.note = 'z'", [1, 2]),
        ("value.note IS NULL or value.note IS NOT NULL and flag = TRUE", [0, 1]),
        ("offset <> 1 AND NOT (offset IN (2))", [0]),
        ("offset in (2)", [2]),
        ("offset < 99999999999999999999", [0, 1, 2]),
        ("offset == 99999999999999999999 or offset >= 1e999999999", []),
        ("offset > -1e-999999999 and offset < 1e-999999999", [0]),
        ("offset in [1.5, 2.0]", [2]),
        ("big > 1.5 and big <= 9007199254740993.5", [1]),
        ("big in [9007199254740993, 9007199254740992.0]", [1]),
        ("price > 1.4999999999999999999999999999999999999999999999999", [1, 2]),
        ("price = 1.50", [1]),
        ("ratio > 1e308", [1]),
        ("ratio = 0.0 or ratio in [-0.0]", [0]),
        ("ratio >= 0 and not ratio = 5", [0, 1]),
        ("single = 0.1 or single in [0.25]", [0, 1]),
        ("value.note like '%'", [0, 2]),
        ("value.note LIKE '_' and value.note NOT LIKE 'z%'", [0]),
        ("not value.note like 'z'", [0]),
        (r"sign like '5\%' or sign like 'a\\\\b'", [0, 1]),
        (r"sign like r'\_%'", [2]),
        ("value.note in ('ä') or value.like like 'l'", [0, 1]),
        ("messages.shop.Order.id > 7 and messages.shop.Order.id < 9", [1]),
        ("units.µ = 1 or units.class = 2 AND units.Not is null or units.kcodec_named_ = 3", [0, 1, 2]),
        ("units.µ != 1 and not units.μ < 1", [1]),
        ("µ = 2 or straße in (1)", [0, 1]),
        ("at >= '12:00' and at in ('12:00:00.000', '23:59:59.999')", [1, 2]),
        ("precise <= '12:00:00' or precise = '23:59:59.999000001'", [0, 1, 2]),
    ],
)
def test_conditions(text, rows):
    batch = pa.record_batch(
        {
            "offset": [0, 1, 2],
            "value": VALUES,
            "flag": [True, None, False],
            "sign": ["5%", "a\\b", "_"],
            "when": pa.array([datetime(2026, 1, day) for day in (1, 2, 3)], pa.timestamp("us")),
            "sent": pa.array([datetime(2026, 1, day) for day in (1, 2, 3)], pa.timestamp("us", "UTC")),
            "price": pa.array([Decimal("1.25"), Decimal("1.50"), Decimal("2.50")]),
            "big": [2**62, 2**53 + 1, None],
            "ratio": [-0.0, float("nan"), None],
            "single": pa.array([0.1, 0.25, None], pa.float32()),
            "units": [
                {"µ": number, "μ": 3 - number, "class": number, "Not": None, "kcodec_named_": number}
                for number in (1, 2, 3)
            ],
            "µ": [1, 2, 3],
            "at": pa.array([0, 43_200_000, 86_399_999], pa.time32("ms")),
            "precise": pa.array([0, 43_200_000_000_000, 86_399_999_000_001], pa.time64("ns")),
            "straße": [1, 2, 3],
            "messages": [{"shop.Order": {"id": number}, "shop.Refund": None} for number in (7, 8, 9)],
        }
    )
    assert Where(text, batch.schema, "where").rows(batch)["offset"].to_pylist() == rows


@cases(
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
        "offset == True",
        "offset in ['a']",
        "offset = null",
        "offset in [1, null]",
        "offset is 5",
        "offset < -sent",
        "sent > 'noon'",
        "at > 'noon'",
        "at > '24:00'",
        "at > '12:00Z'",
        "sent > 5",
        "value = 5",
        "f()",
        "1",
        "'a' 'b' = 5",
        "(" * 300,
        "not " * 300 + "offset is null",
        "offset = 1e99999999999999999999",
        "ratio in (1, -1e-99999999999999999999)",
        "note = '\ud800'",
        "note.\ud800 = 1",
        "'",
        "offset = 1 +",
        "offset = 1j",
        "offset like 'a'",
        "note like 5",
        "note like null",
        r"note like 'a\\b'",
        r"note like 'a\\'",
        "note @ 'a'",
        "note // 'a'",
        "note like 'a' = true",
    ],
)
def test_conditions_that_are_none(text):
    value = pa.struct([("id", pa.int64())])
    kinds = {"offset": pa.int64(), "value": value, "sent": pa.timestamp("us", "UTC"), "note": pa.string()}
    schema = pa.schema({**kinds, "ratio": pa.float64(), "at": pa.time32("s")})
    with pytest.raises(ConfigError, match=r"^--where"):
        Where(text, schema, "--where")


@pytest.mark.parametrize("text", ["offset = = 1", "like 'a%'", "note not like", "offset = 1 && flag"])
def test_what_is_no_condition_is_told_what_one_is_like(text):
    with pytest.raises(ConfigError, match=r"invalid syntax: it is such as \"value\.id >= 5 and "):
        Where(text, pa.schema([("offset", pa.int64())]), "--where")


def test_a_quote_within_a_text():
    schema = pa.schema([("note", pa.string())])
    with pytest.raises(ConfigError, match="two texts in a row, 'it' and 's': write \"it's\""):
        Where("note = 'it''s'", schema, "where")
    batch = pa.record_batch({"note": ["it's", "its"]})
    assert len(Where('note = "it\'s"', batch.schema, "where").rows(batch)) == 1


def test_conditions_of_many_parts():
    text = " or ".join(f"offset == {number}" for number in range(20_000))
    with pytest.raises(ConfigError, match=r"has more than 1000 parts: `in` takes many values") as told:
        Where(text, pa.schema([("offset", pa.int64())]), "--where")
    assert len(str(told.value)) < 1000


def test_errors_are_short_and_say_what_is_wrong():
    schema = pa.schema(
        [pa.field("offset", pa.int64()), *(pa.field(f"note{i}", pa.string()) for i in range(999))]
    )
    with pytest.raises(ConfigError, match="there is no") as told:
        Where("a" * 100_000 + " = 1", schema, "where")
    assert len(str(told.value)) < 2000
    with pytest.raises(ConfigError, match="surrogates not allowed"):
        Where("note1 = '\ud800'", schema, "where")
    with pytest.raises(ConfigError, match="nested deeper than 200"):
        Where("not " * 250 + "offset is null", schema, "where")


def test_names_of_columns():
    text = "value.null > 5 AND (not flag or value is null) and value.shop.id in [1]"
    assert named_columns(text, "where") == {"value": True, "flag": False}

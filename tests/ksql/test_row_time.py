"""The times of texts: read all at once where they have one layout, they are those that are read one by one."""

import datetime

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcodec.ksql.records.datetimes import DateTimePattern
from kcodec.ksql.records.row_time import RowTime, _of_layout, milliseconds_of

PATTERNS = (
    "yyyy-MM-dd",
    "yyyy-MM-dd HH:mm:ss",
    "yyyy-MM-dd'T'HH:mm:ss.SSSX",
    "uuuu-MM-dd'T'HH:mm:ss.SSSSSSSSSXXX",
    "yyyyMMddHHmmssSSS",
    "yy.MM.dd mm",
    "dd/MM/yyyy ss",
)
ZONES = ("UTC", "+05:30", "Europe/Paris", "America/New_York", "Australia/Lord_Howe")


@st.composite
def texts(draw, pattern):
    """Return a text of a pattern, or nearly."""
    when = draw(st.datetimes(datetime.datetime(1971, 1, 1), datetime.datetime(2100, 1, 1)))
    made = pattern.replace("'", "")
    fields = {
        "SSSSSSSSS": f"{when.microsecond:06}123", "SSS": f"{when.microsecond // 1000:03}", "yyyy": f"{when.year:04}",
        "uuuu": f"{when.year:04}", "yy": f"{when.year % 100:02}", "MM": f"{when.month:02}",
        "dd": f"{draw(st.sampled_from([when.day, 29, 30, 31])):02}", "HH": f"{when.hour:02}", "mm": f"{when.minute:02}",
        "ss": f"{when.second:02}", "XXX": "Z", "X": "Z",
    }  # fmt: skip
    for name, text in fields.items():
        made = made.replace(name, text)
    if draw(st.booleans()):
        at = draw(st.integers(0, len(made)))
        made = (
            made[:at]
            + draw(st.sampled_from(["", "0", "9", "x", "\n", "+", "T", "\u0660"]))
            + made[at + draw(st.integers(0, 1)) :]
        )
    return made


def one_by_one(pattern, text, zone):
    try:
        return DateTimePattern(pattern).milliseconds(text, zone)
    except ValueError:
        return None


@given(st.data(), st.sampled_from(PATTERNS), st.sampled_from(ZONES))
def test_texts_of_a_layout(data, pattern, zone):
    given = data.draw(st.lists(st.none() | texts(pattern), max_size=8))
    times, faults = RowTime("T", "STRING", pattern, zone).read(pa.array(given, pa.string()))
    wanted = [None if text is None else one_by_one(pattern, text, zone) for text in given]
    assert times.to_pylist() == wanted
    assert [fault.row for fault in faults] == [
        row for row, text in enumerate(given) if text is not None and wanted[row] is None
    ]


@pytest.mark.parametrize("zone", ZONES)
def test_where_clocks_change(zone):
    """Every quarter of an hour of the days on which clocks are set."""
    days = [(2024, 3, 31), (2024, 10, 27), (2024, 3, 10), (2024, 11, 3), (2024, 4, 7), (2024, 10, 6)]
    given = [
        str(datetime.datetime(*day) + datetime.timedelta(minutes=15 * quarter))
        for day in days
        for quarter in range(96)
    ]
    pattern = "yyyy-MM-dd HH:mm:ss"
    times, faults = RowTime("T", "STRING", pattern, zone).read(pa.array(given))
    assert faults == []
    assert times.to_pylist() == [one_by_one(pattern, text, zone) for text in given]


def test_layouts():
    assert all(_of_layout(pa.array(["x"]), DateTimePattern(each), "UTC") is not None for each in PATTERNS)
    others = (
        "yyyy-MM",
        "yyyy-MM-d",
        "yyyy-MM-dd[ HH]",
        "yyyy-DDD",
        "MMM dd yyyy",
        "yyyy-MM-dd VV",
        "yyyy'0'MMdd",
        "xyyyyMMdd",
        "yyyy uuuu-MM-dd",
    )
    assert all(_of_layout(pa.array(["x"]), DateTimePattern(each), "UTC") is None for each in others)
    [time] = _of_layout(pa.array(["2024-02-29"]), DateTimePattern("yyyy-MM-dd"), "UTC").to_pylist()
    assert time == 1709164800000


def test_milliseconds_of_timestamps():
    most = (1 << 63) - 1
    given = pa.array([-1, -1000, -1001, 1999, None, most, -most], pa.timestamp("us", "UTC"))
    wanted = [-1, -1, -2, 1, None, most // 1000, -most // 1000]
    assert milliseconds_of(given).to_pylist() == wanted
    assert milliseconds_of(pa.array([-1, 2], pa.timestamp("s"))).to_pylist() == [-1000, 2000]
    assert milliseconds_of(pa.array([-1, 2], pa.timestamp("ms"))).to_pylist() == [-1, 2]
    assert milliseconds_of(pa.array([-1, 2_000_000], pa.timestamp("ns"))).to_pylist() == [-1, 2]

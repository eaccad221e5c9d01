"""Dates, times and timestamps as text of ISO 8601, which are read together."""

import datetime
import json

import pyarrow as pa
from cases import cases
from hypothesis import given, settings
from hypothesis import strategies as st
from json_rows import same_decode
from tries import tries

from kcodec import JsonCodec
from kcodec.formats.json.plan import JsonOptions, json_plan
from kcodec.plan import Limits

KINDS = [
    *(pa.timestamp(unit, zone) for unit in ("s", "ms", "us", "ns") for zone in ("UTC", None)),
    *(pa.date32(), pa.date64(), pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns")),
]
EPOCH = datetime.date(1970, 1, 1).toordinal()


def test_days_of_all_years(impl):
    days = sorted({*range(1, 3652060, 97), *range(1, 3652060, 36524), 1, 59, 60, 365, 366, 3652059})
    expected = [json.dumps({"a": datetime.date.fromordinal(day).isoformat()}).encode() for day in days]
    array = pa.array([day - EPOCH for day in days], pa.int32()).cast(pa.date32())
    codec = JsonCodec(pa.struct([("a", pa.date32())]))
    assert codec.decode(expected).field("a").equals(array)
    assert codec.encode(pa.StructArray.from_arrays([array], ["a"])).to_pylist() == [
        row.replace(b" ", b"") for row in expected
    ]


@cases("kind", KINDS, ids=str)
def test_what_is_written_is_read_again(kind, impl):
    storage = pa.int64() if kind.bit_width == 64 else pa.int32()
    most = 86_399 if pa.types.is_time(kind) else 1 << 30
    values = [
        value for value in (0, 1, 59, 60, 3599, 43_210, 86_399, 86_400, 951_782_400, 1 << 30) if value <= most
    ]
    if pa.types.is_timestamp(kind):
        values += [-value for value in values] + [value * 199 + 7 for value in values]
    elif pa.types.is_date64(kind):
        values = [value * 86_400_000 for value in range(-800_000, 800_000, 9973) if value > -719_162]
    elif pa.types.is_date32(kind):
        values = list(range(-700_000, 2_900_000, 9973))
    array = pa.StructArray.from_arrays([pa.array([*values, None], storage).cast(kind)], ["a"])
    codec = JsonCodec(array.type)
    assert codec.decode(codec.encode(array)).equals(array)


TWO = st.integers(0, 61).map("{:02}".format)
DATES = st.dates().map(str) | st.tuples(st.sampled_from(["1900", "2000", "2024"]), TWO, TWO).map("-".join)
CLOCKS = st.tuples(TWO, TWO, TWO).map(":".join) | st.times().map(str)
PARTS = st.just("") | st.text("0123456789", max_size=10).map(".{}".format)
ZONES = st.sampled_from(["Z", "z", "+00:00", "-05:30", "+0100", "+01:02:03", "+24:00", ""])
MOMENTS = st.tuples(DATES, st.sampled_from(["T", "T", "t", " "]), CLOCKS, PARTS, ZONES).map("".join)


@given(st.lists(DATES | CLOCKS | MOMENTS, min_size=1, max_size=40), st.data())
@settings(max_examples=tries(60))
def test_any_text(texts, data):
    kinds = data.draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=3))
    kind = pa.struct(
        [*(pa.field(f"f{at}", each) for at, each in enumerate(kinds)), ("l", pa.list_(kinds[0]))]
    )
    rows = [
        json.dumps({**{f"f{at}": text for at in range(len(kinds))}, "l": [text, text]}).encode()
        for text in texts
    ]
    same_decode([json_plan(kind, "decode", JsonOptions())], rows, limits=Limits())

"""The compiled and the plain row loop give the same; and with the reader for odd rows, what it gives for all rows."""

import json
import math

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ksql_vectors import storage
from side_by_side import answer, on_both

from kcodec import KsqlCodec
from kcodec._impl import IMPLEMENTATIONS
from kcodec.ksql.formats.json.reader import read_row
from kcodec.ksql.types import SqlField, SqlType
from kcodec.plan.failure import RowError

COLUMNS = (
    "B BOOLEAN, I INT, L BIGINT, D DOUBLE, X DECIMAL(6,2), W DECIMAL(50,3), S STRING, Y BYTES, T TIME, DAY DATE, "
    "AT TIMESTAMP, A ARRAY<ARRAY<INT>>, M MAP<STRING, DECIMAL(4,1)>, R STRUCT<I INT, S STRING, `n` BIGINT>, SS INT"
)
CODECS = {compat: KsqlCodec("JSON", COLUMNS, compat=compat) for compat in (None, "ksqldb")}
BARE = KsqlCodec("JSON", "A ARRAY<STRING>", wrap=False, compat="ksqldb")
KIND = SqlType("STRUCT", fields=tuple(SqlField(c.name, c.type) for c in CODECS[None].columns))

NUMBERS = st.one_of(
    st.integers(-(2**65), 2**65).map(str),
    st.integers(-200, 200).map(str),
    st.decimals(allow_nan=False, allow_infinity=False).map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(json.dumps),
    st.sampled_from(
        [
            "-0",
            "-0.0",
            "1e2",
            "1.0",
            "1.50",
            "86400000",
            "0e5",
            "1e400",
            "-1E-400",
            "01",
            "0.000001",
            "0.0000001",
            "0.000000",
            "0.0000000",
            "-0.5",
            "10.00000001",
            "9" * 45,
            "1e-1001",
        ]
    ),
)
TEXTS = st.one_of(
    st.text(max_size=8),
    NUMBERS,
    st.sampled_from(["NaN", "Infinity", " 1.5", "1d", "+7", "", "YWJj", "YWI=", "YW", "٣", "true"]),
).map(json.dumps)
SCALARS = st.one_of(
    NUMBERS, TEXTS, st.sampled_from(["null", "true", "false", '"\\ud83d"', '"\\ud83d\\ude00"', "nul"])
)
SPACE = st.sampled_from(["", "", "", " ", "\n\t"])
NAMES = st.one_of(
    st.sampled_from([field.name for field in KIND.fields]).flatmap(
        lambda name: st.sampled_from([name, name.lower(), name.title()])
    ),
    st.sampled_from(["n", "N", "ß", "ſs", "i", "ı", "extra", "", "\\u0049"]),
)


def members(values):
    pairs = st.tuples(SPACE, NAMES, SPACE, values, SPACE)
    return st.lists(pairs, max_size=7).map(
        lambda found: "{" + ",".join(f'{a}"{name}"{b}:{value}{c}' for a, name, b, value, c in found) + "}"
    )


VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3).map(lambda all: f"[{','.join(all)}]") | members(inner),
    max_leaves=6,
)
TAIL = st.sampled_from(["", "", "", " ", "x", " {}"])
DOCUMENTS = st.tuples(members(VALUES), TAIL).map("".join).map(lambda text: text.encode("utf-8", "replace"))


@st.composite
def damaged(draw):
    """Cut a document, or change some of its bytes."""
    data = bytearray(draw(DOCUMENTS))
    for at in draw(st.lists(st.integers(0, len(data) - 1), max_size=3)):
        data[at] = draw(st.integers(0, 255))
    return bytes(data[: draw(st.integers(0, len(data)))]) if draw(st.booleans()) else bytes(data)


PAYLOADS = st.one_of(DOCUMENTS, damaged(), st.none(), st.binary(max_size=12))


def shown(array):
    """Return what a column holds as Python has it: dates and times as integers, NaN equal to itself."""
    return repr(storage(array).to_pylist())


@pytest.mark.parametrize("compat", CODECS)
@given(values=st.lists(PAYLOADS, min_size=1, max_size=6))
def test_native_is_pure(compat, values):
    for codec in (CODECS[compat], BARE):
        on_both(lambda: answer(*codec.decode(values, errors="report")))  # noqa: B023


def by_the_reader(values):
    """Read all rows by the reader; give the rows, and the codes of those that are refused."""
    rows, codes = [], {}
    for number, data in enumerate(values):
        row = None
        if data is not None:
            try:
                row = read_row(data, KIND)
            except RowError as refused:
                codes[number] = refused.code
        rows.append(row)
    return rows, codes


def unordered(value):
    """Make maps dictionaries: the order of their entries is not ksqlDB's either."""
    if isinstance(value, list):
        if value and all(isinstance(item, tuple) for item in value):
            return {key: unordered(item) for key, item in value}
        return [unordered(item) for item in value]
    if isinstance(value, dict):
        return {key: unordered(item) for key, item in value.items()}
    return "NaN" if isinstance(value, float) and math.isnan(value) else value


@pytest.mark.parametrize("impl", IMPLEMENTATIONS)
@given(values=st.lists(PAYLOADS, min_size=1, max_size=6))
def test_the_row_loop_agrees_with_the_reader(impl, values):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KCODEC_IMPL", impl)
        array, report = CODECS["ksqldb"].decode(values, errors="report")
    rows, codes = by_the_reader(values)
    expected = storage(pa.array(rows, array.type)).to_pylist()
    assert unordered(storage(array).to_pylist()) == unordered(expected)
    assert dict(zip(report["row"].to_pylist(), report["code"].to_pylist(), strict=True)) == codes


@given(values=st.lists(DOCUMENTS, min_size=1, max_size=6))
def test_strict_is_ksqldb_or_an_error(values):
    """What is read strictly is what ksqlDB reads, but for numbers as text and the sign of zero."""
    codec = KsqlCodec("JSON", "B BOOLEAN, I INT, L BIGINT, X DECIMAL(6,2), T TIME, A ARRAY<ARRAY<INT>>")
    array, report = codec.decode(values, errors="report")
    lenient = KsqlCodec("JSON", codec.columns, compat="ksqldb")
    bad = set(report["row"].to_pylist())
    good = [value for row, value in enumerate(values) if row not in bad]
    assert shown(lenient.decode(good)) == shown(
        array.filter(pa.array(row not in bad for row in range(len(values))))
    )


VALUES_OF = {
    "B": st.booleans(),
    "I": st.integers(-(2**31), 2**31 - 1),
    "L": st.integers(-(2**63), 2**63 - 1),
    "D": st.floats(),
    "X": st.decimals("-9999.99", "9999.99", places=2),
    "S": st.text(max_size=6),
    "Y": st.binary(max_size=6),
    "T": st.integers(0, 86_399_999),
    "DAY": st.integers(-(2**31), 2**31 - 1),
    "AT": st.integers(-(2**40), 2**40).map(lambda ms: ms * 1000),
    "A": st.lists(st.none() | st.lists(st.none() | st.integers(-9, 9), max_size=2), max_size=2),
    "M": st.dictionaries(
        st.text(max_size=3), st.none() | st.decimals("-99.9", "99.9", places=1), max_size=2
    ).map(lambda m: list(m.items())),
    "R": st.fixed_dictionaries(
        {"I": st.none() | st.just(4), "S": st.none() | st.just("x"), "n": st.just(2**40)}
    ),
}
ROWS = st.none() | st.fixed_dictionaries({name: st.none() | values for name, values in VALUES_OF.items()})


@given(rows=st.lists(ROWS, min_size=1, max_size=4))
def test_what_is_written_is_read_again(rows):
    kind = CODECS[None].arrow_type
    array = pa.array(rows, kind)
    with pytest.MonkeyPatch.context() as patch:
        written = []
        for impl in IMPLEMENTATIONS:
            patch.setenv("KCODEC_IMPL", impl)
            written.append(CODECS[None].encode(array).to_pylist())
            for codec in CODECS.values():
                assert shown(codec.decode(written[-1])) == shown(array)
        assert written[0] == written[1]

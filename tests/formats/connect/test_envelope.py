"""Envelopes: schema and payload are found, and both implementations agree on any bytes."""

import pyarrow as pa
import pytest
from cases import cases
from hypothesis import given
from hypothesis import strategies as st

from kcodec._impl import kernel

SCHEMA = b'{"type":"struct","fields":[{"type":"int32","field":"a}\\"{"}]}'


def parts(data, impl=None):
    found = kernel("formats.connect._envelope", impl).scan(data)
    if found.code:
        return found.code, found.at
    return data[found.schema : found.schema_end], data[found.payload : found.payload_end]


@cases(
    ("data", "expected"),
    [
        (b'{"schema":%b,"payload":{"a":1}}' % SCHEMA, (SCHEMA, b'{"a":1}')),
        (b'{"payload":[1,"]"],"schema":%b}' % SCHEMA, (SCHEMA, b'[1,"]"]')),
        (b' \r\n{ "schema" : null , "payload" : 1 }\t', (b"null", b" 1 ")),
        (b'\xef\xbb\xbf{"schema":null,"payload":"}"}', (b"null", b'"}"')),
        (b'{"sch\\u0065ma":null,"\\u0070ayload":1}', (b"null", b"1")),
        (b'{"sch\\u00zzma":null,"payload":1}', ("json_type", 1)),
        (b"", ("json_type", 0)),
        (b"[]", ("json_type", 0)),
        (b"{}", ("json_type", 1)),
        (b"{", ("truncated", 1)),
        (b'{"schema":null}', ("json_type", 14)),
        (b'{"schema":null,"payload":1,"x":2}', ("json_type", 27)),
        (b'{"schema":null,"schema":1,"payload":1}', ("duplicate_key", 15)),
        (b'{"schema":null,"payload":1}}', ("trailing_bytes", 27)),
        (b'{"schema":null,"payload":}', ("json_syntax", 25)),
        (b'{"schema":null,"payload":1 2}', ("json_syntax", 27)),
        (b'{"schema":null,"payload":"a\\"}', ("truncated", 30)),
        (b'{"schema":null,"payload":[[]}', ("truncated", 29)),
        (b'{"schema":null "payload":1}', ("json_syntax", 15)),
        (b'{"schema" null,"payload":1}', ("json_syntax", 10)),
        (b'{"schema":null,}', ("json_syntax", 15)),
    ],
)
def test_scan(data, expected, impl):
    assert parts(data) == expected


def split(rows, impl=None, most=1000, kind=None):
    selector, starts, ends, texts, faults, count = kernel("formats.connect._envelope", impl).split(
        pa.array(rows, kind or pa.binary()), most
    )
    places = [list(memoryview(each).cast("i")) for each in (selector, starts, ends)]
    found = [
        (number, rows[row][start:end] if number >= 0 else None)
        for row, (number, start, end) in enumerate(zip(*places, strict=True))
    ]
    return found, texts, faults, count


def test_rows_are_grouped_by_their_schema(impl):
    rows = [
        b'{"schema":1,"payload":10}',
        None,
        b'{"payload":20,"schema":2}',
        b'{"schema":1,"payload":30} ',
        b'{"payload":40,"schema":1}',
        b'{"schema": 2,"payload":50}',
        b'{"schema":2}',
        b'{"payload":60,"schema":2}',
    ]
    found, texts, faults, count = split(rows)
    assert found == [
        (0, b"10"),
        (-1, None),
        (1, b"20"),
        (0, b"30"),
        (0, b"40"),
        (1, b"50"),
        (-1, None),
        (1, b"60"),
    ]
    assert texts == [b"1", b"2"]
    assert [(fault.row, fault.code, fault.offset) for fault in faults] == [(6, "json_type", 11)]
    assert faults[0].reason.startswith("JsonConverter with schemas.enable requires")
    assert count == 8


def test_a_new_schema_beyond_the_limit_ends_the_split(impl):
    rows = [b'{"schema":%d,"payload":1}' % number for number in (0, 0, 1, 0, 2, 0)]
    found, texts, faults, count = split(rows, most=2)
    assert (len(found), texts, faults, count) == (4, [b"0", b"1"], [], 4)


def test_more_beginnings_than_are_kept(impl):
    rows = [b'{"schema":%d,"payload":%d}' % (number % 20, number) for number in range(200)]
    found, texts, faults, _ = split(rows)
    assert found == [(number % 20, b"%d" % number) for number in range(200)]
    assert len(texts) == 20
    assert not faults


def test_what_follows_a_payload_is_left_to_its_reader(impl):
    rows = [b'{"schema":1,"payload":10}', b'{"schema":1,"payload":10,"x":1}']
    assert split(rows)[0] == [(0, b"10"), (0, b'10,"x":1')]
    (fault,) = kernel("formats.connect._envelope").unlike(pa.array(rows), [0, 1])
    assert (fault.row, fault.code, fault.offset) == (1, "json_type", 25)


STARTS = [b'{"schema":1,"payload":', b'{"payload":1,"schema":', b"\xef\xbb\xbf"]
NAMES = [b'"schema"', b'"payload"', b'"sch\\u0065ma"', b'"x"']
PIECES = st.sampled_from([*STARTS, *NAMES, *(bytes([byte]) for byte in b':,{}[] 1"\\')])


@given(
    st.lists(st.one_of(st.none(), st.lists(PIECES, max_size=12).map(b"".join)), max_size=12),
    st.integers(0, 5),
)
def test_the_implementations_agree(rows, most):
    assert split(rows, "native", most) == split(rows, "pure", most)
    native, pure = (kernel("formats.connect._envelope", impl) for impl in ("native", "pure"))
    valid = {number: row for number, row in enumerate(rows) if row is not None}
    for row in valid.values():
        assert native.scan(row) == pure.scan(row)
    unlike = native.unlike(pa.array(rows, pa.binary()), valid)
    assert unlike == pure.unlike(pa.array(rows, pa.binary()), valid)
    assert [fault.row for fault in unlike] == [number for number in valid if pure.scan(valid[number]).code]


@pytest.mark.parametrize("kind", [pa.large_binary(), pa.binary_view(), pa.binary()])
def test_layouts(kind, impl):
    rows = [b'{"schema":1,"payload":"%s"}' % (b"a" * size) for size in range(30)]
    values = pa.array([b"x", *rows, b"y"], kind)[1:-1]
    result = kernel("formats.connect._envelope").split(values, 10)
    assert list(memoryview(result[2]).cast("i")) == [len(row) - 1 for row in rows]

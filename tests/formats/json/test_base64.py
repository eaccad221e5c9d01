"""Binary data and decimals in Base64, of all sizes: what is short, and what is long, is read by loops of its own."""

import base64
import json
import random

import pyarrow as pa
import pytest
from cases import cases

from kcodec import ConnectJsonCodec, JsonCodec

BYTES = [random.Random(size).randbytes(size) for size in range(140)]
EDGES = [
    sign * ((1 << 8 * size - 1) + more) for size in range(1, 16) for sign in (1, -1) for more in (-1, 0, 1)
]


def documents(texts):
    return [json.dumps({"a": text}, separators=(",", ":"), ensure_ascii=False).encode() for text in texts]


def test_bytes_of_any_size(impl):
    codec = JsonCodec(pa.struct([("a", pa.binary())]))
    expected = documents(base64.b64encode(value).decode() for value in BYTES)
    array = codec.decode(expected)
    assert array.field("a").to_pylist() == BYTES
    assert codec.encode(array).to_pylist() == expected


@cases("letter", ["=", "-", "\x7f", "é", " ", "\x80"])
def test_bytes_with_a_letter_that_is_none(impl, letter):
    rows = []
    for value in BYTES[1:]:
        text = base64.b64encode(value).decode()
        at = len(value) * 7 % (len(text) - 2)
        rows.append(text[:at] + letter + text[at + 1 :])
    array, report = JsonCodec(pa.struct([("a", pa.binary())])).decode(documents(rows), errors="report")
    assert array.null_count == len(rows)
    assert set(report["code"].to_pylist()) == {"invalid_base64"}


@pytest.mark.parametrize("width", [128, 256])
def test_decimals_at_the_edges_of_their_bytes(impl, width):
    kind = pa.decimal128(38, 0) if width == 128 else pa.decimal256(76, 0)
    codec = ConnectJsonCodec(pa.struct([("a", kind)]), schemas_enable=False)
    sizes = [(value if value >= 0 else ~value).bit_length() // 8 + 1 for value in EDGES]
    expected = documents(
        base64.b64encode(value.to_bytes(size, "big", signed=True)).decode()
        for value, size in zip(EDGES, sizes, strict=True)
    )
    array = codec.decode(expected)
    assert [int(value) for value in array.field("a").to_pylist()] == EDGES
    assert codec.encode(array).to_pylist() == expected
    # With more bytes than it takes, and with other bits behind the last byte.
    longer = documents(
        base64.b64encode(value.to_bytes(size + 1, "big", signed=True)).decode()
        for value, size in zip(EDGES, sizes, strict=True)
    )
    assert codec.decode(longer).equals(array)
    assert codec.decode(documents(["Af==", "AQH="])).field("a").to_pylist() == [1, 257]


def test_numbers_of_many_digits(impl):
    codec = ConnectJsonCodec(
        pa.struct([("a", pa.decimal128(38, 3))]), schemas_enable=False, config={"decimal.format": "NUMERIC"}
    )
    texts = [
        f"{sign}{'9876543210' * 4}"[: size + len(sign)] + "." + "625"[:more]
        for size in range(1, 36)
        for more in (1, 2, 3)
        for sign in ("", "-")
    ]
    texts = [text for text in texts if len(text.replace("-", "")) < 39]
    array = codec.decode([f'{{"a":{text}}}'.encode() for text in texts])
    assert [f"{value:f}" for value in array.field("a").to_pylist()] == [
        text + "0" * (3 - len(text.split(".")[1])) for text in texts
    ]
    refused = ["01.5", "-", "1.", "1.5.5", ".5", "1e", "1234567890123456789-1", "12345678901234567890.12.1"]
    assert codec.decode([f'{{"a":{text}}}'.encode() for text in refused], errors="null").null_count == len(
        refused
    )

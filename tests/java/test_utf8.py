"""Text that is not UTF-8, as Java reads it, in every format that takes it."""

import pytest
from cases import cases

import kcodec
from kcodec.java.utf8 import decode_utf8

#: What Java has for a surrogate in UTF-8, for a character cut short, for bytes that begin none.
ODD = [
    (b"\xed\xa0\x80", "\ufffd"),
    (b"a\xf0\x9f\x98", "a\ufffd"),
    (b"\xf0\x9fb", "\ufffdb"),
    (b"\xe0\x80\x80", "\ufffd\ufffd\ufffd"),
    (b"\xf8\xff", "\ufffd\ufffd"),
]


@pytest.mark.parametrize(("data", "text"), ODD)
def test_decoding(data, text):
    assert decode_utf8(data) == text


@cases("name", ["KAFKA", "DELIMITED"])
@cases(("data", "text"), ODD)
def test_ksqldb_reads_text_as_java_does(impl, name, data, text):
    codec = kcodec.KsqlCodec(name, "A STRING", compat="ksqldb")
    assert codec.decode([data]).to_pylist() == [{"A": text}]

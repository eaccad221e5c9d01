"""Pasted messages: how they are written, what they hold, what is wrong with them."""

import base64
import json
import uuid

import pytest
from cases import cases
from hypothesis import given
from hypothesis import strategies as st
from page_browser import ADDRESS, CUSTOMER, Browser, filled

from kcodec.registry import Reference, Schema
from kcodec.registry.memory import MemoryRegistry
from kcodec.server.page.app import RegistryPage
from kcodec.server.page.message import (
    MAX_BYTES,
    Stretch,
    dump,
    find_guid,
    find_schema,
    read_bytes,
    read_message,
)
from kcodec.wire.framing import encode_message_indexes

ORDER = bytes.fromhex("02 06") + b"sku" + b"\0"
CITY = b"\x08\x07\x12\x06\x0a\x04Bonn"


def framed(found, payload, indexes=None):
    frame = b"\0" + found.id.to_bytes(4, "big")
    return frame + (b"" if indexes is None else encode_message_indexes(indexes)) + payload


def spellings(data):
    text = data.hex()
    pairs = [text[at : at + 2] for at in range(0, len(text), 2)]
    return {
        "hex": [
            text,
            text.upper(),
            " ".join(pairs),
            ":".join(pairs),
            "0x" + text,
            ", ".join(f"0x{each}" for each in pairs),
            "".join(f"\\x{each}" for each in pairs),
            "\r\n".join(pairs),
        ],
        "base64": [
            base64.b64encode(data).decode(),
            base64.b64encode(data).decode().rstrip("="),
            base64.urlsafe_b64encode(data).decode(),
            base64.encodebytes(data).decode(),
        ],
        "text": [
            repr(data),
            json.dumps(data.decode("latin-1")),
            json.dumps(data.decode("latin-1"), ensure_ascii=False),
        ],
    }


def dumped(data):
    """Return the lines that xxd, hexdump -C and od print."""
    xxd, hexdump, od = [], [], []
    for at in range(0, len(data), 16):
        row = data[at : at + 16]
        pairs = [f"{each:02x}" for each in row]
        text = "".join(chr(each) if 32 <= each < 127 else "." for each in row)
        groups = " ".join("".join(pairs[each : each + 2]) for each in range(0, len(pairs), 2))
        xxd.append(f"{at:08x}: {groups:<39}  {text}")
        halves = " ".join(pairs[:8]) + "  " + " ".join(pairs[8:])
        hexdump.append(f"{at:08x}  {halves:<48}  |{text}|")
        od.append(f"{at:06x} {' '.join(pairs)}")
    return xxd, [*hexdump, f"{len(data):08x}"], [*od, f"{len(data):06x}"]


@given(st.binary(min_size=1, max_size=80))
def test_dumps_are_read(data):
    for lines in dumped(data):
        for end in ("\n", "\r\n"):
            assert read_bytes(end.join(lines)) == read_bytes(end.join(lines), "hex") == data


@pytest.mark.parametrize(
    "text",
    [
        "00000010: 0001  ..",
        "00000000: 0001  ..\n00000004: 00  .",
        r"b'\x0'",
        r'"\u12"',
        '"\\u1234"',
        "b'a",
        "00000000",
    ],
)
def test_what_is_nearly_one(text):
    with pytest.raises(ValueError, match=r"This is (neither|not)"):
        assert read_bytes(text, "auto" if "0" * 6 not in text else "text")


@given(st.binary(min_size=1, max_size=200))
def test_bytes_are_read_however_they_are_written(data):
    for encoding, texts in spellings(data).items():
        for text in texts:
            assert read_bytes(text, encoding) == data
    for texts in spellings(b"\0" + data).values():
        for text in texts:
            assert read_bytes(text) == b"\0" + data


@given(st.text(max_size=60), st.sampled_from(["auto", "hex", "base64", "text", "other"]))
def test_any_text_is_bytes_or_none(text, encoding):
    try:
        assert isinstance(read_bytes(text, encoding), bytes)
    except ValueError:
        assert text.strip()


def test_bytes_are_bounded():
    with pytest.raises(ValueError, match="1,048,577 bytes"):
        read_bytes("00" * (MAX_BYTES + 1))
    assert len(read_bytes("00" * MAX_BYTES)) == MAX_BYTES


def test_an_avro_message_by_id_and_by_guid():
    registry = filled()
    found = registry.get_version("orders-value", 2)
    message = read_message(registry, framed(found, ORDER), ".")
    assert json.loads(message.value) == {"id": 1, "sku": "sku", "note": None}
    assert message.parts == [Stretch("magic", 0, 1), Stretch("id", 1, 5), Stretch("payload", 5, 11)]
    assert (message.problem, message.found.id) == ("", found.id)
    by_guid = read_message(registry, b"\1" + uuid.UUID(found.guid).bytes + ORDER, ".")
    assert by_guid.value == message.value
    assert by_guid.parts[1] == Stretch("guid", 1, 17)
    alone = read_message(registry, ORDER, ".", found)
    assert (alone.value, alone.parts) == (message.value, [Stretch("payload", 0, 6)])


def test_a_protobuf_message_with_indexes_and_references():
    registry = filled()
    found = registry.get_version("customers-value")
    message = read_message(registry, framed(found, CITY, [1]), ".")
    assert json.loads(message.value) == {"id": "7", "address": {"city": "Bonn"}}
    assert message.indexes == (1,)
    assert message.parts[2:] == [Stretch("indexes", 5, 7), Stretch("payload", 7, 17)]
    # Without a frame there are no indexes, and the first message is meant.
    assert read_message(registry, b"", ".", found).value == "{}"


def test_a_message_of_a_json_schema_is_shown_as_it_is():
    registry = filled()
    found = registry.get_version("clicks-value")
    text = '{"a": 1.50, "a": 100000000000000000000000}'
    assert read_message(registry, framed(found, text.encode()), ".").value == text


@pytest.mark.parametrize("context", [".", ".lab", ".nothing"])
def test_ids_count_in_their_context(context):
    registry = filled()
    registry.register(":.lab:a.proto", Schema(ADDRESS, "PROTOBUF"))
    reference = Reference("shop/address.proto", "a.proto", 1)
    registry.register(":.lab:b", Schema(CUSTOMER, "PROTOBUF", (reference,)))
    found = registry.get_version(":.lab:b")
    message = read_message(registry, framed(found, CITY, [1]), context)
    assert (message.value is not None) == (context == ".lab")
    # A GUID, and a subject, have a context of their own.
    guid = uuid.UUID(found.guid).bytes
    for each in (
        read_message(registry, b"\1" + guid + encode_message_indexes([1]) + CITY, context),
        read_message(registry, b"", *reversed(find_schema(registry, ":.lab:b", context))),
    ):
        assert (each.problem, each.context) == ("", ".lab")


def test_a_schema_that_is_in_two_contexts():
    registry = filled()
    both = registry.register("both", Schema('"int"'))
    lab = registry.get_version(":.lab:orders-value")
    assert both.guid == lab.guid
    for context, number in ((".", both.id), (".lab", lab.id), (".nothing", both.id)):
        found, home = find_guid(registry, both.guid, context)
        assert (found.id, home) == (number, context.replace(".nothing", "."))


@cases(
    ("data", "problem", "offset", "place"),
    [
        ("", "no bytes", 0, ""),
        ("07", "neither 00", 0, ""),
        ("00 00 00", "a schema id takes 4 bytes", 3, ""),
        ("01 00", "a GUID takes 16 bytes", 2, ""),
        ("00 00 00 00 63 00", "Schema 99 not found", 1, ""),
        ("00 ff ff ff ff 00", "Schema -1 not found", 1, ""),
        ("01" + "00" * 16, "not found", 1, ""),
        ("00 00 00 00 02", "truncated", 5, "id"),
        ("00 00 00 00 02 02 41", "negative_length", 6, "sku"),
        ("00 00 00 00 02 02 06 61", "truncated", 7, "sku"),
        ("00 00 00 00 02 02 02 61 00 00", "trailing_bytes", 9, ""),
        ("00 00 00 00 05 04 00", "frame_truncated", 5, ""),
        ("00 00 00 00 05 02 0c", "indexes [6]", None, ""),
        ("00 00 00 00 05 02 02 08", "truncated", 8, "id"),
        ("00 00 00 00 06 7b 22", "json_syntax", 6, ""),
        ("00 00 00 00 06 22 ff 22", "invalid_utf8", 6, ""),
    ],
)
def test_what_is_wrong_is_told_with_its_place(data, problem, offset, place):
    message = read_message(filled(), bytes.fromhex(data), ".")
    assert problem in message.problem
    assert message.value is None
    assert (message.offset, message.place) == (offset, place)
    rows, left_out = dump(message)
    assert left_out == 0
    marked = [cell for row in rows for cell in row.cells if cell.is_problem]
    assert len(marked) == (offset is not None and offset < len(message.data))
    ends = [part.end for part in message.parts]
    assert ends[-1:] == [len(message.data)] if message.data else not any(ends)


@given(
    st.sampled_from(["\0\0\0\0\2", "\0\0\0\0\5", "\0\0\0\0\6", "\0\0\0\0\7", "\0", "\1", ""]),
    st.binary(max_size=60),
)
def test_any_bytes_are_a_value_or_a_problem(frame, payload):
    message = read_message(REGISTRY, frame.encode("latin-1") + payload, ".")
    assert (message.value is None) == bool(message.problem)
    rows, left_out = dump(message)
    assert sum(len(row.cells) for row in rows) + left_out == len(message.data)


REGISTRY: MemoryRegistry = filled()


@pytest.mark.parametrize(
    ("schema", "payload"),
    [
        ('{"type":"array","items":"null"}', bytes.fromhex("feffffffffffffffff01")),
        ('{"type":"array","items":{"type":"record","name":"E","fields":[]}}', bytes.fromhex("80808002 00")),
        ('{"type":"record","name":"L","fields":[{"name":"n","type":["null","L"]}]}', b"\2" * 1_000_000),
        ('{"type":"array","items":"int"}', b"\x80\x80\x7a" + b"\0" * 1_000_000),
        ('"string"', b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
        ('"bytes"', b"\0" * 1_000_000),
    ],
)
def test_hostile_payloads_are_bounded(browser, registry, schema, payload):
    found = registry.register("hostile", Schema(schema))
    page = browser.post("decode", message=framed(found, payload).hex())
    assert page.status == 200
    assert len(page.html) < 12_000_000


def test_deep_messages_are_bounded(browser, registry):
    found = registry.register("deep", Schema('syntax = "proto3"; message M { M m = 1; }', "PROTOBUF"))
    payload = b""
    for _ in range(3000):
        payload = b"\x0a" + varint(len(payload)) + payload
    page = browser.post("decode", message=framed(found, payload, [0]).hex())
    assert "depth_limit" in page.text
    found = registry.get_version("clicks-value")
    page = browser.post("decode", message=framed(found, b"[" * 500_000).hex())
    assert "depth_limit" in page.text


def varint(number):
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


# The page


def test_the_page_shows_frame_schema_and_value(browser, registry):
    found = registry.get_version("orders-value", 2)
    page = browser.post("decode", message=base64.b64encode(framed(found, ORDER)).decode())
    for words in (
        "magic byte",
        "schema id 2",
        "payload, 6 bytes",
        '"sku" : "sku"',
        "orders-value , version 2",
        found.guid,
    ):
        assert words in page.text
    assert page.fields["message"] == base64.b64encode(framed(found, ORDER)).decode()
    found = registry.get_version("customers-value")
    page = browser.post("decode", message=framed(found, CITY, [1]).hex())
    assert "message indexes 1" in page.text
    assert '"city" : "Bonn"' in page.text


@pytest.mark.parametrize("name", ["2", "orders-value", "guid"])
def test_a_schema_may_be_named(browser, registry, name):
    name = registry.get(2).guid if name == "guid" else name
    registry.delete_version("orders-value", 3)
    page = browser.post("decode", message=ORDER.hex(), schema=name)
    assert '"sku" : "sku"' in page.text


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"message": "xyz!"}, "neither hexadecimal nor Base64"),
        ({"message": "zz", "encoding": "hex"}, "not hexadecimal"),
        ({"message": "!", "encoding": "base64"}, "not Base64"),
        ({"message": "00", "schema": "nothing"}, "not found"),
        ({"message": "00", "schema": "99"}, "not found"),
        ({"message": "00", "schema": "\0"}, "not a valid subject"),
        ({"message": "00", "schema": "1", "context": "\0"}, "not a valid subject"),
    ],
)
def test_what_cannot_be_read_is_told(browser, fields, words):
    page = browser.post("decode", **fields)
    assert page.status == 422
    assert words in page.text
    assert page.fields["message"] == fields["message"]


def test_a_value_is_no_markup(browser, registry):
    found = registry.register("text", Schema('"string"'))
    text = b"<script>alert(1)</script>"
    page = browser.post("decode", message=framed(found, bytes([2 * len(text)]) + text).hex())
    assert "<script>alert(1)</script>" in page.text


def test_a_problem_far_into_a_message_is_shown(browser, registry):
    found = registry.register("list", Schema('{"type":"array","items":"boolean"}'))
    payload = b"\x80\x7d" + b"\1" * 5_000 + b"\2" + b"\1" * 2_999
    page = browser.post("decode", message=framed(found, payload).hex())
    assert "invalid_boolean" in page.text
    assert "At byte 5007" in page.text
    assert '<span class="here">02</span>' in page.html
    assert "bytes are not shown" in page.text


def test_decimals_are_numbers():
    fields = [
        {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
        {
            "name": "tax",
            "type": [
                "null",
                {"type": "fixed", "name": "T", "size": 4, "logicalType": "decimal", "precision": 9},
            ],
        },
        {"name": "raw", "type": "bytes"},
    ]
    schema = json.dumps({"type": "record", "name": "R", "fields": fields})
    registry = MemoryRegistry("page-decimals")
    found = registry.register("r", Schema(schema))
    payload = bytes.fromhex("04 04aa 02 fffffffe 02 04".replace(" ", ""))
    message = read_message(registry, framed(found, payload), ".")
    assert message.value == '{"price":11.94,"tax":{"T":-2},"raw":"\\u0004"}'
    message = read_message(registry, framed(found, payload), ".", is_raw=True)
    assert message.value == r'{"price":"\u0004ª","tax":{"T":"ÿÿÿþ"},"raw":"\u0004"}'
    browser = Browser(RegistryPage(registry, root_path="/ui"))
    pasted = framed(found, payload).hex()
    shown = browser.post("decode", message=pasted)
    assert "11.94" in shown.text
    assert 'value="1" checked' not in shown.html
    shown = browser.post("decode", message=pasted, raw="1")
    assert "11.94" not in shown.text
    assert r"\u0004ª" in shown.text
    assert 'value="1" checked' in shown.html

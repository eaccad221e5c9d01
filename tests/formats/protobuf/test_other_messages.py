"""Payloads of messages that have other fields than the reader's, or another order of these, in blocks of rows."""

import operator
import random
import re

import pytest
from random_messages import damaged, payload, schema_text
from side_by_side import same_decode

from kcodec import ProtobufCodec
from kcodec.formats.protobuf.messages.wire import BYTES, read_length, read_tag, skip_field
from kcodec.formats.protobuf.plans.plan import decode_plan
from kcodec.formats.protobuf.schema import ProtobufSchema
from kcodec.formats.protobuf.types import ProtobufOptions
from kcodec.plan import Limits

_FIELD = re.compile(r"^(optional|repeated|) *(\w+) (\w+) = (\d+)(?: \[packed = (true|false)\])?;$")
_NUMBERS = ("int32", "int64", "uint32", "sint64", "bool", "fixed32", "double", "string", "E")


def other(drawn, text):
    """A reader's file: some fields are not in it, of another type, or lists that are packed the other way."""
    lines = []
    in_oneof = False
    for line in text.splitlines():
        in_oneof = line.startswith("oneof") or (in_oneof and line != "}")
        found = None if in_oneof else _FIELD.match(line)
        if found is None or drawn.random() < 0.5:
            lines.append(line)
        elif drawn.random() < 0.6 or found[2] not in _NUMBERS:
            # Left out.
            pass
        else:
            label, kind, name, number, packed = found.groups("")
            kind = kind if drawn.random() < 0.5 else drawn.choice(_NUMBERS)
            label = label if drawn.random() < 0.7 else "repeated"
            turned = {"true": "false", "false": "true"}.get(packed, drawn.choice(["true", "false"]))
            option = f" [packed = {turned}]" if label == "repeated" and kind != "string" else ""
            if not label and "proto2" in text:
                label = "optional"
            lines.append(f"{label} {kind} {name} = {number}{option};")
    return "\n".join(lines)


def reordered(data, message, rank):
    """A payload whose fields stand by a rank of their numbers, also in the messages inside."""
    pieces = []
    at = 0
    while at < len(data):
        start = at
        number, wire_type, body = read_tag(data, at, len(data))
        at = skip_field(data, body, len(data), number, wire_type, 100)
        piece = data[start:at]
        field = message.by_number.get(number)
        if wire_type == BYTES and field is not None and field.message is not None:
            _, body = read_length(data, body, len(data))
            piece = data[start:body] + reordered(data[body:at], field.message, rank)
        pieces.append((rank(number), piece))
    return b"".join(piece for _, piece in sorted(pieces, key=operator.itemgetter(0)))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", range(40))
def test_fields_of_others(seed):
    """As the twin reads them, which knows no blocks: many rows alike, rows of two messages, damaged ones."""
    drawn = random.Random(seed)
    text = schema_text(drawn)
    wide = {
        "enums": drawn.choice(["name", "number"]),
        "unknown_fields": drawn.choice(["skip", "skip", "keep"]),
    }
    reader = ProtobufSchema.parse(other(drawn, text)).message("p.M0")
    writers = [ProtobufSchema.parse(each).message("p.M0") for each in (text, other(drawn, text))]
    plan, _ = decode_plan(reader, ProtobufOptions(**wide))
    rows = [payload(drawn, writers[0], drawn.choice([0.3, 0.9])) for _ in range(drawn.choice([5, 200]))]
    mixed = [payload(drawn, drawn.choice(writers)) for _ in range(40)]
    bad = [damaged(drawn, drawn.choice(rows), rows) for _ in range(5)]
    limits = Limits(max_expansion=drawn.choice([100, 1000])) if drawn.random() < 0.3 else None
    for values in (rows, [*rows[:30], *mixed]):
        same_decode("formats.protobuf._kernel", [plan], values, limits=limits)
    same_decode("formats.protobuf._kernel", [plan], [*rows[:20], *bad, *rows[:20]])


@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", range(40))
def test_fields_in_another_order(seed):
    """Of all rows, of some, and of each another one; with unknown ones among them, and members of oneofs."""
    drawn = random.Random(seed)
    text = schema_text(drawn)
    writer = ProtobufSchema.parse(text).message("p.M0")
    reader = ProtobufSchema.parse(drawn.choice([text, other(drawn, text)])).message("p.M0")
    plan, _ = decode_plan(reader, ProtobufOptions(unknown_fields=drawn.choice(["skip", "skip", "keep"])))
    rows = [payload(drawn, writer, drawn.choice([0.3, 0.9])) for _ in range(drawn.choice([5, 200]))]
    ranks = [lambda number: -number, lambda number: hash((seed, number)), lambda number: number % 3]
    rank = drawn.choice(ranks)
    turned = [reordered(row, writer, rank) for row in rows]
    some = [each if drawn.random() < 0.3 else row for row, each in zip(rows, turned, strict=True)]
    shuffled = [reordered(row, writer, lambda number: drawn.random()) for row in rows[:40]]
    for values in (turned, some, [*turned[:50], *shuffled, *turned[:50]]):
        same_decode("formats.protobuf._kernel", [plan], values)


def test_members_of_oneofs_in_the_place_of_the_first(impl):
    """As Go's encoder writes them, also where the number of a later one is greater than those of other fields."""
    text = (
        'syntax = "proto3"; message M { int64 a = 1; oneof o { string x = 2; int64 y = 10; } string c = 5; }'
    )
    codec = ProtobufCodec(text, "M")
    message = ProtobufSchema.parse(text).message("M")
    rows = [{"a": row, "x": None, "y": row + 1, "c": f"text {row}"} for row in range(1, 600)]
    rows += [{**row, "x": "x", "y": None} for row in rows]
    values = [reordered(row, message, [1, 2, 10, 5].index) for row in codec.encode(rows).to_pylist()]
    assert values[0] == b"\x08\1\x50\2\x2a\6text 1"
    assert codec.decode(values).to_pylist() == rows


def test_what_writers_have_that_a_reader_does_not(impl):
    """Each at the front, between, and behind: numbers, text, lists, messages, groups, and another wire type."""
    head = 'syntax = "proto2"; message S { optional int32 x = 1; }'
    own = "optional int64 a = 4; optional string b = 8; repeated int32 c = 12;"
    reader = ProtobufCodec(f"{head} message M {{ {own} }}", "M")
    kinds = ["int64", "fixed32", "double", "string", "S"]
    values = {"int64": 1 << 40, "fixed32": 7, "double": 1.5, "string": "x" * 200, "S": {"x": 1}}
    expected = {"a": 5, "b": "text", "c": [1, 300]}
    for number in (1, 3, 5, 11, 13, 2000):
        for kind in kinds:
            for label in ("optional", "repeated"):
                field = f"{label} {kind} z = {number};"
                writer = ProtobufCodec(f"{head} message M {{ {own} {field} }}", "M")
                value = values[kind] if label == "optional" else [values[kind]] * 2
                rows = writer.encode([{**expected, "z": value}] * 300)
                assert reader.decode(rows).to_pylist() == [expected] * 300
    writer = ProtobufCodec(f"{head} message M {{ {own.replace('int64 a', 'string a')} }}", "M")
    rows = writer.encode([{**expected, "a": "not a number"}] * 300)
    assert reader.decode(rows).to_pylist() == [{**expected, "a": None}] * 300
    packed = ProtobufCodec(f"{head} message M {{ {own[:-1]} [packed = true]; }}", "M")
    assert reader.decode(packed.encode([expected] * 300)).to_pylist() == [expected] * 300
    group = ProtobufCodec(
        f"{head} message M {{ {own} optional group G = 5 {{ optional int32 g = 1; }} }}", "M"
    )
    rows = group.encode([{**expected, "g": {"g": 1}}] * 300)
    assert reader.decode(rows).to_pylist() == [expected] * 300


@pytest.mark.parametrize("share", [0.01, 0.5, 1])
def test_newer_names_of_an_enum(impl, share):
    """An open enum's numbers without a name are called by their digits, in rows, lists and maps."""
    drawn = random.Random(1)
    head = 'syntax = "proto3"; enum E { A = 0; B = 1; } message M { E e = 1; repeated E l = 2; map<int32, E> m = 3; }'
    writer = ProtobufCodec(head, "M", enums="number")

    def number():
        return drawn.choice([7, -1, -(2**31), 2**31 - 1]) if drawn.random() < share else drawn.randint(0, 1)

    rows = [{"e": number(), "l": [number(), number()], "m": [(1, number())]} for _ in range(600)]
    names = {0: "A", 1: "B"}

    def called(value):
        return names.get(value, str(value))

    expected = [
        {"e": called(row["e"]), "l": [called(each) for each in row["l"]], "m": [(1, called(row["m"][0][1]))]}
        for row in rows
    ]
    assert ProtobufCodec(head, "M").decode(writer.encode(rows)).to_pylist() == expected

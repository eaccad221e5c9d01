"""Numbers of Python for messages that are decimals, which columns hold as text."""

from dataclasses import dataclass
from decimal import Decimal

import pyarrow as pa
import pytest

from kcodec import EncodeError, ProtobufCodec, Serde

SCHEMA = """syntax = "proto3"; import "confluent/type/decimal.proto"; import "google/type/decimal.proto";
message M {
  confluent.type.Decimal one = 1; repeated confluent.type.Decimal many = 2; map<string, Inner> by = 3;
  google.type.Decimal text = 4; map<string, confluent.type.Decimal> numbers = 5; string name = 6;
  oneof choice { google.type.Decimal a = 7; int64 b = 8; }
  message Inner { confluent.type.Decimal deep = 1; repeated google.type.Decimal texts = 2; }
}"""
TEXTS = {
    "one": "-1.50",
    "many": ["7", "0.070"],
    "by": [("k", {"deep": "1E+5", "texts": ["2.0"]})],
    "text": "12345678901234567890.5",
    "numbers": [("x", "0")],
    "name": "n",
    "a": "3",
}
NUMBERS = {
    "one": Decimal("-1.50"),
    "many": [7, "0.070"],
    "by": {"k": {"deep": Decimal("1E+5"), "texts": [Decimal("2.0")]}},
    "text": Decimal("12345678901234567890.5"),
    "numbers": {"x": 0},
    "name": "n",
    "a": 3,
}


@pytest.mark.parametrize("options", [{}, {"large": True}, {"oneofs": "case"}])
def test_numbers_in_lists_and_one_by_one(impl, options):
    codec = ProtobufCodec(SCHEMA, **options)
    wanted = codec.encode([TEXTS])
    assert codec.encode([NUMBERS]).equals(wanted)
    # Beside texts, too, and rows without.
    assert codec.encode([TEXTS, None, NUMBERS, {"one": Decimal(7)}]).to_pylist()[:3] == [
        wanted[0].as_py(), None, wanted[0].as_py(),
    ]  # fmt: skip
    assert codec.encode_one(NUMBERS) == codec.encode_one(TEXTS) == wanted[0].as_py()
    assert codec.encode_list([NUMBERS, {"text": Decimal("1.0")}])[0] == wanted[0].as_py()
    # Columns are as they were.
    assert codec.arrow_type.field("one").metadata is None
    assert codec.decode(wanted).type.equals(codec.arrow_type, check_metadata=True)


def test_zero_with_places_before_the_point_is_zero(impl):
    fields = ProtobufCodec(SCHEMA, well_known=())
    codec = ProtobufCodec(SCHEMA)
    for value, scale, text in ((b"", -2, "0"), (b"\0", -2, "0"), (b"\0", 2, "0.00"), (b"\xff", -2, "-100")):
        row = fields.encode([{"one": {"value": value, "scale": scale}}])
        assert codec.decode(row)[0].as_py()["one"] == codec.decode_one(row[0].as_py())["one"] == text


def test_numbers_in_records(impl):
    @dataclass
    class Price:
        one: Decimal

    codec = ProtobufCodec(SCHEMA)
    assert codec.encode_one(Price(Decimal("1.5"))) == codec.encode_one({"one": "1.5"})


def test_numbers_that_are_none(impl):
    codec = ProtobufCodec(SCHEMA)
    for wrong in (Decimal("NaN"), Decimal("Infinity"), True, 1.5):
        with pytest.raises(TypeError, match="does not fit string at one"):
            codec.encode([{"one": wrong}])
    with pytest.raises(TypeError, match="does not fit string at name"):
        codec.encode([{"name": Decimal(1)}])
    with pytest.raises(EncodeError, match=r"out_of_range: row 1, many\[0\]"):
        codec.encode([{}, {"many": [10**5000]}])
    fields = ProtobufCodec(SCHEMA, well_known=())
    with pytest.raises(TypeError):
        fields.encode([{"one": Decimal(1)}])


def test_numbers_in_topics(impl):
    serde = Serde("PROTOBUF", "memory://decimals", topic="t", schema=SCHEMA)
    wanted = serde.serialize(pa.array([TEXTS], ProtobufCodec(SCHEMA).arrow_type))
    assert serde.serialize([NUMBERS]).equals(wanted)
    assert serde.serialize_one(NUMBERS) == wanted[0].as_py()

"""Plans of Protobuf tell people what becomes of each field, beside the type that messages were written with."""

import pickle

import kcodec

ENUM = "enum K { OTHER = 0; PAID = 5; ALSO_PAID = 5; OPEN = 2; }"
OLD = f"""syntax = "proto3"; enum S {{ option allow_alias = true; {ENUM.partition("{")[2]}
message Line {{ int32 count = 1; string note = 2; }}
message Order {{ S state = 1; int32 id = 2; Line line = 3; map<string, Line> lines = 4; bytes gone = 9;
  oneof pay {{ string card = 5; int64 cash = 6; }} }}"""
NEW = OLD.replace("int32 count = 1; string note = 2;", "int64 number = 1; bool bulk = 3;").replace(
    "bytes gone = 9;", "bool fresh = 10;"
)
TREE = """\
  message oneof pay {card, cash} -> column 0
    state: field 1 enum {OTHER = 0, PAID = 5, OPEN = 2} -> column 1
    id: field 2 int32 -> column 2
    line: field 3 message -> column 3
      message -> column 3
        number: field 1 int64 [int32 -> int64, was count] -> column 4
        note: field 2 string (dropped)
        bulk: field 3 bool [not in the writer's type] -> column 5
    lines: field 4 map message -> column 6
      message
        key: field 1 string -> column 7
        value: field 2 message -> column 8
          message -> column 8
            number: field 1 int64 [int32 -> int64, was count] -> column 9
            note: field 2 string (dropped)
            bulk: field 3 bool [not in the writer's type] -> column 10
    card: field 5 string -> column 12
    cash: field 6 int64 -> column 13
    gone: field 9 bytes (dropped)
    fresh: field 10 bool [not in the writer's type] -> column 11"""


def test_a_plan_tells_symbols_skipped_fields_and_promotions():
    codec = kcodec.ProtobufCodec(OLD, "Order", NEW)
    assert str(codec.decode_plan).split("\n", 1)[1] == TREE
    assert pickle.loads(pickle.dumps(codec.decode_plan)) == codec.decode_plan


def test_a_plan_without_another_schema_tells_of_no_changes():
    plan = kcodec.ProtobufCodec(NEW, "Order").decode_plan
    assert "[" not in str(plan).split("\n", 1)[1]
    assert plan == kcodec.ProtobufCodec(NEW, "Order", NEW).decode_plan


def test_unknown_fields_that_are_kept_are_not_dropped():
    codec = kcodec.ProtobufCodec(OLD, "Order", NEW, unknown_fields="keep", oneofs="case")
    lines = [line.strip() for line in str(codec.decode_plan).splitlines()]
    assert "message oneof pay {card, cash} in column 16, unknown fields in column 17 -> column 0" in lines
    assert "gone: field 9 bytes -> column 17" in lines
    assert not any("(dropped)" in line for line in lines)


def test_the_default_of_an_enum_is_told():
    text = 'syntax = "proto2"; enum S { PAID = 5; OPEN = 2; } message M { optional S s = 1; }'
    plan = kcodec.ProtobufCodec(text).decode_plan
    assert "s: field 1 enum {PAID = 5, OPEN = 2} default 5 -> column 1" in str(plan)

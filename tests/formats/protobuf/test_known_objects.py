"""Single values with dates, times of day, decimals and JSON text are what columns of them are."""

import datetime
import random
from decimal import Decimal

from cases import cases
from known_messages import FIELDS, IMPORTS, PLAIN, messages
from side_by_side import exact, left_to_columns
from tries import tries

from kcodec import DecodeError, EncodeError, ProtobufCodec, rows
from kcodec.objects.by_columns import ColumnReader, ColumnWriter
from kcodec.objects.form import ObjectForm

JSON = "google/protobuf/struct.proto", "google/protobuf/any.proto", "google/protobuf/field_mask.proto"
SCHEMA = (
    'syntax = "proto3";\n'
    + IMPORTS
    + "".join(f'import "{path}";\n' for path in JSON)
    + f"""message All {{
      {FIELDS}
      google.protobuf.Struct tree = 31; repeated google.protobuf.Value trees = 32;
      map<string, google.protobuf.ListValue> lists = 33; google.protobuf.Any any = 34;
      google.protobuf.FieldMask mask = 35; All inner = 36;
    }}
    """
)
CODEC = ProtobufCodec(SCHEMA, recursive_depth=2)
VALUES = {
    "one1": datetime.date(2024, 2, 29),
    "one2": datetime.time(23, 59, 59, 999_999),
    "one3": "-12.50",
    "one4": "1e3",
    "tree": '{"a":1.5,"b":[null,true],"c":{}}',
    "mask": ["a_b", "c"],
    "inner": {"one1": datetime.date(1, 1, 1), "many2": [datetime.time(0), datetime.time(1)], "one3": "7"},
}


def told(act):
    """What an act returns, or the facts of its error."""
    try:
        return exact(act())
    except (DecodeError, EncodeError) as error:
        return error.code, error.offset, error.path, error.reason


def test_they_take_no_columns():
    data = ColumnWriter(CODEC.encode).encode_one(VALUES)
    assert CODEC._writer.object_writer(left_to_columns, CODEC.arrow_type).encode_one(VALUES) == data
    found = CODEC._reader.object_reader(left_to_columns, ObjectForm()).decode_one(data)
    assert exact(found) == exact(rows(CODEC.decode([data]))[0])


@cases(
    "value",
    [
        {"one1": datetime.datetime(2024, 1, 1)},
        {"one1": 5},
        {"one2": datetime.time(1, tzinfo=datetime.UTC)},
        {"one2": "12:00"},
        {"one3": Decimal("1E+3")},
        {"one3": Decimal("NaN")},
        {"one3": 17},
        {"one3": True},
        {"one3": 1.5},
        {"one3": "x"},
        {"one3": "1e2000"},
        {"one3": "\ud800"},
        {"one4": Decimal("2.50")},
        {"tree": "[1]"},
        {"tree": "{"},
        {"tree": b"{}"},
        {"tree": {"a": 1}},
        {"tree": '{"a":' * 200 + "1" + "}" * 200},
        {"any": '{"@type":"type.googleapis.com/google.protobuf.FieldMask","value":"a"}'},
        {"any": '{"@type":"type.googleapis.com/none"}'},
        {"mask": "1"},
        {"many1": [datetime.date(2024, 1, day) for day in range(1, 29)]},
        {"many3": ["1", None]},
        {"by3": {"a": Decimal("1.5"), "b": "x"}},
        {"lists": {"a": "[1,2]"}, "trees": ["1", '"x"', "null"]},
        {"inner": {"inner": {"one1": datetime.date(1, 1, 1)}}},
    ],
    ids=repr,
)
def test_what_is_odd(value, impl):
    def alone():
        return CODEC.encode_one(value)

    def column():
        return ColumnWriter(CODEC.encode).encode_one(value)

    assert told(alone) == told(column)
    if isinstance(told(column), bytes):
        assert told(lambda: CODEC.decode_one(column())) == told(lambda: rows(CODEC.decode([column()]))[0])


@cases("seed", range(min(8, tries(16))))
def test_any_values(seed, impl):
    r = random.Random(seed)
    plain = ProtobufCodec(SCHEMA, recursive_depth=2, **PLAIN)
    codec = ProtobufCodec(SCHEMA, recursive_depth=2, unit=r.choice(["us", "ns"]))
    trees = ProtobufCodec(SCHEMA, fields=["tree", "trees", "lists"])
    texts = ['{"a":1}', '{"b":[1,"x",{"c":null}]}', '{"":{"d":1e300}}']
    for row in messages(r, seed % 3 == 0)[:25]:
        data = plain.encode_one(row)
        data += trees.encode_one(
            {"tree": r.choice(texts), "trees": [r.choice(texts)] * r.randint(0, 3), "lists": {"k": "[[]]"}}
        )
        if r.random() < 0.3:
            changed = bytearray(data)
            changed[r.randrange(len(changed))] = r.randrange(256)
            data = bytes(changed)
        column = told(lambda data=data: ColumnReader(codec.decode).decode_one(data))
        assert told(lambda data=data: codec.decode_one(data)) == column
        if isinstance(column, dict):
            value = ColumnReader(codec.decode).decode_one(data)
            written = told(lambda value=value: ColumnWriter(codec.encode).encode_one(value))
            assert told(lambda value=value: codec.encode_one(value)) == written


def test_many_are_columns(monkeypatch):
    """A list of values, and a value with a long list, are converted together."""
    data = CODEC.encode_one({"one1": datetime.date(2024, 1, 1)})
    called = []
    monkeypatch.setattr(
        "kcodec.objects.by_columns.ColumnReader.decode_list",
        lambda self, values, starts=None, stop=False: (
            called.append(len(values)) or ([None] * len(values), [])
        ),
    )
    assert len(CODEC.decode_list([data] * 8)) == 8
    assert called == []
    assert len(CODEC.decode_list([data] * 9)) == 9
    assert called == [9]

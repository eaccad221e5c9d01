"""Values that are read without columns, and those that are left to them; `same_decode` compares both on all others."""

import dataclasses
import datetime
import gc
import json
import tracemalloc
from decimal import Decimal
from typing import NamedTuple

import pyarrow as pa
import pytest
from cases import cases
from hypothesis import given
from hypothesis import strategies as st
from side_by_side import NotPlain, exact, left_to_columns
from strategies import damaged

import kcodec
from kcodec import (
    AvroCodec,
    ConfigError,
    ConnectJsonCodec,
    DecodeError,
    JsonCodec,
    JsonSchemaCodec,
    KsqlCodec,
    Limits,
    ProtobufCodec,
)
from kcodec._impl import kernel
from kcodec.objects.form import ObjectForm

UTC = datetime.timezone.utc
JSON = JsonCodec(
    pa.struct(
        [
            pa.field("id", pa.int64(), nullable=False),
            ("name", pa.string()),
            ("price", pa.decimal128(9, 2)),
            ("at", pa.timestamp("ms", "UTC")),
            ("day", pa.date32()),
            ("score", pa.float32()),
            ("data", pa.binary()),
            ("tags", pa.list_(pa.string())),
            ("counts", pa.map_(pa.string(), pa.uint8())),
            ("place", pa.struct([("city", pa.string())])),
        ]
    )
)
DOCUMENT = {
    "id": 2**60 + 1,
    "name": 'by "hand" é',
    "price": Decimal("12.50"),
    "at": datetime.datetime(2024, 5, 1, 10, 0, 0, 1000, UTC),
    "day": datetime.date(2024, 2, 29),
    "score": 0.5,
    "data": b"\xff\x00",
    "tags": ["a", None, ""],
    "counts": [("x", 1), ("y", 255)],
    "place": {"city": "Zürich"},
}
PROTOBUF = ProtobufCodec("""
    syntax = "proto3";
    import "google/protobuf/timestamp.proto";
    import "google/protobuf/wrappers.proto";
    message Order {
      int64 id = 1; optional string note = 2; repeated sint32 numbers = 3; repeated string tags = 4;
      map<string, uint64> counts = 5; Place place = 6; google.protobuf.Timestamp at = 7; Kind kind = 8;
      google.protobuf.StringValue name = 9; oneof which { bool yes = 10; double share = 11; } fixed32 last = 300;
      message Place { string city = 1; }
      enum Kind { NONE = 0; SOME = 1; }
    }
""")
MESSAGE = {
    "id": -1,
    "note": None,
    "numbers": [-1, 2**31 - 1],
    "tags": ["a", "é"],
    "counts": [("x", Decimal(2**64 - 1))],
    "place": {"city": "Zürich"},
    "at": datetime.datetime(1969, 12, 31, 23, 59, 59, 999999, UTC),
    "kind": "SOME",
    "name": "",
    "yes": None,
    "share": 0.25,
    "last": 7,
}


def plain_reader(codec, limits=None):
    """What reads a codec's values without columns."""
    name = "protobuf" if isinstance(codec, ProtobufCodec) else "json"
    return kernel(f"formats.{name}.objects._read", "native").object_reader(
        codec.decode_plan, limits or Limits(), left_to_columns, ObjectForm()
    )


@pytest.mark.parametrize(
    ("codec", "value"), [(JSON, DOCUMENT), (PROTOBUF, MESSAGE)], ids=["json", "protobuf"]
)
def test_what_is_plain_takes_no_columns(codec, value):
    empty = dict.fromkeys(value) | {"id": 0}
    for each in (value, empty):
        data = codec.encode_one(each)
        wanted = exact(codec.decode([data]).to_pylist()[0])
        assert exact(plain_reader(codec).decode_one(data)) == wanted
        assert exact(plain_reader(codec).decode_one(b"frame" + data, 5)) == wanted


@cases(
    "text",
    [
        '{"id": 1, "tags": [1]}',
        '{"id": 1.5}',
        '{"id": 1e2}',
        '{"i\\u0064": 1}',
        '{"id": 1, "counts": {"a": 1, "a": 2}}',
        '{"id": 1, "counts": {"a": 256}}',
        '{"id": 1, "price": 0.125}',
        '{"id": 1, "name": "\x01"}',
        '{"id": 1,}',
        '{"id": 01}',
        "{}",
        '\ufeff{"id": 1}',
    ],
)
def test_documents_that_are_left_to_columns(impl, text):
    """The answer, a value or what is wrong with it, is that of columns."""
    with pytest.raises(NotPlain):
        plain_reader(JSON).decode_one(text.encode())
    values = [b'{"id": 1}', None, text.encode(), b'{"id": 2}']
    column, report = JSON.decode(values, errors="report")
    objects, found = JSON.decode_list(values, errors="report")
    assert objects == column.to_pylist()
    assert found.equals(report)


@cases(
    "data",
    [
        "3a00 3a00",  # a message in two parts
        "5001 5900000000000000 00",  # two members of a oneof, and half a field
        "5001 590000000000000000",
        "2a030a0161 2a030a0161",  # a key of a map twice
        "1201ff",  # no UTF-8
        "0b0c",  # a group
        "1205 61",
        "80808080808080808001 00",
    ],
)
def test_messages_that_are_left_to_columns(impl, data):
    data = bytes.fromhex(data)
    with pytest.raises(NotPlain):
        plain_reader(PROTOBUF).decode_one(data)
    values = [b"\x08\x01", None, data, b"\x08\x02"]
    column, report = PROTOBUF.decode(values, errors="report")
    objects, found = PROTOBUF.decode_list(values, errors="report")
    assert objects == column.to_pylist()
    assert found.equals(report)


def test_items_are_counted_before_they_fill_the_memory():
    """A list of many small items is left to columns, which say what the limits allow."""
    message = ProtobufCodec("syntax = 'proto3'; message M { repeated N n = 1; message N { int64 a = 1; } }")
    documents = JsonCodec(pa.list_(pa.struct([("a", pa.int64())])))
    for codec, data in ((message, b"\x0a\x00" * 100), (documents, b"[{},{},{}]")):
        plain_reader(codec).decode_one(data)
        with pytest.raises(NotPlain):
            plain_reader(codec, Limits(max_expansion=100)).decode_one(data)


@pytest.mark.parametrize(
    ("codec", "value"), [(JSON, DOCUMENT), (PROTOBUF, MESSAGE)], ids=["json", "protobuf"]
)
def test_nothing_is_left_of_what_was_read(codec, value):
    data = codec.encode_one(value)
    reader = plain_reader(codec)

    def allocated():
        for _ in range(500):
            reader.decode_one(data)
            with pytest.raises(NotPlain):
                reader.decode_one(data[:-1])
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        first = allocated()
        assert allocated() - first < 5_000
    finally:
        tracemalloc.stop()


KSQL = KsqlCodec(
    "JSON",
    "ID BIGINT, NAME STRING, AT TIMESTAMP, DAY DATE, T TIME, D DOUBLE, M MAP<STRING, INT>, S STRUCT<A INT>",
)
CONNECT = {
    "type": "struct",
    "fields": [
        {"field": "id", "type": "int64"},
        {"field": "price", "type": "bytes", "name": "org.apache.kafka.connect.data.Decimal", "version": 1,
         "parameters": {"scale": "2"}},
        {"field": "day", "type": "int32", "name": "org.apache.kafka.connect.data.Date", "version": 1},
        {"field": "at", "type": "int64", "name": "org.apache.kafka.connect.data.Timestamp", "version": 1},
        {"field": "tags", "type": "map", "keys": {"type": "string"}, "values": {"type": "int32"}, "optional": True},
    ],
}  # fmt: skip
ROW = {
    "id": 7,
    "price": Decimal("-12.50"),
    "day": datetime.date(1969, 12, 31),
    "at": datetime.datetime(2024, 5, 1, 10, 0, 0, 1000, UTC),
    "tags": [("a", 1)],
}
UNION = JsonSchemaCodec(
    {
        "type": "object",
        "properties": {
            "v": {"type": ["integer", "string", "array", "boolean"], "items": {"type": "number"}},
            "inner": {"type": "object", "properties": {"day": {"type": "string", "format": "date"}}},
            "m": {"type": "object", "additionalProperties": {"type": "integer"}},
        },
    }
)


@pytest.fixture
def quick(monkeypatch):
    """Nothing is read as a column."""

    def refuse(*arguments):
        raise NotPlain

    for reader in ("ColumnReader", "ArrayReader"):
        for method in ("decode_one", "decode_list"):
            monkeypatch.setattr(f"kcodec.objects.by_columns.{reader}.{method}", refuse)


def agrees(codec, data):
    """Read a value by columns and alone; both are the same, or the same error."""
    column, report = codec.decode([data], errors="report")
    try:
        wanted = None if report.num_rows else exact(kcodec.rows(column)[0])
    except OverflowError:
        with pytest.raises(DecodeError, match="out_of_range"):
            codec.decode_one(data)
        return
    if report.num_rows:
        with pytest.raises(DecodeError) as caught:
            codec.decode_one(data)
        assert [{name: getattr(caught.value, name) for name in report.column_names}] == report.to_pylist()
    else:
        assert exact(codec.decode_one(data)) == wanted


@cases(
    "text",
    [
        '{"ID": 1, "NAME": "x", "AT": 1714557600001, "DAY": -1, "T": 1000, "D": 1.5, "M": {"a": 1}, "S": {"a": 2}}',
        '{"id": 1, "name": "x", "at": -62135596800000, "day": 2932896, "t": 86399999, "m": {}, "s": null}',
        '{"Id": 1, "other": {"ID": 2}, "nAmE": ""}',
        '{"id": 1, "ID": 2, "iD": 3}',
        '{"ID": 2, "id": 1}',
        '{"id": 1, "Id": 2}',
        '{"\\u0069d": 1}',
        '{"ıd": 1}',
        '{"ID": "1", "NAME": 5, "D": "NaN"}',
        '{"D": 0}',
        '{"D": -0.0}',
        '{"D": 0e5}',
        '{"T": 86400000}',
        '{"T": -1}',
        '{"DAY": 2147483648}',
        '{"AT": 9223372036854775807}',
        '{"AT": 1.5}',
        "null",
        "{} ",
    ],
)
@cases("compat", [None, "ksqldb"])
def test_rows_of_ksqldb(impl, text, compat):
    agrees(KsqlCodec("JSON", KSQL.columns, compat=compat) if compat else KSQL, text.encode())


def test_dates_beyond_those_of_python_cost_their_own_value(impl):
    values = [b'{"DAY": 1}', b'{"DAY": 2932897}', b'{"AT": 253402300800000}', b'{"T": 5}']
    objects, report = KSQL.decode_list(values, errors="report")
    assert [None if each is None else each["ID"] for each in objects] == [None] * 4
    assert report["row"].to_pylist() == [1, 2]
    assert report["code"].to_pylist() == ["out_of_range"] * 2
    with pytest.raises(DecodeError, match="out_of_range"):
        KSQL.decode_one(values[1])


def test_plain_rows_take_no_columns(quick):
    assert KSQL.decode_one(b'{"id": 1, "At": 0}')["AT"] == datetime.datetime(1970, 1, 1, tzinfo=UTC)
    for codec in (
        ConnectJsonCodec(CONNECT, schemas_enable=False),
        ConnectJsonCodec(CONNECT),
        ConnectJsonCodec(),
    ):
        data = ConnectJsonCodec(CONNECT, schemas_enable=codec._enveloped).encode([ROW], as_list=True)[0]
        assert exact(codec.decode_one(data)) == exact(ROW)
    assert UNION.decode_one(b'{"v": "x"}')["v"] == {
        "integer": None, "string": "x", "array": None, "boolean": None
    }  # fmt: skip


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "payload",
    [
        '{"id": 1, "price": "AJw=", "day": 0, "at": 0}',
        '{"id": 1, "price": 1.5, "day": 0, "at": 0, "tags": null}',
        '{"id": 1, "price": "", "day": 0, "at": 0}',
        '{"id": 1, "price": "f/////////8=", "day": 0, "at": 0}',
        '{"id": 1, "price": "gAAAAAAAAAA=", "day": 0, "at": 0}',
        '{"id": 1, "price": "AAAAAAAAAAAB", "day": 0, "at": 0}',
        '{"id": 1, "price": "A", "day": 0, "at": 0}',
        '{"id": 1, "price": "\\u0041Jw=", "day": 0, "at": 0}',
        '{"id": 1, "price": "AJw=", "day": 0}',
        " null ",
        "7",
    ],
)
def test_payloads_of_connect(impl, payload):
    agrees(ConnectJsonCodec(CONNECT, schemas_enable=False), payload.encode())
    other = {**CONNECT, "fields": CONNECT["fields"][:3], "optional": True}
    for schema in (json.dumps(CONNECT), json.dumps(other), "null", '{"type": "odd"}', '"'):
        for envelope in (
            '{"schema": %s, "payload":%s}',
            '{"payload":%s, "schema": %s}',
            '{"schema":%s,"payload":%s,"x":1}',
        ):
            parts = (schema, payload) if envelope.startswith('{"s') else (payload, schema)
            data = (envelope % parts).encode()
            agrees(ConnectJsonCodec(CONNECT), data)
            agrees(ConnectJsonCodec(), data)


_PAYLOAD = (
    '{"id": 1, "price": "AJw=", "day": 0, "at": -5, "tags": {"a": 1, "b": 2}}',
    '{"id": 1.0, "price": -12.50, "day": 19000, "at": 1714557600001, "tags": null}',
)
_ENVELOPE = '{"schema": %s, "payload": %s}'
DAMAGED = [
    *((ConnectJsonCodec(CONNECT, schemas_enable=False), text) for text in _PAYLOAD),
    *((ConnectJsonCodec(), _ENVELOPE % (json.dumps(CONNECT), text)) for text in _PAYLOAD),
    (KSQL, '{"id": 1, "Name": "x", "AT": 5, "day": -1, "T": 1000, "d": 1.5, "M": {"a": 1}, "s": {"a": 2}}'),
    (UNION, '{"v": [1, 2.5], "inner": {"day": "2024-02-29"}, "m": {"a": 1, "b": 2}, "more": [{}]}'),
    (UNION, '{"v": "text", "m": {}}'),
]


@given(st.data())
def test_damaged_documents(data):
    codec, text = data.draw(st.sampled_from(DAMAGED))
    agrees(codec, data.draw(damaged(data.draw(damaged(text.encode())))))


class Inner(NamedTuple):
    day: datetime.date | None


@dataclasses.dataclass
class Outer:
    v: object
    inner: Inner | None
    m: dict | list | None = None


FORMS = [
    ("{}", Outer(None, None, None)),
    (
        '{"v": [1, 2], "inner": {"day": "2024-02-29"}, "m": {"a": 1}}',
        Outer([1, 2], Inner(datetime.date(2024, 2, 29)), {"a": 1}),
    ),
    # A key with an escape leaves it to columns.
    ('{"\\u0076": true, "inner": {}, "m": {"b": 2, "c": 3}}', Outer(True, Inner(None), {"b": 2, "c": 3})),
]


@pytest.mark.parametrize(("text", "wanted"), FORMS)
def test_forms_of_documents(impl, text, wanted):
    data = text.encode()
    assert UNION.decode_one(data, maps="dict", unions="value", into=Outer) == wanted
    assert UNION.decode_list([data, None], maps="dict", unions="value", into=Outer) == [wanted, None]
    plain = UNION.decode_one(data, maps="dict")
    assert plain["m"] == wanted.m
    with pytest.raises(ConfigError, match="does not take the field v"):
        UNION.decode_one(data, into=Inner)


@cases("hint", ["missing.Point", "list[int", "int.nothing | None", "1 / 0"])
def test_hints_that_cannot_be_read(impl, hint):
    """Records within others are dicts then, as where there are no hints."""
    made = dataclasses.make_dataclass("Made", [("id", int), ("inner", hint)])
    inner = {"type": "record", "name": "Inner", "fields": [{"name": "x", "type": "int"}]}
    fields = [{"name": "id", "type": "int"}, {"name": "inner", "type": inner}]
    codec = kcodec.AvroCodec({"type": "record", "name": "Outer", "fields": fields})
    assert codec.decode_one(b"\2\4", into=made) == made(1, {"x": 2})


@pytest.mark.parametrize("kind", [5, int, type])
def test_what_no_record_is_made_into(impl, kind):
    codec = kcodec.AvroCodec({"type": "record", "name": "R", "fields": [{"name": "x", "type": "int"}]})
    with pytest.raises(
        kcodec.ConfigError, match=r"into=.* (is not a class|cannot be called with the fields)"
    ):
        codec.decode_one(b"\2", into=kind)


def test_forms_of_messages(impl):
    place = dataclasses.make_dataclass("Place", ["city"])
    order = dataclasses.make_dataclass(
        "Order",
        [
            (name, place | None if name == "place" else object)
            for name in ("last", *(name for name in MESSAGE if name != "last"))
        ],
    )
    data = PROTOBUF.encode_one(MESSAGE)
    wanted = MESSAGE | {"counts": dict(MESSAGE["counts"])}
    # A group, which leaves the message to columns.
    for value in (data, data + b"\xf3\x01\xf4\x01"):
        assert PROTOBUF.decode_one(value, maps="dict", unions="value") == wanted
        made = PROTOBUF.decode_one(value, maps="dict", into=order)
        assert dataclasses.asdict(made) == wanted
        assert type(made.place) is place


def test_forms_of_what_has_no_quick_reader(impl):
    codec = JsonCodec(pa.map_(pa.int32(), pa.duration("us")))
    data = codec.encode_one([(1, datetime.timedelta(1))])
    assert codec.decode_one(data, maps="dict") == {1: datetime.timedelta(1)}
    with pytest.raises(ConfigError, match="need a schema"):
        ConnectJsonCodec().decode_one(b"{}", maps="dict")


def test_the_usual_form_is_read_by_what_the_environment_chooses_now(monkeypatch):
    codec = AvroCodec(
        {"type": "record", "name": "P", "fields": [{"name": "m", "type": {"type": "map", "values": "int"}}]}
    )
    value = b"\x02\x02a\x02\0"
    readers = []
    for choice in (None, "pure", None, "native"):
        monkeypatch.delenv("KCODEC_IMPL", raising=False)
        if choice is not None:
            monkeypatch.setenv("KCODEC_IMPL", choice)
        for _ in range(2):
            assert codec.decode_one(value) == codec.decode_one(value, maps="pairs") == {"m": [("a", 1)]}
            assert codec.decode_one(value, maps="dict") == {"m": {"a": 1}}
            with pytest.raises(DecodeError, match="truncated: row 0, byte 4, m:"):
                codec.decode_one(value[:4])
        readers.append(type(codec._usual[1].__self__).__module__)
    assert readers[0] == readers[3] != readers[1]


_AT = pa.struct([("deep", pa.list_(pa.struct([("at", pa.timestamp("ns"))])))])
_MOMENT = 'import "google/protobuf/timestamp.proto"; message M { google.protobuf.Timestamp at = 1; }'


def test_nanoseconds_are_inexact_whether_pandas_is_installed_or_not(impl):
    """What pyarrow makes objects of pandas of is a time of Python's, or an error of its value; so it is for all."""
    text = b'{"deep":[{"at":"2024-01-01T00:00:00.000001"},{"at":"2024-01-01T00:00:00.000001%s"}]}'
    exactly = datetime.datetime(2024, 1, 1, 0, 0, 0, 1)
    codec = JsonCodec(_AT)
    [value] = codec.decode_list([text % b"000"])
    assert value == {"deep": [{"at": exactly}] * 2}
    assert {type(each["at"]) for each in value["deep"]} == {datetime.datetime}
    values, report = codec.decode_list([text % b"001", text % b"", None], errors="report")
    assert (values[0], values[2]) == (None, None)
    assert values[1] == value
    [fault] = report.to_pylist()
    assert (fault["row"], fault["code"], fault["path"]) == (0, "inexact", "deep[1].at")
    assert JsonCodec(_AT, round="truncate").decode_one(text % b"001") == value
    messages = {
        how: ProtobufCodec(f'syntax = "proto3"; {_MOMENT}', unit="ns", round=how)
        for how in ("error", "truncate")
    }
    data = b"\x0a\x03\x10\xdd\x0b"
    with pytest.raises(DecodeError, match="inexact: row 0, at: Python's times have no nanoseconds"):
        messages["error"].decode_one(data)
    moment = datetime.datetime(1970, 1, 1, 0, 0, 0, 1, datetime.timezone.utc)
    assert messages["truncate"].decode_one(data) == {"at": moment}


def test_years_that_python_does_not_have_are_named(impl):
    codec = ConnectJsonCodec(pa.struct([("on", pa.list_(pa.date32()))]), schemas_enable=False)
    with pytest.raises(DecodeError, match=r"out_of_range: row 0, on\[1\]: the year is not one of 1 to 9999"):
        codec.decode_one(b'{"on":[0,2932897]}')

"""Serdes with each frame: formats, both directions, hostile bytes, errors, metrics, pickling."""

import json
import pickle
import uuid
import zlib

import pyarrow as pa
import pytest
from cases import cases
from fastavro.schema import fingerprint, to_parsing_canonical_form

from kcodec import AvroCodec, JsonSchemaCodec, ProtobufCodec, Serde, registry
from kcodec.errors import ConfigError, DecodeError, RegistryError
from kcodec.frames import FRAMES, GLUE, Frame
from kcodec.registry import Schema

AVRO = '{"type": "record", "name": "n.R", "fields": [{"name": "id", "type": "long"}, {"name": "s", "type": "string"}]}'
FINGERPRINT = fingerprint(to_parsing_canonical_form(json.loads(AVRO)), "CRC-64-AVRO")
JSON = '{"type": "object", "properties": {"id": {"type": "integer"}, "s": {"type": "string"}}, "required": ["id", "s"]}'
PROTOBUF = """syntax = "proto3"; package shop;
message Zero { map<string, int32> counts = 1; message Deep { int64 id = 1; } }
message Order { int64 id = 1; string s = 2; }
message Alpha { }
"""
SCHEMAS = {"AVRO": AVRO, "JSON_SR": JSON, "PROTOBUF": PROTOBUF}
KIND = pa.struct([pa.field("id", pa.int64(), False), pa.field("s", pa.string(), False)])
ROWS = pa.array([{"id": 7, "s": "a"}, None, {"id": 8, "s": "b" * 300}], KIND)
GUID = uuid.UUID("01234567-89ab-cdef-fedc-ba9876543210")
#: What Apicurio puts in front of an order.
REF = b"\x07\x0a\x05Order"
OWN = Frame(b"\xca\xfe", 16, "bytes", name="OWN")
OWN_PACKED = Frame(b"Z", 8, compression="zlib")
#: Frames, what their registry has as id, and what stands before a payload, or in the header, by the format.
CELLS = {
    "CONFLUENT": (5, "0000000005", {"PROTOBUF": "0202"}),
    "CONFLUENT_HEADER": (str(GUID), "01" + GUID.hex, {"PROTOBUF": "0202"}),
    "GLUE": (str(GUID), "0300" + GUID.hex, {"PROTOBUF": "01"}),
    "GLUE_ZLIB": (str(GUID), "0305" + GUID.hex, {}),
    "APICURIO": (2**40 + 1, "000000010000000001", {"PROTOBUF": "070a05" + b"Order".hex()}),
    "APICURIO_LEGACY": (7, "0000000007", {"PROTOBUF": "070a05" + b"Order".hex()}),
    "APICURIO_GLOBAL_ID": (9, "0000000000000009", {}),
    "APICURIO_CONTENT_ID": (10, "000000000000000a", {}),
    "SINGLE_OBJECT": (None, "c301" + FINGERPRINT, {}),
    "AZURE": (str(GUID), (b"avro/binary+" + GUID.hex.encode()).hex(), {}),
    "AZURE_JSON": (str(GUID), (b"application/json+" + GUID.hex.encode()).hex(), {}),
    "AZURE_JSON_PYTHON": (
        str(GUID),
        (b"application/json;serialization=Json+" + GUID.hex.encode()).hex(),
        {},
    ),
    "AZURE_SCHEMA_ID": (str(GUID), GUID.hex.encode().hex(), {}),
    "NONE": (None, "", {}),
    OWN: (str(GUID), "cafe" + GUID.hex, {"PROTOBUF": "0202"}),
    Frame(id_size=0): (None, "", {}),
    OWN_PACKED: (3, "5a050000000000000003", {}),
    Frame(b"K"): (2**32 - 1, "4bffffffff", {"PROTOBUF": "0202"}),
    Frame(b"K", compression="none"): (7, "4b0000000007", {"PROTOBUF": "0202"}),
    Frame(b"K", 8, "bytes", "zlib"): (GUID.hex[:16], "4b05" + GUID.hex[:16], {}),
    Frame(b"12345678", 16, "bytes", "zlib"): (str(GUID), b"12345678\x05".hex() + GUID.hex, {}),
    Frame(b"v1-", 8, "hex", header="own"): (
        GUID.hex[:16],
        (b"v1-" + GUID.hex[:16].encode()).hex(),
        {"PROTOBUF": "0202"},
    ),
}


class Source:
    """A registry of one's own, of one id."""

    def __init__(self, schema_id):
        self.schema_id = schema_id
        self.schemas = {}
        self.asked = []

    def schema(self, schema_id):
        self.asked.append(schema_id)
        return self.schemas[schema_id]

    def register(self, subject, schema):
        self.schemas[self.schema_id] = schema
        return self.schema_id

    def latest(self, subject):
        return self.schema_id, self.schemas[self.schema_id]


def made(format, frame, source=None, **options):
    """Return a serde, with the registry that its frame needs."""
    if source is None and CELLS[frame][0] is not None:
        source = Source(CELLS[frame][0])
    if format == "PROTOBUF":
        options = {"message": "shop.Order", **options}
    place = registry.of(source) if source is not None else None
    return Serde(format, place, topic="t", schema=SCHEMAS[format], frame=frame, **options)


def payloads(format):
    """Return the rows as the codec of a format writes them, without any frame."""
    codec = {
        "AVRO": lambda: AvroCodec(AVRO),
        "JSON_SR": lambda: JsonSchemaCodec(JSON),
        "PROTOBUF": lambda: ProtobufCodec(PROTOBUF, "shop.Order"),
    }[format]()
    return codec.encode(ROWS).to_pylist()


CASES = [
    (frame, format)
    for frame in CELLS
    for format in SCHEMAS
    if format == "AVRO" or frame not in ("SINGLE_OBJECT", "AZURE")
]


def test_each_frame_is_in_the_table():
    assert {*FRAMES} == {each for each in CELLS if isinstance(each, str)}


@cases(("frame", "format"), CASES, ids=str)
def test_written_and_read(frame, format, impl):
    serde = made(format, frame)
    _, head, named = CELLS[frame]
    head, message = bytes.fromhex(head), bytes.fromhex(named.get(format, ""))
    kind = serde.frame
    if kind.message == "header" and format == "PROTOBUF":
        values, headers = serde.serialize_with_headers(ROWS)
        both = [{"key": serde.header, "value": head}, {"key": "apicurio.protobuf.type", "value": b"Order"}]
        assert headers.to_pylist() == [both, None, both]
        assert values.to_pylist() == [each and REF + each for each in payloads(format)]
        others = [
            each and [("x", b""), *(tuple(pair.values()) for pair in each)] for each in headers.to_pylist()
        ]
    elif kind.header:
        values, headers = serde.serialize_with_headers(ROWS)
        # Where message indexes are, they follow the frame in the header.
        assert headers.to_pylist() == [head + message, None, head + message]
        assert values.to_pylist() == payloads(format)
        others = [[("x", b""), (serde.header, each)] for each in headers.to_pylist()]
    else:
        values, headers = serde.serialize(ROWS), None
        assert [None if each is None else each[: kind.size] for each in values.to_pylist()] == [
            head,
            None,
            head,
        ]
        bare = [None if each is None else each[kind.size :] for each in values.to_pylist()]
        if kind.compression == "zlib":
            bare = [each and zlib.decompress(each) for each in bare]
            message = {"GLUE_ZLIB": b"\x01"}.get(frame, b"\x02\x02") if format == "PROTOBUF" else b""
        assert bare == [each and message + each for each in payloads(format)]
        others = None
    for _ in range(2):
        # The second time the schemas are known, and the decoder checks the prefix.
        assert serde.deserialize(values, headers=headers).to_pylist() == ROWS.to_pylist()
    if others is not None:
        assert serde.deserialize(values, headers=others).to_pylist() == ROWS.to_pylist()
    one = None if headers is None else headers[0].as_py()
    assert serde.deserialize_one(values[0].as_py(), headers=one) == ROWS[0].as_py()
    if headers is None:
        assert serde.serialize_one(ROWS[0].as_py()) == values[0].as_py()
    again = pickle.loads(pickle.dumps(serde))
    again.registry.get = again.registry.get_by_guid = None
    assert again.deserialize(values, headers=headers).to_pylist() == ROWS.to_pylist()
    assert (again.frame, impl) == (kind, impl)


@cases("frame", [each for each in CELLS if Frame.of(each).id_size and not Frame.of(each).header], ids=str)
def test_damaged_frames_cost_their_own_rows(frame, impl):
    serde = made("AVRO", frame)
    good = serde.serialize(ROWS)[0].as_py()
    size = serde.frame.size
    bad = [good[:at] for at in range(size)] + [b"\xff" + good[1:]]
    array, report = serde.deserialize([*bad, good, None, *bad, good], errors="report")
    assert [row for row, value in enumerate(array.to_pylist()) if value] == [len(bad), 2 * len(bad) + 2]
    assert report.num_rows == 2 * len(bad)
    assert set(report["code"].to_pylist()) == {"frame_truncated", "frame_magic"}
    assert report.schema.field("schema_id").type == (pa.string() if serde.frame.has_text_ids else pa.int64())
    assert serde.deserialize([good], errors="report")[1].schema == report.schema, impl


@pytest.mark.usefixtures("impl")
def test_a_bomb_costs_its_own_row():
    serde = made("AVRO", "GLUE")
    good = serde.serialize(ROWS)[0].as_py()
    bomb = good[:1] + b"\x05" + good[2:18] + zlib.compress(bytes((1 << 26) + 100_000))
    array, report = serde.deserialize([good, bomb, good], errors="report")
    assert [value is None for value in array.to_pylist()] == [False, True, False]
    assert report.select(["row", "offset", "code", "schema_id"]).to_pylist() == [
        {"row": 1, "offset": 18, "code": "size_limit", "schema_id": str(GUID)}
    ]
    with pytest.raises(DecodeError, match="size_limit: row 0, byte 18"):
        serde.deserialize_one(bomb)


@pytest.mark.usefixtures("impl")
@pytest.mark.parametrize(
    ("frame", "value", "hint"),
    [
        ("CONFLUENT", b"\x03\x00" + bytes(range(16)) + b"x", "looks like Glue's header: frame=GLUE"),
        ("CONFLUENT", b"\x03\x05" + bytes(range(16)) + b"x", "looks like Glue's header: frame=GLUE"),
        ("CONFLUENT", bytes(8) + b"\x07x", "looks like Apicurio's frame: frame=APICURIO"),
        ("CONFLUENT", b"\xc3\x01" + bytes(9), "looks like a single object of Avro's: frame=SINGLE_OBJECT"),
        ("GLUE", b"\0\0\0\0\x07x", "looks like Confluent's frame: frame=CONFLUENT"),
        ("SINGLE_OBJECT", b"\x03\x00" + bytes(range(16)) + b"x", "looks like Glue's header: frame=GLUE"),
    ],
)
def test_errors_name_the_frame_that_rows_seem_to_have(frame, value, hint):
    serde = made("AVRO", frame)
    _, report = serde.deserialize([value, b"\xfe" * 20], errors="report")
    assert hint in report["reason"][0].as_py()
    assert "looks like" not in report["reason"][1].as_py()


@cases(("frame", "format"), [each for each in CASES if CELLS[each[0]][0] is not None], ids=str)
def test_what_was_fetched_is_not_asked_for(frame, format):
    """As on the executors of Spark, which have the schemas of the driver."""
    source = Source(CELLS[frame][0])
    serde = made(format, frame, source)
    headers = None
    if serde.frame.header:
        values, headers = serde.serialize_with_headers(ROWS)
    else:
        values = serde.serialize(ROWS)
    reader = made(format, frame, source, reader_schema="latest")
    reader.fetch([reader.registry.get_version("t-value")])
    shipped = pickle.loads(pickle.dumps(reader))
    asked = shipped.registry._source.asked
    asked.clear()
    assert shipped.deserialize(values, headers=headers).to_pylist() == ROWS.to_pylist()
    assert asked == []


@pytest.mark.usefixtures("impl")
@pytest.mark.parametrize("is_key", [False, True])
@pytest.mark.parametrize("frame", ["APICURIO_GLOBAL_ID", "APICURIO_CONTENT_ID"])
def test_a_header_names_the_message(frame, is_key):
    source = Source(9)
    serde = made("PROTOBUF", frame, source, is_key=is_key, message=["Order", "Zero"])
    source.register("", Schema(PROTOBUF, "PROTOBUF"))
    order, zero = payloads("PROTOBUF")[0], b"\x0a\x05\x0a\x01k\x10\x03"
    name = "apicurio.protobuf.type.key" if is_key else "apicurio.protobuf.type"
    own = (serde.header, (9).to_bytes(8, "big"))
    cases = [
        # As versions 3 and 2 of Apicurio's serializers write it.
        ([own, (name, b"Order")], REF + order, {"id": 7, "s": "a"}),
        ([own, (name, b"Order")], order, {"id": 7, "s": "a"}),
        ([own, (name, b"Zero")], b"\x06\x0a\x04Zero" + zero, {"counts": [("k", 3)]}),
        ([own, (name, b"Zero")], zero, {"counts": [("k", 3)]}),
        (None, None, None),
        # The last one counts; an empty payload is one.
        ([(name, b"Zero"), own, (name, b"Order")], b"", {"id": 0, "s": ""}),
    ]
    values = [value for _, value, _ in cases]
    headers = [given for given, _, _ in cases]
    kind = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
    pairs = [
        None if each is None else [dict(zip(("key", "value"), pair, strict=True)) for pair in each]
        for each in headers
    ]
    for form in (headers, pa.array(pairs, kind), pa.chunked_array([pa.array(pairs, kind)])):
        given = pa.chunked_array([pa.array(values)]) if isinstance(form, pa.ChunkedArray) else values
        found = serde.deserialize(given, headers=form).to_pylist()
        assert [row and next(filter(None, row.values())) for row in found] == [row for *_, row in cases]
    for given, value, row in cases[:2]:
        assert serde.deserialize_one(value, headers=given) == {"shop.Order": row, "shop.Zero": None}


@pytest.mark.usefixtures("impl")
def test_headers_that_name_no_message():
    serde = made("PROTOBUF", "APICURIO_GLOBAL_ID")
    _, headers = serde.serialize_with_headers(ROWS)
    (own, _), order = headers[0].as_py(), payloads("PROTOBUF")[0]
    own = tuple(own.values())
    names = [b"Missing", b"\xff", b"", b"x" * 10_000, None]
    rows = [[own, ("apicurio.protobuf.type", each)] for each in names]
    array, report = serde.deserialize([order] * 7, headers=[*rows, [own], own[1]], errors="report")
    assert report.select(["row", "code"]).to_pylist() == [
        {"row": 0, "code": "schema_error"},
        {"row": 1, "code": "schema_error"},
    ]
    # Without a name it is the message that is wanted.
    assert array.to_pylist() == [None] * 2 + [{"id": 7, "s": "a"}] * 5
    many = [[own, ("apicurio.protobuf.type", b"x%d" % number)] for number in range(2000)]
    array, report = serde.deserialize([order] * 2000, headers=many, errors="report")
    assert (array.null_count, {*report["code"].to_pylist()}) == (2000, {"schema_error"})
    with pytest.raises(ConfigError, match="message='header' is for ids in headers"):
        Frame(message="header")


@pytest.mark.usefixtures("impl")
def test_codecs_name_the_frames_that_rows_seem_to_have():
    values = [b"\x03\x00" + b"\xff" * 16 + b"\x80", b"\xc3\x01" + b"\xff" * 9]
    _, report = AvroCodec(AVRO).decode(values, errors="report")
    assert [reason.split("looks like ")[1][:40] for reason in report["reason"].to_pylist()] == [
        "Glue's header: kcodec.Serde with frame=G",
        "a single object of Avro's: kcodec.Serde ",
    ]


@pytest.mark.usefixtures("impl")
@pytest.mark.parametrize(
    ("frame", "headers", "codes"),
    [
        (
            "AZURE",
            [None, b"avro/binary", b"avro/binary+xy", b"avro/binary+" + b" " * 32, b"text/plain"],
            "frame_magic",
        ),
        ("AZURE_SCHEMA_ID", [None, b"", b"x" * 32, b"0" * 31, b"0" * 33], "frame_magic"),
        ("APICURIO_GLOBAL_ID", [None, b"", b"7", bytes(7)], "frame_truncated"),
    ],
)
def test_headers_that_name_nothing(frame, headers, codes):
    serde = made("AVRO", frame)
    values, good = serde.serialize_with_headers(ROWS)
    array, report = serde.deserialize(
        [values[0].as_py()] * (len(headers) + 1), headers=[*headers, good[0].as_py()], errors="report"
    )
    assert [value is None for value in array.to_pylist()] == [True] * len(headers) + [False]
    assert report["code"].to_pylist() == ["frame_truncated"] + [codes] * (len(headers) - 1)
    with pytest.raises(ConfigError, match=f"{frame} needs headers="):
        serde.deserialize(values)
    with pytest.raises(ConfigError, match="use serialize_with_headers"):
        serde.serialize(ROWS)


@pytest.mark.usefixtures("impl")
def test_messages_behind_digits_in_a_header():
    frame = next(each for each in CELLS if Frame.of(each).id_type == "hex" and not isinstance(each, str))
    serde = made("PROTOBUF", frame)
    values, headers = serde.serialize_with_headers(ROWS)
    value, good = values[0].as_py(), headers[0].as_py()
    digits, message = good[: frame.size], good[frame.size :]
    bad = [digits[:-1], b"w" + good[1:], digits, digits + message[:1], digits + b"\xfe\xff\xff\xff\x0f"]
    array, report = serde.deserialize([value] * 6, headers=[*bad, good], errors="report")
    assert array.to_pylist() == [None] * 5 + [ROWS[0].as_py()]
    guid = GUID.hex[:16]
    assert list(zip(*report.select(["code", "schema_id"]).to_pydict().values(), strict=True)) == [
        ("frame_magic", None),
        ("frame_magic", None),
        ("frame_truncated", guid),
        ("frame_truncated", guid),
        ("size_limit", guid),
    ]


@pytest.mark.usefixtures("impl")
def test_numbers_and_names_of_messages():
    numbered = {
        "shop.Alpha": 0,
        "shop.Order": 1,
        "shop.Zero": 2,
        "shop.Zero.CountsEntry": 3,
        "shop.Zero.Deep": 4,
    }
    for name in ("shop.Alpha", "shop.Order", "shop.Zero", "shop.Zero.Deep"):
        serde = made("PROTOBUF", "GLUE", message=name)
        assert serde.serialize([{}])[0].as_py()[18] == numbered[name]
    order = made("PROTOBUF", "GLUE")
    values = order.serialize(ROWS).to_pylist()
    wrong = [values[0][:18] + bytes([number]) + values[0][19:] for number in (0, 3, 5)]
    _, report = order.deserialize([*wrong, values[0], values[0][:18]], errors="report")
    assert report["code"].to_pylist() == ["schema_error"] * 3 + ["frame_truncated"]
    assert "none of the number 5" in report["reason"][2].as_py()
    apicurio = made("PROTOBUF", "APICURIO")
    value = apicurio.serialize(ROWS)[0].as_py()
    # An empty Ref means the message that is wanted; other bytes are no Ref.
    bare = value[:9] + b"\0" + value[17:]
    bad = [
        value[:9] + b"\x01\x08" + value[17:],
        value[:9] + b"\x03\x0a\x01N",
        value[:9] + b"\x03\x0a\x01\xff",
    ]
    array, report = apicurio.deserialize([bare, *bad], errors="report")
    assert array.to_pylist() == [ROWS[0].as_py(), None, None, None]
    assert report["code"].to_pylist() == ["schema_error"] * 3
    with pytest.raises(Exception, match="cannot name it"):
        made("PROTOBUF", "APICURIO", message="shop.Zero.Deep").serialize([{}])


@pytest.mark.usefixtures("impl")
def test_single_objects_of_a_subject():
    store = registry.open(f"memory://{uuid.uuid4()}")
    writer = Serde("AVRO", store, topic="t", schema=AVRO, frame="SINGLE_OBJECT")
    values = writer.serialize(ROWS)
    older = '{"type": "record", "name": "n.R", "fields": [{"name": "id", "type": "long"}]}'
    store.register("t-value", Schema(older))
    old = Serde("AVRO", schema=older, frame="SINGLE_OBJECT").serialize([{"id": 1}])
    reader = Serde("AVRO", store, topic="t", reader_schema="version:2", frame="SINGLE_OBJECT")
    assert reader.deserialize([values[0].as_py(), old[0].as_py()]).to_pylist() == [{"id": 7}, {"id": 1}]
    unknown = b"\xc3\x01" + bytes(8)
    _, report = reader.deserialize([unknown], errors="report")
    assert report.select(["code", "schema_id"]).to_pylist() == [
        {"code": "unknown_schema_id", "schema_id": "0000000000000000"}
    ]


@pytest.mark.usefixtures("impl")
def test_schemas_that_are_given():
    older = '{"type": "record", "name": "n.R", "fields": [{"name": "id", "type": "long"}]}'
    old = Serde("AVRO", schema=older, frame="SINGLE_OBJECT").serialize([{"id": 1}])[0].as_py()
    reader = Serde("AVRO", registry.of([AVRO, older]), reader_schema=older, frame="SINGLE_OBJECT")
    new = Serde("AVRO", schema=AVRO, frame="SINGLE_OBJECT").serialize(ROWS)[0].as_py()
    assert reader.deserialize([old, new]).to_pylist() == [{"id": 1}, {"id": 7}]
    bare = Serde("AVRO", schema=AVRO, reader_schema=older, frame="NONE")
    assert bare.deserialize([new[10:], None]).to_pylist() == [{"id": 7}, None]
    with pytest.raises(ConfigError, match="need schema="):
        Serde("AVRO", frame="NONE").deserialize([b"\x02"])
    with pytest.raises(ConfigError, match="no registry is given"):
        Serde("AVRO", schema=AVRO, frame="GLUE")
    with pytest.raises(ConfigError, match="SINGLE_OBJECT is a frame of Avro's"):
        Serde("JSON_SR", schema=JSON, frame="SINGLE_OBJECT").serialize(ROWS)


def test_settings_that_contradict_a_frame():
    for name in ("value.schema.id.deserializer", "value.schema.id.serializer"):
        with pytest.raises(ConfigError, match="chooses where Confluent's frame stands"):
            Serde("AVRO", "memory://frames", frame="GLUE", config={name: "Prefix"})
    with pytest.raises(ConfigError, match="did you mean 'GLUE'"):
        Serde("AVRO", "memory://frames", frame="GLU")
    with pytest.raises(ConfigError, match=r"is not a kcodec\.frames\.Frame"):
        Serde("AVRO", "memory://frames", frame=3)
    with pytest.raises(ConfigError, match="is not one of 16 bytes"):
        Serde("AVRO", registry.of(Source("xyz")), topic="t", schema=AVRO, frame=GLUE).serialize(ROWS)


@cases(
    ("arguments", "message"),
    [
        ({"prefix": "x"}, "prefix='x' is not bytes"),
        ({"prefix": bytes(9)}, "more than 8 bytes"),
        ({"id_size": 5}, "id_size=5 is not one of"),
        ({"id_size": True}, "id_size=True is not one of"),
        ({"id_size": 16}, "an id of 16 bytes is no number"),
        ({"id_type": "bytes"}, "an id of 4 bytes is a number"),
        ({"id_size": 16, "id_type": "fingerprint"}, "a fingerprint has 8 bytes"),
        ({"id_size": 16, "id_type": "hex"}, "is one of headers"),
        ({"id_type": "guid"}, "id_type='guid' is not one of"),
        ({"compression": "gzip"}, "compression='gzip' is not one of"),
        ({"compression": "zlib", "header": "h"}, "in front of the payload"),
        ({"message": "path"}, "message='path' is not one of"),
        ({"id_size": 0, "prefix": b"K"}, "without an id there is no frame"),
        ({"id_size": 0, "header": "h"}, "without an id there is no frame"),
        ({"id_size": 0, "message": "number"}, "without an id there is no frame"),
    ],
)
def test_frames_that_are_none(arguments, message):
    with pytest.raises(ConfigError, match=message):
        Frame(**arguments)


def test_frames_have_names():
    assert {repr(each) for each in FRAMES.values()} == {f"kcodec.frames.{name}" for name in FRAMES}
    assert repr(OWN) == "Frame(prefix=b'\\xca\\xfe', id_size=16, id_type='bytes', name='OWN')"
    assert pickle.loads(pickle.dumps(GLUE)) == GLUE


@cases("frame", [*FRAMES.values(), OWN, OWN_PACKED, Frame(b"", 4), Frame(b"'\x00\\\"")])
def test_texts_of_frames(frame):
    assert Frame.of(repr(frame)) == Frame.of(str(frame)) == frame


@cases(
    "text",
    [
        "Frame(",
        "Frame()()",
        "Frame(b'a')",
        "Frame(prefix=open('/etc/passwd').read())",
        "Frame(prefix=b'a').of('x')",
        "Frame(**{'prefix': b'a'})",
        "Frame(size=8)",
        "Frame(prefix=" + "(" * 5000 + ")",
        "Frame(prefix=b'a', prefix=b'b')",
        "Frame(prefix='a\0')",
    ],
)
def test_texts_that_are_no_frames(text):
    with pytest.raises(ConfigError, match=r"is not as Frame|prefix="):
        Frame.of(text)


class Broken(Source):
    def schema(self, schema_id):
        raise OSError("no\nnetwork")


@pytest.mark.usefixtures("impl")
def test_a_source_that_fails():
    good = made("AVRO", "GLUE").serialize(ROWS)
    serde = Serde("AVRO", registry.of(Broken(str(GUID))), topic="t", reader_schema=AVRO, frame="GLUE")
    with pytest.raises(RegistryError, match="OSError: no network"):
        serde.deserialize(good)
    _, report = serde.deserialize(good, errors="report")
    assert report["code"].to_pylist() == ["registry_error"] * 2


@pytest.mark.parametrize(
    ("frame", "name"),
    [("GLUE", str(GUID)), (Frame(b"K", 8, "bytes", "zlib"), GUID.hex[:16]), ("APICURIO", 2**40 + 1)],
    ids=str,
)
def test_the_log_names_ids_as_reports_do(frame, name, caplog):
    caplog.set_level("INFO", "kcodec")
    source = Source(CELLS[frame][0])
    values = made("AVRO", frame, source).serialize(ROWS)
    caplog.clear()
    made("AVRO", frame, source, reader_schema=AVRO).deserialize(values)
    (told,) = (each for each in caplog.records if each.levelname == "INFO")
    assert told.schema_id == name
    assert f"fetched schema {name} from" in told.getMessage()

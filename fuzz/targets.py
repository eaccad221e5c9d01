"""What is fuzzed: property tests of the suite, driven by coverage, and bytes that go straight into a decoder.

A target takes bytes and raises nothing, unless kcodec is wrong: whatever the bytes are, kcodec answers with values or
with one of its own errors.
"""

import importlib.util
import itertools
import json
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa

import kcodec
from kcodec import ConnectJsonCodec, JsonCodec, KcodecError, KsqlCodec, ProtobufCodec, protocol
from kcodec.formats.schema_format import schema_format, schema_types

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "tests"))

from side_by_side import comparable, exact  # noqa: E402

if sys.version_info >= (3, 11):
    import tomllib
else:
    # What pytest itself reads its settings with there.
    import tomli as tomllib

#: Properties of the test suite, by the file that holds them: what they draw is drawn from the fuzzer's bytes.
PROPERTIES = {
    "formats/avro/test_objects.py": ("test_objects_of_any_bytes",),
    "formats/avro/test_parity.py": (
        "test_decode_of_any_bytes",
        "test_resolution_of_any_bytes",
        "test_blocks_of_many_programs",
        "test_bad_rows_of_any_schema",
        "test_encode_of_decoded_columns",
    ),
    "formats/connect/test_parity.py": ("test_the_implementations_agree",),
    "formats/json/test_parity.py": (
        "test_decode_of_any_document",
        "test_decode_with_odd_forms",
        "test_encode_of_decoded_columns",
    ),
    "formats/json_schema/test_parity.py": ("test_damaged_documents", "test_any_schema"),
    "formats/protobuf/test_parity.py": ("test_blocks",),
}

_AVRO = {
    "type": "record",
    "name": "R",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "name", "type": ["null", "string"]},
        {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 40, "scale": 3}},
        {"name": "tags", "type": {"type": "array", "items": "string"}},
        {"name": "attributes", "type": {"type": "map", "values": ["int", "R", "null"]}},
        {"name": "kind", "type": {"type": "enum", "name": "K", "symbols": ["A", "B"]}},
        {"name": "mac", "type": {"type": "fixed", "name": "F", "size": 3}},
    ],
}
_PROTO = """
syntax = "proto2";
message M {
  required int64 id = 1;
  optional string name = 2 [default = "x"];
  repeated sint32 numbers = 3 [packed = true];
  map<string, N> children = 4;
  oneof choice { fixed32 a = 5; bytes b = 6; N n = 7; }
  optional group G = 8 { optional double d = 1; }
  enum E { ZERO = 0; ONE = 1; }
  repeated E kinds = 9;
  message N { optional bool flag = 1; repeated N more = 2; }
}
"""
_KIND = pa.struct(
    [
        ("id", pa.int64()),
        ("price", pa.decimal128(12, 3)),
        ("ratio", pa.float64()),
        ("tags", pa.list_(pa.string())),
        ("at", pa.timestamp("us", "UTC")),
        ("more", pa.map_(pa.string(), pa.struct([("b", pa.binary()), ("f", pa.bool_())]))),
    ]
)
_MESSAGE = {
    "apiKey": 1000,
    "type": "request",
    "name": "ThingRequest",
    "validVersions": "0-2",
    "flexibleVersions": "1+",
    "fields": [
        {"name": "Id", "type": "int64", "versions": "0+"},
        {"name": "Name", "type": "string", "versions": "0+", "nullableVersions": "1+"},
        {"name": "Part", "type": "Part", "versions": "2+", "nullableVersions": "2+", "default": "null", "fields": [
            {"name": "Data", "type": "bytes", "versions": "2+"},
            {"name": "Tagged", "type": "uint16", "versions": "2+", "taggedVersions": "2+", "tag": 0},
        ]},
        {"name": "Numbers", "type": "[]int32", "versions": "0+"},
    ],
}  # fmt: skip


_DOCUMENT = {
    "type": "object",
    "properties": {
        "id": {"type": "integer"},
        "name": {"type": ["string", "null"]},
        "tags": {"type": "array", "items": {"enum": ["a", "b"]}},
        "of": {"oneOf": [{"type": "number"}, {"type": "object", "properties": {"x": {"type": "boolean"}}}]},
    },
    "required": ["id"],
}
_COLUMNS = "id BIGINT, name VARCHAR, price DECIMAL(9, 2), day DATE"

#: The codecs whose decoding is fuzzed; each that the table of formats names is here.
CODECS: dict[str, Callable[[], list[kcodec.codec.Codec]]] = {
    "avro": lambda: [kcodec.AvroCodec(_AVRO, recursive_depth=2)],
    "protobuf": lambda: [ProtobufCodec(_PROTO, "M", recursive_depth=3)],
    "json": lambda: [JsonCodec(_KIND), JsonCodec(_KIND, nonfinite=True)],
    "json_schema": lambda: [
        kcodec.JsonSchemaCodec(_DOCUMENT),
        kcodec.JsonSchemaCodec(_DOCUMENT, validate=True),
    ],
    "connect": lambda: [ConnectJsonCodec(), ConnectJsonCodec(compat="connect")],
    "ksql": lambda: [
        KsqlCodec("JSON", _COLUMNS),
        KsqlCodec("DELIMITED", _COLUMNS),
        KsqlCodec("KAFKA", "id BIGINT"),
    ],
    "messages": lambda: [
        kcodec.MessageCodec(json.dumps(_MESSAGE), version, unknown_tags=True) for version in range(3)
    ],
}


@cache
def _codecs(family: str) -> list[kcodec.codec.Codec]:
    return CODECS[family]()


def _rows(data: bytes) -> list[bytes | None]:
    """Cut bytes into rows at a byte that is rare in the formats."""
    return [row or None for row in data.split(b"\xfe")]


#: Families that have quick writers of objects beside columns.
_WRITTEN = ("json", "json_schema", "protobuf")


def _columns(family: str) -> Callable[[bytes], None]:
    def decode(data: bytes) -> None:
        rows = _rows(data)
        for codec in _codecs(family):
            array, report = codec.decode(rows, errors="report")
            array.validate(full=True)
            assert len(array) == len(rows)
            # Values one by one are those of the column.
            objects, told = codec.decode_list(rows, errors="report")
            try:
                wanted = kcodec.rows(array)
            except (OverflowError, ValueError):
                # Dates and times that Python does not have are errors of their values.
                assert told.num_rows > report.num_rows
            else:
                assert told.equals(report)
                # Messages are told without the column of their unknown fields.
                assert family == "messages" or exact(objects) == exact(wanted)
            if pa.types.is_null(array.type):
                continue
            # What was read is written, and that is read as the same.
            values, unwritten = codec.encode(array, errors="report")
            again, unread = codec.decode(values, errors="report")
            again.validate(full=True)
            failed = set(unwritten["row"].to_pylist())
            if family in _WRITTEN:
                # Objects are written as their columns are; some that stand in columns are no lists for `encode`.
                made, _ = codec.encode_list(objects, errors="report")
                for row, wrote in enumerate(made):
                    assert wrote is None or row in failed or wrote == values[row].as_py()
            assert not set(unread["row"].to_pylist()) - failed, unread.to_pylist()
            if again.type != array.type:
                continue  # no row was left to say what the column is of
            good = [row for row in range(len(rows)) if row not in failed]
            kept, read = array.take(pa.array(good, pa.int64())), again.take(pa.array(good, pa.int64()))
            assert comparable(kept) == comparable(read)

    return decode


class _Source:
    """What bytes say, from their beginning; zeros behind their end."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def take(self, count: int) -> bytes:
        taken = self.data[self.at : self.at + count]
        self.at += count
        return taken.ljust(count, b"\0")

    def number(self, below: int) -> int:
        return self.take(1)[0] % below


def _any_array(kind: pa.DataType, length: int, source: _Source, nullable: bool = True) -> pa.Array:
    """Make an array of a type, whose buffers hold anything: also what Arrow's validation would refuse."""
    offset = source.number(3)
    slots = length + offset
    validity = pa.py_buffer(source.take((slots + 7) // 8)) if nullable and source.number(2) else None
    if pa.types.is_dictionary(kind):
        values = _any_array(kind.value_type, source.number(5), source)
        indices = [validity, pa.py_buffer(source.take(slots))]
        return pa.DictionaryArray.from_buffers(kind, length, indices, values, -1, offset)
    if pa.types.is_struct(kind):
        children = [_any_array(field.type, slots, source, field.nullable) for field in kind]
        return pa.Array.from_buffers(kind, length, [validity], -1, offset, children)
    if kind in (pa.string_view(), pa.binary_view()):
        room = pa.py_buffer(source.take(source.number(40)))
        return pa.Array.from_buffers(
            kind, length, [validity, pa.py_buffer(source.take(16 * slots)), room], -1, offset
        )
    if pa.types.is_boolean(kind):
        return pa.Array.from_buffers(
            kind, length, [validity, pa.py_buffer(source.take((slots + 7) // 8))], -1, offset
        )
    if not (pa.types.is_list(kind) or pa.types.is_map(kind) or kind in (pa.string(), pa.binary())):
        fixed = pa.py_buffer(source.take(slots * kind.bit_width // 8))
        return pa.Array.from_buffers(kind, length, [validity, fixed], -1, offset)
    if source.number(4):
        steps = itertools.accumulate((source.number(4) for _ in range(slots)), initial=0)
        ends = list(steps)
    else:
        ends = [int.from_bytes(source.take(4), "little", signed=True) for _ in range(slots + 1)]
    offsets = pa.py_buffer(b"".join(end.to_bytes(4, "little", signed=True) for end in ends))
    room_of = min(max(ends[-1], 0), 64)
    if pa.types.is_list(kind):
        children = [_any_array(kind.value_type, room_of, source)]
    elif pa.types.is_map(kind):
        entry = pa.struct([pa.field("key", kind.key_type, False), pa.field("value", kind.item_type)])
        children = [_any_array(entry, room_of, source, nullable=False)]
    else:
        text = pa.py_buffer(source.take(room_of))
        return pa.Array.from_buffers(kind, length, [validity, offsets, text], -1, offset)
    return pa.Array.from_buffers(kind, length, [validity, offsets], -1, offset, children)


#: Columns to be written: all layouts, and types that are converted on the way.
_WRITTEN = pa.struct(
    [
        ("id", pa.int32()),
        ("name", pa.dictionary(pa.int8(), pa.string())),
        ("price", pa.decimal128(12, 3)),
        ("ratio", pa.float32()),
        ("tags", pa.list_(pa.string_view())),
        ("at", pa.timestamp("ms", "UTC")),
        ("more", pa.map_(pa.string(), pa.struct([("b", pa.binary_view()), ("f", pa.bool_())]))),
    ]
)


@cache
def _writers() -> list[tuple[kcodec.codec.Codec, pa.DataType]]:
    """Return codecs, and the types of columns that they write."""
    fields = {
        "id": "long",
        "name": "string",
        "price": {"type": "bytes", "logicalType": "decimal", "precision": 12, "scale": 3},
        "ratio": "double",
        "tags": {"type": "array", "items": ["null", "string"]},
        "at": {"type": "long", "logicalType": "timestamp-micros"},
        "more": {"type": "map", "values": ["null", {"type": "record", "name": "E", "fields": [
            {"name": "b", "type": ["null", "bytes"]}, {"name": "f", "type": ["null", "boolean"]},
        ]}]},
    }  # fmt: skip
    avro = {"type": "record", "name": "W", "fields": [
        {"name": name, "type": ["null", kind]} for name, kind in fields.items()
    ]}  # fmt: skip
    proto = """
    syntax = "proto3";
    message W { int64 id = 1; string name = 2; double ratio = 3; repeated string tags = 4; map<string, E> more = 5; }
    message E { bytes b = 1; bool f = 2; }
    """
    plain = pa.struct([field for field in _WRITTEN if field.name not in ("price", "at")])
    return [
        (kcodec.AvroCodec(avro), _WRITTEN),
        (JsonCodec(pa.struct([*_KIND, ("name", pa.string())]), nonfinite=True), _WRITTEN),
        (ConnectJsonCodec(nonfinite=True), _WRITTEN),
        (ProtobufCodec(proto, "W"), plain),
    ]


def arrays(data: bytes) -> None:
    """Write a column whose buffers hold anything that Arrow's cheap validation takes."""
    source = _Source(data)
    codec, kind = _writers()[source.number(4)]
    try:
        array = _any_array(kind, 1 + source.number(9), source)
        array.validate()
    except pa.ArrowInvalid:
        return
    if source.number(2):
        array = array.slice(source.number(len(array)))
    with suppress(KcodecError):
        values, errors = codec.encode(array, errors="report")
        assert len(values) == len(array)
        try:
            array.validate(full=True)
        except pa.ArrowInvalid:
            return
        # What was written of a column that is one can be read, each row of it; but times of milliseconds reach further
        # than the columns of microseconds that Connect's are read as.
        written = sorted(set(range(len(array))) - set(errors["row"].to_pylist()))
        again, unread = codec.decode(values.take(pa.array(written, pa.int64())), errors="report")
        again.validate(full=True)
        assert set(unread["code"].to_pylist()) <= {"out_of_range"}, unread.to_pylist()


def segments(data: bytes) -> None:
    """Read a file of a partition's folder, of the kind that the first byte says."""
    kinds = ("log", "index", "timeindex", "txnindex", "snapshot", "checkpoint")
    path = _folder() / f"{0:020}.{kinds[data[0] % len(kinds)] if data else kinds[0]}"
    path.write_bytes(data[1:])
    with suppress(KcodecError):
        found = protocol.read_segment(path, errors="report", control="keep", max_decompressed=1 << 20)
        (found[0] if isinstance(found, tuple) else found).validate(full=True)


def _folder() -> Path:
    return Path(_kept_folder().name)


@cache
def _kept_folder() -> tempfile.TemporaryDirectory:
    # Removed when the process ends.
    return tempfile.TemporaryDirectory(prefix="kcodec-fuzz-")


def batches(data: bytes) -> None:
    """Read record batches, in one step and one after the other."""
    for check in (True, False):
        table, _ = protocol.read_batches(
            data, check_crc=check, errors="report", control="keep", max_decompressed=1 << 20
        )
        table.validate(full=True)
        with suppress(KcodecError):
            protocol.list_batches(data)


def frames(data: bytes) -> None:
    """Split frames with what names a message, and decode them where there is no schema of the id."""
    rows = _rows(data)
    for frame in ("CONFLUENT", "GLUE", "APICURIO"):
        array, _ = _serde(frame).deserialize(rows, errors="report")
        array.validate(full=True)


@cache
def _serde(frame: str) -> kcodec.Serde:
    registry = kcodec.registry.open("memory://fuzz")
    flat = 'syntax = "proto3"; message A { int64 id = 1; string name = 2; } message B { bytes raw = 1; }'
    registry.register("t-value", kcodec.registry.Schema(flat, "PROTOBUF"))
    return kcodec.Serde("PROTOBUF", registry, topic="t", reader_schema=flat, frame=frame)


def schemas(data: bytes) -> None:
    """Parse text as a schema of each language, print it, compare it with itself."""
    text = data.decode("utf-8", "surrogateescape" if data[:1] == b"\xff" else "replace")
    for language in map(schema_format, schema_types()):
        try:
            schema = language.parse(text)
            printed = language.canonical(schema)
            language.canonical(language.parse(printed))
            assert not language.differences(schema, schema)
        except KcodecError:
            continue


def definitions(data: bytes) -> None:
    """Parse text as a definition of Kafka's."""
    with suppress(KcodecError):
        kcodec.MessageCodec(data.decode("utf-8", "replace"), 0)


def _property(file: str, name: str) -> Callable[[bytes], Any]:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]
    for folder in settings["pythonpath"]:
        if str(ROOT / folder) not in sys.path:
            sys.path.append(str(ROOT / folder))
    place = ROOT / "tests" / file
    spec = importlib.util.spec_from_file_location(f"fuzzed_{place.parent.name}_{place.stem}", place)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules.get(spec.name) or importlib.util.module_from_spec(spec)
    if spec.name not in sys.modules:
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
    fuzz: Callable[[bytes], Any] = getattr(module, name).hypothesis.fuzz_one_input
    return fuzz


#: Targets that take the bytes as they are.
DIRECT: dict[str, Callable[[bytes], None]] = {
    **{family: _columns(family) for family in CODECS},
    "arrays": arrays,
    "batches": batches,
    "segments": segments,
    "frames": frames,
    "schemas": schemas,
    "definitions": definitions,
}

#: Names of all targets.
NAMES = [
    *DIRECT,
    *itertools.chain.from_iterable(
        (f"{file}::{name}" for name in names) for file, names in PROPERTIES.items()
    ),
]


def target(name: str) -> Callable[[bytes], Any]:
    """Return a target by its name."""
    if name in DIRECT:
        return DIRECT[name]
    return _property(*name.split("::"))

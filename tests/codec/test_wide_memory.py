"""What a decode takes follows the payload and the result, however many columns a type has."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
COLUMNS = 1500

#: Decodes what is small, of many columns; prints what each took at its peak, and what it may take.
CHILD = """
import json, sys
import pyarrow as pa
import kcodec

N = int(sys.argv[1])
NAMES = [f"f{i}" for i in range(N)]
TEXT = "x" * 40
SYMBOL = "A_NAME_THAT_IS_SOMEWHAT_LONGER"


def avro(fields):
    return {"type": "array", "items": {"type": "record", "name": "R", "fields": fields}}


def protobuf(kind):
    fields = "".join(f"{kind} {name} = {i + 1};" for i, name in enumerate(NAMES))
    text = 'syntax = "proto3"; enum E { %s = 0; } message M { repeated S s = 1; } message S { %s }'
    return kcodec.ProtobufCodec(text % (SYMBOL, fields), "M")


def cases():
    yield "protobuf enums", protobuf("E"), bytes([10, 0])
    codec = protobuf("string")
    written = codec.encode(pa.array([{"s": [dict.fromkeys(NAMES, TEXT)]}], codec.arrow_type))
    yield "protobuf texts", codec, written[0].as_py()

    symbols = {"type": "enum", "name": "E", "symbols": [SYMBOL]}
    enums = [{"name": name, "type": "E" if i else symbols} for i, name in enumerate(NAMES)]
    yield "avro enums", kcodec.AvroCodec(avro(enums)), bytes([2, *bytes(N), 0])
    texts = [{"name": name, "type": "string", "default": TEXT} for name in NAMES]
    yield "avro defaults", kcodec.AvroCodec(avro([]), avro(texts)), bytes([2, 0])
    yield "avro texts", kcodec.AvroCodec(avro(texts)), bytes([2, *(bytes([80]) + TEXT.encode()) * N, 0])

    kind = pa.struct([(name, pa.string()) for name in NAMES])
    document = dict.fromkeys(NAMES, TEXT)
    yield "json texts", kcodec.JsonCodec(pa.list_(kind)), json.dumps([document]).encode()
    yield "json flat", kcodec.JsonCodec(kind), json.dumps(document).encode()
    tags = {"type": "array", "items": {"type": "string"}}
    schema = {"type": "array", "items": {"type": "object", "properties": dict.fromkeys(NAMES, tags)}}
    yield "json schema", kcodec.JsonSchemaCodec(json.dumps(schema)), json.dumps([dict.fromkeys(NAMES, ["x"])]).encode()

    fields = [{"name": name.upper(), "type": "string", "versions": "0+"} for name in NAMES]
    items = {"name": "L", "type": "[]S", "versions": "0+", "fields": fields}
    spec = {
        "apiKey": 1, "type": "data", "name": "M", "validVersions": "0", "flexibleVersions": "none", "fields": [items],
    }
    message = bytes([0, 0, 0, 1, *(bytes([0, 40]) + TEXT.encode()) * N])
    yield "messages", kcodec.MessageCodec(json.dumps(spec), 0), message


def status(name):
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))


for name, codec, payload in cases():
    values = pa.array([payload] * 3, pa.binary())
    with open("/proc/self/clear_refs", "w") as refs:
        refs.write("5")
    before = status("VmRSS")
    array = codec.decode(values)
    taken = status("VmHWM") - before
    assert array.null_count == 0
    print(json.dumps([name, taken, (64 << 20) + 4096 * N + 8 * values.nbytes + 4 * array.nbytes]))
"""


@pytest.mark.sampled(2)
@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="no /proc")
def test_many_columns_take_no_room_of_each_other(impl):
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(COLUMNS)],
        env={**os.environ, "KCODEC_IMPL": impl},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    cells = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(cells) == 9
    assert [cell for cell in cells if cell[1] > cell[2]] == []

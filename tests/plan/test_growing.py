"""Of types so wide that columns get their room as they are read, a fault says the same place as of any other type."""

import json

import pytest

import kcodec

COLUMNS = 1000
ITEMS = 130
NAMES = [f"f{number}" for number in range(COLUMNS)]


def avro():
    fields = [{"name": "b", "type": "boolean"}, *({"name": name, "type": "int"} for name in NAMES)]
    items = {"type": "array", "items": {"type": "record", "name": "R", "fields": fields}}
    row = bytes([132, 2, *bytes(1 + COLUMNS) * (ITEMS - 1), 2, *bytes(COLUMNS), 0])
    return kcodec.AvroCodec(json.dumps(items)), row, f"[{ITEMS - 1}].b", 2 + (1 + COLUMNS) * (ITEMS - 1)


def protobuf():
    fields = "".join(f"string {name} = {number + 2};" for number, name in enumerate(NAMES))
    text = f'syntax = "proto3"; message M {{ repeated S s = 1; }} message S {{ int32 b = 1; {fields} }}'
    row = bytes([10, 0] * (ITEMS - 1) + [10, 1, 8])
    return kcodec.ProtobufCodec(text, "M"), row, f"s[{ITEMS - 1}].b", 2 * ITEMS + 1


def messages():
    fields = [
        {"name": "B", "type": "[]bool", "versions": "0+"},
        {"name": "D", "type": "bytes", "versions": "0+"},
    ]
    fields += [{"name": name.upper(), "type": "[]int32", "versions": "0+"} for name in NAMES]
    spec = {"apiKey": 1, "type": "data", "name": "M", "validVersions": "0", "flexibleVersions": "none"}
    row = bytes([0, 0, 0, ITEMS, *bytes(ITEMS - 1), 2, 0, 4, 0, 0, *bytes(4 << 16), *bytes(4 * COLUMNS)])
    return kcodec.MessageCodec(json.dumps(spec | {"fields": fields}), 0), row, f"b[{ITEMS - 1}]", 3 + ITEMS


def documents():
    text = {"type": "string"}
    schema = {"type": "array", "items": {"type": "object", "properties": dict.fromkeys(["b", *NAMES], text)}}
    row = ("[" + "{}," * (ITEMS - 1) + '{"b":1}]').encode()
    return kcodec.JsonSchemaCodec(json.dumps(schema)), row, f"[{ITEMS - 1}].b", len(row) - 3


def test_items_of_faults(impl):
    for make in (avro, protobuf, messages, documents):
        codec, row, path, offset = make()
        with pytest.raises(kcodec.DecodeError) as error:
            codec.decode([row])
        assert (error.value.path, error.value.offset) == (path, offset)


def repeated_keys():
    """Codecs of maps whose values have lists that are empty; and which of three keys stay, in which order."""
    fields = "".join(f"string {name} = {number + 2};" for number, name in enumerate(NAMES))
    text = f"message S {{ {fields} }} message V {{ repeated S s = 1; }} message M {{ map<string, V> m = 1; }}"
    yield kcodec.ProtobufCodec(f'syntax = "proto3"; {text}', "M"), "abc"
    items = {"type": "record", "name": "S", "fields": [{"name": name, "type": "string"} for name in NAMES]}
    values = {"type": "array", "items": items}
    value = {"type": "record", "name": "V", "fields": [{"name": "s", "type": values}]}
    maps = {"type": "map", "values": value}
    schema = {"type": "record", "name": "M", "fields": [{"name": "m", "type": maps}]}
    yield kcodec.AvroCodec(json.dumps(schema)), "bac"


def test_equal_keys_above_columns_without_memory(impl):
    long = 100_000
    for codec, keys in repeated_keys():
        row = codec.encode([{"m": [(key * long, {"s": []}) for key in "abac"]}])
        assert codec.decode(row).to_pylist() == [{"m": [(key * long, {"s": []}) for key in keys]}]

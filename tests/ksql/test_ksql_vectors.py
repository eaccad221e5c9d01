"""ksqlDB's functional tests: the schemas that it registers, and payloads behind the ids of schemas.

The vectors may not be copied here, so these tests need the shared folder.
"""

import base64
import json
import struct

import pyarrow as pa
import pytest
from vector_files import read_vectors

from kcodec import KsqlCodec
from kcodec.ksql.types import SqlField, SqlType
from kcodec.registry import Reference, Schema
from kcodec.registry.memory import MemoryRegistry

#: What the lines that import it mean; the field has the case that their values have.
EVENT = 'syntax = "proto3"; message Event {{ int64 {} = 1; }}'
TYPES = {"AVRO": "AVRO", "PROTOBUF": "PROTOBUF", "JSON_SR": "JSON"}


def arguments(line, side):
    """Return the arguments of the codec of a line."""
    key = side == "key"
    columns = ", ".join(f"`{each['name']}` {each['sql']}{' KEY' * key}" for each in line["columns"])
    wrap = None
    if not key and len(line["columns"]) == 1:
        wrap = {"UNWRAP_SINGLES": False, "WRAP_SINGLES": True}.get("".join(line["features"]))
    return {"columns": columns, "is_key": key, "wrap": wrap}


def test_schemas(shared, capsys):
    counts = {}
    for line in read_vectors("ksql_schema_vectors.jsonl.gz", shared / "vectors"):
        described = line["format"]
        line["features"] = described["features"]
        name = described["format"]
        codec = KsqlCodec(name, properties=described["properties"], **arguments(line, line["side"]))
        if name == "AVRO":
            # With the order of attributes, and namespaces.
            assert codec.schema == json.dumps(line["schema"], separators=(",", ":")), line["test"]
        else:
            found = codec.schema if name == "PROTOBUF" else json.loads(codec.schema)
            assert found == line["schema"], line["test"]
        counts[name] = counts.get(name, 0) + 1
    with capsys.disabled():
        print(f"\nschemas as ksqlDB registers them: {counts}")
    assert min(counts[name] for name in TYPES) > 10


def storage(array):
    """Return times as the integers that ksqlDB has."""
    kind, types = array.type, pa.types
    if types.is_timestamp(kind):
        return pa.compute.divide(array.cast(pa.int64()), 1000)
    if types.is_time(kind) or types.is_date(kind):
        return array.cast(pa.int32())
    if types.is_struct(kind):
        names = [field.name for field in kind]
        return pa.StructArray.from_arrays(
            [storage(each) for each in array.flatten()], names, mask=array.is_null()
        )
    if types.is_map(kind):
        items = storage(array.items)
        rows = storage_lists(
            array, [{"k": k, "v": v} for k, v in zip(array.keys.to_pylist(), items.to_pylist(), strict=True)]
        )
        return pa.array(
            [None if row is None else [(e["k"], e["v"]) for e in row] for row in rows],
            pa.map_(kind.key_type, items.type),
        )
    if types.is_list(kind):
        items = storage(array.values)
        return pa.array(storage_lists(array, items.to_pylist()), pa.list_(items.type))
    return array


def storage_lists(array, items):
    offsets = array.offsets.to_pylist()
    return [
        items[offsets[row] : offsets[row + 1]] if array[row].is_valid else None for row in range(len(array))
    ]


def plain(value, kind):
    """Write a value as the vectors do."""
    if value is None:
        return None
    if kind.base == "DECIMAL":
        return str(value)
    if kind.base == "BYTES":
        return base64.b64encode(value).decode()
    if kind.base == "ARRAY":
        return [plain(item, kind.item) for item in value]
    if kind.base == "MAP":
        return {key: plain(item, kind.item) for key, item in value}
    if kind.base == "STRUCT":
        return {field.name: plain(value[field.name], field.type) for field in kind.fields}
    return value


def registered(line):
    """Register the schema of a line; return the registry, the id, and what stands before a body."""
    registry = MemoryRegistry()
    name = line["format"]
    text, references = line["schema"], ()
    if name == "PROTOBUF" and "event.proto" in text:
        field = "timestamp" if "timestamp" in json.dumps(line["spec"]) else "TIMESTAMP"
        registry.register("event", Schema(EVENT.format(field), "PROTOBUF"))
        references = (Reference("event.proto", "event", 1),)
    if name != "PROTOBUF":
        text = json.dumps(text)
    number = registry.register("any", Schema(text, TYPES[name], references)).id
    return registry, number, struct.pack(">bI", 0, number) + b"\0" * (name == "PROTOBUF")


@pytest.mark.parametrize("name", ["AVRO", "PROTOBUF", "PROTOBUF_NOSR", "JSON_SR"])
def test_payloads(impl, name, shared, capsys):
    lines = [
        line
        for line in read_vectors("ksql_wire_vectors.jsonl.gz", shared / "vectors")
        if line["format"] == name
    ]
    read = unread = written = 0
    for line in lines:
        side = "key" if all(each["kind"] == "key" for each in line["columns"]) else "value"
        properties, before, options = dict(line["properties"]), b"", {}
        if name != "PROTOBUF_NOSR":
            registry, number, before = registered(line)
            options = {"registry": registry, "topic": "t"}
            if "schemaId" in properties:
                properties["schemaId"] = str(number)
        codec = KsqlCodec(name, properties=properties, **arguments(line, side), **options)
        payload = None if line["body_hex"] is None else before + bytes.fromhex(line["body_hex"])
        array = codec.decode([payload])
        kind = SqlType("STRUCT", fields=tuple(SqlField(each.name, each.type) for each in codec.columns))
        found = plain(storage(array).to_pylist()[0], kind)
        want = line["expected"]
        # Some lines only say what is written.
        if line["agrees"] is not None:
            # Columns that the test has from the key are none of its value.
            found = found if want is None or found is None else {each: found[each] for each in want}
            # A bare column that is null is a null payload.
            assert found == want or (found is None and set(want.values()) == {None}), line
            read += 1
        else:
            unread += 1
        own = (
            codec.schema == line["schema"]
            if isinstance(line["schema"], str)
            else json.loads(codec.schema) == line["schema"]
        )
        if payload is not None and (own or name == "PROTOBUF_NOSR"):
            again = codec.encode(array).to_pylist()[0]
            body = again[len(before) :]
            same = (
                json.loads(body) == json.loads(payload[len(before) :])
                if name == "JSON_SR"
                else body.hex() == line["body_hex"]
            )
            # The bytes of JSON are those of the vectors' own writer: numbers as text, decimals without their zeros.
            written += same
            assert same or name == "JSON_SR", line
    with capsys.disabled():
        told = f"{read} of {len(lines)} payloads read, {unread} without an expectation"
        print(f"\n{name} {impl}: {told}, {written} written again with the same bytes")
    assert read + unread == len(lines)
    assert unread < len(lines) / 10
    assert written > 0

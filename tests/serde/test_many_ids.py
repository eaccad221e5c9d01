"""More schema ids in one serde than any topic has, and as many that do not exist."""

import json
import pickle
import uuid

from kcodec import Serde
from kcodec.errors import RegistryError
from kcodec.registry import RegisteredSchema, Schema
from kcodec.registry.memory import MemoryRegistry


def frame(schema_id, payload):
    return b"\0" + schema_id.to_bytes(4, "big") + payload


class Many(MemoryRegistry):
    """Has a schema of each id below a number, in one of a hundred wordings."""

    def __init__(self, ids):
        super().__init__(uuid.uuid4().hex)
        self.ids = ids
        self.asked = 0

    def get(self, schema_id):
        self.asked += 1
        if schema_id >= self.ids:
            raise RegistryError("Schema not found", 404, 40403)
        fields = [{"name": "id", "type": "int"}, {"name": f"f{schema_id % 100}", "type": "int"}]
        schema = Schema(json.dumps({"type": "record", "name": "R", "fields": fields}))
        return RegisteredSchema(schema_id, "", schema)


def test_twenty_thousand_ids_in_one_serde():
    """Programs of half of them are kept, and all columns come out right, in whatever order ids come."""
    ids = 20_000
    reader = {"type": "record", "name": "R", "fields": [{"name": "id", "type": "int"}]}
    serde = Serde("AVRO", Many(ids), topic="t", reader_schema=reader)
    for numbers in (range(ids), range(ids - 1, 0, -99)):
        column = [frame(number, bytes([2 * (number % 50), 2])) for number in numbers]
        found = serde.deserialize(column).field("id").to_pylist()
        assert found == [number % 50 for number in numbers]
    assert len(serde._reader._sources) <= 10_000
    assert len(pickle.dumps(serde)) < 50_000_000


def test_a_hundred_thousand_ids_that_are_not_there():
    """They are asked for a hundred times a column, and leave nothing behind."""
    registry = Many(1)
    serde = Serde("AVRO", registry, topic="t", reader_schema='"int"')
    size = len(pickle.dumps(serde))
    column = [frame(number, b"x") for number in range(1, 100_001)]
    for _ in range(2):
        array, report = serde.deserialize(column, errors="report")
        assert array.null_count == report.num_rows == 100_000
        assert set(report["code"].to_pylist()) == {"unknown_schema_id"}
        assert report.nbytes < 30_000_000
    assert registry.asked <= 200
    assert len(pickle.dumps(serde)) < size + 100_000

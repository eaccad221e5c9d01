"""Versions of a schema of orders, their frames, and a registry that remembers what it was asked."""

import uuid

import pyarrow as pa

from kcodec import AvroCodec
from kcodec.registry.memory import MemoryRegistry

V1 = '{"type":"record","name":"Order","namespace":"shop","fields":[{"name":"id","type":"int"}]}'


V2 = (
    '{"type":"record","name":"Order","namespace":"shop","fields":[{"name":"id","type":"long"},'
    '{"name":"note","type":["null","string"],"default":null}]}'
)


V3 = (
    '{"type":"record","name":"Order","namespace":"shop","fields":[{"name":"note","type":["null","string"],'
    '"default":null},{"name":"id","type":"long"},{"name":"qty","type":"int","default":1}]}'
)


class Counted(MemoryRegistry):
    """A registry that remembers what it was asked."""

    def __init__(self):
        super().__init__(uuid.uuid4().hex)
        self.calls = []

    def get(self, schema_id):
        self.calls.append(("get", schema_id))
        return super().get(schema_id)

    def get_by_guid(self, guid):
        self.calls.append(("guid", guid))
        return super().get_by_guid(guid)

    def get_version(self, subject, version="latest", *, deleted=False):
        self.calls.append(("version", subject, version))
        return super().get_version(subject, version, deleted=deleted)

    def register(self, subject, schema, *, normalize=False):
        self.calls.append(("register", subject))
        return super().register(subject, schema, normalize=normalize)


def frame(schema_id, payload):
    return b"\0" + schema_id.to_bytes(4, "big") + payload


def written(schema_id, text, rows):
    codec = AvroCodec(text)
    return [frame(schema_id, each) for each in codec.encode(pa.array(rows, codec.arrow_type)).to_pylist()]

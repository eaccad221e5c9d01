"""Registries: compatibility of wide schemas, levels over many versions, registering what is known."""

import json

from kcodec.formats.schema_format import find_schema_format
from kcodec.registry import Config, Schema
from kcodec.registry.compatibility.levels import Earlier, check
from kcodec.registry.memory import MemoryRegistry


def avro(fields):
    kinds = ("int", "string", ["null", "double"], {"type": "array", "items": "long"})
    listed = [{"name": f"f{n}", "type": kinds[n % 4]} for n in range(fields)]
    return json.dumps({"type": "record", "name": "R", "fields": listed})


def json_schema(properties):
    kinds = ({"type": "string", "maxLength": 9}, {"type": "integer"}, {"type": ["null", "number"]})
    listed = {f"p{n}": kinds[n % 3] for n in range(properties)}
    return json.dumps({"type": "object", "properties": listed, "additionalProperties": False})


def protobuf(fields):
    kinds = ("int32", "string", "double", "repeated int64")
    listed = " ".join(f"{kinds[n % 4]} f{n} = {n + 1};" for n in range(fields))
    return f'syntax = "proto3"; message M {{ {listed} }}'


TEXTS = {"AVRO": avro, "JSON": json_schema, "PROTOBUF": protobuf}


class Compatibility:
    """One comparison of two schemas of 100 fields, parsed."""

    params = tuple(TEXTS)
    param_names = ("type",)

    def setup(self, kind):
        self.format = find_schema_format(kind)
        self.schemas = [self.format.parse(TEXTS[kind](100)) for _ in range(2)]
        self.format.differences(*self.schemas)

    def time_differences(self, kind):
        self.format.differences(*self.schemas)


class Levels:
    """A check of FULL_TRANSITIVE, by the number of versions."""

    params = (10, 100, 1000)
    param_names = ("versions",)

    def setup(self, versions):
        self.format = find_schema_format("AVRO")
        self.schema = self.format.parse(avro(100))
        self.earlier = [Earlier(n, "AVRO", "", lambda: self.schema) for n in range(versions)]

    def time_full_transitive(self, versions):
        check(self.format, "FULL_TRANSITIVE", self.schema, self.earlier)


class Registering:
    """Registering a schema that is known, and one that is new."""

    params = tuple(TEXTS)
    param_names = ("type",)

    def setup(self, kind):
        self.registry = MemoryRegistry()
        self.registry.set_config(Config("NONE"))
        self.known = Schema(TEXTS[kind](100), kind)
        self.registry.register("s", self.known)
        self.number = 100

    def time_known(self, kind):
        self.registry.register("s", self.known)

    def time_new(self, kind):
        self.number += 1
        self.registry.register("t", Schema(TEXTS[kind](self.number), kind))

"""The embedded registry and a real server, asked the same, call by call, through the same handle's methods."""

import re
import uuid
from pathlib import Path

from kcodec import registry as registries
from kcodec.errors import RegistryError
from kcodec.registry import Config, Metadata, Reference, Schema
from kcodec.registry.memory import MemoryRegistry

INT, LONG = Schema('"int"'), Schema('"long"')
ORDER = Schema('{"type":"record","name":"Order","namespace":"shop","fields":[{"name":"id","type":"long"}]}')
LOOSE = Schema(
    '{ "namespace": "shop", "name": "Order", "type": "record",\n "fields": [{"type": "long", "name": "id"}] }'
)
WIDER = Schema(ORDER.text.replace("]}", ',{"name":"note","type":["null","string"],"default":null}]}'))
JSON = Schema('{"$schema": "http://json-schema.org/draft-07/schema#", "type": "object"}', "JSON")
PROTO = Schema('syntax = "proto3";\npackage shop;\n\nmessage Order {\n  int64 id = 1;\n}\n', "PROTOBUF")


LOOSE_JSON = Schema('{"type": "object", "$schema": "http://json-schema.org/draft-07/schema#"}', "JSON")
LOOSE_PROTO = Schema('syntax="proto3"; package shop; message Order { int64 id=1; }', "PROTOBUF")
TAGGED = Schema('"int"', metadata=Metadata.of({"a": "1"}))


class Asked:
    """A registry under subject names of this run's own, whose ids are named after where they were met first."""

    def __init__(self, handle):
        self.handle, self.mark, self.ids = handle, uuid.uuid4().hex[:8], {}

    def name(self, subject):
        return f"{self.mark}-{subject}"

    def found(self, found):
        subject = found.subject and found.subject.removeprefix(f"{self.mark}-")
        return subject, found.version, self.ids[found.id], found.schema.text

    def cart(self, version=1):
        text = '{"type":"record","name":"Cart","namespace":"shop","fields":[{"name":"first","type":"Order"}]}'
        return Schema(text, references=(Reference("shop.Order", self.name("order"), version),))

    def register(self, subject, schema, **options):
        found = self.handle.register(self.name(subject), schema, **options)
        number = sum(name.startswith(f"{subject} ") for name in self.ids.values()) + 1
        return self.ids.setdefault(found.id, f"{subject} {number}")

    def lookup(self, subject, schema, **options):
        return self.found(self.handle.lookup(self.name(subject), schema, **options))

    def version(self, subject, *version, **options):
        return self.found(self.handle.get_version(self.name(subject), *version, **options))

    def get(self, schema_id):
        return self.found(self.handle.get(schema_id))

    def references(self, subject):
        kept = self.handle.get(self.id(subject)).schema.references
        return [(each.name, each.subject == self.name("order"), each.version) for each in kept]

    def id(self, subject):
        return self.handle.get_version(self.name(subject)).id

    def versions(self, subject):
        return self.handle.versions(self.name(subject))

    def delete(self, subject, *version, permanent=False):
        if version:
            return self.handle.delete_version(self.name(subject), *version, permanent=permanent)
        return self.handle.delete_subject(self.name(subject), permanent=permanent)


def outcomes(handle):
    """Ask everything; gives the answer to each call, or status and code of its refusal."""
    ask = Asked(handle)
    answers = {}

    def call(name, function):
        try:
            answers[name] = function()
        except RegistryError as error:
            answers[name] = (error.status, error.error_code)

    # fmt: off
    call("register", lambda: ask.register("int", INT))
    call("register again", lambda: ask.register("int", INT))
    call("version that register tells", lambda: handle.register(ask.name("int"), INT).version)
    call("register under another subject", lambda: ask.register("other", INT))
    call("register a second version", lambda: ask.register("int", LONG))
    call("register Avro", lambda: ask.register("order", ORDER))
    call("register Avro in other words", lambda: ask.register("order", LOOSE))
    call("versions of both", lambda: ask.versions("order"))
    call("other words under another subject", lambda: ask.register("order2", LOOSE))
    call("text of other words", lambda: ask.version("order2")[3])
    call("register normalized", lambda: ask.register("normal", LOOSE, normalize=True))
    call("register what is incompatible", lambda: ask.register("changed", ORDER) + ask.register("changed", INT))
    call("register what is compatible", lambda: ask.register("wider", ORDER) + ask.register("wider", WIDER))
    call("register JSON Schema", lambda: ask.register("json", JSON))
    call("text of JSON Schema", lambda: ask.version("json")[3])
    call("JSON Schema in other words", lambda: ask.register("json", LOOSE_JSON))
    call("register Protobuf", lambda: ask.register("proto", PROTO))
    call("text of Protobuf", lambda: ask.version("proto")[3])
    call("Protobuf in other words", lambda: ask.register("proto", LOOSE_PROTO))
    call("register with a reference", lambda: ask.register("cart", ask.cart()))
    call("references", lambda: ask.references("cart"))
    call("reference to the latest", lambda: ask.register("cart2", ask.cart(-1)) and ask.references("cart2"))
    call("reference to no version", lambda: ask.register("cart3", ask.cart(9)))
    call("register with metadata", lambda: ask.register("meta", TAGGED))
    call("metadata", lambda: handle.get_version(ask.name("meta")).schema.metadata)
    call("latest with metadata", lambda: handle.get_latest_with_metadata(ask.name("meta"), {"a": "1"}).version)
    call("register an empty schema", lambda: ask.register("empty", Schema("")))
    call("register no schema", lambda: ask.register("empty", Schema('{"type": "nothing"}')))
    call("register a bad default", lambda: ask.register("default", Schema(WIDER.text.replace(":null", ":7"))))
    call("register an unknown type", lambda: ask.register("thrift", Schema('"int"', "THRIFT")))
    call("register under no subject", lambda: handle.register("", INT))
    call("register another schema type", lambda: ask.register("meta", JSON))
    call("lookup", lambda: ask.lookup("int", LONG))
    call("lookup in other words", lambda: ask.lookup("order", LOOSE)[1:3])
    call("lookup what is not there", lambda: ask.lookup("int", ORDER))
    call("lookup under no subject", lambda: ask.lookup("nowhere", INT))
    call("by id", lambda: ask.get(ask.id("int")))
    call("by no id", lambda: ask.get(2_000_000_000))
    call("by GUID", lambda: handle.get_by_guid(handle.get_version(ask.name("int"), 1).guid).schema.text)
    call("by no GUID", lambda: handle.get_by_guid("ffffffff-ffff-ffff-ffff-ffffffffffff"))
    call("GUID", lambda: handle.get_version(ask.name("int"), 1).guid)
    call("version", lambda: ask.version("int", 1))
    call("latest", lambda: ask.version("int", "latest")[1])
    call("version -1", lambda: ask.version("int", -1)[1])
    call("no version", lambda: ask.version("int", 9))
    call("version 0", lambda: ask.version("int", 0))
    call("no subject", lambda: ask.version("nowhere"))
    call("versions", lambda: ask.versions("int"))
    call("versions of no subject", lambda: ask.versions("nowhere"))
    call("subjects", lambda: [name for name in ("int", "json", "nowhere") if ask.name(name) in handle.subjects()])
    call("odd subject", lambda: ask.register("a/b ü?#%", INT) and ask.versions("a/b ü?#%"))
    call("associations", lambda: handle.associated_subjects("t", False))
    call("delete what is referred to", lambda: ask.delete("order", 1))
    call("delete for good before softly", lambda: ask.delete("int", 1, permanent=True))
    call("delete a version", lambda: ask.delete("int", 1))
    call("delete it again", lambda: ask.delete("int", 1))
    call("versions without it", lambda: ask.versions("int"))
    call("deleted version", lambda: ask.version("int", 1))
    call("deleted version on request", lambda: ask.version("int", 1, deleted=True))
    call("deleted schema by id", lambda: ask.get(handle.get_version(ask.name("int"), 1, deleted=True).id)[3])
    call("delete it for good", lambda: ask.delete("int", 1, permanent=True))
    call("register what was deleted", lambda: ask.register("int", INT) and ask.versions("int"))
    call("delete a subject for good before softly", lambda: ask.delete("other", permanent=True))
    call("delete a subject", lambda: ask.delete("other"))
    call("delete it once more", lambda: ask.delete("other"))
    call("latest of a deleted subject", lambda: ask.version("other"))
    call("delete the subject for good", lambda: ask.delete("other", permanent=True))
    call("delete no subject", lambda: ask.delete("nowhere"))
    # fmt: on
    return answers


#: Where Apicurio Registry answers otherwise than the embedded registry, which answers as Confluent's does.
DIFFERENT = {
    "version that register tells": None,
    "other words under another subject": "order2 1",
    "register normalized": "order2 1",
    "text of JSON Schema": '{"$schema": "http://json-schema.org/draft-07/schema#", "type": "object"}',
    "JSON Schema in other words": "json 1",
    "reference to the latest": (422, 42201),
    "register with metadata": "int 1",
    "metadata": None,
    "latest with metadata": (None, 50005),
    "register another schema type": "json 1",
    "by GUID": (404, None),
    "by no GUID": (404, None),
    "version 0": (404, 40402),
    "delete for good before softly": (409, 40407),
    "delete it again": (409, 40406),
    "delete a subject for good before softly": (409, 40405),
}


def test_the_server_answers_as_the_embedded_registry(registry_url):
    server = registries.open(registry_url, {"max.retries": 1, "retries.wait.ms": 1, "timeout": 20})
    registry = MemoryRegistry(uuid.uuid4().hex)
    # The other one checks nothing unless told to.
    registry.set_config(Config("NONE"))
    embedded = outcomes(registry)
    real = outcomes(server)
    server.close()
    assert len(embedded) == len(real) > 60
    found = {name: real[name] for name in embedded if real[name] != embedded[name]}
    assert found == DIFFERENT


def test_our_server_answers_as_the_embedded_registry(own_server):
    server = registries.open(own_server.address)
    registry = MemoryRegistry(uuid.uuid4().hex)
    assert outcomes(server) == outcomes(registry)
    server.close()


def test_the_differences_are_documented():
    page = (Path(__file__).parents[3] / "docs" / "registry.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([^|]+) \| .* \| .* \|$", page, re.MULTILINE)
    assert set(DIFFERENT) <= {name.strip() for row in rows for name in row.split(";")}

"""``kcodec registry check``: schemas of files, against subjects and against other files."""

import json

import pytest
from registry_server import serve

import kcodec
from kcodec.cli.main import main
from kcodec.registry import Compatibility, Config, Schema
from kcodec.registry.memory import MemoryRegistry


def order(*fields):
    return json.dumps(
        {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}, *fields]}
    )


OLD = order()
BREAKS = order({"name": "note", "type": "string"})
FITS = order({"name": "note", "type": ["null", "string"], "default": None})
ITEM = 'syntax = "proto3"; message Item { string sku = 1; }'


def message(kind):
    return f'syntax = "proto3"; import "item.proto"; message M {{ {kind} n = 1; Item item = 2; }}'


@pytest.fixture
def check(tmp_path, monkeypatch, capsys):
    """Return what runs the command on texts by the names of files, and returns status, output and errors."""
    monkeypatch.chdir(tmp_path)

    def run(files, *words):
        for name, text in files.items():
            (tmp_path / name).write_text(text)
        status = main(["registry", "check", *words])
        told = capsys.readouterr()
        return status, told.out, told.err

    return run


def test_files(check):
    files = {"old.avsc": OLD, "new.avsc": BREAKS}
    assert check(files, "new.avsc", "--against", "old.avsc") == (
        1,
        "new.avsc: not compatible with old.avsc\n"
        "  type                                path       message\n"
        "  READER_FIELD_MISSING_DEFAULT_VALUE  /fields/1  note\n",
        "",
    )
    told = "new.avsc: compatible with old.avsc\n"
    assert check(files, "new.avsc", "--against", "old.avsc", "--level", "forward") == (0, told, "")
    assert check({"new.avsc": FITS}, "new.avsc", "--against", "old.avsc", "--level", "FULL") == (0, told, "")


def test_several_files(check):
    """The level says whether all of them count, or the last one."""
    files = {
        "1.avsc": order({"name": "a", "type": "int"}),
        "2.avsc": OLD,
        "3.avsc": order({"name": "a", "type": "string", "default": ""}),
    }
    place = ("3.avsc", "--against", "1.avsc", "2.avsc")
    # What is not compared is not named.
    assert check(files, *place) == (0, "3.avsc: compatible with 2.avsc\n", "")
    told = check(files, *place, "--level", "backward_transitive")[1]
    assert told.startswith("3.avsc: not compatible with 1.avsc, 2.avsc\n")
    status, out, _ = check(files, *place, "--level", "BACKWARD_TRANSITIVE", "-o", "json")
    found = json.loads(out)
    assert (status, found["file"], found["compatible"]) == (1, "3.avsc", False)
    assert [each["type"] for each in found["differences"]] == ["TYPE_MISMATCH"]
    assert "{oldSchemaVersion: 1}" in found["messages"]


@pytest.mark.parametrize(
    ("new", "old", "status"),
    [
        ({"type": "object", "properties": {"a": {"type": "integer"}}}, {"type": "object"}, 1),
        ({"type": "enum", "name": "E", "symbols": ["A", "B"]}, {"type": "enum", "name": "E", "symbols": ["A"]}, 0),
        ({"type": "enum", "name": "E", "symbols": ["A"]}, {"type": "enum", "name": "E", "symbols": ["A", "B"]}, 1),
    ],
)  # fmt: skip
def test_what_json_is(check, new, old, status):
    """Of Avro, if it has one of the types that a JSON Schema cannot have."""
    files = {"new.json": json.dumps(new), "old.json": json.dumps(old)}
    assert check(files, "new.json", "--against", "old.json")[0] == status


def test_formats_by_name(check):
    files = {"old.txt": '"int"', "new.txt": '"long"'}
    assert check(files, "new.txt", "--against", "old.txt", "--format", "avro")[0] == 0
    status, _, err = check(files, "new.txt", "--against", "old.txt")
    assert (status, err) == (
        2,
        "kcodec registry: new.txt: what its schema is, its name says (.avsc, .proto, .json), or --format\n",
    )
    status, _, err = check(files, "new.txt", "--against", "old.txt", "--format", "connect_json")
    assert (status, err) == (
        2,
        "kcodec registry: --format connect_json has no schemas: avro, json_sr or protobuf have\n",
    )
    assert check(files, "new.txt", "--against", "old.txt", "--format", "avor")[0] == 2


def test_references_and_losses(check):
    files = {"old.proto": message("int64"), "new.proto": message("int32"), "item.proto": ITEM}
    place = ("new.proto", "--against", "old.proto")
    status, _, err = check(files, *place)
    assert (status, err) == (
        2,
        "kcodec registry: old.proto: Invalid schema: line 1, column 66: unknown type Item; --reference names what it "
        "refers to\n",
    )
    place = (*place, "--reference", "item.proto=item.proto")
    assert check(files, *place) == (0, "new.proto: compatible with old.proto\n", "")
    status, out, _ = check(files, *place, "--losses")
    assert (status, out.splitlines()[1]) == (1, "new.proto: values change")
    assert out.splitlines()[-1].endswith("n: of more than 32 bits, int64 is cut to int32")
    assert check(files, *place, "--losses", "--level", "FORWARD")[0] == 0
    found = json.loads(check(files, *place, "--losses", "-o", "json")[1])
    assert [each["type"] for each in found["losses"]] == ["VALUE_CUT"]


def test_subject(check, tmp_path):
    url = f"sqlite:///{tmp_path}/schemas.db"
    registry = kcodec.registry.open(url)
    place = ("--subject", "orders-value", "--registry", url)
    assert check({"new.avsc": BREAKS}, "new.avsc", *place) == (
        0,
        "new.avsc: compatible with orders-value\n",
        "kcodec registry: orders-value has no versions, and takes any schema\n",
    )
    registry.register("orders-value", Schema(OLD))
    assert check({}, "new.avsc", *place)[::2] == (1, "")
    assert check({}, "new.avsc", *place, "--level", "FORWARD")[0] == 0
    registry.set_config(Config("NONE"), "orders-value")
    assert check({}, "new.avsc", *place)[0] == 0
    registry.register("orders-value", Schema(BREAKS))
    assert check({"new.avsc": FITS}, "new.avsc", *place, "--level", "BACKWARD", "--version", "1")[0] == 0
    text = json.dumps({"type": "record", "name": "Order", "fields": [{"name": "id", "type": "double"}]})
    registry.set_config(Config("BACKWARD"), "orders-value")
    assert check({"new.avsc": text}, "new.avsc", *place)[0] == 0
    assert check({}, "new.avsc", *place, "--losses")[0] == 1


def test_bodies(check, tmp_path):
    """What is sent to a server may be a file, with its references."""
    url = f"sqlite:///{tmp_path}/schemas.db"
    registry = kcodec.registry.open(url)
    registry.register("item", Schema(ITEM, "PROTOBUF"))
    body = {
        "schemaType": "PROTOBUF",
        "schema": message("int64"),
        "references": [{"name": "item.proto", "subject": "item", "version": 1}],
    }
    registry.register("m-value", Schema.of(body))
    place = ("--subject", "m-value", "--registry", url)
    assert check({"m.json": json.dumps(body)}, "m.json", *place)[0] == 0
    assert check({"m.proto": message("string")}, "m.proto", *place, "--reference", "item.proto=item")[0] == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--subject", "a"], "--subject takes --registry URL"),
        (["--against", "f.avsc", "--registry", "memory://a"], "--against takes no registry"),
        (["--subject", "a", "--registry", "sqlite:///none.db"], "sqlite:///none.db: there is no such file"),
        (["--against", "none.avsc"], "No such file or directory: 'none.avsc'"),
        (["--against", "f.avsc", "--level", "SOME"], "Invalid compatibility level"),
        (["--against", "f.avsc", "--reference", "x"], "--reference takes NAME=VALUE"),
        (["--against", "bad.avsc"], "bad.avsc: Invalid schema"),
        (
            ["--subject", "a", "--registry", "http://localhost:1", "--config", "c.properties"],
            "http://localhost:1: no connection",
        ),
    ],
)
def test_what_cannot_be_told(check, words, message):
    files = {"f.avsc": OLD, "bad.avsc": "{", "c.properties": "max.retries=0\n"}
    status, out, err = check(files, "f.avsc", *words)
    assert (status, out) == (2, "")
    assert message in err


def test_what_a_server_says_of_a_schema_that_is_none_is_no_verdict(check):
    """Confluent's answers that it is not compatible, whether the subject has versions or not."""

    class Answering(MemoryRegistry):
        def check_compatibility(self, *_, **__):
            return Compatibility(False, (), ("Invalid schema: {",))

    with serve(Answering()) as server:
        status, out, err = check({"new.avsc": "{"}, "new.avsc", "--subject", "a", "--registry", server.url)
    assert (status, out, err) == (2, "", "kcodec registry: new.avsc: Invalid schema: {\n")


def test_a_schema_that_is_none_is_no_verdict(check):
    status, _, err = check({"new.avsc": "{", "old.avsc": OLD}, "new.avsc", "--against", "old.avsc")
    assert status == 2
    assert err.startswith("kcodec registry: new.avsc: Invalid schema")

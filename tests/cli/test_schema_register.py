"""``kcodec registry register``: the schema of a file as the next version of a subject."""

import io

import pytest

import kcodec
from kcodec.cli.main import main
from kcodec.registry import Schema

OLD = '{"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}'
BREAKS = OLD.replace('"long"', '"string"')
ITEM = 'syntax = "proto3"; message Item { string sku = 1; }'
ORDER = 'syntax = "proto3"; import "item.proto"; message M { Item item = 1; }'


@pytest.fixture
def url(tmp_path):
    return f"sqlite:///{tmp_path}/schemas.db"


@pytest.fixture
def register(tmp_path, monkeypatch, capsys, url):
    """Return what runs the command on texts by the names of files, and returns status, output and errors."""
    monkeypatch.chdir(tmp_path)

    def run(files, *words):
        for name, text in files.items():
            (tmp_path / name).write_text(text)
        status = main(["registry", "register", "--registry", url, *words])
        told = capsys.readouterr()
        return status, told.out, told.err

    return run


def test_id_and_version(register, url):
    assert register({"o.avsc": OLD}, "orders-value", "o.avsc") == (0, "orders-value: id 1, version 1\n", "")
    assert register({}, "orders-value", "o.avsc", "-o", "json") == (
        0,
        '{"subject": "orders-value", "id": 1, "version": 1}\n',
        "",
    )
    assert kcodec.registry.open(url).get_version("orders-value").schema == Schema(
        OLD.replace(": ", ":").replace(", ", ",")
    )


@pytest.mark.parametrize(
    ("text", "words", "answer"),
    [
        (OLD.encode(), (), (0, "orders-value: id 1, version 1\n", "")),
        (
            b"\xef\xbb\xbf" + ITEM.encode(),
            ("--format", "protobuf"),
            (0, "orders-value: id 1, version 1\n", ""),
        ),
        (
            ITEM.encode(),
            (),
            (2, "", "-: what its schema is, its name says (.avsc, .proto, .json), or --format"),
        ),
        (b"\xff", (), (2, "", "the standard input is not text: invalid start byte at byte 0")),
    ],
)
def test_the_standard_input(register, monkeypatch, text, words, answer):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))
    status, out, errors = register({}, "orders-value", "-", *words)
    assert (status, out, errors.removeprefix("kcodec registry: ").rstrip()) == answer


def test_a_refusal(register):
    assert register({"o.avsc": OLD}, "orders-value", "o.avsc")[0] == 0
    status, out, err = register({"n.avsc": BREAKS}, "orders-value", "n.avsc")
    assert (status, out) == (1, "")
    assert err.startswith("kcodec registry: n.avsc: Schema being registered is incompatible")


def test_formats(register, url):
    assert register({"o.txt": OLD}, "a", "o.txt")[0] == 2
    assert register({}, "a", "o.txt", "--format", "avro")[0] == 0
    assert register({"d.json": '{"type": "object"}'}, "d", "d.json")[0] == 0
    assert kcodec.registry.open(url).get_version("d").schema.type == "JSON"


@pytest.mark.parametrize(
    ("place", "version"), [("item", 2), ("item:1", 1), ("item:2", 2), (":.lab:item", 1), (":.lab:item:1", 1)]
)
def test_references(register, url, place, version):
    registry = kcodec.registry.open(url)
    for text in (ITEM, ITEM.replace("}", "string b = 2; }")):
        registry.register("item", Schema(text, "PROTOBUF"))
    registry.register(":.lab:item", Schema(ITEM, "PROTOBUF"))
    subject = "m-value" if place.startswith("item") else ":.lab:m-value"
    status, _, err = register({"m.proto": ORDER}, subject, "m.proto")
    assert status == 2
    assert err.endswith("unknown type Item; --reference names what it refers to\n")
    assert register({}, subject, "m.proto", "--reference", f"item.proto={place}")[0] == 0
    (reference,) = registry.get_version(subject).schema.references
    assert (reference.name, reference.version) == ("item.proto", version)


def test_normalized(register, url):
    text = 'syntax = "proto3"; message M { string b = 2; string a = 1; }'
    assert register({"m.proto": text}, "m", "m.proto", "--normalize")[0] == 0
    kept = kcodec.registry.open(url).get_version("m").schema.text
    assert kept.index("string a") < kept.index("string b")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("none.avsc",), "No such file or directory: 'none.avsc'"),
        (("bad.avsc",), "bad.avsc: Invalid schema"),
        (("o.avsc", "--reference", "x"), "--reference takes NAME=VALUE"),
        (("o.avsc", "--reference", "x=none"), "Subject 'none' not found."),
        (("o.avsc", "--reference", "x=none:7"), "No schema reference found"),
        (("o.avsc", "--registry", "http://localhost:1", "--config", "c.properties"), "no connection"),
    ],
)
def test_what_is_not_registered(register, words, message):
    files = {"o.avsc": OLD, "bad.avsc": "{", "c.properties": "max.retries=0\n"}
    status, out, err = register(files, "orders-value", *words)
    assert (status, out) == (2, "")
    assert message in err

"""Generated modules: what they look like, and that they read and write what Kafka's own classes do."""

import dataclasses
import importlib
import importlib.util
import json
import math
import os
import subprocess
import sys
import uuid
from pathlib import Path

import pytest
from vector_files import read_vectors

import kcodec
from kcodec.cli.main import main
from kcodec.errors import ConfigError, DecodeError, EncodeError
from kcodec.protocol import Definitions, MessageSpec, load
from kcodec.protocol.generate.modules import module_text, package, write_package
from kcodec.protocol.generate.pages import arrow_page, markdown_page
from kcodec.protocol.generated import UnknownTaggedField
from kcodec.protocol.spec.text import spec_text

SMALL = """{
  "apiKey": 7, "type": "request", "name": "PlaceRequest", "validVersions": "0-2", "flexibleVersions": "1+",
  "fields": [
    {"name": "Places", "type": "[]Place", "versions": "0+", "about": "Where\\\\to, \\"there\\".", "fields": [
      {"name": "Name", "type": "string", "versions": "0+", "mapKey": true},
      {"name": "Id", "type": "uuid", "versions": "0+", "mapKey": true},
      {"name": "Racks", "type": "[]uuid", "versions": "0+"}
    ]},
    {"name": "Size", "type": "int16", "versions": "0+", "default": "0x10"},
    {"name": "From", "type": "string", "versions": "0+", "nullableVersions": "0+", "default": "null"},
    {"name": "field", "type": "float64", "versions": "2+", "default": "NaN", "ignorable": true},
    {"name": "Text", "type": "string", "versions": "2+", "default": "a\\"b'c\\\\n", "ignorable": true},
    {"name": "Zone", "type": "uuid", "versions": "2+", "default": "AAAAAAAAAAAAAAAAAAAAAQ", "ignorable": true},
    {"name": "Message", "type": "Message", "versions": "2+", "nullableVersions": "2+", "ignorable": true},
    {"name": "AnotherNameForTheSameThingThatIsMuchTooLongForOneLine", "type": "[]AnotherStructWithAVeryVeryLongName",
     "versions": "2+", "ignorable": true},
    {"name": "Extra", "type": "bytes", "versions": "1+", "taggedVersions": "1+", "tag": 0},
    {"name": "Gone", "type": "int32", "versions": "3+"},
    {"name": "Batch", "type": "records", "versions": "2+", "nullableVersions": "2+", "ignorable": true}
  ],
  "commonStructs": [
    {"name": "Message", "versions": "0+", "fields": [{"name": "On", "type": "bool", "versions": "0+"}]},
    {"name": "AnotherStructWithAVeryVeryLongName", "versions": "0+", "fields": []}
  ]
}"""


def import_package(folder, name, definitions):
    write_package(definitions, folder / name)
    sys.path.insert(0, str(folder))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(folder))


@pytest.fixture(scope="module")
def definitions(shared):
    return load(shared / "kafka-messages")


@pytest.fixture(scope="module")
def kafka(definitions, tmp_path_factory):
    """Import a package generated of all of Kafka's messages."""
    return import_package(tmp_path_factory.mktemp("generated"), "generated_kafka", definitions)


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    return import_package(tmp_path_factory.mktemp("small"), "generated_small", load([SMALL]))


@pytest.fixture
def place(small):
    return importlib.import_module("generated_small.place_request")


def test_attributes(place):
    made = place.PlaceRequest()
    assert (made.size_, made.from_, made.extra, made.batch, made.zone) == (
        16,
        None,
        b"",
        None,
        uuid.UUID(int=1),
    )
    assert math.isnan(made.field_)
    assert not hasattr(made, "gone")
    assert made.text == "a\"b'c\\n"
    assert made.message == place.Message_()
    assert made.places == [] == place.PlaceCollection()
    assert (made.API_KEY, made.VALID_VERSIONS, made.FLEXIBLE_VERSIONS) == (7, "0-2", "1+")
    assert made.spec() == MessageSpec.parse(SMALL.replace(', "about": "Where\\\\to, \\"there\\"."', ""))
    assert 'Where\\to, "there". Versions 0+.' in place.PlaceRequest.__doc__
    with pytest.raises(AttributeError):
        made.other = 1


def test_bytes_and_json(impl, place):
    rack = uuid.UUID(int=3)
    made = place.PlaceRequest(
        places=place.PlaceCollection([place.Place(name="a", racks=[rack]), place.Place(name="b", id=rack)]),
        size_=7,
        from_="x",
        field_=0.5,
        message=None,
        extra=b"!",
        batch=b"log",
        unknown_tagged_fields=[UnknownTaggedField(4, b"tag")],
    )
    data = made.to_bytes(2)
    assert made.size(2) == len(data)
    again = place.PlaceRequest.from_bytes(data, 2)
    assert again == made
    assert repr(again) == repr(made)
    assert again.unknown_tagged_fields == [(4, b"tag")]
    assert type(again.places) is place.PlaceCollection
    assert place.PlaceRequest.from_json(json.loads(json.dumps(made.to_json(2))), 2) != made
    made.unknown_tagged_fields.clear()
    assert again != made
    assert place.PlaceRequest.from_json(json.loads(json.dumps(made.to_json(2))), 2) == made
    older = place.PlaceRequest.from_bytes(place.PlaceRequest(size_=1).to_bytes(0), 0)
    assert older.size_ == 1
    with pytest.raises(EncodeError, match="non_default"):
        made.to_bytes(0)
    with pytest.raises(DecodeError, match="truncated"):
        place.PlaceRequest.from_bytes(data[:-1], 2)
    with pytest.raises(ConfigError, match="version 3"):
        made.to_bytes(3)


def test_find(place):
    one, two = place.Place(name="a"), place.Place(name="a", racks=[uuid.UUID(int=3)])
    places = place.PlaceCollection([one, place.Place(name="b"), two])
    assert places.find("a", uuid.UUID(int=0)) is one
    assert places.find("c", uuid.UUID(int=0)) is None
    assert places.find_all("a", uuid.UUID(int=0)) == [one, two]
    assert places.find_all("a", uuid.UUID(int=1)) == []


def test_vectors(impl, kafka, shared):
    done = {"bytes": 0, "json": 0}
    for vector in read_vectors("kafka_protocol_vectors.jsonl.gz", shared / "vectors"):
        if vector["set"] == "kp":  # other definitions of messages of the same names
            continue
        kind, version, data = getattr(kafka, vector["name"]), vector["version"], bytes.fromhex(vector["hex"])
        made = kind.from_bytes(data, version)
        assert made.to_bytes(version) == data, vector["id"]
        assert made.size(version) == len(data), vector["id"]
        done["bytes"] += 1
        if "unknownTags" not in vector:
            assert made.to_json(version) == vector["json"], vector["id"]
            assert kind.from_json(vector["json"], version) == made, vector["id"]
            done["json"] += 1
    print(f"{done['bytes']} vectors as bytes, {done['json']} as JSON, through generated classes")
    assert done["json"] > 0


def unexplained(spec):
    """Return a definition, or a struct or a field of one, without what is said about fields."""
    names = {each.name for each in dataclasses.fields(spec)}
    changed = {"about": ""} if "about" in names else {}
    for name in names & {"fields", "common_structs"}:
        changed[name] = tuple(map(unexplained, getattr(spec, name)))
    if "struct" in names:
        changed["struct"] = unexplained(spec.struct)
    return dataclasses.replace(spec, **changed)


def test_the_same_definitions_give_the_same_bytes(definitions):
    files = package(definitions)
    assert package(Definitions(list(definitions.values())[::-1])) == files
    assert len(files) == len(definitions) + 2
    for spec in definitions.values():
        read, plain = MessageSpec.parse(spec_text(spec)), unexplained(spec)
        assert read == plain
        assert module_text(read) == module_text(plain)


def tool(name, *arguments, **options):
    if importlib.util.find_spec(name) is None:
        pytest.skip(f"{name} is not installed")
    command = [sys.executable, "-m", name, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


def mypy(folder, *paths):
    """Check what stands beside, or in, a generated package; what is wrong in kcodec itself is not at stake."""
    options = ["--strict", "--follow-imports", "silent", "--config-file", ""]
    cache = str(folder.parents[1] / "mypy")
    places = os.pathsep.join([str(Path(kcodec.__file__).parents[1]), str(folder.parent)])
    environment = {**os.environ, "MYPYPATH": places}
    return tool("mypy", *options, "--cache-dir", cache, *map(str, paths), env=environment, cwd=folder.parent)


@pytest.mark.parametrize("which", ["small", "kafka"])
def test_the_layout_is_that_of_ruff(which, request):
    folder = Path(request.getfixturevalue(which).__path__[0])
    for arguments in (["format", "--isolated", "--check"], ["check", "--isolated"]):
        said = tool("ruff", *arguments, str(folder))
        assert said.returncode == 0, said.stdout[:2000]


@pytest.mark.thorough
def test_mypy_has_nothing_to_say(kafka):
    folder = Path(kafka.__path__[0])
    said = mypy(folder, folder)
    assert said.returncode == 0, said.stdout[:2000]


@pytest.mark.thorough
def test_mypy_sees_wrong_types(small, tmp_path):
    use = tmp_path / "use.py"
    use.write_text(
        "from generated_small.place_request import PlaceRequest\n"
        "PlaceRequest(size_='x')\n"
        "PlaceRequest.from_bytes(b'', 0).places.find(1)\n"
        "n: str = PlaceRequest().size_\n"
    )
    folder = Path(small.__path__[0])
    said = mypy(folder, folder, use).stdout
    wrong = [line.split(":")[1] for line in said.splitlines() if ": error:" in line and "use.py" in line]
    assert wrong == ["2", "3", "3", "4"], said
    assert said.count(": error:") == len(wrong), said


def test_fields_of_no_version_leave_nothing_behind(impl, tmp_path, monkeypatch):
    text = """{"type": "data", "name": "OldKeys", "validVersions": "1", "flexibleVersions": "none", "fields": [
      {"name": "Items", "type": "[]Item", "versions": "0+", "fields": [
        {"name": "Id", "type": "uuid", "versions": "0", "mapKey": true}, {"name": "A", "type": "int8", "versions": "1"}
      ]}]}"""
    module = import_package(tmp_path, f"generated_old_{impl}", load([text])).old_keys
    assert not hasattr(module, "ItemCollection")
    assert not hasattr(module, "uuid")
    made = module.OldKeys(items=[module.Item(a=1)])
    assert module.OldKeys.from_bytes(made.to_bytes(1), 1) == made


def test_names_that_meet():
    one = MessageSpec.parse(SMALL.replace("PlaceRequest", "FooBar"))
    other = MessageSpec.parse(SMALL.replace("PlaceRequest", "Foo_bar").replace('"apiKey": 7', '"apiKey": 8'))
    with pytest.raises(ConfigError, match=r"two messages would be in foo_bar\.py"):
        package(Definitions([one, other]))
    for name in ("foo", "Foo.Bar", "../Foo", 'Foo"', "Foo\n"):
        spec = MessageSpec.parse(SMALL.replace("PlaceRequest", json.dumps(name)[1:-1]))
        with pytest.raises(ConfigError, match="cannot be the name of a class"):
            package(Definitions([spec]))
    gone = MessageSpec.parse('{"type": "data", "name": "Gone", "validVersions": "none"}', retired=True)
    assert sorted(package(Definitions([gone, one]))) == ["__init__.py", "foo_bar.py", "py.typed"]


def test_pages(definitions):
    spec = MessageSpec.parse(SMALL)
    arrow = arrow_page([spec])
    assert arrow.splitlines()[:6] == [
        "PlaceRequest version 0",
        "  places: list of struct not null",
        "    name: string not null",
        "    id: fixed_size_binary[16] not null",
        "    racks: list of fixed_size_binary[16] not null",
        "  size: int16 not null",
    ]
    assert arrow.count("PlaceRequest version") == 3
    page = markdown_page([spec])
    assert "Type request, API key 7, versions 0-2, flexible 1+." in page
    assert "| Places.Name | string | 0+ |  |  |" in page
    assert "| Extra | bytes | 1+, tag 0 in 1+ |  |  |" in page
    assert f"```\n{spec.describe(1)}\n```" in page
    assert markdown_page(definitions.values()).count("\n## ") == len(definitions)
    assert arrow_page(definitions.values()).count(" version ") == sum(
        len(list(spec.valid_versions)) for spec in definitions.values()
    )


def test_command(tmp_path, capsys):
    (tmp_path / "PlaceRequest.json").write_text(SMALL)
    (tmp_path / "Other.json").write_text(
        SMALL.replace("PlaceRequest", "Other").replace('"apiKey": 7', '"apiKey": 8')
    )
    generate = ["protocol", "generate", "--definitions", str(tmp_path)]
    assert main([*generate, "--out", str(tmp_path / "out")]) == 0
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "__init__.py",
        "other.py",
        "place_request.py",
        "py.typed",
    ]
    assert "4 files written" in capsys.readouterr().err
    assert main([*generate, "--format", "arrow", "--message", "Other"]) == 0
    assert capsys.readouterr().out == arrow_page([load(tmp_path)["Other"]])
    assert main([*generate, "--format", "markdown", "--out", str(tmp_path / "page.md")]) == 0
    assert (tmp_path / "page.md").read_text() == markdown_page(load(tmp_path).values())
    assert main(generate) == 2
    assert "--out is needed" in capsys.readouterr().err
    assert main([*generate, "--message", "Nothing", "--format", "arrow"]) == 2
    assert "there is no message Nothing" in capsys.readouterr().err

"""What a registry holds, out of it and into another one."""

import json
import uuid

import pytest
from registry_server import serve

from kcodec import registry as registries
from kcodec.cli.main import main
from kcodec.errors import ConfigError, RegistryError
from kcodec.registry import Config, Metadata, Reference, Rule, RuleSet, Schema, transfer
from kcodec.registry.memory import MemoryRegistry
from kcodec.registry.transfer import copy, entries, load, read_entries, write_entries


def filled(tags=None):
    """A registry with references, gaps, deletions, contexts, metadata, settings and every type."""
    found = MemoryRegistry(uuid.uuid4().hex)
    found.set_config(Config("FULL"))
    found.register("gone", Schema('"bytes"'))
    found.register("part", Schema('{"type":"record","name":"P","fields":[]}'))
    text = '{"type":"record","name":"W","fields":[{"name":"p","type":"P"}]}'
    found.register("a-whole", Schema(text, references=(Reference("P", "part", 1),)))
    text = '{"type":"object","title":"é\\u2028"}'
    found.register("json", Schema(text, "JSON", (), Metadata.of({"k": "v"}, tags)))
    found.register("proto", Schema('syntax = "proto3"; message M { }', "PROTOBUF"))
    found.register(":.lab:a/b", Schema('"int"'))
    found.delete_subject("gone")
    found.set_config(Config("NONE", normalize=True), "json")
    found.set_mode("READONLY", "proto")
    return found


def state(registry):
    return [each.json for each in entries(registry)]


@pytest.mark.parametrize("how", ["file", "folder", "sqlite", "http"])
def test_nothing_is_lost(tmp_path, how):
    source = filled({"t": ["x", "y"]})
    if how in ("file", "folder"):
        path = tmp_path / ("all.jsonl" if how == "file" else "all")
        assert write_entries(entries(source), path) == 6
        target = MemoryRegistry()
        assert load(target, read_entries(path)) == 6
    elif how == "sqlite":
        target = registries.open(f"sqlite:///{tmp_path}/copy.db")
        load(target, entries(source))
    else:
        target = MemoryRegistry()
        with serve(target) as server, serve(source) as other:
            assert copy(other.url, server.url) == 6
    assert [each["id"] for each in state(target) if "id" in each] == [1, 1, 2, 3, 4, 5]
    assert state(target) == state(source)
    assert target.get_version("gone", 1, deleted=True).id == 1
    # Ids go on after the last one.
    target.delete_mode("proto")
    assert target.register("new", Schema('"float"')).id == 6
    # Once more changes nothing.
    load(target, entries(source))
    target.close()


def test_versions_of_an_alias_are_its_own(tmp_path):
    source = MemoryRegistry()
    for subject, text in (("new", '"string"'), ("old", '"int"'), ("old", '"long"')):
        source.register(subject, Schema(text))
    source.delete_version("old", 1)
    source.set_config(Config(alias="new"), "old")
    path = tmp_path / "all.jsonl"
    assert write_entries(entries(source), path) == 3
    target = MemoryRegistry()
    for _ in range(2):
        assert load(target, read_entries(path)) == 3
        assert state(target) == state(source)
        assert target.get_version("old").schema.text == '"string"'
    assert [(each["subject"], each["id"]) for each in state(target) if "id" in each] == [
        ("new", 1),
        ("old", 2),
        ("old", 3),
    ]
    with (
        serve(source) as server,
        pytest.raises(RegistryError, match="old has versions, and is an alias of new"),
    ):
        copy(server.url, str(tmp_path / "more.jsonl"))


def test_what_is_there_is_not_overwritten(tmp_path):
    target = MemoryRegistry()
    target.register("other", Schema('"double"'))
    with pytest.raises(RegistryError) as info:
        load(target, entries(filled()))
    assert info.value.error_code == 42205
    assert target.mode("other", default_to_global=True) == "READWRITE"
    with pytest.raises(RegistryError):
        target.mode("gone")


def test_keys_that_are_not_copied_are_told_of(tmp_path, caplog):
    url = f"sqlite:///{tmp_path}/keys.db"
    registry = registries.open(url)
    registry.register("open", Schema('"int"', rules=RuleSet(domain=(Rule("r", type="CEL"),))))
    copy(url, str(tmp_path / "open.jsonl"))
    assert caplog.messages == []
    for name in ("closed", "sealed"):
        registry.register(name, Schema('"string"', rules=RuleSet(domain=(Rule("r", type="ENCRYPT"),))))
    copy(url, str(tmp_path / "all.jsonl"))
    assert caplog.messages == ["keys of encrypted fields are not copied, such as those of closed, sealed"]


def test_settings_of_what_has_no_versions():
    source, target = MemoryRegistry(), MemoryRegistry()
    source.set_config(Config("FULL"), "later")
    source.set_mode("READONLY", ":.lab:")
    load(target, entries(source))
    assert target.config("later") == Config("FULL")
    assert target.mode(":.lab:") == "READONLY"


def test_settings_of_what_is_only_read():
    source, target = MemoryRegistry(), MemoryRegistry()
    source.register("s", Schema('"int"'))
    for place in ("s", None):
        source.set_config(Config("FULL"), place)
        source.set_mode("READONLY", place)
    for _ in range(2):
        load(target, entries(source))
        assert list(entries(target)) == list(entries(source))


@pytest.mark.parametrize(
    "text", ["{", "[]", "{}", '{"subject": "s"}', '{"schema": "x", "subject": "s", "id": "x"}', "[" * 100_000]
)
def test_other_files_are_refused(tmp_path, text):
    (tmp_path / "x.jsonl").write_text(text)
    with pytest.raises(ConfigError, match=r"x\.jsonl, line 1: not an entry of a registry: ") as info:
        list(read_entries(tmp_path / "x.jsonl"))
    assert "Error" not in str(info.value)


ENTRY = {"subject": "s", "version": 1, "id": 1, "schema": '"int"'}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(
            (name, value)
            for name in ("version", "id", "order")
            for value in ("1e400", "Infinity", "NaN", "1.5")
        ),
        *(
            (name, value)
            for name in ("version", "id", "order")
            for value in ("true", '"x"', "-1", "2147483648")
        ),
        *(("subject", value) for value in ("5", '["s"]', "null", r'"\ud800"')),
    ],
)
def test_entries_whose_values_are_none(tmp_path, capfd, name, value):
    text = json.dumps(ENTRY | {name: "here"}).replace('"here"', value)
    (tmp_path / "x.jsonl").write_text(text)
    with pytest.raises(ConfigError, match=r"x\.jsonl, line 1: not an entry of a registry: "):
        list(read_entries(tmp_path / "x.jsonl"))
    for target in (f"sqlite:///{tmp_path}/x.db", str(tmp_path / "folder")):
        assert main(["registry", "copy", str(tmp_path / "x.jsonl"), target]) == 2
        assert "Traceback" not in capfd.readouterr().err
    assert not (tmp_path / "folder").exists()


def test_names_that_are_too_long_for_a_folder(tmp_path):
    """Nothing is written then; a file takes them."""
    source = MemoryRegistry(uuid.uuid4().hex)
    source.register("a", Schema('"int"'))
    source.register("ü" * 43, Schema('"int"'))
    with pytest.raises(
        ConfigError, match=r"has a name of 258 bytes as a folder, which may have 255: .*\.jsonl"
    ):
        write_entries(entries(source), tmp_path / "folder")
    assert not list((tmp_path / "folder").iterdir())
    assert write_entries(entries(source), tmp_path / "x.jsonl") == 2


def test_an_alias_of_itself_is_asked_for(tmp_path):
    source = MemoryRegistry()
    source.register("self", Schema('"int"'))
    source.set_config(Config(alias="self"), "self")
    with serve(source) as server:
        assert copy(server.url, str(tmp_path / "x.jsonl")) == 1


def test_a_source_that_is_no_text(tmp_path):
    path = tmp_path / "schemas.db"
    path.write_bytes(b"SQLite format 3\0\x82")
    with pytest.raises(ConfigError, match=r"schemas\.db, line 1: not an entry"):
        list(read_entries(path))


def test_subjects_that_a_file_system_takes_for_one(tmp_path, monkeypatch):
    registry = MemoryRegistry(uuid.uuid4().hex)
    registry.register("orders", Schema('"int"'))
    registry.register("Orders", Schema('"long"'))
    assert write_entries(entries(registry), tmp_path / "apart") == 2
    named = transfer._folder
    monkeypatch.setattr(transfer, "_folder", lambda subject: named(subject).lower())
    with pytest.raises(ConfigError, match=r"1\.json is there already, another subject has the same folder"):
        write_entries(entries(registry), tmp_path / "one")


def test_a_folder_that_is_not_empty_is_left_alone(tmp_path):
    (tmp_path / "mine").write_text("x")
    with pytest.raises(ConfigError, match="not empty"):
        write_entries(entries(filled()), tmp_path)


def test_names_of_subjects_stay_within_the_folder(tmp_path):
    source = MemoryRegistry()
    for subject in ("..", ".", "...", "a/../b", "settings"):
        source.register(subject, Schema('"int"'))
        source.set_mode("READONLY", subject)
    assert write_entries(entries(source), tmp_path / "all") == 5
    assert [each.name for each in tmp_path.iterdir()] == ["all"]
    target = MemoryRegistry()
    assert load(target, read_entries(tmp_path / "all")) == 5
    assert state(target) == state(source)


@pytest.mark.parametrize("name", ["all.jsonl", "all"])
def test_a_source_that_fails_leaves_the_target_as_it_was(tmp_path, name):
    def failing():
        yield from entries(filled())
        raise RegistryError("gone", 503)

    path = tmp_path / name
    if name == "all.jsonl":
        write_entries(entries(filled()), path)
    before = path.read_bytes() if path.exists() else None
    with pytest.raises(RegistryError, match="gone"):
        write_entries(failing(), path)
    assert (path.read_bytes() if path.exists() else None) == before
    if before is not None:
        assert copy(str(path), str(path)) == 6
        assert path.read_bytes() == before


def test_the_command(tmp_path, capsys):
    write_entries(entries(filled()), tmp_path / "a.jsonl")
    url = f"sqlite:///{tmp_path}/schemas.db"
    assert main(["registry", "copy", str(tmp_path / "a.jsonl"), url]) == 0
    assert capsys.readouterr().out == "6 versions copied\n"
    assert main(["registry", "copy", url, str(tmp_path / "b.jsonl")]) == 0
    lines = [(tmp_path / f"{name}.jsonl").read_text() for name in "ab"]
    assert lines[0] == lines[1]
    assert json.loads(lines[0].split("\n")[-2])["schemaType"] == "PROTOBUF"
    assert main(["registry", "copy", str(tmp_path / "none.jsonl"), url]) == 2
    assert "none.jsonl" in capsys.readouterr().err


def test_a_source_has_to_be_there(tmp_path, capsys):
    source = f"sqlite:///{tmp_path}/nowhere.db"
    with pytest.raises(ConfigError, match=r"nowhere\.db: there is no such file"):
        copy(source, str(tmp_path / "copy.jsonl"))
    assert main(["registry", "copy", source, str(tmp_path / "copy.jsonl")]) == 2
    assert "there is no such file" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_file_stays_until_all_is_read(tmp_path, capsys):
    """An earlier copy is not lost where the registry cannot be asked, nor a file that is copied to itself."""
    path = tmp_path / "a.jsonl"
    write_entries(entries(filled()), path)
    text = path.read_text()
    assert main(["registry", "copy", "http://127.0.0.1:1", str(path), "-X", "max.retries=0"]) == 2
    assert path.read_text() == text
    (tmp_path / "damaged.jsonl").write_text(text + "{")
    assert main(["registry", "copy", str(tmp_path / "damaged.jsonl"), str(path)]) == 2
    assert path.read_text() == text
    capsys.readouterr()
    assert main(["registry", "copy", str(path), str(path)]) == 0
    assert capsys.readouterr().out == "6 versions copied\n"
    assert path.read_text() == text


def test_a_subject_whose_name_means_another_is_not_copied_as_that():
    class Listing(MemoryRegistry):
        def subjects(self, *given, **options):
            return [":.:s"]

    with pytest.raises(RegistryError, match="its name means s"):
        list(entries(Listing()))

"""Paths that name no file: what a user mistypes, and what someone else has put there."""

import os
import zipfile

import pyarrow as pa
import pytest

import kcodec
from kcodec.cli.kafka_options import read_text
from kcodec.cli.main import main
from kcodec.protocol import write_batches

LOG = "00000000000000000000.log"
#: Its name is right, and nothing else.
NAMES = [LOG, "00000000000000000000.index", "00000000000000000000.timeindex", "00000000000000000000.snapshot"]


@pytest.fixture
def run(tmp_path, monkeypatch, capfd):
    """Run the tool in a folder; gives its status and the line that it prints of the error."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        capfd.readouterr()
        status = main([str(each) for each in arguments])
        out, errors = capfd.readouterr()
        assert "Traceback" not in out + errors
        assert len(errors) < 2_000
        return status, errors.strip()

    return run


@pytest.fixture(params=["device", "folder", "loop", "dangling", "missing"])
def place(request, tmp_path):
    """Return what makes a path of a name that cannot be read, and what is said of it."""

    def made(file):
        path = tmp_path / file
        if request.param == "device":
            path.symlink_to("/dev/zero")
            return "this is a device, not a file"
        if request.param == "folder":
            path.mkdir()
            return "Is a directory"
        if request.param == "loop":
            path.symlink_to(path)
            return "Too many levels of symbolic links"
        if request.param == "dangling":
            path.symlink_to(tmp_path / "gone")
        return "No such file or directory"

    return made


@pytest.mark.parametrize("file", NAMES)
def test_dump_log(run, place, file):
    message = place(file)
    status, told = run("dump-log", file)
    assert status == 2
    assert message in told
    assert file in told


@pytest.mark.parametrize("command", [("describe",), ("check-evolution",)])
def test_definitions(run, place, command):
    message = place("x.jar")
    status, told = run("protocol", *command, "x.jar", "x.jar")
    assert status == 2
    assert (
        message in told
        or "x.jar is neither a folder, nor a .json file, nor a jar" in told
        or ("no message definitions in x.jar" in told)
    )


def test_registries(run, place):
    message = place("x.jsonl")
    status, told = run("registry", "copy", "x.jsonl", "out.jsonl")
    # An empty folder is a registry without schemas.
    assert status == (0 if message == "Is a directory" else 2)
    assert status == 0 or message in told


def test_settings_of_registries(run, tmp_path):
    told = (2, "kcodec registry: -X takes NAME=VALUE")
    assert run("registry", "copy", "http://127.0.0.1:1", "out.jsonl", "-X", "basic.auth.user.info") == told
    (tmp_path / "c.properties").write_text("basic.auth.user.inf = me:sesame\n")
    asked = run(
        "registry", "copy", "http://127.0.0.1:1", "out.jsonl", "--config", str(tmp_path / "c.properties")
    )
    assert asked[0] == 2
    assert "did you mean 'basic.auth.user.info'?" in asked[1]
    assert "sesame" not in asked[1]


TEXTS = [
    ("consume", "t", "-b", "127.0.0.1:1", "--config", "file"),
    ("produce", "t", "-b", "127.0.0.1:1", "--value", "avro", "--schema", "file"),
    ("topics", "--config", "file"),
]


@pytest.mark.parametrize("arguments", TEXTS)
def test_settings_and_schemas(run, place, arguments):
    message = place("file")
    status, told = run(*arguments)
    assert status == 2
    assert message in told


@pytest.mark.parametrize("arguments", TEXTS)
def test_settings_and_schemas_that_are_no_text(run, tmp_path, arguments):
    (tmp_path / "file").write_bytes(b"{\xff")
    status, told = run(*arguments)
    assert (status, told) == (2, f"kcodec {arguments[0]}: file is not text: invalid start byte at byte 1")


def test_a_mark_before_a_text(tmp_path):
    (tmp_path / "schema.avsc").write_bytes(b'\xef\xbb\xbf"int"')
    assert read_text(tmp_path / "schema.avsc") == '"int"'


def test_folders_that_contain_themselves(run, tmp_path):
    """Links are not followed round and round."""
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "a").symlink_to(tmp_path / "a")
    (tmp_path / "a" / "b").symlink_to(tmp_path)
    for arguments in (("protocol", "describe", "a", "M"), ("protocol", "check-evolution", "a", "a")):
        assert run(*arguments) == (2, "kcodec protocol: there are no message definitions in a")
    assert run("registry", "copy", "a", "out.jsonl") == (0, "")


def test_what_is_written(run, tmp_path):
    kcodec.registry.open("memory://cli-paths").register("s", kcodec.registry.Schema('"int"'))
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "file").write_text("not empty")
    (tmp_path / "loop.jsonl").symlink_to(tmp_path / "loop.jsonl")
    for target, message in (
        ("folder", "the folder folder is not empty"),
        ("folder/file", "File exists"),
        ("folder/file/deeper.jsonl", "Not a directory"),
        ("missing/out.jsonl", "No such file or directory"),
        ("loop.jsonl", "Too many levels of symbolic links"),
    ):
        status, told = run("registry", "copy", "memory://cli-paths", target)
        assert status == 2
        assert message in told
    with zipfile.ZipFile(tmp_path / "x.jar", "w") as jar:
        jar.writestr(
            "common/message/Foo.json",
            '{"type": "data", "name": "Foo", "validVersions": "0", "flexibleVersions": "none", "fields": []}',
        )
    status, told = run("protocol", "generate", "--definitions", "x.jar", "--out", "folder/file")
    assert status == 2
    assert "folder/file" in told


@pytest.mark.parametrize("form", ["text", "json", "parquet"])
def test_what_is_read_is_not_written_over(run, tmp_path, form):
    data = write_batches(pa.table({"value": [b"v"]}))
    (tmp_path / LOG).write_bytes(data)
    (tmp_path / "link").symlink_to(tmp_path / LOG)
    for out in (LOG, f"./{LOG}", "link"):
        status, told = run("dump-log", LOG, "--format", form, "--out", out)
        assert status == 2
        assert "would be written over" in told
    assert (tmp_path / LOG).read_bytes() == data


@pytest.mark.parametrize("form", ["text", "json", "parquet"])
def test_a_file_is_kept_where_nothing_can_be_read(run, tmp_path, form):
    (tmp_path / "kept").write_text("as it was")
    status, told = run("dump-log", LOG, "--format", form, "--out", "kept")
    assert (status, "No such file" in told) == (2, True)
    assert (tmp_path / "kept").read_text() == "as it was"


@pytest.mark.parametrize("form", ["arrow", "markdown"])
def test_definitions_are_not_written_over(run, tmp_path, form):
    text = '{"type": "data", "name": "Foo", "validVersions": "0", "flexibleVersions": "none", "fields": []}'
    (tmp_path / "Foo.json").write_text(text)
    status, told = run(
        "protocol", "generate", "--definitions", "Foo.json", "--format", form, "--out", "Foo.json"
    )
    assert status == 2
    assert "would be written over" in told
    assert (tmp_path / "Foo.json").read_text() == text


def test_a_full_disk(run, tmp_path):
    if not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full")
    (tmp_path / LOG).write_bytes(write_batches(pa.table({"value": [b"v"]})))
    for form in ("text", "json", "parquet"):
        status, told = run("dump-log", LOG, "--format", form, "--out", "/dev/full")
        assert (status, "No space left on device" in told) == (2, True)


def test_names_that_are_not_text(run, tmp_path):
    """A name may be any bytes: it is told, and nothing of it reaches the terminal raw."""
    raw = os.fsencode(tmp_path) + b"/\xff\x1b[31m" + LOG.encode()
    name = os.fsdecode(raw)
    status, told = run("dump-log", name)
    assert status == 2
    assert "No such file" in told

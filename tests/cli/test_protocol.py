"""``kcodec protocol``."""

import json
import os
import subprocess
import sys

import pytest

from kcodec.cli.main import main


def definition(kind="int32", **members):
    fields = [{"name": "a", "type": kind, "versions": "0+"}]
    base = {
        "type": "data",
        "name": "Foo",
        "validVersions": "0-1",
        "flexibleVersions": "none",
        "fields": fields,
    }
    return json.dumps({**base, **members})


@pytest.fixture
def folders(tmp_path):
    for folder in ("old", "new"):
        (tmp_path / folder).mkdir()
    return tmp_path / "old", tmp_path / "new"


def test_check_evolution(folders, capsys):
    old, new = folders
    (old / "Foo.json").write_text(definition())
    (new / "Foo.json").write_text(definition())
    assert main(["protocol", "check-evolution", str(old), str(new)]) == 0
    assert capsys.readouterr().out == ""
    (new / "Foo.json").write_text(definition("int64", name="Bar"))
    assert main(["protocol", "check-evolution", str(old / "Foo.json"), str(new / "Foo.json")]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "Bar: message_name: the name Foo becomes Bar",
        "Bar.a: field_type: the type int32 becomes int64",
    ]
    (old / "Gone.json").write_text(definition(name="Gone"))
    (new / "Foo.json").write_text(definition())
    assert main(["protocol", "check-evolution", str(old), str(new)]) == 1
    assert capsys.readouterr().out == "Gone: message_removed: the message is gone\n"


def test_a_file_that_is_wrong_costs_itself(folders, capsys):
    """As those of Kafka before 2.4 are, which say nothing of flexible versions."""
    old, new = folders
    for folder in folders:
        (folder / "Foo.json").write_text(definition())
        (folder / "Bar.json").write_text(definition(name="Bar"))
    (new / "Bar.json").write_text(definition(name="Bar", flexibleVersions=None))
    reason = f"{new / 'Bar.json'}: You must specify a value for flexibleVersions. Please use 0+ for all new messages.\n"
    assert main(["protocol", "check-evolution", str(old), str(new)]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert f"left out: {reason}2 messages checked, 0 violations\n" == printed.err
    assert main(["protocol", "describe", str(new), "Foo"]) == 0
    assert "Foo" in capsys.readouterr().out
    assert main(["protocol", "describe", str(new), "Bar"]) == 2
    assert capsys.readouterr().err == f"kcodec protocol: {reason}"
    assert (
        main(["protocol", "generate", "--definitions", str(new), "--format", "markdown", "--message", "Foo"])
        == 0
    )
    assert main(["protocol", "generate", "--definitions", str(new), "--format", "markdown"]) == 0
    printed = capsys.readouterr()
    assert printed.err == f"left out: {reason}"


def test_errors_are_one_line(folders, capsys):
    old, new = folders
    (old / "Foo.json").write_text(definition("varint"))
    assert main(["protocol", "check-evolution", str(old), str(new)]) == 2
    assert capsys.readouterr().err == f"kcodec protocol: {old / 'Foo.json'}: a: Can't parse type varint\n"
    assert main(["protocol", "check-evolution", str(new), str(new)]) == 2
    assert "there are no message definitions" in capsys.readouterr().err


def test_describe(folders, capsys):
    old, _ = folders
    (old / "Foo.json").write_text(definition())
    assert main(["protocol", "describe", str(old), "Foo"]) == 0
    assert capsys.readouterr().out == "Foo version 1 => a\n  a => INT32\n"
    assert main(["protocol", "describe", str(old), "Foo", "7"]) == 2
    assert "its versions are 0-1" in capsys.readouterr().err
    assert main(["protocol", "describe", str(old), "Bar"]) == 2
    assert "there is no message Bar" in capsys.readouterr().err
    assert main(["protocol", "describe", str(old), "Fooo"]) == 2
    assert capsys.readouterr().err.rstrip().endswith("did you mean 'Foo'?")


@pytest.mark.parametrize("count", [1, 3000])
def test_a_reader_that_has_left_is_no_success(folders, count):
    for folder, kind in zip(folders, ("int32", "int64"), strict=True):
        for number in range(count):
            (folder / f"Foo{number}.json").write_text(definition(kind, name=f"Foo{number}", apiKey=number))
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "kcodec.cli.main", "protocol", "check-evolution", *map(str, folders)]
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writing)
    assert done.returncode == 141
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr

"""What a file holds does not drive the terminal that it is shown on."""

import os
import pty
import subprocess
import sys

import pyarrow as pa
import pytest

from kcodec.cli.main import main
from kcodec.protocol import write_batches

ATTACK = "a\x1b]0;owned\x07\x1b[2J\r\x9b31m‮b\tc"


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "00000000000000000000.log"
    table = pa.table({"key": [ATTACK.encode()], "value": [b"\x1b[31mred\nnext"]})
    path.write_bytes(write_batches(table))
    return path


def on_terminal(*arguments, **environment):
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "kcodec.cli.main", *map(str, arguments)],
        env=os.environ | environment,
        stdout=slave,
        stderr=slave,
        close_fds=True,
    )
    os.close(slave)
    shown = b""
    while True:
        try:
            part = os.read(master, 10_000)
        except OSError:
            break
        if not part:
            break
        shown += part
    process.wait()
    os.close(master)
    return shown.decode(environment.get("PYTHONIOENCODING", "utf-8"))


@pytest.mark.parametrize("form", ["text", "json"])
def test_contents_are_escaped_on_a_terminal(log, form):
    shown = on_terminal("dump-log", "--print-data-log", "--format", form, log)
    assert "owned" in shown
    # A terminal ends lines with both.
    assert not {each for each in shown.replace("\r\n", "\n") if not each.isprintable() and each not in "\n\t"}
    if form == "text":
        assert r"a\x1b]0;owned\x07\x1b[2J\r\x9b31m\u202eb" in shown


def test_names_of_files_too(tmp_path):
    path = tmp_path / "a\x1b[31mb.log"
    shown = on_terminal("dump-log", path)
    assert "\x1b" not in shown
    assert r"a\x1b[31mb.log" in shown


def test_in_a_pipe_the_text_stays_that_of_the_tool(log):
    run = subprocess.run(
        [sys.executable, "-m", "kcodec.cli.main", "dump-log", "--print-data-log", str(log)],
        capture_output=True,
        check=True,
    )
    assert ATTACK.encode() in run.stdout


@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_text_that_the_locale_has_no_characters_for(tmp_path, form, encoding):
    """In a pipe it is UTF-8, as in the file that ``--out`` names; the bytes of names are what they are."""
    folder = tmp_path / os.fsdecode(b"caf\xe9")
    folder.mkdir()
    path = folder / "00000000000000000000.log"
    path.write_bytes(write_batches(pa.table({"value": ["ü€😀".encode()]})))
    out = tmp_path / "out"
    arguments = ["dump-log", "--print-data-log", "--format", form, path]
    run = subprocess.run(
        [sys.executable, "-m", "kcodec.cli.main", *arguments],
        env=os.environ | {"PYTHONIOENCODING": encoding},
        capture_output=True,
        check=True,
    )
    assert "ü€😀".encode() in run.stdout
    assert form == "json" or b"caf\xe9" in run.stdout
    assert main([*map(str, arguments), "--out", str(out)]) == 0
    assert out.read_bytes() == run.stdout
    shown = on_terminal(*arguments, PYTHONIOENCODING=encoding)
    assert {"ascii": r"\xfc\u20ac\U0001f600", "latin-1": r"\u20ac\U0001f600", "utf-8": "ü€😀"}[
        encoding
    ] in shown

"""What files and topics hold does not drive the terminal that it is shown on."""

import csv
import io
import itertools
import json
import os
import pty
import re
import subprocess
import sys
import threading
from contextlib import suppress
from types import SimpleNamespace

import pyarrow as pa
import pytest
from fake_broker import FAST
from hypothesis import given
from hypothesis import strategies as st

from kcodec.cli import progress
from kcodec.cli.main import main
from kcodec.cli.terminal import Terminal, plain_text
from kcodec.kafka import write
from kcodec.protocol import write_batches

SETTINGS = [f"-X{name}={value}" for name, value in FAST.items()]
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
        assert r"a\u001b]0;owned\u0007\u001b[2J\u000d\u009b31m\u202eb" in shown
    else:
        assert json.loads(shown)["records"][0]["key"] == ATTACK


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


@pytest.mark.sampled(5)
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


# Topics -----------------------------------------------------------------------------------------------


@pytest.fixture
def topic(cluster):
    """Return the options that read a topic whose key and headers are an attack, and its values bytes and their like."""
    values = [b"\x83", rb"\x83", "\u0083".encode(), rb"\u0083", rb"C:\x\u"]
    headers = pa.array([[("h\x1b", ATTACK.encode())]] * len(values), pa.map_("string", "binary"))
    table = pa.table({"key": [ATTACK.encode()] * len(values), "value": values, "headers": headers})
    write(table, "orders", partition=0, servers=cluster.address, config=FAST)
    return ("consume", "orders", "-b", cluster.address, *SETTINGS)


@pytest.fixture
def shown_by(monkeypatch):
    """Run the tool in this process, with its output on a terminal, and its errors if need be; return what is shown."""

    def run(*arguments, errors=False):
        master, slave = pty.openpty()
        parts = []

        def collect():
            with suppress(OSError):
                while part := os.read(master, 10_000):
                    parts.append(part)

        reading = threading.Thread(target=collect)
        reading.start()
        with open(slave, "w", encoding="utf-8") as terminal, monkeypatch.context() as patch:
            patch.setattr("sys.stdout", terminal)
            if errors:
                patch.setattr("sys.stderr", terminal)
            assert main(list(arguments)) == 0
        reading.join()
        os.close(master)
        return b"".join(parts).decode().replace("\r\n", "\n")

    return run


def unsafe(shown):
    return {each for each in shown if not each.isprintable() and each not in "\n\t"}


PRINT = ("--property", "print.key=true", "--property", "print.headers=true")


@pytest.mark.parametrize("format", ["table", "json", "csv", "text"])
def test_records_do_not_drive_the_terminal(topic, shown_by, format):
    shown = shown_by(*topic, "-o", format, *PRINT)
    assert "owned" in shown
    assert not unsafe(shown)


@pytest.mark.parametrize("format", ["csv", "text"])
def test_bytes_and_what_looks_like_them(topic, shown_by, format):
    shown = shown_by(*topic, "-o", format, "--columns", "value").splitlines()
    values = [r"\x83", r"\x5cx83", r"\u0083", r"\u005cu0083", r"C:\x\u"]
    assert shown == (['"value"', *(f'"{each}"' for each in values)] if format == "csv" else values)


def test_json_on_a_terminal_is_what_it_is_elsewhere(topic, shown_by, capfd):
    shown = shown_by(*topic, "-o", "json")
    assert main([*topic, "-o", "json"]) == 0
    # Others than \n are ends of lines to splitlines.
    out = capfd.readouterr().out
    assert shown != out
    assert [json.loads(line) for line in shown.splitlines()] == [
        json.loads(line) for line in out.split("\n")[:-1]
    ]


def test_a_pipe_has_all_bytes(topic, capfdbinary, tmp_path):
    more = ("-o", "text", *PRINT)
    assert main([*topic, *more, "-n", "1"]) == 0
    out = capfdbinary.readouterr().out
    assert out == b"h\x1b:" + ATTACK.encode() + b"\t" + ATTACK.encode() + b"\t\x83\n"
    assert main([*topic, *more, "-n", "1", "--output", str(tmp_path / "out")]) == 0
    assert (tmp_path / "out").read_bytes() == out
    assert main([*topic, "-o", "csv", "--columns", "value"]) == 0
    rows = list(csv.reader(io.StringIO(capfdbinary.readouterr().out.decode())))
    assert [row[0] for row in rows[1:]] == [r"\x83", r"\x5cx83", "\u0083", r"\u0083", r"C:\x\u"]


@pytest.mark.parametrize("format", ["csv", "table", "json"])
def test_names_of_topics(cluster, shown_by, monkeypatch, format):
    """A broker may tell any."""
    monkeypatch.setattr(
        "kcodec.kafka.topics.topic_list.list_topics", lambda *_, **__: pa.table({"topic": [ATTACK]})
    )
    shown = shown_by("topics", "-b", cluster.address, "-o", format)
    assert "owned" in shown
    assert not unsafe(shown)


def test_progress(cluster, shown_by, monkeypatch):
    """It is a line of its own, behind records that are shown on the same terminal, and gone at the end."""
    for key in ("a\x1b[2J", "b"):
        table = pa.table({"key": [key], "value": [b"v"]})
        write(table, "orders", partition=0, servers=cluster.address, config=FAST)
    # Each look at the clock is a second later.
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=itertools.count().__next__))
    more = ("-X", "max.partition.fetch.bytes=1", "-o", "text", "--property", "print.key=true")
    shown = shown_by("consume", "orders", "-b", cluster.address, *SETTINGS, *more, errors=True)
    clear = re.escape("\r\x1b[K")
    line = r"\r%s records, 0\.0 MB, \d+ a second\x1b\[K" + clear
    assert re.fullmatch(rf"a\\u001b\[2J\tv\n{line % 1}b\tv\n{line % 2}", shown)


# Escapes are told from text ---------------------------------------------------------------------------


class _Screen(io.StringIO):
    def isatty(self):
        return True


awkward = st.text(st.sampled_from("\\ux05c1bd8394e\x1b\x83\u202e\ud83dü"), max_size=12)


@given(awkward)
def test_a_terminal_shows_texts_apart(text):
    screen = _Screen()
    Terminal(screen).write(text)
    shown = screen.getvalue()
    assert not unsafe(shown)
    escape = r"\\u(00[015789][0-9a-f]|061c|20[026][0-9a-f]|d[89a-f][0-9a-f]{2})"
    assert re.sub(escape, lambda found: chr(int(found[1], 16)), shown) == text


@given(st.binary(max_size=8) | awkward.map(lambda text: text.encode("utf-8", "replace")))
def test_bytes_are_apart_as_text(data):
    def byte(found):
        return "\\" if found[1] == "5c" else chr(0xDC00 + int(found[1], 16))

    text = plain_text(data)
    assert text.encode().decode() == text
    assert re.sub(r"\\x([0-9a-f]{2})", byte, text).encode("utf-8", "surrogateescape") == data

"""kaskade, which shows topics on the terminal, with kcodec's registry server."""

import codecs
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
from contextlib import closing, suppress

import pyarrow as pa
import pytest
from artifacts import had, python
from processes import ENDS_WITH_US
from topics import Message

from kcodec import Serde

SCHEMAS = {
    "AVRO": '{"type":"record","name":"Order","fields":[{"name":"id","type":"long"},{"name":"by","type":"string"}]}',
    "JSON_SR": '{"type":"object","properties":{"id":{"type":"integer"},"by":{"type":"string"}}}',
    "PROTOBUF": 'syntax = "proto3"; message Order { int64 id = 1; string by = 2; }',
}
RIGHT, CONTROL_C = b"\x1b[C", b"\x03"
#: What tells the terminal where to write and in which colours.
CONTROLS = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\].*?(?:\x07|\x1b\\)|P.*?\x1b\\|[@-Z\\-_=>]|[(][AB0])", re.DOTALL
)


class Terminal:
    """A terminal of 50 lines that a program runs in."""

    def __init__(self, command, home):
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 200, 0, 0))
        environment = {"PATH": os.defpath, "TERM": "xterm-256color", "HOME": home}
        self.process = subprocess.Popen(
            [*ENDS_WITH_US, *command],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env=environment,
            start_new_session=True,
        )
        os.close(theirs)

    def type(self, keys):
        os.write(self._ours, keys)

    def read_until(self, *words, seconds=60):
        """Return what is written, without controls, once it has these words; without words, once the program ends."""
        found, end = "", time.monotonic() + seconds
        decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        while time.monotonic() < end:
            if select.select([self._ours], [], [], 0.2)[0]:
                try:
                    found += decoder.decode(os.read(self._ours, 65536))
                except OSError:
                    # Nothing has the other side open any more.
                    return CONTROLS.sub("", found)
                text = CONTROLS.sub("", found)
                if words and all(word in text for word in words):
                    return text
        raise AssertionError(CONTROLS.sub("", found)[-3000:])

    def type_until(self, keys, *words):
        """Type until these words are written: what is typed before a screen is ready is lost."""
        for _ in range(12):
            self.type(keys)
            with suppress(AssertionError):
                return self.read_until(*words, seconds=5)
        raise AssertionError(words)

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self._ours)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("kind", SCHEMAS)
def test_records_on_the_screen(kafka, own_server, topic, tmp_path, kind):
    serde = Serde(kind, own_server.address, topic=topic, schema=SCHEMAS[kind])
    rows = pa.array([{"id": 7_000_000_001, "by": "anna"}, {"id": 8, "by": "zoë"}])
    values = serde.serialize(rows).to_pylist()
    kafka.produce(topic, [Message(b"%d" % row, value) for row, value in enumerate(values)])
    command = [had(lambda: python("kaskade")), "-c", "from kaskade.main import cli; cli()", "consumer"]
    command += ["-b", kafka.address, "-t", topic, "--earliest", "-k", "string", "-v", "registry"]
    command += ["--registry", f"url={own_server.address}"]
    with closing(Terminal(command, str(tmp_path))) as terminal:
        shown = terminal.read_until("7000000001", "zoë")
        # Protobuf's JSON has numbers of 64 bits as text.
        assert re.search(r"\{'id': '?7000000001'?, 'by': 'anna'\}", shown)
        terminal.type_until(b"\r", "CONTENT")
        schema_id = int.from_bytes(values[0][1:5], "big")
        terminal.type_until(RIGHT, f"REGISTRY · {kind.removesuffix('_SR')}", f"Confluent · ID {schema_id}")
        terminal.type(CONTROL_C)
        terminal.read_until()
        assert terminal.process.wait(20) == 0

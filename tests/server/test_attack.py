"""The server while it is attacked: it answers, keeps its memory, and ends when it is told to."""

import base64
import json
import socket
import threading
import time
from contextlib import suppress
from urllib.request import urlopen

import pytest
from ports import HOST
from serve_command import asked, command

from kcodec.server.access.passwords import hashed

KEPT = hashed("secret")
TYPE = "application/vnd.schemaregistry.v1+json"
WRITER = "Basic " + base64.b64encode(b"writer:secret").decode()

#: Memory that the process may come to have, and seconds for an answer and for the end.
MOST_BYTES, HEALTH, END = 400 << 20, 1.0, 5.0


@pytest.fixture
def server(tmp_path, request):
    grants = [{"role": "write", "users": ["writer"]}]
    (tmp_path / "access.json").write_text(json.dumps({"users": {"writer": KEPT}, "grants": grants}))
    with command(tmp_path, "--access=access.json", f"--timeout={getattr(request, 'param', 20)}") as found:
        yield found


def peak(server):
    """Return the most memory that a server's process has had."""
    with open(f"/proc/{server.process.pid}/status") as status:
        (line,) = (line for line in status if line.startswith("VmHWM:"))
    return int(line.split()[1]) << 10


class Attack:
    """Requests that are sent without a thought for their answers."""

    def __init__(self, server):
        self.address = (HOST, server.port)
        self.threads = []
        self.sockets = []

    def send(self, path, body, user=WRITER, method="POST", length=None):
        def run():
            with suppress(OSError):
                connection = socket.create_connection(self.address, timeout=30)
                self.sockets.append(connection)
                head = (
                    f"{method} {path} HTTP/1.1\r\nHost: {HOST}\r\nContent-Type: {TYPE}\r\n"
                    f"Content-Length: {len(body) if length is None else length}\r\n"
                    + (f"Authorization: {user}\r\n" if user else "")
                    + "\r\n"
                )
                connection.sendall(head.encode() + body)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        self.threads.append(thread)

    def end(self):
        for each in list(self.sockets):
            each.close()
        for each in self.threads:
            each.join(30)


def health(server, times=9):
    """Return the middle one of the times that the server took to say that it lives."""
    found = []
    for _ in range(times):
        start = time.monotonic()
        with urlopen(f"http://{HOST}:{server.port}/health/live", timeout=30) as answer:
            assert answer.status == 200
        found.append(time.monotonic() - start)
        time.sleep(0.05)
    return sorted(found)[times // 2]


#: Patterns that take an engine without bounds for ever, or long to compile.
PATTERNS = [
    "(?!z)" + "(||||||||||)" * 12 + "!",
    "(a*)*" * 30 + "!",
    "(?i:[\\u0001-\\uffff])" * 1500,
    "(x+x+)+y",
]


def choice(name, count):
    """Return a schema whose comparison with another one takes the square of its size."""
    members = [
        {"type": "object", "properties": {f"{name}{n}": {"type": "string"}}, "required": [f"{name}{n}"]}
        for n in range(count)
    ]
    return {"schemaType": "JSON", "schema": json.dumps({"oneOf": members})}


def test_an_attack(server):
    registered = asked(
        f"{server.url}/subjects/s/versions", "POST", choice("a", 150), headers={"Authorization": WRITER}
    )
    assert registered[0] == 200
    text = json.dumps({"type": "object", "properties": {"x" * 40 + "!": {"type": "string"}}})
    plain = {"schemaType": "JSON", "schema": text}
    assert (
        asked(f"{server.url}/subjects/p/versions", "POST", plain, headers={"Authorization": WRITER})[0] == 200
    )
    attack = Attack(server)
    megabyte = b" " * (1 << 20)
    for number in range(60):
        # Strangers, and users whose bodies do not end.
        attack.send("/subjects/s/versions", megabyte, user="", length=16 << 20)
        attack.send("/subjects/s/versions", megabyte, length=16 << 20)
        if number < 6:
            # Values without end; a schema that is all of them.
            attack.send("/subjects/s/versions", b"[" + b"[]," * (4 << 20) + b"[]]")
            text = json.dumps({"type": "int", "x": [[]] * (1 << 20)})
            attack.send("/subjects/t/versions", json.dumps({"schema": text}).encode())
            # Work without end, behind the same path as what was quick.
            body = json.dumps(choice(f"b{number}", 150)).encode()
            attack.send("/compatibility/subjects/s/versions/latest?verbose=true", body)
    for number, pattern in enumerate(PATTERNS):
        text = json.dumps({"patternProperties": {pattern: {}}, "additionalProperties": False})
        body = json.dumps({"schemaType": "JSON", "schema": text}).encode()
        attack.send(f"/subjects/pattern-{number}/versions", body)
        attack.send("/compatibility/subjects/p/versions/latest", body)
    assert health(server) < HEALTH
    assert peak(server) < MOST_BYTES
    start = time.monotonic()
    server.stop()
    assert time.monotonic() - start < END
    attack.end()


@pytest.mark.parametrize("server", [120], indirect=True)
def test_work_without_end_is_told(server):
    """What takes more work than a comparison may is refused with a reason, however slow the machine is."""
    header = {"Authorization": WRITER}
    assert asked(f"{server.url}/subjects/s/versions", "POST", choice("a", 400), headers=header)[0] == 200
    status, answer = asked(f"{server.url}/subjects/s/versions", "POST", choice("b", 400), headers=header)[:2]
    assert (status, answer["error_code"]) == (422, 42201)
    assert "takes more than" in answer["message"]

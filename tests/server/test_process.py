"""The server as it is run: workers that share a file, signals, slow and hostile connections, TLS."""

import contextlib
import itertools
import json
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from contextlib import suppress
from http.client import HTTPException
from pathlib import Path

import pytest
from ports import HOST
from processes import listens, until
from registry_server import running
from serve_command import asked, command

from kcodec.cli.main import main
from kcodec.registry import Schema
from kcodec.registry.memory import MemoryRegistry
from kcodec.registry.sqlite import SqliteRegistry
from kcodec.server import connection
from kcodec.server.access.passwords import is_password
from kcodec.server.application import RegistryApplication
from kcodec.server.settings import ServerSettings


def test_the_first_day(tmp_path):
    with command(tmp_path) as server:
        assert asked(f"{server.url}/subjects/s/versions", "POST", {"schema": '"int"'})[1]["id"] == 1
        assert asked(f"{server.url}/subjects") == (200, ["s"])
        server.stop()
    # One file, with nothing beside it.
    assert sorted(os.listdir(tmp_path)) == ["log", "schemas.db"]
    assert (tmp_path / "schemas.db").stat().st_mode & 0o777 == 0o600
    assert SqliteRegistry(str(tmp_path / "schemas.db")).subjects() == ["s"]
    log = (tmp_path / "log").read_text()
    assert "sqlite:///schemas.db at http://127.0.0.1" in log
    assert '"path": "/subjects/s/versions"' in log
    assert "Traceback" not in log


def test_a_port_that_is_taken(tmp_path):
    with socket.socket() as taken:
        taken.bind((HOST, 0))
        taken.listen()
        arguments = ["registry", "serve", f"--port={taken.getsockname()[1]}"]
        run = subprocess.run(
            [sys.executable, "-m", "kcodec.cli.main", *arguments],
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )
    assert run.returncode
    assert "address already in use" in run.stderr.lower()
    assert "Traceback" not in run.stderr
    # Nothing is said to be served there.
    assert " at http" not in run.stderr


def test_a_file_that_is_gone_is_not_healthy(tmp_path):
    with command(tmp_path) as server:
        assert asked(f"{server.url}/subjects/s/versions", "POST", {"schema": '"int"'})[0] == 200
        (tmp_path / "schemas.db").rename(tmp_path / "elsewhere.db")
        assert asked(f"{server.url}/health") == (503, {"status": "DOWN"})
        # What was answered would be lost.
        status, answer = asked(f"{server.url}/subjects/t/versions", "POST", {"schema": '"int"'})
        assert (status, answer["error_code"]) == (500, 50001)
        (tmp_path / "elsewhere.db").rename(tmp_path / "schemas.db")
        assert asked(f"{server.url}/health")[0] == 200
        server.stop()


class Writers:
    """Threads that register, and know what they were answered."""

    def __init__(self, url, count=8):
        self.url, self.answered, self.refused, self.going = url, {}, [], True
        self.threads = [threading.Thread(target=self.write, args=(number,)) for number in range(count)]

    def write(self, number):
        for round in itertools.count():
            if not self.going:
                return
            # Every schema is sent under two subjects, by two threads.
            name = f"{number // 2}_{round}"
            subject, body = f"s{number}-{round}", {"schema": f'{{"type":"fixed","name":"F{name}","size":1}}'}
            try:
                status, found = asked(f"{self.url}/subjects/{subject}/versions", "POST", body)
            # An answer may end in the middle.
            except (OSError, HTTPException, ValueError):
                # Who asks at once again only keeps the server from starting.
                time.sleep(0.02)
                continue
            if status != 200:
                self.refused.append(found)
                return
            self.answered[subject] = (found["id"], found["schema"])

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *error):
        self.going = False
        for thread in self.threads:
            thread.join()


def check(registry, answered):
    """Everything answered is there; ids are those of contents, without a gap."""
    for subject, (number, text) in answered.items():
        found = registry.get_version(subject, 1)
        assert (found.id, found.schema.text) == (number, text)
    ids = {}
    for subject in registry.subjects():
        found = registry.get_version(subject, 1)
        assert ids.setdefault(found.schema.text, found.id) == found.id
    assert sorted(ids.values()) == list(range(1, len(ids) + 1))


@pytest.mark.parametrize("workers", [pytest.param(1, marks=pytest.mark.thorough), 2])
def test_many_writers_and_kills_lose_nothing_that_was_answered(tmp_path, workers):
    with command(tmp_path, "sqlite:///schemas.db", f"--workers={workers}") as server:
        with Writers(server.url) as writers:
            for _ in range(3):
                before = len(writers.answered)
                end = time.monotonic() + 30
                while len(writers.answered) < before + 20 and time.monotonic() < end:
                    time.sleep(0.02)
                server.kill()
                server.start()
        server.stop()
    assert writers.refused == []
    assert len(writers.answered) >= 60
    registry = SqliteRegistry(str(tmp_path / "schemas.db"))
    check(registry, writers.answered)
    registry.close()


def test_a_worker_that_dies_is_replaced(tmp_path):
    with command(tmp_path, "--workers=2") as server:
        children = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children")
        if not children.exists():
            pytest.skip("the kernel does not tell the children of a process")
        workers = [int(each) for each in children.read_text().split()]
        # Python's tracker of shared resources is a child too.
        workers = [each for each in workers if b"spawn_main" in Path(f"/proc/{each}/cmdline").read_bytes()]
        assert len(workers) == 2
        os.kill(workers[0], signal.SIGKILL)
        end = time.monotonic() + 30
        while time.monotonic() < end and str(workers[0]) in children.read_text().split():
            time.sleep(0.1)
        for _ in range(20):
            assert asked(f"{server.url}/health")[0] == 200
        metrics = urllib.request.urlopen(f"{server.url}/metrics").read().decode()
        assert "kcodec_registry_requests_total" in metrics
        server.stop()


def test_workers_end_with_what_started_them(tmp_path):
    """What is killed cannot tell its workers, which are not to keep the port from the next one."""
    with command(tmp_path, "--workers=2") as server:
        server.process.kill()
        server.process.wait()
        until(lambda: not listens(server.port))
        server.log.close()
        server.start()
        assert server.stop() == 0


def test_a_signal_lets_requests_end(tmp_path):
    big = json.dumps([{"name": f"f{n}", "type": "int"} for n in range(3000)])
    body = {"schema": f'{{"type":"record","name":"R","fields":{big}}}'}
    found = []

    def ask():
        # It may come too late to be taken at all.
        with contextlib.suppress(ConnectionError):
            found.append(asked(f"{server.url}/subjects/s/versions", "POST", body))

    with command(tmp_path) as server:
        asking = threading.Thread(target=ask)
        asking.start()
        time.sleep(0.02)
        assert server.stop() in (0, -signal.SIGTERM)
        asking.join()
    assert [status for status, _ in found] in ([200], [])


@contextlib.contextmanager
def serving(loop, timeout):
    registry = MemoryRegistry()
    settings = ServerSettings(
        registry.url, access_log=False, timeout=timeout, idle_timeout=0.5, max_connections=50
    )
    with running(RegistryApplication(registry, settings), settings, loop) as url:
        yield url


@pytest.fixture(params=["auto", "asyncio"])
def served(request):
    """A server in this process, with uvloop and without, and its address."""
    with serving(request.param, 0.5) as url:
        yield url


@pytest.fixture(params=["auto", "asyncio"])
def patient(request):
    """One that waits longer for what clients do not send than a slow machine takes to connect many of them."""
    with serving(request.param, 30) as url:
        yield url


def connected(url):
    host, port = url.rpartition("/")[2].split(":")
    return socket.create_connection((host, int(port)), timeout=10)


def received(connection):
    """Return all that comes until the other side closes."""
    parts = []
    with suppress(ConnectionError):
        while part := connection.recv(65536):
            parts.append(part)
    return b"".join(parts)


class TestConnections:
    def test_idle_ones_make_room(self, served):
        """Of more connections than there may be, those that ask nothing are closed, the oldest first."""
        host = served.rpartition("/")[2].encode()
        idle = [connected(served) for _ in range(70)]
        with connected(served) as asking:
            asking.sendall(b"GET /subjects HTTP/1.1\r\nHost: %b\r\n\r\n" % host)
            assert asking.recv(1 << 16).startswith(b"HTTP/1.1 200")
        assert received(idle[0]) == b""
        for each in idle:
            each.close()

    def test_those_that_say_nothing_are_closed(self, served, monkeypatch):
        monkeypatch.setattr(connection, "_HEAD_SECONDS", 0.2)
        for sent in (b"", b"GET /subjects HT", b"GET /subjects HTTP/1.1\r\nHost: x\r\n"):
            with connected(served) as silent:
                silent.sendall(sent)
                assert received(silent) == b""

    def test_a_head_that_comes_byte_by_byte(self, served, monkeypatch):
        monkeypatch.setattr(connection, "_HEAD_SECONDS", 0.2)
        with connected(served) as slow, suppress(ConnectionError):
            start = time.monotonic()
            for byte in b"GET /subjects HTTP/1.1\r\nHost: x\r\n" * 10:
                slow.sendall(bytes([byte]))
                time.sleep(0.01)
        assert time.monotonic() - start < 2

    def test_a_body_that_does_not_come(self, served):
        with connected(served) as slow:
            slow.sendall(b"POST /subjects/s HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{")
            answer = received(slow)
        assert answer.startswith(b"HTTP/1.1 408 ")
        assert answer.endswith(b'{"error_code":408,"message":"HTTP 408 Request Timeout"}')

    def test_an_answer_is_written_in_one_piece(self, served, monkeypatch):
        pieces = []

        class Writing:
            def __init__(self, transport):
                self.transport = transport

            def __getattr__(self, name):
                return getattr(self.transport, name)

            def write(self, data):
                pieces.append(data)
                self.transport.write(data)

            def writelines(self, parts):
                self.write(b"".join(parts))

        made = connection.BoundedProtocol.connection_made
        monkeypatch.setattr(
            connection.BoundedProtocol,
            "connection_made",
            lambda self, transport: made(self, Writing(transport)),
        )
        assert asked(f"{served}/subjects") == (200, [])
        assert len(pieces) == 1
        assert pieces[0].startswith(b"HTTP/1.1 200 ")
        assert pieces[0].endswith(b"\r\n\r\n[]")

    def test_requests_that_are_sent_together(self, served):
        with connected(served) as client:
            client.sendall(b"GET /subjects HTTP/1.1\r\nHost: x\r\n\r\n" * 5)
            client.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            answer = received(client)
        assert answer.count(b"HTTP/1.1 200 ") == 6
        assert (answer.count(b"\r\n\r\n[]"), answer.endswith(b"\r\n\r\n{}")) == (5, True)

    def test_very_many_requests_that_are_sent_together(self, patient):
        """The last of which has just begun: what stands before it is not its head."""
        request = b"GET /subjects HTTP/1.1\r\nHost: x\r\n\r\n"
        last = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
        with connected(patient) as client:
            client.sendall(request * 5000 + last[:10])
            time.sleep(0.5)
            client.sendall(last[10:])
            answer = received(client)
        assert (answer.count(b"HTTP/1.1 200 "), answer.endswith(b"\r\n\r\n{}")) == (5001, True)

    @pytest.mark.parametrize("size", [1, 50, 100_000])
    @pytest.mark.parametrize("is_chunked", [False, True])
    def test_other_protocols_that_are_offered(self, patient, size, is_chunked, caplog):
        """As by Java's client, with each request: it has a body nevertheless, and others follow."""
        body = b'{"schema": "\\"int\\""}'
        offered = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAEAAAAIAAAABAAMAAABk\r\n"
        length = b"Content-Length: %d\r\n" % len(body)
        if is_chunked:
            length, body = b"Transfer-Encoding: chunked\r\n", b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
        post = b"POST /subjects/s/versions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        get = b"GET /subjects HTTP/1.1\r\nHost: x\r\n"
        end = b"GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: close, upgrade\r\n\r\n"
        sent = (post + offered + length + b"\r\n" + body + get + offered + b"\r\n") * 3 + end
        with connected(patient) as client:
            for start in range(0, len(sent), size):
                client.sendall(sent[start : start + size])
            answer = received(client)
        assert answer.count(b"HTTP/1.1 200 ") == answer.count(b"HTTP/1.1 ") == 7
        assert (answer.count(b'"version":1,"id":1,'), answer.count(b'\r\n\r\n["s"]')) == (3, 3)
        assert not caplog.records

    def test_answers_that_nobody_takes(self, monkeypatch):
        monkeypatch.setattr(connection, "_SEND_SECONDS", 0.2)
        registry = MemoryRegistry()
        text = json.dumps(["x" * 1000] * 5000)
        registry.register("s", Schema(f'{{"type":"fixed","name":"F","size":1,"long":{text}}}'))
        settings = ServerSettings(registry.url, access_log=False)
        with running(RegistryApplication(registry, settings), settings) as url, connected(url) as slow:
            for _ in range(4):
                slow.sendall(b"GET /schemas/ids/1 HTTP/1.1\r\nHost: x\r\n\r\n")
            time.sleep(3)
            assert 0 < len(received(slow)) < 4 * len(text)

    def test_idle_ones_are_closed(self, served):
        with connected(served) as idle:
            idle.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            start = time.monotonic()
            assert received(idle).startswith(b"HTTP/1.1 200 ")
            assert time.monotonic() - start < 5

    def test_heads_without_end(self, served):
        with connected(served) as hostile:
            with suppress(ConnectionError):
                hostile.sendall(b"GET / HTTP/1.1\r\nX: " + b"a" * 20_000_000)
            answer = received(hostile)
        assert answer in (b"", *([answer] if answer.startswith(b"HTTP/1.1 400 ") else []))

    @pytest.mark.parametrize(
        "sent",
        [
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
            b"GET\r\n\r\n",
            b"GET / HTTP/9.9\r\n\r\n",
            b"GET /\xff\xfe HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
            b"GET http://[::1/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
            b"GET * HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
            b"GET ../../etc/passwd HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
            b"GET /../../etc/passwd HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
            b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
            b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFF\r\n",
            b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
            b"GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: close, upgrade\r\n\r\n",
        ],
    )
    def test_what_is_no_request(self, served, sent):
        with connected(served) as hostile:
            hostile.sendall(sent)
            answer = received(hostile)
        status = int(answer.split()[1]) if answer else 400
        assert status in (200, 400, 404)
        assert b"Traceback" not in answer
        assert asked(f"{served}/subjects") == (200, [])

    def test_too_many(self, patient):
        busy = [connected(patient) for _ in range(49)]
        for each in busy:
            each.sendall(
                b"POST /subjects/s HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\nExpect: 100-continue\r\n\r\n"
            )
            assert each.recv(100).startswith(b"HTTP/1.1 100 ")
        with connected(patient) as late:
            late.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            assert received(late).startswith(b"HTTP/1.1 503 ")
        for each in busy:
            each.close()
        end = time.monotonic() + 5
        status = 503
        while status == 503 and time.monotonic() < end:
            with connected(patient) as late:
                late.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
                status = int(received(late).split()[1])
        assert status == 200

    def test_huge_bodies_are_not_kept(self, served):
        with connected(served) as hostile:
            hostile.sendall(b"POST /subjects/s HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n")
            assert received(hostile).startswith(b"HTTP/1.1 413 ")
        with connected(served) as hostile:
            head = b"POST /subjects/s HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
            hostile.sendall(head)
            with suppress(ConnectionError):
                for _ in range(100):
                    hostile.sendall(b"F4240\r\n" + b" " * 1_000_000 + b"\r\n")
                raise AssertionError("100 MB were taken")
        assert asked(f"{served}/subjects") == (200, [])


def test_ten_thousand_subjects(tmp_path):
    registry = SqliteRegistry(str(tmp_path / "schemas.db"))
    registry.database.together(
        [
            lambda n=n: registry.register(f"subject-{n:05}", Schema(f'"{["int", "long"][n % 2]}"'))
            for n in range(10_000)
        ]
    )
    settings = ServerSettings(registry.url, access_log=False)
    with running(RegistryApplication(registry, settings), settings) as url:
        status, found = asked(f"{url}/subjects")
        assert (status, len(found), found[-1]) == (200, 10_000, "subject-09999")
        assert asked(f"{url}/subjects?offset=9998&limit=5")[1] == ["subject-09998", "subject-09999"]
        assert len(asked(f"{url}/subjects?subjectPrefix=subject-0000")[1]) == 10
        assert len(asked(f"{url}/schemas")[1]) == 1000
        assert len(asked(f"{url}/schemas/ids/1/subjects")[1]) == 5000


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A certificate for this host, signed by itself, and its key."""
    if shutil.which("openssl") is None:
        pytest.skip("no openssl on the PATH, which makes a certificate")
    folder = tmp_path_factory.mktemp("tls")
    made = folder / "server.pem"
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "2",
        "-subj",
        f"/CN={HOST}",
    ]
    command += [
        "-addext",
        f"subjectAltName=IP:{HOST}",
        "-out",
        str(made),
        "-keyout",
        str(folder / "server.key"),
    ]
    subprocess.run(command, check=True, capture_output=True)
    return made


@pytest.fixture
def refusal(tmp_path, monkeypatch, capfd):
    """Start a server that cannot start; gives the line that says why."""
    monkeypatch.chdir(tmp_path)

    def refusal(*options):
        assert main(["registry", "serve", *options]) == 2
        line = capfd.readouterr().err
        assert line.count("\n") == 1
        return line

    return refusal


class TestTls:
    def settings(self, certificate, **more):
        key = str(certificate.with_suffix(".key"))
        return ServerSettings("memory://tls", access_log=False, certificate=str(certificate), key=key, **more)

    def test_a_certificate_of_the_server(self, certificate):
        settings = self.settings(certificate)
        with running(RegistryApplication(MemoryRegistry("tls"), settings), settings) as url:
            context = ssl.create_default_context(cafile=certificate)
            assert asked(f"{url}/subjects", context=context) == (200, [])
            with pytest.raises(urllib.error.URLError):
                asked(f"{url}/subjects")

    @pytest.mark.parametrize("loop", ["asyncio", "auto"])
    def test_an_idle_client_does_not_hold_up_the_end(self, certificate, loop):
        settings = self.settings(certificate)
        context = ssl.create_default_context(cafile=certificate)
        with running(RegistryApplication(MemoryRegistry("tls"), settings), settings, loop) as url:
            client = context.wrap_socket(
                socket.create_connection((HOST, int(url.rpartition(":")[2]))), server_hostname=HOST
            )
            client.sendall(f"GET /subjects HTTP/1.1\r\nHost: {HOST}\r\n\r\n".encode())
            assert client.recv(1 << 16).startswith(b"HTTP/1.1 200")
            end = time.monotonic()
        assert time.monotonic() - end < 5
        client.close()

    def test_certificates_of_clients(self, certificate):
        settings = self.settings(certificate, client_authority=str(certificate))
        with running(RegistryApplication(MemoryRegistry("tls"), settings), settings) as url:
            context = ssl.create_default_context(cafile=certificate)
            with pytest.raises(OSError, match=r"."):
                asked(f"{url}/subjects", context=context)
            context.load_cert_chain(certificate, certificate.with_suffix(".key"))
            assert asked(f"{url}/subjects", context=context) == (200, [])

    def test_what_is_no_certificate(self, refusal, tmp_path):
        (tmp_path / "no.pem").write_text("no")
        for option in ("--certificate=no.pem", "--certificate=none.pem", "--access=none.json"):
            refusal(option)

    def test_a_key_that_cannot_be_read(self, certificate, refusal, tmp_path):
        key, locked = certificate.with_suffix(".key"), tmp_path / "locked.key"
        command = ["openssl", "pkey", "-in", key, "-aes256", "-passout", "pass:geheim", "-out", locked]
        subprocess.run(command, check=True, capture_output=True)
        password = ["--key-password", "KEY_PASSWORD"]
        for options, told in (
            ([f"--key={locked}"], "locked.key: .*is the key's password right"),
            ([f"--key={locked}", *password], "the environment has no variable KEY_PASSWORD"),
            (["--key=none.key"], "No such file or directory: 'none.key'"),
            ([f"--key={key}", "--client-authority=none.pem"], r"kcodec registry: none\.pem: "),
        ):
            line = refusal("memory://locked", f"--certificate={certificate}", *options)
            assert re.search(told, line), line


def test_settings_that_make_no_sense(refusal):
    for options in (["http://x"], ["memory://", "--workers=2"], ["--workers=0"]):
        refusal(*options)


def test_passwords_are_hashed_for_the_file():
    run = subprocess.run(
        [sys.executable, "-m", "kcodec.cli.main", "registry", "password"],
        input="secret\n",
        capture_output=True,
        text=True,
    )
    assert is_password("secret", run.stdout.strip())


class TestPasswordsOfATerminal:
    @pytest.fixture(autouse=True)
    def terminal(self, monkeypatch):
        monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)

    def given(self, monkeypatch, *answers):
        waiting = list(answers)

        def getpass(prompt=""):
            if not waiting:
                raise EOFError
            return waiting.pop(0)

        monkeypatch.setattr("getpass.getpass", getpass)
        return main(["registry", "password"])

    def test_it_is_asked_twice(self, monkeypatch, capsys):
        assert self.given(monkeypatch, "secret", "secret") == 0
        assert is_password("secret", capsys.readouterr().out.strip())

    @pytest.mark.parametrize("answers", [(), ("secret",), ("secret", "Secret"), ("", "")])
    def test_what_is_no_answer(self, monkeypatch, capsys, answers):
        assert self.given(monkeypatch, *answers) == 2
        told = capsys.readouterr()
        assert (told.out, told.err.count("\n")) == ("", 1)


def test_settings_do_not_show_the_password_of_the_key():
    settings = ServerSettings(certificate="a.pem", key_password="geheim")
    assert "geheim" not in repr(settings)


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "ascii:surrogateescape"])
def test_passwords_of_other_characters_are_utf8(encoding):
    def run(password):
        return subprocess.run(
            [sys.executable, "-m", "kcodec.cli.main", "registry", "password"],
            env=os.environ | {"PYTHONIOENCODING": encoding},
            input=password,
            capture_output=True,
        )

    assert is_password("gehört", run("gehört\n".encode()).stdout.decode().strip())
    refused = run(b"geh\xf6rt\n")
    assert (refused.returncode, refused.stderr.count(b"\n")) == (2, 1)
    assert b"the password is not text" in refused.stderr

"""What may stand before a registry: TLS, authentication, delays, failures; and a record of the requests."""

import base64
import contextlib
import http.client
import shutil
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from artifacts import Lacking

HOST = "127.0.0.1"

_PASSED_ON = ("content-type", "accept")


class Request(NamedTuple):
    method: str
    path: str
    headers: dict[str, str]


class _Handler(BaseHTTPRequestHandler):
    def _answer(self) -> None:
        front = self.server.front
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        front.requests.append(Request(self.command, self.path, headers))
        time.sleep(front.delay)
        if front.authorization not in (None, headers.get("authorization")):
            self._send(401, b"<html>Unauthorized</html>")
        elif (status := front.fault()) is not None:
            self._send(status, b'{"error_code": %d, "message": "told to fail"}' % (status * 100))
        else:
            target = http.client.HTTPConnection(front.target, timeout=30)
            kept = {name: headers[name] for name in _PASSED_ON if name in headers}
            target.request(self.command, front.path + self.path, body or None, kept)
            answer = target.getresponse()
            self._send(answer.status, answer.read())
            target.close()

    def _send(self, status: int, data: bytes) -> None:
        # Clients give up where answers are delayed.
        with contextlib.suppress(ConnectionError):
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    do_GET = do_POST = do_PUT = do_DELETE = _answer

    def log_message(self, *arguments) -> None:
        pass


class Front:
    """Passes requests on to a registry.

    Attributes
    ----------
    url : str
        Its address.
    requests : list of Request
        What it was asked.
    delay : float
        Seconds before each answer.
    status : int or None
        What to answer instead of passing on,
    times : int or None
        and how often; None for as long as `status` stands.
    authorization : str or None
        The header without which the answer is 401.
    """

    def __init__(self, target: str, certificate: Path | None = None) -> None:
        parts = urlsplit(target)
        self.target, self.path = parts.netloc, parts.path
        self.requests: list[Request] = []
        self.delay = 0.0
        self.status: int | None = None
        self.times: int | None = None
        self.authorization: str | None = None
        self._certificate = certificate
        self._port = 0
        self.up()
        scheme = "http" if certificate is None else "https"
        self.url = f"{scheme}://{HOST}:{self._port}"

    def up(self) -> None:
        """Listen, after `down` on the same port."""
        self._server = ThreadingHTTPServer((HOST, self._port), _Handler)
        self._server.daemon_threads = True
        self._server.front = self
        self._port = self._server.server_port
        if self._certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(self._certificate, self._certificate.with_suffix(".key"))
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    def down(self) -> None:
        """Listen no more."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def fault(self) -> int | None:
        if self.times is not None:
            self.times -= 1
            if self.times < 0:
                return None
        return self.status

    def fail(self, status: int | None, times: int | None = None) -> None:
        self.status, self.times = status, times

    def paths(self) -> list[str]:
        return [f"{each.method} {urlsplit(each.path).path}" for each in self.requests]

    def basic(self, user_info: str) -> None:
        self.authorization = "Basic " + base64.b64encode(user_info.encode()).decode()


@contextmanager
def front(target: str, certificate: Path | None = None) -> Iterator[Front]:
    made = Front(target, certificate)
    try:
        yield made
    finally:
        made.down()


def make_certificate(folder: Path) -> Path:
    """Make a certificate for this host, signed by itself, and its key beside it."""
    if shutil.which("openssl") is None:
        raise Lacking("no openssl on the PATH, which makes a certificate")
    certificate = folder / "registry.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    command += ["-subj", f"/CN={HOST}", "-addext", f"subjectAltName=IP:{HOST}"]
    command += ["-out", str(certificate), "-keyout", str(certificate.with_suffix(".key"))]
    subprocess.run(command, check=True, capture_output=True)
    return certificate

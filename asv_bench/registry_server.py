"""Requests per second of ``kcodec registry serve`` beside Apicurio Registry: same client, same data, turn by turn.

``python asv_bench/registry_server.py [--rounds 5] [--workers 1]`` starts both on this machine (Apicurio as
tests/services does, with its schemas in memory) and prints the medians of what each does in a second: registers new
schemas, gives schemas by id, checks compatibility. Beside it stand the microseconds of processors that a server needs
for a request, which are about the same on a machine that has other things to do.
"""

import argparse
import json
import os
import selectors
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

from rounds import processor_time

ROOT = Path(__file__).parents[1]
sys.path += [str(ROOT), str(ROOT / "tests" / "services")]

CONNECTIONS = 8
#: Subjects, each with a few versions, that are there before anything is measured.
SUBJECTS = 50


def order(fields: int, name: str = "Order") -> str:
    """Return an Avro schema of an order with a number of fields."""
    made = [
        {"name": f"field_{number}", "type": ["null", "string"], "default": None} for number in range(fields)
    ]
    return json.dumps({"type": "record", "name": name, "namespace": "shop", "fields": made})


class Client:
    """A fixed number of connections, each with one request under way."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self.place, self.base = (parts.hostname, parts.port), parts.path

    def request(self, method: str, path: str, body: object = None) -> bytes:
        """Return a request as it is sent."""
        data = b"" if body is None else json.dumps(body).encode()
        head = f"{method} {self.base}{path} HTTP/1.1\r\nHost: {self.place[0]}:{self.place[1]}\r\n"
        head += f"Content-Type: application/vnd.schemaregistry.v1+json\r\nContent-Length: {len(data)}\r\n\r\n"
        return head.encode() + data

    def run(self, requests: Iterator[bytes], seconds: float) -> tuple[int, float]:
        """Return the requests that are answered with 200, and the seconds it took; another answer is an error."""
        selector = selectors.DefaultSelector()
        for _ in range(CONNECTIONS):
            connection = socket.create_connection(self.place)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection.sendall(next(requests))
            selector.register(connection, selectors.EVENT_READ, bytearray())
        start, count = time.perf_counter(), 0
        while (now := time.perf_counter()) - start < seconds:
            for key, _ in selector.select(1):
                key.data.extend(key.fileobj.recv(65536))
                if not self._is_whole(key.data):
                    continue
                if not key.data.startswith(b"HTTP/1.1 200"):
                    raise RuntimeError(bytes(key.data[:2000]))
                count += 1
                key.data.clear()
                key.fileobj.sendall(next(requests))
        for key in list(selector.get_map().values()):
            key.fileobj.close()
        selector.close()
        return count, now - start

    @staticmethod
    def _is_whole(data: bytearray) -> bool:
        end = data.find(b"\r\n\r\n")
        if end < 0:
            return False
        head = data[:end].lower()
        at = head.find(b"content-length:")
        if at < 0:
            return data.endswith(b"0\r\n\r\n")
        return len(data) >= end + 4 + int(head[at + 15 :].split(b"\r\n", 1)[0])


class Server:
    """A server with its own subjects, and the requests of each kind."""

    def __init__(self, name: str, url: str, pid: int) -> None:
        self.name, self.client, self.url, self.pid = name, Client(url), url, pid
        self.mark, self.number = uuid.uuid4().hex[:8], 0
        self.ids = []
        for subject in range(SUBJECTS):
            for fields in (10, 11, 12):
                path = f"/subjects/{self.mark}-{subject}-value/versions"
                found = self.ask("POST", path, {"schema": order(fields, f"Order{subject}")})
                self.ids.append(found["id"])
            self.ask("PUT", f"/config/{self.mark}-{subject}-value", {"compatibility": "BACKWARD"})

    def ask(self, method: str, path: str, body: object = None) -> dict:
        """Return the answer to one request."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, method=method)
        request.add_header("Content-Type", "application/vnd.schemaregistry.v1+json")
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)

    def measure(self, requests: Iterator[bytes], seconds: float) -> tuple[float, float]:
        """Return the requests of a second, and the microseconds of processors for each."""
        before = processor_time(self.pid)
        count, took = self.client.run(requests, seconds)
        return count / took, 1e6 * (processor_time(self.pid) - before) / count

    def register(self) -> Iterator[bytes]:
        """Yield registrations of new schemas under new subjects."""
        while True:
            self.number += 1
            body = {"schema": order(10, f"New{self.mark}{self.number}")}
            yield self.client.request("POST", f"/subjects/{self.mark}-new-{self.number}/versions", body)

    def register_again(self) -> Iterator[bytes]:
        """Yield registrations of what is there."""
        while True:
            self.number += 1
            subject = self.number % SUBJECTS
            body = {"schema": order(12, f"Order{subject}")}
            yield self.client.request("POST", f"/subjects/{self.mark}-{subject}-value/versions", body)

    def by_id(self) -> Iterator[bytes]:
        """Yield requests for schemas by their ids."""
        while True:
            self.number += 1
            yield self.client.request("GET", f"/schemas/ids/{self.ids[self.number % len(self.ids)]}")

    def compatibility(self) -> Iterator[bytes]:
        """Yield checks of some hundred schemas that are not registered."""
        while True:
            self.number += 1
            subject = self.number % SUBJECTS
            yield self.check(subject, order(13 + self.number % 7, f"Order{subject}"))

    def compatibility_new(self) -> Iterator[bytes]:
        """Yield checks of schemas that the server has never seen."""
        while True:
            self.number += 1
            subject = self.number % SUBJECTS
            text = order(13, f"Order{subject}").replace("field_12", f"field_{self.mark}_{self.number}")
            yield self.check(subject, text)

    def check(self, subject: int, text: str) -> bytes:
        """Return a check of a schema."""
        path = f"/compatibility/subjects/{self.mark}-{subject}-value/versions/latest"
        return self.client.request("POST", path, {"schema": text})


KINDS: dict[str, Callable[[Server], Iterator[bytes]]] = {
    "register": Server.register,
    "register again": Server.register_again,
    "by id": Server.by_id,
    "compatibility": Server.compatibility,
    "compatibility, new": Server.compatibility_new,
}


def start_ours(url: str, workers: int) -> tuple[subprocess.Popen, str]:
    """Start our server; gives its process and address."""
    from ports import free_port
    from processes import listens, until

    port = free_port()
    command = [sys.executable, "-m", "kcodec.cli.main", "registry", "serve", url, "--port", str(port)]
    command += ["--workers", str(workers)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
    until(lambda: listens(port))
    return process, f"http://127.0.0.1:{port}"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0, help="of each measurement")
    parser.add_argument("--workers", type=int, default=1)
    given = parser.parse_args()
    import processes

    with tempfile.TemporaryDirectory() as folder:
        apicurio, apicurio_url = processes.registry(Path(folder))
        apicurio.start()
        started = []
        try:
            urls = {"sqlite": f"sqlite:///{folder}/schemas.db", "memory": "memory://bench"}
            servers = [Server("Apicurio", apicurio_url, apicurio.pid)]
            for name, url in urls.items():
                process, address = start_ours(url, given.workers if name == "sqlite" else 1)
                started.append(process)
                servers.append(Server(f"kcodec {name}", address, process.pid))
            measure(servers, given.rounds, given.seconds)
        finally:
            for process in started:
                process.terminate()
                process.wait()
            apicurio.stop()


def measure(servers: list[Server], rounds: int, seconds: float) -> None:
    """Print requests per second: the median of the rounds, and of the rounds' ratios to the first server."""
    for kind, requests in KINDS.items():
        for server in servers:
            # A JVM needs time to become fast.
            server.client.run(requests(server), 5 * seconds if server is servers[0] else seconds)
        rates, times = ({server.name: [] for server in servers} for _ in range(2))
        for _ in range(rounds):
            for server in servers:
                rate, time_each = server.measure(requests(server), seconds)
                rates[server.name].append(rate)
                times[server.name].append(time_each)
        first = rates[servers[0].name]
        for name, own in rates.items():
            ratio = statistics.median(rate / other for rate, other in zip(own, first, strict=True))
            print(
                f"{kind:18} {name:15} {statistics.median(own):8,.0f} requests/s  {ratio:5.2f}  "
                f"{statistics.median(times[name]):6,.0f} µs",
                flush=True,
            )


if __name__ == "__main__":
    main()

"""What stands between clients and a broker: it forwards bytes, late, not at all, or breaks off."""

import socket
import threading
import time
from contextlib import suppress

from ports import HOST

_MOST = 1 << 16


class Proxy:
    """Forwards connections to a port.

    `delay` are seconds that everything takes in each direction; while `is_silent`, nothing goes on.
    """

    def __init__(self, port: int, to: int) -> None:
        self.port = port
        self.to = to
        self.delay = 0.0
        self._heard = threading.Event()
        self._heard.set()
        self._lock = threading.Lock()
        self._sockets: set[socket.socket] = set()
        self._server = socket.create_server((HOST, port))
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def is_silent(self) -> bool:
        return not self._heard.is_set()

    @is_silent.setter
    def is_silent(self, value: bool) -> None:
        (self._heard.clear if value else self._heard.set)()

    def cut(self) -> None:
        """Break off all connections."""
        with self._lock:
            sockets = list(self._sockets)
        for each in sockets:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        with suppress(OSError):
            self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        self.cut()
        self.is_silent = False

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._server.accept()
            except OSError:
                return
            try:
                broker = socket.create_connection((HOST, self.to), 5)
            except OSError:
                client.close()
                continue
            broker.settimeout(None)
            for one, other in ((client, broker), (broker, client)):
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                with self._lock:
                    self._sockets.add(one)
                threading.Thread(target=self._forward, args=(one, other), daemon=True).start()

    def _forward(self, one: socket.socket, other: socket.socket) -> None:
        with suppress(OSError):
            while data := one.recv(_MOST):
                self._heard.wait()
                if self.delay:
                    time.sleep(self.delay)
                other.sendall(data)
        with suppress(OSError):
            other.shutdown(socket.SHUT_RDWR)
        with self._lock:
            self._sockets.discard(one)
        one.close()

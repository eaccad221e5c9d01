"""Ports for the servers of tests."""

import random
import socket

__all__ = ["HOST", "free_port"]

HOST = "127.0.0.1"


def free_port() -> int:
    """Return a port that nobody listens at.

    It is below those that systems give to connections (32768 on Linux): a server that is killed finds it free again.
    """
    while True:
        port = random.randrange(12_000, 32_000)
        with socket.socket() as probe:
            try:
                probe.bind((HOST, port))
            except OSError:
                continue
            return port

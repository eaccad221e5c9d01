"""Threads that come at once, while a registry does not answer."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from http_answers import answering, whole

import kcodec
from kcodec.errors import RegistryError


def failures(serde, call, count=12):
    """Call something in threads, each of which fails by the registry; return the seconds that all of it took."""

    def one(number):
        with pytest.raises(RegistryError):
            call(serde, number)

    start = time.monotonic()
    with ThreadPoolExecutor(count) as pool:
        list(pool.map(one, range(count)))
    return time.monotonic() - start


@pytest.mark.parametrize(
    ("call", "given"),
    [
        (lambda serde, number: serde.deserialize_one(b"\0\0\0\0" + bytes([number, 2])), {}),
        (lambda serde, number: serde.deserialize([b"\0\0\0\0" + bytes([number, 2])]), {}),
        (lambda serde, number: serde.deserialize_one(b"\0\0\0\0\1\2"), {"reader_schema": "latest"}),
        (lambda serde, number: serde.serialize_one(7), {"schema": '"long"'}),
        (lambda serde, number: serde.serialize([7]), {"schema": '"long"'}),
    ],
)
def test_threads_wait_for_a_registry_together(call, given):
    """One after the other, the last of them would wait for twelve time-outs."""
    awaited = threading.Event()
    with answering(lambda handler: awaited.wait(30)) as server:
        registry = kcodec.registry.open(server.url, {"timeout": 0.5, "max.retries": 0})
        assert failures(kcodec.Serde("AVRO", registry, topic="t", **given), call) < 4
        awaited.set()
        registry.close()


def test_each_thread_that_comes_later_asks_anew():
    answers = [whole(503, b""), whole(200, b'{"schema": "\\"long\\""}')]
    with answering(lambda handler: answers.pop(0)(handler)) as server:
        registry = kcodec.registry.open(server.url, {"max.retries": 0})
        serde = kcodec.Serde("AVRO", registry, topic="t", reader_schema='"long"')
        assert failures(serde, lambda serde, _: serde.deserialize_one(b"\0\0\0\0\1\2"), count=1) < 10
        assert serde.deserialize_one(b"\0\0\0\0\1\2") == 1
        registry.close()

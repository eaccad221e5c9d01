"""Lists that are sent as they are made."""

import asyncio
import itertools
import json

import pytest
from asked import Asked

from kcodec.errors import RegistryError
from kcodec.registry import Schema
from kcodec.registry.memory import MemoryRegistry
from kcodec.server.api.listed import Listed

#: Schemas, of which a few pieces are made.
NUMBER = 20


def text(number):
    return json.dumps({"type": "record", "name": f"R{number}", "doc": "é" * 50_000, "fields": []})


@pytest.fixture
def registry():
    registry = MemoryRegistry()
    for number in range(NUMBER):
        registry.register(f"s{number:02}", Schema(text(number)))
    return registry


async def sent(registry, method="GET", gone=False, parts=None):
    """Return the messages of the answer to GET /schemas; its client may go after the first part."""
    ask = Asked(registry)
    messages, leaves = [], asyncio.Event()

    async def receive():
        if not parts_of_request:
            await leaves.wait()
            return {"type": "http.disconnect"}
        return parts_of_request.pop()

    async def send(message):
        messages.append(message)
        if gone and message["type"] == "http.response.body":
            leaves.set()
            await asyncio.sleep(0)
        if parts is not None and message["type"] == "http.response.body":
            parts()

    parts_of_request = [{"type": "http.request", "body": b""}]
    scope = {
        "type": "http",
        "method": method,
        "path": "/schemas",
        "raw_path": b"/schemas",
        "query_string": b"",
        "headers": [],
        "client": ("192.0.2.1", 1234),
    }
    await ask.application(scope, receive, send)
    return messages


def test_a_long_one_is_sent_in_parts(registry):
    head, *bodies = asyncio.run(sent(registry))
    assert head["status"] == 200
    assert b"content-length" not in dict(head["headers"])
    assert len(bodies) > 3
    assert [each["more_body"] for each in bodies] == [True] * (len(bodies) - 1) + [False]
    listed = json.loads(b"".join(each["body"] for each in bodies))
    assert [each["subject"] for each in listed] == [f"s{number:02}" for number in range(NUMBER)]
    assert listed[7]["schema"] == registry.get_version("s07").schema.text
    # Nothing of it is kept.
    assert max(len(each["body"]) for each in bodies[1:]) < 1 << 20


def test_of_a_long_one_head_has_no_body(registry):
    assert [each.get("body") for each in asyncio.run(sent(registry, "HEAD"))] == [None, b""]


def test_nothing_more_is_made_for_who_has_gone(registry):
    _, *bodies = asyncio.run(sent(registry, gone=True))
    assert [each["more_body"] for each in bodies] == [True, True]


def test_no_piece_is_made_before_the_last_one_is_taken(registry, monkeypatch):
    asked, get_version = [], registry.get_version
    monkeypatch.setattr(
        registry, "get_version", lambda *given, **how: asked.append(1) or get_version(*given, **how)
    )
    made = []
    asyncio.run(sent(registry, parts=lambda: made.append(len(asked))))
    # A part, and that it was taken; the last one ends the list.
    assert made[0] == made[1] < made[2] == made[3] < made[4] < NUMBER
    assert made[-1] == NUMBER


def test_what_is_deleted_meanwhile_is_left_out(registry):
    def delete():
        registry.delete_subject("s19")

    messages = asyncio.run(sent(registry, parts=lambda: "s19" in registry.subjects() and delete()))
    listed = json.loads(b"".join(each["body"] for each in messages[1:]))
    assert [each["subject"] for each in listed] == [f"s{number:02}" for number in range(NUMBER - 1)]


def test_a_failure_on_the_way_ends_the_answer_before_its_end(registry, monkeypatch, caplog):
    failing = iter([False] * (NUMBER - 1) + [True])
    get_version = registry.get_version

    def failed(*given, **how):
        if next(failing):
            raise RegistryError("damaged", 500, 50001)
        return get_version(*given, **how)

    monkeypatch.setattr(registry, "get_version", failed)
    _, *bodies = asyncio.run(sent(registry))
    assert bodies
    assert all(each["more_body"] for each in bodies)
    assert "damaged" in caplog.text


def test_a_short_one_is_kept(registry, monkeypatch):
    ask = Asked(registry)
    path = "/schemas?limit=2"
    first = ask("GET", path)
    assert first.headers["content-length"] == str(len(first.data))
    monkeypatch.setattr(registry, "listed_versions", None)
    assert ask("GET", path).data == first.data
    ask.stop()


def test_what_takes_long_to_find_ends_its_turn(monkeypatch):
    times = itertools.count()
    monkeypatch.setattr("kcodec.server.api.listed.time.perf_counter", lambda: next(times))
    listed = Listed(lambda: [None, 1, None, 2, 3])
    pieces = [listed.more() for _ in range(6)]
    assert pieces == [b"", b"[1", b"", b",2", b",3", b"]"]
    assert listed.is_complete

"""Where calls run: heavy ones keep no short one waiting, however small their bodies are."""

import asyncio
import json
import threading
from typing import ClassVar

import pytest
from asked import Asked

from kcodec.registry import Config, Schema
from kcodec.registry.sqlite import SqliteRegistry
from kcodec.registry.store.content import TooMuchRead, dump, load, reading_at_most

SHORT = json.dumps({"type": "record", "name": "R", "fields": []})
LONG = json.dumps({"type": "record", "name": "R", "doc": "x" * 600_000, "fields": []})


class Noted(SqliteRegistry):
    """A registry that notes which threads read versions; the one for heavy calls may have to wait on the way."""

    threads: ClassVar[list[tuple[str, int, bool]]] = []
    going = threading.Event()

    def __init__(self, path):
        super().__init__(path)
        each = self._versions.each

        def noted(subject, **how):
            for found in each(subject, **how):
                is_heavy = "heavy" in threading.current_thread().name
                self.threads.append((subject, found.version, is_heavy))
                if is_heavy:
                    assert self.going.wait(20)
                yield found

        self._versions.each = noted


@pytest.fixture
def ask(tmp_path):
    registry = Noted(str(tmp_path / "schemas.db"))
    for subject, text in (("large", LONG), ("small", SHORT)):
        registry.set_config(Config("NONE"), subject)
        for number in range(4):
            registry.register(subject, Schema(text.replace('"fields"', f'"number": {number}, "fields"')))
        registry.set_config(Config("FULL_TRANSITIVE"), subject)
    Noted.threads.clear()
    Noted.going.set()
    asked = Asked(registry)
    yield asked
    asked.stop()


def check(ask, subject, number=0):
    body = {"schema": SHORT.replace('"fields"', f'"check": {number}, "fields"')}
    return ask.sent("POST", f"/compatibility/subjects/{subject}/versions", body)


def test_what_reads_much_has_a_thread_of_its_own(ask):
    for subject in ("small", "large"):
        assert ask.loop.run_until_complete(check(ask, subject)).json == {"is_compatible": True}
    assert Noted.threads[:4] == [("small", number, False) for number in (4, 3, 2, 1)]
    # What was begun elsewhere is begun again once more than one schema was read.
    assert Noted.threads[4:] == [("large", 4, False), *(("large", number, True) for number in (4, 3, 2, 1))]
    Noted.threads.clear()
    # It is known from then on, as long as nothing is registered.
    assert ask.loop.run_until_complete(check(ask, "large", 1)).json == {"is_compatible": True}
    assert Noted.threads == [("large", number, True) for number in (4, 3, 2, 1)]


def test_short_calls_find_a_thread(ask):
    Noted.going.clear()

    async def both():
        heavy = [asyncio.ensure_future(check(ask, "large", number)) for number in range(8)]
        new = {"schema": '"string"'}
        heavy.append(asyncio.ensure_future(ask.sent("POST", "/subjects/large/versions", {"schema": SHORT})))
        await asyncio.sleep(0.2)
        quick = [await ask.sent("GET", f"/schemas/ids/{number}") for number in (1, 5)]
        quick.append(await check(ask, "small"))
        quick.append(await ask.sent("POST", "/subjects/new/versions", new))
        quick.append(await ask.sent("GET", "/schemas?subjectPrefix=small"))
        assert not any(each.done() for each in heavy)
        Noted.going.set()
        return [each.status for each in [*quick, *await asyncio.gather(*heavy)]]

    assert ask.loop.run_until_complete(both()) == [200] * 14


class Waiting(SqliteRegistry):
    """A registry whose lookups wait."""

    waiting: ClassVar[list[str]] = []
    going = threading.Event()

    def lookup(self, subject, schema, **how):
        self.waiting.append(schema.type)
        assert self.going.wait(20)
        return super().lookup(subject, schema, **how)


def test_what_may_cost_much_leaves_a_thread(tmp_path):
    ask = Asked(Waiting(str(tmp_path / "schemas.db")))
    ask.register("s")

    async def meanwhile():
        bodies = [{"schema": "{}", "schemaType": "JSON", "number": number} for number in range(8)]
        costly = [asyncio.ensure_future(ask.sent("POST", "/subjects/s", body)) for body in bodies]
        await asyncio.sleep(0.2)
        assert Waiting.waiting == ["JSON"] * 3
        quick = [
            await ask.sent("GET", "/subjects"),
            await ask.sent("POST", "/subjects/t/versions", {"schema": '"int"'}),
        ]
        Waiting.going.set()
        return [each.status for each in [*quick, *await asyncio.gather(*costly)]]

    assert ask.loop.run_until_complete(meanwhile()) == [200] * 2 + [404] * 8
    ask.stop()


def test_what_takes_long_reads_no_more():
    content = dump(Schema('"int"')).encode()
    with reading_at_most(1000, 0.0):
        load(content)
        with pytest.raises(TooMuchRead):
            load(content)
    load(content)

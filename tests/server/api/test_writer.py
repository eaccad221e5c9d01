"""Changes of many requests: one transaction for those that wait, each as if it were alone."""

import asyncio

import pytest

from kcodec.errors import RegistryError
from kcodec.registry import Schema
from kcodec.registry.memory import MemoryRegistry
from kcodec.registry.sqlite import SqliteRegistry
from kcodec.server.api.writer import RegistryWriter


def test_those_that_wait_share_a_transaction(tmp_path, monkeypatch):
    registry = SqliteRegistry(str(tmp_path / "schemas.db"))
    writer = RegistryWriter(registry, registry)
    batches, together = [], registry.database.together
    monkeypatch.setattr(registry.database, "together", lambda calls: batches.append(calls) or together(calls))

    async def main():
        changes = (
            writer.write(lambda registry, n=n: registry.register(f"s{n}", Schema('"int"')).version)
            for n in range(50)
        )
        return await asyncio.gather(*changes)

    assert asyncio.run(main()) == [1] * 50
    assert len(batches) <= 3
    writer.end(10)


def test_what_fails_leaves_nothing_and_hinders_nobody():
    registry = MemoryRegistry()
    writer = RegistryWriter(registry, registry)

    def failing(registry):
        registry.register("lost", Schema('"int"'))
        raise RegistryError("refused", 409, 40901)

    async def main():
        good = [
            writer.write(lambda registry, n=n: registry.register(n, Schema(f'"{n}"')))
            for n in ("int", "long")
        ]
        return await asyncio.gather(good[0], writer.write(failing), good[1], return_exceptions=True)

    first, refused, second = asyncio.run(main())
    assert (first.id, second.id) == (1, 2)
    assert refused.error_code == 40901
    assert registry.subjects() == ["int", "long"]


def test_a_fault_is_that_of_all_who_share_it():
    registry = MemoryRegistry()
    writer = RegistryWriter(registry, registry)

    async def main():
        return await asyncio.gather(
            writer.write(lambda registry: registry.register("s", Schema('"int"'))),
            writer.write(lambda registry: 1 / 0),
            return_exceptions=True,
        )

    assert [type(each) for each in asyncio.run(main())] == [ZeroDivisionError] * 2
    assert registry.subjects() == []


def test_parameters_that_the_database_does_not_take():
    registry = MemoryRegistry()
    first, second = registry.database.together(
        [lambda: registry.max_id("\ud800:"), lambda: registry.max_id()]
    )
    assert isinstance(first, RegistryError)
    assert second == 0


def test_who_no_longer_waits_is_left_out():
    registry = MemoryRegistry()
    writer = RegistryWriter(registry, registry)
    done = []

    async def main():
        waiting = asyncio.ensure_future(writer.write(lambda registry: done.append(1)))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await writer.write(lambda registry: done.append(2))

    asyncio.run(main())
    assert done == [2]

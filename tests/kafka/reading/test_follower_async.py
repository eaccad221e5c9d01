"""`async for` over a follower: the batches of `poll`, whatever is cancelled or closed meanwhile."""

import asyncio
import threading

import pyarrow as pa
import pytest
from fake_broker import PLACE, FakeCluster

import kcodec
from kcodec.kafka import RecordError, follow
from kcodec.protocol import write_batches


def fill(cluster, *values):
    cluster.append(PLACE, write_batches(pa.table({"value": list(values)})))


def followed(cluster, config, **options):
    return follow("t", servers=cluster.address, start="earliest", columns=["value"], config=config, **options)


def values(batch):
    return batch.column("value").to_pylist()


def test_batches_come_while_other_tasks_run(fast):
    async def run(cluster):
        found = []
        async with followed(cluster, fast) as follower:
            async for batch in follower:
                found += values(batch)
                assert follower.positions == {"t": {0: len(found)}}
                if len(found) == 3:
                    break
                # Runs while the next batch is waited for.
                asyncio.get_running_loop().call_soon(fill, cluster, b"c")
        return found

    with FakeCluster({"t": 1}) as cluster:
        fill(cluster, b"a", b"b")
        assert asyncio.run(run(cluster)) == [b"a", b"b", b"c"]


@pytest.mark.parametrize("again", ["async for", "poll"])
def test_what_is_cancelled_loses_nothing_and_counts_nothing(fast, again):
    async def run(cluster):
        async with followed(cluster, fast) as follower:
            task = asyncio.create_task(anext(follower))
            await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            fill(cluster, b"a")
            waiting = follower._waiting
            await asyncio.to_thread(waiting.result, 10)
            assert follower.positions == {"t": {0: 0}}
            batch = await anext(follower) if again == "async for" else follower.poll(10)
            assert values(batch) == [b"a"]
            assert follower.positions == {"t": {0: 1}}

    with FakeCluster({"t": 1}) as cluster:
        asyncio.run(run(cluster))


def test_poll_waits_no_longer_than_it_says_for_what_was_cancelled(fast):
    async def run(cluster):
        async with followed(cluster, fast) as follower:
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(anext(follower), 0.01)
            assert follower.poll(0) is None

    with FakeCluster({"t": 1}) as cluster:
        asyncio.run(run(cluster))


def test_tasks_share_a_follower(fast):
    async def take(follower, found):
        async for batch in follower:
            found += values(batch)
            if len(found) == 20:
                # The others wait for more, and end.
                await asyncio.to_thread(follower.close)

    async def run(cluster):
        found = []
        follower = followed(cluster, fast)
        tasks = [asyncio.create_task(take(follower, found)) for _ in range(3)]
        for number in range(20):
            fill(cluster, b"%d" % number)
        await asyncio.gather(*tasks)
        return found

    with FakeCluster({"t": 1}) as cluster:
        assert asyncio.run(run(cluster)) == [b"%d" % number for number in range(20)]


def test_nothing_is_read_before_it_is_asked_for(fast):
    async def run(cluster):
        async with followed(cluster, fast) as follower:
            await anext(follower)
            assert follower._waiting is None
            for thread in threading.enumerate():
                if thread.name == "kcodec-follower":
                    # It may have told its batch, and not have ended yet.
                    thread.join(10)
                    assert not thread.is_alive()

    with FakeCluster({"t": 1}) as cluster:
        fill(cluster, b"a")
        fill(cluster, b"b")
        asyncio.run(run(cluster))


def test_errors_are_raised_again(fast):
    async def run(cluster):
        async with followed(cluster, fast, value=kcodec.JsonCodec("id BIGINT")) as follower:
            for _ in range(2):
                with pytest.raises(RecordError):
                    await anext(follower)

    with FakeCluster({"t": 1}) as cluster:
        fill(cluster, b"{")
        asyncio.run(run(cluster))

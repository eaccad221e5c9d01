"""Ctrl-C while topics are read and written: it may come behind any call, and what is done then goes on and ends."""

import concurrent.futures
import dis
import itertools
import queue
import sys
import threading

import pyarrow as pa
from fake_broker import PLACE, FakeCluster, batch

from kcodec import _daemon_threads
from kcodec.kafka import follow, write
from kcodec.kafka.fetching import fetcher
from kcodec.kafka.writing import producer, topic_writer

#: Behind these, Python looks for signals.
LOOKS = ("CALL", "RESUME", "JUMP_BACKWARD")
MODULES = (
    *(fetcher, producer, topic_writer, _daemon_threads),
    *(threading, queue, concurrent.futures._base),
)
PLACES = {module.__file__ for module in MODULES}


def interrupted_at(number, call):
    """Call something, interrupted at the so many-th place of the client, or of what it waits with, where it may be."""
    left = number
    previous = {}

    def trace(frame, event, argument):
        nonlocal left
        if frame.f_code.co_filename not in PLACES:
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            if previous.get(frame, "").startswith(LOOKS):
                left -= 1
                if not left:
                    raise KeyboardInterrupt
            previous[frame] = dis.opname[frame.f_code.co_code[frame.f_lasti]]
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    except KeyboardInterrupt:
        return True
    except RuntimeError as error:
        # What a condition of Python makes of one that comes as it gives its lock away.
        if isinstance(error.__context__, KeyboardInterrupt):
            return True
        raise
    finally:
        sys.settrace(before)
    return False


def test_an_interruption_stops_no_thread(fast):
    with (
        FakeCluster({"t": 1}) as cluster,
        follow("t", servers=cluster.address, columns=["offset"], config=fast) as follower,
    ):
        for number in itertools.count(1):
            cluster.put(PLACE, batch(2 * number - 2, 1))
            was_interrupted = interrupted_at(number, lambda: follower.poll(10))
            cluster.put(PLACE, batch(2 * number - 1, 1))
            while follower.positions["t"][0] < 2 * number:
                assert follower.poll(10) is not None
            if not was_interrupted:
                break
    assert number > 5


def test_an_interruption_of_closing_leaves_no_thread(fast):
    for number in itertools.count(1):
        with FakeCluster({"t": 1}) as cluster:
            follower = follow("t", servers=cluster.address, columns=["offset"], config=fast)
            was_interrupted = interrupted_at(number, follower.close)
            closing = threading.Thread(target=follower.close, daemon=True)
            closing.start()
            closing.join(10)
            assert not closing.is_alive()
        if not was_interrupted:
            break
    assert number > 5


def test_an_interruption_of_writing_ends_it(fast, monkeypatch):
    monkeypatch.setattr(topic_writer, "_END_SECONDS", 0.2)
    records = pa.table({"value": [b"%d" % number for number in range(3_000)]})
    config = {**fast, "batch.size": 4_000, "compression.type": "lz4"}
    # Some of some hundred places.
    for number in itertools.count(1, 37):
        with FakeCluster({"t": 2}) as cluster:
            was_interrupted = interrupted_at(
                number, lambda: write(records, "t", servers=cluster.address, config=config)
            )
        if not was_interrupted:
            break
    assert number > 200

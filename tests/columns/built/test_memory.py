"""Memory that is kept for the next call: how much, for whom, and until when."""

import gc
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pytest

import kcodec

SCHEMA = """{"type": "record", "name": "Order", "fields": [
    {"name": "id", "type": "long"},
    {"name": "name", "type": ["null", "string"]},
    {"name": "tags", "type": {"type": "array", "items": "string"}}]}"""

sanitized = pytest.mark.skipif(
    "libasan" in os.environ.get("LD_PRELOAD", ""),
    reason="under a sanitizer memory is elsewhere each time it grows",
)


@pytest.fixture
def codec() -> kcodec.AvroCodec:
    return kcodec.AvroCodec(SCHEMA)


@pytest.fixture
def many(codec) -> pa.Array:
    rows = [
        {"id": row, "name": f"number {row}" if row % 7 else None, "tags": ["a", "bc"]}
        for row in range(20_000)
    ]
    return codec.encode(pa.array(rows, codec.arrow_type))


@sanitized
def test_memory_is_kept_for_the_next_call(codec, many):
    def addresses() -> set[int]:
        return {buffer.address for buffer in codec.decode(many).buffers() if buffer and buffer.size > 1 << 16}

    # What is made for good is made the first time.
    addresses()
    gc.collect()
    kcodec.release_unused()
    before = pa.total_allocated_bytes()
    addresses()
    first = addresses()
    kept = pa.total_allocated_bytes() - before
    assert kept > 0
    for _ in range(5):
        assert addresses() == first
        assert pa.total_allocated_bytes() - before == kept
    array = codec.decode(many)
    # Memory that an array has is no one else's.
    assert codec.decode(many).equals(array)
    assert array.equals(codec.decode(many))
    del array
    kcodec.release_unused()
    assert pa.total_allocated_bytes() == before


def test_memory_is_kept_up_to_a_limit():
    codec = kcodec.AvroCodec('"bytes"')
    kcodec.release_unused()
    before = pa.total_allocated_bytes()
    for size in range(1, 20):
        # Sizes so far apart that none serves for the next.
        codec.encode(pa.array([b"x" * int(100_000 * 1.4**size)], pa.binary()))
        assert pa.total_allocated_bytes() - before <= 64 << 20
    assert pa.total_allocated_bytes() - before > 32 << 20
    kcodec.release_unused()


def test_arrays_outlive_what_is_kept(codec, many):
    arrays = [codec.decode(many) for _ in range(3)]
    expected = arrays[0].to_pylist()
    kcodec.release_unused()
    del arrays[0]
    gc.collect()
    codec.decode(many.take(pa.array(range(len(many) - 1, -1, -1))))
    assert all(array.to_pylist() == expected for array in arrays)


def test_memory_is_kept_from_any_thread(codec, many):
    expected = codec.decode(many)

    def work(_: int) -> bool:
        return all(codec.decode(many).equals(expected) for _ in range(10))

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(8)))


LITTLE = r"""
import resource, sys
from pathlib import Path
import pyarrow as pa
import kcodec


def held():
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


codec = kcodec.AvroCodec('{"type": "array", "items": ["null", "boolean"]}')
items = 1_000_000
# A count of 1,000,000; and nothing that Python frees for others.
rows = pa.array([b"\x80\x89\x7a" + b"\x02\x01" * items + b"\0"], pa.binary())
assert len(codec.decode(rows)[0]) == items
before, failed = held(), 0
for more in range(0, 16 << 20, 512 << 10):
    resource.setrlimit(resource.RLIMIT_AS, (held() + more, resource.RLIM_INFINITY))
    try:
        codec.decode(rows)
    except kcodec.CapacityError:
        failed += 1
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
assert failed > 2, failed
assert held() - before < items, held() - before
"""


@sanitized
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="sizes of processes as Linux tells them")
def test_what_fails_for_want_of_memory_keeps_none():
    """Whichever piece of memory is the one that there is none for."""
    environment = {**os.environ, "KCODEC_IMPL": "native"}
    done = subprocess.run([sys.executable, "-c", LITTLE], env=environment, capture_output=True, text=True)
    assert not done.returncode, done.stderr

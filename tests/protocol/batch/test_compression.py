"""The forms of compressed data in batches."""

import os
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import pyarrow as pa
import pytest
from cases import cases

from kcodec._impl import IMPLEMENTATIONS
from kcodec.protocol import read_batches, write_batches
from kcodec.protocol.batch import compression
from kcodec.protocol.batch.compression import CODECS, CompressionError, Expanded, SizeLimitError, compress

DATA = b"".join(b"record %d, " % (row * row) for row in range(20_000))


@pytest.fixture(params=["cramjam", "pyarrow"], autouse=True)
def library(request, monkeypatch):
    if request.param == "pyarrow":
        monkeypatch.setattr(compression, "cramjam", None)
    else:
        pytest.importorskip("cramjam")
    return request.param


def expand(codec: str, data: bytes, magic: int = 2, limit: int = 1 << 24) -> bytes:
    expanded = Expanded(limit)
    start, end = expanded.append(CODECS.index(codec), pa.py_buffer(data), magic)
    return expanded.finish().to_pybytes()[start:end]


@cases("codec", CODECS[1:])
@cases("data", [b"", b"x", DATA])
def test_round_trip(codec, data):
    assert expand(codec, compress(codec, data)) == data


@cases("codec", CODECS[1:])
def test_pieces_stand_side_by_side(codec):
    expanded = Expanded(1 << 22)
    packed = pa.py_buffer(compress(codec, DATA))
    places = [expanded.append(CODECS.index(codec), packed) for _ in range(3)]
    with pytest.raises(CompressionError):
        expanded.append(CODECS.index(codec), pa.py_buffer(b"\xff" + packed.to_pybytes()[:-1]))
    places.append(expanded.append(CODECS.index(codec), packed))
    assert places == [(row * len(DATA), (row + 1) * len(DATA)) for row in range(4)]
    assert expanded.finish().to_pybytes() == 4 * DATA


@cases("codec", CODECS[1:])
def test_the_limit_is_exact(codec):
    packed = compress(codec, DATA)
    assert expand(codec, packed, limit=len(DATA)) == DATA
    with pytest.raises(SizeLimitError):
        expand(codec, packed, limit=len(DATA) - 1)


@cases("codec", CODECS[1:])
def test_damage(codec):
    packed = compress(codec, DATA)
    for damaged in (b"", packed[:-1], packed[: len(packed) // 2], b"\xff" * 40):
        try:
            assert expand(codec, damaged) in (b"", DATA[: len(DATA)])
        except CompressionError:
            continue


@cases("parts", [(b"one ", b"two"), (b"", b"long enough"), (b"long enough", b""), (DATA, DATA)])
def test_several_gzip_members(parts):
    assert expand("gzip", b"".join(compress("gzip", part) for part in parts)) == b"".join(parts)


def test_what_is_not_gzip():
    packed = compress("gzip", DATA)
    for data in (zlib.compress(DATA), DATA, packed + b"more", packed + bytes(20)):
        with pytest.raises(CompressionError):
            expand("gzip", data)


def test_gzip_that_lies_about_its_size():
    packed = compress("gzip", DATA)
    for size in (0, len(DATA) - 1, len(DATA) + 1, 0xFFFFFFFF):
        with pytest.raises(CompressionError):
            expand("gzip", packed[:-4] + struct.pack("<I", size))


def test_snappy_as_others_write_it():
    raw = pa.Codec("snappy").compress(DATA, asbytes=True)
    assert expand("snappy", raw) == DATA
    packed = compress("snappy", DATA)
    assert packed[:16] == b"\x82SNAPPY\0" + struct.pack(">ii", 1, 1)
    # Some brokers write the versions in the other byte order.
    assert expand("snappy", packed[:8] + struct.pack("<ii", 1, 1) + packed[16:]) == DATA
    for damaged in (
        packed[:12],
        packed[:18],
        packed[:16] + struct.pack(">i", -1),
        packed[:16] + b"\x7f\xff\xff\xff",
    ):
        with pytest.raises(CompressionError):
            expand("snappy", damaged)
    # A block that says it is 2 GiB costs nothing.
    with pytest.raises(CompressionError, match="more than snappy can"):
        expand("snappy", b"\xff\xff\xff\xff\x07" + b"x", limit=1 << 32)


def test_lz4_of_magic_0_has_another_sum():
    modern, old = compress("lz4", DATA), compress("lz4", DATA, magic=0)
    assert [at for at in range(len(old)) if old[at] != modern[at]] == [6]
    assert expand("lz4", old, magic=0) == expand("lz4", modern, magic=0) == DATA
    with pytest.raises(CompressionError):
        expand("lz4", old, magic=1)
    for damaged in (b"", old[:6], b"x" * 20):
        with pytest.raises(CompressionError):
            expand("lz4", damaged, magic=0)


@pytest.mark.parametrize("codec", CODECS[1:])
def test_a_lack_of_memory_is_no_damage(codec, monkeypatch):
    """A batch that there is no memory for is not left out as one that is damaged."""
    batch = write_batches(pa.table({"value": [DATA]}), compression=codec)
    allocate = pa.allocate_buffer

    def refused(size, **options):
        if size >= len(DATA):
            raise pa.ArrowMemoryError(f"malloc of size {size} failed")
        return allocate(size, **options)

    monkeypatch.setattr(pa, "allocate_buffer", refused)
    with pytest.raises(MemoryError):
        read_batches(batch, errors="skip")


LACKS = """
import resource, sys
from pathlib import Path
import pyarrow as pa
from kcodec.protocol.batch.compression import Expanded

codec, frame = int(sys.argv[1]), bytes.fromhex(sys.argv[2])
Expanded(1 << 20).append(codec, pa.py_buffer(frame))
expanded = Expanded(1 << 20)
held = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (held + (3 << 20), resource.RLIM_INFINITY))
try:
    expanded.append(codec, pa.py_buffer(frame))
except MemoryError as error:
    print(error)
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="sizes of processes as Linux tells them")
@pytest.mark.parametrize(
    ("codec", "frame", "told"),
    [
        # Blocks of up to 4 MiB that build on each other, and a window of 128 MiB; either frame is of no bytes.
        (3, "04224d18 4070 df 00000000", "LZ4"),
        (4, "28b52ffd 0088 010000", "ZSTD"),
    ],
)
def test_a_lack_of_memory_in_a_library_is_no_damage(codec, frame, told):
    """Arrow raises the same error for both."""
    environment = {**os.environ, "ARROW_DEFAULT_MEMORY_POOL": "system"}
    command = [sys.executable, "-c", LACKS, str(codec), frame]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert not done.returncode, done.stderr
    assert done.stdout.startswith(told), done.stdout


@pytest.mark.parametrize(("codec", "magic"), [(4, 1), (5, 2), (0, 2)])
def test_codecs_that_are_none(codec, magic):
    with pytest.raises(CompressionError, match=f"codec {codec} of magic {magic}"):
        Expanded(10).append(codec, pa.py_buffer(b""), magic)


def test_lz4_blocks_do_not_depend_on_each_other():
    """Kafka refuses a frame whose blocks do: bit 5 of the flags says that they do not."""
    for data in (b"", b"a", b"ab" * 200_000, bytes(range(256)) * 1000, DATA * 3):
        frame = compress("lz4", data)
        assert frame[4] & 0x20
        assert expand("lz4", frame) == data
        assert not data or pa.Codec("lz4").decompress(frame, len(data), asbytes=True) == data


BOMBS = """
import os, resource, sys
from kcodec.errors import DecodeError
from kcodec.protocol import list_batches, read_batches, stream_segment
from kcodec.protocol.batch import compression
library, impl, *names = sys.argv[1:]
os.environ["KCODEC_IMPL"] = impl
if library == "pyarrow":
    compression.cramjam = None
held = int(next(line for line in open("/proc/self/status") if line.startswith("VmSize")).split()[1]) << 10
# Room for what is read and what is allowed, and for nothing of what it would expand to.
resource.setrlimit(resource.RLIMIT_AS, (held + (200 << 20), held + (200 << 20)))
for name in names:
    data = open(name, "rb").read()
    for read in (
        lambda: read_batches(data, check_crc=False, max_decompressed=4 << 20),
        lambda: list(stream_segment(name, check_crc=False, max_decompressed=4 << 20)),
    ):
        try:
            read()
        except DecodeError as error:
            assert error.code == "size_limit", (name, error)
        else:
            raise AssertionError(name)
    _, faults = read_batches(data, check_crc=False, max_decompressed=4 << 20, errors="report")
    assert faults["code"].to_pylist() == ["size_limit"], faults
    assert list_batches(data, check_crc=False).num_rows == 1
"""


@pytest.fixture(scope="module")
def bombs(tmp_path_factory):
    """Write 250 MB of zeros in each codec; gives the names of the segments."""
    content = pa.table({"value": [bytes(250_000_000)]})
    names = []
    for codec in CODECS[1:]:
        path = tmp_path_factory.mktemp(codec) / "00000000000000000000.log"
        path.write_bytes(write_batches(content, compression=codec))
        names.append(str(path))
    return names


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="sizes of processes as Linux tells them")
@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_bombs_cost_what_is_allowed(bombs, library, implementation):
    """They are read where a process has no room for what they expand to."""
    done = subprocess.run(
        [sys.executable, "-c", BOMBS, library, implementation, *bombs],
        # Threads reserve memory that they do not use.
        env={**os.environ, "ARROW_DEFAULT_MEMORY_POOL": "system", "MALLOC_ARENA_MAX": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]

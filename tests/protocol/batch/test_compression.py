"""The forms of compressed data in batches."""

import struct
import zlib

import pyarrow as pa
import pytest

from kcodec.protocol.batch import compression
from kcodec.protocol.batch.compression import CODECS, CompressionError, Expanded, SizeLimitError, compress

DATA = b"".join(b"record %d, " % (row * row) for row in range(20_000))


@pytest.fixture(params=["cramjam", "pyarrow"], autouse=True)
def library(request, monkeypatch):
    if request.param == "pyarrow":
        monkeypatch.setattr(compression, "cramjam", None)
    else:
        pytest.importorskip("cramjam")


def expand(codec: str, data: bytes, magic: int = 2, limit: int = 1 << 24) -> bytes:
    expanded = Expanded(limit)
    start, end = expanded.append(CODECS.index(codec), pa.py_buffer(data), magic)
    return expanded.finish().to_pybytes()[start:end]


@pytest.mark.parametrize("codec", CODECS[1:])
@pytest.mark.parametrize("data", [b"", b"x", DATA])
def test_round_trip(codec, data):
    assert expand(codec, compress(codec, data)) == data


@pytest.mark.parametrize("codec", CODECS[1:])
def test_pieces_stand_side_by_side(codec):
    expanded = Expanded(1 << 22)
    packed = pa.py_buffer(compress(codec, DATA))
    places = [expanded.append(CODECS.index(codec), packed) for _ in range(3)]
    with pytest.raises(CompressionError):
        expanded.append(CODECS.index(codec), pa.py_buffer(b"\xff" + packed.to_pybytes()[:-1]))
    places.append(expanded.append(CODECS.index(codec), packed))
    assert places == [(row * len(DATA), (row + 1) * len(DATA)) for row in range(4)]
    assert expanded.finish().to_pybytes() == 4 * DATA


@pytest.mark.parametrize("codec", CODECS[1:])
def test_the_limit_is_exact(codec):
    packed = compress(codec, DATA)
    assert expand(codec, packed, limit=len(DATA)) == DATA
    with pytest.raises(SizeLimitError):
        expand(codec, packed, limit=len(DATA) - 1)


@pytest.mark.parametrize("codec", CODECS[1:])
def test_damage(codec):
    packed = compress(codec, DATA)
    for damaged in (b"", packed[:-1], packed[: len(packed) // 2], b"\xff" * 40):
        try:
            assert expand(codec, damaged) in (b"", DATA[: len(DATA)])
        except CompressionError:
            continue


@pytest.mark.parametrize(
    "parts", [(b"one ", b"two"), (b"", b"long enough"), (b"long enough", b""), (DATA, DATA)]
)
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

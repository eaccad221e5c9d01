"""A record batch split into smaller ones, because a broker has refused it as too large."""

from kcodec.protocol.batch.compression import CODECS
from kcodec.protocol.batch.read import read_batches
from kcodec.protocol.batch.write import write_batches

_MOST = 0x7FFFFFFF


def split_batch(data: bytes, most: int, level: int | None = None) -> tuple[list[tuple[bytes, int]], int]:
    """Return the batches, two at least, of the records of one, each with their number; and what they have at most.

    That is in bytes before compression: `most`, or half of what the batch has. Producer, sequences and all else are
    those of the batch, as where Java's producer splits one; the offsets of each begin with 0.

    >>> import pyarrow as pa
    >>> batch = write_batches(pa.table({"value": [b"a", b"b", b"c"], "sequence": [7, 8, 9]}))
    >>> parts, most = split_batch(batch, 1 << 20)
    >>> [(read_batches(part)["sequence"].to_pylist(), count) for part, count in parts]
    [([7], 1), ([8], 1), ([9], 1)]
    """
    records = read_batches(data, check_crc=False)
    codec = CODECS[data[22] & 7]
    most = min(len(write_batches(records, max_bytes=_MOST)) // 2, most)
    written = memoryview(write_batches(records, compression=codec, level=level, max_bytes=most))
    parts = []
    while written:
        size = 12 + int.from_bytes(written[8:12], "big")
        count = int.from_bytes(written[57:61], "big")
        # The offset, which the checksum does not cover.
        parts.append((bytes(8) + bytes(written[8:size]), count))
        written = written[size:]
    return parts, most

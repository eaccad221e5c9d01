"""The frame of every row of a column: which schema, and where the payload starts."""

import enum
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from kcodec._impl import kernel
from kcodec.arguments import Buffer
from kcodec.errors import Fault
from kcodec.frames import CONFLUENT, Frame
from kcodec.wire.framing import encode_message_indexes
from kcodec.wire.single import write

#: Bytes that the indexes of a message take at most, as `indexes_end` has it.
_MAX_INDEX_BYTES = 64


class Indexes(enum.IntEnum):
    """What stands between frame and payload to name a message."""

    NONE = 0
    #: Varints with zigzag, as Confluent's serializers write them.
    ZIGZAG = 1
    #: Varints without, as its Python serializer did up to 1.7, and with ``use.deprecated.format`` later.
    PLAIN = 2
    #: A varint, the number of the message.
    NUMBER = 3
    #: Bytes that name it, behind their count as a varint; each byte is an index.
    BYTES = 4


class KeyedFrames(NamedTuple):
    """What the frames of a column say.

    Per row, `selector` has an int32 index into `keys`, -1 for a null row or -2 for a bad frame, and `starts` the int32
    byte at which the payload starts, 0 where there is none. `keys` are the distinct schema ids (0 to 2**32 - 1) and
    GUIDs (16 bytes), or what else the frame has as ids, in the order they appear; with message indexes, pairs of these
    and a tuple of at least one index. `packed` says which of them compressed payloads have: their message indexes are
    not read, they are compressed too. The same id may be a key twice.
    """

    selector: bytearray
    starts: bytearray
    keys: list[Any]
    faults: Sequence[Fault]
    packed: list[bool]


def decode_frames(values: pa.Array, indexes: int = Indexes.NONE, frame: Frame = CONFLUENT) -> KeyedFrames:
    r"""Read the frame of each row, and message indexes behind it, which are one of `Indexes`; no payload is copied.

    >>> decode_frames(pa.array([b"\x00\x00\x00\x00\x07abc", None, b"{}"], pa.binary())).keys
    [7]
    >>> decode_frames(pa.array([b"\x00\x00\x00\x00\x07\x04\x02\x00"]), indexes=True).keys
    [(7, (1, 0))]
    """
    return KeyedFrames(*kernel("columns.framed._frames").decode_frames(values, indexes, frame.layout))


def common_frame(
    values: pa.Array, indexes: int = Indexes.NONE, frame: Frame = CONFLUENT
) -> tuple[bytes, Any] | None:
    r"""Return the frame of the first row and its key, if some other rows that are looked at have the same frame.

    There is none if the first payload is compressed.

    >>> common_frame(pa.array([None, b"\x00\x00\x00\x00\x07abc", b"\x00\x00\x00\x00\x07", None], pa.binary()))
    (b'\x00\x00\x00\x00\x07', 7)
    """
    return kernel("columns.framed._frames").common_frame(values, indexes, frame.layout)


def indexes_end(data: bytes, start: int) -> int:
    """Return where the message indexes that start at a byte end, a count and as many varints with zigzag.

    It is 0 if they are cut off, or are not those of a usual message: the rules are those of `decode_frames`.

    >>> indexes_end(b"prefix" + bytes([4, 2, 0x80, 1]), 6), indexes_end(b"prefix" + bytes([0, 9]), 6)
    (10, 7)
    """
    if start >= len(data):
        return 0
    if data[start] == 0:
        return start + 1
    # Zigzag: a count that takes one byte is even.
    left = data[start] >> 1
    if data[start] >= 0x80 or data[start] & 1:
        return 0
    for at in range(start + 1, min(len(data), start + _MAX_INDEX_BYTES)):
        left -= data[at] < 0x80
        if not left:
            return at + 1
    return 0


def framed_rows(values: pa.Array, rows: pa.Array) -> list[tuple[int, str, int | bytes]]:
    r"""Find, among rows whose numbers are given, those that begin like a known frame.

    Returns the position among the numbers, the name of the frame in `kcodec.frames.FRAMES`, and the id, of each. Any
    bytes may begin so; of ids that are numbers only small ones are believed. What begins like something else that is
    taken for a message now and then has its name instead, and no id: ``AVRO_FILE``, ``PARQUET``, ``GZIP``, ``ZSTD``,
    ``JSON``, and ``HEX`` and ``BASE64`` for Confluent's frame as such text.

    >>> values = pa.array([b"\x00\x00\x00\x00\x07abc", b"{}", b"\x00\x00\x00\x00\x09abc"])
    >>> framed_rows(values, pa.array([1, 2]))
    [(1, 'CONFLUENT', 9)]
    """
    numbers = memoryview(rows.buffers()[1]).cast("B").cast("q")[rows.offset : rows.offset + len(rows)]
    return kernel("columns.framed._frames").framed_rows(values, numbers)


def payload_starts(starts: Buffer) -> Callable[[int], int]:
    r"""Return what tells where the payload of a row starts, by what `kcodec.plan.kernel.RowKernel.decode` takes.

    >>> payload_starts(b"\x00\x00\x00\x00\x07")(3), payload_starts(None)(3)
    (5, 0)
    """
    if starts is None or isinstance(starts, bytes):
        size = len(starts or b"")
        return lambda row: size
    return memoryview(starts).cast("B").cast("i").__getitem__


def frame_prefix(
    key: int | bytes, indexes: Sequence[int] = (), kind: int = Indexes.ZIGZAG, frame: Frame = CONFLUENT
) -> bytes:
    """Return what a payload stands behind: the frame of a schema id or GUID, and message indexes if there are any.

    >>> frame_prefix(7).hex(), frame_prefix(7, (0,)).hex()
    ('0000000007', '000000000700')
    >>> frame_prefix(7, (1,)).hex(), frame_prefix(7, (1,), Indexes.PLAIN).hex()
    ('00000000070202', '00000000070101')
    """
    head = frame.written(key)
    if frame.layout is None and not (kind == Indexes.PLAIN and list(indexes) not in ([], [0])):
        return kernel("columns.framed._frames").frame_prefix(key, indexes)
    if kind == Indexes.NUMBER:
        return head + b"".join(map(write, indexes))
    if kind == Indexes.BYTES:
        return head + write(len(indexes)) + bytes(indexes)
    if kind == Indexes.PLAIN and list(indexes) not in ([], [0]):
        return head + b"".join(map(write, (len(indexes), *indexes)))
    return head + (encode_message_indexes(indexes) if indexes else b"")

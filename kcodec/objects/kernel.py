"""What every format has that reads and writes Python objects, compiled or in plain Python."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

from kcodec._impl import kernel
from kcodec.errors import Fault

_Call = TypeVar("_Call", bound=Callable[..., Any])


def quick_decode_one(decode_one: _Call) -> _Call:
    """Return a codec's ``decode_one`` that calls at once what reads the usual form, where the codec keeps it.

    The codec's ``_usual`` is None, or what the environment chose when the reader was made, and the reader's own
    ``decode_one``; where that raises a `DecodeError`, the codec's is asked.
    """
    return kernel("objects._calls").quick_decode_one(decode_one)


def quick_deserialize_one(deserialize_one: _Call) -> _Call:
    """Return a serde's ``deserialize_one`` that calls at once what reads the usual form of values without headers.

    What ``_one_reader.usual`` of the serde is: None, or what the environment chose, how many bytes stand before a
    payload, by these a reader and what it is counted as, and what counts.
    """
    return kernel("objects._calls").quick_deserialize_one(deserialize_one)


class Reader(Protocol):
    """Reads payloads as Python objects. It is never changed once made, so that threads may share it."""

    @property
    def told(self) -> bool:
        """Whether its faults have the reasons that a codec's ``decode`` gives."""

    def decode_one(self, data: Any, start: int = 0) -> Any:
        """Read one payload from a position on; None stays None. What cannot be read is a `DecodeError` of row 0."""

    def decode_list(
        self, values: list[Any], starts: Sequence[int] | None = None, stop: bool = False
    ) -> tuple[list[Any], list[Fault]]:
        """Read payloads, each from a position on; what cannot be read is None and a fault.

        With `stop` the first fault is the last, and the list ends before it.
        """


class Writer(Protocol):
    """Writes Python objects as payloads. It is never changed once made, so that threads may share it."""

    def encode_one(self, value: Any, prefix: bytes = b"") -> bytes | None:
        """Write one value behind some bytes; None stays None. What cannot be is an `EncodeError` of row 0."""

    def encode_list(
        self, values: list[Any], prefix: bytes = b"", stop: bool = False
    ) -> tuple[list[bytes | None], list[Fault]]:
        """Write values, as `encode_one` does; what cannot be written is None and a fault."""

"""Values one by one, by functions for one: for formats that have these already."""

from collections.abc import Callable, Sequence
from typing import Any

from kcodec.errors import DecodeError, EncodeError, Fault
from kcodec.objects.by_columns import fault_of

__all__ = ["EachReader", "EachWriter"]


class EachReader:
    """Reads payloads by a function for one; see `kcodec.objects.kernel.Reader`."""

    told = False

    def __init__(self, decode: Callable[[Any], Any]) -> None:
        self._decode = decode

    def decode_one(self, data: Any, start: int = 0) -> Any:
        """Read one payload."""
        if data is None:
            return None
        return self._decode(bytes(data)[start:] if start else data)

    def decode_list(
        self, values: list[Any], starts: Sequence[int] | None = None, stop: bool = False
    ) -> tuple[list[Any], list[Fault]]:
        """Read many."""
        made: list[Any] = []
        faults: list[Fault] = []
        for row, data in enumerate(values):
            value = None
            try:
                value = self.decode_one(data, 0 if starts is None else starts[row])
            except DecodeError as error:
                faults.append(fault_of(error)._replace(row=row))
                if stop:
                    break
            made.append(value)
        return made, faults


class EachWriter:
    """Writes Python objects by a function for one; see `kcodec.objects.kernel.Writer`."""

    def __init__(self, encode: Callable[[Any], bytes]) -> None:
        self._encode = encode

    def encode_one(self, value: Any, prefix: bytes = b"") -> bytes | None:
        """Write one value."""
        return None if value is None else prefix + self._encode(value)

    def encode_list(
        self, values: list[Any], prefix: bytes = b"", stop: bool = False
    ) -> tuple[list[bytes | None], list[Fault]]:
        """Write many."""
        made: list[bytes | None] = []
        faults: list[Fault] = []
        for row, value in enumerate(values):
            data = None
            try:
                data = self.encode_one(value, prefix)
            except EncodeError as error:
                faults.append(fault_of(error)._replace(row=row))
                if stop:
                    break
            made.append(data)
        return made, faults

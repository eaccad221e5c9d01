"""Values one by one, by functions for one: many are read and written as each of them is."""

from collections.abc import Callable, Sequence
from typing import Any

from kcodec.errors import DecodeError, EncodeError, Fault
from kcodec.objects.kernel import Reader


def fault_of(error: DecodeError | EncodeError) -> Fault:
    """Return the facts that an error has.

    >>> fault_of(DecodeError(1, 2, "a", "truncated", "cut"))[:4]
    (1, 2, 'a', 'truncated')
    """
    return Fault(error.row, error.offset, error.path, error.code, error.reason, error.schema_id)


class EachReader:
    """Reads payloads by a function for one, from a position on; see `kcodec.objects.kernel.Reader`."""

    told = False

    def __init__(self, decode: Callable[[Any, int], Any]) -> None:
        self._decode = decode

    def decode_one(self, data: Any, start: int = 0) -> Any:
        """Read one payload."""
        return None if data is None else self._decode(data, start)

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


class AloneReader:
    """Reads payloads alone that are plain, and leaves others, and several, to `columns`."""

    told = True

    def __init__(self, columns: Reader) -> None:
        self._columns = columns

    def decode_one(self, data: Any, start: int = 0) -> Any:
        """Read one payload."""
        return self._columns.decode_one(data, start)

    def decode_list(
        self, values: list[Any], starts: Sequence[int] | None = None, stop: bool = False
    ) -> tuple[list[Any], list[Fault]]:
        """Read many."""
        return self._columns.decode_list(values, starts, stop)


class EachWriter:
    """Writes Python objects by a function for one; see `kcodec.objects.kernel.Writer`."""

    def __init__(self, encode: Callable[..., Any]) -> None:
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

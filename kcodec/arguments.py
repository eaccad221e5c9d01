"""What users hand in, as types: signatures name them, so that readers and type checkers know what is taken.

They are texts, which are evaluated by type checkers only: nothing is imported for them.
"""

from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

if TYPE_CHECKING:
    import os
    import re
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    import pyarrow as pa
    from pyarrow import fs


class HasArrowArray(Protocol):
    """An object that gives out an Arrow array, such as a column of polars or duckdb."""

    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]:
        """Return the capsules of the schema and of the array."""


class HasArrowStream(Protocol):
    """An object that gives out a stream of Arrow arrays or batches, such as a DataFrame."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return the capsule of the stream."""


class HasArray(Protocol):
    """An array or a series of NumPy or pandas."""

    def __array__(self) -> Any:
        """Return the array of NumPy."""


class HasDecode(Protocol):
    """What is used as a codec that reads."""

    def decode(self, *arguments: Any, **options: Any) -> Any:
        """Decode a column of payloads."""


class HasEncode(Protocol):
    """What is used as a codec that writes."""

    def encode(self, *arguments: Any, **options: Any) -> Any:
        """Encode a column."""


class HasDeserialize(Protocol):
    """What is used as a serde that reads."""

    def deserialize(self, *arguments: Any, **options: Any) -> Any:
        """Decode a column of framed payloads."""


class HasSerialize(Protocol):
    """What is used as a serde that writes."""

    def serialize(self, *arguments: Any, **options: Any) -> Any:
        """Encode a column as framed payloads."""


#: The path of a file, there or on a file system of pyarrow.
FilePath: TypeAlias = "str | os.PathLike[str]"
FileSystem: TypeAlias = "fs.FileSystem"

#: Bytes in memory: what `memoryview` takes.
Buffer: TypeAlias = "bytes | bytearray | memoryview | pa.Buffer"

_Producer: TypeAlias = "HasArrowArray | HasArrowStream | HasArray"

#: A column of payloads: binary or text of any layout, or a list of bytes and None.
Payloads: TypeAlias = "pa.Array | pa.ChunkedArray | Sequence[bytes | None] | _Producer"

#: A column to be written, a table whose columns are one struct, or a list of Python values.
Columns: TypeAlias = "pa.Array | pa.ChunkedArray | pa.RecordBatch | pa.Table | Sequence[Any] | _Producer"

_Frame: TypeAlias = "pa.Table | pa.RecordBatch | pa.RecordBatchReader | HasArrowStream | HasArrowArray"

#: Rows with several columns each: a table, batches or dicts one after the other, or a dict of lists.
Tables: TypeAlias = "_Frame | Iterable[pa.RecordBatch | Mapping[str, Any]] | Mapping[str, Any]"

#: What keys or values of a topic are: a format's name, with its options in a mapping, a codec, or a serde.
FormatLike: TypeAlias = "str | Mapping[str, Any] | HasDecode | HasEncode | HasDeserialize | HasSerialize"

#: Columns that are read, by their names, or by new names for them.
Selection: TypeAlias = "Sequence[str] | Mapping[str, str]"

#: ``host:port`` of some brokers: several in a list, or with commas between them.
Servers: TypeAlias = "str | Sequence[str]"

#: Topic, partition, first offset, and the one behind the last: a `kcodec.kafka.Range`.
_Range: TypeAlias = "tuple[str, int, int, int | None]"

_Named: TypeAlias = "str | re.Pattern[str] | Sequence[str] | Mapping[str, Sequence[int]]"

#: A topic, several, a pattern, partitions by topic, or ranges of offsets as `kcodec.kafka.find_ranges` finds them.
Topics: TypeAlias = "_Named | _Range | Sequence[_Range]"

#: Where reading starts or ends: a word, JSON, a time, so many records before the end, or any of these by partition.
Position: TypeAlias = "str | int | datetime | Mapping[str, Any]"

"""The data source ``kcodec_segment``; imported where pyspark is, by `kcodec_spark.segments.segment`."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.fs
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from kcodec.errors import CODES, ConfigError, DecodeError
from kcodec.protocol import stream_segment
from kcodec.protocol.batch.read import BatchOptions
from kcodec.protocol.batch.segment import ISOLATION
from kcodec_spark.types.arrow import from_arrow_type

if TYPE_CHECKING:
    from pyspark.sql.types import DataType

__all__ = ["ARROW", "SCHEMA", "SegmentDataSource"]

#: Names and types of Spark's own Kafka source, then what else a batch says of its records.
ARROW = pa.schema(
    [
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", pa.timestamp("us", "UTC")),
        ("timestampType", pa.int32()),
        (
            "headers",
            pa.list_(pa.field("element", pa.struct([("key", pa.string()), ("value", pa.binary())]))),
        ),
        ("partitionLeaderEpoch", pa.int32()),
        ("producerId", pa.int64()),
        ("producerEpoch", pa.int16()),
        ("sequence", pa.int32()),
        ("transactional", pa.bool_()),
        ("controlType", pa.string()),
        ("batch", pa.int32()),
        ("file", pa.string()),
    ]
)

#: The same in Spark.
SCHEMA = from_arrow_type(pa.struct(list(ARROW)))

#: Column -> the one of the reader that it is.
_SOURCES = {name: re.sub("([A-Z])", lambda match: "_" + match[1].lower(), name) for name in ARROW.names}

_LOG = re.compile(r"\.(log|checkpoint)$")
#: With those that a broker is about to delete or has just cleaned, whose records are in others, too.
_ANY_LOG = re.compile(r"\.(log|checkpoint)(\.(deleted|cleaned|swap))?$")
_FOLDER = re.compile(r"(?P<topic>[^/]+)-(?P<partition>\d{1,9})/[^/]+$")
_GLOB = re.compile(r"[*?\[]|\{[^{}]*,[^{}]*\}")
#: Beside letters and digits, what a URI is made of.
_URI = "%/:?#[]@!$&'()*+,;=~-._"
_MODES = {"FAILFAST": "raise", "PERMISSIVE": "skip"}
_OPTIONS = ("path", "paths", "isolation", "control", "checkCrc", "mode", "maxDecompressed")


@dataclass
class _Segment(InputPartition):  # type: ignore[misc]
    """One file, read by one task."""

    path: str
    #: None: the local one.
    filesystem: Any

    @property
    def topic(self) -> str | None:
        found = _FOLDER.search(self.path)
        return found and found["topic"]

    @property
    def partition(self) -> int | None:
        found = _FOLDER.search(self.path)
        return found and int(found["partition"])


class SegmentDataSource(DataSource):  # type: ignore[misc]
    """Log segments, as ``spark.read.format("kcodec_segment").load(path)`` reads them."""

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return "kcodec_segment"

    def schema(self) -> "DataType":
        """Return the columns, once there is something to read: paths and options fail where they are given."""
        SegmentReader(dict(self.options)).partitions()
        return SCHEMA

    def reader(self, schema: "DataType") -> "SegmentReader":
        """Return what lists and reads the segments."""
        if schema.simpleString() != SCHEMA.simpleString():
            raise ConfigError(
                "the columns of kcodec_segment are fixed: read without .schema(), and select some"
            )
        return SegmentReader(dict(self.options))


class SegmentReader(DataSourceReader):  # type: ignore[misc]
    """Lists the segments when a query is planned, and reads one a task."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self.paths, self.options = _read_options(options)

    def partitions(self) -> list[InputPartition]:
        """List the segments, in the order of their paths."""
        found = {each.path: each for path in self.paths for each in _segments(path)}
        if not found:
            raise ConfigError(f"no .log or .checkpoint at {', '.join(self.paths)}")
        return [found[path] for path in sorted(found)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read one segment, chunk by chunk."""
        assert isinstance(partition, _Segment)
        stream = stream_segment(partition.path, filesystem=partition.filesystem, views=False, **self.options)
        try:
            for chunk in stream:
                yield _columns(chunk, partition)
        except DecodeError as error:
            reason = f"{error.reason}, in {partition.path}"
            raise DecodeError(error.row, error.offset, error.path, error.code, reason) from error


def _columns(chunk: pa.RecordBatch, segment: _Segment) -> pa.RecordBatch:
    constants = {"topic": segment.topic, "partition": segment.partition, "file": segment.path}
    arrays = []
    for field in ARROW:
        if field.name in constants:
            arrays.append(pa.repeat(pa.scalar(constants[field.name], field.type), chunk.num_rows))
            continue
        column = chunk.column(_SOURCES[field.name])
        try:
            arrays.append(column.cast(field.type))
        except pa.ArrowInvalid as error:
            # Milliseconds that microseconds of 64 bits do not reach.
            row = chunk.column("batch")[0].as_py()
            raise DecodeError(row, None, field.name, "out_of_range", CODES["out_of_range"]) from error
    return pa.RecordBatch.from_arrays(arrays, schema=ARROW)


def _read_options(options: Mapping[str, str]) -> tuple[list[str], dict[str, Any]]:
    """Read the options, whose names have no case, as those of `stream_segment`."""
    known = {name.lower(): name for name in _OPTIONS}
    given = {}
    for name, value in options.items():
        if name.lower() not in known:
            raise ConfigError(f"option {name!r} is not one of {', '.join(_OPTIONS[2:])}")
        given[known[name.lower()]] = value
    paths = json.loads(given["paths"]) if "paths" in given else []
    paths += [given["path"]] if "path" in given else []
    if not paths:
        raise ConfigError("give the path of a segment, of a folder of segments, or a pattern: load(path)")
    mode = given.get("mode", "FAILFAST").upper()
    if mode not in _MODES:
        raise ConfigError(f"mode={given['mode']!r} is not one of {', '.join(_MODES)}")
    chosen: dict[str, Any] = {"errors": _MODES[mode]}
    for name in ("isolation", "control"):
        if name in given:
            chosen[name] = given[name].lower()
    if chosen.get("isolation", ISOLATION[0]) not in ISOLATION:
        raise ConfigError(f"isolation={given['isolation']!r} is not one of {', '.join(ISOLATION)}")
    if "checkCrc" in given:
        if given["checkCrc"].lower() not in ("true", "false"):
            raise ConfigError(f"checkCrc={given['checkCrc']!r} is not one of true, false")
        chosen["check_crc"] = given["checkCrc"].lower() == "true"
    if "maxDecompressed" in given:
        if not given["maxDecompressed"].isdecimal():
            raise ConfigError(f"maxDecompressed={given['maxDecompressed']!r} is not a number of bytes")
        chosen["max_decompressed"] = int(given["maxDecompressed"])
    BatchOptions.of({name: value for name, value in chosen.items() if name != "isolation"}).check()
    return paths, chosen


def _segments(path: str) -> list[_Segment]:
    """List the segments at a path, below a folder, or that a pattern stands for."""
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]+:", path):
        start = _GLOB.split(path)[0]
        fixed = start if start == path else start.rpartition("/")[0]
        try:
            # Characters that URIs do not have, such as spaces, may be given as they are.
            filesystem, root = pyarrow.fs.FileSystem.from_uri(quote(fixed, safe=_URI))
        except pa.ArrowInvalid as error:
            raise ConfigError(f"{path}: {error}") from error
        pattern = root + path[len(fixed) :]
    else:
        filesystem, pattern = pyarrow.fs.LocalFileSystem(), path
        start = _GLOB.split(path)[0]
        root = path if start == path else start.rpartition("/")[0] or ("/" if path.startswith("/") else ".")
    local = None if isinstance(filesystem, pyarrow.fs.LocalFileSystem) else filesystem
    if root == pattern and filesystem.get_file_info(root).type == pyarrow.fs.FileType.File:
        return [_Segment(root, local)]
    if root == "." and pattern != "." and not pattern.startswith("./"):
        # As the files of a selector are named.
        pattern = "./" + pattern
    selector = pyarrow.fs.FileSelector(root, allow_not_found=True, recursive=True)
    named = re.compile(_expression(pattern))
    below = re.compile(_expression(pattern.rstrip("/")) + "/.*")
    return [
        _Segment(info.path, local)
        for info in filesystem.get_file_info(selector)
        if info.type == pyarrow.fs.FileType.File
        and (
            (_ANY_LOG.search(info.path) and named.fullmatch(info.path))
            or (_LOG.search(info.path) and below.fullmatch(info.path))
        )
    ]


def _expression(pattern: str) -> str:
    """Turn a pattern of paths into a regular expression: ``**`` reaches over folders, ``*`` and ``?`` do not."""
    parts = []
    for part in re.split(r"(\*\*/?|\*|\?|\[[^\]]+\]|\{[^{}]*,[^{}]*\})", pattern):
        if part.startswith("**"):
            parts.append(".*")
        elif part == "*":
            parts.append("[^/]*")
        elif part == "?":
            parts.append("[^/]")
        elif part.startswith("[") and part.endswith("]"):
            parts.append(part.replace("[!", "[^"))
        elif part.startswith("{") and part.endswith("}") and "," in part:
            parts.append(f"(?:{'|'.join(map(_expression, part[1:-1].split(',')))})")
        else:
            parts.append(re.escape(part))
    return "".join(parts)

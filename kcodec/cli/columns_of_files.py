"""The columns that files of rows have."""

import itertools
from pathlib import Path

import pyarrow as pa

from kcodec.errors import ConfigError
from kcodec.formats.json.codec import infer

#: Lines of JSON that are looked at.
_LINES = 1000


def columns_of(file: Path) -> pa.DataType:
    """Return the columns of a file as a struct; what it is, its name says.

    A name that does not say it, a file of something else and one without lines are a `ConfigError`, lines that are not
    JSON a `SchemaError`.
    """
    read = _READ.get(file.suffix.lower())
    if read is None:
        raise ConfigError(f"{file}: what it is, its name says: {', '.join(_READ)}")
    try:
        return read(file)
    except pa.ArrowInvalid as error:
        raise ConfigError(f"{file}: {error}") from None


def _parquet(file: Path) -> pa.DataType:
    import pyarrow.parquet as pq

    return pa.struct(list(pq.read_schema(file)))


def _arrow(file: Path) -> pa.DataType:
    with pa.OSFile(str(file)) as opened, pa.ipc.open_file(opened) as reader:
        return pa.struct(list(reader.schema))


def _csv(file: Path) -> pa.DataType:
    from pyarrow import csv

    with csv.open_csv(file) as reader:
        return pa.struct(list(reader.schema))


def _lines(file: Path) -> pa.DataType:
    with file.open("rb") as opened:
        lines = [line for line in itertools.islice(opened, _LINES) if line.strip()]
    if not lines:
        raise ConfigError(f"{file}: there are no rows to derive a schema of")
    return infer(lines, sample=_LINES)


_READ = {
    **dict.fromkeys((".parquet", ".pq"), _parquet),
    **dict.fromkeys((".arrow", ".feather", ".ipc"), _arrow),
    ".csv": _csv,
    **dict.fromkeys((".jsonl", ".ndjson", ".json"), _lines),
}

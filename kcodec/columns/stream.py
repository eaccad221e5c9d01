"""Readers of batches that are made as they are read."""

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa

from kcodec._fork import fork_safe_lock
from kcodec.arguments import Tables
from kcodec.columns.arrays.given import REFUSED, check_objects, columns_kept, folded_column, told
from kcodec.columns.arrays.values import typed
from kcodec.errors import KcodecError

__all__ = ["Lasting", "reader_of", "stream"]


class Lasting(Iterator[pa.RecordBatch]):
    """Batches up to an error, which is raised whenever another is asked for; a generator would then be at its end.

    Threads that ask at the same time get one each, in turn; a generator would raise `ValueError`. `interrupted` is what
    is raised behind an interruption, such as that of a keyboard.

    >>> lasting = Lasting(pa.record_batch({"half": [1 // number]}) for number in (1, 0, 2))
    >>> next(lasting).num_rows
    1
    >>> for _ in range(2):
    ...     try:
    ...         next(lasting)
    ...     except ZeroDivisionError as error:
    ...         print(type(error).__name__)
    ZeroDivisionError
    ZeroDivisionError
    """

    def __init__(
        self, batches: Iterable[pa.RecordBatch], interrupted: type[KcodecError] = KcodecError
    ) -> None:
        self._batches = iter(batches)
        self._interrupted = interrupted
        self._failure: Exception | None = None
        self._lock = fork_safe_lock()

    def __next__(self) -> pa.RecordBatch:
        with self._lock:
            return self._following()

    def _following(self) -> pa.RecordBatch:
        if self._failure is not None:
            raise self._failure
        try:
            return next(self._batches)
        except StopIteration:
            raise
        except BaseException as error:
            lasting = error if isinstance(error, Exception) else self._interrupted("reading was interrupted")
            self._failure = lasting
            raise


def stream(schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> pa.RecordBatchReader:
    """Return a reader of batches that are made as it is read; after an error it has no end.

    >>> schema = pa.schema({"id": pa.int64()})
    >>> stream(schema, (pa.record_batch([[number]], schema) for number in (1, 2))).read_all()["id"].to_pylist()
    [1, 2]
    """
    return pa.RecordBatchReader.from_batches(schema, Lasting(batches))


#: The type that a column of Python values is made by, given its name.
Wanted = Callable[[str], pa.DataType | None]
#: Rows that are made columns together.
_ROWS = 1 << 14
_TABLES = (
    "a table is an Arrow table, batch or reader, a frame of pandas or polars, a relation of DuckDB, a list or an "
    "iterator of dicts, an iterator of batches, or a dict of lists"
)


def reader_of(data: Tables, wanted: Wanted = lambda _: None) -> pa.RecordBatchReader:
    """Return the batches of a table, a batch, a reader, or of what else has Arrow's C interface for one.

    Also of a lazy frame of polars, of dicts, one a row, and of a dict of lists, one a column. Of frames of pandas, an
    index without a name is no column. `wanted` says by which type a column of Python values is made, given its name;
    None is what they look like. What is no table is a `TypeError`.

    >>> reader_of(pa.record_batch({"id": [1, 2]})).read_all().num_rows
    2
    >>> reader_of([{"id": 1}, {"note": "a"}]).read_all().to_pylist()
    [{'id': 1, 'note': None}, {'id': None, 'note': 'a'}]
    """
    if isinstance(data, pa.RecordBatchReader):
        return data
    if hasattr(data, "collect_schema") and not hasattr(data, "__arrow_c_stream__"):
        lazy: Any = data
        data = lazy.collect()
    try:
        if hasattr(data, "__arrow_c_stream__"):
            check_objects(data)
            return _without_index(pa.RecordBatchReader.from_stream(data))
        if hasattr(data, "__arrow_c_array__"):
            return pa.Table.from_batches([pa.record_batch(data)]).to_reader()
    except REFUSED as error:
        # A column, or one of Python objects that are of no type.
        raise TypeError(f"{type(data).__name__} is no table: {told(error, data)}; {_TABLES}") from None
    if isinstance(data, Mapping):
        return _columns(data, wanted).to_reader()
    if isinstance(data, (list, tuple, Iterator)):
        return _of_rows(data, wanted)
    raise TypeError(f"{type(data).__name__} is no table: {_TABLES}")


def _without_index(reader: pa.RecordBatchReader) -> pa.RecordBatchReader:
    schema = reader.schema
    places = columns_kept(schema)
    if len(places) == len(schema) or b"pandas" not in (schema.metadata or {}):
        return reader
    return stream(
        pa.schema([schema.field(place) for place in places]), (each.select(places) for each in reader)
    )


def _columns(data: Mapping[str, Any], wanted: Wanted, first: int = 0) -> pa.Table:
    arrays = {}
    for name, values in data.items():
        if not isinstance(name, str):
            raise TypeError(f"{name!r} is no name of a column")
        try:
            if isinstance(values, (pa.Array, pa.ChunkedArray)):
                arrays[name] = values
                continue
            kind = wanted(name)
            arrays[name] = typed(values, None) if kind is None else folded_column(values, kind)
        except (pa.ArrowException, TypeError, OverflowError) as error:
            place = f", rows from {first}" if first else ""
            raise TypeError(f"column {name!r}{place}: {error}") from None
    try:
        return pa.table(arrays)
    except pa.ArrowInvalid as error:
        raise TypeError(f"dict is no table: {error}") from None


def _of_rows(rows: Iterable[Any], wanted: Wanted) -> pa.RecordBatchReader:
    """Return rows that are dicts as columns; those of an iterator have the columns of the first of them."""
    if not isinstance(rows, Iterator):
        return _row_columns(list(rows), wanted, 0).to_reader()
    begin = list(itertools.islice(rows, 1))
    if begin and isinstance(begin[0], pa.RecordBatch):
        return stream(begin[0].schema, itertools.chain(begin, rows))
    first = _row_columns([*begin, *itertools.islice(rows, _ROWS - 1)], wanted, 0)

    def batches() -> Iterator[pa.RecordBatch]:
        yield from first.to_batches()
        count = len(first)
        while part := list(itertools.islice(rows, _ROWS)):
            found = _row_columns(part, wanted, count, first.schema.names)
            try:
                yield from found.cast(first.schema).to_batches()
            except pa.ArrowException as error:
                raise TypeError(
                    f"rows from {count} have other types than the first {len(first)}: {error}; give a table"
                ) from None
            count += len(part)

    return stream(first.schema, batches())


def _row_columns(rows: list[Any], wanted: Wanted, first: int, names: list[str] | None = None) -> pa.Table:
    found = {} if names is None else dict.fromkeys(names)
    for number, row in enumerate(rows, first):
        if not isinstance(row, Mapping):
            raise TypeError(f"row {number} is no dict but {type(row).__name__}: {_TABLES}")
        if names is None:
            found.update(dict.fromkeys(row))
        elif not row.keys() <= found.keys():
            added = next(name for name in row if name not in found)
            raise TypeError(
                f"row {number} has a column {added!r}, which the first {_ROWS} rows have not: give a table"
            )
    return _columns({name: [row.get(name) for row in rows] for name in found}, wanted, first)

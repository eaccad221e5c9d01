"""Whole DataFrames, decoded and encoded by ``DataFrame.mapInArrow``: with all types, on every Spark since 3.5.

Functions of columns need Spark 4.1 to encode; here rows pass as Arrow batches, which lose nothing on any version.
"""

import functools
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from kcodec.columns.arrays.nested import cast_leaves
from kcodec.errors import ConfigError, near
from kcodec_spark.functions.codecs import check_codec, reader_of, writer_of
from kcodec_spark.functions.columns import decoding, encoding, quoted
from kcodec_spark.options import rows_options
from kcodec_spark.types.arrow import arrow_schema
from kcodec_spark.workers.archives import shipped
from kcodec_spark.workers.importer import importer
from kcodec_spark.workers.local_python import check_local_python

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import DataType


class _Step(NamedTuple):
    """A column that is made from another."""

    name: str
    source: str
    function: Callable[..., pa.Array]
    kind: "DataType"


def decode(
    df: "DataFrame",
    columns: Mapping[str, tuple[str, Any]],
    *,
    keep: Sequence[str] | None = None,
    options: Mapping[str, Any] | None = None,
) -> "DataFrame":
    """Decode columns of a DataFrame.

    Parameters
    ----------
    df : DataFrame
        Classic or Connect, batch or stream, on Spark 3.5 or newer.
    columns : mapping of str to tuple of (str, codec)
        Name of each column of the result that is decoded: the column of binary or string that it is decoded from, and
        a codec or a `kcodec.Serde` with a reader's schema.
    keep : sequence of str, optional
        The columns of `df` that stay, before those that are decoded. All, if it is not given.
    options : dict, optional
        ``mode``, ``columnNameOfCorruptRecord`` and ``onRegistryFailure``, as for `from_avro`.

    Returns
    -------
    DataFrame
        The columns that stay, and then those of `columns`, with the types that `register`'s functions have.

    Raises
    ------
    ConfigError
        If `df` has no such column, a name stands twice, or an option is none.
    TypeError
        If an argument is of another type.

    Examples
    --------
    >>> decode(df, {"order": ("value", codec)}, keep=["offset"]).select("order.id")        # doctest: +SKIP
    """
    rows = rows_options(options, "decode", "; others are the codec's", has_registry=True)
    steps = []
    for name, source, codec in _given(df, columns):
        function, kind = decoding(reader_of(codec), rows)
        steps.append(_Step(name, source, function, kind))
    return _mapped(df, steps, keep)


def encode(
    df: "DataFrame",
    columns: Mapping[str, tuple[str, Any]],
    *,
    keep: Sequence[str] | None = None,
    options: Mapping[str, Any] | None = None,
) -> "DataFrame":
    """Encode columns of a DataFrame.

    Parameters
    ----------
    df : DataFrame
        As for `decode`.
    columns : mapping of str to tuple of (str, codec)
        Name of each column of the result that is encoded: the column that is written, such as a struct, and a codec or
        a `kcodec.Serde`.
    keep : sequence of str, optional
        The columns of `df` that stay, before those that are encoded. All, if it is not given.
    options : dict, optional
        ``mode`` and ``columnNameOfCorruptRecord``, as for `to_avro`.

    Returns
    -------
    DataFrame
        The columns that stay, and then those of `columns`: the bytes that `to_avro` and its like give where they run.

    Raises
    ------
    ConfigError
        If `df` has no such column, a name stands twice, or an option is none.
    TypeError
        If an argument is of another type.

    Examples
    --------
    >>> encode(df.select(F.struct("*").alias("order")), {"value": ("order", codec)}, keep=[])   # doctest: +SKIP
    """
    rows = rows_options(options, "encode", "; others are the codec's")
    steps = []
    for name, source, codec in _given(df, columns):
        function, kind, _ = encoding(writer_of(codec), rows)
        steps.append(_Step(name, source, function, kind))
    return _mapped(df, steps, keep)


def _given(df: "DataFrame", columns: Any) -> Iterator[tuple[str, str, Any]]:
    if not isinstance(columns, Mapping):
        raise TypeError(f"columns are a dict of names to (column, codec), not {type(columns).__name__}")
    for name, given in columns.items():
        if not isinstance(name, str) or not isinstance(given, tuple) or len(given) != 2:
            raise TypeError(f"columns are a dict of names to (column, codec), not {name!r}: {given!r}")
        source, codec = given
        yield name, _column(df, source), check_codec(codec, {}, f"columns: {name} is")


def _column(df: "DataFrame", name: Any) -> str:
    """Return the name of a column of a DataFrame, which is given without regard to case."""
    if not isinstance(name, str):
        raise TypeError(f"a column is the name of one, not {type(name).__name__}")
    found: list[str] = [each for each in df.columns if each.lower() == name.lower()]
    if len(found) != 1:
        problem = "stands twice" if found else "is no column"
        raise ConfigError(f"{name!r} {problem}{near(name, df.columns)}")
    return found[0]


def _mapped(df: "DataFrame", steps: Sequence[_Step], keep: Any) -> "DataFrame":
    from pyspark import cloudpickle
    from pyspark.sql import functions as F
    from pyspark.sql.types import StructField, StructType

    if isinstance(keep, str) or not isinstance(keep, Sequence | None):
        raise TypeError(f"keep is a sequence of names, not {type(keep).__name__}")
    stay = [_column(df, name) for name in (df.columns if keep is None else keep)]
    names = [*stay, *(step.name for step in steps)]
    for name in names:
        if sum(name.lower() == other.lower() for other in names) > 1:
            raise ConfigError(f"{name!r} stands twice in the result: keep= names the columns that stay")
    check_local_python()
    needed = list(dict.fromkeys([*stay, *(step.source for step in steps)]))
    fields = [df.schema[name] for name in stay]
    fields += [StructField(step.name, step.kind) for step in steps]
    made = arrow_schema(StructType([StructField(step.name, step.kind) for step in steps]))
    work = functools.partial(
        _batch,
        {name: needed.index(name) for name in stay},
        [
            (step.name, needed.index(step.source), step.function, field.type)
            for step, field in zip(steps, made, strict=True)
        ],
    )
    sent = _batches(cloudpickle.dumps(work), shipped(), logging.getLogger("kcodec").level)
    # In a classic session, Spark finds no columns there whose names have dots or backticks.
    numbered = (F.col(quoted(name)).alias(f"c{number}") for number, name in enumerate(needed))
    return df.select(*numbered).mapInArrow(sent, StructType(fields))


def _batch(
    stay: Mapping[str, int],
    steps: Iterable[tuple[str, int, Callable[..., Any], pa.DataType]],
    batch: pa.RecordBatch,
) -> pa.RecordBatch:
    """Return a batch as the executors decode or encode it; columns are found by their places."""
    made = {name: batch.column(place) for name, place in stay.items()}
    for name, source, function, kind in steps:
        array = function(batch.column(source))
        array = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
        # Spark takes arrays as they come here, and knows no lists but those of 32 bits.
        made[name] = cast_leaves(array, kind)
    return pa.RecordBatch.from_arrays(list(made.values()), names=list(made))


def _batches(content: bytes, marker: str | None, level: int) -> Callable[[Any], Any]:
    """Return the function that Spark sends; it uses nothing of these packages, so that it can look for them first."""
    find = importer(marker)

    def work(batches: Any) -> Any:
        function = find("kcodec_spark.workers.worker").load(content, level, "kcodec_spark")
        for batch in batches:
            yield function(batch)

    return work

"""The topics of streams and tables, read, followed and written as their columns."""

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from kcodec import kafka
from kcodec import registry as registries
from kcodec.arguments import Position, Servers, Tables
from kcodec.columns.stream import reader_of, stream
from kcodec.errors import EncodeError
from kcodec.kafka.connection.cluster import Cluster
from kcodec.kafka.connection.settings import Settings
from kcodec.kafka.fetching.fetcher import Piece
from kcodec.kafka.reading.columns import Columns
from kcodec.kafka.reading.follower import Follower
from kcodec.kafka.reading.topic_reader import check_isolation
from kcodec.kafka.report import ReadReport, RecordError, RecordFault
from kcodec.kafka.writing.topic_writer import Written
from kcodec.ksql.records.records import Records
from kcodec.ksql.statement.statement import Statement
from kcodec.registry.base import RegistryLike

_COLUMNS = ("key", "value", "partition", "offset", "timestamp")


def read(
    statement: Statement | str,
    *,
    servers: "Servers | None" = None,
    registry: RegistryLike | None = None,
    variables: Mapping[str, str] | None = None,
    start: Position = "earliest",
    end: Position = "latest",
    isolation: str | None = None,
    errors: str = "raise",
    compat: str | None = None,
    timezone: str = "UTC",
    wide_decimals: str = "decimal256",
    row_time: str = "milliseconds",
    latest_by_key: bool | str = False,
    config: Mapping[str, Any] | None = None,
) -> Any:
    """Read the topic of a stream or table, from a start to an end that are found out at the beginning.

    Parameters
    ----------
    statement : str or Statement
        One ``CREATE STREAM`` or ``CREATE TABLE``. A table is read as its changes: a row for each record of its topic.
    registry : kcodec.registry.SchemaRegistry or str, optional
        Where the schemas of AVRO, JSON_SR and PROTOBUF are; by default ``schema.registry.url`` of `config`.
    variables : mapping, optional
        As for `parse`.
    servers, start, end, isolation, config
        As for `kcodec.kafka.read`.
    errors : {"raise", "null", "report"}
        What becomes of a key, a value or a time that cannot be read: an exception; nulls; or that and a row of the
        report. ksqlDB skips the record.
    compat, wide_decimals
        As for `kcodec.KsqlCodec`.
    timezone : str
        The zone of texts that TIMESTAMP_FORMAT finds none in; ksqlDB takes that of its server.
    row_time : {"milliseconds", "timestamp"}
        What ROWTIME is: a BIGINT, as in ksqlDB, or a timestamp of UTC.
    latest_by_key : bool or "deletes"
        Only the newest row of each key, without those that are deleted, as for `kcodec.kafka.read`: of a table, what a
        pull query selects; of a windowed one, the newest of each window.

    Returns
    -------
    pyarrow.RecordBatchReader
        With key columns, the windows of windowed keys, the other columns, and ROWTIME, ROWPARTITION and ROWOFFSET. With
        ``errors="report"`` a pair of it and a `kcodec.kafka.ReadReport`.

    Raises
    ------
    StatementError, SchemaError, ConfigError, KafkaError
        When called.
    kcodec.kafka.RecordError
        While it is read.

    Examples
    --------
    >>> from kcodec import ksql
    >>> text = "CREATE STREAM orders (id BIGINT KEY, n INT) WITH (kafka_topic='orders', value_format='JSON');"
    >>> ksql.read(text, servers="broker:9092").read_all()                                       # doctest: +SKIP
    """
    settings = Settings.of(config, servers)
    how = {"compat": compat, "timezone": timezone, "wide_decimals": wide_decimals, "row_time": row_time}
    records = _records(statement, settings, registry, variables, **how)
    found = kafka.read(
        records.statement.topic,
        servers=servers,
        start=start,
        end=end,
        columns=_columns(records),
        isolation=isolation,
        errors=errors,
        latest_by_key=latest_by_key,
        config=config,
    )
    reader, report = found if errors == "report" else (found, None)
    batches = (_rows(records, batch, errors, report) for batch in reader)
    rows = stream(records.schema, batches)
    return rows if report is None else (rows, report)


def follow(
    statement: Statement | str,
    *,
    servers: "Servers | None" = None,
    registry: RegistryLike | None = None,
    variables: Mapping[str, str] | None = None,
    start: Position = "latest",
    group: str | None = None,
    isolation: str | None = None,
    errors: str = "raise",
    compat: str | None = None,
    timezone: str = "UTC",
    wide_decimals: str = "decimal256",
    row_time: str = "milliseconds",
    config: Mapping[str, Any] | None = None,
) -> "RowFollower":
    """Read the topic of a stream or table as it grows.

    Parameters
    ----------
    statement, registry, variables, errors, compat, timezone, wide_decimals, row_time
        As for `read`.
    servers, start, group, isolation, config
        As for `kcodec.kafka.follow`.

    Returns
    -------
    RowFollower
        An iterator of batches, as `kcodec.kafka.Follower` is one; to be closed, also by ``with``.

    Raises
    ------
    StatementError, SchemaError, ConfigError, KafkaError
        As `read` does.

    Examples
    --------
    >>> from kcodec import ksql
    >>> text = "CREATE STREAM orders (id BIGINT KEY, n INT) WITH (kafka_topic='orders', value_format='JSON');"
    >>> with ksql.follow(text, servers="broker:9092") as batches:                               # doctest: +SKIP
    ...     for batch in batches:
    ...         print(batch.num_rows)
    """
    settings = Settings.of(config, servers, group=group)
    how = {"compat": compat, "timezone": timezone, "wide_decimals": wide_decimals, "row_time": row_time}
    records = _records(statement, settings, registry, variables, **how)
    isolation = check_isolation(isolation, settings)
    cluster = Cluster(settings)
    try:
        return RowFollower(records, cluster, start, isolation, errors)
    except BaseException:
        cluster.close()
        raise


class RowFollower(Follower):
    """An iterator of batches of rows without an end, made by `follow`: a `kcodec.kafka.Follower`.

    Examples
    --------
    >>> from kcodec import ksql
    >>> text = "CREATE STREAM orders (id BIGINT KEY, n INT) WITH (kafka_topic='orders', value_format='JSON');"
    >>> ksql.follow(text, servers="broker:9092", start="latest").poll(timeout=1)                # doctest: +SKIP
    """

    def __init__(
        self, records: Records, cluster: Cluster, start: Position, isolation: str, errors: str
    ) -> None:
        chosen = {"key": None, "value": None, "columns": _columns(records)}
        super().__init__(cluster, records.statement.topic, start, isolation, errors, **chosen)
        self._columns: Any = _RowColumns(records, self._columns, errors, self.report)


class _RowColumns:
    """Fetched batches as rows, as `Columns` has them as records."""

    def __init__(self, records: Records, columns: Columns, errors: str, report: ReadReport) -> None:
        self.schema = records.schema
        self._records = records
        self._columns = columns
        self._errors = errors
        self._report = report if errors == "report" else None

    def read(self, piece: Piece) -> Iterator[tuple[pa.RecordBatch, int]]:
        """Return the rows of a piece, and for each batch the offset of the record behind it."""
        for batch, position in self._columns.read(piece):
            yield _rows(self._records, batch, self._errors, self._report), position


def _columns(records: Records) -> list[str]:
    return [*_COLUMNS, *(["headers"] if records.needs_headers else [])]


def _rows(records: Records, batch: pa.RecordBatch, errors: str, report: ReadReport | None) -> pa.RecordBatch:
    """Return the rows of records; what is wrong with them is raised, or reported if there is a report."""
    found = records.read(batch)
    for part, fault in found.faults if errors != "null" else ():
        partition, offset = (found.batch[name][fault.row].as_py() for name in ("ROWPARTITION", "ROWOFFSET"))
        where = RecordFault(records.statement.topic, partition, offset, part, fault.offset, *fault[2:])
        if report is None:
            raise RecordError(where)
        report.faults.append(where)
    return found.batch


def write(
    statement: Statement | str,
    data: Tables,
    *,
    servers: "Servers | None" = None,
    registry: RegistryLike | None = None,
    variables: Mapping[str, str] | None = None,
    partition: int | None = None,
    compression: str | None = None,
    transactional_id: str | None = None,
    config: Mapping[str, Any] | None = None,
) -> Written:
    """Write rows to the topic of a stream or table, as ``INSERT INTO`` does, and wait until brokers have them.

    Parameters
    ----------
    statement, registry, variables
        As for `read`.
    data : pyarrow.Table, RecordBatch, RecordBatchReader, a data frame, iterator of batches, dicts, or dict of lists
        Frames of pandas and polars, lazy ones too, and what else has Arrow's C interface, such as relations of DuckDB.
        A row for each record. Columns are found by their names as they are, or else in upper case; those that are
        missing are null. ROWTIME is the time of the record; without it, that is now. Rows as `read` returns them are
        written without their ROWPARTITION and ROWOFFSET.
    servers, partition, compression, transactional_id, config
        As for `kcodec.kafka.write`. Keys choose the partitions as those of ksqlDB do.

    Returns
    -------
    kcodec.kafka.Written
        The first offset in each partition, and the one behind the last.

    Raises
    ------
    EncodeError
        For a row that cannot be written; ``row`` counts from the first one.
    SchemaError
        For columns that the stream or table has not, for a read-only one, and what `read` raises.

    Examples
    --------
    >>> from kcodec import ksql
    >>> text = "CREATE STREAM orders (id BIGINT KEY, n INT) WITH (kafka_topic='orders', value_format='JSON');"
    >>> ksql.write(text, pa.table({"id": [1], "n": [2]}), servers="broker:9092")                # doctest: +SKIP
    Written(start={'orders': {0: 10}}, end={'orders': {0: 11}})
    """
    settings = Settings.of(config, servers, codec=compression, transactional_id=transactional_id)
    records = _records(statement, settings, registry, variables)
    return kafka.write(
        _written(records, data),
        records.statement.topic,
        servers=servers,
        partition=partition,
        compression=compression,
        transactional_id=transactional_id,
        config=config,
    )


def _records(
    statement: Statement | str, settings: Settings, registry: RegistryLike | None, variables: Any, **how: Any
) -> Records:
    """Return the records of a statement, with the registry that is given, or the one that the settings name."""
    if registry is None:
        registry = settings.registry
    if isinstance(registry, str):
        registry = registries.open(registry, dict(settings.registry_config) or None)
    return Records(statement, registry=registry, variables=variables, **how)


def _written(records: Records, data: Tables) -> pa.RecordBatchReader:
    """Return the records of rows as they are read."""
    rows = reader_of(data, records.map_type)
    # No rows: what is wrong with the columns shows before a topic is asked for.
    schema = records.write(rows.schema.empty_table()).schema
    return stream(schema, _batches(records, rows))


def _batches(records: Records, rows: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
    row = 0
    for batch in rows:
        try:
            table = records.write(batch)
        except EncodeError as error:
            raise EncodeError(error.row + row, *error.args[1:]) from error
        row += len(batch)
        yield from table.to_batches()

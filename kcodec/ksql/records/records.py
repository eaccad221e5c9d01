"""Kafka's columns of a topic as the columns of its stream or table, and back."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from kcodec import registry as registries
from kcodec._lazy import compute as pc
from kcodec.columns.arrays.given import sound_column
from kcodec.columns.arrays.nested import unpack
from kcodec.errors import ConfigError, EncodeError, Fault, SchemaError, check_choice, near
from kcodec.ksql.codec.codec import KsqlCodec
from kcodec.ksql.codec.windows import COLUMNS as WINDOWS
from kcodec.ksql.codec.windows import bigints
from kcodec.ksql.records.row_time import milliseconds_of
from kcodec.ksql.records.row_time import row_time as time_column
from kcodec.ksql.statement.parser import parse_one
from kcodec.ksql.statement.statement import Statement
from kcodec.ksql.types import HEADERS, SqlColumn, arrow_type
from kcodec.registry.base import RegistryLike

_TIME, _PARTITION, _OFFSET = "ROWTIME", "ROWPARTITION", "ROWOFFSET"

#: What ROWTIME may be: a BIGINT, as in ksqlDB, or a timestamp.
ROW_TIMES = {"milliseconds": pa.int64(), "timestamp": pa.timestamp("ms", "UTC")}


class RecordRows(NamedTuple):
    """Rows of records, and what was wrong with them.

    Attributes
    ----------
    batch : pyarrow.RecordBatch
        A row for each record.
    faults : list of (str, Fault)
        What could not be read, each with the part of the record that it is of.
    """

    batch: pa.RecordBatch
    faults: list[tuple[str, Fault]]


class Records:
    """The records of a topic as rows of its stream or table.

    Parameters
    ----------
    statement : str or Statement
        One ``CREATE STREAM`` or ``CREATE TABLE``.
    registry : kcodec.registry.SchemaRegistry or str, optional
        Where the schemas of AVRO, JSON_SR and PROTOBUF are, and columns that the statement lacks.
    variables : mapping, optional
        As for `parse`.
    compat, wide_decimals, config
        As for `kcodec.KsqlCodec`.
    timezone : str
        The zone of texts that TIMESTAMP_FORMAT finds none in: that of ksqlDB's server.
    row_time : {"milliseconds", "timestamp"}
        What ROWTIME is.

    Attributes
    ----------
    statement : Statement
        With the columns that the registry has given.
    schema : pyarrow.Schema
        Key columns, WINDOWSTART and WINDOWEND of windowed keys, other columns as they are declared, then ROWTIME,
        ROWPARTITION and ROWOFFSET.

    Examples
    --------
    >>> records = Records("CREATE STREAM s (k INT KEY, v STRING) WITH (kafka_topic='s', format='JSON');")
    >>> records.schema.names
    ['K', 'V', 'ROWTIME', 'ROWPARTITION', 'ROWOFFSET']
    >>> import pyarrow as pa
    >>> records.write(pa.table({"k": [1], "v": ["one"]})).to_pylist()
    [{'key': b'1', 'value': b'{"V":"one"}'}]
    """

    def __init__(
        self,
        statement: Statement | str,
        *,
        registry: RegistryLike | None = None,
        variables: Mapping[str, str] | None = None,
        compat: str | None = None,
        timezone: str = "UTC",
        wide_decimals: str = "decimal256",
        row_time: str = "milliseconds",
        config: Mapping[str, Any] | None = None,
    ) -> None:
        check_choice("row_time", row_time, ROW_TIMES)
        found = parse_one(statement, variables)
        if isinstance(registry, str):
            registry = registries.open(registry)
        if registry is None and found.has_schemas:
            raise ConfigError(f"{found.name} has schemas in a registry: registry= is missing")
        options = {"registry": registry, "compat": compat, "wide_decimals": wide_decimals, "config": config}
        self.statement = found.inferred(registry, config)
        self._key = self.statement.key_codec(**options)
        self._value = self.statement.value_codec(**options)
        self._time = time_column(self.statement, timezone)
        self._headers = self.statement.header_columns
        types = {
            field.name: field.type
            for codec in (self._key, self._value)
            if codec
            for field in codec.arrow_type
        }
        types |= {column.name: arrow_type(column.type) for column in self._headers}
        keys = [] if self._key is None else [field.name for field in self._key.arrow_type]
        rest = [column.name for column in self.statement.columns if column.kind != "key"]
        self.schema = pa.schema(
            [(name, types[name]) for name in (*keys, *rest)]
            + [(_TIME, ROW_TIMES[row_time]), (_PARTITION, pa.int32()), (_OFFSET, pa.int64())]
        )

    @property
    def needs_headers(self) -> bool:
        """Whether the headers of records are read: for columns of them, and for the names of schemas."""
        return bool(self._headers) or self.statement.has_schemas

    def map_type(self, name: str) -> pa.DataType | None:
        """Return the type of a column, as `write` finds it, that has maps; of other types values tell.

        Dicts in rows are structs where it is not known that they are maps.
        """
        place = self.schema.get_field_index(name)
        if place < 0:
            place = self.schema.get_field_index(name.upper())
        kind = None if place < 0 else self.schema.field(place).type
        return kind if kind is not None and _has_maps(kind) else None

    def read(self, records: pa.RecordBatch) -> RecordRows:
        """Return rows of records.

        Parameters
        ----------
        records : pyarrow.RecordBatch
            With the columns ``key``, ``value``, ``partition``, ``offset``, ``timestamp``, and ``headers`` if they are
            needed.

        Returns
        -------
        RecordRows
            A key or a value that cannot be read is null in all its columns, and so is a time.
        """
        found: dict[str, pa.Array] = {}
        faults: list[tuple[str, Fault]] = []
        for part, codec in (("key", self._key), ("value", self._value)):
            if codec is None:
                continue
            array, lost = self._decoded(codec, part, records)
            faults += [(part, fault) for fault in lost]
            for number, field in enumerate(codec.arrow_type):
                found[field.name] = pc.struct_field(array, [number])
        for column in self._headers:
            found[column.name] = _header(records.column("headers"), column)
        if self._time is None:
            found[_TIME] = milliseconds_of(records.column("timestamp"))
        else:
            found[_TIME], lost = self._time.read(found[self._time.column])
            faults += [("timestamp", fault) for fault in lost]
        found[_TIME] = found[_TIME].cast(self.schema.field(_TIME).type)
        found[_PARTITION] = records.column("partition").cast(pa.int32())
        found[_OFFSET] = records.column("offset").cast(pa.int64())
        arrays = [found[field.name] for field in self.schema]
        faults.sort(key=lambda each: each[1].row)
        return RecordRows(pa.RecordBatch.from_arrays(arrays, schema=self.schema), faults)

    def _decoded(
        self, codec: KsqlCodec, part: str, records: pa.RecordBatch
    ) -> tuple[pa.StructArray, list[Fault]]:
        headers = None
        if codec.has_schemas and "headers" in records.schema.names:
            given = records.column("headers")
            headers = given if len(given) != given.null_count else None
        more = {} if headers is None else {"headers": headers}
        array, found = codec.decode(records.column(part), "report", **more)
        return array, [Fault(*row.values()) for row in found.to_pylist()]

    def write(self, rows: Any) -> pa.Table:
        """Return the records of rows, as ``INSERT INTO`` writes them.

        Parameters
        ----------
        rows : pyarrow.Table or RecordBatch
            Columns are found by their names as they are, or else in upper case; those that are missing are null.
            ROWTIME is the time of the record, in milliseconds or as a timestamp. Where all three are there, as
            they were read, ROWPARTITION and ROWOFFSET are left out.

        Returns
        -------
        pyarrow.Table
            ``key`` and ``value``, and ``timestamp`` in milliseconds if there is ROWTIME.

        Raises
        ------
        EncodeError
            For the first row that cannot be written.
        SchemaError
            For columns that the stream or table has not, or that are not written.
        """
        batch = rows if isinstance(rows, pa.Table) else pa.Table.from_batches([rows])
        batch = pa.table(list(map(sound_column, batch.columns)), batch.schema).combine_chunks()
        statement = self.statement
        if statement.source:
            what = statement.kind.lower()
            raise SchemaError(f"Cannot insert values into read-only {what}: {statement.name}")
        columns = self._named(batch)
        windows = [name for name in WINDOWS if self._key is not None and statement.window_type]
        arrays: dict[str, pa.Array] = {}
        for part, codec, more in (("key", self._key, windows), ("value", self._value, [])):
            if codec is None:
                arrays[part] = pa.nulls(len(batch), pa.binary())
                continue
            names = [name for name in (*(column.name for column in codec.columns), *more) if name in columns]
            if statement.kind == "TABLE" and part == "key":
                _check_keys([column.name for column in codec.columns], columns, len(batch))
            if not names:
                # A row of nulls; a struct without fields has no length.
                struct = pa.array([{}] * len(batch), codec.arrow_type)
            else:
                struct = pa.StructArray.from_arrays([columns[name] for name in names], names=names)
            arrays[part] = codec.encode(struct)
        if _TIME in columns:
            given = unpack(columns[_TIME])
            if pa.types.is_timestamp(given.type):
                arrays["timestamp"] = milliseconds_of(given)
            else:
                arrays["timestamp"], faults = bigints(given, _TIME)
                if faults:
                    raise EncodeError(*faults[0]._replace(path=_TIME))
        return pa.table(arrays)

    def _named(self, table: pa.Table) -> dict[str, pa.Array]:
        """Return the columns by the names that they are written as."""
        writable = [column.name for codec in (self._key, self._value) if codec for column in codec.columns]
        if self.statement.window_type:
            writable += WINDOWS
        writable.append(_TIME)
        names = written_names(self.statement, table.schema.names, writable)
        return {known: table.column(name).combine_chunks() for known, name in names.items()}


def _has_maps(kind: pa.DataType) -> bool:
    return pa.types.is_map(kind) or any(
        _has_maps(kind.field(number).type) for number in range(kind.num_fields)
    )


def is_as_read(given: Sequence[str]) -> bool:
    """Return whether rows have all columns that say where they were read."""
    return {_TIME, _PARTITION, _OFFSET} <= set(given)


def written_names(statement: Statement, given: Sequence[str], writable: Sequence[str]) -> dict[str, str]:
    """Return the given columns by the names that they are written under: as they are, or else in upper case.

    Where rows were read is left out, if they come as they were read; ksqlDB refuses these columns.
    """
    if is_as_read(given):
        given = [name for name in given if name not in (_PARTITION, _OFFSET)]
    refused = {column.name for column in statement.header_columns}
    found: dict[str, str] = {}
    for name in given:
        known = name if name in writable else name.upper()
        if known in refused or name in refused:
            raise SchemaError(f"Cannot insert into HEADER columns: {known}")
        if known in (_PARTITION, _OFFSET):
            raise SchemaError(f"Inserting into column `{known}` is not allowed.")
        if known not in writable:
            raise SchemaError(f"Column name `{name}` does not exist{near(name, writable)}")
        if known in found:
            raise SchemaError(f"two columns stand for {known}")
        found[known] = name
    return found


def _check_keys(names: Sequence[str], columns: Mapping[str, pa.Array], rows: int) -> None:
    """Check that rows of a table have their primary key."""
    given = [columns[name] for name in names if name in columns]
    row = 0 if rows else None
    if given:
        nulls = np.all([np.asarray(column.is_null()) for column in given], axis=0)
        row = int(nulls.argmax()) if nulls.any() else None
    if row is not None:
        reason = f"Value for primary key column(s) {', '.join(names)} is required for tables"
        raise EncodeError(row, None, names[0], "null_value", reason)


def _header(headers: pa.Array, column: SqlColumn) -> pa.Array:
    """Return all headers of records, or the last one of a name."""
    headers = unpack(headers)
    rows = len(headers)
    flat = headers.flatten()
    keys, values = pc.struct_field(flat, [0]), pc.struct_field(flat, [1])
    if column.header is None:
        kind = arrow_type(HEADERS)
        counts = np.asarray(pc.fill_null(pc.list_value_length(headers), 0), np.int32)
        offsets = pa.array(np.concatenate([[0], np.cumsum(counts, dtype=np.int32)]), pa.int32())
        fields = list(kind.value_type)
        arrays = [keys.cast(pa.string()), values.cast(pa.binary())]
        return pa.ListArray.from_arrays(offsets, pa.StructArray.from_arrays(arrays, fields=fields)).cast(kind)
    parents = np.asarray(pc.list_parent_indices(headers))
    places = np.flatnonzero(np.asarray(pc.fill_null(pc.equal(keys, column.header), False)))
    last = np.full(rows, -1, np.int64)
    # Of several places of a row, the last one stays.
    last[parents[places]] = places
    return values.take(pa.array(last, mask=last < 0)).cast(pa.binary())

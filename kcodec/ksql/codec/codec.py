"""ksqlDB's keys and values: its formats, with those whose schemas are in a registry, as one codec of columns."""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from kcodec._lazy import compute as pc
from kcodec.arguments import Payloads
from kcodec.codec import Codec, Numbered, Run
from kcodec.columns.arrays.given import payloads
from kcodec.columns.arrays.nested import members, multiples, unpack
from kcodec.columns.arrays.uuids import uuid_texts
from kcodec.errors import (
    ConfigError,
    DecodeError,
    Fault,
    SchemaError,
    check_booleans,
    check_choice,
    check_kind,
    check_names,
)
from kcodec.ksql.codec.schemas import KsqlSchemas, RegisteredRows
from kcodec.ksql.codec.windows import COLUMNS, Windowed, windows_of
from kcodec.ksql.formats.format import (
    FORMATS,
    FormatRows,
    check_keys,
    chosen_columns,
    format_name,
    is_wrapped,
)
from kcodec.ksql.formats.json.plan import written_type
from kcodec.ksql.formats.json.rows import JsonRows
from kcodec.ksql.formats.primitive import KafkaReader, KafkaRows, KafkaWriter, VoidRows
from kcodec.ksql.formats.properties import checked_properties
from kcodec.ksql.types import RowOptions, SqlField, SqlType, arrow_type, columns_of
from kcodec.objects.form import ObjectForm
from kcodec.objects.kernel import Reader, Writer
from kcodec.plan import Limits, Plan
from kcodec.registry.base import RegistryLike
from kcodec.serde.topic import registry_handle

_COMPAT = (None, "ksqldb")
_WIDE_DECIMALS = ("decimal256", "string")
_ROUND = ("error", "truncate")


class KsqlCodec(Codec):
    r"""Keys or values of a ksqlDB stream or table.

    Parameters
    ----------
    format : str
        JSON, DELIMITED, KAFKA, NONE, AVRO, JSON_SR, PROTOBUF or PROTOBUF_NOSR, in any case.
    columns : str, pyarrow.Schema, pyarrow.StructType or sequence of SqlColumn, optional
        What ``CREATE STREAM`` has between its parentheses, such as ``"ID BIGINT KEY, TOTAL DECIMAL(10,2)"``. Where
        there are none of the value, or none of the key, and the schemas of the format are in a registry, they are
        taken from there: from the latest of the topic's subject, with names in upper case, or from that of the
        property ``schemaId``, with names as they are.
    wrap : bool, optional
        Whether a single value column is a record of it, or bare: ksqlDB's ``WRAP_SINGLE_VALUE``. By default
        the format decides; a single key column is bare wherever the format has the choice.
    is_key : bool
        Whether these are the keys: then the columns marked ``KEY`` count, or all if none is. Otherwise those
        without a mark count.
    compat : {None, "ksqldb"}
        By default values that ksqlDB changes silently are errors of their row: integers out of range, numbers
        cut to integers, anything behind a document. With ``"ksqldb"`` the answer is ksqlDB's own, always.
    properties : mapping, optional
        Of the format, by ksqlDB's names: those of the WITH clause, such as ``VALUE_SCHEMA_ID``,
        ``VALUE_DELIMITER``, ``WRAP_SINGLE_VALUE``, or those of the formats, such as ``schemaId``.
    registry : kcodec.registry.SchemaRegistry or str, optional
        Where the schemas of AVRO, PROTOBUF and JSON_SR are: a handle or its URL. Without it such a codec has its
        `schema`, and neither reads nor writes.
    topic : str, optional
        The topic, which the subject is named after.
    source : str, optional
        The name of the stream or table, which Avro's record of keys is named after.
    window : {"TUMBLING", "HOPPING", "SESSION"}, optional
        For keys of windowed tables: ksqlDB's ``WINDOW_TYPE``. They have the columns WINDOWSTART and WINDOWEND more,
        in milliseconds.
    window_size : int or str, optional
        Of windows that are no session: ksqlDB's ``WINDOW_SIZE``, as ``"10 SECONDS"`` or in milliseconds.
    config : mapping, optional
        Settings of Confluent's serializers, as for `kcodec.Serde`.
    wide_decimals : {"decimal256", "string"}
        What decimals of more than 38 digits become; more than 76 are refused.
    round : {"error", "truncate"}
        What `encode` makes of times that are finer than ksqlDB's milliseconds: errors of their rows, or the next
        earlier milliseconds.
    large : bool
        Whether strings, binaries and lists have 64-bit offsets; without it a column holds 2 GiB at most.
    limits : Limits, optional
        What one row may cost.

    Attributes
    ----------
    columns : tuple of SqlColumn
        The columns that are read and written.
    arrow_type : pyarrow.StructType
        A struct of the columns, also where a single one stands bare.
    schema : str or None
        The text of the schema that is registered for the columns, or that was chosen by its id; None of formats that
        have none.

    Raises
    ------
    SchemaError
        If the columns are wrong, or the format cannot hold them.
    ConfigError
        If another argument is wrong.

    Notes
    -----
    A null payload is a null row, and the other way round. Where a single column is bare, a null of it is
    written as a null payload too.

    Examples
    --------
    >>> codec = KsqlCodec("JSON", "ID BIGINT, TOTAL DECIMAL(10,2)")
    >>> codec.decode([b'{"id": "7", "total": 1.5}', None]).to_pylist()
    [{'ID': 7, 'TOTAL': Decimal('1.50')}, None]
    >>> codec.encode(pa.array([{"ID": 7}])).to_pylist()
    [b'{"ID":7,"TOTAL":null}']
    >>> KsqlCodec("JSON", "K INT KEY", is_key=True).encode(pa.array([{"K": 7}])).to_pylist()
    [b'7']
    """

    _folds_names = True

    def __init__(
        self,
        format: str,
        columns: object = None,
        *,
        wrap: bool | None = None,
        is_key: bool = False,
        compat: str | None = None,
        properties: Mapping[str, Any] | None = None,
        registry: RegistryLike | None = None,
        topic: str | None = None,
        source: str | None = None,
        window: str | None = None,
        window_size: int | str | None = None,
        config: Mapping[str, Any] | None = None,
        wide_decimals: str = "decimal256",
        round: str = "error",
        large: bool = False,
        limits: Limits | None = None,
    ) -> None:
        self.format = format_name(format)
        check_choice("compat", compat, _COMPAT)
        check_choice("wide_decimals", wide_decimals, _WIDE_DECIMALS)
        check_choice("round", round, _ROUND)
        check_booleans(is_key=is_key, large=large)
        check_names(topic=topic, source=source)
        if wrap is not None:
            check_booleans(wrap=wrap)
        check_kind(Mapping | None, "a mapping of names to values", properties=properties, config=config)
        self.has_schemas = FORMATS[self.format].rows is None
        if not self.has_schemas and (registry is not None or config):
            raise ConfigError(f"{self.format} takes no registry= and config=: it has no schema there")
        self._windows = windows_of(window, window_size)
        if self._windows is not None and not is_key:
            raise ConfigError("window= is for keys: values have no window")
        kept, wrapping = checked_properties(self.format, properties or {}, is_key=is_key)
        if wrapping is not None and wrap is not None and wrap != wrapping:
            raise ConfigError(f"wrap={wrap} and WRAP_SINGLE_VALUE={wrapping} are both given")
        wrap = wrapping if wrap is None else wrap
        handle = None if registry is None else registry_handle(registry)
        schemas = KsqlSchemas(self.format, handle, topic, is_key, source, kept, dict(config or {}))
        given = columns_of("" if columns is None else columns)
        self.columns = chosen_columns(self.format, given, is_key)
        if self.has_schemas and not self.columns and (not is_key or handle is not None):
            # Of keys without a registry nobody can say whether there are any.
            self.columns = schemas.columns(not schemas.unwraps(wrap))
            given = (*given, *self.columns)
            is_one_of = "subjectName" in FORMATS[self.format].properties and "fullSchemaName" in kept
            if is_one_of and schemas.schema_id is None:
                # One of several messages is written as the schema that they stand in.
                kept["subjectName"] = f"{topic}-{'key' if is_key else 'value'}"
        # ksqlDB reads and writes keys without columns as null, whatever their format.
        if not self.columns and not is_key and self.format not in ("KAFKA", "NONE"):
            raise SchemaError("there is no value column")
        if self._windows is not None and not self.columns:
            raise SchemaError("Windowed sources require a key column.")
        if is_key:
            check_keys(self.columns)
        self._arguments: dict[str, Any] = {
            "format": self.format,
            "columns": given,
            "wrap": wrap,
            "is_key": is_key,
            "compat": compat,
            "properties": kept,
            "registry": handle,
            "topic": topic,
            "source": source,
            "window": window,
            "window_size": window_size,
            "config": dict(config or {}),
            "wide_decimals": wide_decimals,
            "round": round,
            "large": large,
            "limits": Limits.of(limits),
        }
        self.wrapped = is_wrapped(self.format, self.columns, is_key, wrap)
        record = SqlType(
            "STRUCT", fields=tuple(SqlField(column.name, column.type) for column in self.columns)
        )
        self._record_type = arrow_type(record, wide_decimals=wide_decimals, large=large)
        self.arrow_type = self._record_type
        if self._windows is not None:
            self.arrow_type = pa.struct([*self._record_type, *((name, pa.int64()) for name in COLUMNS)])
        self._encoded_type = pa.large_binary() if large else pa.binary()
        options = RowOptions(
            record if self.wrapped else self.columns[0].type,
            self.wrapped,
            compat == "ksqldb",
            kept,
            large,
            self._arguments["limits"],
            round == "truncate",
        )
        self._registered: RegisteredRows | None = None
        self._rows: FormatRows | None = None
        if self.has_schemas and self.columns:
            self._registered = RegisteredRows(schemas, options)
            self.schema: str | None = self._registered.text
            if schemas.schema_id is not None and handle is not None:
                schemas.check(self.columns, self.wrapped)
        else:
            made = FORMATS[self.format].rows if self.columns else None
            self._rows = (made or VoidRows)(options)
            self.schema = getattr(self._rows, "text", None)

    @property
    def decode_plan(self) -> Plan | None:
        """The decode plan; ``str`` of it is a readable tree. None of formats whose plans depend on a registry."""
        return None if self._rows is None else self._rows.plan

    def fetch(self) -> None:
        """Fetch the schemas of the topic's subject, so that reading their values makes no request.

        Raises
        ------
        RegistryError
            If the registry cannot be asked.
        """
        if self._registered is not None:
            self._registered.fetch()

    def register(self) -> int | None:
        r"""Register the schema, or look the chosen one up, so that writing makes no request; return its id.

        Returns
        -------
        int or None
            None for formats whose schemas are in no registry.

        Raises
        ------
        RegistryError
            If the registry refuses the schema, or cannot be asked.

        Examples
        --------
        >>> codec = KsqlCodec("AVRO", "ID BIGINT", registry="memory://ksql-example", topic="orders")
        >>> codec.register()
        1
        >>> codec.encode(pa.array([{"ID": 7}])).to_pylist()
        [b'\x00\x00\x00\x00\x01\x02\x0e']
        """
        return None if self._registered is None else self._registered.register()

    def decode(
        self, values: Payloads, errors: str = "raise", headers: Any = None, *, use_threads: bool = False
    ) -> Any:
        """Decode a column of payloads.

        Parameters
        ----------
        values, errors
            As for every codec.
        headers : pyarrow.Array, ChunkedArray or list, optional
            Those of the records, as for `kcodec.Serde.deserialize`, where headers may name the schemas.
        use_threads : bool
            Whether the rows are shared among threads, as for every codec.

        Returns
        -------
        pyarrow.Array or pyarrow.ChunkedArray
            As of every codec.

        Raises
        ------
        DecodeError, TypeError
            As every codec does.
        ConfigError
            If there are headers, and the format has no schemas.
        """
        run = Run(errors, use_threads=use_threads)
        chunks, chunked = run.parts(payloads(values))
        if headers is not None and self._registered is None:
            raise ConfigError(f"{self.format} has no schemas that headers= could name")
        windowed = None if self._windows is None else [self._windows.split(chunk) for chunk in chunks]
        keys = chunks if windowed is None else [each.keys for each in windowed]
        framed: Any = keys
        step: Any = self._read_plain
        if self._registered is not None:
            found = self._registered.reading(keys, errors, headers)
            framed, step = found.framed, found.step

        def each(number: Numbered, stop: bool) -> tuple[pa.Array, Sequence[Fault]]:
            at = number.at
            array, faults = step(framed[at], stop)
            if windowed is not None and windowed[at].faults:
                faults = sorted([*windowed[at].faults, *faults], key=lambda fault: fault.row)
            if stop and faults:
                return array, faults
            array = self._record(keys[at], array, faults)
            if windowed is not None:
                array = _with_windows(array, windowed[at])
            return array if array.type == self.arrow_type else array.cast(self.arrow_type), faults

        return run.result(each, Numbered.all(chunks), chunked, self.arrow_type, DecodeError)

    def _read_plain(self, array: pa.Array, stop: bool) -> tuple[pa.Array, Sequence[Fault]]:
        assert self._rows is not None
        return self._rows.decode(array, stop)

    def _object_reader(self, form: ObjectForm) -> Reader:
        columns, rows = self._column_reader(form), self._rows
        if isinstance(rows, KafkaRows) and self._windows is None and form == ObjectForm():
            return KafkaReader(self.columns[0], columns)
        # What stands beside the columns of JSON, such as windows, is put there by columns.
        if not self.wrapped or not isinstance(rows, JsonRows) or rows.arrow_type != self.arrow_type:
            return columns
        return rows.object_reader(columns, form)

    def _object_writer(self, form: ObjectForm) -> Writer:
        columns, rows = super()._object_writer(form), self._rows
        if isinstance(rows, KafkaRows) and self._windows is None:
            return KafkaWriter(self.columns[0], columns)
        if self._windows is not None or not self.wrapped or not isinstance(rows, JsonRows):
            return columns
        return rows.object_writer(columns)

    def _record(self, values: pa.Array, array: pa.Array, faults: Sequence[Fault]) -> pa.Array:
        """Return rows as structs, also of a bare column, and those that are null or failed as nulls."""
        if self.wrapped:
            return array
        mask = values.is_null() if values.null_count else None
        if faults:
            failed = pa.array([fault.row for fault in faults])
            mask = pc.or_(values.is_null(), pc.is_in(multiples(1, len(values), pa.int64()), failed))
        return pa.StructArray.from_arrays([array], [self.columns[0].name], mask=mask)

    def _encode(self, array: pa.Array, stop: bool) -> tuple[pa.Array, Sequence[Fault]]:
        if array.null_count == len(array):
            return pa.nulls(len(array), self._encoded_type), []
        if self._windows is None:
            return self._write_plain(array, stop)
        keys, times = _without_windows(array)
        written, faults = self._write_plain(keys, stop)
        joined, lost = self._windows.join(written, *times)
        return joined, sorted([*faults, *lost], key=lambda fault: fault.row) if lost else faults

    def _write_plain(self, array: pa.Array, stop: bool) -> tuple[pa.Array, Sequence[Fault]]:
        plain = uuid_texts(array if self.wrapped else self._bare(array), self._written_type, fold=True)
        if self._registered is not None:
            return self._registered.encode(plain, stop)
        assert self._rows is not None
        return self._rows.encode(plain, stop)

    def _written_type(self) -> pa.DataType:
        return self._record_type if self.wrapped else self._record_type.field(0).type

    def _bare(self, array: pa.Array) -> pa.Array:
        """Return the only column of a struct; anything but a struct is the bare column already."""
        if pa.types.is_struct(array.type) and array.type.num_fields == 1:
            column, field = self.columns[0], array.type.field(0)
            if column.name in (field.name, field.name.upper()) and (
                # A STRUCT may have a field of its own name.
                _is_written(column.type, field.type) or not _is_written(column.type, array.type)
            ):
                return members(array)[0]
        return array

    def _identity(self) -> dict[str, Any]:
        columns = ", ".join(map(str, self._arguments["columns"]))
        shown = {name: self._arguments[name] or None for name in ("properties", "config")}
        # Handles of one registry are equal.
        handle = self._arguments["registry"]
        shown["registry"] = None if handle is None else handle.url
        return {**self._arguments, "columns": columns, **shown}

    def __reduce__(self) -> tuple[Any, ...]:
        # With what has been fetched from the registry.
        return (
            super().__reduce__()
            if self._registered is None
            else (object.__new__, (type(self),), self.__dict__)
        )


def _is_written(kind: SqlType, given: pa.DataType) -> bool:
    try:
        written_type(kind, given)
    except SchemaError:
        return False
    return True


def _with_windows(array: pa.Array, windows: Windowed) -> pa.Array:
    """Put the columns of windows behind those of keys."""
    mask = array.is_null() if array.null_count else None
    parts = [array.field(number) for number in range(array.type.num_fields)]
    names = [field.name for field in array.type]
    return pa.StructArray.from_arrays(
        [*parts, windows.starts, windows.ends], names=[*names, *COLUMNS], mask=mask
    )


def _without_windows(array: pa.Array) -> tuple[pa.Array, list[pa.Array | None]]:
    """Return a struct without the columns of windows."""
    array = unpack(array)
    if not pa.types.is_struct(array.type):
        return array, [None, None]
    parts = members(array)
    names = [field.name for field in array.type]
    places = [next((n for n, name in enumerate(names) if name.upper() == wanted), None) for wanted in COLUMNS]
    kept = [number for number in range(len(parts)) if number not in places]
    keys = pa.StructArray.from_arrays(
        [parts[number] for number in kept],
        fields=[array.type.field(number) for number in kept],
        mask=array.is_null() if array.null_count else None,
    )
    return keys, [None if place is None else parts[place] for place in places]

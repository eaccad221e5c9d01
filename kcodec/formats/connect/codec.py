"""Kafka Connect's JSON: columns of what JsonConverter writes to Arrow columns and back."""

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from kcodec._lazy import compute as pc
from kcodec.codec import Codec, check_errors, report
from kcodec.columns.arrays.given import payloads
from kcodec.columns.arrays.nested import cast_leaves
from kcodec.columns.arrays.uuids import uuid_texts
from kcodec.columns.faults import joined
from kcodec.columns.types.fields import field_names
from kcodec.errors import ConfigError, DecodeError, Fault, SchemaError, check_booleans, check_choice
from kcodec.formats.connect.converter import JsonConverter, converter_config
from kcodec.formats.connect.exact import ExactRows
from kcodec.formats.connect.fast import FastReader, FastWriter, TargetColumns, as_bytes
from kcodec.formats.connect.objects import EnvelopeReader, LeftToColumns
from kcodec.formats.connect.plan import Beyond, PlanOptions
from kcodec.formats.connect.schema import ConnectSchema, check_widths
from kcodec.objects.by_columns import ColumnWriter
from kcodec.objects.form import ObjectForm
from kcodec.objects.kernel import Reader, Writer
from kcodec.plan import Limits, Plan
from kcodec.plan.failure import RowError

_COMPAT = (None, "connect")
_DUPLICATES = ("last", "error")
_ROUND = ("error", "truncate")

#: Schemas that may meet in one run of rows, however small the cache is.
_MIN_SCHEMAS = 16


class ConnectJsonCodec(Codec):
    r"""The JSON of ``org.apache.kafka.connect.json.JsonConverter``.

    Parameters
    ----------
    schema : ConnectSchema, str, dict, pyarrow.DataType or pyarrow.Schema, optional
        What rows are read as and written as: a schema of Connect (its JSON, as envelopes carry it), or an Arrow
        type. Without one, rows are read as the first schema in the column says (as nulls if there is none), and
        written by their Arrow type.
    decimal_format : {"BASE64", "NUMERIC"}
        How decimals are written, KIP-481's ``decimal.format``. Both forms are always read.
    schemas_enable : bool
        Whether rows are envelopes with a schema and a payload.
    compat : {None, "connect"}
        ``"connect"`` gives the converter's own answer: silent narrowing, zeros for text, its messages.
    replace_null_with_default : bool
        Whether a null stands for the default of a field that has one.
    schemas_cache_size : int
        Schemas of rows that are kept compiled, and that may meet in one block of rows.
    config : mapping, optional
        The settings under Connect's names: ``decimal.format``, ``schemas.enable``, ``schemas.cache.size``,
        ``replace.null.with.default``, ``schema.content``; also as a worker has them, ``value.converter.`` or
        ``key.converter.`` before the name. Values are compared without regard to case.
    is_key : bool
        Whether this is the converter of keys: of a worker's settings those of ``key.converter.`` count.
    tombstones : bool, optional
        What a null row is written as: a null, or what the converter writes for a null with a schema (the default
        if there is one, else an envelope with a null payload). By default True, with ``compat`` False.
    precision : int
        Digits of Decimals whose schema does not tell (``connect.decimal.precision``): up to 38 are
        ``decimal128``, up to 76 ``decimal256``.
    wide_decimals : {"decimal256", "string"}
        What Decimals of more than 38 digits are read as, and whether columns of text are written as Decimals.
    duplicate_keys : {"last", "error"}
        What becomes of a key that stands twice in an object.
    nonfinite : bool
        Whether ``"NaN"``, ``"Infinity"`` and ``"-Infinity"``, which the converter writes for such floats and does not
        read, are read as them, in the compat mode too.
    round : {"error", "truncate"}
        What `encode` makes of times that are finer than Connect's milliseconds: errors of their rows, or the next
        earlier milliseconds. Also what `decode` makes of Debezium's times in text that are finer than microseconds.
    debezium : bool, optional
        Whether numbers and text that are named as Debezium's dates and times (``io.debezium.time.*``) become
        Arrow's, as those of Connect do. By default True, with ``compat`` False, which has no other value.
    large : bool
        Whether strings, binaries and lists have 64-bit offsets; without it a column holds 2 GiB at most.
    fields : sequence of str, optional
        The only fields to decode, one at least, dotted for those of structs below; the others are passed over. All are
        written.
    limits : Limits, optional
        What one row may cost.

    Attributes
    ----------
    arrow_type : pyarrow.DataType or None
        What rows are read as; None if that is the matter of the first row.

    Raises
    ------
    ConfigError
        If an argument is wrong; it lists the valid ones.
    SchemaError
        If the schema is wrong or has no Arrow type.

    Notes
    -----
    Rows whose schema differs from the one they are read as are projected as Connect's ``SchemaProjector`` does
    it: by name, fields that are missing become null or their default, integers widen; what does not fit is a
    fault of its row. Rows whose schema is null are read as the codec's; their payload may be null.

    Examples
    --------
    >>> codec = ConnectJsonCodec()
    >>> rows = [b'{"schema":{"type":"int32","optional":true},"payload":7}', None]
    >>> codec.decode(rows).to_pylist()
    [7, None]
    >>> schema = ConnectSchema.decimal(2, precision=9)
    >>> plain = ConnectJsonCodec(schema, schemas_enable=False, decimal_format="numeric")
    >>> plain.decode([b'"AJw="', b"1.5", b"1.56e0"]).to_pylist()
    [Decimal('1.56'), Decimal('1.50'), Decimal('1.56')]
    >>> plain.encode(plain.decode([b'"AJw="'])).to_pylist()
    [b'1.56']
    >>> ConnectJsonCodec(compat="connect").decode([b'{"schema":{"type":"int8"},"payload":300}']).to_pylist()
    [44]
    """

    arrow_type: pa.DataType | None
    _target: TargetColumns | None
    _checks_offsets = True
    _names_frames = True

    def __init__(
        self,
        schema: object | None = None,
        *,
        decimal_format: str = "BASE64",
        schemas_enable: bool = True,
        compat: str | None = None,
        replace_null_with_default: bool = True,
        schemas_cache_size: int = 1000,
        config: Mapping[str, Any] | None = None,
        is_key: bool = False,
        tombstones: bool | None = None,
        precision: int = 38,
        wide_decimals: str = "decimal256",
        duplicate_keys: str = "last",
        nonfinite: bool = False,
        round: str = "error",
        debezium: bool | None = None,
        large: bool = False,
        fields: Sequence[str] | None = None,
        limits: Limits | None = None,
    ) -> None:
        check_choice("compat", compat, _COMPAT)
        check_choice("duplicate_keys", duplicate_keys, _DUPLICATES)
        check_choice("round", round, _ROUND)
        derived = {"tombstones": tombstones, "debezium": debezium}
        given = {name: flag for name, flag in derived.items() if flag is not None}
        check_booleans(is_key=is_key, nonfinite=nonfinite, large=large, **given)
        if debezium and compat is not None:
            raise ConfigError(f"debezium=True is not for compat={compat!r}")
        check_widths(precision, wide_decimals)
        self._config = converter_config(
            config,
            is_key=is_key,
            decimal_format=decimal_format,
            schemas_enable=schemas_enable,
            replace_null_with_default=replace_null_with_default,
            schemas_cache_size=schemas_cache_size,
        )
        content = self._config.schema_content
        if content is not None and schema is not None:
            raise ConfigError("schema.content and schema= are given: one of them")
        self._arguments: dict[str, Any] = {
            "schema": _comparable(schema, self._config.replace_null_with_default),
            "decimal_format": self._config.decimal_format,
            "schemas_enable": self._config.schemas_enable,
            "compat": compat,
            "replace_null_with_default": self._config.replace_null_with_default,
            "schemas_cache_size": self._config.schemas_cache_size,
            "config": None if content is None else {"schema.content": content},
            "tombstones": tombstones,
            "precision": precision,
            "wide_decimals": wide_decimals,
            "duplicate_keys": duplicate_keys,
            "nonfinite": nonfinite,
            "round": round,
            "debezium": debezium,
            "large": large,
            "fields": field_names(fields),
            "limits": Limits.of(limits),
        }
        self._options = PlanOptions(
            exact=compat is not None,
            replace_null=self._config.replace_null_with_default,
            numeric=self._config.numeric,
            unique=duplicate_keys == "error",
            text=wide_decimals == "string",
            nonfinite=nonfinite,
            floor=round == "truncate",
            debezium=compat is None if debezium is None else debezium,
        )
        self._tombstones = compat is None if tombstones is None else tombstones
        self._encoded_type = pa.large_binary() if large else pa.binary()
        #: Whether rows that are read are envelopes.
        self._enveloped = self._config.schemas_enable and content is None
        bounds = self._arguments["limits"]
        self._converter = JsonConverter(self._config, bounds.max_expansion, nonfinite)
        self._exact = ExactRows(
            self._converter,
            enveloped=self._enveloped,
            unique=self._options.unique,
            floor=self._options.floor,
        )
        self._reader = FastReader(
            self._options,
            bounds,
            enveloped=self._enveloped,
            max_schemas=max(self._config.schemas_cache_size, _MIN_SCHEMAS),
            fields=self._arguments["fields"],
            precision=precision,
            wide_decimals=wide_decimals,
            large=large,
        )
        schema = schema if content is None else content
        self._schema = None if schema is None else self._connect_schema(schema)
        self._writer = FastWriter(
            self._schema, self._options, bounds, enveloped=self._config.schemas_enable, large=large
        )
        self._target = None if schema is None else self._reader.target(schema)
        if self._target is not None:
            # A type that the schema does not fit is refused at once.
            with contextlib.suppress(Beyond):
                self._target.plan()
        self.arrow_type = None if self._target is None else self._target.kind

    def _connect_schema(self, schema: object) -> ConnectSchema:
        """Return a schema that was given in any form."""
        if isinstance(schema, (pa.DataType, pa.Schema)):
            return ConnectSchema.from_arrow(schema, nullable=True)
        return ConnectSchema.from_json(schema, replace_null=self._options.replace_null)

    @property
    def schema(self) -> ConnectSchema | None:
        """The schema that rows are read and written as; None without one."""
        return self._schema

    @property
    def decode_plan(self) -> Plan:
        """The plan by which payloads of `schema` are read; ``str`` of it is a readable tree.

        Raises
        ------
        ConfigError
            Without a schema.
        SchemaError
            If the payloads are converted one by one.
        """
        if self._target is None:
            raise ConfigError("the plan is made for the schema of the first row")
        try:
            return self._target.plan()
        except Beyond:
            raise SchemaError("there is no plan: values of this schema are converted one by one") from None

    # Decoding ---------------------------------------------------------------------------------------

    def _for(self, parts: Sequence[pa.Array]) -> "ConnectJsonCodec":
        if self._target is not None:
            return self
        if not self._enveloped:
            raise ConfigError(
                "rows without a schema need one: ConnectJsonCodec(schema), or to_schemaless for Python values"
            )
        target = self._first(parts)
        # `copy` would compile it again, as pickling does.
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__, _target=target, arrow_type=target.kind)
        return made

    def _first(self, chunks: Sequence[pa.Array]) -> TargetColumns:
        """Return the columns of the first schema in a column."""
        return self._reader.first(chunks, self._exact.schema_text if self._options.exact else None)

    def _decode(self, array: pa.Array, stop: bool) -> tuple[pa.Array, Sequence[Fault]]:
        target, exact = self._target, self._options.exact
        assert target is not None
        read, faults = self._reader.read(target, array, stop and not exact)
        if exact and faults:
            read, faults = self._exact.reread(target, array, read, faults, stop)
        if (stop and faults) or target.kind == target.inner:
            return read, faults
        return cast_leaves(read, target.kind), faults

    def _object_reader(self, form: ObjectForm) -> Reader:
        columns, reader, target = self._column_reader(form), self._reader, self._target
        if not self._enveloped:
            return (None if target is None else reader.object_reader(target, b"", columns, form)) or columns
        return EnvelopeReader(columns, lambda text: reader.object_reader(target, text, LeftToColumns(), form))

    def _object_writer(self, form: ObjectForm) -> Writer:
        self._check_form(form)
        columns = ColumnWriter(self.encode)
        if self._options.exact or self.arrow_type is None:
            return columns
        return self._writer.object_writer(self.arrow_type, columns)

    def to_schemaless(self, values: Any, errors: str = "raise") -> Any:
        """Return what the converter itself returns for each row, as Python values.

        Parameters
        ----------
        values : pyarrow.Array, ChunkedArray, list of bytes or None, or an Arrow producer
            As for `decode`.
        errors : {"raise", "null", "report"}
            As for `decode`.

        Returns
        -------
        list
            Without envelopes, or with one whose schema is null: booleans, integers of 64 bits, floats, text,
            lists and dicts; decimals, bytes and times do not come back as such. With a schema: its values, in the
            classes of `kcodec.formats.connect.values`. With ``errors="report"`` a pair of it and the report.

        Raises
        ------
        DecodeError
            If ``errors="raise"``: the first row that the converter refuses.

        Examples
        --------
        >>> codec = ConnectJsonCodec(schemas_enable=False)
        >>> codec.to_schemaless([b'{"price":"AJw=","n":[1,2.50]}', None])
        [{'price': 'AJw=', 'n': [1, 2.5]}, None]
        """
        check_errors(errors)
        found: list[Any] = []
        faults: list[Fault] = []
        for chunk in payloads(values)[0]:
            for scalar in chunk:
                value = None
                try:
                    if scalar.is_valid:
                        value = self._converter.to_connect_data(as_bytes(scalar))[1]
                except RowError as error:
                    faults.append(error.fault(len(found)))
                    if errors == "raise":
                        raise DecodeError(*faults[0]) from None
                found.append(value)
        return (found, report(faults)) if errors == "report" else found

    # Encoding ---------------------------------------------------------------------------------------

    def encode_plan(self, kind: pa.DataType) -> Plan:
        """Return the plan by which columns of an Arrow type are written.

        Raises
        ------
        SchemaError
            If the type does not fit the schema, or its values are converted one by one.
        """
        try:
            return self._writer.plan(kind)
        except Beyond:
            raise SchemaError("there is no plan: values of this type are converted one by one") from None

    def _encode(self, array: pa.Array, stop: bool) -> tuple[pa.Array, Sequence[Fault]]:
        if self._target is None and pa.types.is_null(array.type):
            # A column without a schema: JsonConverter, too, has a null for a null without one.
            return pa.nulls(len(array), self._encoded_type), []
        if self.arrow_type is not None:
            own = self.arrow_type
            array = uuid_texts(array, lambda: own)
        writing = self._writer.writing(array.type)
        schema = writing.schema
        if writing.program is None:
            return self._exact.write(
                array, schema, self._encoded_type, tombstones=self._tombstones, stop=stop
            )
        plain, lost = writing.cast(array)
        encoded, faults = self._writer.write(plain, writing, stop)
        if self._options.exact:
            faults = [self._exact.explain(plain, schema, fault) for fault in faults]
        faults = joined([lost, faults])
        if self._tombstones or not array.null_count:
            return encoded, faults
        missing = array.is_null()
        written, refused = self._exact.null(schema, missing)
        if refused or (stop and faults):
            return encoded, joined([faults, refused])
        return pc.if_else(missing, pa.scalar(written, encoded.type), encoded), faults


def _comparable(schema: object | None, replace_null: bool) -> object | None:
    """Return a schema in a form that can be compared and is safe from later changes of a given dict."""
    if schema is None or isinstance(schema, (pa.DataType, pa.Schema)):
        return schema
    return ConnectSchema.from_json(schema, replace_null=replace_null).to_text(
        "NUMERIC", replace_null=replace_null
    )

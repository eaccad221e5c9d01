"""Kafka Connect's JSON: columns of what JsonConverter writes to Arrow columns and back."""

import contextlib
import functools
from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any, NamedTuple

import pyarrow as pa

from kcodec._impl import kernel
from kcodec._kept import Kept
from kcodec._lazy import compute as pc
from kcodec.codec import Codec, Run, check_errors, report
from kcodec.columns.casts import cast_rows, code_of
from kcodec.columns.fields import chosen, field_names
from kcodec.columns.frame_hints import name_frames
from kcodec.columns.nested import cast_leaves
from kcodec.columns.source import payloads
from kcodec.columns.types import plain_type
from kcodec.errors import ConfigError, DecodeError, Fault, SchemaError, check_booleans, check_choice
from kcodec.formats.connect.converter import JsonConverter, converter_config
from kcodec.formats.connect.plan import (
    Beyond,
    PlanOptions,
    decode_plan,
    decoded_type,
    encode_plan,
    encoded_type,
)
from kcodec.formats.connect.rows import RowConverter
from kcodec.formats.connect.runs import RunReader
from kcodec.formats.connect.schema import ConnectSchema, arrow_type, check_widths
from kcodec.formats.connect.target import NullTarget, Target
from kcodec.formats.json.kernel import kernel as json_kernel
from kcodec.formats.json.plan import decodable
from kcodec.plan import Limits, Plan
from kcodec.plan.failure import RowError

__all__ = ["ConnectJsonCodec"]

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
        type. Without one, rows are read as the first schema in the column says, and written by their Arrow type.
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
    key : bool
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
    _checks_offsets = True

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
        key: bool = False,
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
        check_booleans(key=key, nonfinite=nonfinite, large=large, **given)
        if debezium and compat is not None:
            raise ConfigError(f"debezium=True is not for compat={compat!r}")
        check_widths(precision, wide_decimals)
        self._config = converter_config(
            config,
            key=key,
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
        self._limits = Limits.of(limits)
        self._tombstones = compat is None if tombstones is None else tombstones
        self._encoded_type = pa.large_binary() if large else pa.binary()
        #: Whether rows that are read are envelopes.
        self._enveloped = self._config.schemas_enable and content is None
        self._converter = JsonConverter(self._config, self._limits.max_expansion, nonfinite)
        self._rows = RowConverter(
            self._converter,
            enveloped=self._enveloped,
            max_expansion=self._limits.max_expansion,
            floor=self._options.floor,
        )
        self._max_schemas = max(self._config.schemas_cache_size, _MIN_SCHEMAS)
        self._runs = RunReader(
            self._rows, self._options, enveloped=self._enveloped, max_schemas=self._max_schemas
        )
        self._targets: Kept[bytes, Target] = Kept()
        self._writings: Kept[tuple[str, pa.DataType], _Writing] = Kept()
        schema = schema if content is None else content
        self._schema = None if schema is None else self._connect_schema(schema)
        self._target = self._given_target(schema)
        self.arrow_type = None if self._target is None else self._target.kind

    def _connect_schema(self, schema: object) -> ConnectSchema:
        """Return a schema that was given in any form."""
        if isinstance(schema, (pa.DataType, pa.Schema)):
            return ConnectSchema.from_arrow(schema, nullable=True)
        return ConnectSchema.from_json(schema, replace_null=self._options.replace_null)

    def _given_target(self, schema: object | None) -> Target | None:
        if schema is None:
            return None
        if isinstance(schema, (pa.DataType, pa.Schema)):
            whole = pa.struct(list(schema)) if isinstance(schema, pa.Schema) else schema
            kind = chosen(whole, self._arguments["fields"])
            made = ConnectSchema.from_arrow(kind, nullable=True)
            target = self._make_target(made, decodable(decoded_type(kind)))
        else:
            target = self._target_of(schema)
        with contextlib.suppress(Beyond):
            decode_plan(target.schema, target.schema, target.inner, self._options)
        return target

    def _make_target(
        self, schema: ConnectSchema, kind: pa.DataType, inner: pa.DataType | None = None
    ) -> Target:
        return Target(schema, kind, self._options, self._limits, self._max_schemas, inner)

    @property
    def schema(self) -> ConnectSchema | None:
        """The schema that rows are read and written as; None without one."""
        return self._schema

    @property
    def plan(self) -> Plan:
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
            target = self._target
            return decode_plan(target.schema, target.schema, target.inner, self._options)
        except Beyond:
            raise SchemaError("there is no plan: values of this schema are converted one by one") from None

    # Decoding ---------------------------------------------------------------------------------------

    def decode(self, values: Any, errors: str = "raise", *, use_threads: bool = False) -> Any:
        """Decode a column of rows; parameters and result as for every `Codec`.

        Without a schema of the codec's own, the column has the type of the first schema in it; a column without
        any is of the null type.
        """
        run = Run(errors, use_threads=use_threads)
        parts, chunked = run.parts(payloads(values))
        target = self._target or self._first(parts)

        def step(chunk: pa.Array, stop: bool) -> tuple[pa.Array, Sequence[Fault]]:
            decoded, faults = self._runs.read(target, chunk, stop)
            return decoded, faults if errors == "null" else name_frames(faults, chunk)

        return run.result(step, parts, chunked, target.kind, DecodeError)

    def _first(self, chunks: Sequence[pa.Array]) -> Target:
        """Return the target of the first schema in a column."""
        if not self._enveloped:
            raise ConfigError(
                "rows without a schema need one: ConnectJsonCodec(schema), or to_schemaless for Python values"
            )
        passed = {b"null"}
        for chunk in chunks:
            for row in pc.indices_nonzero(chunk.is_valid()):
                text = self._schema_text(_bytes(chunk[row.as_py()]))
                if text in passed:
                    continue
                try:
                    return self._targets.get(text, functools.partial(self._target_of, text))
                except SchemaError:
                    passed.add(text)
        # All rows are null, or faults.
        return NullTarget(self._options, self._limits, self._target_of)

    def _target_of(self, schema: object) -> Target:
        """Return the target of a schema in any form but Arrow's."""
        schema = ConnectSchema.from_json(schema, replace_null=self._options.replace_null)
        schema = schema.select(self._arguments["fields"])
        precision, wide, large = (self._arguments[name] for name in ("precision", "wide_decimals", "large"))
        debezium = self._options.debezium
        kind = arrow_type(schema, precision, wide, large, debezium)
        return self._make_target(schema, kind, arrow_type(schema, precision, "engine", large, debezium))

    def _schema_text(self, data: bytes) -> bytes:
        """Return the text of a row's schema; ``null`` where there is none."""
        found = kernel("formats.connect._envelope").scan(data)
        if not found.code:
            return data[found.schema : found.schema_end]
        if self._options.exact:
            with contextlib.suppress(RowError):
                schema = self._converter.to_connect_data(data)[0]
                return b"null" if schema is None else str(schema).encode()
        return b"null"

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
                        value = self._converter.to_connect_data(_bytes(scalar))[1]
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
        schema = self._schema_of(kind)
        try:
            return encode_plan(schema, encoded_type(schema, kind, self._options), self._options)
        except Beyond:
            raise SchemaError("there is no plan: values of this type are converted one by one") from None

    def _schema_of(self, kind: pa.DataType) -> ConnectSchema:
        return ConnectSchema.from_arrow(kind, nullable=True) if self._schema is None else self._schema

    def _encode(self, array: pa.Array, stop: bool) -> tuple[pa.Array, list[Fault]]:
        if self._target is None and pa.types.is_null(array.type):
            # A column without a schema: JsonConverter, too, has a null for a null without one.
            return pa.nulls(len(array), self._encoded_type), []
        writing = self._writing(array.type)
        if writing.program is None:
            plain = cast_leaves(array, plain_type(array.type))
            return self._rows.write(
                plain, writing.schema, self._encoded_type, tombstones=self._tombstones, stop=stop
            )
        plain, lost = cast_rows(array, writing.kind, _code_of)
        prefix, suffix = b"", b""
        if self._config.schemas_enable:
            prefix, suffix = f'{{"schema":{writing.text},"payload":'.encode(), b"}"
        encoded, faults = json_kernel().encode(
            plain,
            writing.program,
            prefix=prefix,
            suffix=suffix,
            large=self._arguments["large"],
            stop=stop,
        )
        if self._options.exact:
            faults = [self._rows.explain(plain, writing.schema, fault) for fault in faults]
        faults = sorted([*lost, *faults])
        if self._tombstones or not array.null_count:
            return encoded, faults
        missing = array.is_null()
        try:
            written = self._converter.from_connect_data(writing.schema, None)
        except RowError as error:
            faults += [error.fault(row) for row in pc.indices_nonzero(missing).to_pylist()]
            return encoded, sorted(faults, key=lambda fault: fault.row)
        if stop and faults:
            return encoded, faults
        return pc.if_else(missing, pa.scalar(written, encoded.type), encoded), faults

    def _writing(self, kind: pa.DataType) -> "_Writing":
        module = json_kernel()

        def make() -> _Writing:
            schema = self._schema_of(kind)
            inner = encoded_type(schema, kind, self._options)
            program, text = None, ""
            with contextlib.suppress(Beyond):
                program = module.Program(encode_plan(schema, inner, self._options), self._limits)
            if self._config.schemas_enable:
                text = schema.to_text(self._config.decimal_format, replace_null=self._options.replace_null)
            return _Writing(schema, text, inner, program)

        return self._writings.get((module.__name__, kind), make)


class _Writing(NamedTuple):
    """How columns of an Arrow type are written: None for a program where rows are converted one by one."""

    schema: ConnectSchema
    text: str
    kind: pa.DataType
    program: Any


def _comparable(schema: object | None, replace_null: bool) -> object | None:
    """Return a schema in a form that can be compared and is safe from later changes of a given dict."""
    if schema is None or isinstance(schema, (pa.DataType, pa.Schema)):
        return schema
    return ConnectSchema.from_json(schema, replace_null=replace_null).to_text(
        "NUMERIC", replace_null=replace_null
    )


def _bytes(value: pa.Scalar) -> bytes:
    data = value.as_py()
    return data.encode() if isinstance(data, str) else data


def _code_of(value: pa.Array, kind: pa.DataType) -> str:
    """Return the code of why a value cannot be cast to what is written; text may not be a number."""
    given = value[0].as_py()
    with contextlib.suppress(InvalidOperation):
        if not isinstance(given, str) or Decimal(given).is_finite():
            return code_of(value, kind)
    return "invalid_number"

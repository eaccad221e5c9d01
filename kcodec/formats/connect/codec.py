"""Kafka Connect's JSON: columns of what JsonConverter writes to Arrow columns and back."""

import contextlib
import functools
import inspect
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from kcodec._impl import kernel
from kcodec.codec import Codec, check_errors, report
from kcodec.columns.casts import cast_rows, code_of
from kcodec.columns.nested import unpack
from kcodec.columns.source import payloads
from kcodec.columns.types import plain_type
from kcodec.errors import CODES, ConfigError, DecodeError, Fault, SchemaError
from kcodec.formats.connect._envelope_py import fault as envelope_fault
from kcodec.formats.connect.arrow import column_value, row_value, widen
from kcodec.formats.connect.converter import JsonConverter, converter_config
from kcodec.formats.connect.plan import (
    ABSENT,
    Beyond,
    PlanOptions,
    decode_plan,
    decoded_type,
    encode_plan,
    encoded_type,
)
from kcodec.formats.connect.schema import ConnectSchema, arrow_type, check_widths
from kcodec.formats.connect.values import DataError, Expansion
from kcodec.formats.json.plan import decodable
from kcodec.formats.json.reread import Refused, reread
from kcodec.plan import Limits, Plan
from kcodec.plan.kept import Kept

__all__ = ["ConnectJsonCodec"]

_COMPAT = (None, "connect")
_DUPLICATES = ("last", "error")

#: Schemas that may meet in one run of rows, however small the cache is; and rows of a run after the first.
_FEWEST = 16
_WINDOW = 1024

_NO_SCHEMA = "the row has no schema, and there is no other to read it as"


class _Target:
    """The columns that rows are read into, and the programs of the schemas that rows have."""

    def __init__(
        self,
        schema: ConnectSchema,
        kind: pa.DataType,
        options: PlanOptions,
        limits: Limits,
        most: int,
        inner: pa.DataType | None = None,
    ) -> None:
        self.schema = schema
        self.kind = kind
        #: What the engine reads into: wide decimals that become text are decimals there.
        self.inner = kind if inner is None else inner
        self.options = options
        self.limits = limits
        self.readings: Kept[tuple[str, bytes], _Reading] = Kept(most)

    def reading(self, text: bytes) -> "_Reading":
        """Return how payloads of a schema's text are read; no text is the target's own."""
        module = kernel("formats.json._kernel")
        return self.readings.get((module.__name__, text), lambda: self._made(module, text))

    def _made(self, module: Any, text: bytes) -> "_Reading":
        # A null without a schema is a null, whatever the schema of other rows.
        bare = replace(self.schema, optional=True, default=None) if text == b"null" else None
        writer = self.schema if not text else bare
        try:
            writer = writer or ConnectSchema.from_json(text, replace_null=self.options.replace_null)
            plan = decode_plan(writer, self.schema, self.inner, self.options)
            return _Reading(writer, module.Program(plan, self.limits), kind=plan.arrow_type)
        except (SchemaError, Beyond) as error:
            return _Reading(writer, None, "schema_error" if writer is None else "unresolvable", _shown(error))


class _Reading(NamedTuple):
    """A schema of rows, and its program or what stands in the way."""

    schema: ConnectSchema | None
    program: Any
    code: str = ""
    reason: str = ""
    #: Of the columns that the program makes; what is of another type than the target's is cast.
    kind: pa.DataType | None = None


class _Split(NamedTuple):
    """A run of rows, with what each is read with."""

    values: pa.Array
    selector: Any
    starts: Any
    ends: Any
    readings: list[_Reading]
    faults: list[Fault]


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
    large : bool
        Whether strings, binaries and lists have 64-bit offsets; without it a column holds 2 GiB at most.
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
        large: bool = False,
        limits: Limits | None = None,
    ) -> None:
        for name, value, valid in (
            ("compat", compat, _COMPAT),
            ("duplicate_keys", duplicate_keys, _DUPLICATES),
            ("tombstones", tombstones, (None, True, False)),
        ):
            if value not in valid:
                raise ConfigError(f"{name}={value!r} is not one of {', '.join(map(repr, valid))}")
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
            "schema": _kept(schema, self._config.replace_null_with_default),
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
            "large": large,
            "limits": Limits.of(limits),
        }
        self._options = PlanOptions(
            exact=compat is not None,
            replace_null=self._config.replace_null_with_default,
            numeric=self._config.numeric,
            unique=duplicate_keys == "error",
            text=wide_decimals == "string",
        )
        self._limits = Limits.of(limits)
        #: Faults that the converter does not judge again: bounds of the codec's own.
        self._final = {"depth_limit", "size_limit", *(["duplicate_key"] if self._options.unique else [])}
        self._tombstones = compat is None if tombstones is None else tombstones
        self._encoded_type = pa.large_binary() if large else pa.binary()
        #: Whether rows that are read are envelopes.
        self._enveloped = self._config.schemas_enable and content is None
        self._converter = JsonConverter(self._config, self._limits.max_expansion)
        #: Schemas of which a run of rows has a program at hand.
        self._most = max(self._config.schemas_cache_size, _FEWEST)
        self._found: Kept[bytes, _Target] = Kept()
        self._writings: Kept[tuple[str, pa.DataType], _Writing] = Kept()
        self._target = self._given(schema if content is None else content)
        self.arrow_type = None if self._target is None else self._target.kind

    def _given(self, schema: object | None) -> _Target | None:
        if schema is None:
            return None
        if isinstance(schema, (pa.DataType, pa.Schema)):
            kind = pa.struct(list(schema)) if isinstance(schema, pa.Schema) else schema
            made = ConnectSchema.from_arrow(kind, nullable=True)
            target = _Target(made, decodable(decoded_type(kind)), self._options, self._limits, self._most)
        else:
            target = self._target_of(schema)
        with contextlib.suppress(Beyond):
            decode_plan(target.schema, target.schema, target.inner, self._options)
        return target

    def _made(self, schema: ConnectSchema) -> _Target:
        precision, wide, large = (self._arguments[name] for name in ("precision", "wide_decimals", "large"))
        kind = arrow_type(schema, precision, wide, large)
        inner = arrow_type(schema, precision, "engine", large)
        return _Target(schema, kind, self._options, self._limits, self._most, inner)

    @property
    def schema(self) -> ConnectSchema | None:
        """The schema that rows are read and written as; None without one."""
        return None if self._target is None else self._target.schema

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

    def decode(self, values: Any, errors: str = "raise") -> Any:
        """Decode a column of rows; parameters and result as for every `Codec`.

        Without a schema of the codec's own, the column has the type of the first schema in it; a column without
        any is of the null type.
        """
        check_errors(errors)
        chunks, chunked = payloads(values)
        target = self._target or self._first(chunks)

        def step(chunk: pa.Array, stop: bool) -> tuple[pa.Array, list[Fault]]:
            return self._read(target, chunk, stop)

        return self._run(step, chunks, chunked, target.kind, errors, DecodeError)

    def _first(self, chunks: Sequence[pa.Array]) -> _Target:
        """Make the target of the first schema that there is."""
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
                    return self._found.get(text, functools.partial(self._target_of, text))
                except SchemaError:
                    passed.add(text)
        # All rows are null, or faults.
        return _Target(ConnectSchema("string", optional=True), pa.null(), self._options, self._limits, 1)

    def _target_of(self, schema: object) -> _Target:
        return self._made(ConnectSchema.from_json(schema, replace_null=self._options.replace_null))

    def _schema_text(self, data: bytes) -> bytes:
        """Return the text of a row's schema; ``null`` where there is none."""
        found = kernel("formats.connect._envelope").scan(data)
        if not found.code:
            return data[found.schema : found.schema_end]
        if self._options.exact:
            with contextlib.suppress(DataError):
                schema = self._converter.to_connect_data(data)[0]
                return b"null" if schema is None else str(schema).encode()
        return b"null"

    def _read(self, target: _Target, values: pa.Array, stop: bool) -> tuple[pa.Array, list[Fault]]:
        parts: list[pa.Array] = []
        faults: list[Fault] = []
        done = 0
        window = len(values)
        while not parts or done < len(values):
            run = self._split(target, values.slice(done, window))
            part, found = self._read_run(target, run, stop)
            faults += [each._replace(row=each.row + done) for each in found]
            if stop and faults:
                return pa.nulls(0, target.kind), faults
            parts.append(part)
            done += len(run.values)
            # Where a run ends for its many schemas, the next one is not going to be much longer.
            window = max(4 * len(run.values), _WINDOW)
        return (parts[0] if len(parts) == 1 else pa.concat_arrays(parts)), faults

    def _split(self, target: _Target, values: pa.Array) -> _Split:
        if not self._enveloped:
            return _Split(values, None, None, None, [target.reading(b"")], [])
        selector, starts, ends, texts, faults, count = kernel("formats.connect._envelope").split(
            values, self._most
        )
        readings = [self._reading(target, text) for text in texts]
        return _Split(values.slice(0, count), selector, starts, ends, readings, faults)

    def _reading(self, target: _Target, text: bytes) -> _Reading:
        if pa.types.is_null(target.kind) and text != b"null":
            # No schema in the column has an Arrow type.
            try:
                self._target_of(text)
            except SchemaError as error:
                return _Reading(None, None, "schema_error", _shown(error))
        return target.reading(text)

    def _read_run(self, target: _Target, run: _Split, stop: bool) -> tuple[pa.Array, list[Fault]]:
        exact = self._options.exact
        first = stop and not exact
        array = pa.nulls(len(run.values), target.inner)
        found: list[Fault] = []
        for kind in {reading.kind for reading in run.readings if reading.kind is not None}:
            part, faults = kernel("formats.json._kernel").decode(
                run.values,
                [reading.program if reading.kind == kind else None for reading in run.readings],
                selector=run.selector,
                starts=run.starts,
                ends=run.ends,
                stop=first,
            )
            found += faults
            if not (first and faults):
                part, lost = widen(part, target.inner)
                without = dict(reversed(lost))
                found += [
                    Fault(row, None, path, "inexact", CODES["inexact"]) for row, path in without.items()
                ]
                good = part.is_valid()
                if without:
                    good = pa.array([ok and row not in without for row, ok in enumerate(good.to_pylist())])
                if without or array.null_count < len(array):
                    # Rows of other schemas are null in it.
                    part = pc.if_else(good, part, array)
                array = part
        found = [fault._replace(path=fault.path.replace(ABSENT, "")) for fault in found]
        if self._enveloped:
            scan = kernel("formats.connect._envelope").scan
            for number, fault in enumerate(found):
                # The row may have begun like the one before it, and yet be no envelope.
                envelope = scan(_bytes(run.values[fault.row]))
                if envelope.code:
                    found[number] = envelope_fault(fault.row, envelope)
                elif pa.types.is_null(target.kind):
                    found[number] = fault._replace(code="schema_error", reason=_NO_SCHEMA)
        faults = sorted([*run.faults, *found, *_unread(run)], key=lambda fault: fault.row)
        if exact and faults:

            def read(data: bytes, row: int) -> Any:
                return self._reread(target, run, data, row)

            array, left = reread(
                run.values, array, [each for each in faults if each.code not in self._final], read, stop=stop
            )
            final = [each for each in faults if each.code in self._final]
            faults = sorted([*left, *final], key=lambda fault: fault.row)
        if target.kind != target.inner and not (stop and faults):
            array = array.cast(target.kind)
        return array, faults

    def _reread(self, target: _Target, run: _Split, data: bytes, row: int) -> Any:
        """Convert one row as JsonConverter does."""
        start = 0
        number = memoryview(run.selector).cast("i")[row] if self._enveloped else 0
        try:
            if pa.types.is_null(target.kind):
                if self._converter.to_connect_data(data)[1] is not None:
                    reason = run.readings[number].reason if number >= 0 else ""
                    raise DataError("schema_error", reason or _NO_SCHEMA)
                return None
            if not self._enveloped:
                writer, value = target.schema, self._converter.payload(target.schema, data)
            else:
                found = kernel("formats.connect._envelope").scan(data)
                schema = run.readings[number].schema if number >= 0 and not found.code else None
                if schema is None:
                    # What is wrong with it, or an envelope that only Jackson takes.
                    schema, value = self._converter.to_connect_data(data)
                    if schema is None:
                        raise DataError("schema_error", _NO_SCHEMA)
                    writer = schema
                else:
                    start = found.payload
                    writer, value = schema, self._converter.payload(schema, data[start : found.payload_end])
            expansion = Expansion(self._limits.max_expansion)
            return column_value(value, writer, target.schema, pa.field("", target.inner), expansion)
        except DataError as error:
            offset = None if error.offset is None else start + error.offset
            raise Refused(error.code, error.path, offset, error.message) from None

    def to_schemaless(self, values: Any, errors: str = "raise") -> Any:
        """Give what the converter itself returns for each row, as Python values.

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
                except DataError as error:
                    faults.append(Fault(len(found), error.offset, error.path, error.code, error.message))
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
        if self._target is not None:
            return self._target.schema
        return ConnectSchema.from_arrow(kind, nullable=True)

    def _encode(self, array: pa.Array, stop: bool) -> tuple[pa.Array, list[Fault]]:
        writing = self._writing(array.type)
        if writing.program is None:
            return self._encode_rows(unpack(array).cast(plain_type(array.type)), writing.schema, stop)
        plain, lost = cast_rows(array, writing.kind, _code_of)
        prefix, suffix = b"", b""
        if self._config.schemas_enable:
            prefix, suffix = f'{{"schema":{writing.text},"payload":'.encode(), b"}"
        encoded, faults = kernel("formats.json._kernel").encode(
            plain,
            writing.program,
            prefix=prefix,
            suffix=suffix,
            large=self._arguments["large"],
            stop=stop,
        )
        if self._options.exact:
            faults = [self._refused(writing.schema, plain, fault) for fault in faults]
        faults = sorted([*lost, *faults])
        if self._tombstones or not array.null_count or (stop and faults):
            return encoded, faults
        missing = array.is_null()
        try:
            written = self._converter.from_connect_data(writing.schema, None)
        except DataError as error:
            rows = pc.indices_nonzero(missing).to_pylist()
            faults += [Fault(row, None, "", error.code, error.message) for row in rows]
            return encoded, sorted(faults, key=lambda fault: fault.row)
        return pc.if_else(missing, pa.scalar(written, encoded.type), encoded), faults

    def _writing(self, kind: pa.DataType) -> "_Writing":
        module = kernel("formats.json._kernel")

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

    def _refused(self, schema: ConnectSchema, array: pa.Array, fault: Fault) -> Fault:
        """Give the fault of a row JsonConverter's words."""
        try:
            self._converter.from_connect_data(schema, row_value(array, fault.row))
        except DataError as error:
            return Fault(fault.row, None, error.path, error.code, error.message)
        return fault

    def _encode_rows(
        self, array: pa.Array, schema: ConnectSchema, stop: bool
    ) -> tuple[pa.Array, list[Fault]]:
        """Write rows one by one, as JsonConverter does."""
        found: list[bytes | None] = []
        faults: list[Fault] = []
        for row in range(len(array)):
            data = None
            if array[row].is_valid or not self._tombstones:
                try:
                    data = self._converter.from_connect_data(schema, row_value(array, row))
                except DataError as error:
                    faults.append(Fault(row, None, error.path, error.code, error.message))
                    if stop:
                        break
            found.append(data)
        return pa.array(found, self._encoded_type), faults

    # Identity ---------------------------------------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ConnectJsonCodec):
            return NotImplemented
        return self._arguments == other._arguments

    def __hash__(self) -> int:
        return hash(tuple(str(value) for value in self._arguments.values()))

    def __repr__(self) -> str:
        defaults = inspect.signature(ConnectJsonCodec).parameters
        shown = []
        for name, value in self._arguments.items():
            default = Limits() if name == "limits" else defaults[name].default
            if value != default:
                shown.append(repr(value) if name == "schema" else f"{name}={value!r}")
        return f"ConnectJsonCodec({', '.join(shown)})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self._arguments)


class _Writing(NamedTuple):
    """How columns of an Arrow type are written: None for a program where rows are converted one by one."""

    schema: ConnectSchema
    text: str
    kind: pa.DataType
    program: Any


def _rebuild(kind: type[ConnectJsonCodec], arguments: dict[str, Any]) -> ConnectJsonCodec:
    return kind(**arguments)


def _kept(schema: object | None, replace_null: bool) -> object | None:
    """Keep a schema in a form that later changes of a dict do not reach, and that can be compared."""
    if schema is None or isinstance(schema, (pa.DataType, pa.Schema)):
        return schema
    return ConnectSchema.from_json(schema, replace_null=replace_null).to_text(
        "NUMERIC", replace_null=replace_null
    )


def _bytes(value: pa.Scalar) -> bytes:
    data = value.as_py()
    return data.encode() if isinstance(data, str) else data


def _code_of(value: pa.Array, kind: pa.DataType) -> str:
    """Tell why a value is not cast to what is written; text may be no number."""
    given = value[0].as_py()
    with contextlib.suppress(InvalidOperation):
        if not isinstance(given, str) or Decimal(given).is_finite():
            return code_of(value, kind)
    return "invalid_number"


def _shown(error: Exception) -> str:
    """Give an error's words as reports hold them: names of JSON may hold halves of surrogate pairs."""
    return str(error).encode(errors="backslashreplace").decode()


def _unread(run: _Split) -> list[Fault]:
    """Make faults of the rows whose schema has no program."""
    without = {number: reading for number, reading in enumerate(run.readings) if reading.program is None}
    if not without:
        return []
    selector = [0] * len(run.values) if run.selector is None else memoryview(run.selector).cast("i")
    return [
        Fault(row, 0, "", without[number].code, without[number].reason)
        for row, number in enumerate(selector)
        if number in without and run.values[row].is_valid
    ]

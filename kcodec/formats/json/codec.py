"""Plain JSON documents (RFC 8259) of one Arrow type, and a type proposed from a sample of them."""

import decimal
import json
import math
import re
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from kcodec._kept import Kept
from kcodec._lazy import compute as pc
from kcodec.codec import Codec
from kcodec.columns.arrays.casts import cast_rows
from kcodec.columns.arrays.given import payloads
from kcodec.columns.arrays.nested import arrange, unpack
from kcodec.columns.arrays.uuids import uuid_texts
from kcodec.columns.faults import joined
from kcodec.columns.types.ddl import ddl_type
from kcodec.columns.types.fields import chosen, field_names
from kcodec.errors import ConfigError, Fault, SchemaError, check_booleans, is_whole
from kcodec.formats.json.kernel import kernel as json_kernel
from kcodec.formats.json.objects.kernel import object_reader, object_writer
from kcodec.formats.json.plan import RAW, JsonOptions, decodable, json_plan
from kcodec.objects.by_columns import ColumnWriter
from kcodec.objects.form import ObjectForm
from kcodec.objects.kernel import Reader, Writer
from kcodec.plan import Limits, Plan


class JsonCodec(Codec):
    r"""JSON documents of one Arrow type, a document a row.

    Keys are the names of fields; others are read past. A nullable field may be null or missing, one that is not
    must be there. Of a key that stands twice the last value counts. Integers may be written as ``1.0`` or ``1e2``,
    decimals as numbers or as text; what does not fit a column exactly is an error of its row.

    Parameters
    ----------
    arrow_type : pyarrow.DataType, pyarrow.Schema or str
        Of the decoded column; text is Spark's DDL, such as ``id BIGINT, tags ARRAY<STRING>``. Binary columns are
        Base64; a field of text or bytes with the metadata ``kcodec.json: raw`` holds the JSON of any value.
    times : {"iso", "number"}
        Dates, times and timestamps as ISO 8601 text, with a zone where the column has one; or as numbers: days,
        and else what the column counts.
    decimals : {"number", "text"}
        How they are written; both are read.
    nulls : {"write", "omit"}
        Whether null fields are written.
    duplicate_keys : {"last", "error"}
        What a key that stands twice in an object or a map is.
    text_numbers : bool
        Whether all numbers are written as text; then both are read.
    nonfinite : bool
        Whether ``"NaN"``, ``"Infinity"`` and ``"-Infinity"`` are floats; otherwise they are errors.
    round : {"error", "truncate"}
        What `encode` makes of a time that is finer than the type's: an error of its row, or the next earlier time that
        is not.
    trailing : bool
        Whether anything may follow a document; behind a number or word, what cannot be more of it, as for Jackson.
    fields : sequence of str, optional
        The only fields to decode, one at least, dotted for those of objects below; the others are read past. All are
        written.
    limits : Limits, optional
        What one row may cost.

    Raises
    ------
    SchemaError
        If the type, or one within it, is not read from JSON.
    ConfigError
        If another argument is wrong.

    Examples
    --------
    >>> codec = JsonCodec(pa.schema([("id", pa.int64()), ("price", pa.decimal128(9, 2))]))
    >>> codec.decode([b'{"id": 1, "price": 12.5}', None]).to_pylist()
    [{'id': 1, 'price': Decimal('12.50')}, None]
    >>> JsonCodec("id BIGINT, price DECIMAL(9,2)") == codec
    True
    >>> codec.encode(codec.decode([b'{"price": "0.10"}'])).to_pylist()
    [b'{"id":null,"price":0.10}']
    >>> codec.decode([b'{"price": 0.125}'], errors="report")[1].to_pylist()[0]["code"]
    'inexact'
    """

    _encoded_type = pa.binary()
    _names_frames = True
    _checks_offsets = True

    def __init__(
        self,
        arrow_type: pa.DataType | pa.Schema | str,
        *,
        times: str = "iso",
        decimals: str = "number",
        nulls: str = "write",
        duplicate_keys: str = "last",
        text_numbers: bool = False,
        nonfinite: bool = False,
        round: str = "error",
        trailing: bool = False,
        fields: Sequence[str] | None = None,
        limits: Limits | None = None,
    ) -> None:
        if isinstance(arrow_type, pa.Schema):
            arrow_type = pa.struct(list(arrow_type))
        if isinstance(arrow_type, str):
            arrow_type = ddl_type(arrow_type)
        if not isinstance(arrow_type, pa.DataType):
            raise ConfigError(
                f"arrow_type is a {type(arrow_type).__name__}, not an Arrow type, schema or DDL"
            )
        fields = field_names(fields)
        self._written_type = arrow_type
        options = JsonOptions(times, decimals, nulls, duplicate_keys, text_numbers, nonfinite, round)
        options.check()
        check_booleans(trailing=trailing)
        self._trailing = trailing
        self._limits = Limits.of(limits)
        self._arguments = {
            "arrow_type": arrow_type,
            **options._asdict(),
            "trailing": trailing,
            "fields": fields,
            "limits": self._limits,
        }
        try:
            self.arrow_type = chosen(arrow_type, fields)
            self._plan = json_plan(decodable(self.arrow_type), "decode", options)
            self._encode_plan = json_plan(arrow_type, "encode", options)
        except RecursionError:
            raise SchemaError("the type is nested too deeply") from None
        self._programs: Kept[tuple[str, str], Any] = Kept()

    @staticmethod
    def infer(
        values: Any, *, decimals: bool = False, times: bool = True, sample: int = 1000, **options: Any
    ) -> "JsonCodec":
        """Make a codec of the type that some documents have.

        Parameters
        ----------
        values : pyarrow.Array, ChunkedArray, list of bytes or None, or an Arrow producer
            The documents.
        decimals : bool
            Whether numbers with a fraction become decimals of the digits that were seen, and two more before the
            point; by default they become doubles.
        times : bool
            Whether text becomes a date, a time or a timestamp where all of it is one.
        sample : int
            How many documents are looked at.
        **options
            Further arguments of `JsonCodec`.

        Returns
        -------
        JsonCodec
            Fields are in the order in which they first came, all of them nullable. Values of several kinds, and
            numbers that neither a decimal nor a double holds, become a field of text with the metadata
            ``kcodec.json: raw``, which holds their JSON.

        Raises
        ------
        SchemaError
            If a document is not JSON in UTF-8, or has a number of more than 1,000 digits; if all of them have more
            than 100,000 fields, as objects have whose keys are data: maps, which only a type can say; or if values of
            several kinds stand where no field is.
        ConfigError
            If an argument is wrong.

        Examples
        --------
        >>> documents = [b'{"id": 1, "price": 0.5}', b'{"id": 2, "tags": ["a"]}']
        >>> print(JsonCodec.infer(documents, decimals=True).arrow_type)
        struct<id: int64, price: decimal128(3, 1), tags: list<item: string>>
        """
        return JsonCodec(infer(values, decimals=decimals, times=times, sample=sample), **options)

    @property
    def decode_plan(self) -> Plan:
        """The decode plan; ``str`` of it is a readable tree."""
        return self._plan

    def _program(self, plan: Plan) -> tuple[Any, Any]:
        module = json_kernel()
        key = (module.__name__, plan.direction)
        return module, self._programs.get(key, lambda: module.Program(plan, self._limits))

    def _decode(self, array: pa.Array, stop: bool) -> tuple[pa.Array, list[Fault]]:
        module, program = self._program(self._plan)
        decoded, faults = module.decode(array, [program], trailing=self._trailing, stop=stop)
        if self._plan.arrow_type != self.arrow_type and not (stop and faults):
            decoded = decoded.cast(self.arrow_type)
        return decoded, faults

    def _encode(self, array: pa.Array, stop: bool) -> tuple[pa.Array, Sequence[Fault]]:
        if array.type != self._written_type:
            counted = self._arguments["times"] == "number"
            array = unpack(uuid_texts(array, lambda: self._written_type))
            array = arrange(array, self._written_type, counted=counted)
        plain, lost = cast_rows(array, self._written_type, floor=self._arguments["round"] == "truncate")
        module, program = self._program(self._encode_plan)
        encoded, faults = module.encode(plain, program, stop=stop)
        return encoded, joined([lost, faults])

    def _object_reader(self, form: ObjectForm) -> Reader:
        return object_reader(self._plan, self._limits, self._column_reader(form), form)

    def _object_writer(self, form: ObjectForm) -> Writer:
        self._check_form(form)
        columns = ColumnWriter(self.encode)
        if self._arguments["fields"] is not None:
            # Of the others none is taken, and all are written.
            return columns
        return object_writer(self._encode_plan, columns, fills=True)

    def __eq__(self, other: object) -> bool:
        # Arrow types are equal whatever their metadata, which may mark a field as holding JSON itself.
        equal = super().__eq__(other)
        return equal if equal is not True else self._plan.root == other._plan.root  # type: ignore[attr-defined]

    __hash__ = Codec.__hash__


def infer(values: Any, *, decimals: bool = False, times: bool = True, sample: int = 1000) -> pa.DataType:
    """Propose the Arrow type of some documents: see `JsonCodec.infer`.

    >>> print(infer([b'{"id": 1, "at": "2024-05-01T10:00:00Z"}', b'{"id": 2.5, "tags": ["a"]}']))
    struct<id: double, at: timestamp[us, tz=UTC], tags: list<item: string>>
    """
    check_booleans(decimals=decimals, times=times)
    if not is_whole(sample) or sample < 1:
        raise ConfigError(f"sample={sample!r} is not a number of at least 1")
    chunks, _ = payloads(values)
    seen = _Seen(_Count())
    first = 0
    for chunk in chunks:
        # Tombstones are no documents.
        rows = pc.indices_nonzero(chunk.is_valid())[:sample].to_pylist()
        for row in rows:
            text = chunk[row].as_py()
            try:
                text = text if isinstance(text, str) else text.decode()
                seen.add(_read(text.removeprefix("\ufeff")))
            except SchemaError:
                raise
            except (ValueError, RecursionError, ArithmeticError) as error:
                raise SchemaError(f"row {first + row} is not JSON that can be read: {error}") from None
        first += len(chunk)
        sample -= len(rows)
    try:
        field = seen.field("", decimals, times)
    except RecursionError:
        raise SchemaError("the documents are nested too deeply") from None
    if field.metadata:
        raise SchemaError("the documents are values of several kinds, or numbers that no column holds")
    return field.type


class _Number(str):
    """A number with a fraction or an exponent, as it is written."""


def _integer(text: str) -> int:
    if len(text) > Limits().max_number_length:
        raise ValueError(f"a number has {len(text)} characters")
    return int(text)


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


#: Objects are tuples of keys and values: each value of a key that stands twice has to be of its type.
_read = json.JSONDecoder(
    object_pairs_hook=tuple, parse_int=_integer, parse_float=_Number, parse_constant=_refuse
).decode


#: Of inferred types: as many as a schema may come to.
_MAX_FIELDS = 100_000

#: Types of text in ISO 8601, with what all of it looks like.
_TIMES = [
    (re.compile(r"\d{4}-\d\d-\d\d", re.ASCII), pa.date32()),
    (re.compile(r"\d\d:\d\d:\d\d(\.\d{1,6})?", re.ASCII), pa.time64("us")),
    (re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d{1,6})?", re.ASCII), pa.timestamp("us")),
    (
        re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d{1,6})?([Zz]|[+-]\d\d:?\d\d)", re.ASCII),
        pa.timestamp("us", "UTC"),
    ),
]


class _Count:
    """How many fields the documents have."""

    def __init__(self) -> None:
        self.fields = 0

    def add(self) -> None:
        """Count a field; `SchemaError` if it is one too many."""
        self.fields += 1
        if self.fields > _MAX_FIELDS:
            raise SchemaError(
                f"the documents have more than {_MAX_FIELDS} fields: are keys of theirs data? A type that is given "
                "has maps for such objects"
            )


class _Seen:
    """What was seen in one place of the documents."""

    def __init__(self, count: _Count) -> None:
        self.count = count
        self.kinds: set[str] = set()
        self.lowest = self.highest = 0
        self.whole = self.scale = 0
        self.has_infinite = False
        self.texts: list[str] = []
        self.items: _Seen | None = None
        self.fields: dict[str, _Seen] = {}

    def add(self, value: Any) -> None:
        if value is None:
            return
        if isinstance(value, tuple):
            self.kinds.add("object")
            for name, item in value:
                # No field is named by half of a surrogate pair.
                name.encode()
                if name not in self.fields:
                    self.count.add()
                    self.fields[name] = _Seen(self.count)
                self.fields[name].add(item)
        elif isinstance(value, list):
            self.kinds.add("array")
            self.items = self.items or _Seen(self.count)
            for item in value:
                self.items.add(item)
        elif isinstance(value, bool):
            self.kinds.add("boolean")
        elif isinstance(value, int):
            self.kinds.add("integer")
            self.lowest, self.highest = min(self.lowest, value), max(self.highest, value)
        elif isinstance(value, _Number):
            self.kinds.add("number")
            self.digits(value)
        else:
            self.kinds.add("string")
            self.texts.append(value)

    def digits(self, number: int | _Number) -> None:
        value = decimal.Decimal(number)
        _, digits, exponent = value.as_tuple()
        self.whole = max(self.whole, len(digits) + int(exponent))
        self.scale = max(self.scale, -int(exponent))
        self.has_infinite |= math.isinf(float(value))

    def field(self, name: str, decimals: bool, times: bool) -> pa.Field:
        if "integer" in self.kinds:
            # All others have no more digits.
            self.digits(self.lowest)
            self.digits(self.highest)
        kinds = self.kinds - {"integer"} if "number" in self.kinds else self.kinds
        if len(kinds) > 1 or self.has_infinite:
            return pa.field(name, pa.string(), metadata=RAW)
        if not kinds:
            return pa.field(name, pa.null())
        return pa.field(name, getattr(self, f"_{next(iter(kinds))}")(decimals, times))

    def _object(self, decimals: bool, times: bool) -> pa.DataType:
        return pa.struct([seen.field(name, decimals, times) for name, seen in self.fields.items()])

    def _array(self, decimals: bool, times: bool) -> pa.DataType:
        items = self.items or _Seen(self.count)
        return pa.list_(items.field("item", decimals, times))

    def _boolean(self, decimals: bool, times: bool) -> pa.DataType:
        return pa.bool_()

    def _integer(self, decimals: bool, times: bool) -> pa.DataType:
        if self.lowest >= -(1 << 63) and self.highest < 1 << 63:
            return pa.int64()
        if self.lowest == 0 and self.highest < 1 << 64:
            return pa.uint64()
        return self._exact()

    def _number(self, decimals: bool, times: bool) -> pa.DataType:
        return self._exact() if decimals else pa.float64()

    def _exact(self) -> pa.DataType:
        """Return a decimal of the digits seen, and two more; a double where no decimal has so many."""
        precision = max(self.whole, 0) + self.scale
        if precision > 76:
            return pa.float64()
        precision = min(precision + 2, 38 if precision <= 38 else 76)
        return (
            pa.decimal128(precision, self.scale) if precision <= 38 else pa.decimal256(precision, self.scale)
        )

    def _string(self, decimals: bool, times: bool) -> pa.DataType:
        if times:
            for pattern, kind in _TIMES:
                if all(pattern.fullmatch(text) for text in self.texts) and _all_read(self.texts, kind):
                    return kind
        return pa.string()


def _all_read(texts: Sequence[str], kind: pa.DataType) -> bool:
    """Return whether all texts are values of a type; the pattern alone would let the 30th of February pass."""
    documents = pa.array([json.dumps(text) for text in texts], pa.string())
    module = json_kernel()
    return not module.decode(documents, [module.Program(json_plan(kind, "decode"))], stop=True)[1]

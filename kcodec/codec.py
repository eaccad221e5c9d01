"""What all codecs share: columns in, columns out, what happens to rows that fail, and when two codecs are equal."""

import inspect
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any

import pyarrow as pa

from kcodec._impl import chosen, kernel
from kcodec._threads import map_in_threads
from kcodec.arguments import Columns, Payloads
from kcodec.columns.arrays.casts import FINER
from kcodec.columns.arrays.given import arrays, payloads, sound, valid
from kcodec.columns.faults import Faults, short_reason
from kcodec.columns.framed.frame_hints import name_frames
from kcodec.columns.types.fields import field_names
from kcodec.columns.types.plain import is_bytes, plain_type, type_at
from kcodec.errors import (
    CODES,
    CapacityError,
    ConfigError,
    DecodeError,
    EncodeError,
    Fault,
    check_booleans,
    check_choice,
    one_line,
)
from kcodec.objects.by_columns import ColumnReader, ColumnWriter
from kcodec.objects.collector import uncollected
from kcodec.objects.each import fault_of
from kcodec.objects.form import ObjectForm, check_class
from kcodec.objects.kernel import Reader, Writer, quick_decode_one
from kcodec.objects.shape import shaped
from kcodec.plan import Limits

__all__ = [
    "ERRORS",
    "REPORT",
    "Codec",
    "Numbered",
    "Run",
    "Step",
    "check_errors",
    "name_rounding",
    "report",
    "result",
]

ERRORS = ("raise", "null", "report")

#: Reads or writes a part of a column, up to its first fault if it is told to stop there.
Step = Callable[[Any, bool], tuple[pa.Array, Sequence[Fault]]]

#: Rows for which a thread is worth its while, and rows whose columns stay warm.
_MIN_ROWS, _MAX_ROWS = 5_000, 65_536

#: Forms of single values that a codec keeps its readers for.
_MAX_READERS = 32

#: Columns of an error report. Schema ids are unsigned 32-bit numbers.
REPORT = pa.schema(
    [
        pa.field("row", pa.int64(), nullable=False),
        pa.field("offset", pa.int64()),
        pa.field("path", pa.string(), nullable=False),
        pa.field("code", pa.string(), nullable=False),
        pa.field("reason", pa.string(), nullable=False),
        pa.field("schema_id", pa.int64()),
    ]
)


#: The same where schema ids are GUIDs or fingerprints.
TEXT_REPORT = REPORT.set(5, pa.field("schema_id", pa.string()))


def report(faults: Iterable[Fault], *, text_ids: bool = False) -> pa.Table:
    """Make the Arrow table of an error report; with `text_ids` the schema ids are text.

    >>> report([Fault(3, 1, "id", "truncated", "the input ends inside this value")]).num_rows
    1
    """
    schema = TEXT_REPORT if text_ids else REPORT
    rows = faults if isinstance(faults, Faults) else list(faults)
    if not rows:
        # Of nulls: pa.array of a list loads pandas where that is installed.
        return pa.Table.from_arrays([pa.nulls(0, field.type) for field in schema], schema=schema)
    *columns, ids = Faults.of(rows).columns()
    return pa.Table.from_arrays([*columns, ids.cast(schema.field(5).type)], schema=schema)


def _joint_report(parts: Iterable[Sequence[Fault]], text_ids: bool) -> pa.Table:
    """Make the error report of the parts of a column."""
    tables = [report(part, text_ids=text_ids) for part in parts if part]
    if len(tables) == 1:
        return tables[0]
    return pa.concat_tables([report([], text_ids=text_ids), *tables]).combine_chunks()


def check_errors(errors: str) -> None:
    """Check that a value of ``errors=`` is one of `ERRORS`."""
    check_choice("errors", errors, ERRORS)


def name_rounding(faults: Sequence[Fault], kind: pa.DataType) -> Sequence[Fault]:
    """Return faults of encoding a type, with reasons that name the option for those of times."""
    if not faults:
        # Of most columns: to look at the type takes longer than to write a few rows.
        return faults
    plain = plain_type(kind, days=True)

    def told(path: str, code: str, reason: str) -> tuple[str, str, str]:
        if code == "inexact" and reason == CODES["inexact"]:
            at = type_at(plain, path)
            if at is not None and (pa.types.is_time(at) or pa.types.is_timestamp(at)):
                return path, code, FINER
        return path, code, reason

    return Faults.of(faults).told(told)


def result(parts: Sequence[pa.Array], chunked: bool, kind: pa.DataType) -> pa.Array | pa.ChunkedArray:
    """Return a column in the form it came in: chunks for chunks."""
    return pa.chunked_array(parts, kind) if chunked else parts[0]


class Run:
    """How a call runs the rows of its column: what becomes of those that fail, on how many threads, into what.

    The arguments are those of `Codec.decode` and `Codec.encode`.
    """

    def __init__(self, errors: str, *, use_threads: bool = False, as_list: bool = False) -> None:
        # Most calls leave them as they are, and one of few rows takes as long as what is asked of them.
        if errors != "raise":
            check_errors(errors)
        if use_threads is not False or as_list is not False:
            check_booleans(use_threads=use_threads, as_list=as_list)
        self.errors = errors
        self._threads = pa.cpu_count() if use_threads else 0
        self._as_list = as_list

    def parts(self, column: tuple[list[pa.Array], bool]) -> tuple[list[pa.Array], bool]:
        """Return a column, which may be in chunks, as what is read or written at a time, and whether there are chunks.

        The parts are its chunks; for threads, parts of these that keep all of them busy.
        """
        if not self._threads:
            return column
        chunks = column[0]
        rows = sum(map(len, chunks))
        if not self._shares(rows):
            return chunks, True
        rounds = -(-rows // (self._threads * _MAX_ROWS))
        size = max(_MIN_ROWS, -(-rows // (self._threads * rounds)))
        # Where a part ends, nobody has looked yet.
        return [
            valid(chunk.slice(start, size)) for chunk in chunks for start in range(0, len(chunk), size)
        ], True

    def _shares(self, rows: int) -> bool:
        return self._threads > 1 and rows >= 2 * _MIN_ROWS

    def result(
        self,
        step: Step,
        parts: Sequence[Any],
        chunked: bool,
        kind: pa.DataType,
        error: type[DecodeError] | type[EncodeError],
        *,
        text_ids: bool = False,
    ) -> Any:
        """Return what a step makes of the parts of a column, with a report if there is to be one; see `report`."""
        stop = self.errors == "raise"
        if stop and len(parts) == 1 and not chunked and not self._as_list:
            # A call of few rows takes as long as what it goes through.
            return self._made(step, parts[0], 0, error)[0]
        starts = list(itertools.accumulate(map(len, parts), initial=0))

        def one(at: int) -> tuple[pa.Array, Sequence[Fault]]:
            return self._made(step, parts[at], starts[at], error)

        if self._shares(starts[-1]):
            made = map_in_threads(one, range(len(parts)), self._threads)
        else:
            made = [one(at) for at in range(len(parts))]
        arrays = [array for array, _ in made]
        column = _listed(arrays) if self._as_list else result(arrays, chunked, kind)
        if self.errors != "report":
            return column
        return column, _joint_report((faults for _, faults in made), text_ids)

    def _made(
        self, step: Step, part: Any, start: int, error: type[DecodeError] | type[EncodeError]
    ) -> tuple[pa.Array, Sequence[Fault]]:
        """Return what a step makes of a part that begins with a row, and the faults that go into a report."""
        stop = self.errors == "raise"
        try:
            made, found = step(part, stop)
        except (MemoryError, pa.ArrowCapacityError) as lack:
            told = one_line(lack) or "out of memory"
            if isinstance(lack, pa.ArrowCapacityError):
                # Texts that are joined to more than 32-bit offsets reach.
                raise CapacityError(f"{len(part)} rows are too many: {told}") from lack
            raise CapacityError(f"{len(part)} rows need more memory than there is: {told}") from lack
        if found and stop:
            raise error(*_placed(found[:1], start)[0])
        return made, _placed(found, start) if self.errors == "report" else []


class Numbered:
    """A part of a column by its number, and by the row that it starts at."""

    def __init__(self, at: int, start: int, rows: int) -> None:
        self.at = at
        self.start = start
        self._rows = rows

    def __len__(self) -> int:
        return self._rows

    @staticmethod
    def all(parts: Iterable[pa.Array]) -> "list[Numbered]":
        """Return the numbers of all parts of a column."""
        sizes = list(map(len, parts))
        starts = itertools.accumulate(sizes, initial=0)
        return [
            Numbered(at, start, rows) for at, (start, rows) in enumerate(zip(starts, sizes, strict=False))
        ]


def _listed(arrays: Iterable[pa.Array]) -> list[Any]:
    """Return the values of arrays as a list: bytes, or text where that is what is written."""
    values: list[Any] = []
    for array in arrays:
        binary = is_bytes(array.type)
        values += kernel("columns.rows._binary").bytes_list(array) if binary else array.to_pylist()
    return values


class Codec:
    """A format with its schema, compiled: columns of payloads to Arrow columns and back.

    A codec does no I/O, is never changed once made, can be pickled (for the same version of kcodec), and may be used by
    several threads at once. Two codecs are equal if they are made with equal arguments. Subclasses say how one array is
    decoded and encoded.
    """

    #: Type of decoded columns.
    arrow_type: pa.DataType

    #: Whether errors of rows say that there seems to be a frame, which a registry's serializer has put there.
    _names_frames = False

    #: Whether `_encode` looks at the offsets of arrays itself, as kernels and `unpack` do.
    _checks_offsets = False

    #: Whether the columns of Python values may have names of which only the upper case is one.
    _folds_names = False

    #: Whether ids or headers of payloads name their schemas; `decode` then takes ``headers=``.
    has_schemas = False

    #: The arguments that an equal codec is made with, by name, in the order of the signature.
    _arguments: dict[str, Any]

    #: What reads and writes single values, by implementation and form; never changed, but replaced.
    _readers: Mapping[Any, Reader] = MappingProxyType({})
    _writers: Mapping[Any, Writer] = MappingProxyType({})
    #: Of the usual form, for which implementation, and what reads a value.
    _usual: tuple[Any, Callable[[Any], Any]] | None = None

    def decode(self, values: Payloads, errors: str = "raise", *, use_threads: bool = False) -> Any:
        """Decode a column of payloads.

        Parameters
        ----------
        values : pyarrow.Array, ChunkedArray, list of bytes or None, or an Arrow producer
            Binary or string of any layout, or objects of NumPy or pandas; nulls stay null.
        errors : {"raise", "null", "report"}
            What becomes of a row that cannot be decoded: an exception; a null; or a null and a row of the
            report.
        use_threads : bool
            Whether the rows are shared among threads, as many as `pyarrow.cpu_count` says: from 10,000 rows on.
            The result comes in chunks.

        Returns
        -------
        pyarrow.Array or pyarrow.ChunkedArray
            Of `arrow_type`, in chunks if the values were, with `use_threads`, or of a list of more than 2 GiB. With
            ``errors="report"`` a pair of it and a `pyarrow.Table` with the columns ``row``, ``offset`` (byte in the
            row's value), ``path``, ``code``, ``reason`` and ``schema_id``.

        Raises
        ------
        DecodeError
            If ``errors="raise"``: the first row that cannot be decoded.
        TypeError
            If the values are not a column of payloads.
        """
        run = Run(errors, use_threads=use_threads)
        parts, chunked = run.parts(payloads(values))
        codec = self._for(parts)

        def step(chunk: pa.Array, stop: bool) -> tuple[pa.Array, Sequence[Fault]]:
            decoded, faults = codec._decode(chunk, stop)
            if faults and self._names_frames and errors != "null":
                faults = name_frames(faults, chunk)
            return decoded, faults

        return run.result(step, parts, chunked, codec.arrow_type, DecodeError)

    def encode(
        self, array: Columns, errors: str = "raise", *, as_list: bool = False, use_threads: bool = False
    ) -> Any:
        """Encode a column, or the columns of a table as one struct.

        Parameters
        ----------
        array : pyarrow.Array, ChunkedArray, RecordBatch, Table, list, or an Arrow producer
            What to write; nulls stay null. A list holds Python values, dicts for records; datetimes without a zone
            are in UTC.
        errors : {"raise", "null", "report"}
            What becomes of a row that cannot be encoded, as in `decode`. Its offset is null.
        as_list : bool
            Whether the result is a list of bytes and None, as producers of other libraries take them.
        use_threads : bool
            Whether the rows are shared among threads, as in `decode`.

        Returns
        -------
        pyarrow.Array, pyarrow.ChunkedArray or list
            Binary; with ``errors="report"`` a pair of it and the report.

        Raises
        ------
        EncodeError
            If ``errors="raise"``: the first row that cannot be encoded.
        TypeError
            If it is no column, or a value of a list is not of its type, with the row or the field.
        """
        run = Run(errors, as_list=as_list, use_threads=use_threads)
        check = valid if self._checks_offsets else sound
        parts, chunked = run.parts(arrays(array, self._given_type, check=check, fold=self._folds_names))

        def step(chunk: pa.Array, stop: bool) -> tuple[pa.Array, Sequence[Fault]]:
            encoded, faults = self._encode(chunk, stop)
            return encoded, name_rounding(faults, chunk.type)

        return run.result(step, parts, chunked, self._encoded_type, EncodeError)

    _encoded_type: pa.DataType

    @property
    def _given_type(self) -> pa.DataType:
        """What the values of a list are taken as; see `kcodec.formats.payloads.SchemaDecoder.given_type`."""
        return self.arrow_type

    @quick_decode_one
    def decode_one(
        self, value: Any, *, maps: str | None = None, unions: str = "members", into: Any = None
    ) -> Any:
        r"""Decode one payload to a Python object; no column is made.

        Parameters
        ----------
        value : bytes-like or None
            The payload; None stays None.
        maps : {"pairs", "dict"}
            Whether a map becomes a list of pairs, as in ``to_pylist()`` of a column, or a dict. By default pairs; with
            `into` a dict.
        unions : {"members", "value"}
            Whether a value of a union of several types becomes a dict of all members, of which one is not None, or
            just that one's value.
        into : type, optional
            A class that records are made into: a dataclass, a NamedTuple, or one whose arguments have the fields'
            names, such as those of pydantic, attrs and msgspec. Records within it become the classes that its
            annotations name, else dicts.

        Returns
        -------
        object
            What ``decode([value]).to_pylist()[0]`` is. Times have the zone ``datetime.timezone.utc``.

        Raises
        ------
        DecodeError
            If it cannot be decoded, with the code, the offset and the path that `decode` gives. Dates and times that
            Python's types do not have are ``out_of_range`` (years) and ``inexact`` (nanoseconds) too.
        ConfigError
            If an option is not known, or the class does not take the fields.
        TypeError
            If the value is not bytes, or the codec reads no single values.

        Examples
        --------
        >>> from kcodec import AvroCodec
        >>> field = '{"name": "%s", "type": "int"}'
        >>> codec = AvroCodec('{"type": "record", "name": "P", "fields": [%s, %s]}' % (field % "x", field % "y"))
        >>> codec.decode_one(b"\x02\x04")
        {'x': 1, 'y': 2}
        >>> import collections
        >>> codec.decode_one(b"\x02\x04", into=collections.namedtuple("Point", "x y"))
        Point(x=1, y=2)
        """
        if into is not None:
            check_class(into)
        reader = self._readers.get((chosen(), maps, unions, into)) or self._reader_for(maps, unions, into)
        try:
            return reader.decode_one(value)
        except DecodeError as error:
            told = self._told_of_objects(reader, [fault_of(error)], [value])
            raise DecodeError(*told[0]) from None

    def decode_list(
        self,
        values: Payloads,
        errors: str = "raise",
        *,
        maps: str | None = None,
        unions: str = "members",
        into: Any = None,
    ) -> Any:
        r"""Decode payloads to a list of Python objects, as `decode_one` does each.

        Parameters
        ----------
        values : list of bytes or None, pyarrow.Array, ChunkedArray, or an Arrow producer
            The payloads; nulls become None.
        errors : {"raise", "null", "report"}
            What becomes of one that cannot be decoded: an exception; None; or None and a row of the report.
        maps, unions, into
            As for `decode_one`.

        Returns
        -------
        list
            With ``errors="report"`` a pair of it and the report, as `decode` gives it.

        Raises
        ------
        DecodeError, ConfigError, TypeError
            As `decode_one`.

        Examples
        --------
        >>> from kcodec import AvroCodec
        >>> AvroCodec('"string"').decode_list([b"\x04hi", None])
        ['hi', None]
        """
        check_errors(errors)
        if into is not None:
            check_class(into)
        reader = self._readers.get((chosen(), maps, unions, into)) or self._reader_for(maps, unions, into)
        given: Any = values
        if not isinstance(values, list) and not isinstance(reader, ColumnReader):
            given = _listed([_binary(chunk) for chunk in payloads(values)[0]])
        read = partial(uncollected, reader.decode_list) if into is None else reader.decode_list
        made, faults = read(given, None, errors == "raise")
        if not faults:
            return (made, report([])) if errors == "report" else made
        if errors == "null":
            return made
        faults = self._told_of_objects(reader, faults, given)
        if errors == "raise":
            raise DecodeError(*faults[0])
        return made, report(faults)

    def encode_one(self, value: Any, *, unions: str = "members") -> bytes | None:
        r"""Encode one Python object; no column is made.

        Parameters
        ----------
        value : object
            A dict for a record, or any other mapping, a dataclass, a NamedTuple, an object of pydantic, attrs or
            msgspec; a dict or a list of pairs for a map. None stays None. Fields that are missing are at their
            defaults.
        unions : {"members", "value"}
            Whether a value of a union of several types is a dict of members, of which one is not None, or the
            value of one: it is written as the first branch whose own type it has, else as the first that takes it.

        Raises
        ------
        EncodeError
            If it cannot be encoded: a value is not of its type, does not fit it exactly, or is missing; or a key is no
            field, with the nearest that is.
        ConfigError
            If an option is not known.
        TypeError
            If the codec writes no single values.

        Examples
        --------
        >>> from kcodec import AvroCodec
        >>> codec = AvroCodec('{"type": "record", "name": "P", "fields": [{"name": "x", "type": "int"}]}')
        >>> codec.encode_one({"x": 1})
        b'\x02'
        >>> codec.encode_one({"y": 1})
        Traceback (most recent call last):
        kcodec.errors.EncodeError: unknown_field: row 0: the record has no field 'y'
        """
        return (self._writers.get((chosen(), unions)) or self._writer_for(unions)).encode_one(value)

    def encode_list(self, values: Any, errors: str = "raise", *, unions: str = "members") -> Any:
        r"""Encode a list of Python objects to a list of bytes, as `encode_one` does each.

        Parameters
        ----------
        values : iterable of objects
            What to write; None stays None.
        errors : {"raise", "null", "report"}
            What becomes of one that cannot be encoded, as in `decode_list`.
        unions : {"members", "value"}
            As for `encode_one`.

        Returns
        -------
        list of bytes or None
            With ``errors="report"`` a pair of it and the report.

        Raises
        ------
        EncodeError, ConfigError, TypeError
            As `encode_one`.

        Examples
        --------
        >>> from kcodec import AvroCodec
        >>> AvroCodec('"string"').encode_list(["hi", None])
        [b'\x04hi', None]
        """
        check_errors(errors)
        writer = self._writers.get((chosen(), unions)) or self._writer_for(unions)
        made, faults = writer.encode_list(list(values), b"", errors == "raise")
        faults = [fault._replace(reason=short_reason(fault.reason)) for fault in faults]
        if faults and errors == "raise":
            raise EncodeError(*faults[0])
        return (made, report(faults)) if errors == "report" else made

    def _writer_for(self, unions: str) -> Writer:
        writer = self._object_writer(ObjectForm.of(unions=unions))
        self._writers = {**self._writers, (chosen(), unions): writer}
        return writer

    def _reader_for(self, maps: str | None, unions: str, into: Any) -> Reader:
        form = ObjectForm.of(maps, unions, into)
        reader = self._object_reader(form)
        # Classes that are made for each call are not to fill the memory.
        kept = self._readers if len(self._readers) < _MAX_READERS else {}
        self._readers = {**kept, (chosen(), maps, unions, into): reader}
        if form == ObjectForm():
            self._usual = chosen(), reader.decode_one
        return reader

    def _told_of_objects(self, reader: Reader, faults: list[Fault], values: Sequence[Any]) -> list[Fault]:
        """Return faults with the reasons that `decode` would give."""
        if self._names_frames and not reader.told:
            array = pa.array([values[fault.row] for fault in faults], pa.large_binary())
            named = name_frames([fault._replace(row=at) for at, fault in enumerate(faults)], array)
            faults = [fault._replace(reason=told.reason) for fault, told in zip(faults, named, strict=True)]
        return [fault._replace(reason=short_reason(fault.reason)) for fault in faults]

    def select(self, fields: Sequence[str]) -> "Codec":
        r"""Return the codec that decodes nothing but some fields, dotted for those of nested records.

        It is this one if it decodes chosen fields already, or cannot leave others out.

        Examples
        --------
        >>> from kcodec import AvroCodec
        >>> field = '{"name": "%s", "type": "int"}'
        >>> codec = AvroCodec('{"type": "record", "name": "P", "fields": [%s, %s]}' % (field % "x", field % "y"))
        >>> codec.select(["y"]).decode([b"\x02\x04"]).to_pylist()
        [{'y': 2}]
        """
        if "fields" not in self._arguments or self._arguments["fields"] is not None:
            return self
        return _rebuild(type(self), {**self._arguments, "fields": field_names(fields)})

    @staticmethod
    def to_table(array: pa.Array | pa.ChunkedArray, *, drop_null: bool = False) -> pa.Table:
        """Return decoded structs as a table, a column a field.

        Fields that are never null in the schema are null in the rows of tombstones and bad values. So all columns
        of the table are nullable, which writers of files need (``Table.from_struct_array`` makes others).

        Parameters
        ----------
        array : pyarrow.StructArray or pyarrow.ChunkedArray
            What `decode` returns.
        drop_null : bool
            Whether null rows are left out.

        Raises
        ------
        TypeError
            If the rows are not structs.

        Examples
        --------
        >>> kind = pa.struct([pa.field("id", pa.int64(), nullable=False)])
        >>> Codec.to_table(pa.array([{"id": 7}, None], kind)).to_pylist()
        [{'id': 7}, {'id': None}]
        """
        if not isinstance(array, pa.Array | pa.ChunkedArray):
            raise TypeError(f"{type(array).__name__} is no Arrow column, as decode returns")
        if not pa.types.is_struct(array.type):
            raise TypeError(f"rows of {array.type} have no columns: only structs become a table")
        check_booleans(drop_null=drop_null)
        if drop_null:
            array = array.drop_null()
        fields = [field.with_nullable(True) for field in array.type]
        chunks = array.chunks if isinstance(array, pa.ChunkedArray) else [array]
        batches = [
            pa.RecordBatch.from_arrays(chunk.flatten(), schema=pa.schema(fields))
            if fields
            else pa.RecordBatch.from_struct_array(chunk)
            for chunk in chunks
        ]
        return pa.Table.from_batches(batches, schema=pa.schema(fields))

    def _identity(self) -> dict[str, Any]:
        """Return what tells the codec from others: its arguments, those that mean the same made equal."""
        return self._arguments

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Codec) or type(other) is not type(self):
            return NotImplemented
        return self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(repr(self))

    def __repr__(self) -> str:
        parameters = inspect.signature(type(self)).parameters
        shown = []
        for name, value in self._identity().items():
            if value != (Limits() if name == "limits" else parameters[name].default):
                text = str(value) if isinstance(value, pa.DataType) else repr(value)
                named = parameters[name].kind is inspect.Parameter.KEYWORD_ONLY
                shown.append(f"{name}={text}" if named else text)
        return f"{type(self).__name__}({', '.join(shown)})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self._arguments)

    def _for(self, parts: Sequence[pa.Array]) -> "Codec":
        """Return the codec that reads the parts of a column: this one, unless the rows say what they are read as."""
        return self

    def _decode(self, array: pa.Array, stop: bool) -> tuple[pa.Array, Sequence[Fault]]:
        raise TypeError(f"{type(self).__name__} does not decode")

    def _encode(self, array: pa.Array, stop: bool) -> tuple[pa.Array, Sequence[Fault]]:
        raise TypeError(f"{type(self).__name__} does not encode")

    def _object_reader(self, form: ObjectForm) -> Reader:
        """Return what reads single values: by columns, unless a format has something of its own."""
        return self._column_reader(form)

    def _column_reader(self, form: ObjectForm, unions: frozenset[int] = frozenset()) -> Reader:
        """Return what reads single values by columns, of which some are `unions`; see `kcodec.objects.shape.shape`."""
        reader = ColumnReader(self.decode, floor=self._arguments.get("round") == "truncate")
        if form == ObjectForm():
            return reader
        if self.arrow_type is None:
            raise ConfigError("maps=, unions= and into= need a schema: the codec has none of its own")
        return shaped(reader, self.arrow_type, form, unions)

    def _object_writer(self, form: ObjectForm) -> Writer:
        self._check_form(form)
        return ColumnWriter(self.encode)

    def _check_form(self, form: ObjectForm) -> None:
        """Refuse a form that only Avro has."""
        if form != ObjectForm():
            raise ConfigError(
                f"{type(self).__name__} has no maps=, unions= and into=: objects are as Arrow has them"
            )


def _binary(array: pa.Array) -> pa.Array:
    return array if is_bytes(array.type) else array.cast(pa.large_binary())


def _placed(faults: Sequence[Fault], before: int) -> Sequence[Fault]:
    """Return faults with their rows in the whole column, and with reasons that do not fill the memory."""
    if isinstance(faults, Faults):
        return faults.placed(before).told(lambda path, code, reason: (path, code, short_reason(reason)))
    return [fault._replace(row=fault.row + before, reason=short_reason(fault.reason)) for fault in faults]


def _rebuild(kind: type[Codec], arguments: dict[str, Any]) -> Codec:
    return kind(**arguments)

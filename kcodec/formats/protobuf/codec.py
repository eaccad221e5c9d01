"""Protobuf: a message type as a codec of columns."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import pyarrow as pa

from kcodec._kept import Kept
from kcodec.codec import Codec
from kcodec.columns.arrays.nested import cast_leaves
from kcodec.columns.arrays.uuids import uuid_texts
from kcodec.columns.faults import joined
from kcodec.columns.types.plain import plain_type
from kcodec.errors import DecodeError, Fault, SchemaError, check_booleans, check_choice
from kcodec.formats.protobuf.changes.compatibility import message_differences
from kcodec.formats.protobuf.conversions import Conversions
from kcodec.formats.protobuf.descriptor import MessageType
from kcodec.formats.protobuf.exported.descriptor_bytes import write_descriptor_set
from kcodec.formats.protobuf.json.reader import from_json
from kcodec.formats.protobuf.json.writer import DEFAULTS, JsonWriting, to_json
from kcodec.formats.protobuf.kernel import kernel
from kcodec.formats.protobuf.language.text import print_file
from kcodec.formats.protobuf.messages.message import read_message, write_message
from kcodec.formats.protobuf.objects.kernel import Conversion, object_reader, object_writer
from kcodec.formats.protobuf.plans.encode_plan import encode_plan
from kcodec.formats.protobuf.plans.plan import beside_writer, decode_plan
from kcodec.formats.protobuf.schema import ProtobufSchema, message_of
from kcodec.formats.protobuf.types import DEFAULT_WELL_KNOWN, Layout, ProtobufOptions
from kcodec.objects.by_columns import ColumnWriter
from kcodec.objects.form import ObjectForm
from kcodec.objects.kernel import Reader, Writer
from kcodec.plan import Limits, Plan
from kcodec.plan.failure import RowError
from kcodec.plan.programs import Programs


class ProtobufReader:
    """A message type with its columns, for payloads of any type that may be read as it.

    `types` are what an Any may hold beside the types of google.protobuf.
    """

    def __init__(
        self,
        message: MessageType,
        *,
        options: ProtobufOptions | None = None,
        limits: Limits | None = None,
        types: Mapping[str, MessageType] | None = None,
    ) -> None:
        self.message = message
        self.options = options or ProtobufOptions()
        plan, self._converted = decode_plan(message, self.options)
        self.program = Programs(plan, Limits.of(limits))
        self._conversions = Conversions(message, self.options.readings(), types or {})
        # Not pa.array, which loads pandas where that is installed.
        self.arrow_type = self._laid_out(pa.nulls(0, self._converted)).type

    @cached_property
    def given_type(self) -> pa.DataType:
        """What Python values are taken as; see `kcodec.formats.payloads.SchemaDecoder.given_type`."""
        return self._conversions.given(self.arrow_type)

    def decode(
        self,
        values: pa.Array,
        *,
        selector: Any = None,
        starts: Any = None,
        stop: bool = False,
        picked: Any = None,
    ) -> tuple[pa.Array, Sequence[Fault]]:
        """Decode an array; see `ProtobufKernel.decode`."""
        module = kernel()
        programs = [self.program.compiled(module)]
        array, faults = module.decode(
            values, programs, selector=selector, starts=starts, stop=stop, picked=picked
        )
        if stop and faults:
            return array, faults
        if array.type != self._converted:
            array, lost = self._conversions.decoded(array, self._converted, stop=stop)
            faults = sorted([*faults, *lost], key=lambda fault: fault.row)
        return self._laid_out(array), faults

    def object_reader(self, columns: Reader, form: ObjectForm) -> Reader:
        """Return what reads messages as Python objects; `columns` reads them by columns, in that form."""
        if self.options.layout is not None:
            return columns
        plan, limits = self.program.plan, self.program.limits
        conversion = Conversion(self.message, self._converted, self._conversions.object_of)
        return object_reader(plan, limits, columns, form, conversion)

    def _laid_out(self, array: pa.Array) -> pa.Array:
        layout = self.options.layout
        return array if layout is None else layout.columns(array, self.message, self.options)


class ProtobufWriter:
    """A message type that columns of any fitting type are encoded with; see `ProtobufReader`."""

    def __init__(
        self,
        message: MessageType,
        *,
        options: ProtobufOptions | None = None,
        limits: Limits | None = None,
        types: Mapping[str, MessageType] | None = None,
    ) -> None:
        self.message = message
        self.options = options or ProtobufOptions()
        self.limits = Limits.of(limits)
        self._programs: Kept[pa.DataType, Programs] = Kept()
        self._conversions = Conversions(message, self.options.readings(), types or {})

    def plan(self, kind: pa.DataType) -> Plan:
        """Plan how columns of an Arrow type are written."""
        return encode_plan(self.message, plain_type(kind, sized=False), self.options)

    def encode(
        self, array: pa.Array, *, prefix: bytes = b"", large: bool = False, stop: bool = False
    ) -> tuple[pa.Array, Sequence[Fault]]:
        """Encode one array; see `ProtobufKernel.encode`."""
        module = kernel()
        kind = plain_type(array.type, sized=False)
        if kind != array.type:
            array = uuid_texts(array, lambda: ProtobufReader(self.message, options=self.options).arrow_type)
            kind = plain_type(array.type, sized=False)
        plain = cast_leaves(array, kind)
        plain, faults = self._conversions.encoded(plain, stop=stop)
        if stop and faults:
            return plain, faults
        kind = plain.type
        program = self._programs.get(kind, lambda: Programs(self.plan(kind), self.limits)).compiled(module)
        encoded, lost = module.encode(plain, program, prefix=prefix, large=large, stop=stop)
        return encoded, joined([faults, lost])

    def object_writer(self, columns: Writer, kind: pa.DataType) -> Writer:
        """Return what writes Python objects as columns of a type are written; `columns` writes them by these."""
        plain = plain_type(kind, sized=False)
        converted, _ = self._conversions.encoded(pa.nulls(0, plain), stop=True)
        if self.options.layout is not None:
            return columns
        conversion = Conversion(self.message, plain, self._conversions.bytes_of)
        return object_writer(self.plan(converted.type), columns, conversion)


class ProtobufCodec(Codec):
    r"""Protobuf messages of one type, without a frame.

    Nothing is generated and no compiler is run: the schema is read by kcodec itself. Fields are columns of their
    declared names; which Arrow type each has is told in docs/protobuf.md.

    Parameters
    ----------
    schema : str, bytes, mapping or object
        The text of a .proto file; texts by path, of which the first is the main one and the others are imported; the
        bytes of a FileDescriptorSet; or a descriptor or generated class of google.protobuf.
    message : str or sequence of int, optional
        Which message: its name, with or without the package, or its indexes as Confluent's frames count. By default
        that of a generated class, or the first of the main file.
    reader_schema : str, bytes, mapping or object, optional
        What payloads are read as, if that is another schema: its message of the same name, or else the first. Fields
        are matched by number; what Protobuf itself allows to change is read. By default `schema`.
    large : bool
        Whether strings, binaries and lists have 64-bit offsets; without it a column holds 2 GiB at most.
    fields : sequence of str, optional
        The only fields to decode, one at least, dotted for those of messages below; the others are skipped, and not
        looked into.
    recursive_depth : int, optional
        How many levels of a message that contains itself become columns; what is deeper is skipped. By default such
        messages are refused.
    unknown_fields : {"skip", "keep"}
        Whether each message has a column ``_unknown_fields`` of the fields that the schema does not have, in
        canonical order; `encode` writes them back.
    enums : {"name", "number"}
        Whether enums are text or int32.
    unknown_enums : {"number", "error"}
        What a number is that an open enum does not name: its digits as text, or an error of its row.
    unsigned : {"wide", "native", "signed"}
        What uint32, fixed32 and uint64, fixed64 are: int64 and decimal128(20, 0); uint32 and uint64; or int32 and
        int64 of the same bits.
    absent : {"default", "null"}
        What a field without presence is that has its default: this default, or null.
    unit : {"us", "ns"}
        Unit of timestamps, durations and times of day.
    round : {"error", "truncate"}
        What becomes of a time with more digits than the unit, or out of the range of its type: an error of its row,
        or cut.
    oneofs : {"members", "case"}
        Whether each oneof has a column of the name of the member that is set, behind those of the fields.
    empty_messages : {"keep", "drop"}
        Whether messages without fields are columns: structs without fields.
    layout : object, optional
        What makes other columns of decoded messages: ``kcodec_spark.SparkLayout()`` those of Spark's own functions,
        which are nullable but for required fields, with the default that a field of proto2 declares where it is not
        set, and with a field of nulls in messages without fields.
    well_known : sequence of str
        Which groups of well-known types are columns of one value rather than structs of their fields: ``"times"``
        (Timestamp, Duration), ``"wrappers"`` (nullable values), ``"structs"`` (Struct, Value, ListValue: JSON text),
        ``"any"`` (Any as JSON text; by default a struct of type URL and bytes), ``"field_masks"`` (lists of paths),
        ``"dates"`` (google.type.Date, TimeOfDay), ``"decimals"`` (google.type.Decimal, confluent.type.Decimal: text).
    limits : Limits, optional
        What one row may cost.

    Raises
    ------
    SchemaError
        If a schema is wrong, has no such message, has no Arrow type, or cannot be read as the reader's.
    ConfigError
        If another argument is wrong.

    Examples
    --------
    >>> codec = ProtobufCodec('''
    ...     syntax = "proto3";
    ...     message Order { int64 id = 1; repeated string tags = 2; optional string note = 3; }
    ... ''')
    >>> codec.decode([b"\x08\x07\x12\x01a\x12\x01b", None]).to_pylist()
    [{'id': 7, 'tags': ['a', 'b'], 'note': None}, None]
    >>> codec.encode(pa.array([{"id": 7, "tags": ["a", "b"]}])).to_pylist()
    [b'\x08\x07\x12\x01a\x12\x01b']
    >>> codec.decode([b"\x08"], errors="report")[1].to_pylist()[0]["path"]
    'id'
    """

    _names_frames = True
    _checks_offsets = True

    def __init__(
        self,
        schema: object,
        message: str | Sequence[int] | None = None,
        reader_schema: object | None = None,
        *,
        large: bool = False,
        fields: Sequence[str] | None = None,
        recursive_depth: int | None = None,
        unknown_fields: str = "skip",
        enums: str = "name",
        unknown_enums: str = "number",
        unsigned: str = "wide",
        absent: str = "default",
        unit: str = "us",
        round: str = "error",
        oneofs: str = "members",
        empty_messages: str = "keep",
        layout: Layout | None = None,
        well_known: Sequence[str] = DEFAULT_WELL_KNOWN,
        limits: Limits | None = None,
    ) -> None:
        self._schema = ProtobufSchema.of(schema)
        self._message = self._schema.message(message_of(schema) if message is None else message)
        reading = self._schema if reader_schema is None else ProtobufSchema.of(reader_schema)
        options = ProtobufOptions(
            large=large,
            fields=fields,
            recursive_depth=recursive_depth,
            unknown_fields=unknown_fields,
            enums=enums,
            unknown_enums=unknown_enums,
            unsigned=unsigned,
            absent=absent,
            unit=unit,
            round=round,
            oneofs=oneofs,
            empty_messages=empty_messages,
            layout=layout,
            well_known=well_known,
        )
        self._arguments: dict[str, Any] = {
            "schema": self._schema,
            "message": self._message.name,
            "reader_schema": None if reader_schema is None else reading,
            **vars(options),
            "limits": Limits.of(limits),
        }
        wanted = self._message
        if reader_schema is not None:
            known = self._message.name in reading.messages
            wanted = reading.message(self._message.name if known else message_of(reader_schema))
            differences = message_differences(wanted, self._message)
            if differences:
                raise SchemaError("; ".join(f"{each.path}: {each.message}" for each in differences[:3]))
        self._reader = ProtobufReader(wanted, options=options, limits=limits, types=reading.messages)
        self._writer = ProtobufWriter(
            self._message, options=options, limits=limits, types=self._schema.messages
        )
        self.arrow_type = self._reader.arrow_type
        self._encoded_type = pa.large_binary() if large else pa.binary()

    @property
    def decode_plan(self) -> Plan:
        """The decode plan, beside the type that messages are written with; ``str`` of it is a readable tree."""
        plan = self._reader.program.plan
        return dataclasses.replace(plan, root=beside_writer(plan.root, self._reader.message, self._message))

    @property
    def schema(self) -> str:
        """The main file's text, as a registry keeps it."""
        return print_file(self._schema.main)

    @property
    def descriptor_set(self) -> bytes:
        """The schema as protoc writes it: the bytes of a FileDescriptorSet, imports included."""
        return write_descriptor_set(self._schema)

    @property
    def _given_type(self) -> pa.DataType:
        return self._reader.given_type

    def encode_plan(self, kind: pa.DataType) -> Plan:
        """Return the plan by which columns of an Arrow type are written."""
        return self._writer.plan(kind)

    def _decode(self, array: pa.Array, stop: bool) -> tuple[pa.Array, Sequence[Fault]]:
        return self._reader.decode(array, stop=stop)

    def _object_reader(self, form: ObjectForm) -> Reader:
        return self._reader.object_reader(self._column_reader(form), form)

    def _object_writer(self, form: ObjectForm) -> Writer:
        self._check_form(form)
        return self._writer.object_writer(ColumnWriter(self.encode), self.arrow_type)

    def _encode(self, array: pa.Array, stop: bool) -> tuple[pa.Array, Sequence[Fault]]:
        return self._writer.encode(array, large=self._arguments["large"], stop=stop)

    def to_json(
        self,
        data: bytes,
        *,
        indent: bool = False,
        defaults: str = "none",
        proto_names: bool = False,
        extensions: bool = False,
    ) -> str:
        """Return one message as JSON, as protobuf-java's ``JsonFormat`` prints it.

        Parameters
        ----------
        data : bytes
            The message.
        indent : bool
            Print each field in a line of its own.
        defaults : {"none", "no_presence", "all"}
            Which fields that are not set are printed: none; those without presence, and lists and maps; also the
            scalars of proto2 and editions, with the default that they declare.
        proto_names : bool
            Print names as they are declared, rather than in camel case.
        extensions : bool
            Print the extensions that the schema has, as ``[full.name]``. Else they are left out, as unknown fields
            always are.

        Raises
        ------
        DecodeError
            If the bytes are not a message, or one that JSON cannot express: a time out of its range, an Any of a
            type that neither the schema nor google.protobuf has.

        Examples
        --------
        >>> codec = ProtobufCodec('syntax = "proto3"; message Order { int64 order_id = 1; repeated string tags = 2; }')
        >>> codec.to_json(bytes.fromhex("0807120161"))
        '{"orderId":"7","tags":["a"]}'
        """
        check_choice("defaults", defaults, DEFAULTS)
        check_booleans(indent=indent, proto_names=proto_names, extensions=extensions)
        with _single():
            message = read_message(self._reader.message, bytes(memoryview(data)), extensions=extensions)
            return to_json(message, self._schema.messages, JsonWriting(indent, defaults, proto_names))

    def from_json(self, text: str | bytes, *, ignore_unknown: bool = False) -> bytes:
        """Return the bytes of a message that is given as JSON, with fields in the order of their numbers.

        Parameters
        ----------
        text : str or bytes
            The JSON, with fields in any order and under either name, extensions as ``[full.name]``. 64-bit integers
            may be numbers, numbers may be strings, ``null`` is a field that is not set.
        ignore_unknown : bool
            Pass over fields that the message does not have, and names that an enum does not have.

        Raises
        ------
        DecodeError
            If the text is not valid JSON, or not of this message.

        Examples
        --------
        >>> codec = ProtobufCodec('syntax = "proto3"; message Order { int64 order_id = 1; repeated string tags = 2; }')
        >>> codec.from_json('{"tags": ["a"], "order_id": 7}').hex()
        '0807120161'
        """
        check_booleans(ignore_unknown=ignore_unknown)
        with _single():
            data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else bytes(memoryview(text))
            message = from_json(
                data, self._reader.message, self._schema.messages, ignore_unknown=ignore_unknown
            )
            return write_message(message)


@contextmanager
def _single() -> Iterator[None]:
    """Raise the error of a single message in the form that users get."""
    try:
        yield
    except RowError as error:
        raise DecodeError(*error.fault(0)) from None

"""ksqlDB's PROTOBUF: the schemas that it registers, and any message read and written as its columns."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from kcodec._lazy import compute as pc
from kcodec.columns.arrays.nested import rebuild
from kcodec.columns.faults import refused
from kcodec.columns.rows.selection import select_rows
from kcodec.columns.types.plain import is_list
from kcodec.errors import Fault, SchemaError
from kcodec.formats.connect.from_protobuf import WRAPPED, FieldAsConnect, MessageAsConnect, oneofs_of
from kcodec.formats.payloads import SchemaDecoder, SchemaEncoder
from kcodec.formats.protobuf.codec import ProtobufReader, ProtobufWriter
from kcodec.formats.protobuf.descriptor import FieldType, MessageType
from kcodec.formats.protobuf.language.names import full_name
from kcodec.formats.protobuf.language.text import print_file
from kcodec.formats.protobuf.schema import ProtobufSchema
from kcodec.formats.protobuf.schema_format import ProtobufFormat
from kcodec.formats.protobuf.types import WELL_KNOWN, ProtobufOptions
from kcodec.formats.tagged import TaggedField
from kcodec.ksql.formats.coercion import validity
from kcodec.ksql.formats.protobuf.values import date_parts, decimal_parts, time_parts
from kcodec.ksql.formats.reading import Reading
from kcodec.ksql.formats.registered import (
    ColumnDecoder,
    ColumnsFormat,
    PayloadReader,
    read_as,
    tagged_columns,
)
from kcodec.ksql.formats.writing import (
    Change,
    ColumnEncoder,
    in_millis,
    in_utc,
    is_finer,
    micros_of,
    missing_field,
    time_of_day,
)
from kcodec.ksql.types import MAX_NESTING, RowOptions, SqlType
from kcodec.plan import Limits

if TYPE_CHECKING:
    from typing_extensions import Self

_DEFAULT = "ConnectDefault"

#: The scalars of SQL types, and the messages that wrap them.
_SCALARS = {
    "BOOLEAN": ("bool", "BoolValue"),
    "INTEGER": ("int32", "Int32Value"),
    "BIGINT": ("int64", "Int64Value"),
    "DOUBLE": ("double", "DoubleValue"),
    "STRING": ("string", "StringValue"),
    "BYTES": ("bytes", "BytesValue"),
}
#: Messages of other SQL types, and the files that have them.
_MESSAGES = {
    "DECIMAL": ("confluent.type.Decimal", "confluent/type/decimal.proto"),
    "DATE": ("google.type.Date", "google/type/date.proto"),
    "TIME": ("google.type.TimeOfDay", "google/type/timeofday.proto"),
    "TIMESTAMP": ("google.protobuf.Timestamp", "google/protobuf/timestamp.proto"),
}
_WRAPPERS = "google/protobuf/wrappers.proto"


# Schemas that are registered --------------------------------------------------------------------------


def schema_text(kind: SqlType, name: str = "", nullable: str = "") -> str:
    """Return the schema of rows: its message has a full name, or by default that of Connect.

    Columns that are nullable as ``optional`` or ``wrapper`` tell null from their default.

    >>> from kcodec.ksql.types import parse_type
    >>> print(schema_text(parse_type("STRUCT<ID INT, TAGS ARRAY<STRING>>")))
    syntax = "proto3";
    <BLANKLINE>
    message ConnectDefault1 {
      int32 ID = 1;
      repeated string TAGS = 2;
    }
    <BLANKLINE>
    """
    if kind.base != "STRUCT":
        if kind.base not in _SCALARS:
            raise SchemaError(f"Unsupported root schema of type {kind.base}")
        return _wrapper_text(kind)
    made = _Written(nullable)
    space, _, simple = name.rpartition(".")
    body = made.message(kind, simple or made.next_name())
    package = f"package {space};\n" if space else ""
    imports = "".join(f'import "{path}";\n' for path in made.imports)
    try:
        schema = ProtobufSchema.parse(f'syntax = "proto3";\n{package}{imports}{body}')
    except SchemaError as error:
        raise SchemaError(f"Invalid protobuf schema definition: {error}") from error
    return print_file(schema.main)


def _wrapper_text(kind: SqlType) -> str:
    """Return a file with the message that wraps a bare column."""
    scalar, name = _SCALARS[kind.base]
    return f'syntax = "proto3";\npackage google.protobuf;\n\nmessage {name} {{\n  {scalar} value = 1;\n}}\n'


class _Written:
    """Makes the text of messages; `imports` are the files that they need, in their order."""

    def __init__(self, nullable: str) -> None:
        self.nullable = nullable
        self.imports: dict[str, None] = {}
        self.names = 0

    def next_name(self) -> str:
        self.names += 1
        return f"{_DEFAULT}{self.names}"

    def message(self, kind: SqlType, name: str) -> str:
        return self._body(name, [(field.name, field.type) for field in kind.fields])

    def _body(self, name: str, fields: list[tuple[str, SqlType]], is_entry: bool = False) -> str:
        lines, nested = [], []
        for number, (field, kind) in enumerate(fields, 1):
            declared, below, options = self.field(field, kind, is_entry)
            lines.append(f"{declared} {field} = {number}{options};\n")
            nested += below
        return f"message {name} {{\n{''.join(lines)}{''.join(nested)}}}\n"

    def field(self, name: str, kind: SqlType, is_entry: bool) -> tuple[str, list[str], str]:
        """Write a field: its label and type, the messages that it needs, and its options."""
        label = "repeated " if kind.base in ("ARRAY", "MAP") else ""
        # Connect leaves the keys and values of maps as they are.
        if not label and self.nullable == "optional" and not is_entry:
            label = "optional "
        if kind.base == "ARRAY":
            kind = kind.parts[0]
            if kind.base == "ARRAY":
                raise SchemaError("Array cannot be nested")
        if kind.base == "MAP":
            key, item = kind.parts
            if key.base != "STRING":
                raise SchemaError(
                    "PROTOBUF format only supports MAP types with STRING keys. See "
                    "https://github.com/confluentinc/ksql/issues/6177."
                )
            entry = f"{self.next_name()}Entry"
            return label + entry, [self._body(entry, [("key", key), ("value", item)], is_entry=True)], ""
        if kind.base == "STRUCT":
            made = self.next_name()
            made += "Message" if made == name else ""
            return label + made, [self.message(kind, made)], ""
        if kind.base in _SCALARS:
            scalar, wrapper = _SCALARS[kind.base]
            if self.nullable != "wrapper":
                return label + scalar, [], ""
            self.imports[_WRAPPERS] = None
            return f"{label}google.protobuf.{wrapper}", [], ""
        made, path = _MESSAGES[kind.base]
        self.imports[path] = None
        options = ""
        if kind.base == "DECIMAL":
            params = ", ".join(
                f'{{ value: "{value}", key: "{key}" }}'
                for key, value in (("precision", kind.precision), ("scale", kind.scale))
            )
            options = f" [(confluent.field_meta) = {{ params: [{params}] }}]"
        return label + made, [], options


# Schemas that are read --------------------------------------------------------------------------------


def _wanted(found: Reading, message: MessageType, path: str) -> list[str]:
    """Return the fields to be read, with dotted names where only a part of a message is read."""
    names: list[str] = []
    oneofs = oneofs_of(message)
    for part in found.parts:
        if part.field is None or part.problem:
            continue
        if part.field in message.by_name:
            names += _below(part, message.by_name[part.field], path)
        else:
            for inner in part.parts:
                if inner.field is not None and not inner.problem:
                    names += _below(inner, message.by_name[inner.field], path)
            # Whether it is set at all is told by any of its members.
            names += [f"{path}{each.name}" for each in message.fields if each.oneof == oneofs.get(part.field)]
    return names


def _below(found: Reading, field: FieldType, path: str) -> list[str]:
    name = f"{path}{field.name}"
    inner, message = found, field.message
    while inner.kind.base in ("ARRAY", "MAP") and message is not None and not inner.problem:
        if inner.kind.base == "MAP":
            if not field.is_map:
                # The entries are messages like others.
                return [name]
            message = message.fields[1].message
        inner = inner.parts[-1]
    if message is None or _is_known(message) or (inner.kind.base != "STRUCT" and not inner.problem):
        return [name]
    # Of a message of which nothing is read it matters whether it is there.
    wanted = [] if inner.problem else _wanted(inner, message, f"{name}.")
    return wanted or _least(message, f"{name}.") or [name]


def _is_known(message: MessageType) -> bool:
    """Return whether a message may be read as one value."""
    return message.name in WELL_KNOWN["times"] or message.name in WELL_KNOWN["wrappers"]


def _least(message: MessageType, path: str) -> list[str]:
    """Return the path to the field, in a message or those within it, that is the cheapest to decode; may be empty.

    Messages in messages may be endless.
    """
    seen, below = {message.name}, [(message, path)]
    for each, before in below:
        for field in each.fields:
            if field.message is None or not field.message.fields:
                return [f"{before}{field.name}"]
        for field in each.fields:
            inner = field.message
            if inner is not None and inner.name not in seen and not inner.map_entry:
                if _is_known(inner):
                    return [f"{before}{field.name}"]
                seen.add(inner.name)
                below.append((inner, f"{before}{field.name}."))
    return []


class _MessageDecoder(SchemaDecoder):
    """Decodes those fields of a message that its columns need."""

    takes_prefix = True

    def __init__(
        self,
        schema: ProtobufSchema,
        message: MessageType,
        found: Reading,
        options: ProtobufOptions,
        limits: Limits,
    ) -> None:
        self.text = print_file(schema.main)
        names = tuple(dict.fromkeys(_wanted(found, message, "") or _least(message, "")))
        options = replace(options, fields=names or None)
        self._reader = ProtobufReader(message, options=options, limits=limits, types=schema.messages)
        self._found = found
        self.arrow_type = self._reader.arrow_type

    def program(self, writer: Any, indexes: tuple[int, ...] = ()) -> int:
        """Return 0: there is one program."""
        return 0

    def decode(self, values: pa.Array, programs: Any, *, selector: Any, starts: Any, stop: bool) -> Any:
        chosen = None if selector is None else select_rows(selector, [each is not None for each in programs])
        array, faults = self._reader.decode(values, selector=chosen, starts=starts, stop=stop)
        if stop and faults:
            return array, faults
        if self._found.kind.base != "STRUCT":
            # The message around a bare column.
            return array.flatten()[0], faults
        return _in_millis(_gathered(array, self._found, self._reader.message)), faults


def _in_millis(array: pa.Array) -> pa.Array:
    """Cut timestamps off to milliseconds, where they are finer."""
    types, kind = pa.types, array.type
    if types.is_timestamp(kind):
        micros = micros_of(array)
        if not is_finer(micros):
            return array
        return pa.Array.from_buffers(kind, len(array), [validity(array), pa.py_buffer(micros // 1000 * 1000)])
    if types.is_struct(kind):
        below = [array.field(number) for number in range(kind.num_fields)]
        parts = [_in_millis(part) for part in below]
        if all(part is old for part, old in zip(parts, below, strict=True)):
            return array
        return pa.Array.from_buffers(kind, len(array), [validity(array)], children=parts)
    if is_list(kind) or types.is_map(kind):
        given = array.values
        items = _in_millis(given)
        return array if items is given else rebuild(array, [items])
    return array


def _gathered(array: pa.Array, found: Reading, message: MessageType) -> pa.Array:
    """Put the members of oneofs into structs, as Connect has them, here and in the messages below."""
    oneofs = oneofs_of(message)
    chosen = [part for part in found.parts if part.field in oneofs and not part.problem]
    readings = {part.field: part for part in found.parts}
    readings.update({member.field: member for part in chosen for member in part.parts})
    names = [field.name for field in array.type]
    given = [array.field(number) for number in range(len(names))]
    parts = [
        _gathered_below(part, readings[name], message.by_name[name]) if name in readings else part
        for name, part in zip(names, given, strict=True)
    ]
    if not chosen and all(part is old for part, old in zip(parts, given, strict=True)):
        return array
    columns = dict(zip(names, parts, strict=True))
    for part in chosen:
        assert part.field is not None
        members = [each.name for each in message.fields if each.oneof == oneofs[part.field]]
        values = [columns[name] for name in members]
        is_set = values[0].is_valid()
        for each in values[1:]:
            is_set = pc.or_(is_set, each.is_valid())
        columns[part.field] = pa.StructArray.from_arrays(values, members, mask=pc.invert(is_set))
    mask = array.is_null() if array.null_count else None
    return pa.StructArray.from_arrays(list(columns.values()), list(columns), mask=mask)


def _gathered_below(array: pa.Array, found: Reading, field: FieldType) -> pa.Array:
    message, base = field.message, found.kind.base
    if message is None or found.problem:
        return array
    if base == "STRUCT":
        return _gathered(array, found, message)
    if base == "ARRAY":
        given = array.values
        items = _gathered_below(given, found.parts[0], field)
        return array if items is given else rebuild(array, [items])
    if base == "MAP":
        entries = array.values
        key, given = entries.field(0), entries.field(1)
        items = _gathered_below(given, found.parts[1], message.fields[1])
        return array if items is given else rebuild(array, [rebuild(entries, [key, items])])
    return array


# The format -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Layout(ProtobufOptions):
    """Messages as Connect has them: a Duration is a struct of its fields, because Connect has no type for it."""

    def readings(self) -> dict[str, str]:
        """Return which well-known types are read as something else than messages."""
        readings = super().readings()
        del readings["google.protobuf.Duration"]
        return readings


def _type_options(rows: RowOptions, wrappers: bool) -> ProtobufOptions:
    """Return how messages are laid out: times are cut off, unsigned numbers stay, all other messages are structs."""
    known = ("times", "wrappers") if wrappers else ("times",)
    return _Layout(
        large=rows.large,
        # Only what the columns name is read.
        recursive_depth=MAX_NESTING,
        unsigned="native",
        round="truncate",
        well_known=known,
    )


@dataclass(frozen=True)
class KsqlProtobufFormat(ColumnsFormat, ProtobufFormat):
    """Protobuf for the columns of a statement: its message has the full name `record`, or that of Connect."""

    rows: RowOptions | None = None
    record: str = ""
    nullable: str = ""
    unwraps: bool = True

    @property
    def _own(self) -> str | None:
        """The name of the message; a name that Connect makes up counts as none."""
        return None if self.record.startswith(_DEFAULT) else self.record or None

    @property
    def _wrappers(self) -> bool:
        """Whether messages that wrap a scalar are that scalar, also in fields."""
        return self.unwraps or self.nullable == "wrapper"

    def text(self) -> str:
        """Return the schema that is registered."""
        return schema_text(self._rows.kind, self._own or "", self.nullable)

    def definitions(self, schema: ProtobufSchema) -> list[str]:
        """Return the names of the messages at the top of the main file."""
        package = schema.main.package
        return [full_name(package, each.name) for each in schema.main.messages]

    def source(self, schema: ProtobufSchema) -> Any:
        """Return the chosen message, or the first, in Connect's types."""
        return self._source(schema.message(self._own))

    def _source(self, message: MessageType) -> Any:
        if self.unwraps and message.name in WRAPPED:
            return FieldAsConnect(message.fields[0], self._wrappers)
        return MessageAsConnect(message, self._wrappers)

    def reading(self, schema: Any, first: Any) -> "Self":
        """Return the format itself: payloads are of any message."""
        return self

    def tagged_fields(
        self, schema: ProtobufSchema, ruled: ProtobufSchema, kind: pa.DataType, options: Any
    ) -> Sequence[TaggedField]:
        """Return the fields of a writer's schema by its names, where the columns have them."""
        return tagged_columns(ProtobufFormat(messages=(self._own,) if self._own else ()), ruled, kind)

    def decoder(self, schema: ProtobufSchema, options: Any, limits: Limits) -> SchemaDecoder:
        """Return what reads payloads of any message as the columns."""
        rows = self._rows
        inner = _type_options(rows, self._wrappers)

        def make(writer: ProtobufSchema, indexes: tuple[int, ...]) -> PayloadReader:
            message = writer.message(indexes)
            found = read_as(rows, self._source(message))
            decoder = _MessageDecoder(writer, message, found, inner, limits)
            # Of messages with other numbers nothing is alike.
            return PayloadReader(f"{message.name} {print_file(writer.main)} {found}", found, decoder, 0)

        return ColumnDecoder(print_file(schema.main), rows, make)

    def encoder(self, schema: ProtobufSchema, given: Any, options: Any, limits: Limits) -> SchemaEncoder:
        """Return what writes the columns as a message of a schema, their own or one that was chosen by its id."""
        message = schema.message(self._own)
        return _Encoder(self._rows, schema, message, self._wrappers, limits)


class _Encoder(ColumnEncoder):
    """The columns as a message; a bare one stands in the only field of a wrapper."""

    def __init__(
        self, rows: RowOptions, schema: ProtobufSchema, message: MessageType, wrappers: bool, limits: Limits
    ) -> None:
        self.indexes = tuple(schema.indexes(message.name))
        self._writer = ProtobufWriter(
            message, options=_type_options(rows, wrappers), limits=limits, types=schema.messages
        )
        is_bare = rows.kind.base != "STRUCT"
        target = _Target(message.fields[0].message if is_bare else message, rows.floor)
        for field in rows.kind.fields:
            target.field(field.name)
        super().__init__(rows.kind, target, self._bare if is_bare else self._writer.encode)

    def _bare(self, array: pa.Array, **how: Any) -> tuple[pa.Array, Sequence[Fault]]:
        mask = array.is_null() if array.null_count else None
        return self._writer.encode(pa.StructArray.from_arrays([array], ["value"], mask=mask), **how)


class _Target:
    """A message that columns are written as, or None for scalars; see `kcodec.ksql.formats.writing.WrittenType`."""

    is_union = False

    def __init__(
        self, message: MessageType | None, floor: bool, is_map: bool = False, is_unsigned: bool = False
    ) -> None:
        self._message = message
        self._floor = floor
        self.is_record = message is not None
        self.is_map = is_map
        self._is_unsigned = is_unsigned

    @property
    def item(self) -> "_Target":
        """The items of a repeated field."""
        return self

    @property
    def entry(self) -> "tuple[_Target, _Target] | None":
        return None if self._message is None else (self.field("key")[1], self.field("value")[1])

    def field(self, column: str) -> "tuple[str, _Target]":
        """Return the name and the type of a column's field."""
        if self._message is None:
            raise missing_field(column)
        oneofs = oneofs_of(self._message)
        if column in oneofs:
            return column, _Members(self._message, self._floor, oneofs[column])
        field = self._message.by_name.get(column)
        if field is None:
            raise missing_field(column)
        message, scalar = field.message, field.type
        if message is not None and message.name in WRAPPED:
            scalar = message.fields[0].type
        return column, _Target(message, self._floor, field.is_map, scalar in ("uint64", "fixed64"))

    def leaf(self, kind: SqlType, given: pa.DataType) -> Change | None:
        """Return what is done to values of a simple type."""
        changes: list[Change] = []
        if kind.base == "BIGINT" and self._is_unsigned and pa.types.is_signed_integer(given):
            changes.append(_unsigned)
        if kind.base in ("TIME", "TIMESTAMP") and not pa.types.is_integer(given):
            changes.append(partial(in_millis, floor=self._floor))
        if kind.base == "TIME":
            changes.append(time_of_day)
        if kind.base == "TIMESTAMP" and given.tz is None:
            changes.append(in_utc)
        if kind.base in _PARTS:
            changes.append(_PARTS[kind.base])
        return partial(_all, changes) if changes else None

    def default(self, kind: SqlType) -> None:
        """Return nothing: a null is not written."""


class _Members(_Target):
    is_union = True

    def __init__(self, message: MessageType, floor: bool, oneof: str) -> None:
        super().__init__(message, floor)
        self._names = {each.name for each in message.fields if each.oneof == oneof}

    def field(self, column: str) -> "tuple[str, _Target]":
        """Return the name and the type of a member."""
        if column not in self._names:
            raise missing_field(column)
        return super().field(column)


def _unsigned(array: pa.Array) -> tuple[pa.Array, list[Fault]]:
    """Return integers as the unsigned ones of the same bits, as which they are read."""
    return array.cast(pa.int64()).view(pa.uint64()), []


def _dates(array: pa.Array) -> tuple[pa.Array, list[Fault]]:
    parts, bad = date_parts(array.cast(pa.date32()))
    return parts, refused(bad)


_PARTS: dict[str, Change] = {
    "DATE": _dates,
    "TIME": lambda array: (time_parts(array), []),
    "DECIMAL": lambda array: (decimal_parts(array), []),
}


def _all(changes: list[Change], array: pa.Array) -> tuple[pa.Array, list[Fault]]:
    """Make one change after the other; where one has lost a value, the next one finds null."""
    faults: list[Fault] = []
    for change in changes:
        array, lost = change(array)
        faults += lost
    return array, faults


# Without a registry -----------------------------------------------------------------------------------


class ProtobufRows:
    """ksqlDB's PROTOBUF_NOSR: messages of the columns alone, which both sides know from them."""

    plan = None

    def __init__(self, options: RowOptions) -> None:
        nullable = options.properties.get("nullableRepresentation", "")
        self.text = schema_text(options.kind, nullable=nullable)
        self._options = options
        schema = ProtobufSchema.parse(self.text)
        known = KsqlProtobufFormat(rows=options, nullable=nullable)
        self._decoder = known.decoder(schema, None, options.limits)
        self._reader = self._decoder.program(schema, (0,))
        self._encoder = known.encoder(schema, None, None, options.limits)
        self.arrow_type = self._decoder.arrow_type

    def decode(self, array: pa.Array, stop: bool) -> tuple[pa.Array, Sequence[Fault]]:
        """Read an array of payloads."""
        return self._decoder.decode(array, [self._reader], selector=None, starts=None, stop=stop)

    def encode(self, array: pa.Array, stop: bool) -> tuple[pa.Array, Sequence[Fault]]:
        """Write an array."""
        return self._encoder.encode(array, prefix=b"", large=self._options.large, stop=stop)

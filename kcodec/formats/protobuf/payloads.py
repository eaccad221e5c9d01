"""Payloads behind Confluent's frame: of one message, or of several side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from kcodec._lazy import compute as pc
from kcodec.columns.faults import joined, null_rows
from kcodec.columns.rows.partition import partition
from kcodec.columns.rows.selection import select_rows
from kcodec.errors import Fault, SchemaError
from kcodec.formats.payloads import SchemaDecoder, SchemaEncoder
from kcodec.formats.protobuf.changes.compatibility import message_differences
from kcodec.formats.protobuf.codec import ProtobufReader, ProtobufWriter
from kcodec.formats.protobuf.descriptor import MessageType
from kcodec.formats.protobuf.language.text import print_file
from kcodec.formats.protobuf.schema import ProtobufSchema
from kcodec.formats.protobuf.types import ProtobufOptions
from kcodec.objects.form import ObjectForm
from kcodec.objects.kernel import Reader, Writer
from kcodec.objects.shape import shaped
from kcodec.plan import Limits


class MessageDecoder(SchemaDecoder):
    """A reader's message; payloads of other messages are not read, unless `any_message` says so.

    A program is the number of a message, here always 0.
    """

    takes_prefix = True

    def __init__(
        self,
        schema: ProtobufSchema,
        name: str | None,
        options: ProtobufOptions,
        limits: Limits,
        *,
        any_message: bool = False,
    ) -> None:
        self.text = schema.main.text or print_file(schema.main)
        self._reader = ProtobufReader(
            schema.message(name), options=options, limits=limits, types=schema.messages
        )
        self.arrow_type = self._reader.arrow_type
        self._any = any_message

    @property
    def given_type(self) -> pa.DataType:
        """The type of the message, by which decimals are given as numbers, too."""
        return self._reader.given_type

    def program(self, writer: ProtobufSchema, indexes: tuple[int, ...] = ()) -> int:
        """Check that the message of a payload can be read."""
        message = self._reader.message
        if self._any:
            return 0
        written = writer.message(indexes)
        if written.name != message.name:
            raise SchemaError(
                f"values of the message {written.name} are not read as {message.name}: message= chooses, and "
                "protobuf.any.message reads any"
            )
        _check(message, written)
        return 0

    def decode(
        self, values: pa.Array, programs: Sequence[Any], *, selector: Any, starts: Any, stop: bool
    ) -> tuple[pa.Array, Sequence[Fault]]:
        """Decode an array, of which all rows that are read at all are of the one message."""
        chosen = select_rows(selector, [program == 0 for program in programs])
        return self._reader.decode(values, selector=chosen, starts=starts, stop=stop)

    def object_reader(self, program: Any, form: ObjectForm) -> Reader | None:
        """Return what reads messages as Python objects."""
        floor = self._reader.options.round == "truncate"
        columns = shaped(self.array_reader(program, floor=floor), self.arrow_type, form)
        return self._reader.object_reader(columns, form)


class StructDecoder(SchemaDecoder):
    """Several messages: a struct with a column for each, of which one is not null."""

    def __init__(
        self, schema: ProtobufSchema, names: Sequence[str], options: ProtobufOptions, limits: Limits
    ) -> None:
        self.text = schema.main.text or print_file(schema.main)
        self._readers = {
            message.name: ProtobufReader(message, options=options, limits=limits, types=schema.messages)
            for message in map(schema.message, names)
        }
        self.arrow_type = pa.struct([(name, each.arrow_type) for name, each in self._readers.items()])

    @property
    def given_type(self) -> pa.DataType:
        """The types of the messages, by which decimals are given as numbers, too."""
        return pa.struct([(name, each.given_type) for name, each in self._readers.items()])

    def program(self, writer: ProtobufSchema, indexes: tuple[int, ...] = ()) -> int:
        """Return the number of the column that the message of a payload belongs to."""
        written = writer.message(indexes)
        if written.name not in self._readers:
            raise SchemaError(f"the message {written.name} is not one of {', '.join(self._readers)}")
        _check(self._readers[written.name].message, written)
        return list(self._readers).index(written.name)

    def decode(
        self, values: pa.Array, programs: Sequence[Any], *, selector: Any, starts: Any, stop: bool
    ) -> tuple[pa.Array, Sequence[Fault]]:
        """Decode the rows of each message by themselves."""
        columns: list[pa.Array] = []
        parts: list[Sequence[Fault]] = []
        readers = list(self._readers.values())
        numbers = [-1 if program is None else program for program in programs]
        picked = partition(selector, numbers, len(readers)) if len({*numbers} - {-1}) > 1 else None
        for number, reader in enumerate(readers):
            column: pa.Array | None = None
            if picked is not None and picked[number]:
                column, bad = reader.decode(values, starts=starts, stop=stop, picked=picked[number])
                parts.append(bad)
            elif picked is None and number in numbers:
                chosen = select_rows(selector, [each == number for each in numbers])
                column, bad = reader.decode(values, selector=chosen, starts=starts, stop=stop)
                parts.append(bad)
            columns.append(null_rows(len(values), reader.arrow_type) if column is None else column)
        faults = joined(parts)
        if stop and faults:
            return pa.nulls(len(values), self.arrow_type), faults[:1]
        missing = None
        if sum(len(values) - column.null_count for column in columns) < len(values):
            missing = pc.is_null(columns[0])
            for column in columns[1:]:
                missing = pc.and_(missing, pc.is_null(column))
        array = pa.StructArray.from_arrays(columns, fields=list(self.arrow_type), mask=missing)
        return array, faults


class MessageEncoder(SchemaEncoder):
    """A message that columns are written as, and its place in a schema's text."""

    checks_offsets = True

    def __init__(
        self,
        schema: ProtobufSchema,
        name: str | None,
        indexes: Sequence[int],
        options: ProtobufOptions,
        limits: Limits,
    ) -> None:
        self.indexes = tuple(indexes)
        self._writer = ProtobufWriter(
            schema.message(name), options=options, limits=limits, types=schema.messages
        )

    def encode(
        self, array: pa.Array, *, prefix: bytes, large: bool, stop: bool
    ) -> tuple[pa.Array, Sequence[Fault]]:
        """Encode an array; columns are matched with fields by name."""
        return self._writer.encode(array, prefix=prefix, large=large, stop=stop)

    def object_writer(
        self, form: ObjectForm, columns: Writer, kind: Callable[[], pa.DataType | None]
    ) -> Writer | None:
        """Return what writes Python objects; None for a form that messages do not have."""
        found = kind() if form == ObjectForm() else None
        return None if found is None else self._writer.object_writer(columns, found)


def _check(reader: MessageType, writer: MessageType) -> None:
    found = message_differences(reader, writer)
    if found:
        first = found[0]
        raise SchemaError(f"{writer.name} cannot be read: {first.type} at {first.path}: {first.message}")

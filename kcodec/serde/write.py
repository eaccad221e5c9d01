"""Columns to framed values: the schemas that they are written with, and what writes them."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import pyarrow as pa

from kcodec._kept import Kept
from kcodec.codec import Run, Step, name_rounding
from kcodec.columns.arrays.given import arrays, sound, valid
from kcodec.columns.arrays.nested import cast_unpacked, unpack
from kcodec.columns.arrays.uuids import uuid_texts
from kcodec.columns.faults import Faults, schema_ids
from kcodec.columns.framed.frames import frame_prefix
from kcodec.columns.framed.packed import packed
from kcodec.columns.types.exact import ExactType
from kcodec.columns.types.plain import plain_type
from kcodec.contracts.encryption import Ruled, closed_columns, encrypt_fields, without_rows
from kcodec.errors import EncodeError, Fault
from kcodec.formats.payloads import SchemaEncoder
from kcodec.formats.tagged import TaggedField
from kcodec.frames import key_of, key_text
from kcodec.objects.form import ObjectForm
from kcodec.objects.kernel import Writer
from kcodec.plan import Limits
from kcodec.registry.base import Schema
from kcodec.serde.choose import Chosen, choose
from kcodec.serde.frames import Headers, delimited, name_in
from kcodec.serde.payloads import closed
from kcodec.serde.rules import writing_rules
from kcodec.serde.topic import Given, SchemaTexts, TopicSchemas
from kcodec.serde.turns import Turns

#: What stands for records of any fields.
_RECORD = pa.struct([])


class FramedWriter:
    """What writes the columns of a serde.

    It pickles with the choices that it has made, and then makes no request for the same schemas. Without a schema,
    that of a column is derived from its type.
    """

    def __init__(self, topic: TopicSchemas, schema: Given | None, options: Any, limits: Limits) -> None:
        self._topic = topic
        self._schema = schema
        self._options = options
        self._limits = limits
        self._targets: Kept[Given, Chosen] = Kept()
        self._start()

    def _start(self) -> None:
        """Make the parts that are not pickled."""
        # Of threads that come at once with a new schema, one asks the registry.
        self._turns = Turns()
        self._encoders: Kept[tuple[SchemaTexts, SchemaTexts | None], SchemaEncoder] = Kept()
        self._derived: Kept[ExactType, Given] = Kept()
        self._types: Kept[SchemaTexts, pa.DataType | None] = Kept()

    def __getstate__(self) -> dict[str, Any]:
        return {
            name: value
            for name, value in self.__dict__.items()
            if name not in ("_turns", "_encoders", "_derived", "_types")
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._start()

    def write(self, array: Any, run: Run) -> tuple[Any, Headers]:
        """Write a column; also return the headers that name its schema, unless a prefix does or all rows are null."""
        target, kind = self._listed(array) if isinstance(array, (list, tuple)) else (None, None)
        parts, chunked = run.parts(arrays(array, kind, check=valid))
        step: Step = self._nulls
        headers: Headers = ()
        if not all(map(self._topic.format.writes_nulls, parts)):
            step, headers = self.step(parts[0].type, target)
        text_ids = self._topic.frame.has_text_ids
        return run.result(step, parts, chunked, self.encoded_type, EncodeError, text_ids=text_ids), headers

    @property
    def encoded_type(self) -> pa.DataType:
        """The type of framed values."""
        return pa.large_binary() if self._topic.format.is_large(self._options) else pa.binary()

    def choose(self, kind: pa.DataType) -> Chosen:
        """Choose the schema that a column of a type is written with; it is asked for once.

        Of a column whose schema a setting chooses, its own only names the subject, if anything of it does: of a
        record, which fields it has does not count.
        """
        if self._is_chosen and pa.types.is_struct(kind):
            kind = _RECORD
        with self._turns.lock:
            schema = self._schema or self._derive(kind)
            return self._targets.get(
                schema, lambda: self._turns.ask(partial(choose, self._topic, schema, self._schema is None))
            )

    def step(self, kind: pa.DataType, target: Chosen | None = None) -> tuple[Step, Headers]:
        """Return what writes arrays of a type, registered if need be, and the headers of its values."""
        target = target or self.choose(kind)
        with self._turns.lock:
            encoder = self._encoder(target)
        large = self._topic.format.is_large(self._options)
        topic, frame = self._topic, self._topic.frame
        prefix = self._framed(target, encoder)
        headers: Headers = ()
        if topic.config.header_out:
            prefix, headers = b"", ((topic.header, prefix),)
        if topic.message_header:
            ref = topic.format.message_name(topic.parsed(target.schema), encoder.indexes)
            prefix, headers = delimited(ref), (*headers, (topic.message_header, name_in(ref)))
        schema_id = self._told_id(target)
        ruled = self._ruled(target, kind, encoder.indexes)

        def own() -> pa.DataType:
            found = self._type_of(target.schema if target.given is None else target.given)
            return pa.null() if found is None else found

        def step(chunk: pa.Array, stop: bool) -> tuple[pa.Array, Sequence[Fault]]:
            if ruled is not None:
                chunk = uuid_texts(chunk, own)
                encoded, faults = self._encrypted(chunk, ruled, encoder, prefix, large, stop)
            else:
                chunk = chunk if encoder.checks_offsets else sound(chunk)
                encoded, faults = encoder.encode(chunk, prefix=prefix, large=large, stop=stop)
            if frame.compression == "zlib":
                encoded = packed(encoded, frame)
            if not faults:
                return encoded, []
            named = Faults.of(name_rounding(faults, chunk.type))
            return encoded, named.with_ids(schema_ids([schema_id] * len(named)))

        return step, headers

    def object_writer(
        self, form: ObjectForm, columns: Writer
    ) -> tuple[Writer, bytes, int | str | None] | None:
        """Return what writes Python objects, behind which prefix, and their schema id; see `SchemaEncoder`.

        None if only columns are written: without a schema, or if values are converted to another.
        """
        if self._schema is None and not self._is_chosen:
            return None
        # The schema that is given, or that a setting chooses, is chosen for columns of any type.
        target = self.choose(pa.null() if self._schema is not None else _RECORD)
        if target.ruled is not None and self._topic.contract(target.ruled, "WRITE") is not None:
            return None
        with self._turns.lock:
            encoder = self._encoder(target)
        given_type = self.given_type if self._schema is not None else lambda: self._type_of(target.schema)
        writer = encoder.object_writer(form, columns, given_type)
        # What is compressed is written as a column.
        if writer is None or self._topic.frame.compression == "zlib":
            return None
        return writer, self._framed(target, encoder), self._told_id(target)

    def _ruled(self, target: Chosen, kind: pa.DataType, indexes: tuple[int, ...]) -> Ruled | None:
        """Return what the rules of the chosen schema do with the columns of a type."""
        topic = self._topic
        contract = None if target.ruled is None else topic.contract(target.ruled, "WRITE")
        if contract is None:
            return None
        if contract.by_row:
            return Ruled(contract, rows=writing_rules(topic, contract, target.schema, indexes))
        fields: Sequence[TaggedField] = ()
        wrong = None
        if contract.fields:
            kind, schema = plain_type(kind), topic.parsed(target.schema)
            given = schema if target.given is None else topic.parsed(target.given)
            fields = topic.format.tagged_fields(given, schema, kind, self._options)
            reading = topic.format.reading(given, None) or topic.format
            own = reading.decoder(given, self._options, self._limits).arrow_type
            every = reading.tagged_fields(given, schema, own, self._options)
            reason = closed_columns(contract, every, kind)
            wrong = ("encryption", reason) if reason else None
        return Ruled(contract, tuple(fields), wrong)

    def _encrypted(
        self, array: pa.Array, ruled: Ruled, encoder: SchemaEncoder, prefix: bytes, large: bool, stop: bool
    ) -> tuple[pa.Array, Sequence[Fault]]:
        """Write an array with encrypted fields, as payloads that rules change if they say so."""
        array = unpack(array)
        array, faults = encrypt_fields(cast_unpacked(array, plain_type(array.type)), ruled, self._topic.ring)
        array = without_rows(array, faults)
        is_closed = bool(ruled.contract.payload) or ruled.rows is not None
        front = b"" if is_closed else prefix
        encoded, unwritten = encoder.encode(array, prefix=front, large=large, stop=False)
        faults = [*faults, *unwritten]
        if is_closed:
            encoded, refused = closed(encoded, ruled, self._topic.ring, prefix)
            faults += refused
        faults.sort(key=lambda fault: fault.row)
        return encoded, faults[:1] if stop else faults

    def _framed(self, target: Chosen, encoder: SchemaEncoder) -> bytes:
        """Return what names the schema of values, in front of them or in their header."""
        topic = self._topic
        named = topic.message_name(topic.parsed(target.schema), encoder.indexes)
        return frame_prefix(self._key(target), named, topic.index_kind, topic.frame)

    def _key(self, target: Chosen) -> int | bytes:
        """Return the id of a schema, as the frame has it."""
        topic, frame = self._topic, self._topic.frame
        if frame.id_type == "fingerprint":
            return topic.fingerprint(target.schema)
        if frame.has_text_ids:
            return key_of(target.guid, frame.id_size)
        if frame.layout is None and topic.config.header_out:
            return key_of(target.guid)
        return target.schema_id or 0

    def _told_id(self, target: Chosen) -> int | str | None:
        return key_text(self._key(target)) if self._topic.frame.has_text_ids else target.schema_id

    def _nulls(self, chunk: pa.Array, stop: bool) -> tuple[pa.Array, list[Fault]]:
        return pa.nulls(len(chunk), self.encoded_type), []

    def derived_subject(self, kind: pa.DataType) -> str | None:
        """Return the subject that a column's schema is registered under if it is derived; None if it is not."""
        if self._schema is not None or not self._topic.config.registers:
            return None
        return self._topic.subject(self._derive(kind).schema)

    def _derive(self, kind: pa.DataType) -> Given:
        language = self._topic.format
        # A mark of a field may make another schema of a type that is equal.
        return self._derived.get(
            ExactType(kind), lambda: Given(Schema(language.derived_text(kind), language.type))
        )

    def given_type(self) -> pa.DataType | None:
        """Return the type of the values of the schema that is given, if one is."""
        if self._schema is None:
            return None
        return self._type_of(self._topic.given_texts(self._schema))

    def _listed(self, values: Sequence[Any]) -> tuple[Chosen | None, pa.DataType | None]:
        """Return the type that the values of a list are of, and what they are written as, where that says their type.

        Neither is told where it is what the values look like.
        """
        if self._schema is not None:
            return None, self.given_type()
        first = next((value for value in values if value is not None), None)
        if first is None or not self._is_chosen:
            return None, None
        is_record = isinstance(first, Mapping)
        target = self.choose(_RECORD if is_record else arrays([first], None, check=valid)[0][0].type)
        return target, self._type_of(target.schema)

    @property
    def _is_chosen(self) -> bool:
        """Whether a setting says what is written, without a schema to compare it with."""
        topic, config = self._topic, self._topic.config
        is_set = topic.has_registry and config.chooses is not None and not config.registers
        return is_set and self._schema is None

    def _type_of(self, texts: SchemaTexts) -> pa.DataType | None:
        """Return the type of the values of a schema; None if it has no columns."""
        return self._types.get(texts, lambda: self._read_type(texts))

    def _read_type(self, texts: SchemaTexts) -> pa.DataType | None:
        topic = self._topic
        parsed = topic.parsed(texts)
        reading = topic.format.reading(parsed, None)
        names = topic.format.message_names(parsed)
        if reading is None and names:
            # What is written is the first of several messages.
            reading = topic.format.of_message(names[0])
        return None if reading is None else reading.decoder(parsed, self._options, self._limits).given_type

    def _encoder(self, target: Chosen) -> SchemaEncoder:
        topic = self._topic

        def make() -> SchemaEncoder:
            given = None if target.given is None else topic.parsed(target.given)
            return topic.format.encoder(topic.parsed(target.schema), given, self._options, self._limits)

        return self._encoders.get((target.schema, target.given), make)

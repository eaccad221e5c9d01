"""Payloads behind Confluent's frame: documents, validated where that is asked for."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from kcodec._lazy import compute as pc
from kcodec.columns.arrays.nested import members, unpack
from kcodec.columns.rows.selection import mapped_rows, select_rows
from kcodec.columns.types.plain import is_text
from kcodec.errors import Fault
from kcodec.formats.json.node import JsonNode
from kcodec.formats.json.plan import union_columns
from kcodec.formats.json_schema.codec import JsonSchemaReader, JsonSchemaWriter
from kcodec.formats.json_schema.indentation import indented
from kcodec.formats.json_schema.schema import JsonSchema
from kcodec.formats.json_schema.shape import shape_of
from kcodec.formats.json_schema.texts import changed_texts
from kcodec.formats.json_schema.types import JsonSchemaOptions
from kcodec.formats.json_schema.valid_nulls import encode_valid
from kcodec.formats.json_schema.valid_objects import ValidReader, ValidWriter
from kcodec.formats.json_schema.validation import Validator, validated
from kcodec.formats.json_schema.written import has_logical_types, written_as
from kcodec.formats.payloads import SchemaDecoder, SchemaEncoder
from kcodec.java.jackson import JacksonError, read_tree, write_tree
from kcodec.objects.form import ObjectForm
from kcodec.objects.kernel import Reader, Writer
from kcodec.objects.shape import shaped
from kcodec.plan import Limits
from kcodec.plan.programs import Programs


class _Program(NamedTuple):
    """What is particular to the documents of a writer's schema; None where nothing is."""

    #: What validates them.
    validator: Validator | None = None
    #: What reads them, where Connect's logical types in it are others than the reader's.
    programs: Programs | None = None


class DocumentDecoder(SchemaDecoder):
    """A schema that documents of any other are read as."""

    takes_prefix = True

    def __init__(
        self,
        schema: JsonSchema,
        options: JsonSchemaOptions,
        limits: Limits,
        *,
        validate: bool,
        by_reader: bool,
    ) -> None:
        self.text = write_tree(schema.document)
        self._schema = schema
        shape = shape_of(schema.documents, options.recursive_depth)
        self._reader = JsonSchemaReader(shape, options=options, limits=limits)
        self.arrow_type = self._reader.arrow_type
        self._recursive_depth = options.recursive_depth
        self._is_logical = has_logical_types(shape)
        #: Programs of other logical types than the reader's, by their plans.
        self._programs: dict[JsonNode, Programs] = {}
        self._validates = validate
        self._by_reader = by_reader

    def program(self, writer: JsonSchema, indexes: tuple[int, ...] = ()) -> _Program:
        """Return what validates and what reads the documents of a schema."""
        validator = programs = None
        if self._validates:
            validator = Validator((self._schema if self._by_reader else writer).documents)
        if self._is_logical and writer is not self._schema:
            shape = written_as(self._reader.shape, shape_of(writer.documents, self._recursive_depth))
            if shape is not self._reader.shape:
                made = self._reader.program_of(shape)
                programs = self._programs.setdefault(made.plan.root, made)
        return _Program(validator, programs)

    def decode(
        self, values: pa.Array, programs: Sequence[Any], *, selector: Any, starts: Any, stop: bool
    ) -> tuple[pa.Array, Sequence[Fault]]:
        """Decode an array, of which most rows are read alike."""
        ways: dict[Programs, int] = {}
        numbers: list[int] = []
        for program in programs:
            if program is None:
                numbers.append(-1)
                continue
            numbers.append(ways.setdefault(program.programs or self._reader.program, len(ways)))
        several = len(ways) > 1
        chosen = (
            mapped_rows(selector, numbers) if several else select_rows(selector, [n == 0 for n in numbers])
        )
        array, faults = self._reader.decode(
            values,
            programs=[*ways],
            selector=chosen,
            starts=starts,
            stop=stop and not self._validates,
        )
        if self._validates:
            validators = [None if program is None else program.validator for program in programs]
            array, faults = validated(array, faults, values, validators, selector, starts)
        return array, faults[:1] if stop else faults

    def object_reader(self, program: Any, form: ObjectForm) -> Reader | None:
        """Return what reads documents as Python objects."""
        plan = (program.programs or self._reader.program).plan
        columns = self.array_reader(program, floor=self._reader.options.round == "truncate")
        columns = shaped(columns, self.arrow_type, form, union_columns(plan.root))
        reader = self._reader.object_reader(columns, form, program.programs)
        return reader if program.validator is None else ValidReader(reader, program.validator, columns)


class DocumentEncoder(SchemaEncoder):
    """A schema that columns are written with."""

    checks_offsets = True

    def __init__(
        self,
        schema: JsonSchema,
        options: JsonSchemaOptions,
        limits: Limits,
        *,
        validate: bool,
        envelope: bool,
        indent: bool,
    ) -> None:
        shape = shape_of(schema.documents, options.recursive_depth)
        self._writer = JsonSchemaWriter(shape, options=options, limits=limits)
        self._validator = Validator(schema.documents) if validate else None
        self._envelope = envelope
        self._indent = indent

    def encode(
        self, array: pa.Array, *, prefix: bytes, large: bool, stop: bool
    ) -> tuple[pa.Array, Sequence[Fault]]:
        """Encode an array; an envelope's payload alone, where envelopes are looked for."""
        if self._envelope:
            array = unwrapped(array)
        if self._validator is None and not self._indent:
            return self._writer.encode(array, prefix=prefix, large=large, stop=stop)
        if self._validator is None:
            encoded, faults = self._writer.encode(array, large=large)
        else:
            encoded, faults = encode_valid(self._writer, array, self._validator, large=large)
            faults = [fault._replace(offset=None) for fault in faults]
        if self._indent:
            encoded = changed_texts(encoded, indented)
        if prefix:
            kind = encoded.type
            encoded = pc.binary_join_element_wise(pa.scalar(prefix, kind), encoded, pa.scalar(b"", kind))
        return encoded, faults[:1] if stop else faults

    def object_writer(
        self, form: ObjectForm, columns: Writer, kind: Callable[[], pa.DataType | None]
    ) -> Writer | None:
        """Return what writes Python objects; None where documents are changed once they are written."""
        if form != ObjectForm() or self._envelope or self._indent:
            return None
        found = kind()
        if found is None:
            return None
        writer = self._writer.object_writer(columns, found)
        return writer if self._validator is None else ValidWriter(writer, self._validator, columns)


def unwrapped(array: pa.Array) -> pa.Array:
    """Return what Confluent's serializer takes for the value where one has a key ``schema``: its key ``payload``."""
    array = unpack(array)
    kind = array.type
    if pa.types.is_struct(kind) and kind.get_field_index("schema") >= 0:
        place = kind.get_field_index("payload")
        return members(array)[place] if place >= 0 else pa.nulls(len(array))
    if is_text(kind):
        return changed_texts(array, _payload)
    return array


def _payload(text: bytes) -> bytes | None:
    try:
        tree = read_tree(text, whole=True)
    except JacksonError:
        return text
    if not isinstance(tree, dict) or "schema" not in tree:
        return text
    return write_tree(tree["payload"], escape_surrogates=True).encode() if "payload" in tree else None

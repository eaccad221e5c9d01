"""Documents of JSON Schemas to columns and back."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from kcodec._kept import Kept
from kcodec.codec import Codec
from kcodec.columns.arrays.nested import cast_leaves
from kcodec.columns.arrays.uuids import uuid_texts
from kcodec.columns.types.exact import ExactType
from kcodec.errors import ConfigError, Fault, check_booleans
from kcodec.formats.json.kernel import kernel
from kcodec.formats.json.objects.kernel import object_reader, object_writer
from kcodec.formats.json.plan import decodable, union_columns
from kcodec.formats.json_schema.document import schema_text
from kcodec.formats.json_schema.odd_rows import Rereading
from kcodec.formats.json_schema.plan import decode_plan, encode_plan, encoded_type
from kcodec.formats.json_schema.schema import parse
from kcodec.formats.json_schema.shape import Shape, shape_of
from kcodec.formats.json_schema.texts import holds_text, rewrite_texts
from kcodec.formats.json_schema.types import JsonSchemaOptions, arrow_type, chosen_type
from kcodec.formats.json_schema.valid_nulls import encode_valid
from kcodec.formats.json_schema.valid_objects import ValidReader, ValidWriter
from kcodec.formats.json_schema.validation import Validator, validated
from kcodec.formats.language import NamedText
from kcodec.objects.by_columns import ColumnWriter
from kcodec.objects.form import ObjectForm
from kcodec.objects.kernel import Reader, Writer
from kcodec.plan import Limits, Plan
from kcodec.plan.programs import Programs


class JsonSchemaReader:
    """A schema's shape with its columns, for documents of any schema that may be read as it."""

    def __init__(
        self, shape: Shape, *, options: JsonSchemaOptions | None = None, limits: Limits | None = None
    ) -> None:
        self.options = options or JsonSchemaOptions()
        kind = arrow_type(shape, self.options) if self.options.arrow_type is None else self.options.arrow_type
        self.arrow_type = chosen_type(kind, shape, self.options.fields)
        self.shape = shape
        self._limits = Limits.of(limits)
        self.program = self.program_of(shape)

    def program_of(self, shape: Shape) -> Programs:
        """Return what decodes documents of another shape to the same columns."""
        return Programs(decode_plan(decodable(self.arrow_type), shape, self.options), self._limits)

    def decode(
        self,
        values: pa.Array,
        *,
        programs: Sequence[Programs] = (),
        selector: Any = None,
        starts: Any = None,
        stop: bool = False,
    ) -> tuple[pa.Array, Sequence[Fault]]:
        """Decode an array; see `JsonKernel.decode`. As Jackson does it, only the first value of a document counts."""
        module = kernel()
        compiled = [each.compiled(module) for each in programs or (self.program,)]
        how: dict[str, Any] = {"selector": selector, "starts": starts, "trailing": True}
        array, faults = module.decode(values, compiled, stop=stop, **how)
        # A row that strict reading refuses may still be one that Jackson reads.
        reread = Rereading(module, compiled, values, selector, starts)
        if stop and faults and reread.is_odd(faults[0]):
            array, faults = module.decode(values, compiled, **how)
            stop = False
        if stop and faults:
            return array, faults
        if faults:
            array, faults = reread.rows(array, faults)
        return array if array.type == self.arrow_type else array.cast(self.arrow_type), faults

    def object_reader(self, columns: Reader, form: ObjectForm, programs: Programs | None = None) -> Reader:
        """Return what reads documents as Python objects; `columns` reads those that are not plain, in that form."""
        return object_reader((programs or self.program).plan, self._limits, columns, form)


class _Form(NamedTuple):
    """How columns of a type, whose fields may be marked to hold JSON, are written."""

    plain: pa.DataType
    programs: Programs
    holds_text: bool


class JsonSchemaWriter:
    """A schema's shape that columns of any type are written with; see `JsonSchemaReader`."""

    def __init__(
        self, shape: Shape, *, options: JsonSchemaOptions | None = None, limits: Limits | None = None
    ) -> None:
        self.options = options or JsonSchemaOptions()
        self.limits = Limits.of(limits)
        self._shape = shape
        self._forms: Kept[tuple[ExactType, str], _Form] = Kept()

    def plan(self, kind: pa.DataType, nulls: str = "schema") -> Plan:
        """Plan how columns of an Arrow type are written; see `encode_plan`."""
        return encode_plan(kind, self._shape, self.options, nulls)

    def encode(
        self,
        array: pa.Array,
        *,
        prefix: bytes = b"",
        large: bool = False,
        stop: bool = False,
        nulls: str = "schema",
    ) -> tuple[pa.Array, Sequence[Fault]]:
        """Encode one array; see `JsonKernel.encode`, and `encode_plan` of ``nulls``."""
        module = kernel()
        kind = array.type
        if encoded_type(kind) != kind:
            # A column that the schema does not know is written as Jackson writes Java's own class.
            array = uuid_texts(array, self._own_type, unknown=True)
            kind = array.type
        form = self._forms.get((ExactType(kind), nulls), lambda: self._form(kind, nulls))
        array = cast_leaves(array, form.plain)
        if form.holds_text:
            array = rewrite_texts(array, form.programs.plan.root)
        return module.encode(array, form.programs.compiled(module), prefix=prefix, large=large, stop=stop)

    def _form(self, kind: pa.DataType, nulls: str) -> _Form:
        programs = Programs(self.plan(kind, nulls), self.limits)
        return _Form(encoded_type(kind), programs, holds_text(programs.plan.root))

    def _own_type(self) -> pa.DataType:
        given = self.options.arrow_type
        return arrow_type(self._shape, self.options) if given is None else given

    def object_writer(self, columns: Writer, kind: pa.DataType) -> Writer:
        """Return what writes Python objects as columns of a type are written; `columns` writes them by these."""
        return object_writer(self.plan(kind), columns, fills=False)


class JsonSchemaCodec(Codec):
    r"""Documents of a JSON Schema, without a frame.

    A property is a column of its name; which Arrow type each has is told in docs/json_schema.md. What has no columns,
    such as a value of which the schema says nothing, is a column of text that holds its JSON.

    Parameters
    ----------
    schema : str, mapping or bool
        The schema, of draft 4, 6, 7, 2019-09 or 2020-12.
    references : mapping of str to str or mapping, optional
        The schemas that it refers to, by the names that its references have for them. Nothing is fetched.
    arrow_type : pyarrow.DataType or pyarrow.Schema, optional
        The type to decode as, rather than that of the schema. Fields are found by their names; the schema tells how
        their values stand in documents.
    large : bool
        Whether strings, binaries and lists have 64-bit offsets; without it a column holds 2 GiB at most.
    fields : sequence of str, optional
        The only fields to decode, one at least, dotted for those of objects below, but not for members of unions and
        tuples; the others are skipped.
    recursive_depth : int
        How often a schema that contains itself is followed into itself; what is below is JSON text.
    formats : {"read", "ignore"}
        Whether strings of the formats ``date`` and ``date-time`` are dates and timestamps, or text.
    precision : int
        Digits of Connect's decimals whose schema does not say how many they have.
    unknown : {"skip", "keep"}
        Whether objects have a column ``_unknown`` of the properties that have no column, as JSON text; `encode` writes
        them back. With `fields`, these are also those of the schema that were not chosen.
    round : {"error", "truncate"}
        What `encode` makes of a time that is finer than the milliseconds it is written in: an error of its row, or
        the next earlier time that is not.
    validate : bool
        Whether documents are validated by their schema, read and written: an error of their row tells the JSON
        pointer and the keyword. Needs the extra ``kcodec[jsonschema]``.
    limits : Limits, optional
        What one row may cost.

    Raises
    ------
    SchemaError
        If a schema is wrong, refers to what is not given, or has no Arrow type.
    ConfigError
        If another argument is wrong.

    Examples
    --------
    >>> codec = JsonSchemaCodec({
    ...     "type": "object",
    ...     "properties": {"id": {"type": "integer"}, "at": {"type": "string", "format": "date"}, "more": {}},
    ...     "required": ["id"],
    ... })
    >>> codec.decode([b'{"id": 7, "at": "2024-05-01", "more": [1, "a"]}', None]).to_pylist()
    [{'id': 7, 'at': datetime.date(2024, 5, 1), 'more': '[1, "a"]'}, None]
    >>> codec.encode([{"id": 7, "at": None, "more": '{"b": 1e2}'}]).to_pylist()
    [b'{"id":7,"more":{"b":1E+2}}']
    >>> codec.decode([b'{"id": "7"}'], errors="report")[1].to_pylist()[0]["code"]
    'json_type'
    """

    _names_frames = True
    _checks_offsets = True

    def __init__(
        self,
        schema: str | Mapping[str, Any] | bool,
        references: Mapping[str, Any] | None = None,
        *,
        arrow_type: pa.DataType | pa.Schema | None = None,
        large: bool = False,
        fields: Sequence[str] | None = None,
        recursive_depth: int = 0,
        formats: str = "read",
        precision: int = 38,
        unknown: str = "skip",
        round: str = "error",
        validate: bool = False,
        limits: Limits | None = None,
    ) -> None:
        text = schema_text(schema)
        if references is not None and not isinstance(references, Mapping):
            raise ConfigError(f"references={references!r} is not a mapping of names to schemas")
        named = {str(name): schema_text(each) for name, each in (references or {}).items()}
        options = JsonSchemaOptions(
            large=large,
            fields=fields,
            recursive_depth=recursive_depth,
            formats=formats,
            precision=precision,
            unknown=unknown,
            round=round,
            arrow_type=arrow_type,
        )
        self._arguments: dict[str, Any] = {
            "schema": text,
            "references": named or None,
            **vars(options),
            "validate": validate,
            "limits": Limits.of(limits),
        }
        check_booleans(validate=validate)
        parsed = parse(text, [NamedText(name, each) for name, each in named.items()])
        shape = shape_of(parsed.documents, recursive_depth)
        self._reader = JsonSchemaReader(shape, options=options, limits=limits)
        self._writer = JsonSchemaWriter(shape, options=options, limits=limits)
        self._validator = Validator(parsed.documents) if validate else None
        self.arrow_type = self._reader.arrow_type
        self._encoded_type = pa.large_binary() if large else pa.binary()

    @property
    def decode_plan(self) -> Plan:
        """The decode plan; ``str`` of it is a readable tree. What has no columns is a ``json_text`` in it."""
        return self._reader.program.plan

    @property
    def schema(self) -> str:
        """The schema's text."""
        return self._arguments["schema"]

    def __eq__(self, other: object) -> bool:
        # Arrow types are equal whatever their metadata, which may mark a field as holding JSON itself.
        equal = super().__eq__(other)
        return equal if equal is not True else self.decode_plan.root == other.decode_plan.root  # type: ignore[attr-defined]

    __hash__ = Codec.__hash__

    def encode_plan(self, kind: pa.DataType) -> Plan:
        """Return the plan by which columns of an Arrow type are written."""
        return self._writer.plan(kind)

    def _decode(self, array: pa.Array, stop: bool) -> tuple[pa.Array, Sequence[Fault]]:
        decoded, faults = self._reader.decode(array, stop=stop and self._validator is None)
        if self._validator is not None:
            decoded, faults = validated(decoded, faults, array, [self._validator])
        return decoded, faults[:1] if stop else faults

    def _object_reader(self, form: ObjectForm) -> Reader:
        columns = self._column_reader(form, union_columns(self.decode_plan.root))
        reader = self._reader.object_reader(columns, form)
        return reader if self._validator is None else ValidReader(reader, self._validator, columns)

    def _object_writer(self, form: ObjectForm) -> Writer:
        self._check_form(form)
        columns = ColumnWriter(self.encode)
        writer = self._writer.object_writer(columns, self.arrow_type)
        return writer if self._validator is None else ValidWriter(writer, self._validator, columns)

    def _encode(self, array: pa.Array, stop: bool) -> tuple[pa.Array, Sequence[Fault]]:
        large = self._arguments["large"]
        if self._validator is None:
            return self._writer.encode(array, large=large, stop=stop)
        encoded, faults = encode_valid(self._writer, array, self._validator, large=large)
        return encoded, [fault._replace(offset=None) for fault in (faults[:1] if stop else faults)]

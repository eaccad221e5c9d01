"""Avro: a writer's and a reader's schema as a codec of columns."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa

from kcodec._kept import Kept
from kcodec.codec import Codec
from kcodec.columns.arrays.nested import cast_leaves
from kcodec.columns.arrays.uuids import uuid_texts
from kcodec.columns.types.plain import plain_type
from kcodec.errors import ConfigError, Fault, check_booleans
from kcodec.formats.avro.kernel import kernel
from kcodec.formats.avro.objects.kernel import object_reader, object_writer
from kcodec.formats.avro.plans.encode_plan import encode_plan, object_plan
from kcodec.formats.avro.plans.plan import decode_plan
from kcodec.formats.avro.schema.model import Schema, canonical
from kcodec.formats.avro.schema.parse import parse
from kcodec.formats.avro.schema.types import AvroOptions, arrow_type
from kcodec.objects.form import ObjectForm
from kcodec.objects.kernel import Reader, Writer
from kcodec.plan import Limits, Plan
from kcodec.plan.programs import Programs


class AvroReader:
    """A reader's schema with its columns fixed, for payloads of any number of writers' schemas.

    >>> reader = AvroReader('["null", "double"]')
    >>> print(reader.plan("int"))
    AVRO decode: double
      present -> column 0
        int -> column 0
    """

    def __init__(
        self, schema: object, *, options: AvroOptions | None = None, limits: Limits | None = None
    ) -> None:
        self.schema = schema if isinstance(schema, Schema) else parse(schema)
        self.options = options or AvroOptions()
        self.limits = Limits.of(limits)
        self.arrow_type = arrow_type(self.schema, self.options)

    def plan(self, writer_schema: object) -> Plan:
        """Resolve a writer's schema: text, JSON or `Schema`."""
        writer = writer_schema if isinstance(writer_schema, Schema) else parse(writer_schema)
        return decode_plan(writer, self.schema, self.options, self.arrow_type)

    def program(self, writer_schema: object) -> Programs:
        """Return what decodes the payloads of a writer's schema; see `plan`."""
        return Programs(self.plan(writer_schema), self.limits)

    def object_reader(self, plan: Plan, form: ObjectForm, *, trailing: bool) -> Reader:
        """Return what reads the payloads of a writer's schema, by its plan, as Python objects."""
        form = form._replace(floor=self.options.round == "truncate")
        return object_reader(plan, self.limits, form, trailing=trailing)


class AvroWriter:
    """A schema that columns of any fitting type are encoded with."""

    def __init__(
        self, schema: object, *, options: AvroOptions | None = None, limits: Limits | None = None
    ) -> None:
        self.schema = schema if isinstance(schema, Schema) else parse(schema)
        self.options = options or AvroOptions()
        self.limits = Limits.of(limits)
        self._programs: Kept[pa.DataType, Programs] = Kept()

    def plan(self, kind: pa.DataType) -> Plan:
        """Plan how columns of an Arrow type are written."""
        return encode_plan(self.schema, kind, self.options)

    def encode(
        self, array: pa.Array, *, prefix: bytes = b"", large: bool = False, stop: bool = False
    ) -> tuple[pa.Array, Sequence[Fault]]:
        """Encode one array; see `AvroKernel.encode`."""
        module = kernel()
        kind = plain_type(array.type)
        if kind != array.type:
            array = uuid_texts(array, lambda: arrow_type(self.schema, self.options))
            kind = plain_type(array.type)
        program = self._programs.get(kind, lambda: Programs(self.plan(kind), self.limits)).compiled(module)
        return module.encode(cast_leaves(array, kind), program, prefix=prefix, large=large, stop=stop)

    def object_writer(self, form: ObjectForm) -> Writer:
        """Return what writes Python objects."""
        form = form._replace(floor=self.options.round == "truncate")
        return object_writer(object_plan(self.schema, self.options), self.limits, form)


class AvroCodec(Codec):
    r"""Avro's binary encoding of one writer's schema, without a frame.

    Parameters
    ----------
    writer_schema : str, dict or list
        What payloads were written with, and what `encode` writes.
    reader_schema : str, dict or list, optional
        What they are read as, by Avro's rules of resolution; by default the writer's.
    named_schemas : sequence of str, dict or list
        Schemas that the two refer to by name, in an order in which each only needs those before it.
    large : bool
        Whether strings, binaries and lists have 64-bit offsets; without it a column holds 2 GiB at most.
    recursive_depth : int, optional
        How many levels of a record that contains itself become columns; what is deeper is skipped. By default
        such schemas are refused.
    wide_decimals : {"decimal256", "string"}
        What decimals of more than 38 digits become; with ``"decimal256"`` more than 76 are refused.
    union_members : {"index", "type"}
        Names of the members of a union of several types: ``member0``, ``member1`` ..., or `union_prefix` and
        the name of the type.
    union_prefix : str
        Used with ``union_members="type"``.
    trailing : bool
        Whether bytes after a value are accepted.
    fields : sequence of str, optional
        The only fields to decode, one at least, dotted for those of nested records; the others are skipped on
        the wire.
    round : {"error", "truncate"}
        What `encode` makes of a time that is finer than the schema's: an error of its row, or the next earlier time
        that is not. Also what `decode` makes of times that are finer than the reader's: of another logical type, or
        Debezium's in text with more than six digits of a second.
    debezium : bool
        Whether types that ``connect.name`` says are Debezium's dates and times (``io.debezium.time.*``) become Arrow's;
        otherwise they are the numbers and the text that they look like.
    compat : {None, "avro"}
        What becomes of a value whose logical type the reader's schema changes. By default it is converted exactly: a
        decimal to another scale, a time to another unit, a date to a timestamp; what does not fit is an error of its
        row, and types that mean different things are the error ``logical_type``. ``"avro"`` reads the writer's bytes or
        number as the reader's type, as Avro Java does, so 3.14 becomes 0.314 where the scale grew from 2 to 3.
    limits : Limits, optional
        What one row may cost.

    Raises
    ------
    SchemaError
        If a schema is wrong, has no Arrow type, or the two cannot be resolved at all. Types that merely do
        not fit are errors of the rows that have them.
    ConfigError
        If another argument is wrong.

    Examples
    --------
    >>> codec = AvroCodec('{"type": "record", "name": "P", "fields": [{"name": "x", "type": "int"}]}')
    >>> codec.decode([b"\x02", None]).to_pylist()
    [{'x': 1}, None]
    >>> codec.encode(pa.array([{"x": 1}])).to_pylist()
    [b'\x02']
    >>> codec.decode([b""], errors="report")[1].to_pylist()[0]["code"]
    'truncated'
    """

    _names_frames = True
    _checks_offsets = True

    def __init__(
        self,
        writer_schema: object,
        reader_schema: object | None = None,
        *,
        named_schemas: Iterable[object] = (),
        large: bool = False,
        recursive_depth: int | None = None,
        wide_decimals: str = "decimal256",
        union_members: str = "index",
        union_prefix: str = "member_",
        trailing: bool = False,
        fields: Sequence[str] | None = None,
        round: str = "error",
        debezium: bool = True,
        compat: str | None = None,
        limits: Limits | None = None,
    ) -> None:
        check_booleans(trailing=trailing)
        if isinstance(named_schemas, (str, dict)) or not isinstance(named_schemas, Iterable):
            raise ConfigError(f"named_schemas={named_schemas!r} is not a list of schemas")
        options = AvroOptions(
            large=large,
            recursive_depth=recursive_depth,
            wide_decimals=wide_decimals,
            union_members=union_members,
            union_prefix=union_prefix,
            fields=fields,
            round=round,
            debezium=debezium,
            compat=compat,
        )
        self._arguments: dict[str, Any] = {
            "writer_schema": schema_text(writer_schema),
            "reader_schema": None if reader_schema is None else schema_text(reader_schema),
            "named_schemas": tuple(schema_text(schema) for schema in named_schemas),
            **vars(options),
            "trailing": trailing,
            "limits": Limits.of(limits),
        }
        named = self._arguments["named_schemas"]
        # As Avro Java reads what others have written: a wrong default matters where it is needed.
        writer = parse(self._arguments["writer_schema"], named, strict=False)
        self._writer = AvroWriter(writer, options=options, limits=limits)
        reader = (
            writer if reader_schema is None else parse(self._arguments["reader_schema"], named, strict=False)
        )
        self._reader = AvroReader(reader, options=options, limits=limits)
        self.arrow_type = self._reader.arrow_type
        self._encoded_type = pa.large_binary() if large else pa.binary()
        self._trailing = trailing
        self._program = self._reader.program(writer)

    @property
    def decode_plan(self) -> Plan:
        """The decode plan; ``str`` of it is a readable tree."""
        return self._program.plan

    def encode_plan(self, kind: pa.DataType) -> Plan:
        """Return the plan by which columns of an Arrow type are written."""
        return self._writer.plan(kind)

    @property
    def schema(self) -> str:
        """The writer's schema as Avro Java prints it, references written out."""
        return canonical(self._writer.schema)

    @property
    def reader_schema(self) -> str:
        """The reader's schema in the same form."""
        return canonical(self._reader.schema)

    def _decode(self, array: pa.Array, stop: bool) -> tuple[pa.Array, Sequence[Fault]]:
        module = kernel()
        return module.decode(array, [self._program.compiled(module)], trailing=self._trailing, stop=stop)

    def _encode(self, array: pa.Array, stop: bool) -> tuple[pa.Array, Sequence[Fault]]:
        return self._writer.encode(array, large=self._arguments["large"], stop=stop)

    def _object_reader(self, form: ObjectForm) -> Reader:
        return self._reader.object_reader(self.decode_plan, form, trailing=self._trailing)

    def _object_writer(self, form: ObjectForm) -> Writer:
        return self._writer.object_writer(form)

    def _identity(self) -> dict[str, Any]:
        # The texts that are printed have the references written out, and are the same for all spellings.
        reader = None if self.reader_schema == self.schema else self.reader_schema
        printed = {"writer_schema": self.schema, "reader_schema": reader, "named_schemas": ()}
        return {**self._arguments, **printed}


def schema_text(schema: object) -> str:
    """Return a schema as text, so that later changes of a dict are not seen."""
    if isinstance(schema, str):
        return schema
    if schema is None:
        # Its JSON would be the name of a type.
        raise ConfigError("a schema is JSON text, a dict or a list, not None")
    try:
        return json.dumps(schema)
    except (TypeError, ValueError, RecursionError) as error:
        raise ConfigError(f"a schema is JSON text, a dict or a list: {error}") from None

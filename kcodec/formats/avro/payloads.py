"""Payloads behind Confluent's frame: Avro, except for the root type bytes, whose content stands as it is."""

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from kcodec._lazy import compute as pc
from kcodec.columns.arrays.given import payloads
from kcodec.columns.arrays.nested import cast_leaf
from kcodec.columns.faults import joined, null_rows
from kcodec.columns.types.plain import is_text
from kcodec.errors import Fault, SchemaError
from kcodec.formats.avro.codec import AvroReader, AvroWriter
from kcodec.formats.avro.kernel import kernel
from kcodec.formats.avro.schema.model import Schema
from kcodec.formats.avro.schema.types import AvroOptions
from kcodec.formats.payloads import SchemaDecoder, SchemaEncoder
from kcodec.objects.form import ObjectForm
from kcodec.objects.kernel import Reader, Writer
from kcodec.plan import Limits
from kcodec.plan.failure import OtherPrefix

#: The program of payloads that stand as they are.
_RAW = "raw"


class AvroDecoder(SchemaDecoder):
    """A reader's schema, as text and parsed, for payloads that may stand as they are."""

    takes_prefix = True

    def __init__(
        self, text: str, schema: Schema, options: AvroOptions, limits: Limits, *, trailing: bool
    ) -> None:
        self.text = text
        self._reader = AvroReader(schema, options=options, limits=limits)
        self.arrow_type = self._reader.arrow_type
        self._trailing = trailing

    def program(self, writer: Any, indexes: tuple[int, ...] = ()) -> Any:
        """Return a program; for payloads of the root type bytes, the mark that they stand as they are."""
        root: Schema = writer.root
        roots = root.type, self._reader.schema.type
        if roots == ("bytes", "bytes"):
            return _RAW
        if root.type == "bytes" or roots == ("string", "bytes"):
            raise SchemaError(f"values of a root of {root.type} are not read as {self.arrow_type}")
        return self._reader.program(root)

    def decode(
        self, values: pa.Array, programs: Sequence[Any], *, selector: Any, starts: Any, stop: bool
    ) -> tuple[pa.Array, Sequence[Fault]]:
        """Decode an array with the kernel, and place the payloads that stand as they are."""
        module = kernel()
        compiled = [None if program in (None, _RAW) else program.compiled(module) for program in programs]
        raw = [index for index, program in enumerate(programs) if program == _RAW]
        if raw and isinstance(starts, bytes):
            raise OtherPrefix
        faults: Sequence[Fault] = ()
        if any(program is not None for program in compiled):
            array, faults = module.decode(
                values, compiled, selector=selector, starts=starts, trailing=self._trailing, stop=stop
            )
        else:
            array = null_rows(len(values), self.arrow_type)
        if not raw or (stop and faults):
            return array, faults
        return _place(values, raw, selector, starts, array), faults

    def object_reader(self, program: Any, form: ObjectForm) -> Reader | None:
        """Return what reads the payloads of a program as Python objects."""
        if program == _RAW:
            return _RawReader()
        return self._reader.object_reader(program.plan, form, trailing=self._trailing)


class _RawReader:
    """Payloads that stand as they are."""

    told = True

    def decode_one(self, data: Any, start: int = 0) -> Any:
        return None if data is None else bytes(data)[start:]

    def decode_list(
        self, values: list[Any], starts: Sequence[int] | None = None, stop: bool = False
    ) -> tuple[list[Any], list[Fault]]:
        places = starts or [0] * len(values)
        return [self.decode_one(data, start) for data, start in zip(values, places, strict=True)], []


class AvroEncoder(SchemaEncoder):
    """A schema that columns are written with, and the one whose values they hold."""

    checks_offsets = True

    def __init__(self, schema: Schema, given: Schema | None, options: AvroOptions, limits: Limits) -> None:
        self._writer = AvroWriter(schema, options=options, limits=limits)
        self._conversion = None if given is None else _Conversion(schema, given, options, limits)

    def encode(
        self, array: pa.Array, *, prefix: bytes, large: bool, stop: bool
    ) -> tuple[pa.Array, Sequence[Fault]]:
        """Encode an array, converted first if it holds the values of another schema."""
        faults: Sequence[Fault] = ()
        if self._conversion is not None:
            array, faults = self._conversion.convert(array, stop)
            if stop and faults:
                return array, faults
        encoded, unwritten = self._encode(array, prefix, large, stop)
        return encoded, joined([faults, unwritten])

    def object_writer(
        self, form: ObjectForm, columns: Writer, kind: Callable[[], pa.DataType | None]
    ) -> Writer | None:
        """Return what writes Python objects; None where values of another schema are converted."""
        return self._writer.object_writer(form) if self._conversion is None else None

    def _encode(
        self, array: pa.Array, prefix: bytes, large: bool, stop: bool
    ) -> tuple[pa.Array, Sequence[Fault]]:
        return self._writer.encode(array, prefix=prefix, large=large, stop=stop)


class _Conversion:
    """Converts values of one schema to another: it writes them as the one, and reads them as the other."""

    def __init__(self, schema: Schema, given: Schema, options: AvroOptions, limits: Limits) -> None:
        self._given = AvroWriter(given, options=options, limits=limits)
        self._program = AvroReader(schema, options=options, limits=limits).program(given)

    def convert(self, array: pa.Array, stop: bool) -> tuple[pa.Array, Sequence[Fault]]:
        array, faults = self._given.encode(array, large=True, stop=stop)
        if stop and faults:
            return array, faults
        module = kernel()
        array, unresolved = module.decode(array, [self._program.compiled(module)], stop=stop)
        return array, [*faults, *(fault._replace(offset=None) for fault in unresolved)]


class BytesEncoder(AvroEncoder):
    """The root type bytes: no length before the content."""

    def object_writer(
        self, form: ObjectForm, columns: Writer, kind: Callable[[], pa.DataType | None]
    ) -> Writer | None:
        """Return None: what columns hold is written as it is."""
        return None

    def _encode(
        self, array: pa.Array, prefix: bytes, large: bool, stop: bool
    ) -> tuple[pa.Array, Sequence[Fault]]:
        """Put the prefix before the content of each row, which is binary, or decimals if the schema has them."""
        kind = pa.large_binary() if large else pa.binary()
        faults: Sequence[Fault] = ()
        if pa.types.is_decimal(array.type):
            # At most 32 bytes, so that the length that comes before them is one byte.
            encoded, faults = self._writer.encode(array)
            plain = pc.binary_slice(encoded, 1, 2**31 - 1).cast(kind)
        else:
            try:
                text = is_text(array.type)
                if self._writer.schema.logical and text:
                    raise TypeError(f"a column of {array.type} does not hold decimals")
                plain = cast_leaf(payloads(array)[0][0], kind)
            except TypeError as error:
                rows = pc.indices_nonzero(array.is_valid()).to_pylist()
                return pa.nulls(len(array), kind), [
                    Fault(row, None, "", "type_mismatch", str(error)) for row in rows
                ]
        if not prefix:
            return plain, faults
        return pc.binary_join_element_wise(pa.scalar(prefix, kind), plain, pa.scalar(b"", kind)), faults


def _place(values: pa.Array, chosen: Sequence[int], selector: Any, starts: Any, array: pa.Array) -> pa.Array:
    """Put the payloads of rows with certain programs, as they are, into a column of binary."""
    have = pc.is_in(_numbers(selector, len(values)), value_set=pa.array(chosen, pa.int32()))
    values = cast_leaf(values, array.type)
    if starts is None:
        return pc.if_else(have, values, array)
    places = _numbers(starts, len(values))
    for start in pc.unique(places.filter(have)).to_pylist():
        here = pc.and_(have, pc.equal(places, start))
        # pyarrow's binary_slice needs an end to be right.
        array = pc.if_else(here, pc.binary_slice(values, start, 2**31 - 1), array)
    return array


def _numbers(buffer: Any, rows: int) -> pa.Array:
    return pa.Array.from_buffers(pa.int32(), rows, [None, pa.py_buffer(buffer)])

"""Columns of decimals in the forms in which Kafka's tools write them, and Arrow decimals.

==========================  =======================================================  =========================
column                      value                                                    written by
==========================  =======================================================  =========================
binary                      unscaled value, big-endian two's complement              Connect, Avro, Debezium
string, ``base64``          the same in Base64                                       JsonConverter
string, ``number``          a number as BigDecimal prints it                         Debezium ``string``
struct of scale and value   unscaled value with a scale of its own                   Debezium, without a scale
float, double               the shortest number that reads as this double            Debezium ``double``
integer, decimal            the number
==========================  =======================================================  =========================
"""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from kcodec._lazy import compute as pc
from kcodec.arguments import Payloads
from kcodec.codec import Codec, Run
from kcodec.columns.arrays.given import arrays
from kcodec.columns.arrays.nested import cast_leaf, unpack
from kcodec.columns.arrays.slices import placed, sliced, unsliced
from kcodec.columns.faults import nulled, refused
from kcodec.columns.types.plain import is_text, stored_type
from kcodec.errors import (
    CODES,
    ConfigError,
    DecodeError,
    Fault,
    SchemaError,
    check_booleans,
    check_choice,
    is_whole,
)
from kcodec.formats.json.kernel import kernel as json_kernel
from kcodec.formats.json.node import Form, JsonNode, Op
from kcodec.plan.node import Plan
from kcodec.wire import decimals_from_arrow, decimals_from_text, decimals_to_arrow, decimals_to_text

_TEXTS = ("base64", "number")
_SCALES = (-(2**31), 2**31 - 1)

#: Digits of text that is not bounded by a type; also those of the wire functions.
_MAX_DIGITS = 10_000


class DecimalCodec(Codec):
    r"""Decimals of one precision and scale, in whichever form a column has them.

    Parameters
    ----------
    scale : int
        Digits behind the point, of unscaled values and of the result.
    precision : int
        Digits in all: up to 38 make a ``decimal128``, up to 76 a ``decimal256``.
    text : {"base64", "number"}
        What columns of text hold: unscaled values in Base64, or numbers.
    output : {"bytes", "base64", "number"}
        What `encode` writes: binary, or text of one of these forms.
    as_text : bool
        Decode to numbers as ``BigDecimal.toString`` prints them, of any number of digits up to 10,000. Values that
        have a scale of their own (integers, decimals, structs) keep it; `scale` is that of the others.
    plain : bool
        Print numbers without exponents, as ``toPlainString``.

    Raises
    ------
    ConfigError
        If an argument is not valid.

    Notes
    -----
    Nothing is ever rounded: a value with more digits behind the point than the scale is ``inexact``, one with more
    in all is ``decimal_precision``, an unscaled value without a byte ``empty_decimal``.

    Examples
    --------
    >>> codec = DecimalCodec(2, precision=9)
    >>> codec.decode(pa.array([b"\x00\x9c", None])).to_pylist()
    [Decimal('1.56'), None]
    >>> codec.decode(pa.array(["AJw="])).to_pylist()
    [Decimal('1.56')]
    >>> DecimalCodec(2, text="number").decode(pa.array(["1.5", "156e-2"])).to_pylist()
    [Decimal('1.50'), Decimal('1.56')]
    >>> codec.encode(codec.decode(pa.array(["AJw="]))).to_pylist()
    [b'\x00\x9c']
    """

    def __init__(
        self,
        scale: int,
        precision: int = 38,
        *,
        text: str = "base64",
        output: str = "bytes",
        as_text: bool = False,
        plain: bool = False,
    ) -> None:
        check_choice("text", text, _TEXTS)
        check_choice("output", output, ("bytes", *_TEXTS))
        check_booleans(as_text=as_text, plain=plain)
        if not is_whole(scale) or not _SCALES[0] <= scale <= _SCALES[1]:
            raise ConfigError(f"scale={scale!r} is not an integer of 32 bits")
        if not is_whole(precision) or not 1 <= precision <= 76:
            raise ConfigError(f"precision={precision!r} is not within 1 and 76")
        self._arguments: dict[str, Any] = {
            "scale": scale,
            "precision": precision,
            "text": text,
            "output": output,
            "as_text": as_text,
            "plain": plain,
        }
        self._scale, self._precision, self._plain = scale, precision, plain
        self._text, self._output, self._as_text = text, output, as_text
        decimal = pa.decimal128 if precision <= 38 else pa.decimal256
        self.arrow_type = pa.string() if as_text else decimal(precision, scale)
        self._encoded_type = pa.binary() if output == "bytes" else pa.string()

    def decode(self, values: Payloads, errors: str = "raise", *, use_threads: bool = False) -> Any:
        """Decode a column of decimals in any of the forms above; ``offset`` of the report is null.

        Parameters and result are those of every `Codec`.
        """
        run = Run(errors, use_threads=use_threads)
        parts, chunked = run.parts(arrays(values, None))
        return run.result(self._decode, parts, chunked, self.arrow_type, DecodeError)

    def _decode(self, array: pa.Array, stop: bool) -> tuple[pa.Array, list[Fault]]:
        kind, types = array.type, pa.types
        if stored_type(kind) is not None:
            return self._decode(unpack(array), stop)
        if types.is_null(kind):
            return pa.nulls(len(array), self.arrow_type), []
        if types.is_struct(kind):
            return self._variable(array, stop)
        faults: list[Fault] = []
        scale = self._scale
        if types.is_floating(kind):
            text, faults = _shortest(array)
            unscaled, found = self._numbers(text, stop)
        elif types.is_integer(kind) or types.is_decimal(kind):
            # Exact, and never longer than the widest decimal.
            wide = kind.precision > 38 if types.is_decimal(kind) else False
            fraction = kind.scale if types.is_decimal(kind) else 0
            whole = array if types.is_decimal(kind) else array.cast(pa.decimal128(20, 0))
            whole = whole.cast(pa.decimal256(76, fraction) if wide else pa.decimal128(38, fraction))
            unscaled, found, scale = _from_decimals(whole), [], fraction
        elif is_text(kind) or types.is_string_view(kind):
            if self._text == "number":
                unscaled, found = self._numbers(array, stop)
            else:
                unscaled, found = _base64(array, stop)
        else:
            unscaled, found = _binary(array), []
        faults += found
        if stop and faults:
            return self._first(array, faults)
        decoded, found = self._unscaled(unscaled, scale, stop)
        return decoded, sorted([*faults, *found], key=lambda fault: fault.row)

    def _first(self, array: pa.Array, faults: list[Fault]) -> tuple[pa.Array, list[Fault]]:
        """Look for faults before these, which are not those of all steps."""
        _, before = self._decode(array.slice(0, faults[0].row), True)
        return pa.nulls(0, self.arrow_type), before or faults

    def _numbers(self, array: pa.Array, stop: bool) -> tuple[pa.Array, list[Fault]]:
        """Read numbers to unscaled values at the scale of the result."""

        def read(data: Any, offsets: Any) -> pa.Array:
            max_digits = _MAX_DIGITS if self._as_text else self._precision
            found = decimals_from_text(data, offsets, self._scale, precision=max_digits)
            return unsliced(found, pa.binary())

        return _each(read, cast_leaf(array, pa.binary()), pa.binary(), stop)

    def _unscaled(self, array: pa.Array, scale: int, stop: bool) -> tuple[pa.Array, list[Fault]]:
        """Turn unscaled values into the result."""
        kind = self.arrow_type

        def write(data: Any, offsets: Any) -> pa.Array:
            if self._as_text:
                text = decimals_to_text(data, offsets, scale, plain=self._plain, precision=_MAX_DIGITS)
                return unsliced(text, kind)
            found = decimals_to_arrow(
                data, offsets, precision=self._precision, bits=kind.bit_width, rescale=self._scale - scale
            )
            return pa.Array.from_buffers(kind, len(offsets) - 1, [None, pa.py_buffer(found)])

        empty = pc.fill_null(pc.equal(pc.binary_length(array), 0), False)
        faults = refused(empty, "empty_decimal")
        decoded, found = _each(write, nulled(array, empty) if faults else array, kind, stop)
        return decoded, sorted([*faults, *found], key=lambda fault: fault.row)

    def _variable(self, array: pa.Array, stop: bool) -> tuple[pa.Array, list[Fault]]:
        """Decode structs of a scale and an unscaled value, one scale after the other."""
        names = [field.name for field in array.type]
        if not {"scale", "value"} <= set(names):
            raise SchemaError(f"a decimal of variable scale is a struct of scale and value, not of {names}")
        fields = dict(zip(names, unpack(array).flatten(), strict=True))
        scales, values = fields["scale"].cast(pa.int64()), fields["value"]
        faults: list[Fault] = []
        if is_text(values.type):
            values, faults = _base64(values, stop)
            if stop and faults:
                return self._first(array, faults)
        values = _binary(values)
        given = pc.and_(array.is_valid(), pc.and_(scales.is_valid(), fields["value"].is_valid()))
        faults += refused(pc.and_(array.is_valid(), pc.invert(given)), "null_value")
        fits = pc.fill_null(
            pc.and_(pc.greater_equal(scales, _SCALES[0]), pc.less_equal(scales, _SCALES[1])), True
        )
        faults += refused(pc.and_(given, pc.invert(fits)), "out_of_range")
        usable = pc.and_(values.is_valid(), pc.and_(given, fits))
        rows = np.flatnonzero(usable)
        numbers = np.asarray(scales.fill_null(0))[rows]
        if not len(rows) or (numbers == numbers[0]).all():
            # As columns of one table are.
            values = nulled(values, pc.invert(usable))
            decoded, found = self._unscaled(values, int(numbers[0]) if len(rows) else 0, stop)
            return decoded, sorted([*faults, *found], key=lambda fault: fault.row)
        # By their scales, and in the end in their own order again.
        order = np.argsort(numbers, kind="stable")
        rows, numbers = rows[order], numbers[order]
        values = values.take(pa.array(rows))
        starts = [0, *(np.flatnonzero(np.diff(numbers)) + 1).tolist(), len(rows)]
        parts = []
        for start, end in itertools.pairwise(starts):
            part, found = self._unscaled(values.slice(start, end - start), int(numbers[start]), stop)
            faults += [fault._replace(row=int(rows[start + fault.row])) for fault in found]
            parts.append(pa.nulls(end - start, self.arrow_type) if stop and found else part)
        places = np.zeros(len(array), np.int64)
        places[rows] = np.arange(len(rows))
        decoded = pa.concat_arrays(parts).take(pa.array(places, mask=~np.asarray(usable)))
        return decoded, sorted(faults, key=lambda fault: fault.row)

    def _encode(self, array: pa.Array, stop: bool) -> tuple[pa.Array, list[Fault]]:
        number = DecimalCodec(self._scale, self._precision, text="number")
        decimals, faults = number._decode(array, stop)
        if stop and faults:
            return pa.nulls(0, self._encoded_type), faults
        if self._output == "number":
            printer = DecimalCodec(self._scale, self._precision, as_text=True, plain=self._plain)
            found, _ = printer._unscaled(_from_decimals(decimals), self._scale, False)
        else:
            found = _from_decimals(decimals)
            if self._output == "base64":
                found = _to_base64(found)
        return found, faults


def _each(
    act: Callable[[Any, Any], pa.Array], array: pa.Array, kind: pa.DataType, stop: bool
) -> tuple[pa.Array, list[Fault]]:
    """Run a function that fails at its first bad value over all values that are not null."""
    valid = pc.indices_nonzero(array.is_valid())
    values = array.drop_null()
    parts: list[pa.Array] = []
    faults: list[Fault] = []
    start = 0
    while start < len(values):
        remaining = values.slice(start)
        try:
            parts.append(act(*sliced(remaining)))
            break
        except DecodeError as error:
            faults.append(Fault(valid[start + error.row].as_py(), None, "", error.code, CODES[error.code]))
            if stop:
                return pa.nulls(0, kind), faults
            parts += [act(*sliced(remaining.slice(0, error.row))), pa.nulls(1, kind)]
            start += error.row + 1
    found = pa.concat_arrays(parts) if parts else pa.nulls(0, kind)
    return placed(found, valid, len(array)), faults


def _binary(array: pa.Array) -> pa.Array:
    if array.type == pa.binary():
        return array
    types = pa.types
    if not (
        types.is_large_binary(array.type)
        or types.is_fixed_size_binary(array.type)
        or types.is_binary_view(array.type)
    ):
        raise SchemaError(f"a column of {array.type} does not hold decimals")
    return cast_leaf(array, pa.binary())


def _from_decimals(array: pa.Array) -> pa.Array:
    """Make unscaled values of decimals."""
    values, kind = array.drop_null(), array.type
    buffer = values.buffers()[1]
    if not len(values):
        return pa.nulls(len(array), pa.binary())
    slots = buffer.slice(kind.byte_width * values.offset, kind.byte_width * len(values))
    unscaled = unsliced(decimals_from_arrow(slots, bits=kind.bit_width), pa.binary())
    return placed(unscaled, pc.indices_nonzero(array.is_valid()), len(array))


def _shortest(array: pa.Array) -> tuple[pa.Array, list[Fault]]:
    """Print doubles; those that are no numbers are faults."""
    finite = pc.is_finite(array)
    faults = refused(pc.invert(pc.fill_null(finite, True)), "out_of_range")
    return pc.if_else(pc.fill_null(finite, False), array, None).cast(pa.string()), faults


def _json(op: Op, direction: str, forms: Form = Form.PLAIN) -> Any:
    module = json_kernel()
    return module, module.Program(Plan("BASE64", direction, pa.binary(), JsonNode(op, 0, forms=forms)))


def _base64(array: pa.Array, stop: bool) -> tuple[pa.Array, list[Fault]]:
    """Decode Base64, as strings of JSON."""
    module, program = _json(Op.JSON_BYTES, "decode")
    # No text of Base64 has an escape, and this one is to be none.
    plain = pc.replace_substring(cast_leaf(array, pa.binary()), b"\\", b"!")
    quoted = pc.binary_join_element_wise(b'"', plain, b'"', b"")
    found, faults = module.decode(quoted, [program], stop=stop)
    faults = [Fault(fault.row, None, "", "invalid_base64", CODES["invalid_base64"]) for fault in faults]
    return (pa.nulls(0, pa.binary()) if stop and faults else found), faults


def _to_base64(array: pa.Array) -> pa.Array:
    module, program = _json(Op.JSON_BYTES, "encode")
    quoted, _ = module.encode(array, program)
    return pc.binary_slice(quoted, 1, -1).cast(pa.string())

"""A made-up schema language: integers of a fixed width. `toy 4` is four bytes, big-endian.

It stands in for a user's plugin.
"""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from kcodec.errors import CODES, Fault, SchemaError
from kcodec.formats.language import Difference, NamedText
from kcodec.formats.payloads import SchemaDecoder, SchemaEncoder
from kcodec.formats.schema_format import SchemaFormat
from kcodec.plan import Limits


class ToyFormat(SchemaFormat):
    """Schemas are their number of bytes; a reference gives it by name."""

    type = "TOY"
    name = "TOY_SR"

    def parse(self, text: str, references: Sequence[NamedText] = ()) -> int:
        words = text.split()
        named = {each.name: each.text for each in references}
        if len(words) == 2 and words[0] == "toy" and words[1] in named:
            return self.parse(named[words[1]])
        if len(words) != 2 or words[0] != "toy" or words[1] not in ("1", "2", "4", "8"):
            raise SchemaError(f"{text!r} is not toy and a number of bytes")
        return int(words[1])

    def canonical(self, schema: int) -> str:
        return f"toy {schema}"

    def record_name(self, text: str) -> str:
        return f"Toy{self.parse(text)}"

    def derived_text(self, kind: pa.DataType) -> str:
        if not pa.types.is_integer(kind):
            raise SchemaError(f"toys are integers, not {kind}")
        return f"toy {kind.bit_width // 8}"

    def same(self, left: int, right: int) -> bool:
        return left == right

    def differences(self, reader: int, writer: int) -> list[Difference]:
        return [Difference("TOO_NARROW", "", f"{writer} bytes")] if reader < writer else []

    def decoder(self, schema: int, options: None, limits: Limits) -> SchemaDecoder:
        return ToyDecoder(schema)

    def encoder(self, schema: int, given: int | None, options: None, limits: Limits) -> SchemaEncoder:
        return ToyEncoder(schema)


class ToyDecoder(SchemaDecoder):
    def __init__(self, size: int) -> None:
        self.text = f"toy {size}"
        self.arrow_type = {1: pa.int8(), 2: pa.int16(), 4: pa.int32(), 8: pa.int64()}[size]

    def program(self, writer: int, indexes: tuple[int, ...] = ()) -> int:
        if writer * 8 > self.arrow_type.bit_width:
            raise SchemaError(f"{writer} bytes are not read as {self.text}")
        return writer

    def decode(self, values: pa.Array, programs: Any, *, selector: Any, starts: Any, stop: bool) -> Any:
        numbers, places = memoryview(selector).cast("B").cast("i"), memoryview(starts).cast("B").cast("i")
        result: list[int | None] = []
        faults = []
        for row, value in enumerate(values.to_pylist()):
            size = None if numbers[row] < 0 else programs[numbers[row]]
            result.append(None)
            if size is not None:
                payload = value[places[row] :]
                if len(payload) == size:
                    result[row] = int.from_bytes(payload, "big", signed=True)
                else:
                    faults.append(Fault(row, places[row], "", "truncated", CODES["truncated"]))
        return pa.array(result, self.arrow_type), faults[:1] if stop else faults


class ToyEncoder(SchemaEncoder):
    def __init__(self, size: int) -> None:
        self.size = size

    def encode(self, array: pa.Array, *, prefix: bytes, large: bool, stop: bool) -> Any:
        rows: list[bytes | None] = []
        faults = []
        for row, value in enumerate(array.to_pylist()):
            try:
                rows.append(None if value is None else prefix + value.to_bytes(self.size, "big", signed=True))
            except OverflowError:
                rows.append(None)
                faults.append(Fault(row, None, "", "out_of_range", CODES["out_of_range"]))
        return pa.array(rows, pa.large_binary() if large else pa.binary()), faults[:1] if stop else faults


class BoxedToyFormat(ToyFormat):
    """Toys in boxes: a frame has message indexes, and a payload of box n is read n too high."""

    type = "BOXED"
    name = "BOXED"
    message_indexes = True

    def decoder(self, schema: int, options: None, limits: Limits) -> SchemaDecoder:
        return BoxedToyDecoder(schema)

    def encoder(self, schema: int, given: int | None, options: None, limits: Limits) -> SchemaEncoder:
        encoder = ToyEncoder(schema)
        encoder.indexes = (1, 2)
        return encoder


class BoxedToyDecoder(ToyDecoder):
    def program(self, writer: int, indexes: tuple[int, ...] = ()) -> Any:
        if len(indexes) > 2:
            raise SchemaError(f"there is no box {indexes}")
        return super().program(writer), sum(indexes)

    def decode(self, values: pa.Array, programs: Any, *, selector: Any, starts: Any, stop: bool) -> Any:
        sizes = [program and program[0] for program in programs]
        array, faults = super().decode(values, sizes, selector=selector, starts=starts, stop=stop)
        numbers = memoryview(selector).cast("B").cast("i")
        rows = [
            None if value is None else value + programs[numbers[row]][1]
            for row, value in enumerate(array.to_pylist())
        ]
        return pa.array(rows, array.type), faults


FORMAT = ToyFormat()

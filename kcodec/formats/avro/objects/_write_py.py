"""Python objects to Avro binary in plain Python: the reference that `_write` is tested against."""

import math
import struct
from collections.abc import Callable
from functools import partial
from typing import Any, NoReturn

import pyarrow as pa

from kcodec.columns.types.isotime_py import write_iso
from kcodec.columns.types.layout import Column, layout
from kcodec.columns.types.plain import PER_SECOND
from kcodec.errors import EncodeError, near
from kcodec.formats.avro._kernel_py import decimal_bytes, is_iso
from kcodec.formats.avro.plans.node import AvroNode, Op
from kcodec.formats.avro.schema.defaults import varint
from kcodec.objects import taken
from kcodec.objects.each import EachWriter
from kcodec.objects.form import ObjectForm
from kcodec.objects.units import micros_each
from kcodec.plan.failure import RowError, step
from kcodec.plan.node import Limits, Plan
from kcodec.plan.rows_py import quiet

__all__ = ["ObjectWriter"]

_MICROS_OF_DAY = 86_400_000_000

#: The types of Python whose values a branch of a union takes first.
_NATURAL = {
    Op.BOOLEAN: "bool",
    Op.INT: "int",
    Op.LONG: "int",
    Op.FLOAT: "float",
    Op.DOUBLE: "float",
    Op.STRING: "str",
    Op.BYTES: "bytes",
    Op.FIXED: "bytes",
    Op.ENUM: "str",
    Op.DECIMAL: "Decimal",
    Op.RECORD: "dict",
    Op.MAP: "dict",
    Op.ARRAY: "list",
}


class ObjectWriter(EachWriter):
    """Writes Python objects as payloads; see `kcodec.objects.kernel.Writer`."""

    def __init__(
        self,
        plan: Plan,
        limits: Limits = Limits(),  # noqa: B008
        form: ObjectForm = ObjectForm(),  # noqa: B008
    ) -> None:
        super().__init__(self._write)
        self._root = plan.root
        self._values = _Values(layout(plan.arrow_type), form)

    def _write(self, value: Any) -> bytes:
        try:
            return self._values.run(self._root, value, "")
        except RowError as error:
            raise EncodeError(*error.fault(0)) from None


class _Values:
    """Writes values by the nodes of a plan."""

    def __init__(self, columns: tuple[Column, ...], form: ObjectForm) -> None:
        self._columns = columns
        self._form = form

    def run(self, node: AvroNode, value: Any, path: str) -> bytes:
        return _WRITERS[node.op](self, node, value, step(path, node.name))

    def _taken(self, take: Callable[[Any], Any], value: Any, path: str) -> Any:
        if value is None:
            raise RowError("null_value", None, path)
        try:
            return take(value)
        except RowError as error:
            raise RowError(error.code, None, path, error.reason) from None

    def _integer(self, node: AvroNode, value: int, path: str) -> bytes:
        if not -(1 << 63) <= value < 1 << 63:
            raise RowError("out_of_range", None, path)
        if node.op is Op.INT and not -(1 << 31) <= value < 1 << 31:
            raise RowError("out_of_range", None, path)
        return varint(value)

    def nothing(self, node: AvroNode, value: Any, path: str) -> bytes:
        if value is not None:
            raise RowError("type_mismatch", None, path, f"a {type(value).__name__} is no null")
        return b""

    def boolean(self, node: AvroNode, value: Any, path: str) -> bytes:
        return bytes([self._taken(taken.truth, value, path)])

    def integer(self, node: AvroNode, value: Any, path: str) -> bytes:
        kind = self._columns[node.column].type
        if pa.types.is_temporal(kind):
            value = self._time(node, value, kind, path)
        else:
            value = self._taken(taken.whole, value, path)
        return self._integer(node, value, path)

    def _time(self, node: AvroNode, value: Any, kind: pa.DataType, path: str) -> int:
        """Return the number that a date or time is written as."""
        if pa.types.is_date(kind):
            return self._taken(taken.days, value, path)
        micros = micros_each(PER_SECOND[kind.unit], node.factor)
        if type(value) is int:
            # Of what is written.
            day = _MICROS_OF_DAY // micros if micros > 0 else _MICROS_OF_DAY * -micros
            if pa.types.is_time(kind) and not 0 <= value < day:
                raise RowError("out_of_range", None, path)
            return value
        return self._scaled(self._taken(_clock(kind), value, path), micros, path)

    def _scaled(self, value: int, factor: int, path: str) -> int:
        if factor < 0:
            return value * -factor
        if value % factor and not self._form.floor:
            raise RowError("inexact", None, path)
        return value // factor

    def floating(self, node: AvroNode, value: Any, path: str) -> bytes:
        number = self._taken(taken.real, value, path)
        if node.op is Op.DOUBLE:
            return struct.pack("<d", number)
        try:
            data = struct.pack("<f", quiet(number))
        except OverflowError:
            raise RowError("out_of_range", None, path) from None
        exact = pa.types.is_float64(self._columns[node.column].type)
        if exact and not math.isnan(number) and struct.unpack("<f", data)[0] != number:
            raise RowError("inexact", None, path)
        return data

    def string(self, node: AvroNode, value: Any, path: str) -> bytes:
        kind = self._columns[node.column].type
        if is_iso(node, kind):
            data = self._iso(value, kind, path)
        else:
            data = self._taken(taken.utf8 if node.op is Op.STRING else taken.octets, value, path)
        return varint(len(data)) + data

    def _iso(self, value: Any, kind: pa.DataType, path: str) -> bytes:
        if pa.types.is_date(kind):
            number = self._taken(taken.days, value, path)
        else:
            number, rest = divmod(self._taken(_clock(kind), value, path) * PER_SECOND[kind.unit], 1_000_000)
            if rest:
                raise RowError("inexact", None, path)
        text = write_iso(number, kind, utc=True)
        if text is None:
            raise RowError("out_of_range", None, path)
        return text.encode()

    def fixed(self, node: AvroNode, value: Any, path: str) -> bytes:
        data: bytes = self._taken(taken.octets, value, path)
        if len(data) != node.size:
            raise RowError("fixed_size", None, path)
        return data

    def enum(self, node: AvroNode, value: Any, path: str) -> bytes:
        symbol = self._taken(taken.utf8, value, path).decode()
        if symbol not in node.symbols:
            raise RowError("unknown_symbol", None, path)
        return varint(node.symbols.index(symbol))

    def decimal(self, node: AvroNode, value: Any, path: str) -> bytes:
        return decimal_bytes(node, self._taken(taken.decimal_text, value, path), path)

    def record(self, node: AvroNode, value: Any, path: str) -> bytes:
        found = self._taken(taken.fields, value, path)
        names = [child.name for child in node.children]
        strangers = [name for name in found if name not in names]
        parts = []
        for child in node.children:
            if child.name in found:
                parts.append(self.run(child, found[child.name], path))
            elif child.op is Op.DEFAULT and not child.reason:
                parts.append(child.data)
            elif strangers:
                # It may only be spelt wrong.
                break
            else:
                wrong = child.reason if child.op is Op.DEFAULT else ""
                reason = wrong or "the field is missing, and has no default"
                raise RowError("missing_key", None, step(path, child.name), reason)
        if strangers:
            reason = f"the record has no field {strangers[0]!r}{near(str(strangers[0]), names)}"
            raise RowError("unknown_field", None, path, reason)
        return b"".join(parts)

    def array(self, node: AvroNode, value: Any, path: str) -> bytes:
        items = self._taken(taken.items, value, path)
        parts = [self.run(node.children[0], item, f"{path}[{at}]") for at, item in enumerate(items)]
        return (varint(len(parts)) if parts else b"") + b"".join(parts) + b"\0"

    def map(self, node: AvroNode, value: Any, path: str) -> bytes:
        parts = []
        for at, (key, item) in enumerate(self._taken(taken.entries, value, path)):
            parts.append(self.run(node.children[0], key, f"{path}[{at}].key"))
            parts.append(self.run(node.children[1], item, f"{path}[{at}].value"))
        return (varint(len(parts) // 2) if parts else b"") + b"".join(parts) + b"\0"

    def union(self, node: AvroNode, value: Any, path: str) -> bytes:
        branches = dict(enumerate(node.children))
        if value is None:
            nulls = [number for number, child in branches.items() if child.op is Op.ABSENT]
            if not nulls:
                raise RowError("null_value", None, path)
            return varint(nulls[0])
        numbers = [number for number, child in branches.items() if child.op is not Op.ABSENT]
        if not numbers:
            raise RowError("type_mismatch", None, path, f"a {type(value).__name__} is no null")
        if branches[numbers[0]].op is Op.MEMBER and self._form.unions == "members":
            return self._member(node, value, path)
        if branches[numbers[0]].op is Op.MEMBER:
            natural = [number for number in numbers if self._is_natural(branches[number].children[0], value)]
            numbers = [*natural, *(number for number in numbers if number not in natural)]
        for number in numbers[:-1]:
            try:
                return varint(number) + self.run(branches[number], value, path)
            except RowError:
                continue
        return varint(numbers[-1]) + self.run(branches[numbers[-1]], value, path)

    def _is_natural(self, node: AvroNode, value: Any) -> bool:
        kind = None if node.column < 0 else self._columns[node.column].type
        name = _NATURAL.get(node.op)
        if kind is not None and pa.types.is_temporal(kind):
            is_date, is_time = pa.types.is_date(kind), pa.types.is_time(kind)
            name = "date" if is_date else "time" if is_time else "datetime"
        return type(value).__name__ == name

    def _member(self, node: AvroNode, value: Any, path: str) -> bytes:
        names = [self._columns[child].name for child in self._columns[node.column].children]
        places = {names[child.size]: at for at, child in enumerate(node.children) if child.op is Op.MEMBER}
        members = self._taken(partial(taken.members, places), value, path)
        found = []
        for name, member in members.items():
            if name not in places:
                raise RowError("unknown_field", None, path, taken.no_member(name, places))
            found += [name] if member is not None else []
            if len(found) > 1:
                break
        if len(found) != 1:
            raise RowError("union_members", None, path)
        at = places[found[0]]
        return varint(at) + self.run(node.children[at], members[found[0]], path)

    def inner(self, node: AvroNode, value: Any, path: str) -> bytes:
        return self.run(node.children[0], value, path)

    def failure(self, node: AvroNode, value: Any, path: str) -> NoReturn:
        raise RowError(node.code, None, path, node.reason)


def _clock(kind: pa.DataType) -> Callable[[Any], int]:
    """Return what takes the values of a type of times."""
    if pa.types.is_time(kind):
        return taken.micros_of_day
    return taken.local_micros if kind.tz is None else taken.micros


_WRITERS: dict[Op, Callable[[_Values, AvroNode, Any, str], bytes]] = {
    Op.NULL: _Values.nothing,
    Op.BOOLEAN: _Values.boolean,
    Op.INT: _Values.integer,
    Op.LONG: _Values.integer,
    Op.FLOAT: _Values.floating,
    Op.DOUBLE: _Values.floating,
    Op.BYTES: _Values.string,
    Op.STRING: _Values.string,
    Op.FIXED: _Values.fixed,
    Op.ENUM: _Values.enum,
    Op.DECIMAL: _Values.decimal,
    Op.RECORD: _Values.record,
    Op.ARRAY: _Values.array,
    Op.MAP: _Values.map,
    Op.UNION: _Values.union,
    Op.PRESENT: _Values.inner,
    Op.MEMBER: _Values.inner,
    Op.DEFAULT: _Values.inner,
    Op.FAIL: _Values.failure,
}

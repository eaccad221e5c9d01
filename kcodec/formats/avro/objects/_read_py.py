"""Avro binary to Python objects in plain Python: the reference that `_read` is tested against."""

import datetime
import struct
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from kcodec.columns.types.isotime_py import bounds, read_iso
from kcodec.columns.types.layout import layout
from kcodec.columns.types.plain import PER_SECOND, is_text
from kcodec.errors import DecodeError
from kcodec.formats.avro._kernel_py import Row, is_iso, plain_text, single
from kcodec.formats.avro.plans.node import AvroNode, Op
from kcodec.objects.each import EachReader
from kcodec.objects.form import ObjectForm
from kcodec.objects.into import Target
from kcodec.objects.make_py import make_date, make_datetime, make_decimal, make_time
from kcodec.plan.failure import RowError, step
from kcodec.plan.node import Limits, Plan
from kcodec.plan.rows_py import ItemBytes, Program, quiet

__all__ = ["ObjectReader"]

_NO_YEAR = "the year is not one of 1 to 9999, which Python's dates and times have"
_NANOSECONDS = 'Python\'s times have no nanoseconds; round="truncate" drops them'


class ObjectReader(EachReader):
    """Reads payloads of a plan as Python objects; see `kcodec.objects.kernel.Reader`."""

    def __init__(
        self,
        plan: Plan,
        limits: Limits = Limits(),  # noqa: B008
        form: ObjectForm = ObjectForm(),  # noqa: B008
        *,
        trailing: bool = False,
    ) -> None:
        super().__init__(self._read)
        self._program = Program(plan, limits)
        self._columns = layout(plan.arrow_type)
        self._form = form
        self._into = None if form.into is None else Target(form.into)
        self._trailing = trailing
        # Also asks classes whether they take the fields, once and for all.
        self._calls: dict[int, Any] = {}
        self._look_up(plan.root, self._into)

    def _look_up(self, node: AvroNode, into: Target | None) -> None:
        if into is None:
            return
        if node.op is Op.RECORD:
            names = [self._columns[child].name for child in self._columns[node.column].children]
            self._calls[id(node)] = into.called_with(names)[0]
        for child in node.children:
            self._look_up(child, into.inside(child.name) if node.op is Op.RECORD else into)

    def _read(self, data: Any, start: int) -> Any:
        data = bytes(memoryview(data))
        # What items take in columns does not count here.
        items = ItemBytes({}, self._program.limits, data, start)
        try:
            if not 0 <= start <= len(data):
                raise RowError("truncated", len(data))
            row = _ObjectRow(self._program, self._columns, items, data, start)
            row.form, row.calls = self._form, self._calls
            value = row.make(self._program.plan.root, "")
            if not self._trailing and row.at < len(data):
                row.fail("trailing_bytes", row.at, "")
        except RowError as error:
            raise DecodeError(*error.fault(0)) from None
        return value


class _ObjectRow(Row):
    """One payload, whose values are returned."""

    form: ObjectForm
    calls: dict[int, Any]

    def make(self, node: AvroNode, path: str) -> Any:
        if node.column < 0 and node.op not in (Op.FAIL, Op.PRESENT, Op.ABSENT, Op.MEMBER, Op.DEFAULT):
            self.run(node, path)
            return None
        return _MAKERS[node.op](self, node, step(path, node.name))

    def kind(self, node: AvroNode) -> pa.DataType:
        return self.columns[node.column].type

    def names(self, node: AvroNode) -> list[str]:
        return [self.columns[child].name for child in self.columns[node.column].children]

    def make_nothing(self, node: AvroNode, path: str) -> None:
        return None

    def make_boolean(self, node: AvroNode, path: str) -> bool:
        byte = self.take(1, path)[0]
        if byte > 1:
            self.fail("invalid_boolean", self.at - 1, path)
        return byte == 1

    def make_integer(self, node: AvroNode, path: str) -> Any:
        begin, kind = self.at, self.kind(node)
        value = self.number(node, path)
        if pa.types.is_floating(kind):
            return single(value) if pa.types.is_float32(kind) else float(value)
        low, high = bounds(kind)
        if not low <= value <= high:
            self.fail("out_of_range", begin, path)
        return value if pa.types.is_integer(kind) else self.time(value, kind, begin, path)

    def time(self, value: int, kind: pa.DataType, at: int, path: str) -> Any:
        """Make a date or time of what its column holds."""
        made: Any
        if pa.types.is_date(kind):
            made = make_date(value)
        else:
            micros, rest = divmod(value * 1_000_000, PER_SECOND[kind.unit])
            if rest and not self.form.floor:
                self.fail("inexact", at, path, _NANOSECONDS)
            if pa.types.is_time(kind):
                made = make_time(micros)
            else:
                made = make_datetime(micros, datetime.timezone.utc if kind.tz else None)
        if made is None:
            self.fail("out_of_range", at, path, _NO_YEAR)
        return made

    def make_floating(self, node: AvroNode, path: str) -> float:
        if node.op is Op.FLOAT:
            return quiet(struct.unpack("<f", self.take(4, path))[0])
        return struct.unpack("<d", self.take(8, path))[0]

    def make_string(self, node: AvroNode, path: str) -> Any:
        data, kind = self.sized(path), self.kind(node)
        at = self.at - len(data)
        if is_iso(node, kind):
            value, code = read_iso(data.decode("ascii", "replace"), kind, utc=True, floor=node.floor)
            if code:
                self.fail(code, at, path)
            return self.time(value, kind, at, path)
        if not is_text(kind):
            return data
        try:
            return data.decode()
        except UnicodeDecodeError:
            self.fail("invalid_utf8", at, path)

    def make_fixed(self, node: AvroNode, path: str) -> bytes:
        return self.take(node.size, path)

    def make_enum(self, node: AvroNode, path: str) -> str:
        begin = self.at
        index = self.varint(path, 32)
        if not 0 <= index < len(node.symbols):
            self.fail("enum_index", begin, path)
        symbol = node.symbols[index]
        if symbol is None:
            self.fail("unresolvable", begin, path)
        self.expand(len(symbol.encode()), path)
        return symbol

    def make_decimal(self, node: AvroNode, path: str) -> Any:
        data = self.take(node.size, path) if node.size else self.sized(path)
        value = self.unscaled(node, path, data)
        if is_text(self.kind(node)):
            return plain_text(value, node.scale, lambda size: self.expand(size, path, len(data))).decode()
        return make_decimal(value, node.scale)

    def make_record(self, node: AvroNode, path: str) -> Any:
        fields = dict.fromkeys(self.names(node))
        for child in node.children:
            value = self.make(child, path)
            if child.column >= 0:
                fields[self.columns[child.column].name] = value
        call = self.calls.get(id(node))
        return fields if call is None else call(**fields)

    def make_array(self, node: AvroNode, path: str) -> list[Any]:
        return [self.make(node.children[0], where) for where in self.blocks(node, path)]

    def make_map(self, node: AvroNode, path: str) -> Any:
        entries: dict[str, Any] = {}
        for where in self.blocks(node, path):
            key = self.make(node.children[0], where + ".key")
            value = self.make(node.children[1], where + ".value")
            entries.pop(key, None)
            entries[key] = value
        return entries if self.form.maps == "dict" else list(entries.items())

    def make_union(self, node: AvroNode, path: str) -> Any:
        return self.make(self.branch(node, path), path)

    def make_present(self, node: AvroNode, path: str) -> Any:
        return self.make(node.children[0], path)

    def make_member(self, node: AvroNode, path: str) -> Any:
        value = self.make(node.children[0], path)
        if self.form.unions == "value":
            return value
        names = self.names(node)
        return dict.fromkeys(names) | {names[node.size]: value}

    def make_default(self, node: AvroNode, path: str) -> Any:
        return self.default(node, path, self.make)


_MAKERS: dict[Op, Callable[[_ObjectRow, AvroNode, str], Any]] = {
    Op.NULL: _ObjectRow.make_nothing,
    Op.BOOLEAN: _ObjectRow.make_boolean,
    Op.INT: _ObjectRow.make_integer,
    Op.LONG: _ObjectRow.make_integer,
    Op.FLOAT: _ObjectRow.make_floating,
    Op.DOUBLE: _ObjectRow.make_floating,
    Op.BYTES: _ObjectRow.make_string,
    Op.STRING: _ObjectRow.make_string,
    Op.FIXED: _ObjectRow.make_fixed,
    Op.ENUM: _ObjectRow.make_enum,
    Op.DECIMAL: _ObjectRow.make_decimal,
    Op.RECORD: _ObjectRow.make_record,
    Op.ARRAY: _ObjectRow.make_array,
    Op.MAP: _ObjectRow.make_map,
    Op.UNION: _ObjectRow.make_union,
    Op.PRESENT: _ObjectRow.make_present,
    Op.ABSENT: _ObjectRow.make_nothing,
    Op.MEMBER: _ObjectRow.make_member,
    Op.DEFAULT: _ObjectRow.make_default,
    Op.FAIL: Row.failure,
}

"""Objects that columns were read as, in the forms that single values may have."""

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from kcodec.columns.types.layout import layout
from kcodec.columns.types.plain import is_list
from kcodec.errors import Fault
from kcodec.objects.form import ObjectForm
from kcodec.objects.into import Target
from kcodec.objects.kernel import Reader

_Shape = Callable[[Any], Any]


def shape(kind: pa.DataType, form: ObjectForm, unions: frozenset[int] = frozenset()) -> _Shape | None:
    """Return what brings a value of a column into a form; None if the form changes nothing.

    The value is as `rows` of the column gives it. `unions` are those of the columns of
    `kcodec.columns.types.layout.layout` that are unions, as structs of their members. An ``into`` that is no class, or
    does not take the fields, is a `ConfigError`.

    >>> kind = pa.struct([("counts", pa.map_(pa.string(), pa.int32()))])
    >>> shape(kind, ObjectForm.of(maps="dict"))({"counts": [("a", 1)]})
    {'counts': {'a': 1}}
    >>> shape(kind, ObjectForm()) is None
    True
    """
    if form == ObjectForm():
        return None
    return _Shaper(kind, form, unions).of(0, None if form.into is None else Target(form.into))


def shaped(
    reader: Reader, kind: pa.DataType, form: ObjectForm, unions: frozenset[int] = frozenset()
) -> Reader:
    """Return what reads what another reader does, in a form; the arguments are those of `shape`."""
    found = shape(kind, form, unions)
    return reader if found is None else ShapedReader(reader, found)


class ShapedReader:
    """Reads what another reader reads, in another form; see `kcodec.objects.kernel.Reader`."""

    def __init__(self, reader: Reader, shaped: _Shape) -> None:
        self._reader = reader
        self._shape = shaped

    @property
    def told(self) -> bool:
        """Whether its faults have the reasons that ``decode`` gives."""
        return self._reader.told

    def decode_one(self, data: Any, start: int = 0) -> Any:
        """Read one payload."""
        return self._shape(self._reader.decode_one(data, start))

    def decode_list(
        self, values: Any, starts: Sequence[int] | None = None, stop: bool = False
    ) -> tuple[list[Any], list[Fault]]:
        """Read many."""
        made, faults = self._reader.decode_list(values, starts, stop)
        return list(map(self._shape, made)), faults


class _Shaper:
    """Makes shapes of the columns of a type."""

    def __init__(self, kind: pa.DataType, form: ObjectForm, unions: frozenset[int]) -> None:
        self._columns = layout(kind)
        self._form = form
        self._unions = unions if form.unions == "value" else frozenset()

    def of(self, number: int, into: Target | None) -> _Shape | None:
        column = self._columns[number]
        if pa.types.is_map(column.type):
            return self._map(column.children[1], into)
        if is_list(column.type):
            return _each(self.of(column.children[0], into))
        if not pa.types.is_struct(column.type):
            return None
        if number in self._unions:
            return self._union(column.children, into)
        return self._struct(column.children, into)

    def _struct(self, children: Sequence[int], into: Target | None) -> _Shape | None:
        names = [self._columns[child].name for child in children]
        below = {
            name: self.of(child, None if into is None else into.inside(name))
            for name, child in zip(names, children, strict=True)
        }
        changed = {name: each for name, each in below.items() if each is not None}
        if into is None:
            return _fields(changed) if changed else None
        call, keywords = into.called_with(names)

        def make(value: Any) -> Any:
            if value is None:
                return None
            fields = value | {name: each(value[name]) for name, each in changed.items()}
            return call(*fields.values()) if keywords is None else call(**fields)

        return make

    def _union(self, children: Sequence[int], into: Target | None) -> _Shape:
        below = {self._columns[child].name: self.of(child, into) for child in children}

        def choose(value: Any) -> Any:
            for name, member in (value or {}).items():
                if member is not None:
                    each = below[name]
                    return member if each is None else each(member)
            return None

        return choose

    def _map(self, item: int, into: Target | None) -> _Shape | None:
        each = self.of(item, into)
        if self._form.maps == "dict":
            return lambda value: (
                None if value is None else {k: v if each is None else each(v) for k, v in value}
            )
        return each and (lambda value: None if value is None else [(k, each(v)) for k, v in value])


def _each(item: _Shape | None) -> _Shape | None:
    return item and (lambda value: None if value is None else list(map(item, value)))


def _fields(changed: dict[str, _Shape]) -> _Shape:
    return lambda value: (
        None if value is None else value | {name: each(value[name]) for name, each in changed.items()}
    )

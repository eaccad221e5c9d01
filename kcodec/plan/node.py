"""Plans: what a schema, or a pair of writer's and reader's schemas, compiles to.

A plan is a tree of nodes in the order of the wire. Every node reads (or writes) one thing on the wire and says
which column it goes to (or comes from); names, aliases, defaults, promotions and union branches are resolved
when the plan is made, so that nothing of the schema is looked at per row.
"""

import enum
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import pyarrow as pa

from kcodec.columns.shown import MOST_ROWS, html_page, shortened
from kcodec.errors import ConfigError, is_whole, one_line

#: More levels than this are never followed, whatever the limits say: each takes room on the stack.
MAX_DEPTH = 1000


class Limits(NamedTuple):
    """Bounds on what a row of hostile bytes may cost.

    Attributes
    ----------
    max_depth : int
        Levels of recursive types that are followed while dropping a value; at most `MAX_DEPTH`.
    max_zero_byte_items : int
        Items that take no bytes (nulls, empty records) in one row.
    max_expansion : int
        Bytes and items that one row may yield beyond what its own bytes hold: defaults and enum symbols
        repeated per item, and zero-byte items. The items of lists and maps may take as many bytes in all columns
        below, and 16 for each byte of the payload: numbers their width, text, bytes and lists an offset, whether or
        not they are there. An empty item of 500 absent fields of 64 bits takes 4,000.
    max_number_length : int
        Characters of a number in JSON.

    Examples
    --------
    >>> from kcodec import AvroCodec
    >>> codec = AvroCodec('{"type": "array", "items": "null"}', limits=Limits(max_zero_byte_items=10))
    >>> codec.decode([bytes([22, 0])])
    Traceback (most recent call last):
    kcodec.errors.DecodeError: size_limit: row 0, byte 0: the value expands to more than the limits allow
    """

    max_depth: int = 200
    max_zero_byte_items: int = 1 << 16
    max_expansion: int = 1 << 26
    max_number_length: int = 1000

    @classmethod
    def of(cls, limits: "Limits | None") -> "Limits":
        """Check what a codec was given; None stands for the defaults.

        Raises
        ------
        ConfigError
            If it is something else, or a limit is not a whole number from 0 to 2**63 - 1.

        Examples
        --------
        >>> Limits.of(Limits(max_depth=-1))
        Traceback (most recent call last):
        kcodec.errors.ConfigError: max_depth=-1 is not a number from 0 to 2**63 - 1
        """
        if limits is None:
            return cls()
        if not isinstance(limits, cls):
            raise ConfigError(f"limits={limits!r} is not a kcodec.Limits")
        for name, value in limits._asdict().items():
            if not is_whole(value) or not 0 <= value < 1 << 63:
                raise ConfigError(f"{name}={value!r} is not a number from 0 to 2**63 - 1")
        return limits


@dataclass(frozen=True, slots=True)
class Node:
    """One step of a plan: what the steps of all formats have.

    A format has its ops, and its nodes with further attributes, in its own ``node.py``.

    Attributes
    ----------
    op : enum.Enum
        What it does.
    column : int
        Number of the column in ``layout(plan.arrow_type)``; -1 if the value is dropped.
    name : str
        Its step in error paths: a field's name; empty for what adds no step. Items of arrays add ``[i]``,
        keys and values of maps ``[i].key`` and ``[i].value``, whatever their name.
    children : tuple of Node
        What stands below it.
    code, reason : str
        Of a step that fails, or that may: the error. The reason alone is what people are told of the step.
    """

    op: enum.Enum
    column: int = -1
    name: str = ""
    children: "tuple[Node, ...]" = ()
    code: str = ""
    reason: str = ""

    def __str__(self) -> str:
        return "\n".join(map(str, _steps(self, 0)))

    def notes(self) -> list[str]:
        """Return what is printed of the attributes that the nodes of its format have."""
        return []

    def shown(self) -> "tuple[Node, ...]":
        """Return what is printed below it."""
        return self.children


@dataclass(frozen=True, slots=True, repr=False)
class Plan:
    """A compiled schema: how its bytes become the columns of an Arrow type, or the reverse.

    Printed, it is a tree, a line for each step; its ``repr`` is one screen of that, and in a notebook it is a table.

    Attributes
    ----------
    format : str
        Name of the format, such as ``"AVRO"``.
    direction : {"decode", "encode"}
        Which way.
    arrow_type : pyarrow.DataType
        The columns that nodes refer to.
    root : Node
        The tree.
    named : tuple of (str, Node)
        Trees that nodes refer to by these names.
    """

    format: str
    direction: str
    arrow_type: pa.DataType
    # Any, because each format has a class of its own.
    root: Any
    named: tuple[tuple[str, Any], ...] = ()

    def __str__(self) -> str:
        return "\n".join([f"{self._title}: {_escaped(str(self.arrow_type))}", *map(str, self._steps())])

    def __repr__(self) -> str:
        steps = list(self._steps())
        lines = [f"{self._title}: {self.arrow_type}", *map(str, steps[:MOST_ROWS])]
        if len(steps) > MOST_ROWS:
            lines.append(f"  ... and {len(steps) - MOST_ROWS:,} more: print it for all")
        # `shortened` makes one blank of those in front.
        return "\n".join(" " * (len(each) - len(each.lstrip(" "))) + shortened(each, 120) for each in lines)

    def _repr_html_(self) -> str:
        rows = [("· " * (each.depth - 1) + each.name, each.text, each.goes) for each in self._steps()]
        return html_page(self._title, ("name", "step", "column"), rows)

    @property
    def _title(self) -> str:
        return f"{self.format} {self.direction}"

    def _steps(self) -> "Iterator[_Step]":
        yield from _steps(self.root, 1)
        for name, node in self.named:
            yield _Step(1, name, "", "")
            yield from _steps(node, 2)


class _Step(NamedTuple):
    """A line of a plan that is printed."""

    depth: int
    name: str
    text: str
    goes: str

    def __str__(self) -> str:
        parts = (f"{self.name}:" if self.name else "", self.text, self.goes)
        return "  " * self.depth + " ".join(filter(None, parts))


def _steps(node: Node, depth: int) -> Iterator[_Step]:
    parts = [node.op.value, *node.notes()]
    if node.code:
        parts.append(f"{node.code}: {node.reason}")
    elif node.reason:
        parts.append(node.reason)
    goes = f"-> column {node.column}" if node.column >= 0 else ""
    if not goes and not node.code and not node.reason and not _has_column(node):
        goes = "(dropped)"
    yield _Step(depth, _escaped(node.name), _escaped(" ".join(parts)), goes)
    for child in node.shown():
        yield from _steps(child, depth + 1)


def _has_column(node: Node) -> bool:
    return node.column >= 0 or any(map(_has_column, node.children))


def _escaped(text: str) -> str:
    """Return a text of a schema, which may be a stranger's, as it may be printed."""
    # Escaped, a character is ten at most.
    return one_line(text, 10 * len(text) + 1)

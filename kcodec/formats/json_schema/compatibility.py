"""What differs between two JSON Schemas, and whether one accepts all that the other does.

The rules are in `comparison`; here is how schemas that contain themselves are compared: as the server does, or where
that takes too long, each pair once.
"""

from kcodec.errors import SchemaError
from kcodec.formats.json_schema.comparison import SAME, Comparison, Result, SchemaChange
from kcodec.formats.json_schema.difference_types import BREAKING, LENIENT, describe
from kcodec.formats.json_schema.schema import Node
from kcodec.formats.language import Difference

__all__ = ["changes", "differences"]

#: Pairs of schemas and differences that one comparison looks at while it unrolls recursive schemas as the server does.
MAX_UNROLLED = 20_000

#: Pairs of schemas that one comparison looks at: a second or two.
MAX_PAIRS = 300_000


def changes(old: Node, new: Node, *, lenient: bool = False) -> list[Difference]:
    """Return all differences between a new schema and an old one, including harmless ones.

    >>> from kcodec.formats.json_schema.schema import parse
    >>> old, new = (parse(text).root for text in ('{"type": "integer"}', '{"type": "number", "title": "n"}'))
    >>> [(each.type, each.path) for each in changes(old, new)]
    [('TITLE_CHANGED', '#/'), ('TYPE_EXTENDED', '#/')]
    """
    return [_difference(each) for each in _compared(old, new, lenient).changes]


def differences(reader: Node, writer: Node, *, lenient: bool = False) -> list[Difference]:
    """Return why a schema does not accept all that another one does; empty if it does.

    Examples
    --------
    >>> from kcodec.formats.json_schema.schema import parse
    >>> reader, writer = (parse(text).root for text in ('{"maximum": 3}', '{"maximum": 4}'))
    >>> differences(reader, writer)[0].type
    'MAXIMUM_DECREASED'
    """
    found = _compared(writer, reader, lenient)
    if found.compatible:
        return []
    passing = LENIENT if lenient else frozenset()
    return [_difference(each) for each in found.changes if each.type in BREAKING and each.type not in passing]


def _compared(old: Node, new: Node, lenient: bool) -> Result:
    try:
        try:
            return _Unrolling(lenient).whole(old, new)
        except _TooMuchError:
            return _Plain(lenient).whole(old, new)
    except RecursionError:
        raise SchemaError("schemas are nested too deeply to be compared") from None


def _difference(change: SchemaChange) -> Difference:
    path = "#/" + "/".join(change.steps)
    return Difference(change.type, path, describe(change.type, path, "new", "old"))


class _TooMuchError(Exception):
    """Raised when unrolling recursive schemas takes too long."""


class _Unrolling(Comparison):
    """A comparison that lists differences within recursive schemas as often as the server does.

    A pair within itself is taken to be compatible, and each result stands, whatever it rests on. If pairs turn out not
    to be compatible, all is compared again with their results known, until these pairs stay the same.
    """

    def __init__(self, lenient: bool) -> None:
        super().__init__(lenient)
        self.open: set[tuple[int, int]] = set()
        self.wrong: dict[tuple[int, int], Result] = {}
        #: Whether a pair was met within itself, in this comparison and in any.
        self.is_assumed = False
        self.recursive = False

    def whole(self, old: Node, new: Node) -> Result:
        while True:
            self.known = {}
            self.is_assumed = False
            result = self.compare(old, new)
            wrong = {pair: found for pair, found in self.known.items() if not found.compatible}
            if not self.is_assumed or wrong.keys() == self.wrong.keys():
                return result
            self.wrong = wrong

    def met(self, pair: tuple[int, int], old: Node, new: Node) -> Result:
        if pair in self.open:
            self.recursive = True
            if pair not in self.wrong:
                self.is_assumed = True
            return self.wrong.get(pair, SAME)
        self.done(1)
        self.open.add(pair)
        result = self.known[pair] = self.found(old, new)
        self.open.discard(pair)
        return result

    def done(self, work: int) -> None:
        # What refers to nothing that it is part of takes no unrolling, however much it is.
        self.work += work
        if self.work > (MAX_UNROLLED if self.recursive else MAX_PAIRS):
            if not self.recursive:
                raise SchemaError(f"comparing the schemas takes more than {MAX_PAIRS} steps")
            raise _TooMuchError


class _Plain(Comparison):
    """A comparison that looks at every pair once, for what takes too long to unroll.

    What is incompatible although pairs within themselves are taken to be compatible is incompatible for good; if the
    whole is compatible, it is looked at again for as long as more of that is found.
    """

    def __init__(self, lenient: bool) -> None:
        super().__init__(lenient)
        self.limit = 100
        self.open: set[tuple[int, int]] = set()
        self.wrong: dict[tuple[int, int], Result] = {}

    def whole(self, old: Node, new: Node) -> Result:
        while True:
            before = len(self.wrong)
            self.known = dict(self.wrong)
            result = self.compare(old, new)
            if not result.compatible or len(self.wrong) == before:
                return result

    def met(self, pair: tuple[int, int], old: Node, new: Node) -> Result:
        if pair in self.open:
            return SAME
        self.done(1)
        self.open.add(pair)
        result = self.found(old, new)
        self.open.discard(pair)
        self.known[pair] = result
        if not result.compatible:
            self.wrong[pair] = result
        return result

    def done(self, work: int) -> None:
        self.work += work
        if self.work > 2 * MAX_PAIRS:
            raise SchemaError(f"comparing the schemas takes more than {MAX_PAIRS} steps")

"""What differs between two JSON Schemas, and whether one accepts all that the other does.

The rules are those of Confluent's registry, oddities included, except where it throws: see the documentation of
registries.
"""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from typing import Any, NamedTuple

from kcodec.errors import SchemaError
from kcodec.formats.json_schema.difference_types import BREAKING, LENIENT, describe
from kcodec.formats.json_schema.patterns import matching
from kcodec.formats.json_schema.schema import ABSENT, Node
from kcodec.formats.schema_format import Difference
from kcodec.java.hashing import hash_order

__all__ = ["MAX_DIFFERENCES", "changes", "differences"]

#: Differences that are listed of one pair of schemas; more are counted in the verdict.
MAX_DIFFERENCES = 1000

#: Pairs of schemas and differences that one comparison looks at while it unrolls recursive schemas as the server does.
MAX_UNROLLED = 20_000

#: Pairs of schemas that one comparison looks at, and these and the differences of each together: a second or two.
MAX_PAIRS = 300_000
MAX_EFFORT = 150_000

#: Pairs of members of two combined schemas beyond which those in the same words are taken for each other.
MANY_MEMBERS = 10_000


class Change(NamedTuple):
    """One difference, with its path below the schemas that are compared."""

    type: str
    steps: tuple[str, ...] = ()


class Result(NamedTuple):
    """What comparing two schemas gives.

    Attributes
    ----------
    changes : tuple of Change
        At most `MAX_DIFFERENCES`.
    compatible : bool
        Whether no difference is breaking.
    """

    changes: tuple[Change, ...]
    compatible: bool


def changes(old: Node, new: Node, *, lenient: bool = False) -> list[Difference]:
    """Return all differences between a new schema and an old one, including harmless ones.

    Examples
    --------
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
            return _Unrolling(lenient).compare(old, new)
        except _TooMuchError:
            return _Plain(lenient).whole(old, new)
    except RecursionError:
        raise SchemaError("schemas are nested too deeply to be compared") from None


def _difference(change: Change) -> Difference:
    path = "#/" + "/".join(change.steps)
    return Difference(change.type, path, describe(change.type, path, "new", "old"))


@dataclass
class _Frame:
    """A pair of schemas that is being compared, and the result that is assumed when it is met again."""

    depth: int
    assumed: Result


_SAME = Result((), True)
_NOTHING = 1 << 30


class _TooMuchError(Exception):
    """Raised when unrolling recursive schemas takes too long."""


class _Comparison(ABC):
    """One comparison, with what is known of the pairs met so far."""

    def __init__(self, lenient: bool) -> None:
        self.breaking = BREAKING - LENIENT if lenient else BREAKING
        self.known: dict[tuple[int, int], Result] = {}
        self.limit = MAX_DIFFERENCES
        self.work = 0
        self.effort = 0

    def compare(self, old: Node | None, new: Node | None) -> Result:
        if old is not None and old.kind == "reference":
            old = old.target
        if new is not None and new.kind == "reference":
            new = new.target
        if old is None or new is None:
            if old is new:
                return _SAME
            return self.one("SCHEMA_ADDED" if old is None else "SCHEMA_REMOVED")
        pair = (id(old), id(new))
        known = self.known.get(pair)
        if known is not None:
            return known
        found = self.met(pair, old, new)
        self.effort += 1 + len(found.changes)
        if self.effort > MAX_EFFORT:
            raise SchemaError(f"comparing the schemas takes more than {MAX_EFFORT} steps")
        return found

    def counted(self, old: Node, new: Node) -> Result:
        """Compare one pair out of two long lists of schemas; there even pairs that are known already count as work."""
        before = self.work
        found = self.compare(old, new)
        if self.work == before:
            self.done(1)
        return found

    @abstractmethod
    def met(self, pair: tuple[int, int], old: Node, new: Node) -> Result:
        """Compare a pair that has no result yet."""

    @abstractmethod
    def done(self, work: int) -> None:
        """Add up the cost of a comparison."""

    # Results

    def one(self, kind: str, *steps: str) -> Result:
        return Result((Change(kind, steps),), kind not in self.breaking)

    def all(self, results: Iterable[Result]) -> Result:
        found: list[Change] = []
        compatible = True
        for each in results:
            compatible = compatible and each.compatible
            if len(found) < self.limit:
                found += each.changes
        return Result(tuple(found[: self.limit]), compatible)

    def below(self, result: Result, *steps: str) -> Result:
        if not result.changes:
            return result
        self.done(len(result.changes))
        return Result(
            tuple(Change(each.type, steps + each.steps) for each in result.changes), result.compatible
        )

    # Schemas of any kind

    def found(self, old: Node, new: Node) -> Result:
        if new.kind == "combined" and old.kind != "combined":
            if _is_single(new):
                found = self.compare(old, new.members[0])
                if found.compatible:
                    return found
            elif new.rules["criterion"] != "allOf":
                for member in new.members:
                    found = self.counted(old, member)
                    if found.compatible:
                        return self.all([found, self.one("SUM_TYPE_EXTENDED")])
        elif old.kind == "combined" and new.kind != "combined":
            if _is_single(old):
                found = self.compare(old.members[0], new)
                if found.compatible:
                    return found
            elif old.rules["criterion"] == "allOf":
                for member in old.members:
                    found = self.counted(member, new)
                    if found.compatible:
                        return self.all([found, self.one("PRODUCT_TYPE_NARROWED")])
        if old.kind != new.kind:
            if old.kind == "false" or new.kind == "empty" or (old.bytes and new.bytes):
                return _SAME
            return self.one("TYPE_CHANGED")
        results = [
            self.one(kind)
            for kind, before, after in (
                ("ID_CHANGED", old.id, new.id),
                ("TITLE_CHANGED", old.title, new.title),
                ("DESCRIPTION_CHANGED", old.description, new.description),
            )
            if before != after
        ]
        if _default_changed(old.default, new.default):
            results.append(self.one("DEFAULT_CHANGED"))
        by_kind = getattr(self, f"compare_{old.kind}", None)
        if by_kind is not None:
            results += by_kind(old, new)
        return self.all(results)

    # By kind

    def compare_string(self, old: Node, new: Node) -> list[Result]:
        return [
            *self.bounds(old, new, "maxLength", "MAX_LENGTH"),
            *self.bounds(old, new, "minLength", "MIN_LENGTH"),
            *self.values(old, new, "pattern", "PATTERN"),
        ]

    def compare_number(self, old: Node, new: Node) -> list[Result]:
        results = [
            *self.bounds(old, new, "maximum", "MAXIMUM"),
            *self.bounds(old, new, "minimum", "MINIMUM"),
            *self.exclusive_maximum(old, new),
            *self.bounds(old, new, "exclusiveMinimum", "EXCLUSIVE_MINIMUM"),
            *self.multiple_of(old, new),
        ]
        if old.rules["integer"] != new.rules["integer"]:
            results.append(self.one("TYPE_EXTENDED" if old.rules["integer"] else "TYPE_NARROWED"))
        return results

    def exclusive_maximum(self, old: Node, new: Node) -> list[Result]:
        """Compare exclusive maxima; of one that is lowered below an unchanged reach, see the documentation."""
        results = self.bounds(old, new, "exclusiveMaximum", "EXCLUSIVE_MAXIMUM")
        if results and results[0].changes[0].type == "EXCLUSIVE_MAXIMUM_DECREASED":
            reach = new.rules.get("maximum")
            if reach is not None and _double(old.rules["exclusiveMaximum"]) <= _double(reach):
                return []
        return results

    def multiple_of(self, old: Node, new: Node) -> list[Result]:
        before, after = old.rules.get("multipleOf"), new.rules.get("multipleOf")
        if before is None or after is None:
            return self.values(old, new, "multipleOf", "MULTIPLE_OF")
        before, after = _exact(before), _exact(after)
        if before == after:
            return []
        kind = "CHANGED"
        if _divides(before, after):
            kind = "EXPANDED"
        elif _divides(after, before):
            kind = "REDUCED"
        return [self.one(f"MULTIPLE_OF_{kind}", "multipleOf")]

    def compare_enum(self, old: Node, new: Node) -> list[Result]:
        before, after = (frozenset(_value(each) for each in node.rules["enum"]) for node in (old, new))
        if before == after:
            return []
        kind = "EXTENDED" if before < after else "NARROWED" if after < before else "CHANGED"
        return [self.one(f"ENUM_ARRAY_{kind}", "enum")]

    def compare_const(self, old: Node, new: Node) -> list[Result]:
        if _value(old.rules["const"]) == _value(new.rules["const"]):
            return []
        return [self.one("ENUM_ARRAY_CHANGED", "const")]

    def compare_not(self, old: Node, new: Node) -> list[Result]:
        before, after = old.rules["not"], new.rules["not"]
        found = self.compare(after, before)
        if found.compatible and not found.changes and old.rules["text"] == new.rules["text"]:
            return []
        return [self.one("NOT_TYPE_NARROWED" if found.compatible else "NOT_TYPE_EXTENDED", "not")]

    def compare_array(self, old: Node, new: Node) -> list[Result]:
        results = [
            *self.bounds(old, new, "maxItems", "MAX_ITEMS"),
            *self.bounds(old, new, "minItems", "MIN_ITEMS"),
            *self.bounds(old, new, "maxContains", "MAX_CONTAINS"),
            *self.bounds(old, new, "minContains", "MIN_CONTAINS"),
        ]
        before, after = old.rules.get("uniqueItems", False), new.rules.get("uniqueItems", False)
        if before != after:
            results.append(self.one(f"UNIQUE_ITEMS_{'ADDED' if after else 'REMOVED'}", "uniqueItems"))
        results += self.rest(old, new, "additional", "ADDITIONAL_ITEMS", "additionalItems")
        results += self.rest(old, new, "unevaluated", "UNEVALUATED_ITEMS", "unevaluatedItems")
        found = self.compare(old.rules.get("items"), new.rules.get("items"))
        results.append(self.below(found, "items"))
        results += self.tuples(old, new)
        return results

    def tuples(self, old: Node, new: Node) -> list[Result]:
        before, after = old.rules.get("prefix", []), new.rules.get("prefix", [])
        results = []
        for number in range(max(len(before), len(after))):
            step = str(number)
            if number >= len(after):
                results += self.removed("ITEM", before[number], new, _rest(new), "items", step)
            elif number >= len(before):
                results += self.item_added(after[number], old, step)
            else:
                results.append(self.below(self.compare(before[number], after[number]), "items", step))
        return results

    def removed(self, what: str, schema: Node, new: Node, rest: Node | None, *steps: str) -> list[Result]:
        """Compare an item or a property that the new schema does not list with its schema for further ones."""
        if _is_open(new):
            return [self.one(f"{what}_REMOVED_FROM_OPEN_CONTENT_MODEL", *steps)]
        if rest is None:
            kind = f"{what}_WITH_FALSE_REMOVED_FROM" if schema.kind == "false" else f"{what}_REMOVED_FROM"
            return [self.one(f"{kind}_CLOSED_CONTENT_MODEL", *steps)]
        return self.covered(self.compare(schema, rest), f"{what}_REMOVED", *steps)

    def item_added(self, item: Node, old: Node, step: str) -> list[Result]:
        if _is_open(old):
            kind = "ITEM_WITH_EMPTY_SCHEMA_ADDED_TO" if item.kind == "empty" else "ITEM_ADDED_TO"
            return [self.one(f"{kind}_OPEN_CONTENT_MODEL", "items", step)]
        rest = _rest(old)
        if rest is None:
            return [self.one("ITEM_ADDED_TO_CLOSED_CONTENT_MODEL", "items", step)]
        return self.covered(self.compare(rest, item), "ITEM_ADDED", "items", step)

    def covered(self, found: Result, what: str, *steps: str) -> list[Result]:
        covered = "IS_COVERED" if found.compatible else "NOT_COVERED"
        kind = f"{what}_{covered}_BY_PARTIALLY_OPEN_CONTENT_MODEL"
        return [self.below(found, *steps), self.one(kind, *steps)]

    def compare_object(self, old: Node, new: Node) -> list[Result]:
        return [
            *self.required(old, new),
            *self.properties(old, new),
            *self.dependencies(old, new),
            *self.rest(old, new, "additional", "ADDITIONAL_PROPERTIES", "additionalProperties"),
            *self.rest(old, new, "unevaluated", "UNEVALUATED_PROPERTIES", "unevaluatedProperties"),
            *self.bounds(old, new, "maxProperties", "MAX_PROPERTIES"),
            *self.bounds(old, new, "minProperties", "MIN_PROPERTIES"),
        ]

    def required(self, old: Node, new: Node) -> list[Result]:
        before, after = old.rules.get("required", ()), new.rules.get("required", ())
        declared = old.rules.get("properties", {}).keys() & new.rules.get("properties", {}).keys()
        results = []
        for name in dict.fromkeys([*before, *after]):
            if name not in declared or (name in before) == (name in after):
                continue
            if name in before:
                results.append(self.one("REQUIRED_ATTRIBUTE_REMOVED", "required", name))
            elif new.rules["properties"][name].default is not ABSENT:
                results.append(self.one("REQUIRED_ATTRIBUTE_WITH_DEFAULT_ADDED", "required", name))
            else:
                results.append(self.one("REQUIRED_ATTRIBUTE_ADDED", "required", name))
        return results

    def dependencies(self, old: Node, new: Node) -> list[Result]:
        results = []
        before, after = (node.rules.get("dependentRequired", {}) for node in (old, new))
        for name in dict.fromkeys([*before, *after]):
            if name not in after:
                kind = "REMOVED"
            elif name not in before:
                kind = "ADDED"
            else:
                left, right = set(before[name]), set(after[name])
                if left == right:
                    continue
                kind = "EXTENDED" if left < right else "NARROWED" if right < left else "CHANGED"
            results.append(self.one(f"DEPENDENCY_ARRAY_{kind}", "dependencies", name))
        before, after = (node.rules.get("dependentSchemas", {}) for node in (old, new))
        for name in dict.fromkeys([*before, *after]):
            if name not in after:
                results.append(self.one("DEPENDENCY_SCHEMA_REMOVED", "dependencies", name))
            elif name not in before:
                results.append(self.one("DEPENDENCY_SCHEMA_ADDED", "dependencies", name))
            else:
                found = self.compare(before[name], after[name])
                results.append(self.below(found, "dependencies", name))
        return results

    def properties(self, old: Node, new: Node) -> list[Result]:
        before, after = (node.rules.get("properties", {}) for node in (old, new))
        beyond_new = self.beyond(new, [name for name in before if name not in after])
        beyond_old = self.beyond(old, [name for name in after if name not in before])
        results = []
        for name in hash_order(before, after):
            if name not in after:
                results += self.removed("PROPERTY", before[name], new, beyond_new[name], "properties", name)
            elif name not in before:
                results += self.property_added(name, after[name], old, new, beyond_old[name])
            else:
                results.append(self.below(self.compare(before[name], after[name]), "properties", name))
        return results

    def beyond(self, node: Node, names: list[str]) -> dict[str, Node | None]:
        """Return the schemas of an object for names besides its properties; None for a name that is not allowed."""
        found: dict[str, Node | None] = dict.fromkeys(names, _rest(node))
        patterns: Mapping[str, Node] = node.rules.get("patterns", {})
        for pattern, schema in patterns.items():
            if not names:
                break
            matched = matching(pattern, names, self.done)
            found.update(dict.fromkeys(matched, schema))
            names = [name for name in names if name not in matched]
        return found

    def property_added(
        self, name: str, schema: Node, old: Node, new: Node, rest: Node | None
    ) -> list[Result]:
        how = "OPTIONAL_PROPERTY"
        if name in new.rules.get("required", ()):
            how = "REQUIRED_PROPERTY" if schema.default is ABSENT else "REQUIRED_PROPERTY_WITH_DEFAULT"
        if _is_open(old):
            if schema.kind == "empty":
                how = "PROPERTY_WITH_EMPTY_SCHEMA"
            return [self.one(f"{how}_ADDED_TO_OPEN_CONTENT_MODEL", "properties", name)]
        results = []
        if rest is not None:
            results = self.covered(self.compare(rest, schema), "PROPERTY_ADDED", "properties", name)
        return [*results, self.one(f"{how}_ADDED_TO_UNOPEN_CONTENT_MODEL", "properties", name)]

    def compare_combined(self, old: Node, new: Node) -> list[Result]:
        before, after = old.rules["criterion"], new.rules["criterion"]
        results = []
        if before != after:
            if not (
                after == "anyOf"
                or (_is_single(old) and (after == "oneOf" or _is_single(new)))
                or (before == "allOf" and _is_single(new))
            ):
                return [self.one("COMBINED_TYPE_CHANGED")]
            results.append(self.one("COMBINED_TYPE_EXTENDED"))
        if len(old.members) < len(new.members):
            results.append(self.one("PRODUCT_TYPE_EXTENDED" if after == "allOf" else "SUM_TYPE_EXTENDED"))
        elif len(old.members) > len(new.members):
            results.append(self.one("PRODUCT_TYPE_NARROWED" if before == "allOf" else "SUM_TYPE_NARROWED"))
        edges = self.edges(old, new)
        matched = _match(edges)
        for left, right in sorted(matched.items()):
            results.append(self.below(edges[left][right], before, str(left)))
        if len(matched) < min(len(old.members), len(new.members)):
            results.append(self.one("COMBINED_TYPE_SUBSCHEMAS_CHANGED"))
        return results

    def edges(self, old: Node, new: Node) -> list[dict[int, Result]]:
        """Return for each member of a combined schema those of another one that accept what it does.

        Of very many, those in the same words are taken for each other, and only the rest is compared with each other.
        """
        same: dict[int, tuple[int, Result]] = {}
        if len(old.members) * len(new.members) > MANY_MEMBERS:
            places = {text: right for right, text in enumerate(new.rules.get("texts", ()))}
            for left, text in enumerate(old.rules.get("texts", ())):
                if text in places:
                    found = self.compare(old.members[left], new.members[places[text]])
                    if found.compatible:
                        same[left] = (places[text], found)
        taken = {right for right, _ in same.values()}
        rest = [(right, each) for right, each in enumerate(new.members) if right not in taken]
        edges = []
        for left, each in enumerate(old.members):
            if left in same:
                edges.append(dict([same[left]]))
                continue
            results = ((right, self.counted(each, member)) for right, member in rest)
            edges.append({right: found for right, found in results if found.compatible})
        return edges

    # Keywords

    def bounds(self, old: Node, new: Node, key: str, kind: str) -> list[Result]:
        before, after = old.rules.get(key), new.rules.get(key)
        if before is None or after is None:
            return self.values(old, new, key, kind)
        # Numbers are compared as doubles.
        before, after = _double(before), _double(after)
        if before == after:
            return []
        return [self.one(f"{kind}_{'INCREASED' if before < after else 'DECREASED'}", key)]

    def values(self, old: Node, new: Node, key: str, kind: str) -> list[Result]:
        before, after = old.rules.get(key), new.rules.get(key)
        if before == after:
            return []
        what = "ADDED" if before is None else "REMOVED" if after is None else "CHANGED"
        return [self.one(f"{kind}_{what}", key)]

    def rest(self, old: Node, new: Node, key: str, kind: str, step: str) -> list[Result]:
        before, after = old.rules.get(key, True), new.rules.get(key, True)
        if (before is False) != (after is False):
            return [self.one(f"{kind}_{'ADDED' if before is False else 'REMOVED'}", step)]
        if isinstance(before, Node) and isinstance(after, Node):
            return [self.below(self.compare(before, after), step)]
        if before is after:
            return []
        return [self.one(f"{kind}_{'EXTENDED' if isinstance(before, Node) else 'NARROWED'}", step)]


class _Unrolling(_Comparison):
    """A comparison that lists differences within recursive schemas as often as the server does.

    A pair within itself is taken to be compatible; if it turns out not to be, it is compared again with that known.
    """

    def __init__(self, lenient: bool) -> None:
        super().__init__(lenient)
        #: Results that rest on a pair that is still being compared, with the depth of the outermost of these.
        self.resting: dict[tuple[int, int], tuple[Result, int]] = {}
        self.order: list[tuple[int, int]] = []
        self.frames: dict[tuple[int, int], _Frame] = {}
        #: The depth of the outermost pair that the current one has met again.
        self.low = _NOTHING
        self.recursive = False

    def met(self, pair: tuple[int, int], old: Node, new: Node) -> Result:
        frame = self.frames.get(pair)
        if frame is not None:
            self.low = min(self.low, frame.depth)
            self.recursive = True
            return frame.assumed
        if pair in self.resting:
            result, low = self.resting[pair]
            self.low = min(self.low, low)
            return result
        self.done(1)
        frame = _Frame(len(self.frames), _SAME)
        self.frames[pair] = frame
        outer, self.low = self.low, _NOTHING
        mark = len(self.order)
        result = self.found(old, new)
        if self.low <= frame.depth and not result.compatible:
            self.forget(mark)
            frame.assumed, self.low = result, _NOTHING
            result = self.found(old, new)
        del self.frames[pair]
        if self.low >= frame.depth:
            self.forget(mark)
            self.known[pair] = result
            self.low = outer
        else:
            self.resting[pair] = (result, self.low)
            self.order.append(pair)
            self.low = min(self.low, outer)
        return result

    def forget(self, mark: int) -> None:
        for pair in self.order[mark:]:
            del self.resting[pair]
        del self.order[mark:]

    def done(self, work: int) -> None:
        # What refers to nothing that it is part of takes no unrolling, however much it is.
        self.work += work
        if self.work > (MAX_UNROLLED if self.recursive else MAX_PAIRS):
            if not self.recursive:
                raise SchemaError(f"comparing the schemas takes more than {MAX_PAIRS} steps")
            raise _TooMuchError


class _Plain(_Comparison):
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
            return _SAME
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


def _is_single(node: Node) -> bool:
    """Return whether a combined schema has a single member; a member written twice counts as two."""
    written: int = node.rules.get("written", len(node.members))
    return written == 1


def _is_open(node: Node) -> bool:
    """Return whether an object or an array allows any properties or items besides those listed."""
    rules = node.rules
    return (
        rules.get("additional", True) is True
        and rules.get("unevaluated", True) is True
        and not rules.get("patterns")
    )


def _rest(node: Node) -> Node | None:
    """Return the schema of further properties or items; None if only the listed ones are allowed."""
    for key in ("additional", "unevaluated"):
        if isinstance(node.rules.get(key), Node):
            found: Node = node.rules[key]
            return found
    return None


def _match(edges: list[dict[int, Result]]) -> dict[int, int]:
    """Return a largest matching of a bipartite graph, by augmenting paths without recursion."""
    owner: dict[int, int] = {}
    taken: dict[int, int] = {}
    # What a search reached in vain leads to nothing later either.
    closed: set[int] = set()
    for start in range(len(edges)):
        # Breadth first: from where each node of the other side is reached.
        reached: dict[int, int] = {}
        waiting = deque([start])
        end = None
        while waiting and end is None:
            left = waiting.popleft()
            for right in edges[left]:
                if right not in reached and right not in closed:
                    reached[right] = left
                    if right not in owner:
                        end = right
                        break
                    waiting.append(owner[right])
        if end is None:
            closed.update(reached)
        while end is not None:
            left = reached[end]
            owner[end], taken[left], end = left, end, taken.get(left)
    return taken


def _default_changed(before: Any, after: Any) -> bool:
    """Compare defaults as the server does: objects and arrays never equal each other, null equals none before it."""
    if before is ABSENT:
        return after is not ABSENT
    if before is None:
        return after is not None and after is not ABSENT
    if isinstance(before, (dict, list)) or after is ABSENT:
        return True
    return bool(_value(before) != _value(after))


def _double(number: Any) -> float:
    try:
        return float(number)
    except OverflowError:
        return float("inf") if number > 0 else float("-inf")


def _exact(number: Any) -> Decimal:
    return number if isinstance(number, Decimal) else Decimal(number)


#: Exact for all numbers that differ by less than two thousand powers of ten, which as integers may be too large.
_WIDE = Context(prec=4000, Emax=MAX_EMAX, Emin=MIN_EMIN)


def _divides(part: Decimal, whole: Decimal) -> bool:
    if not part or not part.is_finite() or not whole.is_finite():
        return False
    if abs(part.adjusted() - whole.adjusted()) > 2000:
        return False
    return not _WIDE.remainder(whole, part)


def _value(value: Any) -> Any:
    """Return something hashable that is equal for values that are equal in Java: 1 is not 1.0, true is not 1."""
    if isinstance(value, dict):
        return frozenset((key, _value(each)) for key, each in value.items())
    if isinstance(value, list):
        return tuple(_value(each) for each in value)
    if isinstance(value, Decimal):
        return ("decimal", value.as_tuple())
    return (type(value).__name__, value)

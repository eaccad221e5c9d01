"""One comparison of two JSON Schemas: which differences there are by each keyword, and which of them break readers.

The rules are those of Confluent's registry, oddities included, except where it throws: see the documentation of
registries. How often a pair is looked at that stands within itself, a subclass says.
"""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable, Mapping
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from typing import Any, NamedTuple

from kcodec.errors import SchemaError
from kcodec.formats.json_schema.difference_types import BREAKING, LENIENT
from kcodec.formats.json_schema.patterns import matching
from kcodec.formats.json_schema.schema import ABSENT, Node
from kcodec.java.hashing import hash_order
from kcodec.java.numbers import narrow_integer, round_to_double

__all__ = ["SAME", "Comparison", "Result", "SchemaChange"]

#: Differences that are listed of one pair of schemas; more are counted in the verdict.
MAX_DIFFERENCES = 1000

#: Results of pairs, known ones included, and their differences that one comparison looks at: a second or two.
MAX_EFFORT = 150_000

#: Pairs of members of two combined schemas beyond which those in the same words are taken for each other.
MANY_MEMBERS = 10_000


class SchemaChange(NamedTuple):
    """One difference, with its path below the schemas that are compared."""

    type: str
    steps: tuple[str, ...] = ()


class Result(NamedTuple):
    """What comparing two schemas gives."""

    #: At most `MAX_DIFFERENCES`.
    changes: tuple[SchemaChange, ...]
    #: Whether no difference is breaking.
    compatible: bool


#: What comparing a schema with itself gives.
SAME = Result((), True)


class Comparison(ABC):
    """One comparison, with what is known of the pairs met so far."""

    def __init__(self, lenient: bool) -> None:
        self.breaking = BREAKING - LENIENT if lenient else BREAKING
        self.known: dict[tuple[int, int], Result] = {}
        self.limit = MAX_DIFFERENCES
        self.work = 0
        self.effort = 0

    def compare(self, old: Node | None, new: Node | None) -> Result:
        """Compare two schemas, or find what is known of them; None stands for one that is not there."""
        if old is not None and old.kind == "reference":
            old = old.target
        if new is not None and new.kind == "reference":
            new = new.target
        if old is None or new is None:
            if old is new:
                return SAME
            return self._one("SCHEMA_ADDED" if old is None else "SCHEMA_REMOVED")
        pair = (id(old), id(new))
        known = self.known.get(pair)
        if known is not None:
            return known
        found = self.met(pair, old, new)
        self.effort += 1 + len(found.changes)
        if self.effort > MAX_EFFORT:
            raise SchemaError(f"comparing the schemas takes more than {MAX_EFFORT} steps")
        return found

    def _counted(self, old: Node, new: Node) -> Result:
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

    def _one(self, kind: str, *steps: str) -> Result:
        return Result((SchemaChange(kind, steps),), kind not in self.breaking)

    def _all(self, results: Iterable[Result]) -> Result:
        found: list[SchemaChange] = []
        compatible = True
        for each in results:
            compatible = compatible and each.compatible
            if len(found) < self.limit:
                found += each.changes
        return Result(tuple(found[: self.limit]), compatible)

    def _below(self, result: Result, *steps: str) -> Result:
        if not result.changes:
            return result
        self.done(len(result.changes))
        return Result(
            tuple(SchemaChange(each.type, steps + each.steps) for each in result.changes), result.compatible
        )

    # Schemas of any kind

    def found(self, old: Node, new: Node) -> Result:
        """Compare two schemas by the rules for their kinds."""
        if new.kind == "combined" and old.kind != "combined":
            if _is_single(new):
                found = self.compare(old, new.members[0])
                if found.compatible:
                    return found
            elif new.rules["criterion"] != "allOf":
                for member in new.members:
                    found = self._counted(old, member)
                    if found.compatible:
                        return self._all([found, self._one("SUM_TYPE_EXTENDED")])
        elif old.kind == "combined" and new.kind != "combined":
            if _is_single(old):
                found = self.compare(old.members[0], new)
                if found.compatible:
                    return found
            elif old.rules["criterion"] == "allOf":
                for member in old.members:
                    found = self._counted(member, new)
                    if found.compatible:
                        return self._all([found, self._one("PRODUCT_TYPE_NARROWED")])
        if old.kind != new.kind:
            if old.kind == "false" or new.kind == "empty" or (old.bytes and new.bytes):
                return SAME
            return self._one("TYPE_CHANGED")
        if old.kind == "empty" and old.rules != new.rules:
            # To Confluent's classes true is of another type than an object without keywords that demand something.
            return SAME
        results = [
            self._one(kind)
            for kind, before, after in (
                ("ID_CHANGED", old.id, new.id),
                ("TITLE_CHANGED", old.title, new.title),
                ("DESCRIPTION_CHANGED", old.description, new.description),
            )
            if before != after
        ]
        if _default_changed(old.default, new.default):
            results.append(self._one("DEFAULT_CHANGED"))
        by_kind = getattr(self, f"_compare_{old.kind}", None)
        if by_kind is not None:
            results += by_kind(old, new)
        return self._all(results)

    # By kind

    def _compare_string(self, old: Node, new: Node) -> list[Result]:
        return [
            *self._bounds(old, new, "maxLength", "MAX_LENGTH"),
            *self._bounds(old, new, "minLength", "MIN_LENGTH"),
            *self._values(old, new, "pattern", "PATTERN"),
        ]

    def _compare_number(self, old: Node, new: Node) -> list[Result]:
        results = [
            *self._bounds(old, new, "maximum", "MAXIMUM"),
            *self._bounds(old, new, "minimum", "MINIMUM"),
            *self._exclusive_maximum(old, new),
            *self._bounds(old, new, "exclusiveMinimum", "EXCLUSIVE_MINIMUM"),
            *self._multiple_of(old, new),
        ]
        if old.rules["integer"] != new.rules["integer"]:
            results.append(self._one("TYPE_EXTENDED" if old.rules["integer"] else "TYPE_NARROWED"))
        return results

    def _exclusive_maximum(self, old: Node, new: Node) -> list[Result]:
        """Compare exclusive maxima; of one that is lowered below an unchanged reach, see the documentation."""
        results = self._bounds(old, new, "exclusiveMaximum", "EXCLUSIVE_MAXIMUM")
        if results and results[0].changes[0].type == "EXCLUSIVE_MAXIMUM_DECREASED":
            reach = new.rules.get("maximum")
            if reach is not None and round_to_double(old.rules["exclusiveMaximum"]) <= round_to_double(reach):
                return []
        return results

    def _multiple_of(self, old: Node, new: Node) -> list[Result]:
        before, after = old.rules.get("multipleOf"), new.rules.get("multipleOf")
        if before is None or after is None:
            return self._values(old, new, "multipleOf", "MULTIPLE_OF")
        before, after = _exact(before), _exact(after)
        if before == after:
            return []
        kind = "CHANGED"
        if _divides(before, after):
            kind = "EXPANDED"
        elif _divides(after, before):
            kind = "REDUCED"
        return [self._one(f"MULTIPLE_OF_{kind}", "multipleOf")]

    def _compare_enum(self, old: Node, new: Node) -> list[Result]:
        before, after = (frozenset(_value(each) for each in node.rules["enum"]) for node in (old, new))
        if before == after:
            return []
        kind = "EXTENDED" if before < after else "NARROWED" if after < before else "CHANGED"
        return [self._one(f"ENUM_ARRAY_{kind}", "enum")]

    def _compare_const(self, old: Node, new: Node) -> list[Result]:
        if _value(old.rules["const"]) == _value(new.rules["const"]):
            return []
        return [self._one("ENUM_ARRAY_CHANGED", "const")]

    def _compare_not(self, old: Node, new: Node) -> list[Result]:
        before, after = old.rules["not"], new.rules["not"]
        found = self.compare(after, before)
        return [self._one("NOT_TYPE_NARROWED" if found.compatible else "NOT_TYPE_EXTENDED", "not")]

    def _compare_array(self, old: Node, new: Node) -> list[Result]:
        results = [
            self._below(self.compare(old.rules.get("items"), new.rules.get("items")), "items"),
            *self._tuples(old, new),
            *self._rest(old, new, "additional", "ADDITIONAL_ITEMS", "additionalItems"),
            *self._unevaluated(old, new, "UNEVALUATED_ITEMS", "unevaluatedItems"),
            *self._bounds(old, new, "maxItems", "MAX_ITEMS"),
            *self._bounds(old, new, "minItems", "MIN_ITEMS"),
        ]
        before, after = old.rules.get("uniqueItems", False), new.rules.get("uniqueItems", False)
        if before != after:
            results.append(self._one(f"UNIQUE_ITEMS_{'ADDED' if after else 'REMOVED'}", "uniqueItems"))
        return [
            *results,
            *self._contained(old, new, "maxContains", "MAX_CONTAINS"),
            *self._contained(old, new, "minContains", "MIN_CONTAINS"),
        ]

    def _tuples(self, old: Node, new: Node) -> list[Result]:
        before, after = old.rules.get("prefix", []), new.rules.get("prefix", [])
        results = []
        for number in range(max(len(before), len(after))):
            step = str(number)
            if number >= len(after):
                results += self._removed("ITEM", before[number], new, _rest(new), "items", step)
            elif number >= len(before):
                results += self._item_added(after[number], old, step)
            else:
                results.append(self._below(self.compare(before[number], after[number]), "items", step))
        return results

    def _removed(self, what: str, schema: Node, new: Node, rest: Node | None, *steps: str) -> list[Result]:
        """Compare an item or a property that the new schema does not list with its schema for further ones."""
        if _is_open(new):
            return [self._one(f"{what}_REMOVED_FROM_OPEN_CONTENT_MODEL", *steps)]
        if rest is None:
            kind = f"{what}_WITH_FALSE_REMOVED_FROM" if schema.kind == "false" else f"{what}_REMOVED_FROM"
            return [self._one(f"{kind}_CLOSED_CONTENT_MODEL", *steps)]
        return self._covered(self.compare(schema, rest), f"{what}_REMOVED", *steps)

    def _item_added(self, item: Node, old: Node, step: str) -> list[Result]:
        if _is_open(old):
            kind = "ITEM_WITH_EMPTY_SCHEMA_ADDED_TO" if item.kind == "empty" else "ITEM_ADDED_TO"
            return [self._one(f"{kind}_OPEN_CONTENT_MODEL", "items", step)]
        rest = _rest(old)
        if rest is None:
            return [self._one("ITEM_ADDED_TO_CLOSED_CONTENT_MODEL", "items", step)]
        return self._covered(self.compare(rest, item), "ITEM_ADDED", "items", step)

    def _covered(self, found: Result, what: str, *steps: str) -> list[Result]:
        covered = "IS_COVERED" if found.compatible else "NOT_COVERED"
        kind = f"{what}_{covered}_BY_PARTIALLY_OPEN_CONTENT_MODEL"
        return [self._below(found, *steps), self._one(kind, *steps)]

    def _compare_object(self, old: Node, new: Node) -> list[Result]:
        return [
            *self._required(old, new),
            *self._properties(old, new),
            *self._dependencies(old, new),
            *self._rest(old, new, "additional", "ADDITIONAL_PROPERTIES", "additionalProperties"),
            *self._unevaluated(old, new, "UNEVALUATED_PROPERTIES", "unevaluatedProperties"),
            *self._bounds(old, new, "maxProperties", "MAX_PROPERTIES"),
            *self._bounds(old, new, "minProperties", "MIN_PROPERTIES"),
        ]

    def _required(self, old: Node, new: Node) -> list[Result]:
        before, after = old.rules.get("required", ()), new.rules.get("required", ())
        properties: Mapping[str, Node] = new.rules.get("properties", {})
        results = []
        for name in hash_order((), old.rules.get("properties", ())):
            if name not in properties or (name in before) == (name in after):
                continue
            if name in before:
                kind = "REMOVED"
            else:
                kind = "ADDED" if properties[name].default is ABSENT else "WITH_DEFAULT_ADDED"
            results.append(self._one(f"REQUIRED_ATTRIBUTE_{kind}", "required", name))
        return results

    def _dependencies(self, old: Node, new: Node) -> list[Result]:
        results = []
        before, after = (node.rules.get("dependentRequired", {}) for node in (old, new))
        for name in hash_order(before, after):
            if name not in after:
                kind = "REMOVED"
            elif name not in before:
                kind = "ADDED"
            else:
                left, right = set(before[name]), set(after[name])
                if left == right:
                    continue
                kind = "EXTENDED" if left < right else "NARROWED" if right < left else "CHANGED"
            results.append(self._one(f"DEPENDENCY_ARRAY_{kind}", "dependencies", name))
        before, after = (node.rules.get("dependentSchemas", {}) for node in (old, new))
        for name in hash_order(before, after):
            if name not in after:
                results.append(self._one("DEPENDENCY_SCHEMA_REMOVED", "dependencies", name))
            elif name not in before:
                results.append(self._one("DEPENDENCY_SCHEMA_ADDED", "dependencies", name))
            else:
                found = self.compare(before[name], after[name])
                results.append(self._below(found, "dependencies", name))
        return results

    def _properties(self, old: Node, new: Node) -> list[Result]:
        before, after = (node.rules.get("properties", {}) for node in (old, new))
        beyond_new = self._beyond(new, [name for name in before if name not in after])
        beyond_old = self._beyond(old, [name for name in after if name not in before])
        results = []
        for name in hash_order(before, after):
            if name not in after:
                results += self._removed("PROPERTY", before[name], new, beyond_new[name], "properties", name)
            elif name not in before:
                results += self._property_added(name, after[name], old, new, beyond_old[name])
            else:
                results.append(self._below(self.compare(before[name], after[name]), "properties", name))
        return results

    def _beyond(self, node: Node, names: list[str]) -> dict[str, Node | None]:
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

    def _property_added(
        self, name: str, schema: Node, old: Node, new: Node, rest: Node | None
    ) -> list[Result]:
        how = "OPTIONAL_PROPERTY"
        if name in new.rules.get("required", ()):
            how = "REQUIRED_PROPERTY" if schema.default is ABSENT else "REQUIRED_PROPERTY_WITH_DEFAULT"
        if _is_open(old):
            if schema.kind == "empty":
                how = "PROPERTY_WITH_EMPTY_SCHEMA"
            return [self._one(f"{how}_ADDED_TO_OPEN_CONTENT_MODEL", "properties", name)]
        results = []
        if rest is not None:
            results = self._covered(self.compare(rest, schema), "PROPERTY_ADDED", "properties", name)
        return [*results, self._one(f"{how}_ADDED_TO_UNOPEN_CONTENT_MODEL", "properties", name)]

    def _compare_combined(self, old: Node, new: Node) -> list[Result]:
        before, after = old.rules["criterion"], new.rules["criterion"]
        results = []
        if before != after:
            if not (
                after == "anyOf"
                or (_is_single(old) and (after == "oneOf" or _is_single(new)))
                or (before == "allOf" and _is_single(new))
            ):
                return [self._one("COMBINED_TYPE_CHANGED")]
            results.append(self._one("COMBINED_TYPE_EXTENDED"))
        if len(old.members) < len(new.members):
            results.append(self._one("PRODUCT_TYPE_EXTENDED" if after == "allOf" else "SUM_TYPE_EXTENDED"))
        elif len(old.members) > len(new.members):
            results.append(self._one("PRODUCT_TYPE_NARROWED" if before == "allOf" else "SUM_TYPE_NARROWED"))
        edges = self._edges(old, new)
        matched = _match(edges)
        for left, right in sorted(matched.items()):
            results.append(self._below(edges[left][right], before, str(left)))
        if len(matched) < min(len(old.members), len(new.members)):
            results.append(self._one("COMBINED_TYPE_SUBSCHEMAS_CHANGED"))
        return results

    def _edges(self, old: Node, new: Node) -> list[dict[int, Result]]:
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
            results = ((right, self._counted(each, member)) for right, member in rest)
            edges.append({right: found for right, found in results if found.compatible})
        return edges

    # Keywords

    def _bounds(self, old: Node, new: Node, key: str, kind: str) -> list[Result]:
        before, after = old.rules.get(key), new.rules.get(key)
        if before is None or after is None:
            return self._values(old, new, key, kind)
        # Numbers are compared as doubles.
        before, after = round_to_double(before), round_to_double(after)
        if before == after:
            return []
        return [self._one(f"{kind}_{'INCREASED' if before < after else 'DECREASED'}", key)]

    def _contained(self, old: Node, new: Node, key: str, kind: str) -> list[Result]:
        before, after = old.rules.get(key), new.rules.get(key)
        if before is None or after is None:
            return self._values(old, new, key, kind)
        # Numbers are compared as what is left of them in 32 bits.
        before, after = narrow_integer(before, 32), narrow_integer(after, 32)
        if before == after:
            return []
        return [self._one(f"{kind}_{'INCREASED' if before < after else 'DECREASED'}", key)]

    def _values(self, old: Node, new: Node, key: str, kind: str) -> list[Result]:
        before, after = old.rules.get(key), new.rules.get(key)
        if before == after:
            return []
        what = "ADDED" if before is None else "REMOVED" if after is None else "CHANGED"
        return [self._one(f"{kind}_{what}", key)]

    def _rest(self, old: Node, new: Node, key: str, kind: str, step: str) -> list[Result]:
        before, after = old.rules.get(key, True), new.rules.get(key, True)
        if (before is False) != (after is False):
            return [self._one(f"{kind}_{'ADDED' if before is False else 'REMOVED'}", step)]
        if isinstance(before, Node) and isinstance(after, Node):
            return [self._below(self.compare(before, after), step)]
        if before is after:
            return []
        return [self._one(f"{kind}_{'EXTENDED' if isinstance(before, Node) else 'NARROWED'}", step)]

    def _unevaluated(self, old: Node, new: Node, kind: str, step: str) -> list[Result]:
        """Compare what is left to unevaluated values; one that is not written is wider than one that allows all."""
        before, after = old.rules.get("unevaluated"), new.rules.get("unevaluated")
        left, right = (_reach(each) for each in (before, after))
        if (left < 0) != (right < 0):
            return [self._one(f"{kind}_{'ADDED' if left < 0 else 'REMOVED'}", step)]
        if left != right:
            return [self._one(f"{kind}_{'EXTENDED' if left < right else 'NARROWED'}", step)]
        return [self._below(self.compare(before, after), step)]


def _reach(unevaluated: Node | None) -> int:
    """Return how far a schema of unevaluated values reaches: none, some, all, or nothing is written of it."""
    if unevaluated is None:
        return 2
    return {"false": -1, "empty": 1}.get(unevaluated.kind, 0)


def _is_single(node: Node) -> bool:
    """Return whether a combined schema has a single member; a member written twice counts as two."""
    return node.rules.get("written", len(node.members)) == 1


def _is_open(node: Node) -> bool:
    """Return whether an object or an array allows any properties or items besides those listed."""
    rules = node.rules
    return (
        rules.get("additional", True) is True
        and _reach(rules.get("unevaluated")) > 0
        and not rules.get("patterns")
    )


def _rest(node: Node) -> Node | None:
    """Return the schema of further properties or items; None if only the listed ones are allowed."""
    additional, unevaluated = node.rules.get("additional", True), node.rules.get("unevaluated")
    if additional is True:
        return unevaluated if _reach(unevaluated) == 0 else None
    return additional if isinstance(additional, Node) else None


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

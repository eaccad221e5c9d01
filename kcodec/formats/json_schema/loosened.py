"""Schemas that Confluent's serializers read and the metaschemas refuse, said so that the library takes them.

Such are empty lists where one item has to be, names that stand twice, bounds below zero, comments that are no text, and
in draft 4 the schemas true and false. What the serializers refuse as well never comes here: it is refused when the
schema is read.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

#: What no value fits.
_NEVER: Any = {"not": {}}

#: Keywords that are not looked at, whatever stands there.
_PASSED_OVER = ("$comment", "$vocabulary", "contentEncoding", "contentMediaType", "contentSchema")
#: Keywords that say nothing without another one.
_DEPENDENT = {"then": "if", "else": "if", "minContains": "contains", "maxContains": "contains"}

_SCHEMAS = ("allOf", "anyOf", "oneOf", "items")
_NAMED = ("properties", "patternProperties", "definitions")

#: Upper bounds, and the type of the values that all are beyond one below zero.
_MOST = {"maxLength": "string", "maxItems": "array", "maxProperties": "object"}
_LEAST = ("minLength", "minItems", "minProperties")

_ANCHOR = re.compile(r"[A-Za-z_][-A-Za-z0-9._]*")


def loosened(part: dict[str, Any], draft: int) -> dict[str, Any]:
    """Return a schema of a draft, the newer ones being 2020, that the library takes, with the same verdicts.

    >>> loosened({"type": ["string", "string"], "minLength": -1, "required": []}, 4)
    {'type': ['string']}
    >>> loosened({"anyOf": [], "maxLength": -1}, 7)
    {'allOf': [{'not': {}}, {'not': {'type': 'string'}}]}
    """
    found = {
        key: value
        for key, value in part.items()
        if key not in _PASSED_OVER and (draft < 2020 or _DEPENDENT.get(key, key) in part)
    }
    refused = list(_refused(found))
    for keyword, change in (_NEW if draft == 2020 else _OLD).items():
        if keyword in found:
            _put(found, keyword, change(found[keyword]))
    for keyword in ("required", "type"):
        if isinstance(found.get(keyword), list):
            names = _once(found[keyword])
            _put(found, keyword, names if names or (keyword == "required" and draft > 4) else None)
    for keyword in _SCHEMAS:
        if found.get(keyword) == []:
            del found[keyword]
    for keyword in (*_LEAST, *_MOST):
        if _is_negative(found.get(keyword)):
            del found[keyword]
    if _is_number(found.get("multipleOf")):
        _put(found, "multipleOf", abs(found["multipleOf"]) or None)
    # References may lead into these.
    for keyword, kind in (("definitions", dict), ("examples", list)):
        if not isinstance(found.get(keyword, kind()), kind):
            del found[keyword]
    if draft == 4:
        _without_booleans(found)
    if refused:
        found["allOf"] = [*found.get("allOf", ()), *refused]
    return found if refused or found != part else part


def _refused(part: Mapping[str, Any]) -> Iterator[Any]:
    """Yield schemas that refuse what no value, or none of a type, fits."""
    if not isinstance(part.get("allOf", []), list):
        return
    if any(part.get(keyword) == [] for keyword in ("type", "anyOf", "oneOf")):
        yield _NEVER
    for keyword, kind in _MOST.items():
        if _is_negative(part.get(keyword)):
            yield {"not": {"type": kind}}
    if _is_number(part.get("multipleOf")) and not part["multipleOf"]:
        yield {"not": {"type": "number"}}


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, Decimal)) and not isinstance(value, bool)


def _is_negative(value: Any) -> bool:
    return _is_number(value) and value < 0


def _put(part: dict[str, Any], keyword: str, value: Any) -> None:
    if value is None:
        del part[keyword]
    else:
        part[keyword] = value


def _schemas(named: Any) -> Any:
    if not isinstance(named, dict):
        return None
    return {name: each for name, each in named.items() if isinstance(each, (dict, bool))}


def _names(named: Any) -> Any:
    """Return lists of names without those that stand there twice, and without empty ones; schemas as they are."""
    if not isinstance(named, dict):
        return named
    once = {name: _once(each) if isinstance(each, list) else each for name, each in named.items()}
    return {name: each for name, each in once.items() if each != []}


def _once(names: Sequence[Any]) -> list[Any]:
    return list(dict.fromkeys(names)) if all(isinstance(each, str) for each in names) else list(names)


def _count(value: Any) -> Any:
    return max(int(value), 0) if _is_number(value) else None


def _least_count(value: Any) -> Any:
    count = _count(value)
    # One below zero does not say that nothing has to be there.
    return None if count is None or value < 0 else count


def _text(value: Any) -> Any:
    return value if isinstance(value, str) else None


def _anchor(value: Any) -> Any:
    return value if isinstance(value, str) and _ANCHOR.fullmatch(value) else None


_OLD: dict[str, Callable[[Any], Any]] = {"definitions": _schemas, "dependencies": _names}
_NEW: dict[str, Callable[[Any], Any]] = {
    "$anchor": _anchor,
    "$dynamicAnchor": _anchor,
    "$id": _text,
    "dependencies": _schemas,
    "dependentRequired": _names,
    "maxContains": _count,
    "minContains": _least_count,
    "prefixItems": lambda items: items or None,
}


def _without_booleans(part: dict[str, Any]) -> None:
    """Write schemas of draft 4 that are true or false as objects."""

    def of(value: Any) -> Any:
        return value if not isinstance(value, bool) else {} if value else _NEVER

    for keyword in _NAMED:
        if isinstance(part.get(keyword), dict):
            part[keyword] = {name: of(each) for name, each in part[keyword].items()}
    for keyword in _SCHEMAS:
        if isinstance(part.get(keyword), list):
            part[keyword] = [of(each) for each in part[keyword]]
    if "not" in part:
        part["not"] = of(part["not"])

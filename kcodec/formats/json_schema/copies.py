"""What the references of the newer drafts lead to in the server's translation of a schema, object by object.

It shows in the paths of differences within recursive schemas: what is an object of its own is compared once more. A
reference leads to a schema that was read for references alone, other than the one that stands where it points. That is
translated when the first reference to it is resolved, which gets an object of its own; those that are resolved later
share another one, until a further schema is translated. What stands within these objects they share.
"""

import copy
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from kcodec.java.hashing import hash_order

#: Between references: here all that were met are resolved.
RESOLVE: Any = None

#: Keywords of schemas that only references lead to.
DEFINITIONS = ("$defs", "definitions")
_NAMED = ("properties", "patternProperties", "dependentSchemas")


@dataclass
class Target:
    """A schema that is referred to, and the references in it, in the order in which the server comes upon them."""

    node: Any
    met: list[Any] = field(default_factory=list)
    is_translated: bool = False


def met_in_order(
    keywords: Iterable[str], found: Mapping[str, list[tuple[str, list[Any]]]], reference: Any, is_main: bool
) -> Iterator[Any]:
    """Yield the references within a schema, given its keywords in order and those below each, with their names."""
    for keyword in keywords:
        if keyword == "$ref":
            yield reference
        # What belongs to a condition is come upon with it.
        parts = ("if", "then", "else") if keyword == "if" else (keyword,)
        for part in parts if keyword not in ("then", "else", *DEFINITIONS) else ():
            named = dict(found.get(part, ()))
            for name in hash_order(named) if is_main and part in _NAMED else named:
                yield from named[name]
    defined = dict(below for keyword in DEFINITIONS for below in found.get(keyword, ()))
    for name in hash_order(defined) if is_main else defined:
        yield from defined[name]
        yield RESOLVE


def resolve(root: Target, led: Mapping[int, Target]) -> None:
    """Give the references within a schema, and all they lead to, their objects; `led` has where each leads."""
    root.is_translated = True
    waiting: deque[Any] = deque()
    running = [iter([*root.met, RESOLVE])]
    while running:
        event = next(running[-1], running)
        if event is running:
            running.pop()
        elif event is not RESOLVE:
            waiting.append(event)
        else:
            shared: dict[int, Any] = {}
            while waiting:
                reference = waiting.popleft()
                target = led[id(reference)]
                if not target.is_translated:
                    target.is_translated = True
                    reference.target = _copied(target.node)
                    running.append(iter([*target.met, RESOLVE]))
                    break
                if id(target) not in shared:
                    shared[id(target)] = _copied(target.node)
                reference.target = shared[id(target)]


def _copied(node: Any) -> Any:
    return node if node.kind == "reference" else copy.copy(node)

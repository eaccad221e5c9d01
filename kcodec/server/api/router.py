"""Which call a method and a path name; the path as it was sent, so that a quoted ``/`` stays part of a name."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote_to_bytes

from kcodec.errors import RegistryError
from kcodec.registry.base import ALL_CONTEXTS, context_prefix
from kcodec.server.access.guard import ServedRegistry
from kcodec.server.api.request import Request, refuse

#: ``call(registry, request)`` returns what the answer holds: a value of JSON, text as it is; or a `Write` that does.
Call = Callable[[ServedRegistry, Request], Any]


@dataclass(frozen=True, slots=True)
class Write:
    """What is left to do of a call: a change, which is done together with those of other requests."""

    change: Callable[[ServedRegistry], Any]


@dataclass(frozen=True, slots=True)
class Route:
    """A call of the API."""

    #: The method of HTTP.
    method: str
    #: The path, with names in braces for what differs.
    template: str
    #: What answers.
    call: Call
    #: Whether the answer to a user stays the same until the registry changes.
    lasts: bool = True
    #: Whether the call yields the items of a list that may be large; None stands for one that is left out.
    lists: bool = False


@dataclass
class _Node:
    """The routes that share the beginning of a path."""

    literals: "dict[str, _Node]" = field(default_factory=dict)
    named: "_Node | None" = None
    routes: dict[str, tuple[Route, list[str]]] = field(default_factory=dict)


class Router:
    """Finds routes by method and path.

    >>> router = Router([Route("GET", "/subjects/{subject}/versions", lambda registry, request: None)])
    >>> router.find("GET", b"/subjects/a%2Fversions/versions")[1]
    {'subject': 'a/versions'}
    >>> router.find("GET", b"/contexts/.lab/subjects/orders/versions")[1]
    {'subject': ':.lab:orders'}
    """

    def __init__(self, routes: Iterable[Route]) -> None:
        self._root = _Node()
        for route in routes:
            node, names = self._root, []
            for step in route.template.split("/")[1:]:
                if step.startswith("{"):
                    names.append(step[1:-1])
                    node.named = node.named or _Node()
                    node = node.named
                else:
                    node = node.literals.setdefault(step, _Node())
            node.routes[route.method] = (route, names)

    def find(self, method: str, raw_path: bytes) -> tuple[Route, dict[str, str], str | None]:
        """Return the route of a path, what stands there for its names, and the context that the path begins with.

        It refuses with 400, 404 and 405, and with 422 a context that cannot be.
        """
        node, values, context = self._node(raw_path)
        found = node.routes.get("GET" if method == "HEAD" else method)
        if found is None:
            refuse(405)
        route, names = found
        return route, dict(zip(names, values, strict=True)), context

    def methods(self, raw_path: bytes) -> list[str]:
        """Return the methods that a path has, as the header Allow lists them; refuse as `find` does, but for 405."""
        routes = self._node(raw_path)[0].routes
        return sorted([*routes, "HEAD"] if "GET" in routes else routes)

    def _node(self, raw_path: bytes) -> tuple[_Node, list[str], str | None]:
        """Return where the routes of a path are, what stands in it for their names, and its context."""
        if not raw_path.startswith(b"/"):
            refuse(400)
        steps = raw_path.split(b"/")[1:]
        if len(steps) > 1 and not steps[-1]:
            steps.pop()
        try:
            texts = [unquote_to_bytes(step).decode() for step in steps]
        except UnicodeDecodeError:
            refuse(400)
        context = None
        if texts[0] == "contexts" and len(texts) > 2:
            context, texts = _in_context(texts[1], texts[2:])
        node: _Node | None = self._root
        values = []
        for text in texts:
            assert node is not None
            following = node.literals.get(text)
            if following is None:
                following = node.named
                values.append(text)
            if following is None:
                refuse(404)
            node = following
        assert node is not None
        if not node.routes:
            refuse(404)
        return node, values, context


def _in_context(name: str, steps: list[str]) -> tuple[str, list[str]]:
    """Return what subjects of a context begin with, and a path within it with whole names of subjects."""
    own = name.removeprefix(":").removesuffix(":")
    if ":" in own:
        raise RegistryError(f"The specified context {name!r} has a colon in its name.", 422, 42208)
    own = own if own.startswith(".") else f".{own}"
    prefix = context_prefix(own)
    place = 1 if steps[0] in ("config", "mode") else steps.index("subjects") + 1 if "subjects" in steps else 0
    if not place:
        return prefix, steps
    if place == len(steps):
        return prefix, [*steps, prefix] if prefix and steps[0] != "subjects" else steps
    subject = steps[place]
    if not subject.startswith((":.", ALL_CONTEXTS)):
        subject = prefix + subject
    return prefix, [*steps[:place], subject, *steps[place + 1 :]]

"""Which call a method and a path name; the path as it was sent, so that a quoted ``/`` stays part of a name."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import unquote_to_bytes

from kcodec.registry.embedded import EmbeddedRegistry
from kcodec.registry.server.request import Request, refuse

__all__ = ["Call", "Route", "Router"]

#: ``call(registry, request)`` returns what the answer holds: a value of JSON, or text as it is.
Call = Callable[[EmbeddedRegistry, Request], Any]


@dataclass(frozen=True, slots=True)
class Route:
    """A call of the API.

    Attributes
    ----------
    method : str
        The method of HTTP.
    template : str
        The path, with names in braces for what differs.
    call : callable
        What answers.
    role : str
        The role that a user needs for it: ``read``, ``write`` or ``admin``.
    """

    method: str
    template: str
    call: Call
    role: Literal["read", "write", "admin"] = "read"


@dataclass
class _Node:
    """The routes that share the beginning of a path."""

    literals: "dict[str, _Node]" = field(default_factory=dict)
    named: "_Node | None" = None
    routes: dict[str, tuple[Route, list[str]]] = field(default_factory=dict)


class Router:
    """Finds routes by method and path.

    Examples
    --------
    >>> router = Router([Route("GET", "/subjects/{subject}/versions", lambda registry, request: None)])
    >>> route, path = router.find("GET", b"/subjects/a%2Fversions/versions")
    >>> path
    {'subject': 'a/versions'}
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

    def find(self, method: str, raw_path: bytes) -> tuple[Route, dict[str, str]]:
        """Return the route of a path and what stands there for its names.

        Raises
        ------
        RegistryError
            404 or 405.
        """
        steps = raw_path.split(b"/")[1:]
        if len(steps) > 1 and not steps[-1]:
            steps.pop()
        try:
            texts = [unquote_to_bytes(step).decode() for step in steps]
        except UnicodeDecodeError:
            refuse(400)
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
        found = node.routes.get("GET" if method == "HEAD" else method)
        if found is None:
            refuse(405)
        route, names = found
        return route, dict(zip(names, values, strict=True))

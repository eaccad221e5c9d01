"""The page of a registry: what it holds, to look at and to change, as an ASGI application."""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from kcodec._daemon_threads import Threads
from kcodec.errors import KcodecError, RegistryError, one_line
from kcodec.server.access.guard import GuardedRegistry, ServedRegistry
from kcodec.server.access.roles import Role
from kcodec.server.exchange import Receive, Scope, Send
from kcodec.server.page import browse, changes, decode, guard, history, session, topics
from kcodec.server.page.request import Fields, PageRequest, Refused, Response, read_request
from kcodec.server.page.visit import Visit, static_file

__all__ = ["RegistryPage"]

logger = logging.getLogger(__name__)

_VIEWS = {
    ("GET", ""): browse.overview,
    ("GET", "subjects"): browse.subjects,
    ("GET", "subject"): browse.subject,
    ("GET", "version"): browse.version,
    ("GET", "schema"): browse.schema,
    ("GET", "text"): browse.text,
    ("GET", "find"): browse.find,
    ("GET", "compare"): browse.compare,
    ("GET", "check"): changes.form,
    ("POST", "check"): changes.check,
    ("GET", "settings"): changes.settings,
    ("POST", "settings"): changes.set_settings,
    ("GET", "delete"): changes.deletion,
    ("POST", "delete"): changes.delete,
    ("GET", "decode"): decode.form,
    ("POST", "decode"): decode.decode,
    ("GET", "changes"): history.changes,
    ("GET", "topics"): topics.topics,
    ("GET", "topic"): topics.topic,
    ("GET", "login"): session.login,
    ("GET", "logout"): session.logout,
}
_PATHS = {path for _, path in _VIEWS}
#: What those are shown, too, who may do nothing here.
_OPEN = (session.login, session.logout)

#: No script runs here, whatever a schema says, and nothing comes from elsewhere.
_HEADERS = [
    (
        "content-security-policy",
        "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; "
        "frame-ancestors 'none'",
    ),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "same-origin"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
]

#: What is said of a failure that is no answer of the registry.
_FAILED = "Something went wrong here. The server's log says what."


#: Whether the user of a request may do something with a subject; None stands for the registry as a whole.
Allows = Callable[[Scope, Role, str | None], bool]


class _AskedRights:
    """What the user of a request may do, by what a page was given to ask."""

    def __init__(self, allows: Allows, scope: Scope) -> None:
        self._allows = allows
        self._scope = scope

    def can(self, role: Role, subject: str | None) -> bool:
        return self._allows(self._scope, role, subject)

    def has_some(self) -> bool:
        """Return True: pages leave out what may not be read."""
        return True

    def deny(self, role: Role, what: str) -> NoReturn:
        raise RegistryError(f"The operation {role} on {what} is denied", 403, 40301)


class RegistryPage:
    """An ASGI application that shows an embedded registry, and changes it where its guard allows it.

    Plain pages and forms, without scripts. Addresses are relative: it works under any prefix that a proxy may add.

    Parameters
    ----------
    registry : EmbeddedRegistry
        ``memory://`` or ``sqlite://``; one that is guarded shows each user what its guard allows.
    root_path : str
        Where it is mounted, such as ``"/ui"``; empty at the root of a server.
    allows : callable, optional
        Called as ``allows(scope, action, subject)``; returns whether the user of a request may ``"read"``, ``"write"``
        (register, delete softly) or ``"admin"`` (delete for good, set configuration and mode) a subject, a context
        (``":.lab:"``), or all there is for None. By default everyone may do everything.
    user : callable, optional
        Called as ``user(scope)``; returns the name of the user of a request, empty for who has shown none. Pages then
        say who it is, and lead to ``login`` and ``logout``; to what these answer with 401 the server adds the header
        WWW-Authenticate.
    enters : callable, optional
        Called as ``enters(scope)``; returns whether the user of a request may do anything at all. Who may not is shown
        no page but ``login`` and ``logout``. By default everyone is.
    max_body : int
        Bytes that a form may have.
    max_schema : int
        Characters that a schema may have that is checked or registered.
    broker : mapping, optional
        Settings of a client of Kafka, with ``bootstrap.servers``: its topics are then shown to those who may
        administer all there is.

    Examples
    --------
    >>> from kcodec.registry.memory import MemoryRegistry
    >>> page = RegistryPage(MemoryRegistry("docs"), root_path="/ui")
    >>> async def get(path):
    ...     async def receive():
    ...         return {"type": "http.request"}
    ...
    ...     async def send(message):
    ...         sent.append(message)
    ...
    ...     scope = {"type": "http", "method": "GET", "path": path, "query_string": b"", "headers": []}
    ...     sent = []
    ...     await page(scope, receive, send)
    ...     return sent
    >>> [start, content] = asyncio.run(get("/ui/"))
    >>> start["status"], b"<h1>" in content["body"]
    (200, True)
    """

    def __init__(
        self,
        registry: ServedRegistry,
        *,
        root_path: str = "",
        allows: Allows | None = None,
        user: Callable[[Scope], str] | None = None,
        enters: Callable[[Scope], bool] | None = None,
        max_body: int = 4 << 20,
        max_schema: int = 1 << 20,
        broker: Mapping[str, Any] | None = None,
    ) -> None:
        self._registry = registry
        self._root = root_path.rstrip("/")
        self._allows = allows
        self._user = user
        self._enters = enters
        self._max_body = max_body
        self._max_schema = max_schema
        self._broker = broker
        # Threads of its own: whoever compares large schemas here does not keep the server's clients waiting.
        self._threads = Threads(4, "registry-page")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            raise ValueError(f"a page answers http, not {scope['type']}")
        if self._root and scope["path"] == self._root:
            target = self._root.rpartition("/")[2] + "/"
            response = Response(307, [("location", target)], b"")
        else:
            response = await self._response(scope, receive)
        headers = [*_HEADERS, *response.headers, ("content-length", str(len(response.body)))]
        await send(
            {
                "type": "http.response.start",
                "status": response.status,
                "headers": [(name.encode(), value.encode("latin-1")) for name, value in headers],
            }
        )
        body = b"" if scope["method"] == "HEAD" else response.body
        await send({"type": "http.response.body", "body": body})

    def end(self, seconds: float) -> None:
        """Take no more requests, and wait some seconds for those under way."""
        self._threads.end(seconds)

    async def _response(self, scope: Scope, receive: Receive) -> Response:
        try:
            request = await read_request(scope, receive, self._root, self._max_body)
        except Refused as refused:
            request = PageRequest(scope, "GET", "", {}, Fields(), Fields())
            return _problem(self._visit(request), refused)
        # What a server knows of the request's user may stand in the context.
        run = contextvars.copy_context().run
        return await asyncio.get_running_loop().run_in_executor(self._threads, run, self._answer, request)

    def _visit(self, request: PageRequest) -> Visit:
        user = None if self._user is None else self._user(request.scope)
        registry = self._registry
        if self._allows is not None and not isinstance(registry, GuardedRegistry):
            registry = GuardedRegistry(registry, _AskedRights(self._allows, request.scope))
        return Visit(request, registry, self._max_schema, user, self._broker)

    def _answer(self, request: PageRequest) -> Response:
        folder, _, name = request.path.partition("/")
        if folder == "static" and request.method == "GET":
            found = static_file(name)
            if found is not None:
                content, kind = found
                age = (
                    "public, max-age=31536000, immutable" if request.scope["query_string"] else "max-age=3600"
                )
                return Response(200, [("content-type", kind), ("cache-control", age)], content)
        visit = self._visit(request)
        try:
            if request.path not in _PATHS:
                raise Refused(404, "There is no such page.")
            view = _VIEWS.get((request.method, request.path))
            if view is None:
                raise Refused(405, "This page does not take that kind of request.")
            if view not in _OPEN and self._enters is not None and not self._enters(request.scope):
                raise Refused(403, "You have no role here: an administrator of this registry gives you one.")
            if request.method == "POST":
                guard.check_form(request)
            return view(visit)
        except Refused as refused:
            return _problem(visit, refused)
        except RegistryError as error:
            told = Refused(error.status or 500, one_line(error, 2000), code=error.error_code)
            return _problem(visit, told)
        except KcodecError as error:
            return _problem(visit, Refused(422, one_line(error, 2000)))
        except Exception:
            logger.exception("%s %s", request.method, request.path)
            return _problem(visit, Refused(500, _FAILED))


_TITLES = {
    400: "This request cannot be read",
    401: "Not signed in",
    403: "Not allowed",
    404: "Not found",
    405: "Not possible here",
    409: "Not compatible",
    413: "Too large",
    415: "Not a form",
    422: "Refused",
    502: "The broker does not answer",
}


def _problem(visit: Visit, refused: Refused) -> Response:
    title = _TITLES.get(refused.status, "That did not work")
    response = visit.page("problem", refused.status, title=title, refused=refused)
    if refused.status == 405:
        methods = sorted({method for method, path in _VIEWS if path == visit.request.path})
        response.headers.append(("allow", ", ".join(methods)))
    return response

"""A request on its way to a page: what its user may do, and how pages and links are made."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Mapping
from importlib.resources import files
from typing import Any
from urllib.parse import quote, urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from kcodec.errors import RegistryError
from kcodec.registry.base import (
    DEFAULT_CONTEXT,
    RegisteredSchema,
    Schema,
    SubjectVersion,
    context_of,
    qualified,
)
from kcodec.registry.store.change_log import time_text
from kcodec.server.access.guard import GuardedRegistry, ServedRegistry
from kcodec.server.access.roles import Role
from kcodec.server.page import guard
from kcodec.server.page.code import MAX_MARKED, code_lines, markup
from kcodec.server.page.message import inside
from kcodec.server.page.request import PageRequest, Refused, Response

#: What the address of a page says has been done.
_DONE = {
    "registered": "Registered. This is the version that is used from now on.",
    "known": "Nothing to do: this schema is registered here already.",
    "settings": "Settings saved.",
    "deleted": "Deleted. It is kept, and can be shown again, until it is deleted for good.",
    "gone": "Deleted for good.",
}

_STATIC = {"page.css": "text/css; charset=utf-8", "icon.svg": "image/svg+xml"}


@functools.cache
def static_file(name: str) -> tuple[bytes, str] | None:
    """Return a file that pages use, and its type; None if there is none."""
    if name not in _STATIC:
        return None
    return files("kcodec.server.page").joinpath("static").joinpath(name).read_bytes(), _STATIC[name]


def link(page: str, /, **fields: Any) -> str:
    """Return the relative address of a page; fields that are None or empty are left out.

    Subjects are fields: as steps of a path some would be lost, such as ``..`` and ``a/b``.

    >>> link("version", subject="a/b&c", version=3), link("", q=None)
    ('version?subject=a%2Fb%26c&version=3', './')
    """
    given = {name: value for name, value in fields.items() if value not in (None, "", False)}
    encoded = urlencode(given, quote_via=quote, safe="")
    return (page or "./") + (f"?{encoded}" if encoded else "")


@functools.cache
def _environment() -> Environment:
    found = Environment(
        loader=PackageLoader("kcodec.server.page"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.globals.update(link=link, style=_style())
    found.filters.update(number=lambda value: f"{value:,}", plural=_plural, moment=_moment)
    return found


def _style() -> str:
    """Return the address of the style sheet, which changes with it."""
    content, _ = static_file("page.css") or (b"", "")
    return f"static/page.css?{hashlib.sha256(content).hexdigest()[:12]}"


def _moment(ts: int) -> Markup:
    """Return a time in milliseconds since 1970 as an element: to the second, of UTC."""
    text = time_text(ts)
    return Markup('<time datetime="{}">{}</time>').format(text, text[:19].replace("T", " "))


def _plural(count: int, noun: str, many: str = "") -> str:
    return f"{count:,} {noun if count == 1 else many or noun + 's'}"


class Visit:
    """A request, and the registry as its user has it: what the user may not do, it refuses."""

    def __init__(
        self,
        request: PageRequest,
        registry: ServedRegistry,
        max_schema: int,
        user: str | None = None,
        broker: Mapping[str, Any] | None = None,
    ) -> None:
        self.request = request
        self.registry = registry
        self.max_schema = max_schema
        self.user = user
        self.broker = broker
        self._token, self._is_new = guard.token_of(request)

    @property
    def signs_in(self) -> bool:
        """Whether a user may show a name here; `user` is empty as long as none is shown."""
        return self.user is not None

    @property
    def knows_users(self) -> bool:
        """Whether the user is told who has registered a version: only those who have shown a name are."""
        return not self.signs_in or bool(self.user)

    # What may be done

    def can(self, action: Role, subject: str | None = None) -> bool:
        """Return whether the user may do something with a subject, a context or (None) the registry as a whole."""
        return not isinstance(self.registry, GuardedRegistry) or self.registry.can(action, subject)

    def need(self, action: Role, subject: str | None = None) -> None:
        """Refuse a request whose user may not do something."""
        if not self.can(action, subject):
            what = {"read": "read", "write": "register or delete schemas in", "admin": "administer"}[action]
            raise Refused(403, f"You may not {what} {'this registry' if subject is None else subject}.")

    def need_references(self, schema: Schema, context: str) -> None:
        """Refuse a request for a schema of a context that needs, directly or not, what the user may not read."""
        if isinstance(self.registry, GuardedRegistry):
            self.registry.check_needed(schema, context)

    # What the registry says

    def places(self, schema_id: int | None, context: str) -> list[SubjectVersion]:
        """Return where the user may read a schema, softly deleted versions included."""
        try:
            return self.registry.schema_versions(schema_id or 0, inside(context), deleted=True)
        except RegistryError:
            return []

    def alive(self, subject: str) -> list[int]:
        """Return the versions of a subject that are not softly deleted; none if there is no such subject."""
        try:
            return self.registry.versions(subject)
        except RegistryError as error:
            if error.error_code in (40401, 42208):
                return []
            raise

    def reference_link(self, subject: str, version: int, context: str) -> str:
        """Return where a reference of a schema in a context leads."""
        return link("version", subject=qualified(subject, context), version=version)

    def code(self, found: RegisteredSchema, context: str = "", text: str | None = None) -> dict[str, Any]:
        """Return the text of a schema for a template: lines, with references as links."""
        context = context or context_of(found.subject or "")
        links = {
            each.name: self.reference_link(each.subject, each.version, context)
            for each in found.schema.references
        }
        return self.lines(found.schema.text if text is None else text, links)

    def lines(self, text: str, links: dict[str, str] | None = None) -> dict[str, Any]:
        """Return a text for a template: lines, and how many characters are left out."""
        shown = text[: 2 * MAX_MARKED]
        return {
            "lines": [markup(line, links) for line in code_lines(shown)],
            "left_out": len(text) - len(shown),
        }

    # Answers

    def page(self, template: str, status: int = 200, **values: Any) -> Response:
        """Return a page."""
        up = "../" * self.request.path.count("/")
        text = (
            _environment()
            .get_template(f"{template}.html")
            .render(
                visit=self,
                can=self.can,
                up=up,
                here=self.request.path,
                token=self._token,
                done=_DONE.get(self.request.query.text("done")),
                url=self.registry.url,
                default_context=DEFAULT_CONTEXT,
                **values,
            )
        )
        headers = [("content-type", "text/html; charset=utf-8"), ("cache-control", "no-store")]
        if self._is_new:
            headers.append(guard.token_cookie(self._token, self.request))
        return Response(status, headers, text.encode("utf-8", "backslashreplace"))

    def go(self, page: str, **fields: Any) -> Response:
        """Send the browser to another page, where a form has done what it should."""
        return Response(303, [("location", link(page, **fields)), ("cache-control", "no-store")], b"")

    def plain(self, text: str) -> Response:
        """Return a text as it is."""
        headers = [("content-type", "text/plain; charset=utf-8"), ("cache-control", "no-store")]
        return Response(200, headers, text.encode("utf-8", "backslashreplace"))

"""What a client asks of the server: the parts of its path, its query, its body."""

import json
import re
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Literal, NoReturn
from urllib.parse import parse_qs

from kcodec.errors import RegistryError
from kcodec.registry.base import ALL_CONTEXTS, DEFAULT_CONTEXT, Schema, invalid_version, unknown_schema
from kcodec.server.settings import ServerSettings

_MAX_QUERY_FIELDS = 100

_STATUS_TEXTS = {
    400: "Bad Request",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not Found",
    405: "Method Not Allowed",
    406: "Not Acceptable",
    408: "Request Timeout",
    413: "Request Entity Too Large",
    415: "Unsupported Media Type",
    421: "Misdirected Request",
    503: "Service Unavailable",
}

#: Characters that a body may have beside its texts, and texts: a value of two characters takes some hundred bytes.
_MAX_FRAME, _MAX_TEXTS = 1 << 20, 50_000

_TEXT = re.compile(r'"[^"]*(?:"|\Z)')

_INT32 = range(-(2**31), 2**31)


def refuse(status: int, message: str | None = None, code: int | None = None) -> NoReturn:
    """Raise what the server says of a request that reaches no call of the registry."""
    raise RegistryError(message or f"HTTP {status} {_STATUS_TEXTS[status]}", status, code or status)


class Request:
    """A request that has found its route."""

    def __init__(
        self,
        path: Mapping[str, str],
        query: bytes = b"",
        body: bytes = b"",
        context: str | None = None,
        settings: ServerSettings | None = None,
    ) -> None:
        #: What stands in the path for the names of its template.
        self.path = path
        self.body = body
        #: What subjects begin with that the query names without a context (``:.lab:``), where the path begins with one.
        self.context = context
        self.settings = settings or ServerSettings()
        self._query: dict[str, list[str]] = {}
        if query:
            try:
                self._query = parse_qs(
                    query.decode("ascii"),
                    keep_blank_values=True,
                    errors="strict",
                    max_num_fields=_MAX_QUERY_FIELDS,
                )
            except ValueError:
                refuse(400)

    @property
    def subject(self) -> str | None:
        """The subject or context in the path of a setting; the default context is the registry as a whole."""
        found = self.path.get("subject")
        return None if found in (f":{DEFAULT_CONTEXT}", f":{DEFAULT_CONTEXT}:") else found

    @property
    def version(self) -> int | Literal["latest"]:
        """The version in the path: ``latest`` in any case, -1, or a number."""
        return version_named(self.path["version"])

    @property
    def id(self) -> int:
        """The id in the path; what is no number is no page either, as JAX-RS has it.

        Four bytes of a frame, read without a sign, may be beyond the ids that there are: then there is no such schema.
        """
        text = self.path["id"]
        if text.isascii() and text.isdigit() and int(text[:20]) not in _INT32:
            unknown_schema(text)
        return self._int(text)

    @property
    def within(self) -> str | None:
        """The subject of the query, in whose context an id is meant; Java's client sends an empty one for none."""
        return self.placed(self.text("subject")) or None

    @property
    def prefixes(self) -> list[str]:
        """The prefixes of subjects that are asked for; :*: stands for every context."""
        given = self.values("subjectPrefix")
        if self.context is None:
            return given or [ALL_CONTEXTS]
        return [self.placed(each) for each in given or [""]]

    def placed(self, subject: str) -> str:
        """Return a subject in the context that the path begins with, unless it names another."""
        if not self.context or subject.startswith((":.", ALL_CONTEXTS)):
            return subject
        return self.context + subject

    def values(self, name: str) -> list[str]:
        """Return all values of a field of the query."""
        return self._query.get(name, [])

    def text(self, name: str, default: str = "") -> str:
        """Return the first value of a field of the query."""
        return self._query.get(name, [default])[0]

    def flag(self, name: str) -> bool:
        """Return whether a field of the query is ``true``, in any case."""
        return self.text(name).lower() == "true"

    def number(self, name: str, default: int) -> int:
        """Return a number of the query."""
        text = self.text(name)
        return self._int(text) if text else default

    @property
    def offset(self) -> int:
        """How many of a list are left out."""
        return max(self.number("offset", 0), 0)

    @property
    def limit(self) -> int:
        """How many of a list there are at most; -1 for all of them, as a limit below 1 is none."""
        limit = self.number("limit", -1)
        return limit if limit > 0 else -1

    def page(self) -> Callable[[list[Any]], list[Any]]:
        """Return what cuts the page that is asked for out of a list."""
        start, limit = self.offset, self.limit
        return lambda found: found[start : start + limit if limit > 0 else None]

    @cached_property
    def json(self) -> dict[str, Any]:
        """The body, an object of JSON."""
        try:
            text = self.body.decode(json.detect_encoding(self.body), "surrogatepass")
            if len(text) > _MAX_FRAME:
                _check_frame(text)
            # As `json.loads` reads bytes, which makes a new decoder for each text.
            found = _decoder.decode(text)
        except (ValueError, RecursionError):
            refuse(400, "The body of the request is not JSON" if self.body else "The request has no body")
        if not isinstance(found, dict):
            refuse(400, "The body of the request is not a JSON object")
        return found

    def schema(self) -> Schema:
        """Return the schema that the body holds."""
        return self.schema_of(self.json)

    def schema_of(self, body: Mapping[str, Any]) -> Schema:
        """Return the schema of a server's JSON, within the limits."""
        try:
            found = Schema.of(body)
        except (AttributeError, TypeError, ValueError) as error:
            told = f": {error}" if isinstance(error, TypeError) and str(error).endswith("is not text") else ""
            refuse(400, f"The body of the request is not a schema{told}")
        if len(found.text) > self.settings.max_schema:
            raise RegistryError("Register operation failed because schema is too large", 422, 42209)
        if len(found.references) > self.settings.max_references:
            raise RegistryError(
                f"Invalid schema: more than {self.settings.max_references} references", 422, 42201
            )
        return found

    def optional_number(self, name: str) -> int | None:
        """Return a number of the body; Jackson takes one that is written as text."""
        value = self.json.get(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | str):
            refuse(400, f"{name} is not a number")
        try:
            found = value if isinstance(value, int) else _integer(value)
        except ValueError:
            refuse(400, f"{name} is not a number")
        if found not in _INT32:
            refuse(400, f"{name} is not a number of 32 bits")
        return found

    def _int(self, text: str) -> int:
        try:
            found = _integer(text) if text.strip() == text else None
        except ValueError:
            found = None
        if found is None or found not in _INT32:
            refuse(404)
        return found


def _check_frame(text: str) -> None:
    """Refuse a large body of many values, which would take far more memory than it has bytes; a schema is one text."""
    plain = text.replace("\\\\", "").replace('\\"', "")
    rest = len(plain)
    for number, found in enumerate(_TEXT.finditer(plain)):
        rest -= found.end() - found.start()
        if number > _MAX_TEXTS:
            break
    else:
        if rest <= _MAX_FRAME:
            return
    refuse(413, "The body of the request has too many values: only its texts may be large")


def version_named(name: str) -> int | Literal["latest"]:
    """Return the version that a name means."""
    text = name.strip()
    if text.lower() == "latest":
        return "latest"
    try:
        found = _integer(text)
    except ValueError:
        found = 0
    if found == 0:
        invalid_version(name)
    return found


def _integer(text: str) -> int:
    """Return the integer that a text is; Python's would take ``1_0``, and the digits of other scripts."""
    if not text.isascii() or "_" in text:
        raise ValueError(f"{text!r} is not a number")
    return int(text)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


_decoder = json.JSONDecoder(parse_constant=_refuse_constant)

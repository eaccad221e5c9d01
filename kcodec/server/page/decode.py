"""The page that reads a pasted message."""

from __future__ import annotations

import functools
from typing import Any

from kcodec.errors import RegistryError, one_line
from kcodec.registry.base import DEFAULT_CONTEXT, RegisteredSchema
from kcodec.server.page.message import ENCODINGS, dump, find_schema, read_bytes, read_message
from kcodec.server.page.request import Response
from kcodec.server.page.visit import Visit

_HIDDEN = "There is no such schema, or you may not read it and all that it refers to."

#: Bytes that are too many to be shown again in their box.
_MAX_ECHO = 100_000


def form(visit: Visit) -> Response:
    """Show the empty form, or with a schema named."""
    query = visit.request.query
    return _page(visit, name=query.text("schema"), context=query.text("context", DEFAULT_CONTEXT))


def decode(visit: Visit) -> Response:
    """Read the message of the form."""
    given = visit.request.form
    text, encoding = given.text("message"), given.text("encoding", "auto")
    name, context = given.text("schema").strip(), given.text("context", DEFAULT_CONTEXT)
    is_raw = bool(given.text("raw"))
    shown: dict[str, Any] = {"text": text[:_MAX_ECHO], "encoding": encoding, "name": name, "context": context}
    shown["raw"] = is_raw
    try:
        data = read_bytes(text, encoding)
    except ValueError as error:
        return _page(visit, 422, input_problem=str(error), **shown)
    found = None
    if name:
        try:
            found, context = find_schema(visit.registry, name, context)
            problem = _hidden(visit, found, context)
        except RegistryError as error:
            problem = f"{one_line(error)}." if visit.can("read") else _HIDDEN
        if problem:
            return _page(visit, 422, name_problem=problem, **shown)
    message = read_message(visit.registry, data, context, found, functools.partial(_hidden, visit), is_raw)
    places = [] if message.found is None else visit.places(message.found.id, message.context)
    rows, left_out = dump(message)
    return _page(
        visit,
        message=message,
        places=places,
        rows=rows,
        left_out=left_out,
        value=None if message.value is None else visit.lines(message.value),
        schema=None if message.found is None else visit.code(message.found, message.context),
        **shown,
    )


def _hidden(visit: Visit, found: RegisteredSchema | None, context: str) -> str:
    """Return why a user cannot have a message read with a schema, or that there is none (None); empty if it can be.

    Who may not read all is told the same of a schema that is hidden and of none.
    """
    if found is None:
        return "" if visit.can("read") else _HIDDEN
    try:
        visit.need_references(found.schema, context)
    except RegistryError:
        return _HIDDEN
    return ""


def _page(visit: Visit, status: int = 200, **values: Any) -> Response:
    defaults: dict[str, Any] = {
        "text": "",
        "encoding": "auto",
        "name": "",
        "raw": False,
        "context": DEFAULT_CONTEXT,
        "input_problem": "",
        "name_problem": "",
        "message": None,
    }
    return visit.page(
        "decode", status, contexts=visit.registry.contexts(), encodings=ENCODINGS, **defaults | values
    )

"""The page of what was changed, by whom and when."""

from __future__ import annotations

import functools
from typing import Any

from kcodec.errors import RegistryError
from kcodec.registry.store.change_log import ACTIONS, Change
from kcodec.server.page.part import ListPart
from kcodec.server.page.request import Refused, Response
from kcodec.server.page.visit import Visit


def changes(visit: Visit) -> Response:
    """List what was changed, the newest first: all, or what concerns a subject, a user, an action."""
    query = visit.request.query
    subject, action = query.text("subject").strip(), query.text("action")
    user = query.text("user").strip()
    visit.need("admin", subject or None)
    if action and action not in ACTIONS:
        raise Refused(400, "There is no such action.")
    wanted: dict[str, Any] = {"user": user or None, "action": action or None}
    total = visit.registry.count_changes(subject or None, **wanted)
    ask = functools.partial(visit.registry.changes, subject or None, **wanted)
    part = ListPart.read(
        total, query.number("page", 1), lambda offset, limit: ask(offset=offset, limit=limit)
    )
    return visit.page(
        "changes",
        part=part,
        rows=[(each, _detail(each)) for each in part.items],
        subject=subject,
        is_there=_is_there(visit, subject),
        user=user,
        action=action,
        actions=ACTIONS,
        fields={"subject": subject, "user": user, "action": action},
    )


def _is_there(visit: Visit, subject: str) -> bool:
    """Return whether there is a page of a subject: it may be gone for good, or be a context."""
    try:
        return bool(subject) and bool(visit.registry.versions(subject, deleted=True))
    except RegistryError:
        return False


def _detail(change: Change) -> str:
    """Return what else there is to say of a change, as a short text."""
    told = []
    for name, value in change.detail.items():
        if name == "set":
            told += [f"{key} {_shown(each)}" for key, each in value.items()]
        elif value is True:
            told.append(_NAMED.get(name, name))
        elif value is not False:
            told.append(f"{name.replace('_', ' ')} {_shown(value)}")
    return ", ".join(told)


#: What is said where something is so; nothing is said where it is not.
_NAMED = {"permanent": "for good", "force": "forced"}


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        first = ", ".join(map(str, value[:10]))
        return f"{first} and {len(value) - 10} more" if len(value) > 10 else first
    return str(value)

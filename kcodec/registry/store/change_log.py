"""The log of changes: who has changed what, and when; rows are only added."""

import json
import time
from contextvars import ContextVar
from datetime import datetime, timezone
from typing import Any, NamedTuple

from kcodec.registry.store.database import Database

#: Who makes changes in a context: a name, empty where none was shown.
author: ContextVar[str] = ContextVar("author", default="")

#: What is logged, by the names of the methods that do it.
ACTIONS = (
    "register",
    "delete_version",
    "delete_subject",
    "delete_context",
    "set_config",
    "delete_config",
    "set_mode",
    "delete_mode",
    "register_kek",
    "update_kek",
    "delete_kek",
    "undelete_kek",
    "register_dek",
    "delete_dek",
    "undelete_dek",
)

_COLUMNS = "number, ts, author, action, subject, version, schema_id, detail"


class Change(NamedTuple):
    """What somebody has changed."""

    #: Later changes have higher numbers.
    number: int
    #: When, in milliseconds since 1970.
    ts: int
    #: Who: the name that was shown to the server; empty where none was, and for who changes the file without a server.
    user: str
    #: One of `ACTIONS`.
    action: str
    #: The subject or context; None for all of the registry, and for keys that encrypt keys.
    subject: str | None
    #: The version of the subject, or of its key.
    version: int | None
    #: What else there is to say, by names: such as ``id`` of a registration, ``permanent`` of a deletion.
    detail: dict[str, Any]

    @property
    def json(self) -> dict[str, Any]:
        """The change as the server writes it."""
        return {
            "number": self.number,
            "time": time_text(self.ts),
            "user": self.user or None,
            "action": self.action,
            "subject": self.subject,
            "version": self.version,
            "detail": self.detail,
        }


class ChangeLog:
    """What was changed in a database; within a transaction of it, so that what is taken back was never logged.

    >>> database = Database(":memory:", "memory://")
    >>> log = ChangeLog(database)
    >>> with database.transaction(write=True):
    ...     log.add_version("orders-value", 1, 7, now())
    ...     log.add("set_mode", None, mode="READONLY")
    ...     [(each.number, each.action, each.detail) for each in log.newest()]
    [(2, 'set_mode', {'mode': 'READONLY'}), (1, 'register', {'id': 7})]
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, action: str, subject: str | None, version: int | None = None, **detail: Any) -> None:
        """Log a change that the `author` makes now."""
        self._database.execute(
            "INSERT INTO changes (ts, author, action, subject, version, detail) VALUES (?, ?, ?, ?, ?, ?)",
            (now(), author.get(), action, subject, version, json.dumps(detail) if detail else None),
        )

    def add_version(self, subject: str, version: int, schema_id: int, ts: int) -> None:
        """Log a registration: a statement of its own, as these are many, and JSON takes as long as a row."""
        self._database.execute(
            "INSERT INTO changes (ts, author, action, subject, version, schema_id) "
            "VALUES (?, ?, 'register', ?, ?, ?)",
            (ts, author.get(), subject, version, schema_id),
        )

    def newest(
        self,
        *,
        subject: str | None = None,
        user: str | None = None,
        action: str | None = None,
        before: int | None = None,
        offset: int = 0,
        limit: int = -1,
    ) -> list[Change]:
        """Return changes, the newest first: all, or those of a subject, a user, an action, before a number."""
        condition, values = _condition(subject, user, action)
        if before is not None:
            condition, values = f"{condition} AND number < ?", [*values, before]
        rows = self._database.execute(
            f"SELECT {_COLUMNS} FROM changes WHERE {condition} ORDER BY number DESC LIMIT ? OFFSET ?",
            (*values, limit, offset),
        )
        return [
            Change(number, ts, who, what, place, version, _detail(schema_id, text))
            for number, ts, who, what, place, version, schema_id, text in rows
        ]

    def count(self, *, subject: str | None = None, user: str | None = None, action: str | None = None) -> int:
        """Return how many changes there are: all, or those of a subject, a user, an action."""
        condition, values = _condition(subject, user, action)
        (found,) = self._database.execute(
            f"SELECT count(*) FROM changes WHERE {condition}", values
        ).fetchone()
        return int(found)


def _detail(schema_id: int | None, text: str | None) -> dict[str, Any]:
    found: dict[str, Any] = {} if schema_id is None else {"id": schema_id}
    return found if text is None else {**found, **json.loads(text)}


def _condition(subject: str | None, user: str | None, action: str | None) -> tuple[str, list[Any]]:
    wanted = {"subject": subject, "author": user, "action": action}
    given = {name: value for name, value in wanted.items() if value is not None}
    return " AND ".join(["TRUE", *(f"{name} = ?" for name in given)]), list(given.values())


def now() -> int:
    """Return the time, in milliseconds since 1970."""
    return int(time.time() * 1000)


def time_text(ts: int) -> str:
    """Return a time in milliseconds since 1970 as text, of UTC.

    >>> time_text(1_700_000_000_123)
    '2023-11-14T22:13:20.123Z'
    """
    whole = datetime.fromtimestamp(ts // 1000, timezone.utc).replace(tzinfo=None)
    return f"{whole.isoformat()}.{ts % 1000:03}Z"

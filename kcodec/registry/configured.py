"""Configurations and modes of subjects, kept in an SQLite database."""

import functools
import json
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from typing import NoReturn, TypeVar

from kcodec.errors import RegistryError, check_booleans
from kcodec.registry.base import (
    GLOBAL_CONTEXT,
    check_subject,
    context_of,
    context_prefix,
    own_name,
    qualified,
)
from kcodec.registry.database import Database
from kcodec.registry.settings import DEFAULTS, NOTHING, Config, check_config, check_mode

__all__ = ["ConfiguredDatabase"]

_Setting = TypeVar("_Setting")

#: Where the settings of the registry are kept, which are those of the default context, and those of all contexts.
_GLOBAL = ""
_EVERYWHERE = f":{GLOBAL_CONTEXT}:"

#: What a subject that is set to something takes from the settings of the registry beside it.
_SHARED = ("compatibility_group", "compatibility_policy", "normalize", "validate_fields")

#: Configurations that are kept as they are read: most subjects have one of a few.
_KEPT = 100


class ConfiguredDatabase(Database):
    """A database with what its subjects, its contexts and all of it are set to."""

    def config(self, subject: str | None = None, *, default_to_global: bool = False) -> Config:
        """Return what a subject is set to, or the registry as a whole."""
        with self._transaction() as connection:
            place = _place(subject)
            if default_to_global:
                return self._effective(connection, place)
            found = self._config(connection, place)
            if _is_top(place):
                return found.over(DEFAULTS)
            if found == NOTHING:
                raise RegistryError(
                    f"Subject '{subject}' does not have subject-level compatibility configured", 404, 40408
                )
            return found

    def set_config(
        self, config: Config, subject: str | None = None, *, cleared: Iterable[str] = ()
    ) -> Config:
        """Change the given parts of a configuration, and leave the rest as it is; return the given parts.

        What stands under the ``cleared`` keys of the server is then no longer set.
        """
        check_config(config)
        for rules in (config.default_rule_set, config.override_rule_set):
            if rules is not None:
                rules.check()
        place = _place(subject)
        with self._transaction(write=True) as connection:
            self._check_mode(connection, place)
            kept = config.over(self._config(connection, place).without(cleared))
            self._set(connection, place, "config", json.dumps(kept.json))
        return config

    def delete_config(self, subject: str | None = None) -> Config:
        """Reset a subject to what holds for all, or the registry to the defaults; return what was set."""
        with self._transaction(write=True) as connection:
            found = self._own(self.config, subject, 40408)
            place = _place(subject)
            self._check_mode(connection, place)
            self._set(connection, place, "config", None)
        return found

    def _own(self, ask: Callable[[str | None], _Setting], subject: str | None, missing: int) -> _Setting:
        """Return the settings that are about to be dropped."""
        try:
            return ask(subject)
        except RegistryError as error:
            if error.error_code != missing:
                raise
            raise RegistryError(f"Subject '{subject}' not found.", 404, 40401) from None

    def places(self) -> list[str]:
        """Return the subjects and contexts that have settings of their own, with versions or without."""
        with self._transaction() as connection:
            rows = connection.execute("SELECT subject FROM settings WHERE subject != ?", (_GLOBAL,))
            return [row[0] for row in rows]

    def mode(self, subject: str | None = None, *, default_to_global: bool = False) -> str:
        """Return the mode of a subject, or of the registry as a whole."""
        with self._transaction() as connection:
            place = _place(subject)
            if default_to_global:
                return self._effective_mode(connection, place)
            found = self._mode(connection, place) or ("READWRITE" if _is_top(place) else None)
        if found is None:
            raise RegistryError(
                f"Subject '{subject}' does not have subject-level mode configured", 404, 40409
            )
        return found

    def set_mode(self, mode: str, subject: str | None = None, *, force: bool = False) -> str:
        """Set the mode of a subject, or of the registry as a whole.

        IMPORT takes subjects that have no versions, unless it is forced; what is softly deleted there goes for good.
        """
        check_booleans(force=force)
        mode = check_mode(mode)
        place = _place(subject)
        if mode == "FORWARD" and place != _EVERYWHERE:
            raise RegistryError("Forward mode only supported on global level", 422, 42204)
        with self._transaction(write=True) as connection:
            if mode == "IMPORT" and not force and self._effective_mode(connection, place) != "IMPORT":
                self._clear(connection, place)
            self._set(connection, place, "mode", mode)
        return mode

    def _clear(self, connection: sqlite3.Connection, place: str) -> None:
        """Delete for good the softly deleted versions of a subject, a context or all, none of which may have others."""
        within = "subject = :place" if own_name(place) else "substr(subject, 1, length(:place)) = :place"
        found = connection.execute(
            f"SELECT subject, version, deleted FROM versions WHERE {within} ORDER BY subject, version",
            {"place": place},
        ).fetchall()
        if not all(deleted for _, _, deleted in found):
            raise RegistryError("Cannot import since found existing subjects", 422, 42205)
        for subject, version, _ in found:
            self._check_unused(connection, subject, version, deleted=True)
        for subject, version, _ in found:
            self._remove(connection, subject, version)

    def _check_unused(
        self,
        connection: sqlite3.Connection,
        subject: str,
        version: int,
        *,
        deleted: bool,
        besides: str | None = None,
    ) -> None:
        """Refuse to delete a version that others refer to, not counting those of one subject.

        What is softly deleted may be read by its id: before a version goes for good, such referrers count too
        (``deleted``).
        """
        used = connection.execute(
            "SELECT 1 FROM schema_references AS used JOIN versions USING (schema_key) WHERE used.subject = ? "
            "AND used.version = ? AND (? OR NOT deleted) AND versions.subject IS NOT ?",
            (subject, version, deleted, besides),
        ).fetchone()
        if used is not None:
            raise RegistryError(f"One or more references exist to {subject} version {version}.", 422, 42206)

    def _remove(self, connection: sqlite3.Connection, subject: str, version: int) -> None:
        """Drop a version, and its schema with the last one."""
        (key,) = connection.execute(
            "SELECT schema_key FROM versions WHERE subject = ? AND version = ?", (subject, version)
        ).fetchone()
        connection.execute("DELETE FROM versions WHERE subject = ? AND version = ?", (subject, version))
        if connection.execute("SELECT 1 FROM versions WHERE schema_key = ?", (key,)).fetchone() is None:
            connection.execute("DELETE FROM schema_references WHERE schema_key = ?", (key,))
            connection.execute("DELETE FROM schemas WHERE key = ?", (key,))

    def delete_mode(self, subject: str | None = None) -> str:
        """Reset a subject to the mode that holds for all; return what was set."""
        with self._transaction(write=True) as connection:
            found = self._own(self.mode, subject, 40409)
            place = _place(subject)
            self._set(connection, place, "mode", None)
        return found

    def delete_modes(self, subject: str | None = None) -> str | None:
        """Set a context, or the default one, and all its subjects back; returns the mode of the context itself.

        A subject alone is set back if it has a mode.
        """
        with self._transaction(write=True) as connection:
            place = _place(subject)
            modes = dict(connection.execute("SELECT subject, mode FROM settings WHERE mode IS NOT NULL"))
            for each in modes:
                if each == place or (not own_name(place) and context_of(each) == context_of(place)):
                    self._set(connection, each, "mode", None)
        return modes.get(place, "READWRITE" if subject is None else None)

    def _set(self, connection: sqlite3.Connection, place: str, column: str, value: str | None) -> None:
        connection.execute(
            f"INSERT INTO settings (subject, {column}) VALUES (?, ?) "
            f"ON CONFLICT (subject) DO UPDATE SET {column} = excluded.{column}",
            (place, value),
        )

    def _config(self, connection: sqlite3.Connection, place: str) -> Config:
        return _config_of(*self._config_texts(connection, (place,)))

    def _effective(self, connection: sqlite3.Connection, subject: str) -> Config:
        """Return the settings that hold for a subject."""
        return _merged(self._config_texts(connection, (subject, *_around(subject), _GLOBAL)))

    def _meant(self, connection: sqlite3.Connection, subject: str) -> tuple[str, Config]:
        """Return the subject that a name or an alias means, and the settings that hold for it."""
        name = check_subject(subject)
        texts = self._config_texts(connection, (name, *_around(name), _GLOBAL))
        alias = _config_of(texts[0]).alias
        if not alias:
            return name, _merged(texts)
        name = check_subject(qualified(alias, context_of(name)))
        return name, self._effective(connection, name)

    def _config_texts(self, connection: sqlite3.Connection, places: Sequence[str]) -> tuple[str | None, ...]:
        """Return what is set at some places, by one query."""
        columns = ", ".join(["(SELECT config FROM settings WHERE subject = ?)"] * len(places))
        found: tuple[str | None, ...] = connection.execute(f"SELECT {columns}", places).fetchone()
        return found

    def _mode(self, connection: sqlite3.Connection, place: str) -> str | None:
        row = connection.execute("SELECT mode FROM settings WHERE subject = ?", (place,)).fetchone()
        return None if row is None else row[0]

    def _effective_mode(self, connection: sqlite3.Connection, subject: str) -> str:
        modes = (self._mode(connection, place) for place in (subject, *_around(subject)))
        return next((mode for mode in modes if mode is not None), "READWRITE")

    def _check_mode(self, connection: sqlite3.Connection, subject: str) -> str:
        """Refuse a change of a subject that is only read; returns its mode."""
        mode = self._effective_mode(connection, subject)
        if mode.startswith("READONLY"):
            _deny(subject, "in read-only")
        return mode

    def _check_registration(self, connection: sqlite3.Connection, subject: str, has_id: bool) -> bool:
        """Refuse a schema that the mode of a subject does not allow; returns whether schemas are imported there."""
        importing = self._check_mode(connection, subject) in ("IMPORT", "FORWARD")
        if has_id and not importing:
            _deny(subject, "not in import")
        if importing and not has_id:
            _deny(subject, "not in read-write")
        return importing


def _place(subject: str | None) -> str:
    """Return where the settings of a subject, of a context or (None) of the whole registry are kept."""
    return _GLOBAL if subject is None else check_subject(subject, whole=False)


def _deny(subject: str, reason: str) -> NoReturn:
    context = context_prefix(context_of(subject))
    raise RegistryError(f"Subject {subject or 'null'} in context {context} is {reason} mode", 422, 42205)


@functools.lru_cache(_KEPT)
def _config_of(text: str | None) -> Config:
    return NOTHING if text is None else Config.of(json.loads(text))


@functools.lru_cache(_KEPT)
def _merged(texts: tuple[str | None, ...]) -> Config:
    """Return what holds of the configurations of a subject, around it, the nearest first, and of the registry.

    As in Confluent's server the nearest holds as a whole, but for what a subject's own takes from the registry's.
    """
    own, *around, whole = map(_config_of, texts)
    if own != NOTHING:
        shared = {name: getattr(whole, name) for name in _SHARED}
        return own.over(Config(**shared)).over(DEFAULTS)
    return next((each for each in around if each != NOTHING), NOTHING).over(DEFAULTS)


def _around(subject: str) -> tuple[str, ...]:
    """Return the places whose settings hold for a subject that has none of its own, the nearest first."""
    return (context_prefix(context_of(subject)), _EVERYWHERE)


def _is_top(place: str) -> bool:
    """Return whether a place is the top: its settings hold wherever none are given."""
    return place == _GLOBAL or context_of(place) == GLOBAL_CONTEXT

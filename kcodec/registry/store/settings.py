"""What subjects, contexts and a whole registry are set to: configurations and modes, in the table of settings."""

import functools
import json
from collections.abc import Sequence
from typing import NoReturn

from kcodec.errors import RegistryError
from kcodec.registry.base import (
    GLOBAL_CONTEXT,
    check_subject,
    context_of,
    context_prefix,
    own_name,
    qualified,
)
from kcodec.registry.settings import DEFAULTS, NOTHING, Config
from kcodec.registry.store.database import Database

#: Where the settings of the registry are kept, which are those of the default context, and those of all contexts.
_GLOBAL = ""
EVERYWHERE = f":{GLOBAL_CONTEXT}:"

#: What a subject that is set to something takes from the settings of the registry beside it.
_SHARED = ("compatibility_group", "compatibility_policy", "normalize", "validate_fields")

#: Configurations that are kept as they are read: most subjects have one of a few.
_KEPT = 100


class SettingsTable:
    """What is set at each place, and what holds there; within a transaction of the database.

    A place is a subject, a context (``:.lab:``) or, as an empty text, the registry as a whole.

    >>> settings = SettingsTable(Database(":memory:", "memory://"))
    >>> with settings.database.transaction(write=True):
    ...     settings.set_config("", Config("FULL"))
    ...     settings.set_mode(":.lab:", "READONLY")
    ...     settings.config("orders"), settings.effective("orders").compatibility, settings.effective_mode(":.lab:a")
    (Config(), 'FULL', 'READONLY')
    """

    def __init__(self, database: Database) -> None:
        self.database = database

    # Configurations

    def config(self, place: str) -> Config:
        """Return what a place itself is set to."""
        return _config_of(*self._config_texts((place,)))

    def effective(self, place: str) -> Config:
        """Return the configuration that holds for a place."""
        return _merged(self._config_texts((place, *_around(place), _GLOBAL)))

    def meant(self, subject: str) -> tuple[str, Config]:
        """Return the subject that a name or an alias means, and the configuration that holds for it."""
        name = check_subject(subject)
        texts = self._config_texts((name, *_around(name), _GLOBAL))
        alias = _config_of(texts[0]).alias
        if not alias:
            return name, _merged(texts)
        name = check_subject(qualified(alias, context_of(name)))
        return name, self.effective(name)

    def subject(self, subject: str) -> str:
        """Return the subject that a name or an alias means."""
        name = check_subject(subject)
        alias = self.config(name).alias
        return check_subject(qualified(alias, context_of(name))) if alias else name

    def aliases(self) -> set[str]:
        """Return the names that are aliases of subjects."""
        rows = self.database.execute("SELECT subject, config FROM settings WHERE config LIKE '%\"alias\"%'")
        return {place for place, text in rows if _config_of(text).alias}

    def set_config(self, place: str, config: Config | None) -> None:
        """Set a place to a configuration, or (None) to none."""
        self._set(place, "config", None if config is None else json.dumps(config.json))

    def places(self) -> list[str]:
        """Return the subjects and contexts that have had settings of their own, with versions or without."""
        rows = self.database.execute("SELECT subject FROM settings WHERE subject != ?", (_GLOBAL,))
        return [row[0] for row in rows]

    def drop(self, place: str) -> None:
        """Forget what a place was set to."""
        self.database.execute("DELETE FROM settings WHERE subject = ?", (place,))

    # Modes

    def mode(self, place: str) -> str | None:
        """Return the mode of a place itself."""
        row = self.database.execute("SELECT mode FROM settings WHERE subject = ?", (place,)).fetchone()
        return None if row is None else row[0]

    def effective_mode(self, place: str) -> str:
        """Return the mode that holds for a place."""
        modes = (self.mode(each) for each in (place, *_around(place)))
        return next((mode for mode in modes if mode is not None), "READWRITE")

    def modes(self, place: str) -> dict[str, str]:
        """Return the modes that are set at a place and, if it is a context, at its subjects."""
        modes = dict(self.database.execute("SELECT subject, mode FROM settings WHERE mode IS NOT NULL"))
        within = not own_name(place)
        return {
            each: mode
            for each, mode in modes.items()
            if each == place or (within and context_of(each) == context_of(place))
        }

    def set_mode(self, place: str, mode: str | None) -> None:
        """Set the mode of a place, or (None) let the one around it hold."""
        self._set(place, "mode", mode)

    def check_mode(self, place: str) -> str:
        """Refuse (42205) a change of a place that is only read; return its mode."""
        mode = self.effective_mode(place)
        if mode.startswith("READONLY"):
            _deny(place, "in read-only")
        return mode

    def check_registration(self, subject: str, has_id: bool) -> bool:
        """Refuse (42205) a schema that the mode of a subject does not allow; return whether schemas are imported."""
        importing = self.check_mode(subject) in ("IMPORT", "FORWARD")
        if has_id and not importing:
            _deny(subject, "not in import")
        if importing and not has_id:
            _deny(subject, "not in read-write")
        return importing

    def _set(self, place: str, column: str, value: str | None) -> None:
        self.database.execute(
            f"INSERT INTO settings (subject, {column}) VALUES (?, ?) "
            f"ON CONFLICT (subject) DO UPDATE SET {column} = excluded.{column}",
            (place, value),
        )

    def _config_texts(self, places: Sequence[str]) -> tuple[str | None, ...]:
        """Return what is set at some places, by one query."""
        columns = ", ".join(["(SELECT config FROM settings WHERE subject = ?)"] * len(places))
        return self.database.execute(f"SELECT {columns}", places).fetchone()


def place_of(subject: str | None) -> str:
    """Return where the settings of a subject, of a context or (None) of the whole registry are kept."""
    return _GLOBAL if subject is None else check_subject(subject, whole=False)


def is_top(place: str) -> bool:
    """Return whether a place is the top: its settings hold wherever none are given."""
    return place == _GLOBAL or context_of(place) == GLOBAL_CONTEXT


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
    return (context_prefix(context_of(subject)), EVERYWHERE)

"""What subjects, contexts and a registry are set to themselves: how it is asked for, changed and logged."""

from collections.abc import Iterable, Sequence
from typing import Any

from kcodec.errors import RegistryError
from kcodec.registry.settings import DEFAULTS, NOTHING, Config
from kcodec.registry.store.change_log import ChangeLog
from kcodec.registry.store.settings import EVERYWHERE, SettingsTable, is_top, place_of
from kcodec.registry.store.versions import VersionsTable


class OwnSettings:
    """Configurations and modes by the names that callers give; within a transaction of the database.

    Where a method takes a subject it also takes a context (``:.lab:``) or, as None, the registry as a whole.

    >>> from kcodec.registry.store.database import Database
    >>> database = Database(":memory:", "memory://")
    >>> settings, log = SettingsTable(database), ChangeLog(database)
    >>> own = OwnSettings(settings, VersionsTable(database, settings), log)
    >>> with database.transaction(write=True):
    ...     changed = own.set_config(Config("FULL"), "orders")
    ...     own.config("orders").compatibility, own.mode(None), [each.action for each in log.newest()]
    ('FULL', 'READWRITE', ['set_config'])
    """

    def __init__(self, settings: SettingsTable, versions: VersionsTable, log: ChangeLog) -> None:
        self._settings, self._versions, self._log = settings, versions, log

    def config(self, subject: str | None, *, default_to_global: bool = False) -> Config:
        """Return what a subject itself is set to, or refuse (40408); or what holds for it (`default_to_global`)."""
        place = place_of(subject)
        if default_to_global:
            return self._settings.effective(place)
        found = self._settings.config(place)
        if is_top(place):
            return found.over(DEFAULTS)
        if found == NOTHING:
            raise RegistryError(
                f"Subject '{subject}' does not have subject-level compatibility configured", 404, 40408
            )
        return found

    def set_config(self, config: Config, subject: str | None, *, cleared: Iterable[str] = ()) -> Config:
        """Change what is given of a configuration, clear some keys of the server, and leave the rest as it is."""
        place = place_of(subject)
        self._settings.check_mode(place)
        cleared = tuple(cleared)
        self._settings.set_config(place, config.over(self._settings.config(place).without(cleared)))
        self._log.add("set_config", place or None, **_config_detail(config, cleared))
        return config

    def delete_config(self, subject: str | None) -> Config:
        """Let what is around a subject hold for it; return what was set, or refuse (40401) if nothing was."""
        place = place_of(subject)
        found = self._settings.config(place)
        if is_top(place):
            found = found.over(DEFAULTS)
        elif found == NOTHING:
            raise _nothing_set(subject)
        self._settings.check_mode(place)
        self._settings.set_config(place, None)
        self._log.add("delete_config", place or None)
        return found

    def mode(self, subject: str | None, *, default_to_global: bool = False) -> str:
        """Return the mode of a subject itself, or refuse (40409); or the one that holds (`default_to_global`)."""
        place = place_of(subject)
        if default_to_global:
            return self._settings.effective_mode(place)
        found = self._mode(place)
        if found is None:
            raise RegistryError(
                f"Subject '{subject}' does not have subject-level mode configured", 404, 40409
            )
        return found

    def set_mode(self, mode: str, subject: str | None, *, force: bool = False) -> str:
        """Set the mode of a subject; before IMPORT, unless forced, what is softly deleted there goes for good."""
        place = place_of(subject)
        if mode == "FORWARD" and place != EVERYWHERE:
            raise RegistryError("Forward mode only supported on global level", 422, 42204)
        if mode == "IMPORT" and not force and self._settings.effective_mode(place) != "IMPORT":
            self._versions.clear(place)
        self._settings.set_mode(place, mode)
        self._log.add("set_mode", place or None, mode=mode, force=force)
        return mode

    def delete_mode(self, subject: str | None) -> str:
        """Let the mode around a subject hold for it; return what was set, or refuse (40401) if nothing was."""
        place = place_of(subject)
        found = self._mode(place)
        if found is None:
            raise _nothing_set(subject)
        self._settings.set_mode(place, None)
        self._log.add("delete_mode", place or None)
        return found

    def delete_modes(self, subject: str | None) -> str | None:
        """Do what `delete_mode` does for a context and all its subjects; return the mode of the context itself."""
        place = place_of(subject)
        modes = self._settings.modes(place)
        for each in modes:
            self._settings.set_mode(each, None)
            self._log.add("delete_mode", each or None)
        return modes.get(place, "READWRITE" if subject is None else None)

    def _mode(self, place: str) -> str | None:
        return self._settings.mode(place) or ("READWRITE" if is_top(place) else None)


def _config_detail(config: Config, cleared: Sequence[str]) -> dict[str, Any]:
    """Return what is logged of a configuration: plain values, and the names of what may be large."""
    given = config.json
    plain = {key: value for key, value in given.items() if isinstance(value, str | bool)}
    replaced = sorted(given.keys() - plain.keys())
    detail = {"set": plain, "replaced": replaced, "cleared": sorted(set(cleared) - given.keys())}
    return {name: value for name, value in detail.items() if value}


def _nothing_set(subject: str | None) -> RegistryError:
    return RegistryError(f"Subject '{subject}' not found.", 404, 40401)

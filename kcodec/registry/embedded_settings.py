"""What an embedded registry, its contexts and subjects are set to: configurations and modes."""

from collections.abc import Iterable, Sequence
from typing import Any

from kcodec.errors import RegistryError, check_booleans
from kcodec.registry.settings import DEFAULTS, NOTHING, Config, check_config, check_mode
from kcodec.registry.store.change_log import ChangeLog
from kcodec.registry.store.database import Database
from kcodec.registry.store.settings import EVERYWHERE, Settings, is_top, place_of
from kcodec.registry.store.versions import Versions

__all__ = ["EmbeddedSettings"]


class EmbeddedSettings:
    """The methods of an `EmbeddedRegistry` that say and change what holds for subjects, contexts and all."""

    database: Database
    _settings: Settings
    _versions: Versions
    _log: ChangeLog

    def config(self, subject: str | None = None, *, default_to_global: bool = False) -> Config:
        """Return what a subject is set to, or the registry as a whole."""
        with self.database.transaction():
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
        place = place_of(subject)
        with self.database.transaction(write=True):
            self._settings.check_mode(place)
            cleared = tuple(cleared)
            self._settings.set_config(place, config.over(self._settings.config(place).without(cleared)))
            self._log.add("set_config", place or None, **_config_detail(config, cleared))
        return config

    def delete_config(self, subject: str | None = None) -> Config:
        """Reset a subject to what holds for all, or the registry to the defaults; return what was set."""
        with self.database.transaction(write=True):
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

    def places(self) -> list[str]:
        """Return the subjects and contexts that have settings of their own, with versions or without."""
        with self.database.transaction():
            return self._settings.places()

    def mode(self, subject: str | None = None, *, default_to_global: bool = False) -> str:
        """Return the mode of a subject, or of the registry as a whole."""
        with self.database.transaction():
            place = place_of(subject)
            if default_to_global:
                return self._settings.effective_mode(place)
            found = self._settings.mode(place) or ("READWRITE" if is_top(place) else None)
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
        place = place_of(subject)
        if mode == "FORWARD" and place != EVERYWHERE:
            raise RegistryError("Forward mode only supported on global level", 422, 42204)
        with self.database.transaction(write=True):
            if mode == "IMPORT" and not force and self._settings.effective_mode(place) != "IMPORT":
                self._versions.clear(place)
            self._settings.set_mode(place, mode)
            self._log.add("set_mode", place or None, mode=mode, force=force)
        return mode

    def delete_mode(self, subject: str | None = None) -> str:
        """Reset a subject to the mode that holds for all; return what was set."""
        with self.database.transaction(write=True):
            place = place_of(subject)
            found = self._settings.mode(place) or ("READWRITE" if is_top(place) else None)
            if found is None:
                raise _nothing_set(subject)
            self._settings.set_mode(place, None)
            self._log.add("delete_mode", place or None)
        return found

    def delete_modes(self, subject: str | None = None) -> str | None:
        """Set a context, or the default one, and all its subjects back; returns the mode of the context itself.

        A subject alone is set back if it has a mode.
        """
        with self.database.transaction(write=True):
            place = place_of(subject)
            modes = self._settings.modes(place)
            for each in modes:
                self._settings.set_mode(each, None)
                self._log.add("delete_mode", each or None)
        return modes.get(place, "READWRITE" if subject is None else None)


def _config_detail(config: Config, cleared: Sequence[str]) -> dict[str, Any]:
    """Return what is logged of a configuration: plain values, and the names of what may be large."""
    given = config.json
    plain = {key: value for key, value in given.items() if isinstance(value, str | bool)}
    replaced = sorted(given.keys() - plain.keys())
    detail = {"set": plain, "replaced": replaced, "cleared": sorted(set(cleared) - given.keys())}
    return {name: value for name, value in detail.items() if value}


def _nothing_set(subject: str | None) -> RegistryError:
    return RegistryError(f"Subject '{subject}' not found.", 404, 40401)

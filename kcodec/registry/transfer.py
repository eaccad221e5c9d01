"""Everything that a registry holds, as a stream of entries: out of one registry or file, into another."""

import json
import logging
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from kcodec._files import check_end
from kcodec.errors import ConfigError, RegistryError, check_kind, is_whole, one_line
from kcodec.registry.base import (
    RegisteredSchema,
    Schema,
    SchemaRegistry,
    check_subject,
    context_of,
    own_config,
    own_mode,
    own_name,
    qualified,
)
from kcodec.registry.embedded import EmbeddedRegistry
from kcodec.registry.settings import Config

__all__ = ["Entry", "Settings", "copy", "entries", "load", "read_entries", "write_entries"]

#: The greatest number of a version, or id.
_MOST = (1 << 31) - 1
#: Bytes of a file's name, which file systems take at most.
_LONGEST_NAME = 255
#: Types of rules that have keys.
_ENCRYPTING = ("ENCRYPT", "ENCRYPT_PAYLOAD")


class Entry(NamedTuple):
    """A version of a subject.

    Attributes
    ----------
    subject, version, id, schema
        As in `kcodec.registry.RegisteredSchema`.
    deleted : bool
        Whether it is softly deleted.
    """

    subject: str
    version: int
    id: int
    schema: Schema
    deleted: bool = False

    @property
    def json(self) -> dict[str, Any]:
        """The entry as an answer of a server has it."""
        place = {"subject": self.subject, "version": self.version, "id": self.id}
        return {**place, **({"deleted": True} if self.deleted else {}), **self.schema.json}


class Settings(NamedTuple):
    """What a subject, a context or the whole registry is set to.

    Attributes
    ----------
    subject : str or None
        The subject, or the context (``:.lab:``); None for the registry.
    config : Config
        The configuration that it has.
    mode : str or None
        The mode that it has.
    """

    subject: str | None
    config: Config
    mode: str | None = None

    @property
    def json(self) -> dict[str, Any]:
        """The settings under the server's keys."""
        return {"subject": self.subject, "config": self.config.json, "mode": self.mode}


def entries(registry: SchemaRegistry) -> Iterator[Entry | Settings]:
    r"""Yield what a registry holds: settings, then versions, each after those that it refers to.

    Parameters
    ----------
    registry : SchemaRegistry
        Any registry.

    Yields
    ------
    Entry or Settings

    Raises
    ------
    RegistryError
        If it cannot be asked, has versions of a subject that is an alias (a server), or of one whose name means
        another.

    Examples
    --------
    >>> import kcodec
    >>> registry = kcodec.registry.open("memory://transferred")
    >>> _ = registry.register("s", Schema('"int"'))
    >>> settings, version = entries(registry)
    >>> settings.config.compatibility, settings.mode
    ('BACKWARD', 'READWRITE')
    >>> print(json.dumps(version.json))
    {"subject": "s", "version": 1, "id": 1, "schemaType": "AVRO", "schema": "\"int\""}
    """
    yield Settings(None, registry.config(), registry.mode())
    subjects = registry.subjects(deleted=True)
    for subject in subjects:
        if check_subject(subject) != subject:
            raise RegistryError(f"{subject} cannot be asked for: its name means {check_subject(subject)}")
    places = {*subjects, *(f":{context_of(subject)}:" for subject in subjects)} - {":.:"}
    if isinstance(registry, EmbeddedRegistry):
        # A server does not tell what is set before there are versions.
        places.update(registry.places())
    for place in sorted(places, key=lambda each: (own_name(each) != "", each)):
        config = own_config(registry, place) or Config()
        mode = own_mode(registry, place)
        if config != Config() or mode is not None:
            yield Settings(place, config, mode)
    found = {
        (each.subject or "", each.version or 0): Entry(
            each.subject or "", each.version or 0, each.id or 0, each.schema, deleted
        )
        for each, deleted in _versions(registry, subjects)
    }
    yield from _ordered(found)


def _versions(registry: SchemaRegistry, subjects: list[str]) -> Iterator[tuple[RegisteredSchema, bool]]:
    """Yield the versions of subjects, and whether each is softly deleted."""
    if isinstance(registry, EmbeddedRegistry):
        yield from registry.every_version()
        return
    for subject in subjects:
        config = own_config(registry, subject)
        if config is not None and config.alias and qualified(config.alias, context_of(subject)) != subject:
            # A server answers for the other one.
            raise RegistryError(
                f"{subject} has versions, and is an alias of {config.alias}: its own cannot be asked for; drop the "
                "alias first"
            )
        live = set() if subject not in registry.subjects(subject) else set(registry.versions(subject))
        for version in registry.versions(subject, deleted=True):
            found = registry.get_version(subject, version, deleted=True)
            yield replace(found, subject=subject, version=version), version not in live


def _ordered(found: Mapping[tuple[str, int], Entry]) -> Iterator[Entry]:
    """Yield entries by id and version, each after those that it refers to."""
    done: set[tuple[str, int]] = set()
    for start in sorted(found, key=lambda place: (found[place].id, place)):
        waiting = [start]
        while waiting:
            place = waiting[-1]
            entry = found[place]
            needed = [
                (qualified(each.subject, context_of(entry.subject)), each.version)
                for each in entry.schema.references
            ]
            missing = [each for each in needed if each in found and each not in done and each not in waiting]
            if missing:
                waiting += missing
                continue
            waiting.pop()
            if place not in done:
                done.add(place)
                yield entry


def load(registry: SchemaRegistry, entries: Iterable[Entry | Settings]) -> int:
    """Put entries into a registry, with their ids and versions.

    The subjects are in mode IMPORT meanwhile, and get their settings at the end. What is there already under the same
    id and version stays.

    Parameters
    ----------
    registry : SchemaRegistry
        Where they go.
    entries : iterable of Entry or Settings
        As `entries` yields them.

    Returns
    -------
    int
        The number of versions.

    Raises
    ------
    RegistryError
        42205, if another schema has an id or a version already.
    """
    settings: list[Settings] = []
    deleted: list[Entry] = []
    importing: set[str] = set()
    count = 0
    with ExitStack() as stack:
        for each in entries:
            if isinstance(each, Settings):
                settings.append(each)
                continue
            if each.subject not in importing:
                importing.add(each.subject)
                mode = own_mode(registry, each.subject)
                registry.set_mode("IMPORT", each.subject, force=True)
                stack.callback(_restore, registry, each.subject, mode)
                config = own_config(registry, each.subject)
                if config is not None and config.alias:
                    # What is registered there is its own.
                    registry.set_config(Config(alias=""), each.subject)
                    stack.callback(_restore_alias, registry, each.subject, config.alias)
            registry.register(each.subject, each.schema, schema_id=each.id, version=each.version)
            count += 1
            if each.deleted:
                deleted.append(each)
        for each in reversed(deleted):
            registry.delete_version(each.subject, each.version)
        # While nothing is only read.
        for one in settings:
            if one.config not in (Config(), own_config(registry, one.subject)):
                registry.set_config(one.config, one.subject)
    for one in settings:
        if one.mode is not None and one.mode != own_mode(registry, one.subject):
            registry.set_mode(one.mode, one.subject, force=True)
    return count


def _restore(registry: SchemaRegistry, subject: str, mode: str | None) -> None:
    if mode is None:
        registry.delete_mode(subject)
    else:
        registry.set_mode(mode, subject, force=True)


def _restore_alias(registry: SchemaRegistry, subject: str, alias: str) -> None:
    if not registry.config(subject).alias:
        registry.set_config(Config(alias=alias), subject)


def write_entries(entries: Iterable[Entry | Settings], path: str | os.PathLike[str]) -> int:
    """Write entries to a file or a folder; nothing is written before all entries are there.

    Parameters
    ----------
    entries : iterable of Entry or Settings
        As `entries` yields them.
    path : path
        A file of JSON lines, if it ends in ``.jsonl``; else an empty folder, for a file for each entry.

    Returns
    -------
    int
        The number of versions.

    Raises
    ------
    ConfigError
        If the folder is not empty, or a subject's name too long for a folder, or another one's to the file system.
    """
    place = Path(path)
    count = 0
    # What fails, or reads the same file, leaves an earlier copy as it is until then.
    found = list(entries)
    if place.suffix == ".jsonl":
        with place.open("w", encoding="utf-8") as file:
            for each in found:
                file.write(json.dumps(each.json, ensure_ascii=False) + "\n")
                count += isinstance(each, Entry)
        return count
    place.mkdir(parents=True, exist_ok=True)
    if any(place.iterdir()):
        raise ConfigError(f"the folder {place} is not empty")
    # Before anything is written.
    folders = [place if each.subject is None else place / _folder(each.subject) for each in found]
    for number, (each, folder) in enumerate(zip(found, folders, strict=True)):
        name = "settings" if isinstance(each, Settings) else str(each.version)
        folder.mkdir(exist_ok=True)
        body = {"order": number, **each.json}
        try:
            with (folder / f"{name}.json").open("x", encoding="utf-8") as file:
                file.write(json.dumps(body, ensure_ascii=False, indent=1) + "\n")
        except FileExistsError as error:
            # Some file systems take capital letters and small ones for the same.
            reason = "another subject has the same folder here: copy to a file .jsonl"
            raise ConfigError(f"{error.filename} is there already, {reason}") from None
        count += isinstance(each, Entry)
    return count


def _folder(subject: str) -> str:
    """Return the name of the folder of a subject; dots alone would be another folder."""
    name = quote(subject, safe=" ,=@+!()-_~")
    if len(name) > _LONGEST_NAME:
        raise ConfigError(
            f"the subject {one_line(subject, 50)} has a name of {len(name)} bytes as a folder, which may have "
            f"{_LONGEST_NAME}: copy to a file .jsonl"
        )
    return name if name.strip(".") else name.replace(".", "%2E")


def read_entries(path: str | os.PathLike[str]) -> Iterator[Entry | Settings]:
    """Read what `write_entries` has written.

    Parameters
    ----------
    path : path
        The file or the folder.

    Yields
    ------
    Entry or Settings
        In the order in which they were written.

    Raises
    ------
    ConfigError
        If it is something else, with the place.
    """
    place = Path(path)
    check_end(place)
    if place.is_dir():
        bodies = [(str(file), file.read_bytes()) for file in sorted(place.rglob("*.json"))]
    else:
        lines = place.read_bytes().split(b"\n")
        bodies = [(f"{place}, line {number}", line) for number, line in enumerate(lines, 1) if line.strip()]
    parsed = []
    for where, text in bodies:
        try:
            body = json.loads(text)
            parsed.append((_number(body, "order", 0), _entry(body)))
        except (ValueError, RecursionError) as error:
            raise ConfigError(f"{where}: not an entry of a registry: {error}") from None
        except KeyError as error:
            raise ConfigError(f"{where}: not an entry of a registry: there is no {error}") from None
        except (TypeError, AttributeError):
            raise ConfigError(f"{where}: not an entry of a registry: a value is of another type") from None
    parsed.sort(key=lambda each: each[0])
    for _, entry in parsed:
        yield entry


def _entry(body: Mapping[str, Any]) -> Entry | Settings:
    if "config" in body:
        place = None if body["subject"] is None else _subject(body)
        return Settings(place, Config.of(body["config"]), body.get("mode"))
    schema = Schema.of({**body, "schema": body["schema"]})
    return Entry(
        _subject(body), _number(body, "version"), _number(body, "id"), schema, bool(body.get("deleted"))
    )


def _subject(body: Mapping[str, Any]) -> str:
    subject = body["subject"]
    if not isinstance(subject, str):
        raise ValueError(f"subject is {one_line(repr(subject), 50)}, not text")
    # Half of a surrogate pair, which JSON can escape, is no text: a UnicodeEncodeError, which is a ValueError.
    subject.encode()
    return subject


def _number(body: Mapping[str, Any], name: str, default: int | None = None) -> int:
    """Return a number of an entry; versions and ids are those of Java's int."""
    number = body[name] if default is None else body.get(name, default)
    if not is_whole(number) or not 0 <= number <= _MOST:
        raise ValueError(f"{name} is {one_line(repr(number), 50)}, not a whole number from 0 to {_MOST}")
    return int(number)


def _with_warning(found: Iterable[Entry | Settings]) -> Iterator[Entry | Settings]:
    """Yield entries, and warn at their end of what is lost if it is in no other copy."""
    encrypted: dict[str, None] = {}
    for each in found:
        if isinstance(each, Entry) and any(rule.type in _ENCRYPTING for rule in each.schema.rules or ()):
            encrypted[each.subject] = None
        yield each
    if encrypted:
        logging.getLogger("kcodec").warning(
            "keys of encrypted fields are not copied, such as those of %s",
            one_line(", ".join(encrypted), 200),
        )


def copy(source: str, target: str, config: Mapping[str, Any] | None = None) -> int:
    """Copy all that a registry or a file holds into another one, but keys of encrypted fields.

    Parameters
    ----------
    source, target : str
        URLs of registries, or paths of a folder or a ``.jsonl`` file.
    config : mapping, optional
        For servers: see `kcodec.registry.open`.

    Returns
    -------
    int
        The number of versions.

    Raises
    ------
    ConfigError
        If there is no such source, or what a file holds is none of a registry's.
    RegistryError
        If a registry refuses, or cannot be asked.
    """
    from kcodec.registry import open as open_registry

    def opened(url: str) -> SchemaRegistry:
        return open_registry(url, config if url.startswith("http") else None)

    check_kind(str, "the URL of a registry or the name of a file", source=source, target=target)
    file = source.removeprefix("sqlite:///")
    if file != source and not Path(file).exists():
        # It would be made, and be empty.
        raise ConfigError(f"{source}: there is no such file")
    found = _with_warning(entries(opened(source))) if "://" in source else read_entries(source)
    return load(opened(target), found) if "://" in target else write_entries(found, target)

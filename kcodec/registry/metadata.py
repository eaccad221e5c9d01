"""What is registered with a schema beside its text."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from kcodec.errors import ConfigError, check_kind


def distinct(what: str, names: Iterable[str]) -> tuple[str, ...]:
    """Return names in their order, each once.

    A text is none: of its letters, taken for tags, a rule that encrypts would find no field.

    >>> distinct("tags", ["PII", "GDPR", "PII"])
    ('GDPR', 'PII')
    >>> distinct("tags", "PII")
    Traceback (most recent call last):
    kcodec.errors.ConfigError: tags='PII' is one text, not a sequence of them: ['PII']
    """
    if isinstance(names, str):
        raise ConfigError(f"{what}={names!r} is one text, not a sequence of them: [{names!r}]")
    check_kind(Iterable, "a sequence of texts", **{what: names})
    return tuple(sorted(set(names)))


def listed(body: Mapping[str, Any], key: str) -> list[Any]:
    """Return the list under a key of a server's JSON, empty if there is none; anything else is a `TypeError`."""
    found = body.get(key)
    if not isinstance(found, list | None):
        raise TypeError(f"{key} is not a list")
    return found or []


@dataclass(frozen=True, slots=True)
class Metadata:
    """What else is registered with a schema; part of its identity.

    The attributes are sorted tuples whatever they are made of: mappings and lists in any order too.

    Attributes
    ----------
    properties : tuple of (str, str)
        By key.
    tags : tuple of (str, tuple of str)
        By path.
    sensitive : tuple of str
        Names of the properties that are secret.

    Examples
    --------
    >>> Metadata.of({"owner": "billing", "app": "2"}).properties
    (('app', '2'), ('owner', 'billing'))
    """

    properties: tuple[tuple[str, str], ...] = ()
    tags: tuple[tuple[str, tuple[str, ...]], ...] = ()
    sensitive: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        properties: Mapping[str, str] | None = None,
        tags: Mapping[str, Iterable[str]] | None = None,
        sensitive: Iterable[str] | None = None,
    ) -> "Metadata":
        """Make one from plain mappings; None stands for an empty one."""
        named = {path: distinct("tags", names) for path, names in (tags or {}).items()}
        return cls(
            tuple((properties or {}).items()), tuple(named.items()), distinct("sensitive", sensitive or ())
        )

    @classmethod
    def of_json(cls, body: Mapping[str, Any]) -> "Metadata":
        """Make one of a server's JSON."""
        return cls.of(body.get("properties"), body.get("tags"), listed(body, "sensitive"))

    def over(self, other: "Metadata | None") -> "Metadata":
        """Return these metadata, completed by those properties, tags and names of others that are missing here.

        Examples
        --------
        >>> Metadata.of({"a": "1"}).over(Metadata.of({"a": "0", "b": "0"})).properties
        (('a', '1'), ('b', '0'))
        """
        if other is None:
            return self
        return Metadata(
            (*other.properties, *self.properties),
            (*other.tags, *self.tags),
            (*other.sensitive, *self.sensitive),
        )

    def __post_init__(self) -> None:
        tags = sorted((path, distinct("tags", names)) for path, names in dict(self.tags).items())
        object.__setattr__(self, "properties", tuple(sorted(dict(self.properties).items())))
        object.__setattr__(self, "tags", tuple(tags))
        object.__setattr__(self, "sensitive", distinct("sensitive", self.sensitive))

    @property
    def json(self) -> dict[str, Any]:
        """The metadata as servers write them, without what is empty."""
        parts = {
            "tags": {path: list(tags) for path, tags in self.tags},
            "properties": dict(self.properties),
            "sensitive": list(self.sensitive),
        }
        return {key: value for key, value in parts.items() if value}

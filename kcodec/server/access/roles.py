"""Which users may do what with which subjects."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import translate
from functools import lru_cache
from typing import Any, Literal, NoReturn

from kcodec.errors import ConfigError, RegistryError
from kcodec.registry.base import GLOBAL_CONTEXT, context_of

Role = Literal["read", "write", "admin"]

#: Each role with those that hold it too.
_ABOVE: dict[str, tuple[str, ...]] = {
    "read": ("read", "write", "admin"),
    "write": ("write", "admin"),
    "admin": ("admin",),
}


@dataclass(frozen=True, slots=True)
class User:
    """Somebody who asks."""

    #: The name; empty for who has shown none.
    name: str
    #: What a token says the user belongs to.
    groups: frozenset[str] = frozenset()


#: Who has shown no name.
ANONYMOUS = User("")


@dataclass(frozen=True)
class Grant:
    """A role that some users have for some subjects."""

    #: ``read``, ``write`` (which holds read) or ``admin`` (which holds both).
    role: Role
    #: Names; ``*`` stands for all who have shown one.
    users: tuple[str, ...] = ()
    #: Groups whose members have the role.
    groups: tuple[str, ...] = ()
    #: Whether those have it who have shown no name.
    anonymous: bool = False
    #: Patterns: ``*`` stands for any characters, ``?`` for one; ``:.lab:*`` for all of a context.
    subjects: tuple[str, ...] = ("*",)

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> "Grant":
        """Make one of what stands in a file; anything else is a `ConfigError`."""
        found = dict(body)
        for key in ("users", "groups", "subjects"):
            if key in found:
                values = found[key]
                if not isinstance(values, list) or not all(isinstance(each, str) for each in values):
                    raise ConfigError(f"{key} of a grant is a list of texts")
                found[key] = tuple(values)
        unknown = sorted(found.keys() - cls.__dataclass_fields__.keys())
        if unknown:
            raise ConfigError(f"a grant has no {unknown[0]!r}")
        if found.get("role") not in tuple(_ABOVE):
            raise ConfigError(f"the role of a grant is one of {', '.join(_ABOVE)}")
        if not isinstance(found.get("anonymous", False), bool):
            raise ConfigError("anonymous of a grant is true or false")
        return cls(**found)

    def is_for(self, user: User) -> bool:
        """Return whether a user has the role."""
        if user == ANONYMOUS:
            return self.anonymous
        return "*" in self.users or user.name in self.users or not user.groups.isdisjoint(self.groups)


@dataclass(frozen=True)
class Roles:
    """All grants.

    >>> roles = Roles((Grant("write", users=("shop",), subjects=("orders-*",)), Grant("read", users=("*",))))
    >>> shop = User("shop")
    >>> roles.has(shop, "write", "orders-value"), roles.has(shop, "write", "carts-value")
    (True, False)
    >>> roles.has(shop, "read", "carts-value"), roles.has(ANONYMOUS, "read", "carts-value")
    (True, False)
    """

    grants: tuple[Grant, ...]
    _subjects: Any = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_subjects", lru_cache(1000)(self._pattern))

    def has(self, user: User, role: Role, subject: str) -> bool:
        """Return whether a user has a role for a subject, or a context.

        What is set in the context ``.__GLOBAL`` holds in all others: who may do something there may do so everywhere.
        All who have a role may read it, as they may what the registry is set to.
        """
        if context_of(subject) == GLOBAL_CONTEXT:
            return self.has_some(user) if role == "read" else self.has_everywhere(user, role)
        pattern = self._subjects(user, role)
        return pattern is not None and pattern.match(subject) is not None

    def has_everywhere(self, user: User, role: Role) -> bool:
        """Return whether a user has a role for all subjects."""
        return any("*" in grant.subjects for grant in self._of(user, role))

    def has_some(self, user: User) -> bool:
        """Return whether a user has any role."""
        return bool(self._of(user, "read"))

    def _of(self, user: User, role: Role) -> list[Grant]:
        return [each for each in self.grants if each.role in _ABOVE[role] and each.is_for(user)]

    def _pattern(self, user: User, role: Role) -> "re.Pattern[str] | None":
        patterns = [each for grant in self._of(user, role) for each in grant.subjects]
        return re.compile("|".join(map(translate, patterns))) if patterns else None


def deny(user: User, role: Role, what: str) -> NoReturn:
    """Refuse something to a user."""
    if user == ANONYMOUS:
        raise RegistryError("Unauthorized", 401, 40101)
    raise RegistryError(f"User {user.name} is denied operation {role} on {what}", 403, 40301)

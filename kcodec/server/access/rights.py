"""Who asks a server, what they may do, and what is guarded by that."""

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import Any, ClassVar, NoReturn, Protocol

from kcodec.errors import RegistryError
from kcodec.registry.base import check_subject
from kcodec.registry.store.change_log import author
from kcodec.server.access.roles import ANONYMOUS, Role, Roles, User, deny

#: Who asks, in the context of a request.
current_user: ContextVar[User] = ContextVar("current_user", default=ANONYMOUS)


def set_current_user(user: User) -> None:
    """Have a user ask from now on in this context, and be the author of what is changed in it."""
    current_user.set(user)
    author.set(user.name)


class Rights(Protocol):
    """What who asks may do."""

    def can(self, role: Role, subject: str | None) -> bool:
        """Return whether who asks has a role for a subject, a context or (None) all of the registry."""

    def has_some(self) -> bool:
        """Return whether who asks has any role."""

    def deny(self, role: Role, what: str) -> NoReturn:
        """Refuse something to who asks."""


class UserRights:
    """What the `current_user` may do, by roles that are asked for each time, as they may change."""

    def __init__(self, roles: Callable[[], Roles]) -> None:
        self._roles = roles

    def can(self, role: Role, subject: str | None) -> bool:
        """Return whether the user has a role."""
        roles, user = self._roles(), current_user.get()
        return roles.has_everywhere(user, role) if subject is None else roles.has(user, role, subject)

    def has_some(self) -> bool:
        """Return whether the user has any role."""
        return self._roles().has_some(current_user.get())

    def deny(self, role: Role, what: str) -> NoReturn:
        """Refuse something to the user; who may still show a name is refused with 40101."""
        deny(current_user.get(), role, what)


class Guarded:
    """Something whose methods refuse (403, 40301) what who asks may not do.

    Methods whose answer depends on who asks are written out in its class. Of the others `checks` has what is checked
    first, with the arguments of the call; what is in neither, nobody may do.
    """

    #: What it is called where a method is asked for that it does not have.
    name: ClassVar[str]
    #: Called as ``check(guarded, *arguments, **named)``.
    checks: ClassVar[Mapping[str, Callable[..., None]]]

    def __init__(self, whole: Any, rights: Rights) -> None:
        self._whole = whole
        self._rights = rights

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """Return a method that first asks whether the user may do what it does."""
        check = self.checks.get(name)
        if check is None:
            raise AttributeError(f"{self.name} has no {name}")
        method = getattr(self._whole, name)

        def checked(*arguments: Any, **named: Any) -> Any:
            check(self, *arguments, **named)
            return method(*arguments, **named)

        return checked

    def can(self, role: Role, subject: str | None = None) -> bool:
        """Return whether the user has a role for a subject, a context or (None) all of the registry."""
        if subject is None:
            return self._rights.can(role, None)
        try:
            return self._rights.can(role, check_subject(subject, whole=False))
        except RegistryError:
            # No subject has this name, as who may do everything is told.
            return self._rights.can(role, None)

    def check(self, role: Role, subject: str | None) -> None:
        """Refuse an action that the user may not do with a subject, a context or (None) all of the registry."""
        name = None if subject is None else check_subject(subject, whole=False)
        if not self._rights.can(role, name):
            self._rights.deny(role, "all subjects" if name is None else f"Subject: {name}")

    def check_some(self) -> None:
        """Refuse users who have no role at all."""
        if not self._rights.has_some():
            self._rights.deny("read", "anything")

    def may_read(self, subject: str) -> bool:
        """Return whether the user may read a subject."""
        return self._rights.can("read", subject)

    @property
    def reads_all(self) -> bool:
        """Whether the user may read all there is."""
        return self._rights.can("read", None)


def of_some(guard: Guarded, *given: Any, **named: Any) -> None:
    """Refuse users who have no role at all, whatever is asked."""
    guard.check_some()

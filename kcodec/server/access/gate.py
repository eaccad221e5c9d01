"""Who comes in: the user of each request, and the registry as that user has it; everybody, where no users are kept."""

import asyncio
import contextvars
from collections.abc import Callable
from typing import Any, TypeVar

from kcodec._daemon_threads import Threads
from kcodec.registry.embedded import EmbeddedRegistry
from kcodec.server.access.guard import GuardedRegistry, ServedRegistry
from kcodec.server.access.rights import UserRights, set_current_user
from kcodec.server.access.roles import User, deny
from kcodec.server.access.users import Access
from kcodec.server.exchange import Exchange

_Result = TypeVar("_Result")


class Gate:
    """What a server asks of its file of users and roles (see `kcodec.server.access.users.Access`).

    Without a file everybody may do everything.
    """

    def __init__(self, path: str | None) -> None:
        self._access = None if path is None else Access(path)
        # Who asks is found out whatever the other threads are at.
        self._threads = Threads(2, "registry-users")

    @property
    def is_open(self) -> bool:
        """Whether everybody may do everything."""
        return self._access is None

    @property
    def challenge(self) -> str:
        """The challenge of an answer 401, empty where nobody has to show a name."""
        return "" if self._access is None else self._access.challenge

    @property
    def state(self) -> object:
        """What answers depend on besides the registry and the user."""
        return None if self._access is None else self._access.roles

    async def enter(self, exchange: Exchange) -> None:
        """Make the user of a request the `current_user`.

        Raises
        ------
        RegistryError
            40101, if the request names somebody and proves nothing.
        """
        if self._access is not None:
            authorization = exchange.header(b"authorization")
            found = self._access.remembered(authorization)
            if found is None:
                loop = asyncio.get_running_loop()
                found = await loop.run_in_executor(self._threads, self._access.user, authorization)
            set_current_user(found)

    def has_some(self, user: User) -> bool:
        """Return whether a user may do anything."""
        return self._access is None or self._access.roles.has_some(user)

    def check_some(self, user: User) -> None:
        """Refuse a user who may do nothing."""
        if not self.has_some(user):
            deny(user, "read", "anything")

    def guarded(self, registry: EmbeddedRegistry) -> ServedRegistry:
        """Return a registry as the `current_user` has it."""
        access = self._access
        return registry if access is None else GuardedRegistry(registry, UserRights(lambda: access.roles))

    def known(self, function: Callable[..., _Result]) -> Callable[..., _Result]:
        """Return a function for another thread, which knows there who asks."""
        if self._access is None:
            return function
        context = contextvars.copy_context()

        def run(*arguments: Any) -> _Result:
            return context.run(function, *arguments)

        return run

    def end(self, seconds: float) -> None:
        """Check no more users, and wait some seconds for the checks under way."""
        self._threads.end(seconds)

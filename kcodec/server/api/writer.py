"""The one that changes the registry: what several requests change meanwhile is one transaction."""

import asyncio
import contextvars
from collections.abc import Callable
from typing import Any

from kcodec._daemon_threads import Threads
from kcodec.registry.embedded import EmbeddedRegistry
from kcodec.server.access.guard import ServedRegistry

#: Changes that are one transaction at most: while it lasts, no other process changes anything.
_MOST = 64

_Change = Callable[[ServedRegistry], Any]


class RegistryWriter:
    """Changes a registry for the requests of an event loop.

    A disk takes milliseconds to keep a transaction: those that wait for one meanwhile share the next one. The changes
    are given the `served` registry: the same, guarded if it is.
    """

    def __init__(self, registry: EmbeddedRegistry, served: ServedRegistry) -> None:
        self._registry = registry
        self._served = served
        self._thread = Threads(1, "registry-writer")
        self._waiting: list[tuple[Callable[[], Any], asyncio.Future[Any]]] = []
        self._task: asyncio.Task[None] | None = None

    async def write(self, change: _Change) -> Any:
        """Return what a change returns, once it is on the disk."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[Any] = loop.create_future()
        # Who asks is known in the context of the request.
        context = contextvars.copy_context()
        self._waiting.append((lambda: context.run(change, self._served), done))
        if self._task is None:
            self._task = loop.create_task(self._run())
        return await done

    def end(self, seconds: float) -> None:
        """Await the change that is under way for some seconds, and close the registry.

        One that takes longer is not made: nobody was told that it was.
        """
        if self._thread.end(seconds):
            self._registry.close()

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        while self._waiting:
            # Nobody waits any more for what took too long.
            batch = [each for each in self._waiting[:_MOST] if not each[1].done()]
            del self._waiting[:_MOST]
            try:
                changes = [change for change, _ in batch]
                results: list[Any] = await loop.run_in_executor(
                    self._thread, self._registry.database.together, changes
                )
            except Exception as error:
                results = [error] * len(batch)
            for (_, done), result in zip(batch, results, strict=True):
                if done.done():
                    continue
                if isinstance(result, Exception):
                    done.set_exception(result)
                else:
                    done.set_result(result)
        self._task = None

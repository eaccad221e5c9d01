"""Where a call of the API runs: in the event loop if it is quick, else in a thread with its own handle."""

import asyncio
import functools
import pickle
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import nullcontext, suppress
from typing import Any

from kcodec._daemon_threads import Threads
from kcodec.registry.embedded import EmbeddedRegistry
from kcodec.registry.sqlite import SqliteRegistry
from kcodec.registry.store.content import TooMuchRead, reading_at_most
from kcodec.server.access.gate import Gate
from kcodec.server.access.guard import ServedRegistry
from kcodec.server.api.durations import Durations
from kcodec.server.api.listed import Listed
from kcodec.server.api.request import Request
from kcodec.server.api.router import Route, Write
from kcodec.server.reply import json_bytes

#: Threads that ask the registry, each by a handle of its own if it is in a file.
_THREADS = 4

#: Bytes of a body from which it is the work of one thread: what is made of large ones takes much memory and time.
_LARGE = 256 << 10

#: Bytes of all the schemas that a call may read beside others, and seconds after which it may read no more: one that
#: does is the work of that thread, too.
_MUCH, _LONG = 1 << 20, 0.25

#: Bytes of a body that the event loop may work on itself.
_SMALL = 4 << 10

#: What stands in bodies that cost more than their size tells: other languages than Avro, other schemas. Keys may also
#: be written with escapes.
_COSTLY = (b"schemaType", b"references", b"\\u")


class Dispatcher:
    """Runs calls for the requests of an event loop."""

    def __init__(self, registry: EmbeddedRegistry, gate: Gate) -> None:
        self._registry, self._gate = registry, gate
        # Whether a call that reads may have to wait for other processes, which write.
        self._waits = isinstance(registry, SqliteRegistry) and not registry.database.write_ahead()
        self._of_thread = threading.local()
        self._opened = [registry]
        self._threads, self._heavy = Threads(_THREADS, "registry"), Threads(1, "registry-heavy")
        self._lists = Threads(1, "registry-lists")
        # Whatever these turn out to cost, a thread is left to cheap ones.
        self._costly = asyncio.Semaphore(_THREADS - 1)
        self._durations, self._durations_of_bodies = Durations(), Durations()

    async def ask(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return what a function returns, which may have to wait; it knows who asks."""
        return await self._asked(self._threads, function, *arguments)

    async def found(
        self, route: Route, request: Request, asked: tuple[object, ...], state: object
    ) -> bytes | Write:
        """Return what a call answers, or the change that it still has to write; cheap calls run at once.

        A change of threads takes some hundred microseconds, more than most calls do; but what takes long in the event
        loop keeps all waiting. So what is done there has no body, or a small one of Avro alone, and was quick the last
        time: with the same query, and for a body in the same state of the registry, of which a schema is compared with
        what is registered. It waits for nobody: while other threads use a registry in memory, this is one more of them.

        Heavy calls share a thread, and leave all others to the rest: those with a large body, and those that read many
        schemas, which is known once they have read some.
        """
        size = len(request.body)
        durations = self._durations
        if size:
            durations = self._durations_of_bodies
            durations.begin(state)
        called = functools.partial(self._called, route, request)
        if size > _LARGE or durations.is_heavy(asked):
            return await self._asked(self._heavy, called)
        bounded = functools.partial(durations.measured, asked, size, functools.partial(_bounded, called))
        is_cheap = _is_cheap(request)
        with suppress(TooMuchRead):
            if is_cheap and not self._waits and durations.is_quick(asked, size):
                lock = self._handle[0].database.lock
                if lock.acquire(blocking=False):
                    try:
                        return bounded()
                    finally:
                        lock.release()
            async with nullcontext() if is_cheap else self._costly:
                return await self.ask(bounded)
        durations.set_heavy(asked)
        return await self._asked(self._heavy, called)

    async def pieces(self, route: Route, request: Request) -> AsyncIterator[bytes]:
        """Yield what a call lists, as JSON, piece by piece: of several lists in turns."""
        listed = Listed(lambda: route.call(self._handle[1], request))
        while not listed.is_complete:
            yield await self._asked(self._lists, listed.more)

    def end(self, seconds: float) -> None:
        """Take no more calls, wait some seconds for those under way, and close the handles that are not in use."""
        for threads in (self._threads, self._heavy, self._lists):
            threads.end(seconds)
        for registry in self._opened:
            close_unused(registry)

    async def _asked(self, threads: Threads, function: Callable[..., Any], *arguments: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(
            threads, self._gate.known(function), *arguments
        )

    def _called(self, route: Route, request: Request) -> bytes | Write:
        found = route.call(self._handle[1], request)
        if isinstance(found, Write):
            return found
        return found.encode(errors="replace") if isinstance(found, str) else json_bytes(found)

    @property
    def _handle(self) -> tuple[EmbeddedRegistry, ServedRegistry]:
        """The registry's handle of this thread, restricted to what the user may do."""
        found: tuple[EmbeddedRegistry, ServedRegistry] | None = getattr(self._of_thread, "handle", None)
        if found is None:
            registry = another(self._registry)
            self._opened.append(registry)
            found = self._of_thread.handle = registry, self._gate.guarded(registry)
        return found


def another(registry: EmbeddedRegistry) -> EmbeddedRegistry:
    """Return a handle of the same registry that need not wait for this one, if it is in a file."""
    if not isinstance(registry, SqliteRegistry):
        return registry
    return pickle.loads(pickle.dumps(registry))


def close_unused(registry: EmbeddedRegistry) -> None:
    """Close a handle unless a thread still uses it: then it stays open until the process ends."""
    if registry.database.lock.acquire(blocking=False):
        try:
            registry.close()
        finally:
            registry.database.lock.release()


def _bounded(called: Callable[[], bytes | Write]) -> bytes | Write:
    """Return what a call returns, unless it reads too much to be done beside others."""
    with reading_at_most(_MUCH, _LONG):
        return called()


def _is_cheap(request: Request) -> bool:
    """Return whether a call is always cheap: it lists no schemas, and no body makes it expensive."""
    if request.text("format") or len(request.body) > _SMALL:
        return False
    return not any(each in request.body for each in _COSTLY)

"""The log of requests: a line of JSON for each."""

import asyncio
import logging
import time
from datetime import datetime, timezone
from functools import lru_cache
from json.encoder import encode_basestring_ascii
from typing import TextIO

from kcodec.server.access.rights import current_user
from kcodec.server.exchange import Exchange

#: Its records are lines of JSON; the command writes them to the standard output.
logger = logging.getLogger("kcodec.registry.access")

#: What all records have in common: looked up for each, it would take more time than an answer that is kept.
_COMMON = vars(logging.LogRecord(logger.name, logging.INFO, __file__, 0, "", None, None))


def log_exchange(exchange: Exchange, seconds: float) -> None:
    """Log a request; names and addresses that a client chooses are escaped."""
    if not logger.isEnabledFor(logging.INFO):
        return
    scope = exchange.scope
    client = scope.get("client")
    now = time.time()
    second = int(now)
    facts = {
        "time": f"{_until_second(second)}.{int((now - second) * 1000):03}+00:00",
        "client": client[0] if client else None,
        "user": current_user.get().name or None,
        "method": scope["method"],
        "path": str(scope["raw_path"], "latin-1"),
        "query": str(scope["query_string"], "latin-1"),
        "route": exchange.route or None,
        "status": exchange.status or None,
        "bytes": exchange.size,
        "ms": round(seconds * 1000, 3),
        "agent": exchange.header(b"user-agent") or None,
    }
    known = [f'"{name}": {_json(value)}' for name, value in facts.items() if value is not None]
    record = logging.LogRecord.__new__(logging.LogRecord)
    record.__dict__.update(_COMMON)
    record.created, record.msecs = now, (now - second) * 1000
    record.msg = f"{{{', '.join(known)}}}"
    logger.handle(record)


def _json(value: str | float) -> str:
    return encode_basestring_ascii(value) if isinstance(value, str) else str(value)


@lru_cache(2)
def _until_second(second: int) -> str:
    return datetime.fromtimestamp(second, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S")


class TurnHandler(logging.Handler):
    """Writes the messages of one turn of the event loop together."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self._stream = stream
        self._lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Have a message written at the end of the turn."""
        if not self._lines:
            asyncio.get_running_loop().call_soon(self.flush)
        self._lines.append(f"{record.msg}\n")

    def flush(self) -> None:
        """Write what is waiting."""
        lines, self._lines = self._lines, []
        self._stream.write("".join(lines))
        self._stream.flush()

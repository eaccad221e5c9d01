"""The log of requests: a line of JSON for each."""

import json
import logging
from datetime import datetime, timezone

from kcodec.registry.server.exchange import Exchange
from kcodec.registry.server.guard import current_user

__all__ = ["log_exchange", "logger"]

#: Its records are lines of JSON; the command writes them to the standard output.
logger = logging.getLogger("kcodec.registry.access")


def log_exchange(exchange: Exchange, seconds: float) -> None:
    """Log a request; names and addresses that a client chooses are escaped."""
    if not logger.isEnabledFor(logging.INFO):
        return
    scope = exchange.scope
    client = scope.get("client")
    facts = {
        "time": datetime.now(timezone.utc).isoformat(timespec="milliseconds"),
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
    logger.info("%s", json.dumps({key: value for key, value in facts.items() if value is not None}))

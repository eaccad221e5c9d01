"""Answers on their way to a client: their bodies, their types, their headers."""

import functools
import json
from typing import Any

from kcodec.server.api.request import refuse
from kcodec.server.exchange import TYPES, Exchange, Send

#: Made once: `json.dumps` makes a new one for each value.
_encoder = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def json_bytes(value: Any) -> bytes:
    """Return a value as the JSON of an answer."""
    return _encoder.encode(value).encode(errors="replace")


def failure(status: int, code: int | None, message: str) -> tuple[int, bytes]:
    """Return the status and the body that tell of an error.

    >>> failure(404, 40403, "Schema not found")
    (404, b'{"error_code":40403,"message":"Schema not found"}')
    """
    return status, json_bytes({"error_code": code, "message": message})


@functools.lru_cache(256)
def answer_type(accept: str) -> str:
    """Return the type of an answer to a client that takes some; refuse (406) one that takes none that there is."""
    taken = [each.partition(";")[0].strip().lower() for each in accept.split(",")]
    if not accept or "*/*" in taken or "application/*" in taken:
        taken = [*taken, TYPES[0]]
    found = next((each for each in taken if each in TYPES), None)
    return found or refuse(406)


async def send_answer(exchange: Exchange, send: Send, status: int, data: bytes) -> None:
    """Send the whole answer of a request."""
    await send_head(exchange, send, status, len(data))
    await send_part(exchange, send, data, is_last=True)


async def send_head(exchange: Exchange, send: Send, status: int, size: int | None) -> None:
    """Send status and headers of an answer, of whose body the size may be unknown (None)."""
    exchange.status = status
    headers = [(b"content-type", exchange.type.encode())]
    if size is not None:
        headers.append((b"content-length", str(size).encode()))
    if status == 204:
        headers.clear()
    if exchange.location:
        headers.append((b"location", exchange.location.encode()))
    if status == 405:
        headers.append((b"allow", exchange.allowed.encode()))
    if status == 401 and exchange.challenge:
        headers.append((b"www-authenticate", exchange.challenge.encode()))
    if status == 503:
        headers.append((b"retry-after", b"1"))
    if exchange.expired or (exchange.phase == "body" and exchange.has_body):
        # What is left of the body is not read.
        headers.append((b"connection", b"close"))
    exchange.phase = "send"
    await send({"type": "http.response.start", "status": status, "headers": headers})


async def send_part(exchange: Exchange, send: Send, data: bytes, *, is_last: bool) -> None:
    """Send a part of an answer's body, once the client has taken most of those before."""
    exchange.size += len(data)
    await send({"type": "http.response.body", "body": data, "more_body": not is_last})

"""Answers on their way to a client: their bodies, their types, their headers."""

import functools
import json
from typing import Any

from kcodec.server.api.request import refuse
from kcodec.server.exchange import TYPES, Exchange, Send

__all__ = ["answer_type", "failure", "json_bytes", "send_answer"]

#: Made once: `json.dumps` makes a new one for each value.
_encoder = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def json_bytes(value: Any) -> bytes:
    """Return a value as the JSON of an answer."""
    return _encoder.encode(value).encode(errors="replace")


def failure(status: int, code: int | None, message: str) -> tuple[int, bytes]:
    """Return the status and the body that tell of an error.

    Examples
    --------
    >>> failure(404, 40403, "Schema not found")
    (404, b'{"error_code":40403,"message":"Schema not found"}')
    """
    return status, json_bytes({"error_code": code, "message": message})


@functools.lru_cache(256)
def answer_type(accept: str) -> str:
    """Return the type of an answer to a client that takes some.

    Raises
    ------
    RegistryError
        406, if it takes none that there is.
    """
    taken = [each.partition(";")[0].strip().lower() for each in accept.split(",")]
    if not accept or "*/*" in taken or "application/*" in taken:
        taken = [*taken, TYPES[0]]
    found = next((each for each in taken if each in TYPES), None)
    return found or refuse(406)


async def send_answer(exchange: Exchange, send: Send, status: int, data: bytes) -> None:
    """Send the whole answer of a request."""
    exchange.status, exchange.size = status, len(data)
    headers = [(b"content-type", exchange.type.encode()), (b"content-length", str(len(data)).encode())]
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
    await send({"type": "http.response.body", "body": data})

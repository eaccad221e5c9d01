"""The time that a request may take, from its first byte to the last one of its answer."""

import asyncio
from collections.abc import Awaitable

from kcodec.server.exchange import Exchange, Send
from kcodec.server.reply import failure, send_answer

_ENDING = failure(503, 503, "The server is ending")


async def answer_in_time(
    exchange: Exchange, send: Send, seconds: float, answer: Awaitable[tuple[int, bytes]]
) -> None:
    """Send what an answer gives, unless it takes too long: then that is the answer.

    Parameters
    ----------
    exchange : Exchange
        The request.
    send : callable
        As ASGI has it.
    seconds : float
        How long it may take.
    answer : awaitable of (int, bytes)
        Status and body; what has been sent on the way (``exchange.phase`` is ``send``) is not sent again.
    """
    task = asyncio.current_task()
    assert task is not None

    def expire() -> None:
        exchange.expired = True
        task.cancel()

    timer = asyncio.get_running_loop().call_later(seconds, expire)
    try:
        status, data = await answer
        if exchange.phase != "send":
            await send_answer(exchange, send, status, data)
    except asyncio.CancelledError:
        # Of time, or by a server that ends. The connection of a client that does not take its answer is closed, for
        # the answer is not complete.
        if exchange.phase != "send":
            status, data = _timed_out(exchange) if exchange.expired else _ENDING
            exchange.expired = True
            await send_answer(exchange, send, status, data)
    finally:
        timer.cancel()


def _timed_out(exchange: Exchange) -> tuple[int, bytes]:
    if exchange.phase == "body":
        return failure(408, 408, "HTTP 408 Request Timeout")
    return failure(500, 50002, "The operation timed out")

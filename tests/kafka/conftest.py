"""Brokers of the tests' own, and settings with short time-outs."""

import pytest

#: A test ends long before it is stopped.
FAST = {
    "request.timeout.ms": 1_000,
    "default.api.timeout.ms": 2_000,
    "retry.backoff.ms": 10,
    "retry.backoff.max.ms": 50,
    "fetch.max.wait.ms": 20,
    "socket.connection.setup.timeout.ms": 1_000,
}


@pytest.fixture
def fast():
    return dict(FAST)

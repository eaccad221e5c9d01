"""Settings of the client."""

import pytest
from fake_broker import FAST, SHORT


@pytest.fixture
def fast():
    return dict(FAST)


@pytest.fixture
def short():
    return dict(SHORT)

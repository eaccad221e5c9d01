"""Settings with short time-outs."""

import pytest
from fake_broker import FAST


@pytest.fixture
def fast():
    return dict(FAST)

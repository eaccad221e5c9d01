import pytest
from asked import Asked


@pytest.fixture
def ask():
    asked = Asked()
    yield asked
    asked.close()

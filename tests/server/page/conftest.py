"""A registry with some of everything, and browsers that look at it."""

import pytest
from page_browser import Browser, filled

from kcodec.registry.memory import MemoryRegistry
from kcodec.server.page.app import RegistryPage


@pytest.fixture
def registry() -> MemoryRegistry:
    return filled()


@pytest.fixture
def browser(registry) -> Browser:
    return Browser(RegistryPage(registry, root_path="/ui"))


@pytest.fixture
def limited(registry):
    """Make browsers of users who may do only some things: those are pairs of an action and a subject."""

    def make(*allowed):
        return Browser(
            RegistryPage(
                registry, root_path="/ui", allows=lambda scope, action, subject: (action, subject) in allowed
            )
        )

    return make

"""A registry with some of everything, and browsers that look at it."""

import pytest
from page_browser import Browser, filled

from kcodec.registry.memory import MemoryRegistry
from kcodec.server.access.guard import GuardedRegistry
from kcodec.server.access.rights import UserRights, current_user
from kcodec.server.access.roles import Grant, Roles, User
from kcodec.server.page.app import RegistryPage


@pytest.fixture
def registry() -> MemoryRegistry:
    return filled()


@pytest.fixture
def browser(registry) -> Browser:
    return Browser(RegistryPage(registry, root_path="/ui"))


@pytest.fixture(params=["allows", "roles"])
def limited(registry, request):
    """Make browsers of a user who may do only some things: pairs of an action and a subject, None for all there is.

    What is allowed is said by a function of the page, or by the roles of a server.
    """

    def make(*allowed, **more):
        if request.param == "allows":
            more["allows"] = lambda scope, action, subject: (action, subject) in allowed
            return Browser(RegistryPage(registry, root_path="/ui", **more))
        grants = [Grant(role, users=("ada",), subjects=(subject or "*",)) for role, subject in allowed]
        guarded = GuardedRegistry(registry, UserRights(lambda: Roles(tuple(grants))))
        return Browser(RegistryPage(guarded, root_path="/ui", **more))

    before = current_user.set(User("ada"))
    yield make
    current_user.reset(before)

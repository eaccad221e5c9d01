import encryption_box
import pytest


@pytest.fixture(scope="session")
def box():
    """A registry in a box; each test has a topic of its own."""
    with encryption_box.box() as made:
        yield made


@pytest.fixture
def topic(request):
    return "".join(
        each if each.isalnum() else "-" for each in f"{request.module.__name__}-{request.node.name}"
    )

import importlib.util

import pytest

# The extra `rules`, which does not have wheels for every Python and system.
if importlib.util.find_spec("celpy") is None:
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture(scope="session")
def box():
    """A registry in a box; each test has a topic of its own."""
    import encryption_box

    with encryption_box.box() as made:
        yield made


@pytest.fixture
def topic(request):
    return "".join(
        each if each.isalnum() else "-" for each in f"{request.module.__name__}-{request.node.name}"
    )

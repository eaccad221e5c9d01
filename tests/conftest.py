"""Fixtures of the whole suite: both implementations, and the shared folder."""

import os
import re
from pathlib import Path

import pytest
from hypothesis import settings

from kcodec._impl import IMPLEMENTATIONS

# Its assertions are shown as those of tests.
pytest.register_assert_rewrite("contracts")

settings.register_profile("quick", max_examples=60, deadline=None, derandomize=True)
settings.register_profile("thorough", max_examples=2000, deadline=None)
settings.load_profile(os.environ.get("KCODEC_HYPOTHESIS", "quick"))

# All that is started in Java lives for minutes at most: what its second compiler gains comes too late to pay.
os.environ.setdefault("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")

HERE = Path(__file__).parent


#: What is started once for many tests, the longest first; the tests on a Connect server have services of their own.
GROUPS = {
    "services, connect": re.compile(r"/services/(test_thin_client\.py|.*[\[-]connect[\]-])"),
    "services": re.compile(r"/services/"),
    "spark": re.compile(r"/spark/"),
}


def group(test: str) -> str:
    """Return the name of the tests that run in the same worker as this one: its group's, or its file's."""
    return next((name for name, tests in GROUPS.items() if tests.search(test)), test.partition("::")[0])


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Give each group of tests, and each file of the others, to one worker."""
    from xdist.scheduler import LoadScopeScheduling

    class Groups(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            return group(nodeid)

    # In the order below, not those of many tests first.
    config.option.loadscopereorder = False
    return Groups(config, log)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    """Skip what is large unless asked to; let the groups begin before the other files in several workers."""
    if os.environ.get("KCODEC_LARGE") != "1":
        for item in items:
            if item.get_closest_marker("large"):
                item.add_marker(pytest.mark.skip(reason="KCODEC_LARGE is not 1"))
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: [*GROUPS, group(item.nodeid)].index(group(item.nodeid)))


def shared_folder() -> Path | None:
    """Return the folder of the shared vectors and benchmarks, if this machine has it."""
    folder = Path(os.environ.get("KCODEC_SHARED", HERE.parent.parent / "shared"))
    return folder if folder.is_dir() else None


@pytest.fixture(params=IMPLEMENTATIONS)
def impl(request, monkeypatch) -> str:
    """Run the test on the compiled modules and again on their plain-Python twins."""
    monkeypatch.setenv("KCODEC_IMPL", request.param)
    return request.param


@pytest.fixture(scope="session")
def shared() -> Path:
    """Give the folder of the shared vectors; skip the test without it."""
    folder = shared_folder()
    if folder is None:
        pytest.skip("no shared folder: set KCODEC_SHARED to run this test")
    return folder

"""Fixtures of the whole suite: both implementations, and the shared folder."""

import atexit
import gc
import os
import re
import signal
import sys
import zlib
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis.strategies import just

from kcodec._impl import IMPLEMENTATIONS

# What is collected and imported stays: looking through all of it for garbage, again and again, finds none.
gc.disable()
# Extension modules are to see what they made go before Python ends.
atexit.register(gc.unfreeze)

# Their assertions are shown as those of tests.
pytest.register_assert_rewrite("contracts", "side_by_side")

# All that is started in Java lives for minutes at most: what its second compiler gains comes too late to pay.
options = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
# Spark's classes, ready in memory: made by `make test`, and left alone by a JVM that has others.
if (archive := Path(sys.prefix, "spark.jsa")).exists():
    options += f' "-XX:SharedArchiveFile={archive}" -Xlog:cds*=off'
os.environ.setdefault("JDK_JAVA_OPTIONS", options)

# What a shell starts in the background ignores interruptions, and so would all that tests start and interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

HERE = Path(__file__).parent
#: Whether this is `make test`, which leaves to `make thorough` what takes long for what it finds.
QUICK = os.environ.get("KCODEC_QUICK") == "1"
RECURSION_LIMIT = sys.getrecursionlimit()

settings.register_profile("quick", max_examples=15 if QUICK else 60, deadline=None, derandomize=True)
settings.register_profile("thorough", max_examples=2000, deadline=None)
settings.load_profile(os.environ.get("KCODEC_HYPOTHESIS", "quick"))
# From its first draw on Hypothesis keeps what it draws from, if it sees who holds that: nobody who is frozen. It
# collects garbage to see it: here, while there is little to look through.
given(just(None))(lambda _: None)()

#: What is started once for many tests, the longest first; the tests on a Connect server have services of their own,
#: which are also those of many tests without Spark.
GROUPS = {
    "services, connect": re.compile(
        r"/services/(\w+/test_(thin_client|kafka_\w+|apicurio|confluent|consumer_loop|docs_commands)\.py|.*[\[-]connect[\]-])"
    ),
    "services": re.compile(r"/services/"),
    # An older Spark's session is one of its own: whichever worker is free has it.
    "spark": re.compile(r"/spark/(?!sessions/test_older\.py)"),
    "spark, older": re.compile(r"/spark/"),
    "cluster": re.compile(r"/cluster/"),
}
#: The files that take longest: none of them is to begin when other workers are nearly done.
LONG = re.compile(r"/(test_contracts|test_memory|test_process|test_wide_messages|test_parity)\.py")


def group(test: str) -> str:
    """Return the name of the tests that run in the same worker as this one: its group's, or its file's."""
    return next((name for name, tests in GROUPS.items() if tests.search(test)), test.partition("::")[0])


def place(name: str) -> int:
    """Return the place of a group among those handed out to several workers."""
    return [*GROUPS].index(name) if name in GROUPS else len(GROUPS) + (not LONG.search(name))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Give each group of tests, and each file of the others, to one worker."""
    from xdist.scheduler import LoadScopeScheduling

    class Groups(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            return group(nodeid)

    # In the order of their places, not those of many tests first.
    config.option.loadscopereorder = False
    return Groups(config, log)


def quick(items) -> list[bool]:
    """Return which tests are those of `make test`."""
    seen = Counter()
    chosen = []
    for item in items:
        of, _, parameters = item.nodeid.partition("[")
        every = item.get_closest_marker("sampled")
        session = parameters and item.callspec.params.get("spark")
        # What runs on both of Spark's sessions runs on one, always the same: about half of the tests on each.
        other = session and zlib.crc32(item.nodeid.replace(session, "").encode()) % 2 != (
            session == "connect"
        )
        chosen.append(
            not item.get_closest_marker("thorough")
            and not other
            and (every is None or seen[of] % every.args[0] == 0)
        )
        seen[of] += 1
    return chosen


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    """Leave out and skip what was not asked for; in several workers let the groups begin, then the long files."""
    if QUICK:
        chosen = quick(items)
        config.hook.pytest_deselected(
            items=[item for item, is_chosen in zip(items, chosen, strict=True) if not is_chosen]
        )
        items[:] = [item for item, is_chosen in zip(items, chosen, strict=True) if is_chosen]
    if os.environ.get("KCODEC_LARGE") != "1":
        for item in items:
            if item.get_closest_marker("large"):
                item.add_marker(pytest.mark.skip(reason="KCODEC_LARGE is not 1"))
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: place(group(item.nodeid)))


@pytest.fixture(scope="session", autouse=True)
def _precedence(request):
    """Let a worker that does not begin with services, which take longest, leave the processor to those that do."""
    first = os.environ["PYTEST_CURRENT_TEST"]
    # Windows has no such thing.
    if (
        hasattr(os, "nice")
        and hasattr(request.config, "workerinput")
        and not group(first).startswith("services")
    ):
        os.nice(10)


@pytest.hookimpl(trylast=True)
def pytest_collection_finish(session):
    """Collect garbage from now on, but leave out the tests themselves, of which there are many."""
    gc.freeze()
    gc.enable()


def shared_folder() -> Path | None:
    """Return the folder of the shared vectors and benchmarks, if this machine has it."""
    folder = Path(os.environ.get("KCODEC_SHARED", HERE.parent.parent / "shared"))
    return folder if folder.is_dir() else None


@pytest.fixture(params=IMPLEMENTATIONS)
def impl(request, monkeypatch) -> str:
    """Run the test on the compiled modules and again on their plain-Python twins."""
    monkeypatch.setenv("KCODEC_IMPL", request.param)
    return request.param


@pytest.fixture(autouse=True)
def recursion_limit() -> None:
    """Set Python's limit to what it was: interpreters of rules (celpy, jsonata) raise it for the whole process."""
    sys.setrecursionlimit(RECURSION_LIMIT)


@pytest.fixture(scope="session")
def shared() -> Path:
    """Return the folder of the shared vectors; skip the test without it."""
    folder = shared_folder()
    if folder is None:
        pytest.skip("no shared folder: set KCODEC_SHARED to run this test")
    return folder

"""Three brokers, started when a test first needs them."""

import importlib.util

import pytest
from artifacts import REQUIRED, had

# Without these packages the modules cannot even be imported.
collect_ignore_glob = [] if REQUIRED or importlib.util.find_spec("confluent_kafka") else ["test_*.py"]


def pytest_itemcollected(item):
    item.add_marker(pytest.mark.services)


@pytest.fixture(scope="session")
def brokers(tmp_path_factory):
    from brokers import Brokers

    made = had(lambda: Brokers(tmp_path_factory.mktemp("brokers")))
    try:
        made.start()
        yield made
    finally:
        made.close()


@pytest.fixture(scope="session")
def control(brokers):
    from control import Control

    return Control(brokers.address)

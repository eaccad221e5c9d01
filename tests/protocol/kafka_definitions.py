"""Kafka's own definitions, by the set of the vectors that they belong to."""

import functools
from importlib.util import find_spec
from pathlib import Path

from kcodec.protocol.spec.definitions import Definitions, load

#: Set of the vectors -> folder of the definitions.
FOLDERS = {
    "trunk": "clients",
    "test": "clients-test",
    "group": "group-coordinator",
    "txn": "transaction-coordinator",
    "share": "share-coordinator",
    "metadata": "metadata",
    "storage": "storage",
    "streams": "streams",
    "raft": "raft",
}


@functools.cache
def definitions(shared: Path) -> dict[str, Definitions]:
    """Load all; those of set ``kp`` are in the package kafka-python, if it is installed."""
    loaded = {name: load(shared / "kafka-messages" / folder) for name, folder in FOLDERS.items()}
    package = find_spec("kafka")
    if package is not None and package.origin is not None:
        newer = Path(package.origin).parent / "protocol" / "schemas" / "resources"
        if newer.is_dir():
            loaded["kp"] = load(newer)
    return loaded

"""Rows that tests write to topics, and what they read of them."""

import pyarrow as pa

from kcodec.kafka import read


def numbers(count, start=0):
    return pa.table(
        {"value": pa.array([b"%d" % number for number in range(start, start + count)], pa.binary())}
    )


def values(cluster, partition=0, topic="t"):
    return [int(value) for value in cluster.records((topic, partition))["value"].to_pylist()]


#: Batches of some hundred records.
SMALL = {"batch.size": 4_000}


def offsets(cluster, fast, **given):
    found = read("t", servers=cluster.address, columns=["offset"], config=fast, **given).read_all()
    return found["offset"].to_pylist()

"""Partitions as Java's producer chooses them."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcodec._impl import IMPLEMENTATIONS, kernel
from kcodec.errors import ConfigError
from kcodec.kafka import partition_of
from kcodec.kafka.writing.partitioner import Partitioner

#: Those of Kafka's own test of its hash, as Java's signed numbers.
HASHES = {
    b"21": -973932308,
    b"foobar": -790332482,
    b"a-little-bit-long-string": -985981536,
    b"a-little-bit-longer-string": -1486304829,
    b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
    b"abc": 479470107,
}


@pytest.mark.parametrize("impl", IMPLEMENTATIONS)
def test_hashes_are_those_of_java(impl):
    found = kernel("kafka.writing._murmur2", impl).hash_rows(pa.array(list(HASHES), pa.binary()))
    assert found.astype(np.int32).tolist() == list(HASHES.values())


@given(
    st.lists(st.one_of(st.none(), st.binary(max_size=40))),
    st.sampled_from(["binary", "large_binary", "binary_view"]),
)
def test_both_implementations_agree(keys, layout):
    array = pa.array(keys, getattr(pa, layout)())
    native, pure = (kernel("kafka.writing._murmur2", impl).hash_rows(array) for impl in ("native", "pure"))
    assert native.tolist() == pure.tolist()


def test_partitions_of_keys():
    keys = list(HASHES)
    assert partition_of([*keys, None], 7).to_pylist() == [
        *((each & 0x7FFFFFFF) % 7 for each in HASHES.values()),
        None,
    ]
    assert (
        partition_of(pa.chunked_array([keys[:2], keys[2:]]), 7).to_pylist()
        == partition_of(keys, 7).to_pylist()
    )
    assert partition_of(pa.array(["foobar"]), 10).to_pylist() == partition_of([b"foobar"], 10).to_pylist()
    with pytest.raises(ConfigError, match="partitions=0"):
        partition_of(keys, 0)


def test_records_without_a_key_fill_batches():
    partitioner = Partitioner([0, 1, 2], 100)
    keys = pa.array([None, None, b"foobar", None, None, None, None], pa.binary())
    keyed = partition_of([b"foobar"], 3)[0].as_py()
    chosen = partitioner.choose(keys, np.full(7, 40)).tolist()
    one, two, three = (chosen[0], (chosen[0] + 1) % 3, (chosen[0] + 2) % 3)
    assert chosen == [one, one, keyed, two, two, three, three]
    # The next ones are a batch of the next partition.
    assert partitioner.choose(pa.nulls(2, pa.binary()), np.array([50, 20])).tolist() == [one, one]
    assert partitioner.choose(pa.nulls(2, pa.binary()), np.array([60, 60])).tolist() == [two, three]


def test_the_first_partition_is_any():
    first = {next(Partitioner([4, 5, 6], 100).runs(np.array([1])))[0] for _ in range(200)}
    assert first == {4, 5, 6}


@given(
    st.lists(st.lists(st.integers(0, 250), min_size=1, max_size=30), min_size=1, max_size=4),
    st.integers(1, 4),
    st.integers(1, 300),
)
def test_runs_are_batches_of_one_partition_after_the_other(columns, count, size):
    partitioner, turn = Partitioner([10 + number for number in range(count)], size), None
    for sizes in columns:
        row, runs = 0, list(partitioner.runs(np.cumsum(sizes)))
        assert len(runs) <= max(-(-sum(sizes) // size), 1)
        for number, start, end in runs:
            turn = number - 10 if turn is None else turn
            assert (number, start) == (10 + turn % count, row)
            # Where a record lies on the edge of two runs, it is in the second one.
            assert sum(sizes[start + 1 : end]) <= size
            row, turn = end, turn + 1
        assert row == len(sizes)

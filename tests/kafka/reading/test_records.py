"""Records one by one: what they hold, and which positions a follower has between them."""

import pyarrow as pa
import pytest
from fake_broker import PLACE, FakeCluster

import kcodec
from kcodec.errors import ConfigError
from kcodec.kafka import RecordError, follow, read, records
from kcodec.protocol import write_batches


def cluster_of(*values, topics=None):
    cluster = FakeCluster(topics or {"t": 1})
    for each in values:
        cluster.append(PLACE, write_batches(pa.table({"key": [b"k"] * len(each), "value": each})))
    return cluster


OPTIONS = {"value": kcodec.JsonCodec("id BIGINT, at TIMESTAMP")}


def test_records_of_a_topic(impl, fast):
    with cluster_of([b'{"id":1,"at":"2020-01-01T00:00:00Z"}', None], [b'{"id":3}']) as cluster:
        options = {"servers": cluster.address, "config": fast, **OPTIONS}
        table = read("t", **options).read_all()
        found = list(records(read("t", **options)))
        assert [each._asdict() for each in found] == table.to_pylist()
        assert [(each.offset, each.key) for each in found] == [(0, b"k"), (1, b"k"), (2, b"k")]
        assert found[0].value["id"] == 1
        assert found[1].value is None


def test_names_that_python_does_not_have(impl):
    batch = pa.record_batch({"id": [1], "class": [2], "my field": [3]})
    assert list(records([batch, batch.slice(0, 0)])) == [(1, 2, 3)]
    assert next(records([batch]))._fields == ("id", "_1", "_2")


def test_more_rows_than_are_made_at_once(impl):
    batch = pa.record_batch({"id": range(3000)})
    assert [each.id for each in records([batch, batch])] == [*range(3000)] * 2


def test_positions_are_behind_the_record_in_hand(impl, fast):
    with cluster_of([b'{"id":1}', b'{"id":2}', b'{"id":3}'], [b'{"id":4}']) as cluster:
        options = {"servers": cluster.address, "config": fast, "start": "earliest", **OPTIONS}
        with follow("t", group="g", **options) as follower:
            for record in follower.records():
                assert follower.positions == {"t": {0: record.offset + 1}}
                if record.offset == 1:
                    follower.commit()
                    break
            with pytest.raises(ConfigError, match="left within a batch"):
                follower.poll(1)
            # What is left of the batch comes first.
            assert [each.value["id"] for each in follower.records(timeout=2)] == [3, 4]
            assert follower.poll(0) is None
            assert follower.positions == {"t": {0: 4}}
        with follow("t", group="g", **options) as follower:
            assert [each.offset for each in follower.records(timeout=2)] == [2, 3]


@pytest.mark.parametrize("columns", [["value"], {"o": "value.id", "value": "value"}])
def test_positions_without_offsets_are_those_of_batches(impl, fast, columns):
    with (
        cluster_of([b'{"id":1}', b'{"id":2}']) as cluster,
        follow(
            "t", servers=cluster.address, config=fast, start="earliest", columns=columns, **OPTIONS
        ) as follower,
    ):
        for number, record in enumerate(follower.records(timeout=2)):
            assert record.value["id"] == number + 1
            assert follower.positions == {"t": {0: 0}}
        assert follower.positions == {"t": {0: 2}}


def test_offsets_under_another_name(impl, fast):
    with cluster_of([b'{"id":5}', b'{"id":6}']) as cluster:
        names = {"offset": "value.id", "at": "offset"}
        with follow(
            "t", servers=cluster.address, config=fast, start="earliest", columns=names, **OPTIONS
        ) as follower:
            record = next(follower.records())
            assert (record.offset, record.at) == (5, 0)
            assert follower.positions == {"t": {0: 1}}


def test_a_record_that_cannot_be_read(impl, fast):
    with cluster_of([b'{"id":1}'], [b'{"id":']) as cluster:
        options = {"servers": cluster.address, "config": fast, "start": "earliest", **OPTIONS}
        with follow("t", **options) as follower:
            found = []
            for _ in range(2):
                with pytest.raises(RecordError):
                    found.extend(each.offset for each in follower.records())
            assert found in ([0], [])
            assert follower.positions == {"t": {0: len(found)}}


def test_records_end_when_the_follower_is_closed(impl, fast):
    with cluster_of([b'{"id":1}', b'{"id":2}']) as cluster:
        follower = follow("t", servers=cluster.address, config=fast, start="earliest", **OPTIONS)
        given = []
        for record in follower.records():
            given.append(record.offset)
            follower.close()
        assert given == [0, 1]
        assert list(follower.records()) == []

"""How far reading and writing have come, told as they go."""

import pyarrow as pa
import pytest
from fake_broker import FakeCluster

from kcodec.kafka import read, write


@pytest.mark.parametrize("latest_by_key", [False, True])
def test_progress(fast, latest_by_key):
    with FakeCluster({"t": 2}) as cluster:
        place = {"servers": cluster.address, "config": fast}
        told = []
        rows = pa.table({"key": [b"%d" % number for number in range(9)], "value": [b"x"] * 9})
        write(rows.to_reader(max_chunksize=4), "t", progress=told.append, **place)
        assert told == [4, 8, 9, 9]
        told = []
        reader = read("t", progress=lambda *found: told.append(found), latest_by_key=latest_by_key, **place)
        assert reader.read_all().num_rows == 9
        assert told[-1] == (9, 9)
        assert told == sorted(told)
        told.clear()
        assert (
            read("t", start="latest", progress=lambda *found: told.append(found), **place).read_all().num_rows
            == 0
        )
        assert told == []

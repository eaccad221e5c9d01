"""Topics as DataFrames without a data source."""

import pyarrow as pa
import pytest
from fake_broker import PATIENT, FakeCluster

from kcodec import AvroCodec
from kcodec.errors import ConfigError
from kcodec.protocol import write_batches
from kcodec_spark import read_topic

SCHEMA = '{"type": "record", "name": "R", "fields": [{"name": "id", "type": "long"}]}'


def test_rows(spark):
    values = AvroCodec(SCHEMA).encode([{"id": number} for number in range(20)])
    with FakeCluster({"t": 2}) as cluster:
        for partition in range(2):
            cluster.append(("t", partition), write_batches(pa.table({"value": values})))
        place = {f"kafka.{name}": value for name, value in PATIENT.items()}
        place |= {"kafka.bootstrap.servers": cluster.address, "subscribe": "t", "includeHeaders": None}
        place |= {"value.format": "avro", "value.schema": SCHEMA}
        frame = read_topic(spark, {**place, "maxRecordsPerPartition": 8, "failOnDataLoss": True})
        assert frame.columns == ["key", "value", "topic", "partition", "offset", "timestamp", "timestampType"]
        cluster.append(("t", 0), write_batches(pa.table({"value": values})))
        rows = frame.orderBy("partition", "offset").collect()
        assert [(row.partition, row.offset, row.value.id) for row in rows] == [
            (partition, number, number) for partition in range(2) for number in range(20)
        ]
        some = read_topic(spark, {**place, "columns": "partition", "where": "value.id = 7 and offset < 20"})
        assert sorted(row.partition for row in some.collect()) == [0, 1]
        none = read_topic(spark, {**place, "where": "topic = 'u'"})
        assert none.count() == 0
        assert none.schema == frame.schema


def test_options_that_are_none():
    with pytest.raises(ConfigError, match="unknown option 'wher'; did you mean where"):
        read_topic(None, {"kafka.bootstrap.servers": "h:1", "subscribe": "t", "wher": "x"})

"""A consumer without Spark: batches of messages to columns, and on to polars, duckdb and Parquet."""

import duckdb
import polars
import pyarrow as pa
import pyarrow.parquet as pq
from confluent_kafka import Consumer
from topics import KEY_SCHEMA, Message, order, order_schema, serializer

from kcodec import Serde

ROWS = 500


def test_batches_to_columns(kafka, registry_url, topic, tmp_path):
    writers = [serializer(registry_url, order_schema(version), topic) for version in (1, 2, 3)]
    messages = [
        Message(b"%d" % number, writers[number % 3](order(number, number % 3 + 1))) for number in range(ROWS)
    ]
    other = serializer(registry_url, KEY_SCHEMA, f"{topic}-other")
    poison = [Message(b"poison", other({"id": 1})), Message(b"tombstone", None)]
    kafka.produce(topic, [*messages[:300], *poison, *messages[300:]])

    serde = Serde("AVRO", registry_url, topic=topic, reader_schema="latest")
    consumer = Consumer(
        {
            "bootstrap.servers": kafka.address,
            "group.id": f"{topic}-loop",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    consumer.subscribe([topic])
    seen, batches, dead = 0, [], []
    with pq.ParquetWriter(tmp_path / "orders.parquet", pa.schema(serde.arrow_type)) as writer:
        while seen < ROWS + len(poison):
            messages = consumer.consume(100, timeout=1)
            assert all(message.error() is None for message in messages)
            if not messages:
                continue
            orders, errors = serde.deserialize([message.value() for message in messages], errors="report")
            dead += [messages[row].value() for row in errors["row"].to_pylist()]
            batch = pa.RecordBatch.from_struct_array(orders.drop_null())
            writer.write_batch(batch)
            batches.append(batch)
            consumer.commit()
            seen += len(messages)
    consumer.close()

    everything = pa.Table.from_batches(batches)
    expected = sum(number for number in range(ROWS))
    assert dead == [poison[0].value]
    assert polars.from_arrow(everything)["id"].sum() == expected
    told = duckdb.sql("SELECT sum(id), count(points), min(channel) FROM everything").fetchall()[0]
    assert told == (expected, sum(1 for n in range(ROWS) if n % 3 == 2 and n % 2), "channel 0")
    assert pq.read_table(tmp_path / "orders.parquet")["id"].to_pylist() == everything["id"].to_pylist()
    total = sum(order(number)["total"] for number in range(ROWS))
    assert duckdb.sql(f"SELECT sum(total) FROM '{tmp_path}/orders.parquet'").fetchall()[0][0] == total
    metrics = serde.metrics
    assert (metrics.rows, metrics.bad_rows, metrics.schema_ids, metrics.fetched) == (ROWS + 2, 1, 4, 4)

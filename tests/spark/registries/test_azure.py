"""Topics of Azure's schemas in Spark, against answers as Azure's registry gave them."""

import json
import os
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from azure.schemaregistry.encoder.avroencoder import AvroEncoder
from azure_registry import azure_server
from fake_broker import PATIENT, FakeCluster
from ports import free_port
from processes import SPARK, run, worker_path

from kcodec.protocol import write_batches

HERE = Path(__file__).parent
V1 = '{"type": "record", "name": "shop.R", "fields": [{"name": "id", "type": "long"}]}'
V2 = (
    '{"type": "record", "name": "shop.R", "fields": [{"name": "id", "type": "long"}, '
    '{"name": "note", "type": "string", "default": "none"}]}'
)


@pytest.fixture
def azure(tmp_path):
    with pytest.MonkeyPatch.context() as patch, azure_server(tmp_path, patch) as server:
        yield server


def test_topics(azure, tmp_path):
    encoder = AvroEncoder(client=azure.client(), group_name="shop", auto_register=True)
    old = encoder.encode({"id": 9}, schema=V1)
    azure.client().register_schema("shop", "shop.R", V2, "Avro")
    with FakeCluster({"classic": 1, "connect": 1}) as cluster:
        for name in ("classic", "connect"):
            record = {
                "value": [old["content"]],
                "headers": [[("content-type", old["content_type"].encode())]],
            }
            kind = pa.schema([("value", pa.binary()), ("headers", pa.map_(pa.string(), pa.binary()))])
            cluster.append((name, 0), write_batches(pa.table(record, kind)))
        options = {f"kafka.{name}": str(value) for name, value in PATIENT.items()}
        options |= {
            "kafka.bootstrap.servers": cluster.address,
            "schemaRegistryAddress": azure.url,
            "confluent.schema.registry.timeout": "60",
            "confluent.schema.registry.max.retries": "1",
            "value.subject": "shop.R",
            "value.format": "avro",
            "value.frame": "AZURE",
        }
        path = [str(HERE.parents[2]), worker_path(tmp_path / "path")]
        environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "PYTHONPATH": os.pathsep.join(path)}
        environment.pop("SPARK_CONNECT_MODE_ENABLED", None)
        arguments = [json.dumps(SPARK), json.dumps(options), str(free_port())]
        printed = run(sys.executable, HERE / "azure_session.py", *arguments, env=environment, timeout=300)
    wanted = [[0, "new"], [1, "new"], [2, "new"], [9, "none"]]
    assert json.loads(printed.splitlines()[-1]) == {"classic": wanted, "connect": wanted}

"""A broker of the tests' own, and the commands run against it."""

import io
import json
from datetime import datetime, timezone

import pyarrow as pa
import pytest
from fake_broker import FAST, FakeCluster
from kafka_orders import ORDER, ROWS

import kcodec
from kcodec.cli.main import main
from kcodec.kafka import write


@pytest.fixture
def cluster():
    with FakeCluster({"orders": 2}) as made:
        yield made


@pytest.fixture
def run(cluster, monkeypatch, capfdbinary, tmp_path):
    """Run the tool; gives its status, its output and its errors."""
    settings = tmp_path / "client.properties"
    settings.write_text("# of the tests\n" + "".join(f"{name} = {value}\n" for name, value in FAST.items()))
    monkeypatch.setenv("KCODEC_KAFKA_CONFIG", str(settings))
    monkeypatch.setenv("KCODEC_KAFKA_BOOTSTRAP_SERVERS", cluster.address)

    def run(*arguments, stdin=None):
        if stdin is not None:
            monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        capfdbinary.readouterr()
        status = main([str(each) for each in arguments])
        out, errors = capfdbinary.readouterr()
        return status, out.decode(), errors.decode()

    return run


@pytest.fixture
def registry(tmp_path):
    url = f"sqlite:///{tmp_path}/schemas.db"
    kcodec.registry.open(url).register("orders-value", kcodec.registry.Schema(json.dumps(ORDER)))
    return url


@pytest.fixture
def filled(cluster, registry):
    when = datetime(2026, 1, 2, tzinfo=timezone.utc)
    table = pa.table(
        {
            "key": [b"a", b"b", None],
            "value": pa.array(ROWS, pa.struct([pa.field("id", pa.int64(), False), ("note", pa.string())])),
            "timestamp": pa.array([when] * 3, pa.timestamp("ms", "UTC")),
            "headers": pa.array([[("h", b"1")], [], []], pa.map_("string", "binary")),
        }
    )
    serde = kcodec.Serde("AVRO", registry, topic="orders", schema=ORDER)
    write(table, "orders", value=serde, partition=1, servers=cluster.address, config=FAST)
    return registry

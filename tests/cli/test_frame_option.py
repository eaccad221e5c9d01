"""``--frame`` of ``kcodec consume`` and ``kcodec produce``, and the frames that ``kcodec topics --sample`` sees."""

import json
import uuid
import zlib

import pyarrow as pa
import pytest
from azure_registry import azure_server
from fake_broker import FAST
from glue import CREDENTIALS, glue_server
from kafka_orders import ORDER, ROWS

import kcodec
from kcodec.frames import Frame
from kcodec.kafka import read, write

GUID = uuid.UUID("01234567-89ab-cdef-fedc-ba9876543210")


@pytest.fixture
def glue(monkeypatch):
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    with glue_server() as server, server.registry() as url:
        monkeypatch.setenv("AWS_ENDPOINT_URL_GLUE", server.endpoint)
        yield url


def test_produce_and_consume_with_glue(run, glue):
    kcodec.registry.open(glue).register("orders-value", kcodec.registry.Schema(json.dumps(ORDER)))
    options = ("--value", "avro", "--registry", glue, "--frame", "glue_zlib")
    lines = "".join(json.dumps(row) + "\n" for row in ROWS if row is not None)
    assert run("produce", "orders", *options, stdin=lines.encode())[::2] == (0, "")
    status, out, _ = run("consume", "orders", *options[:-1], "GLUE")
    found = [json.loads(line)["value"] for line in out.splitlines()]
    assert (status, sorted(map(str, found))) == (0, sorted(str(row) for row in ROWS if row is not None))


def test_produce_and_consume_with_azure(run, monkeypatch, tmp_path):
    with azure_server(tmp_path, monkeypatch) as server:
        kcodec.registry.open(server.url).register("orders-value", kcodec.registry.Schema(json.dumps(ORDER)))
        options = ("--value", "avro", "--registry", server.url, "--frame", "azure")
        lines = "".join(json.dumps(row) + "\n" for row in ROWS if row is not None)
        assert run("produce", "orders", *options, stdin=lines.encode())[::2] == (0, "")
        status, out, _ = run("consume", "orders", *options)
        found = [json.loads(line)["value"] for line in out.splitlines()]
        assert (status, sorted(map(str, found))) == (0, sorted(str(row) for row in ROWS if row is not None))
        name = f"frame AZURE, schema {server.schemas['orders-value'][0][0]}"
        assert [json.loads(line)["values"] for line in run("topics", "--sample")[1].splitlines()] == [name]
        status, out, _ = run("topics", "orders", "--sample", "--registry", server.url)
        assert (status, "frame AZURE" in out) == (0, True)


def test_frames_that_headers_hold(run, cluster, registry):
    serde = kcodec.Serde("AVRO", registry, topic="orders", schema=ORDER, frame="CONFLUENT_HEADER")
    rows = kcodec.AvroCodec(ORDER).decode(kcodec.AvroCodec(ORDER).encode(ROWS[:1]))
    write(pa.table({"value": rows}), "orders", value=serde, servers=cluster.address, config=FAST)
    sampled = [json.loads(line)["values"] for line in run("topics", "--sample")[1].splitlines()]
    assert [each.partition(", ")[0] for each in sampled] == ["frame CONFLUENT_HEADER"]
    options = ("--value", "avro", "--registry", registry)
    for more in ((), ("--frame", "CONFLUENT_HEADER")):
        status, out, _ = run("consume", "orders", *options, *more)
        assert (status, json.loads(out)["value"]) == (0, ROWS[0])


@pytest.mark.parametrize(
    ("own", "head"),
    [
        (Frame(b"Z", 8, compression="zlib"), "5a05 0000000000000001"),
        (Frame(b"Z", 4, compression="none"), "5a00 00000001"),
        (Frame(b"\xca\xfe", 16, "bytes"), "cafe {guid}"),
        (Frame(b"v1-", 16, "hex", header="own"), ""),
    ],
    ids=str,
)
def test_a_frame_of_the_users_own(run, cluster, registry, own, head):
    kept = kcodec.registry.open(registry).get_version("orders-value")
    options = ("--value", "avro", "--registry", registry, "--frame", repr(own))
    assert run("produce", "orders", *options, stdin=json.dumps(ROWS[0]).encode())[::2] == (0, "")
    status, out, _ = run("consume", "orders", *options)
    assert (status, json.loads(out)["value"]) == (0, ROWS[0])
    wanted = bytes.fromhex(head.format(guid=uuid.UUID(kept.guid).hex))
    records = read("orders", servers=cluster.address, columns=["value", "headers"], config=FAST).read_all()
    assert records["value"][0].as_py().startswith(wanted)
    digits = b"v1-" + uuid.UUID(kept.guid).hex.encode()
    assert records["headers"].to_pylist() == [[{"key": "own", "value": digits}] if own.header else []]


def test_bombs_cost_their_own_rows(run, cluster, registry):
    kept = kcodec.registry.open(registry).get_version("orders-value")
    head = b"\x03\x05" + uuid.UUID(kept.guid).bytes
    good = kcodec.AvroCodec(ORDER).encode(ROWS[:1])[0].as_py()
    values = [head + zlib.compress(each) for each in (bytes((1 << 26) + 100_000), good)]
    write(pa.table({"key": [b"k", b"k"], "value": values}), "orders", servers=cluster.address, config=FAST)
    status, out, errors = run(
        "consume", "orders", "--value", "avro", "--registry", registry, "--frame", "GLUE"
    )
    assert [json.loads(line)["value"] for line in out.splitlines()] == [None, ROWS[0]]
    assert (status, "size_limit" in errors) == (1, True)


def test_a_frame_without_a_schema(run):
    status, _, errors = run("consume", "orders", "--frame", "GLUE")
    assert (status, "--frame is for keys and values with schemas" in errors) == (2, True)
    status, _, errors = run(
        "consume", "orders", "--value", "avro", "--frame", "GLU", "--registry", "memory://x"
    )
    assert (status, "did you mean 'GLUE'" in errors) == (2, True)

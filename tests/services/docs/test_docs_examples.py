"""The examples of the pages of docs, and of the README, that need a broker or a registry."""

import uuid

import pyarrow.parquet as pq
import pytest
from doc_pages import PAGES, ROOT, blocks, needs_services, needs_spark, page_needs_services, page_needs_spark
from topics import KEY_SCHEMA, Message, order, order_schema, serializer

#: What an example writes for which there is to be a message that cannot be read.
DEAD_LETTERS = '"orders-dead"'


@pytest.fixture
def example(request, kafka, registry_url, tmp_path, monkeypatch):
    """Fill a topic; gives what runs an example with the addresses and names that the services have."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    mark = uuid.uuid4().hex[:6]
    # Those of a connector give schemas their names, which have no dashes.
    changes = f"shop.public.orders_{mark}"
    topic, *_ = [
        kafka.create(name) for name in (*(f"{n}-{mark}" for n in ("orders", "dead", "totals")), changes)
    ]
    writers = [serializer(registry_url, order_schema(version), topic) for version in (1, 2)]
    foreign = serializer(registry_url, KEY_SCHEMA, f"foreign-{mark}")({"id": 1})
    messages = [Message(b"%d" % n, writers[n % 2](order(n, n % 2 + 1))) for n in range(10)]
    kafka.produce(topic, [*messages, Message(b"tombstone", None)])

    def run(block):
        if DEAD_LETTERS in block:
            kafka.produce(topic, [Message(b"foreign", foreign)])
        if "sc://spark:15002" in block:
            block = block.replace("sc://spark:15002", request.getfixturevalue("connect_server").address)
        for there, here in (
            ("http://registry:8081", registry_url),
            ("broker:9092", kafka.address),
            # Java does not know where Python has gone to.
            ('"path", "orders"', f'"path", "{tmp_path}/orders"'),
            ('"orders-checkpoint"', f'"{tmp_path}/checkpoint"'),
            ('"shop.public.orders"', f'"{changes}"'),
            ('"orders-to-lake', f'"to-lake-{mark}'),
            ('"orders"', f'"orders-{mark}"'),
            ('"orders-value"', f'"orders-{mark}-value"'),
            ('"orders-dead"', f'"dead-{mark}"'),
            ('"totals', f'"totals-{mark}'),
        ):
            block = block.replace(there, here)
        # There are a classic and a Connect session in this process.
        block = block.replace(").getOrCreate()\nif", ").create()\nif")
        exec(compile(block, "docs", "exec"), names)

    run.names = names
    return run


KAFKA = ROOT / "docs" / "kafka.md"
#: Run in test_ksql.py.
KSQL = ROOT / "docs" / "ksql.md"
TUTORIAL = ROOT / "docs" / "tutorial.md"

#: Run in test_ray_dask.py.
RAY_DASK = ROOT / "docs" / "howto" / "ray_dask.md"

SERVICES = [page for page in PAGES if page_needs_services(page)]
HOWTO = [page for page in SERVICES if page.parent.name == "howto" and page != RAY_DASK]
on_own_server = pytest.mark.parametrize("registry_url", ["own_server"], indirect=True)


@pytest.mark.parametrize(
    "page",
    [page for page in SERVICES if page.parent.name == "docs" and page not in (KAFKA, KSQL, TUTORIAL)],
    ids=lambda p: p.name,
)
def test_pages(page, spark, example, caplog):
    caplog.set_level("NOTSET", "kcodec")
    connect = "connect" in type(spark).__module__
    example.names["spark"] = spark
    for block in blocks(page):
        if "getOrCreate" not in block or (".remote(" in block) == connect:
            example(block)
    if page.name == "migrate.md":
        names = example.names
        assert len(names["values"]) == len(names["dicts"]) == len(names["column"]) == 10
    if page.name == "spark.md":
        names = example.names
        assert names["observation"].get == {"rows": 12, "tombstones": 1, "schema_ids": 3, "bad_rows": 1}
        assert names["good"].count() == 10
        assert names["query"].exception() is None
        assert connect == (names["spark"] is not spark)
        logs = names["spark"].tvf.python_worker_logs().where("logger = 'kcodec' AND level = 'INFO'")
        assert "fetched schema" in logs.first()["msg"]
        names["spark"].conf.unset("spark.sql.pyspark.worker.logging.enabled")
        if connect:
            names["spark"].stop()


@on_own_server
@pytest.mark.parametrize("page", [page for page in HOWTO if not page_needs_spark(page)], ids=lambda p: p.name)
def test_howto(page, example):
    for block in blocks(page):
        example(block)


@on_own_server
@pytest.mark.parametrize("page", [page for page in HOWTO if page_needs_spark(page)], ids=lambda p: p.name)
def test_howto_of_spark(page, spark, example):
    example.names["spark"] = spark
    for block in blocks(page):
        example(block)


@on_own_server
def test_tutorial(kafka, topic, registry_url, classic_session, tmp_path, monkeypatch):
    """The page makes its session and fills its topic itself."""
    monkeypatch.chdir(tmp_path)
    dead = kafka.create(f"{topic}-dead")
    names: dict[str, object] = {}
    for block in blocks(TUTORIAL):
        for there, here in (
            ("http://127.0.0.1:8081", registry_url),
            ("localhost:9092", kafka.address),
            ('"orders"', f'"{topic}"'),
            ('"orders-dead"', f'"{dead}"'),
            ('"lake/', f'"{tmp_path}/lake/'),
        ):
            block = block.replace(there, here)
        exec(compile(block, "docs/tutorial.md", "exec"), names)
    assert names["why"]["error.code"] == b"frame_magic"
    assert names["why"]["error.topic"] == topic.encode()


def test_readme(example):
    """The consumer loop, with the examples before it."""
    for block in blocks(ROOT / "README.md"):
        if not needs_spark(block):
            example(block)
    assert pq.read_table("orders.parquet")["id"].to_pylist() == list(range(10))


def test_readme_of_spark(spark, example):
    """The job, at a broker."""
    [job] = [block for block in blocks(ROOT / "README.md") if needs_spark(block) and needs_services(block)]
    example.names["spark"] = spark
    example(job)
    assert example.names["topic"].option("value.format", "avro").load().count() == 11


def test_kafka_page(kafka, registry_url, topic, tmp_path, monkeypatch):
    """The page fills its topic itself."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in blocks(KAFKA):
        for there, here in (
            ("http://registry:8081", registry_url),
            ("broker:9092", kafka.address),
            ('"orders"', f'"{topic}"'),
            ('group="billing"', f'group="{topic}"'),
        ):
            block = block.replace(there, here)
        exec(compile(block, "docs/kafka.md", "exec"), names)

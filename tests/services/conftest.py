"""A broker, a registry, Spark Connect and classic Spark: each started once, when a test first needs it."""

import os
import sys
import uuid
from pathlib import Path

import processes
import pytest
from artifacts import REQUIRED, copy_packages, had, java, python, spark_jars
from front import front as fronted
from front import make_certificate
from topics import Kafka

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
REMOTE = "SPARK_CONNECT_MODE_ENABLED"


def missing() -> str | None:
    """Return which packages these tests lack."""
    try:
        import confluent_kafka.schema_registry.avro  # noqa: F401
        import grpc  # noqa: F401
        import pyspark  # noqa: F401
    except ImportError as error:
        return f"{error}: pip install kcodec[test]"
    return None


LACKING = missing()

# Without these packages the modules cannot even be imported.
collect_ignore_glob = ["test_*.py", "*/test_*.py"] if LACKING and not REQUIRED else []


def pytest_terminal_summary(terminalreporter):
    if collect_ignore_glob:
        terminalreporter.write_line(f"tests/services skipped: {LACKING}", yellow=True)


def pytest_itemcollected(item):
    item.add_marker(pytest.mark.services)
    # pyspark warns of newer pandas, and of what pandas and grpc deprecate.
    for category in ("FutureWarning", "DeprecationWarning", "UserWarning"):
        item.add_marker(pytest.mark.filterwarnings(f"ignore::{category}"))


def running(make, tmp_path_factory, stop=processes.Service.stop):
    """Run a service; gives it and its address."""
    service, address = had(lambda: make(tmp_path_factory.mktemp("service")))
    service.start()
    service.address = address
    try:
        yield service
    finally:
        stop(service)


@pytest.fixture(scope="session")
def broker(tmp_path_factory):
    yield from running(processes.broker, tmp_path_factory, processes.Service.kill)


@pytest.fixture(scope="session")
def registry_server(tmp_path_factory):
    yield from running(processes.registry, tmp_path_factory)


@pytest.fixture(scope="session")
def connect_server(tmp_path_factory):
    yield from running(processes.connect_server, tmp_path_factory)


@pytest.fixture(scope="session")
def kafka(broker) -> Kafka:
    """Return what makes, fills and reads topics."""
    return Kafka(broker.address)


@pytest.fixture(scope="session")
def own_server(tmp_path_factory):
    yield from running(processes.own_registry, tmp_path_factory)


@pytest.fixture
def registry_url(request) -> str:
    """Return the address of Apicurio's server, or of kcodec's where a test is run with ``own_server``."""
    return request.getfixturevalue(getattr(request, "param", "registry_server")).address


@pytest.fixture
def front(registry_url):
    """Put something that can fail, wait and refuse before the registry."""
    with fronted(registry_url) as made:
        yield made


@pytest.fixture(scope="session")
def certificate(tmp_path_factory) -> Path:
    """Make a certificate, and its key beside it."""
    return had(lambda: make_certificate(tmp_path_factory.mktemp("tls")))


@pytest.fixture
def topic(kafka) -> str:
    """Make a topic of two partitions that no other test has."""
    return kafka.create(f"orders-{uuid.uuid4().hex[:8]}", partitions=2)


@pytest.fixture(scope="session")
def packages(tmp_path_factory) -> Path:
    """Return a folder that has kcodec and kcodec_spark as they are built here, and nothing else."""
    return copy_packages(tmp_path_factory.mktemp("packages"))


@pytest.fixture(scope="session")
def thin():
    """Return the Python of a thin client."""
    return had(lambda: python("thin"))


@pytest.fixture(scope="package")
def classic_session(tmp_path_factory):
    """Run a classic session; it ends with these tests, so that others can have theirs in this process."""
    had(lambda: java(processes.SPARK_JAVA))
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        path = [str(ROOT), processes.worker_path(tmp_path_factory.mktemp("path"))]
        patch.setenv("PYTHONPATH", os.pathsep.join(path))
        patch.delenv(REMOTE, raising=False)
        builder = SparkSession.builder.master(processes.MASTER).appName("kcodec services")
        for name, value in {**processes.SPARK, "spark.jars": had(spark_jars)}.items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
        session.sparkContext.setLogLevel("OFF")
    yield session
    os.environ.pop(REMOTE, None)
    gateway = session.sparkContext._gateway
    session.stop()
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait(30)
    SparkContext._gateway = SparkContext._jvm = None


@pytest.fixture(scope="package")
def connect_session(connect_server):
    """Open a session at the Connect server and send it the packages that its workers lack."""
    from pyspark.sql import SparkSession

    from kcodec_spark import ship

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(REMOTE, "1")
        session = SparkSession.builder.remote(connect_server.address).create()
        ship(session)
    yield session
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(REMOTE, "1")
        session.stop()


@pytest.fixture
def classic(classic_session, monkeypatch):
    """Return the classic session, as the one that pyspark's functions take themselves for."""
    monkeypatch.delenv(REMOTE, raising=False)
    return classic_session


@pytest.fixture
def connect(connect_session, monkeypatch):
    """Return the Connect session."""
    monkeypatch.setenv(REMOTE, "1")
    return connect_session


@pytest.fixture(params=["classic", "connect"])
def spark(request):
    """Run the test on the classic session and again on the Connect session."""
    return request.getfixturevalue(request.param)

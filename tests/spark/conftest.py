"""One JVM for all Spark tests: a classic session, and in the same JVM a Connect server with one session."""

import json
import os
import re
import shutil
import sys
from pathlib import Path

import pytest
from azure_registry import azure_server
from glue import CREDENTIALS
from ports import free_port as unused_port
from processes import SPARK, worker_path

ROOT = Path(__file__).parents[2]
REMOTE = "SPARK_CONNECT_MODE_ENABLED"


def missing() -> str | None:
    """Return what these tests lack on this machine."""
    try:
        import pyspark  # noqa: F401
    except ImportError:
        return "no pyspark: pip install kcodec[spark]"
    java = Path(os.environ["JAVA_HOME"], "bin", "java") if os.environ.get("JAVA_HOME") else "java"
    return None if shutil.which(java) else "no Java: Spark needs Java 17 or newer"


LACKING = missing()

# Without pyspark the modules cannot even be imported.
collect_ignore_glob = ["test_*.py", "*/test_*.py"] if LACKING and "pyspark" in LACKING else []


def pytest_terminal_summary(terminalreporter):
    if collect_ignore_glob:
        terminalreporter.write_line(f"tests/spark skipped: {LACKING}", yellow=True)


def pytest_itemcollected(item):
    item.add_marker(pytest.mark.spark)
    # pyspark 4.3 warns of newer pandas, and of what pandas and grpc deprecate.
    for category in ("FutureWarning", "DeprecationWarning", "UserWarning"):
        item.add_marker(pytest.mark.filterwarnings(f"ignore::{category}"))


@pytest.fixture(scope="session")
def azure_place(tmp_path_factory):
    """Serve Azure's registry for as long as the JVM runs: workers find it by the environment that this starts in."""
    with (
        pytest.MonkeyPatch.context() as patch,
        azure_server(tmp_path_factory.mktemp("azure"), patch) as server,
    ):
        patch.undo()
        yield server


@pytest.fixture(scope="session")
def jvm(tmp_path_factory, azure_place):
    """Start the JVM; its Python workers find the packages of this checkout."""
    if LACKING:
        pytest.skip(LACKING)
    from pyspark.sql import SparkSession

    saved = {name: os.environ.get(name) for name in ("PYSPARK_PYTHON", "PYTHONPATH", REMOTE, *CREDENTIALS)}
    # Workers find them as those of a cluster find the credentials of its role.
    os.environ.update(CREDENTIALS)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    path = [str(ROOT), saved["PYTHONPATH"], worker_path(tmp_path_factory.mktemp("path"))]
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, path))
    os.environ.pop(REMOTE, None)
    port = unused_port()
    settings = {
        **SPARK,
        "spark.driver.memory": "1g",
        "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
        "spark.connect.grpc.binding.port": str(port),
        "spark.sql.timeType.enabled": "true",
    }
    builder = SparkSession.builder.master("local[2]").appName("kcodec")
    for name, value in settings.items():
        builder = builder.config(name, value)
    with pytest.MonkeyPatch.context() as patch:
        azure_place.known_by(patch)
        classic = builder.getOrCreate()
    classic.sparkContext.setLogLevel("OFF")
    os.environ[REMOTE] = "1"
    connect = SparkSession.builder.remote(f"sc://127.0.0.1:{port}").create()
    yield {"classic": classic, "connect": connect, "server": f"sc://127.0.0.1:{port}"}
    connect.stop()
    os.environ.pop(REMOTE, None)
    gateway = classic.sparkContext._gateway
    classic.stop()
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait(30)
    for name, value in saved.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


@pytest.fixture
def classic(jvm, monkeypatch):
    """Return the classic session, as the one that pyspark's functions take themselves for."""
    monkeypatch.delenv(REMOTE, raising=False)
    return jvm["classic"]


@pytest.fixture
def connect(jvm, monkeypatch):
    """Return the Connect session."""
    monkeypatch.setenv(REMOTE, "1")
    return jvm["connect"]


@pytest.fixture
def converters(jvm):
    """Call Spark's SchemaConverters, whichever session is active."""
    java = jvm["classic"]._jvm
    own = java.org.apache.spark.sql.avro.SchemaConverters

    class Converters:
        def to_avro(self, kind, *arguments):
            parsed = java.org.apache.spark.sql.types.DataType.fromJson(kind.json())
            return own.toAvroType(parsed, *arguments).toString()

        def to_sql(self, schema, stable=False, prefix="", depth=-1):
            parsed = java.org.apache.avro.Schema.Parser().parse(schema)
            found = own.toSqlType(parsed, stable, prefix, depth)
            return json.loads(found.dataType().json())

        def to_sql_for_python(self, schema):
            """Return the type with longs for nanosecond timestamps, which Spark does not take from Python."""
            found = json.dumps(self.to_sql(schema))
            return json.loads(re.sub(r'"timestamp_(ltz|ntz)\(9\)"', '"long"', found))

    return Converters()


@pytest.fixture
def free_port() -> int:
    return unused_port()


@pytest.fixture
def server(jvm) -> str:
    """Return the address of the Connect server."""
    return jvm["server"]


@pytest.fixture(params=["classic", "connect"])
def spark(request):
    """Run the test on the classic session and again on the Connect session."""
    return request.getfixturevalue(request.param)

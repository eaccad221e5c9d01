"""How kcodec comes to the workers of a cluster: shipped, in a packed environment, in the Python of an image."""

import json
import os
import shutil
import subprocess
import tarfile
from contextlib import contextmanager
from pathlib import Path

import processes
import pytest
import wheels
from artifacts import had, python
from clusters import Cluster, Standalone
from topics import Message, order, order_schema, serializer

import kcodec

HERE = Path(__file__).parent
ROWS = 400

pytestmark = [pytest.mark.thorough, pytest.mark.timeout(900)]


@contextmanager
def started(cluster):
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.close()


@pytest.fixture
def filled(kafka, topic, registry_url):
    """Fill a topic with orders, and make another beside it."""
    value = serializer(registry_url, order_schema(), topic)
    kafka.produce(topic, [Message(b"%d" % number, value(order(number))) for number in range(ROWS)])
    kafka.create(f"{topic}-copy")
    return topic


def on(cluster, *job, workers=None, ships=False, path="", **settings):
    """Run the job with a driver at a cluster."""
    environment = {**cluster.environment, "PYSPARK_PYTHON": workers or cluster.python}
    settings = {**cluster.settings, "spark.scheduler.minRegisteredResourcesRatio": "1", **settings}
    return run(cluster.python, environment, settings, *job, ships=ships, path=path)


def run(python, environment, settings, kafka, registry_url, topic, folder, *, ships, path):
    """Run the job; gives what it tells, of which the sums are already compared."""
    folder.mkdir(exist_ok=True)
    given = {
        "settings": settings,
        "broker": kafka.address,
        "registry": registry_url,
        "topic": topic,
        "folder": str(folder),
        "ship": ships,
    }
    (folder / "given").write_text(json.dumps(given))
    environment = {**os.environ, **environment}
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, [environment["PYTHONPATH"], path]))
    done = subprocess.run(
        [*processes.ENDS_WITH_US, python, str(HERE / "job.py"), str(folder / "given")],
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    # What Spark logs of its own end stands behind.
    errors = [line for line in done.stderr.partition("Traceback")[2].splitlines() if "\tat " not in line]
    assert done.returncode == 0, "\n".join(errors[:40])
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["read"] == told["decoded"] == told["streamed"] == sum(range(ROWS))
    assert told["copied"] == ROWS
    # Both workers took part.
    assert told["daemons"] == 2
    return told


@pytest.mark.parametrize("kind", [Standalone, Cluster])
def test_shipped(kind, filled, kafka, registry_url, packages, tmp_path):
    """By a driver that has kcodec, to workers that have not: of a cluster, and within the driver's JVM."""
    with started(had(lambda: kind(tmp_path, packages=None))) as cluster:
        told = on(
            cluster,
            kafka,
            registry_url,
            filled,
            tmp_path / "job",
            ships=True,
            workers=had(lambda: python("thin")),
            path=str(packages),
            # Executors of workers within the driver's JVM have its environment, with the path of the packages.
            **{"spark.executorEnv.PYTHONPATH": cluster.environment["PYTHONPATH"]},
        )
    assert "kcodec -: call kcodec_spark.ship(spark), or install kcodec==" in told["before"]
    assert told["after"].endswith(f"kcodec {kcodec.__version__}: ready")
    assert [each for each in told["from"] if str(packages) in each] == []


def test_a_packed_environment(filled, kafka, registry_url, packages, tmp_path):
    """Which is sent by ``--archives``, and unpacked beside each executor."""
    thin = had(lambda: python("thin"))
    venv = wheels.environment(tmp_path, thin)
    [own] = (venv / "lib").glob("python*/site-packages")
    (own / "others.pth").unlink()
    [theirs] = Path(thin).parents[1].glob("lib/python*/site-packages")
    shutil.copytree(theirs, own, dirs_exist_ok=True)
    archive = tmp_path / "env.tar.gz"
    with tarfile.open(archive, "w:gz", compresslevel=1) as file:
        for each in venv.iterdir():
            file.add(each, each.name)
    # Spark starts this Python on the driver's side too, where it plans sources and sinks.
    job = tmp_path / "job"
    job.mkdir()
    (job / "environment").symlink_to(venv)
    with started(had(lambda: Standalone(tmp_path, packages=None))) as cluster:
        told = on(
            cluster,
            kafka,
            registry_url,
            filled,
            tmp_path / "job",
            workers="./environment/bin/python",
            path=str(packages),
            **{"spark.archives": f"{archive}#environment"},
        )
    assert told["before"].endswith(f"kcodec {kcodec.__version__}: ready")
    assert [each for each in told["from"] if "/environment/" not in each] == []


def test_the_python_of_an_image(filled, kafka, registry_url, tmp_path):
    """That of driver and executors, which has a wheel."""
    image = wheels.environment(tmp_path, had(lambda: python("spark-4.1"))) / "bin" / "python"
    with started(had(lambda: Standalone(tmp_path, str(image), packages=None))) as cluster:
        told = on(cluster, kafka, registry_url, filled, tmp_path / "job")
    assert told["spark"].startswith("4.1")
    assert told["pythons"] == [str(image)]
    assert [each for each in told["from"] if str(image.parents[1]) not in each] == []


def test_at_a_connect_server(thin, filled, kafka, registry_url, packages, tmp_path):
    """Whose tasks run on the cluster: shipped by a client that has neither Java nor py4j."""
    (tmp_path / "server").mkdir()
    with started(had(lambda: Standalone(tmp_path, packages=None))) as cluster:
        own = {**cluster.environment, "PYSPARK_PYTHON": thin}
        more = {"spark.scheduler.minRegisteredResourcesRatio": "1"}
        server, address = processes.connect_server(tmp_path / "server", {**cluster.settings, **more}, own)
        server.start()
        try:
            job = (kafka, registry_url, filled, tmp_path / "job")
            told = run(
                thin, {"PYTHONPATH": ""}, {"spark.remote": address}, *job, ships=True, path=str(packages)
            )
        finally:
            server.stop()
    assert "kcodec -: call kcodec_spark.ship(spark), or install kcodec==" in told["before"]
    assert told["after"].endswith(f"kcodec {kcodec.__version__}: ready")

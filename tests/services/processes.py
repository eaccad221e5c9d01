"""The services as processes of their own: started on free loopback ports, stopped by process id.

On Linux they also end when this process does, whatever ends it: so do a Connect server's Python workers, which end
when the server closes their daemon's standard input.
"""

import base64
import importlib.util
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from artifacts import REGISTRY_JAVA, SPARK_JAVA, artifacts, java, python, ready_classes, spark_jars
from ports import HOST, free_port

_READY_SECONDS = 120
_STOP_SECONDS = 20

#: Has Linux send a signal to what it runs when the process that started it ends.
ENDS_WITH_US = [path, "--pdeathsig=TERM"] if (path := shutil.which("setpriv")) else []


def until(holds: Callable[[], bool], seconds: float = 60) -> None:
    """Wait for what happens elsewhere."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)


def listens(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex((HOST, port)) == 0


def run(*command: object, timeout: float = 240, **options: Any) -> str:
    """Run a command, which is to end well, and with us; gives what it printed."""
    done = subprocess.run(
        [*ENDS_WITH_US, *map(str, command)],
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
        **options,
    )
    # Of what Java tells, not all that was called.
    errors = "\n".join(line for line in done.stderr.splitlines() if "\tat " not in line)
    assert done.returncode == 0, f"{done.stdout[-5000:]}\n{errors}"
    return done.stdout


class Service:
    """A process, its log, and how to see that it is ready."""

    def __init__(
        self,
        name: str,
        folder: Path,
        command: list[str],
        ready: Callable[[], bool],
        env: Mapping[str, str] = {},
        seconds: float = _READY_SECONDS,
    ) -> None:
        self.name = name
        self.folder = folder
        self.log = folder / f"{name}.log"
        self._command = command
        self._ready = ready
        self._env = env
        self._seconds = seconds
        self._process: subprocess.Popen | None = None

    def start(self) -> None:
        self.launch()
        self.await_ready()

    def launch(self) -> None:
        """Start it without waiting for it: some are ready only together with others."""
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [*ENDS_WITH_US, *self._command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self.folder,
                env={**os.environ, **self._env},
            )

    def await_ready(self) -> None:
        end = time.monotonic() + self._seconds
        while not self._ready():
            if self._process.poll() is not None or time.monotonic() > end:
                self.stop()
                raise RuntimeError(f"{self.name} did not start; its log ends with\n{self.tail()}")
            time.sleep(0.1)

    def stop(self) -> None:
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None

    def kill(self) -> None:
        """End it at once: a broker that is asked to end waits for its clients, and may take all the time it has."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        return self._process.pid

    def tail(self, lines: int = 60) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])


_BROKER = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@{host}:{controller}
listeners=PLAINTEXT://{host}:{port},CONTROLLER://{host}:{controller}
advertised.listeners=PLAINTEXT://{host}:{port}
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
log.dirs={folder}/data
num.partitions=1
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
log.retention.ms=-1
"""


#: Another listener, with TLS and every mechanism; and one with TLS alone, where clients need a certificate.
_SECURED = """\
listeners=PLAINTEXT://{host}:{port},CONTROLLER://{host}:{controller},SASL_SSL://{host}:{sasl},SSL://{host}:{tls}
advertised.listeners=PLAINTEXT://{host}:{port},SASL_SSL://{host}:{sasl},SSL://{host}:{tls}
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SASL_SSL:SASL_SSL,SSL:SSL
ssl.keystore.type=PEM
ssl.keystore.location={folder}/broker.pem
ssl.truststore.type=PEM
ssl.truststore.location={certificate}
listener.name.ssl.ssl.client.auth=required
sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER
listener.name.sasl_ssl.plain.sasl.jaas.config={module}.plain.PlainLoginModule required user_reader="{password}";
listener.name.sasl_ssl.scram-sha-256.sasl.jaas.config={module}.scram.ScramLoginModule required;
listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config={module}.scram.ScramLoginModule required;
listener.name.sasl_ssl.oauthbearer.sasl.jaas.config={module}.oauthbearer.OAuthBearerLoginModule required \
  unsecuredLoginStringClaim_sub="reader";
"""


def secured_broker(folder: Path, certificate: Path, password: str) -> tuple[Service, str, str, str]:
    """Make a broker with further listeners; gives it, its address, that of SASL, and that of TLS alone."""
    sasl, tls = free_port(), free_port()
    (folder / "broker.pem").write_text(certificate.with_suffix(".key").read_text() + certificate.read_text())
    module = "org.apache.kafka.common.security"
    secured = _SECURED.replace("{certificate}", str(certificate)).replace("{password}", password)
    secured = secured.replace("{sasl}", str(sasl)).replace("{tls}", str(tls)).replace("{module}", module)
    users = [f"--add-scram=SCRAM-SHA-{bits}=[name=reader,password={password}]" for bits in (256, 512)]
    service, address = broker(folder, secured, users)
    return service, address, f"{HOST}:{sasl}", f"{HOST}:{tls}"


def broker(folder: Path, more: str = "", formatting: Sequence[str] = ()) -> tuple[Service, str]:
    """Make a Kafka broker that is its own controller; gives it and its address. Later settings count."""
    port, controller = free_port(), free_port()
    settings = folder / "server.properties"
    text = (_BROKER + more).format(host=HOST, port=port, controller=controller, folder=folder)
    settings.write_text(text)
    run = java(SPARK_JAVA)
    classes = ready_classes(run, artifacts() / "broker.jsa")
    jars = [run, "-Xmx512m", *classes, "-cp", f"{artifacts() / 'broker'}/*"]
    format_folder(jars, settings, formatting)
    return Service(
        "broker", folder, [*jars, "kafka.Kafka", str(settings)], lambda: listens(port)
    ), f"{HOST}:{port}"


def format_folder(kafka: Sequence[str], settings: Path, options: Sequence[str] = ()) -> None:
    """Format the folder of a broker by its settings, for a cluster of a new name; `kafka` runs a class of Kafka's."""
    formatted = subprocess.run(
        [
            *kafka,
            "kafka.tools.StorageTool",
            "format",
            f"--cluster-id={new_name()}",
            "-c",
            str(settings),
            *options,
        ],
        check=False,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if formatted.returncode:
        raise RuntimeError(f"a broker's folder could not be formatted:\n{formatted.stdout}")


def new_name() -> str:
    """Return a name of a cluster or a folder, as Kafka makes them."""
    return base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")


def registry(folder: Path) -> tuple[Service, str]:
    """Make an Apicurio Registry that keeps schemas in memory; gives it and the URL of Confluent's API."""
    port = free_port()
    url = f"http://{HOST}:{port}/apis/ccompat/v7"

    def ready() -> bool:
        try:
            with urllib.request.urlopen(f"{url}/subjects", timeout=5) as answer:
                return answer.status == 200
        except (urllib.error.URLError, OSError):
            return False

    run, jar = java(REGISTRY_JAVA), artifacts() / "registry" / "quarkus-run.jar"
    command = [run, "-Xmx700m", *ready_classes(run, artifacts() / "registry.jsa"), "-jar", str(jar)]
    place = {
        "QUARKUS_HTTP_HOST": HOST,
        "QUARKUS_HTTP_PORT": str(port),
        "QUARKUS_MANAGEMENT_HOST": HOST,
        "QUARKUS_MANAGEMENT_PORT": str(free_port()),
    }
    return Service("registry", folder, command, ready, place), url


def own_registry(folder: Path, *options: str) -> tuple[Service, str]:
    """Make kcodec's own registry server over a file, with further options; gives it and its URL."""
    port = free_port()
    command = [
        sys.executable,
        "-m",
        "kcodec.cli.main",
        "registry",
        "serve",
        f"--port={port}",
        "--workers=2",
        *options,
    ]
    place = {"PYTHONPATH": str(Path(__file__).parents[2]), "LOCAL_SECRET": "of the server"}
    return Service("kcodec", folder, command, lambda: listens(port), place), f"http://{HOST}:{port}"


#: Two cores; a task is tried four times, as on a cluster.
MASTER = "local[2,4]"

#: Of all Spark sessions here.
SPARK = {
    "spark.driver.bindAddress": HOST,
    "spark.driver.host": HOST,
    "spark.driver.memory": "640m",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.session.timeZone": "UTC",
    # What is run once is compiled for nothing.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


#: What Python runs when it starts: the daemon that forks workers imports what each of them would.
_START = """\
import sys
sys.path[:] = [{!r} if path.endswith("/pyspark.zip") else path for path in sys.path]
if sys.orig_argv[1:3] == ["-m", "pyspark.daemon"]:
    import pandas, pyarrow
    __import__(sys.orig_argv[3])
"""


def worker_path(folder: Path, pyspark: Path | None = None) -> str:
    """Make a folder for the path of Spark's workers: what all of them import is compiled once, and loaded once.

    Spark has them import pyspark from an archive of its sources, from which Python keeps nothing that it compiles, and
    after the fork, like all else that is large. The packages of this project each worker imports itself.
    """
    if pyspark is None:
        pyspark = Path(importlib.util.find_spec("pyspark").origin).parent
    packages = folder / "packages"
    packages.mkdir(parents=True)
    (packages / "pyspark").symlink_to(pyspark)
    (folder / "sitecustomize.py").write_text(_START.format(str(packages)))
    return str(folder)


def connect_server(
    folder: Path, settings: Mapping[str, str] = {}, environment: Mapping[str, str] = {}
) -> tuple[Service, str]:
    """Make a Spark Connect server with the Kafka connector, whose Python workers have no kcodec.

    By itself it runs tasks in its own process; with the settings of a cluster, and its environment, the cluster does.
    """
    import pyspark

    port = free_port()
    home = Path(pyspark.__file__).parent
    settings = {
        **SPARK,
        "spark.master": MASTER,
        "spark.jars": spark_jars(),
        "spark.connect.grpc.binding.address": HOST,
        "spark.connect.grpc.binding.port": str(port),
        "spark.sql.artifact.isolation.enabled": "true",
        **settings,
    }
    command = [
        str(home / "bin" / "spark-submit"),
        "--class=org.apache.spark.sql.connect.service.SparkConnectServer",
        *(f"--conf={name}={value}" for name, value in settings.items()),
        "spark-internal",
    ]
    environment = {
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": HOST,
        "JAVA_HOME": str(Path(java(SPARK_JAVA)).resolve().parents[1]),
        "PYSPARK_PYTHON": python("thin"),
        "PYTHONPATH": worker_path(folder / "path"),
        **environment,
    }
    return Service("connect", folder, command, lambda: listens(port), environment), f"sc://{HOST}:{port}"

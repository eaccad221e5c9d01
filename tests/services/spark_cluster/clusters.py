"""Clusters of Spark's own on this machine: two workers of one core each, and what they start."""

import contextlib
import os
import shutil
import signal
import sys
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from artifacts import SPARK_JAVA, Lacking, jars, java, python, run
from ports import HOST, free_port
from processes import SPARK, Service, listens, until, worker_path
from sinks import TABLES

ROOT = Path(__file__).parents[3]

#: Stands in the environment of all that is started here, and of all that that starts.
_MARK = "KCODEC_SPARK_CLUSTER"

#: What a worker starts for a session, and what has the session.
EXECUTOR, DRIVER = "CoarseGrainedExecutorBackend", "org.apache.spark.deploy.SparkSubmit"


class Cluster:
    """Workers within the JVM of each driver, whose executors are processes of their own.

    Parameters
    ----------
    folder : Path
        Where logs, and what workers unpack, are to be.
    python : str
        The Python of drivers and of tasks, which has the Spark that is to run.
    packages : Path or None
        What is on the path of both: by default this checkout.
    classes : str
        The path of further Java classes, for drivers and tasks.
    """

    master = "local-cluster[2,1,640]"

    def __init__(
        self, folder: Path, python: str = sys.executable, packages: Path | None = ROOT, classes: str = ""
    ) -> None:
        if not Path("/proc/self/environ").exists():
            raise Lacking("no /proc, by which the processes of a Spark cluster are found")
        self.folder = folder
        self.python = python
        self.home = _home(python)
        self._mark = uuid.uuid4().hex
        self._more = {f"spark.{each}.extraClassPath": classes for each in ("driver", "executor") if classes}
        path = [worker_path(folder / "path", self.home)]
        if packages is not None:
            path.append(str(packages))
        #: That of drivers too.
        self.environment = {
            "SPARK_HOME": str(self.home),
            "SPARK_LOCAL_IP": HOST,
            "JAVA_HOME": str(Path(java(SPARK_JAVA)).resolve().parents[1]),
            "PYSPARK_PYTHON": python,
            "PYTHONPATH": os.pathsep.join(path),
            _MARK: self._mark,
        }
        if python != sys.executable:
            # The archive of classes, if there is one, is of another Spark.
            self.environment["JDK_JAVA_OPTIONS"] = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"

    @property
    def settings(self) -> dict[str, str]:
        """Settings of a session that has both workers."""
        return {
            **SPARK,
            "spark.master": self.master,
            "spark.executor.memory": "512m",
            "spark.executor.cores": "1",
            # A task that has waited so long for the worker that has its data goes to the other one.
            "spark.locality.wait": "0",
            **self._more,
        }

    def start(self) -> None:
        """Start what drivers find running."""

    def close(self) -> None:
        """End all that was started here, what that started included."""
        for pid in self.processes():
            _kill(pid)
        # Where workers within a driver's JVM unpack, which takes no other place for it.
        shutil.rmtree(self.home / "work", ignore_errors=True)

    def processes(self, word: str = "") -> list[int]:
        """Return the ids of all processes that were started here, or by these, and have a word in their command."""
        return [pid for pid, command in _marked(f"{_MARK}={self._mark}") if word in command]

    def kill(self, word: str) -> None:
        """Kill those processes."""
        for pid in self.processes(word):
            _kill(pid)

    def kill_executor(self) -> None:
        """Kill one of the processes that run tasks; its worker starts another."""
        until(lambda: self.processes(EXECUTOR))
        _kill(self.processes(EXECUTOR)[0])


class Standalone(Cluster):
    """A master and two workers, of one core each, as processes of their own; parameters as above."""

    def __init__(self, folder: Path, *others: Any, **more: Any) -> None:
        super().__init__(folder, *others, **more)
        port = free_port()
        self.master = f"spark://{HOST}:{port}"
        self._master = self._daemon("master", "master.Master", port)
        own = ["--cores", "1", "--memory", "640m", "--work-dir", str(folder / "work"), self.master]
        self.workers = [
            self._daemon(f"worker-{number}", "worker.Worker", free_port(), own) for number in (1, 2)
        ]

    def _daemon(self, name: str, program: str, port: int, more: Sequence[str] = ()) -> Service:
        place = ["--host", HOST, "--port", str(port), "--webui-port", "0"]
        command = [
            str(self.home / "bin" / "spark-class"),
            f"org.apache.spark.deploy.{program}",
            *place,
            *more,
        ]
        own = {
            "SPARK_DAEMON_MEMORY": "128m",
            # Jobs are not taken over HTTP, at a port that others may have.
            "SPARK_MASTER_OPTS": "-Dspark.master.rest.enabled=false",
        }
        return Service(name, self.folder, command, lambda: listens(port), {**self.environment, **own})

    def start(self) -> None:
        self._master.start()
        for each in self.workers:
            each.launch()
        for each in self.workers:
            each.await_ready()

    def close(self) -> None:
        for each in (self._master, *self.workers):
            each.kill()
        super().close()

    def kill_worker(self) -> None:
        """Kill what starts executors, with those that it has started."""
        worker = self.workers[0]
        ours = [pid for pid in self.processes(EXECUTOR) if _parent(pid) == worker.pid]
        worker.kill()
        for pid in ours:
            _kill(pid)

    def start_worker(self) -> None:
        self.workers[0].start()


def of_sink(sink: str, folder: Path) -> Standalone:
    """Make a cluster that has what a sink needs: an older Spark for tables."""
    if sink in TABLES:
        return Standalone(folder, python("spark-4.1"), classes=f"{jars('tables')}/*")
    return Standalone(folder)


def _home(python: str) -> Path:
    """Return the folder of the Spark that a Python has."""
    [found] = run([python, "-c", "import pyspark; print(pyspark.__path__[0])"])
    return Path(found)


def _marked(mark: str) -> Iterator[tuple[int, str]]:
    for folder in Path("/proc").glob("[0-9]*"):
        # Others end meanwhile, or are not ours to look at.
        with contextlib.suppress(OSError):
            if mark.encode() in (folder / "environ").read_bytes().split(b"\0"):
                yield int(folder.name), (folder / "cmdline").read_text().replace("\0", " ")


def _parent(pid: int) -> int:
    with contextlib.suppress(OSError):
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    return 0


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)

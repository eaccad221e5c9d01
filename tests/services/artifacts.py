"""What the services are made of: Java, the artifacts that pom.xml pins, and a thin client's environment.

Everything fetched is kept, under the digest of what was asked for, in ``KCODEC_SERVICES`` or else below the
user's cache folder.
"""

import fcntl
import functools
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
#: The programs in Java, with what each is made of in a folder of its own.
JAVA = HERE / "java"

#: What the broker and Spark need, and what the registry needs.
SPARK_JAVA, REGISTRY_JAVA = 17, 21

#: What has an environment of its own: the thin client, without Spark's Java, py4j and a client of a registry; a program
#: that shows topics on the terminal; what is needed beside a wheel to keep topics in tables; what reads a topic in
#: tasks; what clusters run that have an older Spark; and the oldest NumPy and pyarrow that kcodec takes.
ENVIRONMENTS = {
    "thin": ("pyspark-client==4.2.0",),
    "kaskade": ("kaskade==5.1.0",),
    "second-day": (
        # What the wheel needs with the extras kafka and server, and the tables.
        "pyarrow>=18",
        "numpy>=1.26",
        "cramjam>=2.9",
        "deltalake>=1.0",
        "duckdb>=1.5",
        "pyiceberg[sql-sqlite]>=0.9",
        "httptools>=0.6",
        "jinja2>=3.1",
        "jsonschema-rs>=0.60",
        "prometheus-client>=0.20",
        "PyJWT[crypto]>=2.9",
        "uvicorn>=0.30",
        "uvloop>=0.19",
    ),
    "ray-dask": (
        "ray[data]>=2.40",
        "dask[dataframe,distributed]>=2025.1",
        "pyarrow>=18",
        "numpy>=1.26",
        "cramjam>=2.9",
    ),
    "spark-3.5": ("pyspark[connect]==3.5.9", "numpy<2", "pandas<2.3", "pyarrow<19", "setuptools<81"),
    "spark-4.0": ("pyspark[connect]==4.0.5", "numpy<3", "pandas<3", "pyarrow<22"),
    "spark-4.1": ("pyspark[connect]==4.1.4", "numpy<3", "pandas<3", "pyarrow<22"),
    "oldest": (
        "numpy==1.26.*",
        "pyarrow==18.*",
        "confluent-kafka[json,schemaregistry]>=2.15",
        "cramjam>=2.9",
        "duckdb==1.5.*",
        "fastavro>=1.12",
        "grpcio-tools>=1.82",
        "httpx>=0.27",
        "hypothesis>=6.100",
        "jsonschema-rs>=0.60",
        "pandas>=2.2,<2.3",
        "polars==1.33.*",
        "pytest>=8",
        "pytest-timeout>=2.3",
    ),
}

_MINUTES = 15


REQUIRED = os.environ.get("KCODEC_REQUIRE_SERVICES") == "1"


class Lacking(Exception):
    """Something that this machine does not have."""


def had(get: Callable[[], Any]) -> Any:
    """Get what a service is made of; without it the test is skipped, or fails where services are required."""
    try:
        return get()
    except Lacking as lacking:
        reason = str(lacking)
    if REQUIRED:
        pytest.fail(f"KCODEC_REQUIRE_SERVICES=1, but {reason}", pytrace=False)
    pytest.skip(reason)


def _javas() -> Iterator[Path]:
    if home := os.environ.get("JAVA_HOME"):
        yield Path(home, "bin", "java")
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        yield Path(folder, "java")
    yield from sorted(Path("/usr/lib/jvm").glob("*/bin/java"))


@functools.cache
def _version(java: Path) -> int:
    told = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    found = re.search(r'version "(\d+)', told)
    return int(found[1]) if found else 0


@functools.cache
def java(oldest: int) -> str:
    """Find Java: JAVA_HOME first, then the PATH, then what Linux has installed."""
    for each in _javas():
        if os.access(each, os.X_OK) and _version(each.resolve()) >= oldest:
            return str(each)
    raise Lacking(f"no Java {oldest} or newer in JAVA_HOME, on the PATH or in /usr/lib/jvm")


def _kept(name: str, digest: str, make: Callable[[Path], None]) -> Path:
    """Return the folder of what is made once; other processes wait for the one that makes it."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    root = Path(os.environ.get("KCODEC_SERVICES") or Path(cache, "kcodec-services"))
    place = root / f"{name}-{digest[:16]}"
    root.mkdir(parents=True, exist_ok=True)
    with (root / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not place.exists():
            unfinished = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=root))
            try:
                make(unfinished)
                unfinished.rename(place)
            finally:
                shutil.rmtree(unfinished, ignore_errors=True)
    return place


def _run(command: list[object], **options: object) -> None:
    done = subprocess.run(
        [str(part) for part in command],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60 * _MINUTES,
        check=False,
        **options,
    )
    if done.returncode:
        told = f"{done.stdout}\n{done.stderr}".strip()
        raise Lacking(f"{command[0]} failed with {done.returncode}:\n{told[-3000:]}")


def _maven() -> str:
    maven = shutil.which("mvn")
    if maven is None:
        raise Lacking("no Maven (mvn) on the PATH, which fetches what is Java")
    return maven


@functools.cache
def artifacts() -> Path:
    """Return the folder of the Java artifacts: ``broker``, ``registry`` and ``spark``."""
    pom = HERE / "pom.xml"

    def fetch(folder: Path) -> None:
        _run([_maven(), "-B", "-q", "-f", pom, f"-Dservices={folder}", "generate-resources"])

    return _kept("artifacts", hashlib.sha256(pom.read_bytes()).hexdigest(), fetch)


@functools.cache
def jars(name: str) -> Path:
    """Return the folder of the jars of a Java program of the tests: ``confluent``, ``converter``, ..."""
    pom = JAVA / name / "pom.xml"

    def fetch(folder: Path) -> None:
        _run([_maven(), "-B", "-q", "-f", pom, f"-DoutputDirectory={folder}", "dependency:copy-dependencies"])

    return _kept(name, hashlib.sha256(pom.read_bytes()).hexdigest(), fetch)


def ready_classes(java: str, archive: Path) -> list[str]:
    """Return the options by which a JVM has its classes ready, as an earlier one left them when it ended."""
    quiet = "-Xlog:cds*=off"
    if archive.exists():
        return [f"-XX:SharedArchiveFile={archive}", quiet]
    # What is left adds to Java's own archive, not to another that the environment may name.
    own = Path(java).resolve().parents[1] / "lib" / "server" / "classes.jsa"
    return [f"-XX:SharedArchiveFile={own}", f"-XX:ArchiveClassesAtExit={archive}", quiet]


def program(source: Path, folder: Path, oldest: int, *others: Path) -> list[str]:
    """Return the command of a Java program, with a folder of jars, and the files it uses; it is compiled once."""
    run, path = java(oldest), f"{folder}/*"
    compiler = Path(run).resolve().with_name("javac")

    def compile(made: Path) -> None:
        if not compiler.exists():
            raise Lacking(f"no compiler beside {run}")
        with tempfile.TemporaryDirectory() as classes:
            _run([compiler, "-d", classes, "-cp", path, source, *others])
            jar = compiler.with_name("jar")
            _run([jar, "--create", "--file", made / "program.jar", "-C", classes, "."])

    made_of = "\n".join(("jar", *(each.read_text() for each in (source, *others)), path, str(compiler)))
    made = _kept(source.stem, hashlib.sha256(made_of.encode()).hexdigest(), compile)
    classes = f"{made / 'program.jar'}{os.pathsep}{path}"
    return [run, *ready_classes(run, made / "classes.jsa"), "-cp", classes, source.stem]


def run(command: list[str], lines: Iterable[str] = (), timeout: int = 120) -> list[str]:
    """Run a program on lines of text; return those that it prints."""
    done = subprocess.run(
        command,
        input="".join(f"{line}\n" for line in lines),
        capture_output=True,
        encoding="utf-8",
        timeout=timeout,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.splitlines()


def spark_jars() -> str:
    """Return Spark's Kafka and Avro connectors as the setting ``spark.jars`` has them."""
    return ",".join(str(path) for path in sorted((artifacts() / "spark").glob("*.jar")))


@functools.cache
def python(name: str) -> str:
    """Return the Python of an environment of its own, which has not kcodec; see `ENVIRONMENTS`."""
    packages = ENVIRONMENTS[name]

    def install(folder: Path) -> None:
        _run([sys.executable, "-m", "venv", folder])
        _run([folder / "bin" / "python", "-m", "pip", "install", "-q", *packages])

    asked = "\n".join((*packages, sys.version, sys.base_prefix))
    # pip's scripts name the folder they were made in; the interpreter does not.
    return str(_kept(name, hashlib.sha256(asked.encode()).hexdigest(), install) / "bin" / "python")


def copy_packages(folder: Path) -> Path:
    """Copy the two packages, as they are built here, to where nothing else of the checkout is."""
    for name in ("kcodec", "kcodec_spark"):
        shutil.copytree(
            HERE.parents[1] / name,
            folder / name,
            ignore=shutil.ignore_patterns("__pycache__", "*.pyx", "*.pxd", "*.c", "*.h", "*.pyi"),
        )
    return folder

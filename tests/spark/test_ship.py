"""Shipping the packages to workers that lack them, and the look at what they have."""

import json
import os
import platform
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pyspark
import pytest
from registry_server import serve

import kcodec
from kcodec import ConfigError, registry
from kcodec.registry.memory import MemoryRegistry
from kcodec_spark import check_server, from_avro, ship
from kcodec_spark.ship import _advice, _worker_advice

ship_module = sys.modules["kcodec_spark.ship"]
HERE = Path(__file__).parent
MISSING = "ModuleNotFoundError: No module named 'kcodec_spark'"
ROOT = HERE.parents[1]
READY = f"python {platform.python_version()}, pyarrow {pa.__version__}, kcodec {kcodec.__version__}: ready"


def test_the_workers_of_this_checkout_are_ready(spark):
    report = check_server(spark)
    assert report.ready
    assert str(report) == READY


def test_an_older_spark():
    report = check_server(SimpleNamespace(version="3.4.1"))
    assert (report.ready, report.advice) == (False, "Spark 3.5 or newer is needed, this is 3.4.1")


def test_shipping_to_a_session_that_has_it(classic):
    ship(classic)
    ship(classic)
    assert check_server(classic).ready


@pytest.fixture
def bare_python(jvm, tmp_path):
    """Make an interpreter that sees pyarrow and pyspark, but no kcodec: not even an installed one."""
    import py4j

    site = tmp_path / "site"
    site.mkdir()
    for package in (pa, pyspark, py4j):
        folder = Path(package.__file__).parent
        (site / folder.name).symlink_to(folder)
        for beside in folder.parent.glob(f"{folder.name}.libs"):
            (site / beside.name).symlink_to(beside)
    script = tmp_path / "python"
    script.write_text(f'#!/bin/sh\nPYTHONPATH="{site}" exec "{sys.executable}" -S "$@"\n')
    script.chmod(0o755)
    return script


@pytest.mark.thorough
def test_a_worker_without_kcodec_gets_it(bare_python, free_port, tmp_path):
    # The client finds the packages by sys.path, which the server and its workers do not inherit.
    script = str(HERE / "shipped.py")
    start = f"import runpy, sys; sys.path.insert(0, {str(ROOT)!r}); runpy.run_path({script!r})"
    unwanted = ("PYTHONPATH", "SPARK_CONNECT_MODE_ENABLED")
    clean = {name: value for name, value in os.environ.items() if name not in unwanted}
    with serve(MemoryRegistry()) as server:
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", start, str(free_port), server.url],
            env={**clean, "PYSPARK_PYTHON": str(bare_python)},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
        )
    assert done.returncode == 0, done.stderr[-3000:]
    report = json.loads(done.stdout.splitlines()[-1])
    assert "kcodec -: call kcodec_spark.ship(spark), or install kcodec==" in report["before"]
    assert report == {
        "before": report["before"],
        "unshipped": f"{MISSING}: call kcodec_spark.ship(spark), or install",
        "after": READY,
        "value": 1,
        "sql": 2,
        "rows": [[2, None], [None, "unresolvable"], [None, "unknown_schema_id"]],
        "registry": True,
        "stream": 3,
    }


def found(**changed):
    same = {
        "python": platform.python_version(),
        "libc": platform.libc_ver()[0],
        "pyarrow": "20.0.0",
        "kcodec": kcodec.__version__,
        "error": None,
    }
    return {**same, "machine": f"{platform.system()} {platform.machine()}", **changed}


@pytest.mark.parametrize(
    ("changed", "advice"),
    [
        ({}, ""),
        ({"pyarrow": None, "kcodec": None}, "install pyarrow>=18 for the server's Python"),
        ({"pyarrow": "17.0.0"}, "pyarrow is too old"),
        (
            {"kcodec": None, "error": "ModuleNotFoundError: No module named 'kcodec'"},
            r"call kcodec_spark\.ship",
        ),
        (
            {"kcodec": None, "error": "ImportError: libx.so"},
            "there but cannot be loaded: ImportError: libx.so",
        ),
        ({"kcodec": "0.0.1"}, r"on the server, or kcodec==0\.0\.1 here"),
        ({"kcodec": "0.0.1", "machine": "Plan9 vax"}, r"on the server \(Plan9 vax"),
        (
            {"kcodec": None, "error": "No module named 'kcodec'", "libc": ""},
            "another C library, such as musl",
        ),
    ],
)
def test_advice_names_what_to_do(changed, advice):
    assert bool(_advice(found(**changed))) == bool(advice)
    assert re.search(advice, _advice(found(**changed)))


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"python": "3.9.1"}, "the server's Python is 3.9, this one"),
        ({"machine": "Plan9 vax"}, "ship\\(\\) sends that of"),
        ({"libc": ""}, "another C library"),
    ],
)
def test_nothing_is_shipped_to_what_cannot_run_it(classic, monkeypatch, changed, reason):
    monkeypatch.setattr(ship_module, "_ask", lambda spark: json.dumps(found(**changed)))
    with pytest.raises(ConfigError, match=reason):
        ship(classic)


@pytest.fixture
def scripts(tmp_path):
    """Make interpreters that cannot be the workers', by what is said of each."""
    bare, other = tmp_path / "bare", tmp_path / "other"
    bare.write_text(f'#!/bin/sh\nunset PYTHONPATH; exec "{sys.executable}" -S "$@"\n')
    other.write_text("#!/bin/sh\necho 3.7\n")
    for script in (bare, other):
        script.chmod(0o755)
    return {"No module named 'pyarrow'": bare, "Python 3.7": other}


def test_a_python_that_cannot_be_the_workers_is_refused_in_one_line(classic, scripts, monkeypatch):
    for told, script in scripts.items():
        monkeypatch.setattr(classic.sparkContext, "pythonExec", str(script))
        with pytest.raises(ConfigError) as caught:
            from_avro("value", "int")
        here = f"Python {sys.version_info[0]}.{sys.version_info[1]}"
        assert str(caught.value) == (
            f"Spark's workers run {script} ({told}), not the {here} of this program: set the environment variable "
            f"PYSPARK_PYTHON to {sys.executable} before the session is made"
        )


@pytest.mark.thorough
def test_what_stands_last_where_such_a_python_is_refused(scripts, tmp_path):
    """As where a script is run by a virtual environment's Python, and python3 on the path is another one."""
    told, script = next(iter(scripts.items()))
    code = """
from pyspark.sql import SparkSession
from kcodec_spark import from_avro
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
from_avro("value", "int")
"""
    unwanted = ("SPARK_CONNECT_MODE_ENABLED", "PYSPARK_DRIVER_PYTHON")
    clean = {name: value for name, value in os.environ.items() if name not in unwanted}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        env={**clean, "PYTHONPATH": str(ROOT), "PYSPARK_PYTHON": str(script)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert f"Spark's workers run {script} ({told})" in done.stderr.strip().splitlines()[-1]


def test_a_worker_asks_the_registry(spark, tmp_path):
    with serve(MemoryRegistry()) as server:
        report = check_server(spark, registry=server.url)
        assert report.ready
        assert report.registry == server.url
        gone = server.url
        registry.open(gone).close()
    settings = {"confluent.schema.registry.max.retries": 0, "mode": "PERMISSIVE"}
    report = check_server(spark, gone, settings)
    assert not report.ready
    assert report.advice.startswith("the workers cannot ask the registry: ")
    assert gone.partition("://")[2].rstrip("/") in report.advice
    assert check_server(spark, f"sqlite:///{tmp_path / 'schemas.db'}").ready


def test_advice_where_no_worker_starts():
    error = "x\n[PYTHON_VERSION_MISMATCH] Python in worker has different version: 3.9 than that in driver\n"
    assert "set PYSPARK_PYTHON on the server ([PYTHON_VERSION_MISMATCH]" in _worker_advice(error)
    assert _worker_advice("no such file\nmore") == "no Python worker could be started: no such file"
    failed = (
        "\n  An exception was thrown from the Python worker:\nTraceback (most recent call last):\n"
        "  File \"worker.py\", line 1, in main\n    process()\nImportError: cannot import name 'a': b.so\n"
        "\nJVM stacktrace:\norg.apache.spark.SparkException: Job aborted\n\tat java.lang.Thread.run\n"
    )
    assert _worker_advice(failed) == "a Python worker failed: ImportError: cannot import name 'a': b.so"

"""The console tool, with few rows."""

import io
import subprocess
import sys

import pytest
from rich.console import Console

from kcodec import __version__
from kcodec.cli import main as cli
from kcodec.demo import run as demo
from kcodec.demo.orders import SCHEMAS, TOPIC, make_orders
from kcodec.registry import open as open_registry
from kcodec.serde.serde import Serde


def shown(rows: int, spark: bool) -> tuple[int, str]:
    out = io.StringIO()
    return demo.run(rows, spark, Console(file=out, width=160, no_color=True)), out.getvalue()


@pytest.mark.parametrize("rows", [1, 2, 9, 500])
def test_demo_without_spark_proves_equal_bytes(rows):
    status, text = shown(rows, spark=False)
    assert status == 0, text
    assert text.count("yes ") == 2
    assert "The Spark parts are left out: --no-spark was given" in text


def test_demo_says_what_spark_needs(monkeypatch):
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    assert demo.spark_lacks() == "they need Java 17 or newer, as JAVA_HOME or on the PATH"
    status, text = shown(20, spark=True)
    assert status == 0, text
    assert "The Spark parts are left out: they need Java 17" in text
    monkeypatch.setitem(sys.modules, "pyspark", None)
    assert "they need pyspark: pip install 'kcodec[spark]'" in shown(20, spark=True)[1]


def test_each_kind_of_damage_has_its_code():
    registry = open_registry("memory://test-cli")
    orders = make_orders(registry, 2000)
    assert orders.values.null_count > 0
    array, errors = Serde("AVRO", registry, topic=TOPIC).deserialize(orders.values, errors="report")
    assert registry.versions(f"{TOPIC}-value") == [1, 2, 3]
    assert len(SCHEMAS) == 3
    assert sorted(errors["code"].to_pylist()) == [
        "enum_index",
        "frame_magic",
        "frame_truncated",
        "invalid_utf8",
        "truncated",
        "unknown_schema_id",
        "varint_overlong",
    ]
    assert array.null_count == orders.values.null_count + errors.num_rows == orders.versions.null_count


@pytest.mark.parametrize("rows", ["0", "-1", "many", "5_000_001"])
def test_rows_are_checked(rows, capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main(["demo", f"--rows={rows}"])
    assert stop.value.code == 2
    assert "--rows" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        ["demo", "--no-spark", "--rows=9"],
        ["dump-log", "x.log"],
        ["protocol", "describe", ".", "FetchRequest"],
    ],
)
def test_closed_output(arguments, monkeypatch, capsys):
    """A process that is started without a standard output has None for it."""
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", None)
        assert cli.main(arguments) == 2
    assert capsys.readouterr().err == f"kcodec {arguments[0]}: the standard output is closed\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ["produce", "orders", "--server=127.0.0.1:1"],
        ["registry", "check", "-", "--against", "schema.avsc"],
        ["registry", "register", "orders-value", "-", "--registry=memory://closed"],
        ["registry", "password"],
    ],
)
def test_closed_input(arguments, monkeypatch, capsys):
    """Status 1 would say of a check that the schema is not compatible."""
    monkeypatch.setattr(sys, "stdin", None)
    assert cli.main(arguments) == 2
    assert capsys.readouterr().err == f"kcodec {arguments[0]}: the standard input is closed\n"


def test_closed_errors(monkeypatch, capsys):
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stderr", None)
        assert cli.main(["dump-log", "/nowhere.log"]) == 2
        assert cli.main(["consume", "orders", "--server=127.0.0.1:1", "-Xdefault.api.timeout.ms=1"]) == 2
    assert capsys.readouterr() == ("", "")


def test_version(capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main(["--version"])
    assert stop.value.code == 0
    assert capsys.readouterr().out.strip() == f"kcodec {__version__}"


def test_the_package_runs_as_the_tool():
    ran = subprocess.run([sys.executable, "-m", "kcodec", "--version"], capture_output=True, text=True)
    assert (ran.returncode, ran.stdout.strip()) == (0, f"kcodec {__version__}"), ran.stderr

"""The demo, through the real broker and registry."""

import io

import pytest
from confluent_kafka.admin import AdminClient
from processes import worker_path
from rich.console import Console

from kcodec import registry
from kcodec.cli import main as cli
from kcodec.demo import run as demo
from kcodec.errors import KcodecError


def run(rows, *services, spark=True):
    out = io.StringIO()
    return demo.run(rows, spark, Console(file=out, width=160, no_color=True), services), out.getvalue()


# By the name of the session, of which `make test` chooses one.
@pytest.mark.parametrize(("spark", "name"), demo._SESSIONS.items(), ids=demo._SESSIONS)
def test_demo(spark, name, kafka, registry_url, tmp_path, monkeypatch):
    monkeypatch.setattr(demo, "_SESSIONS", {spark: name})
    monkeypatch.setenv("PYTHONPATH", worker_path(tmp_path))
    monkeypatch.setenv("SPARK_CONNECT_MODE_ENABLED", "1")  # as after a Connect session in this process
    handle = registry.open(registry_url)
    before = handle.subjects()
    status, text = run(2000, kafka.address, registry_url)
    assert status == 0, text
    assert text.count("yes ") == 4
    assert f"{name} encoded" in text
    assert "what was consumed is what was produced" in text
    assert registry_url in text
    # Nothing is left behind.
    assert handle.subjects() == before
    handle.close()
    admin = AdminClient({"bootstrap.servers": kafka.address})
    assert not [name for name in admin.list_topics(timeout=10).topics if name.startswith("kcodec-demo-")]


def test_services_that_are_not_there(kafka, registry_url, monkeypatch, capsys):
    with pytest.raises(KcodecError, match=r"^http://127\.0\.0\.1:1: no connection"):
        run(5, kafka.address, "http://127.0.0.1:1", spark=False)
    monkeypatch.setattr("kcodec.demo.kafka._SECONDS", 1)
    status = cli.main(["demo", "--rows=5", "--no-spark", "--kafka=127.0.0.1:1", f"--registry={registry_url}"])
    assert status == 2
    assert "kcodec demo: 127.0.0.1:1: " in capsys.readouterr().err


def test_both_or_neither(capsys):
    assert cli.main(["demo", "--kafka=127.0.0.1:1"]) == 2
    assert "given together" in capsys.readouterr().err

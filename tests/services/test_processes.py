"""How services are started and stopped, and what is said where they cannot be."""

import subprocess
import sys
import uuid
from pathlib import Path

import artifacts
import processes
import pytest

PLACE = Path(__file__).parent


def test_a_failure_to_start_shows_the_log(tmp_path):
    service = processes.Service(
        "broken", tmp_path, ["sh", "-c", "echo no room on disk; exit 3"], lambda: False
    )
    with pytest.raises(RuntimeError, match=r"broken did not start; its log ends with\nno room on disk"):
        service.start()


def test_a_broker_that_cannot_be_made_shows_why(tmp_path, monkeypatch):
    artifacts.had(artifacts.artifacts)
    monkeypatch.setattr(processes, "_BROKER", processes._BROKER.replace("node.id=1", "node.id=none"))
    with pytest.raises(RuntimeError, match=r"could not be formatted:\n(.|\n)*Invalid value none"):
        processes.broker(tmp_path)


def test_the_id_of_a_cluster_may_look_like_an_option(tmp_path, monkeypatch):
    artifacts.had(artifacts.artifacts)
    monkeypatch.setattr(processes.uuid, "uuid4", lambda: uuid.UUID(int=0xF8 << 120))
    processes.broker(tmp_path)
    assert "cluster.id=-AAA" in (tmp_path / "data" / "meta.properties").read_text()


@pytest.mark.skipif(not processes.ENDS_WITH_US, reason="no setpriv (util-linux), which Linux has")
def test_services_end_with_the_process_that_started_them(tmp_path):
    code = (
        "import os, signal; from pathlib import Path; import processes;"
        f"folder = Path({str(tmp_path)!r}); command = ['sh', '-c', 'echo up; exec sleep 600'];"
        "service = processes.Service('sleep', folder, command, lambda: 'up' in service.log.read_text());"
        "service.start(); print(service.pid, flush=True); os.kill(os.getpid(), signal.SIGKILL)"
    )
    killed = subprocess.run([sys.executable, "-c", code], cwd=PLACE, stdout=subprocess.PIPE, check=False)
    assert killed.returncode == -9
    status = Path("/proc", killed.stdout.decode().strip(), "status")

    def runs():
        try:
            return "State:\tZ" not in status.read_text()
        except OSError:
            return False

    processes.until(lambda: not runs(), 30)


class TestLacking:
    """A machine without Maven or Java."""

    @pytest.fixture(autouse=True, params=["Maven", "Java"])
    def reason(self, request, monkeypatch, tmp_path):
        for cached in (artifacts.artifacts, artifacts.java):
            monkeypatch.setattr(artifacts, cached.__name__, cached.__wrapped__)
            monkeypatch.setattr(processes, cached.__name__, cached.__wrapped__)
        monkeypatch.setenv("KCODEC_SERVICES", str(tmp_path / "none"))
        if request.param == "Maven":
            found = Path(artifacts.had(lambda: artifacts.java(processes.SPARK_JAVA)))
            monkeypatch.setattr(artifacts, "_javas", lambda: iter([found]))
            monkeypatch.setenv("PATH", str(tmp_path))
            return r"no Maven \(mvn\) on the PATH"
        monkeypatch.setattr(artifacts, "_javas", lambda: iter(()))
        return "no Java 17 or newer"

    def test_skips(self, reason, monkeypatch, tmp_path):
        monkeypatch.setattr(artifacts, "REQUIRED", False)
        with pytest.raises(pytest.skip.Exception, match=f"^{reason}"):
            artifacts.had(lambda: processes.broker(tmp_path))

    def test_fails_where_services_are_required(self, reason, monkeypatch, tmp_path):
        monkeypatch.setattr(artifacts, "REQUIRED", True)
        with pytest.raises(pytest.fail.Exception, match=f"^KCODEC_REQUIRE_SERVICES=1, but {reason}"):
            artifacts.had(lambda: processes.broker(tmp_path))

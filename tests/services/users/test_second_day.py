"""The second day, from a wheel in an environment that has nothing of this checkout."""

import os
from pathlib import Path

import pytest
import wheels
from artifacts import had, python
from ports import HOST, free_port
from processes import Service, listens, run

HERE = Path(__file__).parent


@pytest.fixture
def installed(tmp_path):
    """Install a wheel of what is compiled here, where the packages it needs are; gives the folder of its programs."""
    return wheels.environment(tmp_path, had(lambda: python("second-day")), "kafka", "server") / "bin"


def test_the_second_day(installed, kafka, topic, tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    # Nothing else that this process finds by its environment.
    environment = {"PATH": os.defpath, "HOME": str(home)}
    port = free_port()
    command = [str(installed / "kcodec"), "registry", "serve", f"--port={port}"]
    registry = Service("kcodec", home, command, lambda: listens(port), {"PYTHONPATH": ""})
    registry.start()
    try:
        place = (kafka.address, f"http://{HOST}:{port}", f"{topic}-second")
        run(installed / "python", "-I", HERE / "second_day.py", *place, env=environment, cwd=home)
    finally:
        registry.stop()

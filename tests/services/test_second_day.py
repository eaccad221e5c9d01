"""The second day, from a wheel in an environment that has nothing of this checkout."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from artifacts import had, python
from ports import HOST, free_port
from processes import ENDS_WITH_US, Service, listens

HERE = Path(__file__).parent
#: Makes a wheel of this Python and platform alone, as of what it compiles.
SETUP = """\
from setuptools import Distribution, setup
setup(distclass=type("Compiled", (Distribution,), {"has_ext_modules": lambda self: True}))
"""
ROOT = HERE.parents[1]


def run(*command, **options):
    done = subprocess.run(
        [*ENDS_WITH_US, *map(str, command)],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
        **options,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"


@pytest.fixture
def installed(tmp_path):
    """Install a wheel of what is compiled here, where the packages it needs are; gives the folder of its programs."""
    sources, wheels, venv = (tmp_path / name for name in ("sources", "wheels", "venv"))
    sources.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, sources)
    for name in ("kcodec", "kcodec_spark"):
        shutil.copytree(
            ROOT / name, sources / name, ignore=shutil.ignore_patterns("__pycache__", "*.pyx", "*.c")
        )
    # What is compiled is taken as it is, instead of compiling it again.
    (sources / "MANIFEST.in").write_text("recursive-include kcodec *.so\n")
    (sources / "setup.py").write_text(SETUP)
    quiet = ("-q", "--no-deps", "--no-build-isolation", "--disable-pip-version-check")
    run(sys.executable, "-m", "pip", "wheel", *quiet, "-w", wheels, sources)
    [wheel] = wheels.iterdir()
    assert not wheel.name.endswith("-any.whl")
    others = had(lambda: python("second-day"))
    run(others, "-m", "venv", "--without-pip", venv)
    [packages] = (venv / "lib").glob("python*/site-packages")
    [theirs] = Path(others).parents[1].glob("lib/python*/site-packages")
    (packages / "others.pth").write_text(f"{theirs}\n")
    # Without an index: all that the wheel asks for has to be there.
    run(
        venv / "bin" / "python",
        "-m",
        "pip",
        "install",
        "-q",
        "--no-index",
        "--no-compile",
        f"{wheel}[kafka,server]",
    )
    return venv / "bin"


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

"""The build runs with any way in which Python starts processes."""

import runpy
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_processes_of_the_build_build_nothing_themselves(tmp_path, monkeypatch):
    """Python 3.14, macOS and Windows start them anew, with what the main program defines under another name."""
    pytest.importorskip("Cython")
    pytest.importorskip("setuptools")
    shutil.copy(ROOT / "setup.py", tmp_path)
    (tmp_path / "kcodec").mkdir()
    (tmp_path / "kcodec" / "_empty.pyx").touch()
    monkeypatch.chdir(tmp_path)
    assert "sources" in runpy.run_path("setup.py", run_name="__mp_main__")
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["_empty.pyx", "kcodec", "setup.py"]

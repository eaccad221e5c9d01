"""The examples in docstrings run."""

import doctest
import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MODULES = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for package in ("kcodec", "kcodec_spark")
    for path in (ROOT / package).rglob("*.py")
    if ">>> " in path.read_text(encoding="utf-8")
)


@pytest.mark.parametrize("name", MODULES)
def test_examples(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if name.startswith("kcodec_spark"):
        pytest.importorskip("pyspark")
    failed, _ = doctest.testmod(importlib.import_module(name))
    assert failed == 0

"""The documentation site has every page, and its reference every public name."""

import importlib
import re

import pytest
from doc_pages import PAGES, ROOT

REFERENCE = "".join(page.read_text() for page in (ROOT / "docs" / "reference").glob("*.md"))
LISTED = re.findall(r"^::: (\S+)$", REFERENCE, re.MULTILINE)


def test_pages():
    listed = re.findall(r": (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)
    assert {page.name for page in PAGES} <= set(listed)
    made = {"index.md", "contributing.md", "changelog.md"}
    assert all((ROOT / "docs" / name).exists() for name in set(listed) - made)


@pytest.mark.parametrize(
    "package",
    [
        "kcodec",
        "kcodec.kafka",
        "kcodec.ksql",
        "kcodec.protocol",
        "kcodec.registry",
        "kcodec.wire",
        "kcodec_spark",
    ],
)
def test_names(package):
    module = importlib.import_module(package)
    subpackages = {"kafka", "ksql", "plan", "protocol", "registry", "wire"} if package == "kcodec" else set()
    names = {f"{package}.{name}" for name in module.__all__ if name not in subpackages}
    assert names - {"kcodec.CODES", "kcodec.protocol.MessageCodec"} <= set(LISTED)


def test_nothing_is_listed_twice():
    assert len(LISTED) == len(set(LISTED))


@pytest.mark.parametrize("name", LISTED)
def test_what_is_listed_exists(name):
    package, _, last = name.rpartition(".")
    assert name == "kcodec.plan" or hasattr(importlib.import_module(package), last)

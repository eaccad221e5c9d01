"""The documentation site has every page, and its reference every public name."""

import importlib
import inspect
import pkgutil
import re

from cases import cases
from doc_pages import ALL_PAGES, DOCS, PAGES, ROOT

REFERENCE = "".join(page.read_text() for page in (ROOT / "docs" / "reference").glob("*.md"))
LISTED = re.findall(r"^::: (\S+)$", REFERENCE, re.MULTILINE)


def test_pages():
    """Every page is in the navigation, once."""
    listed = re.findall(r"[:-] (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)
    made = {"index.md", "contributing.md", "changelog.md"}
    reference = {page.relative_to(DOCS).as_posix() for page in DOCS.glob("reference/*.md")}
    assert sorted(listed) == sorted({page.relative_to(DOCS).as_posix() for page in PAGES} | reference | made)


@cases(
    "package",
    [
        "kcodec",
        "kcodec.confluent",
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
    subpackages = (
        {"confluent", "frames", "kafka", "ksql", "plan", "protocol", "registry", "wire"}
        if package == "kcodec"
        else set()
    )
    names = {f"{package}.{name}" for name in module.__all__ if name not in subpackages}
    # Functions that share their name with their module would be the module there.
    listed = {re.sub(r"\.(\w+)\.\1$", r".\1", name) for name in LISTED}
    assert names - {"kcodec.CODES", "kcodec.protocol.MessageCodec"} <= listed


def test_nothing_is_listed_twice():
    assert len(LISTED) == len(set(LISTED))


@cases("name", LISTED)
def test_what_is_listed_exists(name):
    found = pkgutil.resolve_name(name)
    assert not inspect.ismodule(found) or name in ("kcodec.plan", "kcodec.registry.transfer")


TEXTS = [
    *ALL_PAGES,
    *(path for package in ("kcodec", "kcodec_spark") for path in (ROOT / package).rglob("*.py")),
]
#: All dotted names in pages and docstrings, but those of groups of entry points.
NAMED = {
    name
    for path in TEXTS
    for name in re.findall(r"`(kcodec(?:_spark)?(?:\.\w+)+)`", path.read_text(encoding="utf-8"))
} - {"kcodec.schema_formats", "kcodec.registries"}


@cases("name", sorted(NAMED))
def test_what_is_named_exists(name):
    pkgutil.resolve_name(name)

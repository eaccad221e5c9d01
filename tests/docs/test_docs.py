"""The examples of docs/*.md run; those that need Spark or services in tests/spark and tests/services."""

import pytest
from doc_pages import PAGES, blocks, page_needs_cloud, page_needs_services, page_needs_spark


@pytest.mark.parametrize(
    "page",
    [
        page
        for page in PAGES
        if not page_needs_spark(page) and not page_needs_services(page) and not page_needs_cloud(page)
    ],
    ids=lambda page: page.name,
)
def test_examples(page, tmp_path, monkeypatch):
    if page.name == "contracts.md":
        pytest.importorskip("celpy")  # of the extra `rules`
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in blocks(page):
        exec(compile(block, page.name, "exec"), names)

"""The examples of the pages of docs that need Spark, but no services."""

import pytest
from doc_pages import PAGES, blocks, page_needs_services, page_needs_spark


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if page_needs_spark(page) and not page_needs_services(page)],
    ids=lambda page: page.name,
)
def test_examples(page, spark, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"spark": spark}
    for block in blocks(page):
        # What Spark writes is not where this process is, but where its JVM is.
        block = block.replace('.parquet("', f'.parquet("{tmp_path}/')
        exec(compile(block, page.name, "exec"), names)

"""The examples of the pages of docs that need Spark, but no services."""

import pyarrow as pa
import pytest
from doc_pages import PAGES, blocks, page_needs_services, page_needs_spark

from kcodec.protocol import write_batches


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if page_needs_spark(page) and not page_needs_services(page)],
    ids=lambda page: page.name,
)
def test_examples(page, spark, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    # What a broker has written.
    segment = tmp_path / "orders-0" / "00000000000000000000.log"
    segment.parent.mkdir()
    segment.write_bytes(write_batches(pa.table({"key": [b"a"], "value": [b"1"]})))
    names: dict[str, object] = {"spark": spark}
    for block in blocks(page):
        # What Spark reads and writes is not where this process is, but where its JVM is.
        block = block.replace('.parquet("', f'.parquet("{tmp_path}/').replace('("/logs/', f'("{tmp_path}/')
        exec(compile(block, page.name, "exec"), names)
    if page.name == "segments.md":
        assert [(row.topic, bytes(row.value)) for row in names["df"].collect()] == [("orders", b"1")]

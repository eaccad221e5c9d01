"""The Spark examples of the README, in a classic and in a Connect session."""

from doc_pages import needs_spark
from test_readme import BLOCKS


def test_examples(spark, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"spark": spark}
    assert sum(map(needs_spark, BLOCKS)) >= 4
    for block in BLOCKS:
        exec(compile(block, "README.md", "exec"), names)

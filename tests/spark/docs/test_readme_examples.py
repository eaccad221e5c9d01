"""The Spark examples of the README, in a classic and in a Connect session."""

from doc_pages import README_BLOCKS, needs_spark


def test_examples(spark, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"spark": spark}
    assert sum(map(needs_spark, README_BLOCKS)) >= 4
    for block in README_BLOCKS:
        exec(compile(block, "README.md", "exec"), names)

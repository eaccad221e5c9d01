"""``merge_newest`` on tables of Delta Lake and Iceberg, on the newest Spark that both have a release for."""

import os
from pathlib import Path

import pytest
from artifacts import had, jars, java, python
from processes import SPARK_JAVA, run

HERE = Path(__file__).parent


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["delta", "iceberg"])
def test_changes_are_merged_by_key(kind, packages, tmp_path):
    spark, classes = had(lambda: python("spark-4.1")), had(lambda: jars("tables"))
    place = {
        "PATH": os.defpath,
        "PYSPARK_PYTHON": spark,
        "HOME": str(tmp_path),
        "JAVA_HOME": str(Path(had(lambda: java(SPARK_JAVA))).resolve().parents[1]),
        "PYTHONPATH": str(packages),
    }
    script = HERE / "merge_tables.py"
    run(spark, script, kind, f"{classes}/*", tmp_path / "tables", env=place, cwd=tmp_path)

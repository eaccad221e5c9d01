"""The oldest NumPy and pyarrow that kcodec takes, which clusters with an older Spark have."""

import os
from pathlib import Path

import pytest
from artifacts import had, python
from processes import run

ROOT = Path(__file__).parents[3]
FOLDERS = ("columns", "plan", "codec", "formats", "ksql", "protocol", "objects", "serde", "kafka")
#: These need more than that environment has: a web server, and interpreters of rules.
LEFT_OUT = ("serde/test_fork.py", "kafka/test_rules.py", "ksql/test_ksql_encryption.py")


@pytest.mark.thorough
@pytest.mark.timeout(1200)
def test_the_oldest_libraries():
    chosen = [f"tests/{name}" for name in FOLDERS] + [f"--ignore=tests/{name}" for name in LEFT_OUT]
    environment = {**os.environ, "KCODEC_QUICK": "1", "PYTHONPATH": str(ROOT)}
    pytest_of_it = (had(lambda: python("oldest")), "-m", "pytest", "-q", "-p", "no:cacheprovider")
    run(*pytest_of_it, *chosen, cwd=ROOT, env=environment, timeout=1100)

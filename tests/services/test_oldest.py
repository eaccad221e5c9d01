"""The oldest NumPy and pyarrow that kcodec takes, which clusters with an older Spark have."""

import os
import subprocess
from pathlib import Path

import pytest
from artifacts import had, python
from processes import ENDS_WITH_US

ROOT = Path(__file__).parents[2]
FOLDERS = ("columns", "plan", "formats", "ksql", "protocol", "objects", "serde", "kafka")
#: These need more than that environment has: a web server, and interpreters of rules.
LEFT_OUT = ("serde/test_fork.py", "kafka/test_rules.py", "ksql/test_ksql_encryption.py")


@pytest.mark.thorough
@pytest.mark.timeout(1200)
def test_the_oldest_libraries():
    had(lambda: python("oldest"))
    chosen = [f"tests/{name}" for name in FOLDERS] + [f"--ignore=tests/{name}" for name in LEFT_OUT]
    done = subprocess.run(
        [*ENDS_WITH_US, python("oldest"), "-m", "pytest", "-q", "-p", "no:cacheprovider", *chosen],
        cwd=ROOT,
        env={**os.environ, "KCODEC_QUICK": "1", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=1100,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-5000:]

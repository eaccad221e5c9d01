"""Whether the Python of workers on this machine is one that runs what they are sent."""

import functools
import os
import shutil
import subprocess
import sys

from kcodec.errors import ConfigError

#: The version of Python here, without its patch level: what is pickled and compiled by one is not for another.
MINOR = f"{sys.version_info.major}.{sys.version_info.minor}"


def check_local_python() -> None:
    """Refuse a classic session on this machine whose workers would run a Python that cannot do what is asked of it.

    Spark itself would say so later, after a long traceback.
    """
    from pyspark.sql.utils import is_remote

    if is_remote():
        return
    from pyspark.sql import SparkSession

    spark = SparkSession.getActiveSession()
    if spark is not None and spark.sparkContext.master.startswith("local"):
        reason = _python_problem(spark.sparkContext.pythonExec)
        if reason:
            raise ConfigError(reason)


@functools.cache
def _python_problem(name: str) -> str:
    """Return what is wrong with a Python for workers on this machine; empty if it will do."""
    path = shutil.which(name)
    if path is None or os.path.dirname(path) == os.path.dirname(sys.executable):
        return ""
    asked = "import sys, pyarrow; print('%d.%d' % sys.version_info[:2])"
    try:
        done = subprocess.run([path, "-c", asked], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    lines = (done.stderr if done.returncode else done.stdout).split("\n")
    told = next((line for line in reversed(lines) if line), "")
    if done.returncode and "No module named" not in told:
        return ""
    has = f"Python {told}" if not done.returncode else told.partition(": ")[2]
    if has == f"Python {MINOR}":
        return ""
    return (
        f"Spark's workers run {path} ({has}), not the Python {MINOR} of this program: "
        f"set the environment variable PYSPARK_PYTHON to {sys.executable} before the session is made"
    )

"""Getting kcodec to where Spark runs Python: checking what is there, and sending what is missing."""

import json
import platform
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kcodec import __version__
from kcodec.errors import ConfigError
from kcodec_spark.options import read_options
from kcodec_spark.session import abilities, version_of
from kcodec_spark.workers.archives import archive_of
from kcodec_spark.workers.local_python import MINOR

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PACKAGES = ("kcodec", "kcodec_spark")
_OLDEST_PYARROW = 18
_OLDEST_SPARK = (3, 5)
#: What is said where functions of Arrow arrays are missing.
_BY_PANDAS = "ready: from_* functions run as pandas UDFs, and kcodec_spark.encode takes the place of to_*"


@dataclass(frozen=True)
class ServerReport:
    """What the Python workers of a session have.

    Attributes
    ----------
    python : str or None
        Version of Python; None if no worker could be started, or Spark is too old.
    pyarrow : str or None
        Version of pyarrow; None if it is missing.
    kcodec : str or None
        Version of kcodec; None if it is missing or cannot be loaded.
    advice : str
        One line: what to do, or that nothing is to be done.
    ready : bool
        Whether kcodec's functions will run.
    registry : str or None
        Address of the registry that a worker was to ask; None if none was given.

    Examples
    --------
    >>> ServerReport("3.12.3", "17.0.0", None, "no kcodec: ship it", False).ready
    False
    """

    python: str | None
    pyarrow: str | None
    kcodec: str | None
    advice: str
    ready: bool
    registry: str | None = None

    def __str__(self) -> str:
        parts = [f"{name} {getattr(self, name) or '-'}" for name in ("python", "pyarrow", "kcodec")]
        return f"{', '.join(parts)}: {self.advice}"


def ship(spark: "SparkSession") -> None:
    """Send kcodec and kcodec_spark, as they are installed here, to the Python workers of a session.

    Parameters
    ----------
    spark : SparkSession
        Classic or Connect. The packages are there for this session only, and may be sent again.

    Raises
    ------
    ConfigError
        If they cannot run there, with one line on what to do.

    Notes
    -----
    Compiled modules are sent as they are: client and server must have the same operating system, C library,
    processor and minor version of Python, which a query of one row finds out. pyarrow must be there already.

    In streaming queries at a Connect server, Spark's workers do not look where the packages are; the
    functions of this package find them all the same, other functions that import them do not.

    Examples
    --------
    >>> ship(spark)                                                                     # doctest: +SKIP
    """
    from pyspark.errors import PySparkException
    from pyspark.sql.utils import is_remote

    try:
        reason = _refusal(json.loads(_ask(spark)))
    except PySparkException as error:
        reason = _worker_advice(str(error))
    if reason:
        raise ConfigError(reason)
    for name in _PACKAGES:
        # Unpacked below the session's folder, which is on the workers' path, under the package's name.
        archive = f"{archive_of(name)}#{name}"
        if is_remote() or version_of(spark.version) >= (4, 0):
            spark.addArtifacts(archive, archive=True)
        else:
            # A classic session before Spark 4.0 has no folder of its own, and a method that only says so.
            spark.sparkContext.addArchive(archive)


def check_server(
    spark: "SparkSession", registry: str | None = None, options: Mapping[str, Any] | None = None
) -> ServerReport:
    """Check whether the Python workers of a session can run kcodec's functions.

    Parameters
    ----------
    spark : SparkSession
        Classic or Connect. A query of one row is run.
    registry : str, optional
        Address of a registry: a worker that has kcodec then asks it for a schema, as it will for ids that it meets.
    options : dict, optional
        Its settings, as `from_avro` takes them.

    Returns
    -------
    ServerReport
        Prints as one line.

    Raises
    ------
    ConfigError
        If an option is none.

    Examples
    --------
    >>> print(check_server(spark))                                                      # doctest: +SKIP
    python 3.11.2, pyarrow 26.0.1, kcodec 0.3.0: ready
    """
    from pyspark.errors import PySparkException

    settings = read_options(options).registry
    if version_of(spark.version) < _OLDEST_SPARK:
        needed = f"Spark {'.'.join(map(str, _OLDEST_SPARK))} or newer is needed, this is {spark.version}"
        return ServerReport(None, None, None, needed, False, registry)
    try:
        found = json.loads(_ask(spark, registry, settings))
    except PySparkException as error:
        return ServerReport(None, None, None, _worker_advice(str(error)), False, registry)
    advice = _advice(found)
    if not advice and found["registry"]:
        advice = f"the workers cannot ask the registry: {found['registry']}"
    has = found["python"], found["pyarrow"], found["kcodec"]
    ready = "ready" if abilities(spark).arrow_functions else _BY_PANDAS
    return ServerReport(*has, advice or ready, not advice, registry)


def _ask(
    spark: "SparkSession", registry: str | None = None, settings: Mapping[str, Any] | None = None
) -> str:
    from pyspark.sql.functions import udf
    from pyspark.sql.types import StringType

    def probe(_: int) -> str:
        import json
        import platform

        found: dict[str, str | None] = dict.fromkeys(("pyarrow", "kcodec", "error", "registry"))
        found["python"] = platform.python_version()
        found["machine"] = f"{platform.system()} {platform.machine()}"
        found["libc"] = platform.libc_ver()[0]
        try:
            import pyarrow

            found["pyarrow"] = pyarrow.__version__
            import kcodec
            from kcodec._impl import kernel

            kernel("formats.avro._kernel")
            found["kcodec"] = kcodec.__version__
            if registry is not None:
                from kcodec_spark.functions.framed import registry_failure

                found["registry"] = registry_failure(registry, settings or {})
        except ImportError as error:
            found["error"] = f"{type(error).__name__}: {error}"
        return json.dumps(found)

    # Rows pickled one by one need nothing but Python on the workers.
    ask: Any = udf(probe, StringType(), useArrow=False)
    rows = spark.range(1).select(ask("id").alias("found")).collect()
    return str(rows[0]["found"])


def _refusal(found: Mapping[str, Any]) -> str:
    """Return why the compiled modules of this machine do not run on the workers; empty if they do."""
    minor = ".".join(found["python"].split(".")[:2])
    if minor != MINOR:
        return (
            f"the server's Python is {minor}, this one {MINOR}: set PYSPARK_PYTHON on the server to a Python "
            f"{MINOR}, or use {minor} here"
        )
    here = f"{platform.system()} {platform.machine()}"
    if found["machine"] != here:
        return (
            f"install kcodec=={__version__} on the server ({found['machine']}; ship() sends that of {here})"
        )
    libc = platform.libc_ver()[0]
    if found["libc"] != libc:
        there = found["libc"] or "another C library, such as musl,"
        return (
            f"install kcodec=={__version__} on the server ({there}; ship() sends what needs {libc or 'musl'})"
        )
    return ""


def _advice(found: dict[str, Any]) -> str:
    if found["pyarrow"] is None:
        return f"install pyarrow>={_OLDEST_PYARROW} for the server's Python"
    if int(found["pyarrow"].split(".")[0]) < _OLDEST_PYARROW:
        return f"the server's pyarrow is too old: install pyarrow>={_OLDEST_PYARROW} there"
    if found["kcodec"] is None and "No module named 'kcodec" not in str(found["error"]):
        return f"kcodec is there but cannot be loaded: {found['error']}"
    if found["kcodec"] == __version__:
        return ""
    refusal = _refusal(found)
    if refusal:
        return refusal
    if found["kcodec"] is None:
        return f"call kcodec_spark.ship(spark), or install kcodec=={__version__} on the server"
    return f"install kcodec=={__version__} on the server, or kcodec=={found['kcodec']} here"


def _worker_advice(error: str) -> str:
    lines = [line.strip() for line in error.splitlines() if line.strip()]
    reason = next((line for line in lines if "different version" in line or "PYTHON_VERSION" in line), "")
    if reason:
        return f"the server's Python is not {MINOR} as here: set PYSPARK_PYTHON on the server ({reason})"
    # What a worker raised that was started stands behind its last traceback, and before what Java tells of it.
    behind = re.split(r"^Traceback .*$", "\n".join(lines), flags=re.MULTILINE)[1:]
    raised = (
        re.search(r"^[A-Za-z_][\w.]*(Error|Exception|Exit): .*$", behind[-1], re.MULTILINE)
        if behind
        else None
    )
    if raised:
        return f"a Python worker failed: {raised[0]}"
    return f"no Python worker could be started: {lines[0] if lines else 'no reason given'}"

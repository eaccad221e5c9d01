"""Spark Connect's clients at servers of other versions: ``python tests/spark/sessions/crossings.py`` prints a table.

Each server is started once, and each client does what ``crossing.py`` has. Names are those of environments in
``tests/services/artifacts.py``; ``here`` is the Python that runs this.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
sys.path.append(str(ROOT / "tests" / "services"))

from artifacts import SPARK_JAVA, jars, java, python  # noqa: E402
from ports import HOST, free_port  # noqa: E402
from processes import ENDS_WITH_US, SPARK, Service, listens  # noqa: E402

#: The older Sparks that the tests have: the oldest one; the workflow has both.
OLDER = os.environ.get("KCODEC_OLDER_SPARK", "spark-3.5").split()

#: What of `crossing.py` is a column of the table.
WAYS = {
    "column": "`from_*`",
    "sql": "`register`",
    "frame": "`decode`",
    "written_frame": "`encode`",
    "written_column": "`to_*`",
}
READ = '{"id":7,"at":"1600-01-01T00:00:00.000Z","prices":[1.20,null]}'
WRITTEN = "0e02ffff8ba79ed6bd29040202780000"
EXPECTED = {
    "column": [READ, None],
    "sql": [7],
    "frame": [READ, None],
    "written_frame": [WRITTEN, None],
    "written_column": [WRITTEN, None],
}


def interpreter(name: str) -> str:
    """Return the Python of a version of Spark."""
    return sys.executable if name == "here" else python(f"spark-{name}")


def server(name: str, folder: Path) -> tuple[Service, str]:
    """Make a Connect server of a version, and its address."""
    run = interpreter(name)
    asked = [run, "-c", "import pyspark; print(pyspark.__path__[0], pyspark.__version__)"]
    home, version = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.split()
    port = free_port()
    settings = {
        **SPARK,
        "spark.connect.grpc.binding.port": str(port),
        # Of the older ones none has it.
        "spark.connect.grpc.binding.address": HOST,
    }
    command = [
        f"{home}/bin/spark-submit",
        "--master=local[1]",
        "--class=org.apache.spark.sql.connect.service.SparkConnectServer",
        *(f"--conf={key}={value}" for key, value in settings.items()),
    ]
    if version < "4":
        command += ["--jars", ",".join(map(str, jars("connect_server").glob("*.jar")))]
    environment = {
        "SPARK_HOME": home,
        "SPARK_LOCAL_IP": HOST,
        "JAVA_HOME": str(Path(java(SPARK_JAVA)).resolve().parents[1]),
        "PYSPARK_PYTHON": run,
        "PYTHONPATH": str(ROOT),
    }
    service = Service(
        f"connect-{name}", folder, [*command, "spark-internal"], lambda: listens(port), environment
    )
    return service, f"sc://{HOST}:{port}"


def told_by(client: str, address: str, seconds: float = 600) -> dict:
    """Return what a client of a version says of a server."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "ignore"}
    environment.pop("SPARK_CONNECT_MODE_ENABLED", None)
    command = [*ENDS_WITH_US, interpreter(client), str(HERE / "crossing.py"), address]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=seconds, check=False
    )
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if re.match(r"\S+(Error|Exception)\b", line)]
        return dict.fromkeys(WAYS, lines[-1] if lines else "no reason given")
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    """Print the table, and below it what went wrong."""
    names = ["3.5", "4.0", "4.1", "here"]
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--servers", nargs="+", default=names)
    parser.add_argument("--clients", nargs="+", default=names)
    given = parser.parse_args()
    print(f"| server | client | {' | '.join(WAYS.values())} |\n|{'---|' * (len(WAYS) + 2)}", flush=True)
    wrong = []
    for name in given.servers:
        with tempfile.TemporaryDirectory() as folder:
            service, address = server(name, Path(folder))
            service.start()
            try:
                for client in given.clients:
                    told = told_by(client, address)
                    cells = ["yes" if told[way] == EXPECTED[way] else "no" for way in WAYS]
                    print(f"| {name} | {client} | {' | '.join(cells)} |", flush=True)
                    wrong += [
                        f"{client} at {name}, {way}: {told[way]}"
                        for way, cell in zip(WAYS, cells, strict=True)
                        if cell == "no"
                    ]
            finally:
                service.stop()
    print("\n".join(wrong))


if __name__ == "__main__":
    main()

"""``kcodec demo``: orders through plain Python, a classic Spark session and a Spark Connect session."""

import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow as pa
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from kcodec import registry as registries
from kcodec._lazy import compute as pc
from kcodec.demo.kafka import DemoPlace, through
from kcodec.demo.orders import SCHEMAS, TOPIC, Orders, make_orders
from kcodec.registry import SchemaRegistry
from kcodec.serde.serde import Serde

_SPARK_MINUTES = 10
#: The sessions of Spark, each in processes of its own, by what they are called.
_SESSIONS = {"classic": "classic Spark", "connect": "Spark Connect"}
_JAVA = 17


@dataclass
class _Rate:
    """How fast one part was."""

    where: str
    decode: float
    encode: float


@dataclass
class _Demo:
    """What the parts share."""

    console: Console
    progress: Progress
    folder: Path
    rows: int
    place: DemoPlace
    rates: list[_Rate] = field(default_factory=list)
    failed: bool = False

    @contextmanager
    def step(self, text: str) -> Iterator[Callable[[bool], None]]:
        """Show a step while it runs; what is given may be called with whether it succeeded."""
        task = self.progress.add_task(text, total=1)
        outcome = [True]
        yield lambda well: outcome.__setitem__(0, well)
        if outcome[0]:
            self.progress.update(task, completed=1)
        else:
            self.progress.stop_task(task)

    def prove(self, holds: bool, text: str) -> None:
        """Print what was checked."""
        self.failed |= not holds
        self.console.print(f"[green]yes[/] {text}" if holds else f"[red]NO[/]  {text}")


def run(
    rows: int, spark: bool = True, console: Console | None = None, services: tuple[str, str] | None = None
) -> int:
    """Run the demo; return 1 if bytes differ, a row is not what it should be, or Spark failed, else 0.

    `services` are the ``HOST:PORT`` of a Kafka broker and the URL of a registry that the orders go through; without
    them the registry is embedded, and the orders stay here.
    """
    console = console or Console()
    columns = (SpinnerColumn(finished_text="[green]✓"), TextColumn("{task.description}"), TimeElapsedColumn())
    with (
        tempfile.TemporaryDirectory(prefix="kcodec-demo-") as folder,
        Progress(*columns, console=console) as bar,
    ):
        here = DemoPlace(TOPIC, f"sqlite:///{folder}/schemas.db", lambda values: values)
        with through(*services) if services else nullcontext(here) as place:
            demo = _Demo(console, bar, Path(folder), rows, place)
            _plain(demo)
            lacking = spark_lacks() if spark else "--no-spark was given"
            if lacking:
                console.print(f"\nThe Spark parts are left out: {lacking}", markup=False)
            else:
                for kind, name in _SESSIONS.items():
                    _spark(demo, kind, name)
    console.print(_rates(demo))
    return int(demo.failed)


def _plain(demo: _Demo) -> None:
    """Show serdes and error reports."""
    console, topic = demo.console, demo.place.topic
    registry = registries.open(demo.place.registry_url)
    try:
        with demo.step(f"write {demo.rows:,} framed orders with {len(SCHEMAS)} schemas, and damage a few"):
            orders = make_orders(registry, demo.rows, topic)
        subject = f"{topic}-value"
        versions = registry.versions(subject)
        console.print(f"Registry {registry.url}: {subject} has versions {versions}", markup=False)
        if topic != TOPIC:
            with demo.step(f"produce them to the topic {topic} and consume them again"):
                consumed = demo.place.send(orders.values)
            demo.prove(consumed.equals(orders.values), "what was consumed is what was produced")
            orders = orders._replace(values=consumed)
        serde = Serde("AVRO", registry, topic=topic, schema=SCHEMAS[-1])
        with demo.step("plain Python: decode all ids into the columns of the latest schema"):
            (array, errors), decode = _timed(lambda: serde.deserialize(orders.values, errors="report"))
        with demo.step("plain Python: encode these columns"):
            encoded, encode = _timed(lambda: serde.serialize(array))
        demo.rates.append(_Rate("plain Python, one thread", decode, encode))

        console.print(_preview(array))
        console.print(_report(errors))
        size = orders.values.nbytes
        console.print(
            f"{demo.rows:,} values, {size / 1e6:,.1f} MB: {orders.values.null_count:,} tombstones stayed "
            f"null; {errors.num_rows} damaged rows became null too, and are reported"
        )
        with demo.step("plain Python: encode each version again with its own schema"):
            same = _same_bytes(registry, topic, orders)
        demo.prove(same, "every intact value, decoded and encoded with its own schema, gave the same bytes")
        demo.prove(
            serde.deserialize(encoded).equals(array),
            "the columns, encoded and decoded again, are the same columns",
        )
    finally:
        registry.close()
    import pyarrow.parquet as pq

    table = pa.table({"value": orders.values, "expected": encoded})
    # Several row groups, so that Spark has several tasks.
    pq.write_table(table, demo.folder / "orders.parquet", row_group_size=max(1, demo.rows // 8))


def _timed(function: Any) -> tuple[Any, float]:
    """Return a result and the median time of three calls, in seconds."""
    seconds = []
    for _ in range(3):
        start = time.perf_counter()
        result = function()
        seconds.append(time.perf_counter() - start)
    return result, statistics.median(seconds)


def _same_bytes(registry: SchemaRegistry, topic: str, orders: Orders) -> bool:
    for version, schema in enumerate(SCHEMAS, 1):
        values = orders.values.filter(pc.equal(orders.versions, version))
        serde = Serde("AVRO", registry, topic=topic, schema=schema, reader_schema=schema)
        if not serde.serialize(serde.deserialize(values)).equals(values):
            return False
    return True


def _preview(array: pa.StructArray) -> Table:
    table = Table(title="The first rows", title_justify="left")
    names = ("id", "customer", "status", "total", "lines", "payment")
    for name in names:
        table.add_column(
            name, no_wrap=name not in ("lines", "payment"), min_width=12 if name == "lines" else None
        )
    for row in array.drop_null().slice(0, 3).to_pylist():
        chosen = row["payment"]
        row["payment"] = chosen["member0"] or chosen["member1"]  # one of the two records
        row["lines"] = ", ".join(f"{line['quantity']} {line['sku']}" for line in row["lines"])
        row["payment"] = " ".join(str(value) for value in row["payment"].values())
        table.add_row(*(str(row[name]) for name in names))
    return table


def _report(errors: pa.Table) -> Table:
    table = Table(title="The error report", title_justify="left")
    for name in errors.column_names:
        table.add_column(name, no_wrap=name != "reason")
    for row in errors.to_pylist():
        table.add_row(*("" if value is None else str(value) for value in row.values()))
    return table


def _rates(demo: _Demo) -> Table:
    table = Table(title=f"Rates, {demo.rows:,} rows", title_justify="left")
    for name in ("where", "decode, rows/s", "encode, rows/s"):
        table.add_column(name, justify="left" if name == "where" else "right")
    for rate in demo.rates:
        table.add_row(rate.where, f"{demo.rows / rate.decode:,.0f}", f"{demo.rows / rate.encode:,.0f}")
    if len(demo.rates) > 1:
        table.caption = (
            "Spark's times include starting tasks, reading the file and moving rows between Java and Python."
        )
    return table


def spark_lacks() -> str | None:
    """Return what the Spark parts need and this machine does not have; None if nothing."""
    if find_spec("pyspark") is None or find_spec("grpc") is None:
        return "they need pyspark: pip install 'kcodec[spark]'"
    home = os.environ.get("JAVA_HOME")
    java = shutil.which(str(Path(home, "bin", "java")) if home else "java")
    need = f"they need Java {_JAVA} or newer, as JAVA_HOME or on the PATH"
    if java is None:
        return need
    told = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    found = re.search(r'version "(?:1\.)?(\d+)', told)
    if found is None:
        return f"{need}; {java} does not tell its version"
    return None if int(found[1]) >= _JAVA else f"{need}; {java} is Java {found[1]}"


def _spark(demo: _Demo, kind: str, name: str) -> None:
    """Run the same in a process with a Spark session, and show what it tells."""
    demo.console.print()
    command = [sys.executable, "-m", "kcodec_spark.demo", kind, str(demo.folder / "orders.parquet")]
    told: dict[str, dict[str, Any]] = {}
    log = demo.folder / f"{kind}.log"
    root = str(Path(__file__).parents[1])
    # Settings for other sessions do not count here.
    environment = {
        name: text for name, text in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))
    }
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))
    with (
        log.open("w") as stderr,
        demo.step(f"{name}: start a session, decode, encode") as done,
        subprocess.Popen(
            [*command, demo.place.registry_url, f"{demo.place.topic}-value"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            cwd=demo.folder,
            env=environment,
        ) as process,
    ):
        assert process.stdout is not None
        timer = threading.Timer(60 * _SPARK_MINUTES, process.kill)
        timer.start()
        for line in process.stdout:
            if line.startswith('{"step"'):
                facts = json.loads(line)
                told[facts.pop("step")] = facts
        done(process.wait() == 0)
        timer.cancel()
    if process.returncode or "encoded" not in told:
        demo.failed = True
        demo.console.print(f"[red]{name} failed[/]; its last lines:")
        demo.console.print("\n".join(log.read_text().splitlines()[-15:]), markup=False, highlight=False)
        return
    decoded, encoded = told["decoded"], told["encoded"]
    demo.rates.append(
        _Rate(f"{name} {told['started']['version']}, two cores", decoded["seconds"], encoded["seconds"])
    )
    for row in decoded["rows"]:
        demo.console.print(f"  order {row[0]}: {row[1]}, {row[2]}", highlight=False, markup=False)
    demo.console.print(
        f"  damaged rows kept in the column _error: {', '.join(decoded['codes'])}", highlight=False
    )
    demo.prove(
        encoded["equal"] == encoded["count"],
        f"{name} encoded {encoded['count']:,} orders to the same bytes as plain Python",
    )

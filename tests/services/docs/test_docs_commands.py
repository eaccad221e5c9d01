"""What the pages of docs tell to type into a shell, typed into a shell: each line, in its order.

Addresses, files of the system and names of topics are replaced by those of the tests; the others stand as they are.
tests/docs/test_docs_commands.py names the commands that do not run here, and why.
"""

import json
import os
import re
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from artifacts import SPARK_JAVA, artifacts, had, java
from doc_pages import ALL_PAGES, DOCS, ROOT, commands, fenced, is_run
from ports import HOST, free_port
from processes import ENDS_WITH_US, listens, own_registry, until
from topics import Message

import kcodec
from kcodec import protocol, registry

SCHEMA = (
    '{"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}, '
    '{"name": "note", "type": ["null", "string"], "default": null}]}'
)


ENCRYPTED = DOCS / "howto" / "encrypted_fields.md"


class Step(NamedTuple):
    """A command that has been run: what it printed on both outputs, and its status."""

    output: str
    errors: str
    status: int


class Shell:
    """A shell in a folder of its own, with ``kcodec`` on its path."""

    def __init__(self, folder: Path, get: Callable[[str], object]) -> None:
        self.folder = folder
        #: Gives a fixture.
        self.get = get
        #: What stands on the page, and what it is here.
        self.places: list[tuple[str, str]] = []
        #: Makes something to print for what follows.
        self.feed: Callable[[], None] = lambda: None
        #: What servers have in their environment, and others not.
        self.secrets: dict[str, str] = {}
        self._servers: list[tuple[subprocess.Popen, Path]] = []
        self._bin = folder / "bin"
        self._bin.mkdir()
        tool = self._bin / "kcodec"
        tool.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m kcodec.cli.main "$@"\n')
        tool.chmod(0o755)

    def _start(self, command: str, out: object = subprocess.PIPE, **more: str) -> subprocess.Popen:
        for there, here in self.places:
            command = command.replace(there, here)
        place = {"PATH": f"{self._bin}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT), "COLUMNS": "200"}
        return subprocess.Popen(
            [*ENDS_WITH_US, "sh", "-c", f"exec {command}"],
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.PIPE if out == subprocess.PIPE else subprocess.STDOUT,
            text=True,
            env={**os.environ, **place, **more},
        )

    def run(self, command: str) -> Step:
        """Run a command to its end, one that serves until it listens, one that follows until it has printed."""
        if command.startswith("kcodec registry serve"):
            port = free_port()
            log = self.folder / f"{port}.log"
            with log.open("wb") as out:
                process = self._start(f"{command} --port {port}", out, **self.secrets)
            self._servers.append((process, log))
            until(lambda: listens(port) or process.poll() is not None)
            assert process.poll() is None, log.read_text()
            # The first one is what clients are shown to ask.
            self.places.append(("http://127.0.0.1:8081", f"http://{HOST}:{port}"))
            return Step("", "", 0)
        process = self._start(command)
        if "--follow" in command:
            until(lambda: self.feed() or select.select([process.stdout], [], [], 0.5)[0])
            first = process.stdout.readline()
            process.send_signal(signal.SIGINT)
            rest, errors = process.communicate(timeout=60)
            return Step(first + rest, errors, 0 if process.returncode == 130 else process.returncode)
        output, errors = process.communicate(timeout=60)
        return Step(output, errors, process.returncode)

    def stop(self) -> list[str]:
        """End the servers; gives what they printed."""
        told = []
        while self._servers:
            process, log = self._servers.pop(0)
            process.terminate()
            process.wait(60)
            told.append(log.read_text())
        return told


#: A page's own: what there is before, then what came of it.
Story = Iterator[None]


def of_topics(shell: Shell, steps: list[Step]) -> Story:
    kafka, url, topic = map(shell.get, ("kafka", "registry_url", "topic"))
    shell.places += [
        ("localhost:9092", kafka.address),
        ("http://localhost:8081", url),
        (" orders ", f" {topic} "),
    ]
    serde = kcodec.Serde("AVRO", url, topic=topic, schema=SCHEMA)
    rows = pa.array([{"id": number, "note": "ä"} for number in range(10)], serde.arrow_type)
    values = serde.serialize(rows).to_pylist()
    kafka.produce(topic, [Message(b"%d" % number, value) for number, value in enumerate(values)])
    shell.feed = lambda: kafka.produce(topic, [Message(b"later", values[0])])
    lines = [json.dumps({"id": number, "note": None}) for number in (10, 11)]
    (shell.folder / "rows.jsonl").write_text("\n".join(lines))
    yield
    table, followed, _, topics, *_ = steps
    assert table.output.split("\n")[0].split()[:2] == ["topic", "partition"]
    # Those beyond 5.
    assert sum(line.startswith(topic) for line in table.output.splitlines()) == 4
    assert re.match(r"Offset:\d+\tlater\t", followed.output)
    # Lines of JSON where it is no terminal.
    sampled = [line for line in map(json.loads, topics.output.splitlines()) if line["topic"] == topic]
    assert sampled
    assert all(re.fullmatch(r"schema id \d+", line["values"]) for line in sampled)
    read = kcodec.kafka.read(topic, value=serde, servers=kafka.address)
    assert {row["id"] for row in read.read_all()["value"].to_pylist()} == set(range(12))
    settings = kcodec.kafka.topic_settings(topic, servers=kafka.address).to_pylist()
    assert {"name": "retention.ms", "value": "86400000"}.items() <= next(
        each for each in settings if each["name"] == "retention.ms"
    ).items()
    assert "customers" not in kcodec.kafka.list_topics(servers=kafka.address)["topic"].to_pylist()


def of_registries(shell: Shell, steps: list[Step]) -> Story:
    folder = shell.folder / "old"
    folder.mkdir()
    # Not that of the other tests, who may do anything to it.
    served, url = own_registry(folder)
    served.start()
    try:
        registry.open(url).register("orders-value", registry.Schema(SCHEMA))
        shell.places.append(("http://registry:8081", url))
        for name in ("order", "order-v1", "order-v2"):
            (shell.folder / f"{name}.avsc").write_text(SCHEMA)
        pq.write_table(pa.table({"id": [1]}), shell.folder / "orders.parquet")
        yield
    finally:
        served.stop()
    *checks, registered, derived, copied_there, copied_here = steps
    places = ("orders-value", "order-v1.avsc, order-v2.avsc")
    assert [step.output for step in checks] == [f"order.avsc: compatible with {each}\n" for each in places]
    assert registered.output == "orders-value: id 1, version 1\n"
    assert "package shop;\n\nmessage Order {\n  optional int64 id = 1;\n}" in derived.output
    assert [copied_there.output, copied_here.output] == ["1 version copied\n"] * 2
    copied = registry.open(f"sqlite:///{shell.folder}/schemas.db").get_version("orders-value")
    assert json.loads(copied.schema.text) == json.loads(SCHEMA)
    assert '"orders-value"' in (shell.folder / "schemas.jsonl").read_text()


def of_a_server(shell: Shell, steps: list[Step]) -> Story:
    shell.places += [("/var/lib/schemas.db", f"{shell.folder}/served.db"), ("0.0.0.0", HOST)]
    yield
    assert json.loads(steps[2].output)["id"] == 1
    (change,) = json.loads(steps[3].output)
    assert (change["action"], change["subject"], change["version"]) == ("register", "orders-value", 1)
    found = [
        registry.open(f"sqlite:///{shell.folder}/{name}").subjects() for name in ("schemas.db", "served.db")
    ]
    assert found == [["orders-value"], []]
    first, second = shell.stop()
    assert '"POST"' in first
    assert "POST" not in second


def of_definitions(shell: Shell, steps: list[Step]) -> Story:
    (jar,) = (had(artifacts) / "broker").glob("kafka-clients-*.jar")
    shell.places.append(("kafka-clients-4.0.0.jar", str(jar)))
    yield
    assert (shell.folder / "messages" / "fetch_request.py").exists()


def of_segments(shell: Shell, steps: list[Step]) -> Story:
    kafka, broker, topic = map(shell.get, ("kafka", "broker", "topic"))
    records = pa.table({"key": [b"a", None, b"c"], "value": [b"x" * 40, b"y", b"z" * 40]})
    data = protocol.write_batches(records, base_offset=100, max_bytes=80)
    (shell.folder / "00000000000000000100.log").write_bytes(data)
    ends = [
        (batch["last_offset"] - 100, batch["position"]) for batch in protocol.list_batches(data).to_pylist()
    ]
    index = b"".join(offset.to_bytes(4, "big") + position.to_bytes(4, "big") for offset, position in ends)
    (shell.folder / "00000000000000000100.index").write_bytes(index)
    # A group that commits, so that there is its topic.
    kafka.produce(topic, [Message(None, b"value")])
    kafka.consume(topic, 1)
    (metadata,) = (had(artifacts) / "broker").glob("kafka-metadata-*.jar")
    for option, internal in (("offsets", "__consumer_offsets"), ("cluster-metadata", "__cluster_metadata")):
        place = f"{broker.folder}/data/{internal}-0/00000000000000000000.log --{option}-"
        shell.places.append((f"00000000000000000000.log --{option}-", place))
    shell.places.append(("kafka-metadata.jar", str(metadata)))
    yield
    text, lines, _, offsets, cluster = steps
    assert "payload: " + "x" * 40 in text.output
    assert len([json.loads(line) for line in lines.output.splitlines()]) == 2 * len(ends)
    assert pq.read_table(shell.folder / "records.parquet").num_rows == 3
    assert f"{topic}-reader" in offsets.output
    assert '"type":"' in cluster.output


def of_the_tutorial(shell: Shell, steps: list[Step]) -> Story:
    kafka, topic = map(shell.get, ("kafka", "topic"))
    shell.places += [("localhost:9092", kafka.address), (" orders ", f" {topic} ")]
    # The page's own server has this file; the orders are those of an example.
    serde = kcodec.Serde("AVRO", f"sqlite:///{shell.folder}/schemas.db", topic=topic, schema=SCHEMA)
    rows = pa.array([{"id": number, "note": "ä"} for number in range(5)], serde.arrow_type)
    kafka.produce(topic, [Message(None, value) for value in serde.serialize(rows).to_pylist()], partition=0)
    yield
    _, topics, table = steps
    assert topic in topics.output
    assert sum(line.startswith(topic) for line in table.output.splitlines()) == 3


def of_encrypted_fields(shell: Shell, steps: list[Step]) -> Story:
    kafka, topic = map(shell.get, ("kafka", "topic"))
    shell.places += [("localhost:9092", kafka.address), (" customers ", f" {topic} ")]
    shell.places.append(("customers-value", f"{topic}-value"))
    (body,) = (each.text for each in fenced(ENCRYPTED) if each.language == "json")
    (shell.folder / "customer.json").write_text(body)
    row = '{"id": 1, "email": "ada@example.com"}'
    assert row in ENCRYPTED.read_text()
    (shell.folder / "rows.jsonl").write_text(row)
    shell.secrets["LOCAL_SECRET"] = "of this box"
    yield
    _, kek, version, _, opened, closed = steps
    assert json.loads(kek.output)["shared"] is True
    assert json.loads(version.output)["id"] == 1
    opened, closed = (json.loads(each.output)["value"] for each in (opened, closed))
    assert opened == json.loads(row)
    assert (closed["id"], "@" in closed["email"]) == (1, False)


def of_dead_letters(shell: Shell, steps: list[Step]) -> Story:
    kafka, topic = map(shell.get, ("kafka", "topic"))
    dead = kafka.create(f"{topic}-dead")
    shell.places += [
        ("broker:9092", kafka.address),
        (" orders ", f" {topic} "),
        (" orders-dead ", f" {dead} "),
    ]
    letters = [Message(b"%d" % number, b"\xff%d" % number, headers=[("n", b"\0")]) for number in range(4)]
    kafka.produce(dead, letters, partition=0)
    yield
    place = {"servers": kafka.address, "columns": ["key", "value", "headers"]}
    found = kcodec.kafka.read(topic, **place).read_all().to_pylist()
    expected = kcodec.kafka.read(dead, **place).read_all().to_pylist()[1:3]
    assert sorted(found, key=lambda row: row["key"]) == expected


#: What pages need beside their commands.
STORIES = {
    "encrypted_fields.md": of_encrypted_fields,
    "tutorial.md": of_the_tutorial,
    "kafka.md": of_topics,
    "registry.md": of_registries,
    "replay_dead_letters.md": of_dead_letters,
    "registry_server.md": of_a_server,
    "protocol.md": of_definitions,
    "segments.md": of_segments,
}


@pytest.mark.parametrize(
    "page",
    [page for page in ALL_PAGES if any(map(is_run, commands(page)))],
    ids=lambda page: page.name,
)
def test_commands(page, request, tmp_path):
    shell = Shell(tmp_path, request.getfixturevalue)
    steps: list[Step] = []
    story = STORIES[page.name](shell, steps) if page.name in STORIES else iter([None])
    next(story)
    try:
        for command in filter(is_run, commands(page)):
            step = shell.run(command)
            # As the page on segments says of healthy ones.
            healthy = step.status == 0 or "-1 is followed by 100" in step.errors
            assert healthy, f"{command}: {step.output[-2000:]}{step.errors[-2000:]}"
            steps.append(step)
        assert next(story, None) is None
    finally:
        shell.stop()


def test_spark_submit_has_the_options(tmp_path):
    """Of what the pages tell to type where there is a cluster."""
    import pyspark

    had(lambda: java(SPARK_JAVA))
    typed = [command for page in ALL_PAGES for command in commands(page) if " spark-submit " in command]
    assert typed
    submit = str(Path(pyspark.__file__).parent / "bin" / "spark-submit")
    done = subprocess.run(
        [submit, "--help"], capture_output=True, text=True, timeout=120, cwd=tmp_path, check=False
    )
    for option in re.findall(r" (--[\w-]+)", " ".join(typed)):
        assert f"{option} " in done.stderr + done.stdout, option

"""What registries in memory and in a file promise of their own."""

import itertools
import json
import os
import pickle
import signal
import sqlite3
import subprocess
import sys
import uuid

import pytest
from refusals import refused
from shop_schemas import INT, taking_all

from kcodec import registry as registries
from kcodec.errors import RegistryError
from kcodec.registry import Reference, Schema
from kcodec.registry.memory import MemoryRegistry
from kcodec.registry.settings import Config
from kcodec.registry.sqlite import SqliteRegistry


class TestMemory:
    def test_a_scope_is_shared_by_name(self):
        name = str(uuid.uuid4())
        registries.open(f"memory://{name}").register("s", INT)
        assert registries.open(f"memory://{name}").get(1).schema == INT
        with refused(404, 40403):
            registries.open(f"memory://{name}x").get(1)

    def test_pickles_to_itself_here_and_to_a_copy_elsewhere(self):
        handle = registries.open(f"memory://{uuid.uuid4()}")
        handle.register("s", INT)
        assert pickle.loads(pickle.dumps(handle)) is handle
        script = (
            "import pickle, sys\n"
            "handle = pickle.loads(bytes.fromhex(sys.argv[1]))\n"
            "from kcodec.registry import Schema\n"
            "print(handle.get(1).schema.text, handle.register('s', Schema('\"long\"')).id, handle.url)"
        )
        run = subprocess.run(
            [sys.executable, "-c", script, pickle.dumps(handle).hex()],
            capture_output=True,
            text=True,
            check=True,
        )
        assert run.stdout.split() == ['"int"', "2", handle.url]
        assert handle.versions("s") == [1]

    def test_survives_a_fork(self):
        handle = registries.open(f"memory://{uuid.uuid4()}")
        handle.register("s", INT)
        script = (
            "import os\n"
            "from kcodec import registry\n"
            "handle = registry.open('memory://x')\n"
            "handle.register('s', registry.Schema('\"int\"'))\n"
            "handle.database._session.lock.acquire()\n"
            "child = os.fork()\n"
            "if not child:\n"
            "    os._exit(handle.register('s', registry.Schema('\"long\"')).id)\n"
            "print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))"
        )
        run = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
        )
        assert run.stdout.strip() == "2"


WRITER = """
import sys
from kcodec import registry
from kcodec.registry.settings import Config
handle = registry.open(sys.argv[1])
handle.set_config(Config("NONE"))
print("ready", flush=True)
sys.stdin.readline()
for step in range(int(sys.argv[3])):
    text = '{"type":"fixed","name":"F","size":%d}' % (step + 1)
    found = handle.register(f"subject-{sys.argv[2]}", registry.Schema(text))
    shared = handle.register("shared", registry.Schema(text))
    assert found.id == shared.id
    print(found.id, found.version, shared.version, flush=True)
"""


def writer(url, name, steps):
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, url, name, str(steps)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


class TestSqlite:
    def test_processes_write_at_once(self, tmp_path):
        url = f"sqlite:///{tmp_path}/schemas.db"
        writers = [writer(url, str(number), 25) for number in range(4)]
        for process in writers:
            assert process.stdout.readline() == "ready\n"
        for process in writers:
            process.stdin.write("go\n")
            process.stdin.flush()
        for process in writers:
            output, errors = process.communicate(timeout=120)
            assert process.returncode == 0, errors
            rows = [tuple(map(int, line.split())) for line in output.splitlines()]
            assert [version for _, version, _ in rows] == list(range(1, 26))
        handle = registries.open(url)
        assert [handle.get_version("shared", version).id for version in handle.versions("shared")] == list(
            range(1, 26)
        )
        handle.close()

    def test_survives_kills(self, tmp_path):
        url = f"sqlite:///{tmp_path}/schemas.db"
        done = 0
        for kill_after in (0, 1, 3, 7, 12):
            process = writer(url, "k", 200)
            process.stdout.readline()
            process.stdin.write("go\n")
            process.stdin.flush()
            for _ in range(kill_after):
                assert process.stdout.readline()
            process.send_signal(signal.SIGKILL)
            rest, _ = process.communicate(timeout=60)
            done = max(done, kill_after + sum(1 for line in rest.splitlines() if len(line.split()) == 3))
            handle = registries.open(url)
            known = handle.versions("subject-k") if "subject-k" in handle.subjects() else []
            assert known == list(range(1, len(known) + 1))
            assert len(known) >= done
            for version in known:
                found = handle.get_version("subject-k", version)
                assert json.loads(found.schema.text)["size"] == version == found.id
            handle.close()
            with sqlite3.connect(tmp_path / "schemas.db") as raw:
                assert raw.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            raw.close()

    def test_pickles_as_an_absolute_path(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        handle = registries.open("sqlite:///schemas.db")
        handle.register("s", INT)
        monkeypatch.chdir("/")
        copy = pickle.loads(pickle.dumps(handle))
        assert copy.get(1).schema == INT
        assert repr(copy) == f"<SqliteRegistry sqlite:///{tmp_path}/schemas.db>"
        for each in (copy, handle):
            each.close()

    def test_opens_again_after_close_and_after_a_fork(self, tmp_path):
        handle = registries.open(f"sqlite:///{tmp_path}/x.db")
        handle.register("s", INT)
        handle.close()
        assert handle.get(1).schema == INT
        handle.close()

    def test_refuses_other_files(self, tmp_path):
        (tmp_path / "text").write_text("this is not a database, whatever its name says" * 100)
        with refused(500, 50001):
            registries.open(f"sqlite:///{tmp_path}/text")
        with refused(500, 50001):
            registries.open(f"sqlite:///{tmp_path}/no/such/folder/x.db")
        raw = sqlite3.connect(tmp_path / "later.db")
        raw.execute("PRAGMA user_version = 99")
        raw.close()
        with refused(500, 50001):
            registries.open(f"sqlite:///{tmp_path}/later.db")


def test_nothing_optional_is_imported():
    script = (
        "import sys; from kcodec import registry; r = registry.open('memory://x'); registry.open('http://h');"
        "print([m for m in ('numpy', 'fastavro', 'confluent_kafka', 'pyspark') if m in sys.modules])"
    )
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, env=os.environ
    )
    assert run.stdout.strip() == "[]"


@pytest.mark.parametrize("url", ["memory://counts", "sqlite:///counts.db"])
def test_counts_and_newest(url, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    embedded = registries.open(url)
    assert (embedded.counts(), embedded.newest(5)) == ((0, 0, {}), [])
    embedded.set_config(Config("NONE"))
    for subject, schema in (
        ("a", Schema('"int"')),
        ("b", Schema('"int"')),
        ("a", Schema('"string"')),
        (":.lab:a", Schema('"int"')),
        ("j", Schema("{}", "JSON")),
        ("gone", Schema("true", "JSON")),
    ):
        embedded.register(subject, schema)
    embedded.delete_subject("gone")
    assert embedded.counts() == (4, 5, {"AVRO": 3, "JSON": 1})
    newest = [(each.id, each.subject, each.version, each.schema.text) for each in embedded.newest(3)]
    assert newest == [(3, "j", 1, "{}"), (1, ":.lab:a", 1, '"int"'), (2, "a", 2, '"string"')]
    embedded.delete_version("a", 1)
    assert embedded.counts() == (4, 4, {"AVRO": 3, "JSON": 1})
    assert [each.subject for each in embedded.newest(9)] == ["j", ":.lab:a", "a", "b"]
    # A schema that has no version left but deleted ones, and one of a language that is known elsewhere.
    embedded.delete_subject("j")
    with embedded.database.transaction(write=True):
        embedded.database.execute(
            "UPDATE schemas SET content = replace(content, 'AVRO', 'TOY') WHERE key = 1"
        )
    assert embedded.counts() == (3, 3, {"AVRO": 2, "TOY": 1})


def steps_of(registry, call, *arguments, **named):
    """Return how many tens of steps SQLite takes for a call."""
    steps = 0

    def count():
        nonlocal steps
        steps += 1

    connection = registry.database._session.connection
    connection.set_progress_handler(count, 10)
    call(*arguments, **named)
    connection.set_progress_handler(None, 0)
    return steps


def fixed(name, references=()):
    return Schema(f'{{"type":"fixed","name":"{name}","size":1}}', references=references)


def grown(registry):
    """Fill a registry: a thousand subjects with a schema each, as many with the same one, and a long one."""
    with registry.database.transaction(write=True):
        for number in range(1000):
            registry.register(f"other {number:04}", fixed(f"F{number}"))
            # The same schema under many subjects, such as that of all keys.
            registry.register(f"shared {number:04}", fixed("B"))
            registry.register("z long", fixed(f"F{number}"))


def test_what_a_registration_costs_does_not_grow_with_the_registry():
    registry = taking_all(MemoryRegistry())

    def cost(subject, name):
        return steps_of(registry, registry.register, subject, fixed(name))

    costs = [cost("first", "A"), cost("shared", "B")]
    grown(registry)
    later = [cost("last", "C"), cost("shared more", "B"), cost("z long", "D")]
    assert max(later) < 3 * max(costs)
    # Where schemas refer to others, a subject's own versions are looked through for those that do.
    record = '{"type":"record","name":"R","fields":[{"name":"f","type":"A"}]}'
    registry.register("referring", Schema(record, references=(Reference("A", "first", 1),)))
    assert cost("last", "E") < 3 * max(costs)
    assert cost("z long", "E") < 1.5 * 1000


def test_what_is_read_costs_the_same_in_a_large_registry():
    registry = taking_all(MemoryRegistry())
    for subject, name in (("first", "A"), ("shared", "B"), ("other", "F0"), ("z long", "F0")):
        registry.register(subject, fixed(name))
    calls = {
        "id": lambda: registry.get(1, "first"),
        "id and its place": lambda: registry.schema_place(2, "shared"),
        "text": lambda: registry.lookup("first", fixed("A")),
        "latest": lambda: registry.get_version("first"),
        "subjects": lambda: registry.subjects(limit=1),
        "subjects of all contexts": lambda: registry.subjects(":*:", limit=1),
        "subjects of a prefix": lambda: registry.subjects("share", limit=1),
        "versions": lambda: registry.listed_versions(limit=1),
    }
    costs = {name: steps_of(registry, call) for name, call in calls.items()}
    grown(registry)
    later = {name: steps_of(registry, call) for name, call in calls.items()}
    assert not [name for name in calls if later[name] > 2 * costs[name] + 20], (costs, later)
    # What was counted is counted again after a change.
    assert steps_of(registry, registry.counts) > 1000
    assert steps_of(registry, registry.counts) == 0


def test_prefixes_are_found_by_the_order_of_subjects(tmp_path):
    top = "\U0010ffff"
    names = [
        "a",
        "a\ud7ff",
        "a\ud7ffb",
        "a\ue000",
        "a" + top,
        "a" + top + "c",
        "b",
        "B",
        "%",
        "a%",
        "a_b",
        top,
        top + "a",
    ]
    for registry in (MemoryRegistry(), SqliteRegistry(str(tmp_path / "schemas.db"))):
        for name in names:
            registry.register(name, Schema('"int"'))
            registry.register(f":.lab:{name}", Schema('"int"'))
        every = registry.subjects()
        assert every == sorted(names + [f":.lab:{name}" for name in names])
        for prefix in (*names, "", ":", ":.lab:", ":.lab:a", "a" + top + "c", "c"):
            assert registry.subjects(prefix) == [each for each in every if each.startswith(prefix)], prefix
            if not prefix.startswith(":"):
                own = [each for each in every if not each.startswith(":.")]
                assert registry.subjects(f":.:{prefix}") == [each for each in own if each.startswith(prefix)]
                within = [each for each in every if each.removeprefix(":.lab:").startswith(prefix)]
                assert registry.subjects(f":*:{prefix}") == within


def test_versions_are_listed_as_subjects_have_them():
    registry = taking_all(MemoryRegistry())
    for subject, names in (("a", "AB"), ("b", "ABC"), ("c", "A"), (":.lab:a", "D"), ("gone", "A")):
        for name in names:
            registry.register(subject, fixed(name))
    registry.delete_version("b", 2)
    registry.delete_subject("gone")
    registry.set_config(Config(alias="b"), "c")

    def expected(prefixes, deleted, latest):
        for subject in sorted(
            {name for each in prefixes for name in registry.subjects(each, deleted=deleted)}
        ):
            for version in registry.versions(subject, deleted=deleted)[-1 if latest else 0 :]:
                yield subject, version

    for prefixes in ([""], ["a", ":.lab:"], [":*:a", "b"], ["none"], []):
        for deleted, latest in itertools.product((False, True), repeat=2):
            how = {"deleted": deleted, "latest": latest}
            whole = list(expected(prefixes, **how))
            assert registry.listed_versions(prefixes, **how) == whole
            for offset, limit in itertools.product(range(len(whole) + 2), (-1, 0, 1, 2, 5)):
                found = registry.listed_versions(prefixes, **how, offset=offset, limit=limit)
                assert found == whole[offset : offset + limit if limit >= 0 else None]
    assert registry.listed_versions(chosen=lambda subject: subject == "a") == [("a", 1), ("a", 2)]


def test_what_was_counted_is_counted_again_after_a_change(tmp_path):
    path = str(tmp_path / "schemas.db")
    registry, other = SqliteRegistry(path), SqliteRegistry(path)
    assert (registry.counts().subjects, registry.count_subjects()) == (0, 0)
    other.register("a", Schema('"int"'))
    assert (registry.counts().subjects, registry.count_subjects()) == (1, 1)
    other.delete_subject("a")
    assert (registry.count_subjects(), registry.count_subjects(deleted=True)) == (0, 1)

    def fails():
        registry.register("b", Schema('"int"'))
        assert registry.counts().subjects == 1
        raise RegistryError("refused", 409, 40901)

    assert isinstance(registry.database.together([fails])[0], RegistryError)
    assert registry.counts().subjects == 0

"""What an SQLite registry survives: kills, full disks, damaged files, files of earlier releases."""

import json
import os
import resource
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest

from kcodec import registry as registries
from kcodec.errors import RegistryError
from kcodec.registry import Schema

#: Forks writers and kills each in the middle of its writes; prints what the killed had been answered.
KILLER = """
import os, random, signal, sys, time
from kcodec import registry
from kcodec.registry import Config, Schema
url, kills = sys.argv[1], int(sys.argv[2])
chance = random.Random(int(sys.argv[3]))
for kill in range(kills):
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.close(read)
        handle = registry.open(url)
        handle.set_config(Config("NONE"))
        step = 0
        while True:
            step += 1
            text = '{"type":"fixed","name":"F","size":%d}' % (kill * 1000 + step)
            found = handle.register(f"s{kill % 7}", Schema(text))
            os.write(write, b"%d %d %d\\n" % (kill * 1000 + step, found.id, found.version))
    os.close(write)
    first = os.read(read, 1)
    time.sleep(chance.random() / 25)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    with os.fdopen(read, "rb") as pipe:
        lines = (first + pipe.read()).split(b"\\n")
    for line in lines[:-1]:
        print(kill % 7, line.decode())
"""


#: Forks while threads open registries and drop them; prints how many children could not use theirs.
FORKER = """
import os, signal, sys, threading
from kcodec import registry
url = sys.argv[1]
INT = registry.Schema('"int"')
registry.open(url).register("s", INT)
stopped = threading.Event()
def use():
    while not stopped.is_set():
        handle = registry.open(url)
        handle.itself = handle
        handle.get_version("s", 1)
threads = [threading.Thread(target=use, daemon=True) for _ in range(3)]
for thread in threads:
    thread.start()
failed = 0
for _ in range(int(sys.argv[2])):
    child = os.fork()
    if not child:
        signal.alarm(30)
        os._exit(registry.open(url).get_version("s", 1).version - 1)
    failed += os.waitpid(child, 0)[1] != 0
stopped.set()
for thread in threads:
    thread.join()
print(failed)
"""


def killed(url, kills, seed=1):
    run = subprocess.run(
        [sys.executable, "-c", KILLER, url, str(kills), str(seed)],
        capture_output=True,
        text=True,
        check=True,
        timeout=1200,
    )
    return [tuple(map(int, line.split())) for line in run.stdout.splitlines()]


def test_children_find_sqlite_free(tmp_path):
    """Whatever threads do as one forks: they use connections, or collect what others have dropped."""
    run = subprocess.run(
        [sys.executable, "-c", FORKER, f"sqlite:///{tmp_path}/schemas.db", "100"],
        capture_output=True,
        text=True,
        check=True,
        timeout=280,
    )
    assert run.stdout.split() == ["0"]


#: A thousand where property tests are thorough.
KILLS = 1000 if os.environ.get("KCODEC_HYPOTHESIS") == "thorough" else 60


@pytest.mark.timeout(1500)
def test_kills_lose_nothing_that_was_answered(tmp_path):
    url = f"sqlite:///{tmp_path}/schemas.db"
    answered = killed(url, KILLS)
    handle = registries.open(url)
    for subject, size, number, version in answered:
        found = handle.get_version(f"s{subject}", version)
        assert (found.id, json.loads(found.schema.text)["size"]) == (number, size)
    ids = set()
    for subject in handle.subjects():
        versions = handle.versions(subject)
        assert versions == list(range(1, len(versions) + 1))
        ids |= {handle.get_version(subject, version).id for version in versions}
    assert ids == set(range(1, len(ids) + 1))
    handle.close()
    print(f"{KILLS} kills, {len(answered)} answers checked, {len(ids)} schemas")
    assert len(answered) >= KILLS
    with sqlite3.connect(tmp_path / "schemas.db") as raw:
        assert raw.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    raw.close()


def test_a_full_disk_is_an_error_and_loses_nothing(tmp_path):
    """The process may not write files beyond a size, as where the disk is full."""
    url = f"sqlite:///{tmp_path}/schemas.db"
    handle = registries.open(url)
    first = handle.register("s", Schema('"int"'))
    script = (
        "import resource, signal, sys\n"
        "from kcodec import registry\n"
        "from kcodec.errors import RegistryError\n"
        "from kcodec.registry import Schema\n"
        "handle = registry.open(sys.argv[1])\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]),) * 2)\n"
        'text = \'{"type":"int","x":"%s"}\' % (\'x\' * 200_000)\n'
        "try:\n"
        "    handle.register('big', Schema(text))\n"
        "except RegistryError as error:\n"
        "    print(error.status, error.error_code, error)\n"
        "print(handle.get_version('s').schema.text, handle.subjects())\n"
    )
    size = (tmp_path / "schemas.db").stat().st_size
    run = subprocess.run(
        [sys.executable, "-c", script, url, str(size)], capture_output=True, text=True, check=True, timeout=60
    )
    refused, kept = run.stdout.splitlines()
    assert refused.startswith("500 50001 ")
    assert kept == "\"int\" ['s']"
    assert handle.get_version("s") == first
    assert handle.register("t", Schema('"long"')).id == 2
    handle.close()
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY


def test_a_damaged_file_is_an_error_and_stays_as_it_is(tmp_path):
    path = tmp_path / "schemas.db"
    handle = registries.open(f"sqlite:///{path}")
    for number in range(1, 200):
        handle.register(f"s{number}", Schema(f'{{"type":"fixed","name":"F","size":{number}}}'))
    handle.close()
    damaged = bytearray(path.read_bytes())
    damaged[4096:-4096] = b"\xa5" * (len(damaged) - 8192)
    path.write_bytes(damaged)
    with pytest.raises(RegistryError) as info:
        registries.open(f"sqlite:///{path}").register("s", Schema('"int"'))
    assert (info.value.status, info.value.error_code) == (500, 50001)
    assert path.read_bytes() == damaged


@pytest.mark.parametrize("missing", [1, 1023, 4095])
def test_a_file_that_ends_within_a_page_is_refused(missing, tmp_path):
    """As a copy that was broken off. What stood behind its end would be read as zeros, and be written on."""
    path = tmp_path / "schemas.db"
    handle = registries.open(f"sqlite:///{path}")
    for number in range(1, 60):
        handle.register(f"s{number}", Schema(f'{{"type":"fixed","name":"F","size":{number}}}'))
    handle.close()
    whole = path.read_bytes()
    path.write_bytes(whole[:-missing])
    with pytest.raises(
        RegistryError, match=r"the end of the file is missing: its \d+ bytes are no whole"
    ) as info:
        registries.open(f"sqlite:///{path}")
    assert (info.value.status, info.value.error_code) == (500, 50001)
    assert path.read_bytes() == whole[:-missing]


def test_pages_that_are_still_written_ahead_may_be_missing(tmp_path):
    """As where a process was killed while it moved them into the file."""
    path = tmp_path / "schemas.db"
    handle = registries.open(f"sqlite:///{path}")
    assert handle.database.write_ahead()
    handle.register("s", Schema('"int"'))
    copies = {name: (tmp_path / name).read_bytes() for name in ("schemas.db", "schemas.db-wal")}
    (tmp_path / "copy.db-wal").write_bytes(copies["schemas.db-wal"])
    (tmp_path / "copy.db").write_bytes(copies["schemas.db"] + b"\0" * 100)
    copied = registries.open(f"sqlite:///{tmp_path}/copy.db")
    assert copied.get(1).schema == Schema('"int"')
    copied.close()
    handle.close()


#: The tables of the first release.
FORMAT_1 = """
CREATE TABLE schemas (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    guid TEXT NOT NULL,
    content TEXT NOT NULL UNIQUE
);
CREATE INDEX schemas_guid ON schemas (guid);
CREATE TABLE versions (
    subject TEXT NOT NULL,
    version INTEGER NOT NULL,
    schema_id INTEGER NOT NULL REFERENCES schemas (id),
    deleted INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (subject, version)
) WITHOUT ROWID;
CREATE INDEX versions_schema ON versions (schema_id);
CREATE TABLE schema_references (
    schema_id INTEGER NOT NULL REFERENCES schemas (id),
    subject TEXT NOT NULL,
    version INTEGER NOT NULL
);
CREATE INDEX schema_references_target ON schema_references (subject, version);
INSERT INTO schemas VALUES (1, 'ef524ea1-b91e-7317-3d93-8ade36c1db32', '["AVRO", "\\"int\\"", [], null]');
INSERT INTO schemas VALUES (2, 'e1dd9a1e-f98b-451b-5369-0370b393966b', '["AVRO", "\\"long\\"", [], null]');
INSERT INTO schemas VALUES (9, '01f692b3-0d4a-1c8a-3e60-0b1440637f8f', '["AVRO", "\\"boolean\\"", [], null]');
DELETE FROM schemas WHERE id = 9;
INSERT INTO versions VALUES ('a', 1, 1, 0), ('a', 2, 2, 1), (':.lab:b', 1, 2, 0), (':.lab:b', 2, 1, 0);
INSERT INTO schema_references VALUES (2, 'a', 1);
PRAGMA user_version = 1;
"""


@pytest.mark.parametrize(
    "content",
    [
        *("{", "[1]", "[]", "7", "[" * 100_000, b"\xff"),
        '["AVRO", 7, [], null]',
        '[null, "x", [], null]',
        '["AVRO", "x", [[1]], null]',
        '["AVRO", "x", [["name", "subject", "one"]], null]',
        '["AVRO", "x", [], 7]',
    ],
)
def test_a_damaged_schema_is_an_error_that_names_it(content, tmp_path):
    url = f"sqlite:///{tmp_path}/registry.db"
    with closing(registries.open(url)) as registry:
        number = registry.register("r-value", Schema('"int"')).id
    with sqlite3.connect(tmp_path / "registry.db") as database:
        # As text, whatever the bytes.
        database.execute("UPDATE schemas SET content = CAST(? AS TEXT)", (content,))
    with closing(registries.open(url)) as registry:
        for call, name in (
            (lambda: registry.get_version("r-value", 1), "r-value 1"),
            (lambda: registry.get_version("r-value"), "r-value 1"),
            (lambda: registry.get(number), f"id {number}"),
        ):
            with pytest.raises(
                RegistryError, match=f"what the database keeps of {name} is damaged"
            ) as caught:
                call()
            assert (caught.value.status, caught.value.error_code) == (500, 50001)


def test_a_file_of_the_first_release_is_taken_over(tmp_path):
    path = tmp_path / "old.db"
    raw = sqlite3.connect(path)
    raw.executescript(FORMAT_1)
    raw.close()
    handle = registries.open(f"sqlite:///{path}")
    assert handle.subjects() == [":.lab:b", "a"]
    assert handle.get_version("a", 1).id == 1
    assert handle.get_version("a", 2, deleted=True).schema.text == '"long"'
    assert [handle.get_version(":.lab:b", version).id for version in (1, 2)] == [2, 1]
    assert handle.get(2, ":.lab:b").schema.text == '"long"'
    assert handle.referenced_by("a", 1, deleted=True) == [2]
    # It took schemas of any compatibility, and still does; ids go on after the last that was given.
    assert handle.config().compatibility == "NONE"
    assert handle.register("a", Schema('"string"')).id == 10
    assert handle.register(":.lab:b", Schema('"string"')).id == 3
    handle.close()
    again = registries.open(f"sqlite:///{path}")
    assert again.get_version("a").id == 10
    again.close()


#: The tables of the third format, which knew nothing of who had changed them.
FORMAT_3 = """
CREATE TABLE contexts (name TEXT PRIMARY KEY, last_id INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE schemas (
    key INTEGER PRIMARY KEY,
    context TEXT NOT NULL REFERENCES contexts (name),
    id INTEGER NOT NULL,
    guid TEXT NOT NULL,
    content TEXT NOT NULL,
    UNIQUE (context, id)
);
CREATE INDEX schemas_guid ON schemas (guid, context);
CREATE TABLE versions (
    subject TEXT NOT NULL,
    version INTEGER NOT NULL,
    schema_key INTEGER NOT NULL REFERENCES schemas (key),
    deleted INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (subject, version)
) WITHOUT ROWID;
CREATE INDEX versions_schema ON versions (schema_key);
CREATE TABLE schema_references (
    schema_key INTEGER NOT NULL REFERENCES schemas (key),
    subject TEXT NOT NULL,
    version INTEGER NOT NULL
);
CREATE INDEX schema_references_target ON schema_references (subject, version);
CREATE INDEX schema_references_schema ON schema_references (schema_key);
CREATE TABLE settings (subject TEXT PRIMARY KEY, config TEXT, mode TEXT) WITHOUT ROWID;
CREATE TABLE keks (
    name TEXT PRIMARY KEY,
    kms_type TEXT NOT NULL,
    kms_key_id TEXT NOT NULL,
    kms_props TEXT NOT NULL,
    doc TEXT,
    shared INTEGER NOT NULL,
    ts INTEGER NOT NULL,
    deleted INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE deks (
    kek_name TEXT NOT NULL REFERENCES keks (name),
    subject TEXT NOT NULL,
    version INTEGER NOT NULL,
    algorithm TEXT NOT NULL,
    encrypted TEXT NOT NULL,
    ts INTEGER NOT NULL,
    deleted INTEGER NOT NULL,
    PRIMARY KEY (kek_name, subject, algorithm, version)
) WITHOUT ROWID;
INSERT INTO contexts VALUES ('.', 2);
INSERT INTO schemas VALUES (1, '.', 1, 'ef524ea1-b91e-7317-3d93-8ade36c1db32', '["AVRO", "\\"int\\"", [], null]');
INSERT INTO versions VALUES ('a', 1, 1, 0);
INSERT INTO settings VALUES ('', '{"compatibility": "NONE"}', NULL);
INSERT INTO keks VALUES ('pii', 'local-kms', 'mykey', '{}', NULL, 0, 1700000000000, 0);
PRAGMA user_version = 3;
"""


def test_a_file_that_kept_no_changes_is_taken_over(tmp_path):
    path = tmp_path / "old.db"
    raw = sqlite3.connect(path)
    raw.executescript(FORMAT_3)
    raw.close()
    handle = registries.open(f"sqlite:///{path}")
    assert handle.get_version("a").schema.text == '"int"'
    assert (handle.config().compatibility, handle.keys.kek_names()) == ("NONE", ["pii"])
    assert (handle.changes(), handle.origins("a", [1])) == ([], {})
    assert handle.register("a", Schema('"string"')).id == 3
    handle.close()
    again = registries.open(f"sqlite:///{path}")
    assert again.origins("a", [1, 2]).keys() == {2}
    assert [(each.action, each.subject, each.version) for each in again.changes()] == [("register", "a", 2)]
    again.close()


@pytest.mark.parametrize(
    ("format", "told"),
    [
        (5, "has format 5, not 4: a newer kcodec has made it"),
        (-1, "format -1, not 4: it is none of kcodec's"),
    ],
)
def test_a_file_of_no_known_format(format, told, tmp_path):
    with closing(sqlite3.connect(tmp_path / "other.db")) as raw:
        raw.execute(f"PRAGMA user_version = {format}")
    with pytest.raises(RegistryError, match=told):
        registries.open(f"sqlite:///{tmp_path}/other.db")


def test_a_database_of_something_else(tmp_path):
    """It is left as it is."""
    path = tmp_path / "orders.db"
    with closing(sqlite3.connect(path)) as raw:
        raw.execute("CREATE TABLE orders (id)")
    before = path.read_bytes()
    with pytest.raises(RegistryError, match="the file is no registry: it has a table orders") as caught:
        registries.open(f"sqlite:///{path}")
    assert (caught.value.status, caught.value.error_code) == (500, 50001)
    assert path.read_bytes() == before


def test_a_file_of_an_older_format_that_may_not_be_written(tmp_path):
    """As on a disk that is only read: it is told why that is needed."""
    path = tmp_path / "old.db"
    with closing(sqlite3.connect(path)) as raw:
        raw.executescript(FORMAT_3)
    before = path.read_bytes()
    script = """
import resource, signal, sys
from kcodec import registry
from kcodec.errors import RegistryError
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
try:
    registry.open(sys.argv[1])
except RegistryError as error:
    print(error.status, error.error_code, error)
"""
    command = [sys.executable, "-c", script, f"sqlite:///{path}"]
    told = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    assert told.startswith("500 50001 ")
    assert told.endswith("the file has format 3, which has to become 4 before anything is read\n")
    assert path.read_bytes() == before


def test_several_processes_open_a_new_file_at_once(tmp_path):
    script = "import sys; from kcodec import registry; registry.open(sys.argv[1]).close()"
    processes = [
        subprocess.Popen([sys.executable, "-c", script, f"sqlite:///{tmp_path}/new.db"]) for _ in range(4)
    ]
    assert [process.wait(60) for process in processes] == [0] * 4


def test_a_session_outlives_the_names_of_its_module(tmp_path):
    """As where Python ends: modules lose their names before what other modules, or frozen programs, still hold."""
    script = """
import sys
from kcodec.registry.store import database
kept = database.Database(sys.argv[1], "sqlite:///kept")
with kept.transaction():
    session = kept._session
kept = None
vars(database).update(dict.fromkeys(name for name in vars(database) if not name.startswith("__")))
del session
"""
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", script, str(tmp_path / "s.db")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stderr == ""


def test_a_folder_that_is_missing_is_hinted_at(tmp_path):
    with pytest.raises(RegistryError, match="unable to open database file; is its folder there"):
        registries.open(f"sqlite:///{tmp_path}/none/s.db").subjects()

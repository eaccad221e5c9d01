"""Registries of many subjects and versions: what one more costs, what is found and listed, what opening takes."""

import asyncio
import itertools
import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from axes.axis import Axis, record
from kcodec import registry
from kcodec.registry import Config, Schema
from kcodec.registry.base import guid
from kcodec.registry.store.content import dump

#: The variable of the environment with the folder of the files that all axes share.
FOLDER = "KCODEC_GROWTH"
_SCOPES = itertools.count()
_VERSIONS = (10, 100, 1_000, 10_000)
_SUBJECTS = (10, 1_000, 100_000, 1_000_000)
#: Of the rows that are added together.
_PART = 50_000


def _fresh() -> Any:
    """Return a registry in memory that nothing is in."""
    return registry.open(f"memory://{next(_SCOPES)}")


def _schema(number: int) -> Schema:
    """Return a schema as a registry keeps it: in its order, without spaces."""
    kind, name, fields = record(1).items()
    made = dict([kind, name, ("doc", str(number)), fields])
    return Schema(json.dumps(made, separators=(",", ":")), "AVRO")


def _fill(held: Any, places: Iterable[tuple[str, int]]) -> None:
    """Have versions of subjects in an empty registry, each with a schema of its own: one transaction, no checks."""
    held.register("first", _schema(1))
    assert held.get(1).schema == _schema(1)
    with held.database.transaction(write=True) as connection:
        numbered = enumerate(places, 2)
        while part := list(itertools.islice(numbered, _PART)):
            kept = [(number, _schema(number)) for number, _ in part]
            connection.executemany(
                "INSERT INTO schemas (key, context, id, guid, content) VALUES (?, '.', ?, ?, ?)",
                [(number, number, guid(schema), dump(schema)) for number, schema in kept],
            )
            rows = [(subject, version, number) for number, (subject, version) in part]
            connection.executemany(
                "INSERT INTO versions (subject, version, schema_key, ts, author) VALUES (?, ?, ?, 0, '')",
                rows,
            )
            connection.executemany(
                "INSERT INTO changes (ts, author, action, subject, version, schema_id) "
                "VALUES (0, '', 'register', ?, ?, ?)",
                rows,
            )
        connection.execute("UPDATE contexts SET last_id = (SELECT max(id) FROM schemas)")


def _name(number: int) -> str:
    return f"subject-{number:07}"


def _file(count: int) -> Path:
    """Return the file of a registry of so many subjects, which is made once."""
    path = Path(os.environ[FOLDER], f"{count}.db")
    if not path.exists():
        made = path.with_suffix(".new")
        held = registry.open(f"sqlite:///{made}")
        _fill(held, ((_name(number), 1) for number in range(count)))
        held.close()
        made.rename(path)
    return path


def _in_file(count: int) -> Any:
    return registry.open(f"sqlite:///{_file(count)}")


def _in_memory(count: int) -> Any:
    held, filled = _fresh(), _in_file(count)
    with filled.database.transaction() as source, held.database.transaction() as target:
        pass
    source.backup(target)
    return held


def _register(held: Any, count: int) -> Callable[[], Any]:
    names = itertools.count(count)
    return lambda: held.register(f"new-{os.getpid()}-{next(names)}", _schema(10**9 + next(names)))


def in_memory(count: int) -> Callable[[], Any]:
    return _register(_in_memory(count), count)


def in_a_file(count: int) -> Callable[[], Any]:
    """Register one more subject in a file, of which a commit is on disk."""
    return _register(_in_file(count), count)


def lookup(count: int) -> Callable[[], Any]:
    """Find a version by its subject and its text, by its id, and the latest one."""
    held = _in_file(count)
    # The first has the schema 1.
    numbers = itertools.cycle(range(0, count, max(count // 1_000, 1)))

    def find() -> None:
        number = next(numbers)
        subject = _name(number)
        found = held.lookup(subject, _schema(number + 2))
        assert held.get(found.id).schema == held.get_version(subject).schema

    return find


def listing(count: int) -> Callable[[], Any]:
    return _in_memory(count).subjects  # type: ignore[no-any-return]


def part_of_listing(count: int) -> Callable[[], Any]:
    """List fifty of the subjects, from their midst, by a prefix that half of them have."""
    held, prefix = _in_file(count), _name(count // 2)[:-1]
    return lambda: held.subjects(prefix, limit=50)


def start(count: int) -> Callable[[], Any]:
    path = _file(count)

    def opened() -> None:
        held = registry.open(f"sqlite:///{path}")
        held.get_version("first")
        held.close()

    return opened


def _get(application: Any, path: str, query: str = "") -> Callable[[], Any]:
    """Return what asks an application of ASGI for a page."""
    scope = {
        "type": "http",
        "method": "GET",
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "headers": [],
        "client": ("127.0.0.1", 1),
    }
    loop = asyncio.new_event_loop()

    async def ask() -> int:
        async def receive() -> dict[str, Any]:
            return {"type": "http.request"}

        async def send(message: dict[str, Any]) -> None:
            assert message.get("status", 200) == 200, message
            sizes.append(len(message.get("body", b"")))

        sizes: list[int] = []
        await application(scope, receive, send)
        return sum(sizes)

    return lambda: loop.run_until_complete(ask())


def page(count: int) -> Callable[[], Any]:
    """Show the page of subjects, fifty of them."""
    from kcodec.server.page.app import RegistryPage

    return _get(RegistryPage(_in_file(count)), "/subjects", "page=2")


def overview(count: int) -> Callable[[], Any]:
    from kcodec.server.page.app import RegistryPage

    return _get(RegistryPage(_in_file(count)), "/")


def _served(count: int, path: str, query: str) -> Callable[[], Any]:
    """Ask the server, which gives no answer again, as another change comes between."""
    from kcodec.server.application import RegistryApplication
    from kcodec.server.settings import ServerSettings

    held = _in_file(count)
    ask = _get(RegistryApplication(held, ServerSettings(url=held.url, access_log=False)), path, query)
    modes = itertools.cycle(["READWRITE", "READONLY"])

    def changed() -> None:
        held.set_mode(next(modes), ":.other:")
        ask()

    return changed


def answer(count: int) -> Callable[[], Any]:
    return _served(count, "/subjects", f"offset={count // 2}&limit=50")


def schemas(count: int) -> Callable[[], Any]:
    return _served(count, "/schemas", f"offset={count // 2}&limit=50")


def metrics(count: int) -> Callable[[], Any]:
    return _served(count, "/metrics", "")


def _versions(count: int, level: str) -> Callable[[], Any]:
    held = _fresh()
    _fill(held, (("subject", number) for number in range(1, count + 1)))
    held.set_config(Config(compatibility=level))
    numbers = itertools.count(10**9)
    return lambda: held.register("subject", _schema(next(numbers)))


def versions(count: int) -> Callable[[], Any]:
    return _versions(count, "NONE")


def backward(count: int) -> Callable[[], Any]:
    return _versions(count, "BACKWARD")


def transitive(count: int) -> Callable[[], Any]:
    return _versions(count, "FULL_TRANSITIVE")


AXES = {
    "versions": Axis("register one more version (level NONE)", _VERSIONS, versions, repeats=False),
    "backward": Axis("register one more version (BACKWARD)", _VERSIONS, backward, repeats=False),
    "transitive": Axis("one more version (FULL_TRANSITIVE)", _VERSIONS, transitive, repeats=False),
    "subjects": Axis("register one more subject (memory)", _SUBJECTS, in_memory, repeats=False),
    "file": Axis("register one more subject (SQLite)", _SUBJECTS, in_a_file, repeats=False),
    "lookup": Axis("look up a schema, by three ways (SQLite)", _SUBJECTS, lookup),
    "listing": Axis("list subjects (memory)", _SUBJECTS, listing),
    "part": Axis("list 50 subjects of a prefix (SQLite)", _SUBJECTS, part_of_listing),
    "start": Axis("open a registry of subjects (SQLite)", _SUBJECTS, start),
    "page": Axis("show the page of 50 subjects (SQLite)", _SUBJECTS, page),
    "overview": Axis("show the overview of subjects (SQLite)", _SUBJECTS, overview),
    "answer": Axis("answer with 50 subjects (SQLite)", _SUBJECTS, answer),
    "schemas": Axis("answer with 50 schemas (SQLite)", _SUBJECTS, schemas),
    "metrics": Axis("tell metrics of subjects (SQLite)", _SUBJECTS, metrics),
}

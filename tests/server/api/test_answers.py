"""Answers that are kept: never different from those that would be found anew, and checked and counted as these."""

import io
import json
import logging
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from asked import TYPE, Asked
from hypothesis import given, settings
from hypothesis import strategies as st
from shop_users import KEPT, basic
from tries import tries

from kcodec.errors import RegistryError
from kcodec.registry import Config, Schema
from kcodec.registry.memory import MemoryRegistry
from kcodec.registry.sqlite import SqliteRegistry
from kcodec.server.access import users
from kcodec.server.access.passwords import hashed
from kcodec.server.access_log import TurnHandler, logger
from kcodec.server.api.answers import Answers

INT, LONG, STRING = ({"schema": f'"{kind}"'} for kind in ("int", "long", "string"))


@pytest.fixture(params=["memory", "file"])
def registry(request, tmp_path):
    return MemoryRegistry() if request.param == "memory" else SqliteRegistry(str(tmp_path / "schemas.db"))


@pytest.fixture
def ask(registry):
    asked = Asked(registry)
    asked.register("s")
    yield asked
    asked.close()


def found_anew(ask, monkeypatch):
    """Count what is found anew from now on."""
    calls, call = [], ask.application._dispatcher._called
    monkeypatch.setattr(
        ask.application._dispatcher,
        "_called",
        lambda route, request: calls.append(route.template) or call(route, request),
    )
    return calls


class TestAnswers:
    def test_those_of_a_state(self):
        answers = Answers()
        answers.keep(1, (b"a",), b"early")
        assert answers.find(1, (b"a",)) is None
        answers.keep(1, (b"a",), b"one")
        assert answers.find(1, (b"a",)) == b"one"
        assert answers.find(None, (b"a",)) is None
        assert answers.find(1, (b"a",)) == b"one"
        assert answers.find(2, (b"a",)) is None
        # Found while the state passed.
        answers.keep(1, (b"a",), b"late")
        assert answers.find(2, (b"a",)) is None
        assert answers.find(1, (b"a",)) is None

    def test_a_state_that_nobody_knows(self):
        answers = Answers()
        answers.keep(None, (b"a",), b"x")
        assert answers.find(None, (b"a",)) is None

    def test_those_that_were_kept_first_go_first(self):
        answers = Answers(max_size=100_000)
        answers.find(1, ())
        for number in range(100):
            answers.keep(1, (b"%d" % number,), b"x" * 4000)
        left = [number for number in range(100) if answers.find(1, (b"%d" % number,)) is not None]
        assert left == list(range(100 - len(left), 100))
        assert 20 <= len(left) <= 25
        answers.keep(1, (b"large",), b"x" * 50_000)
        answers.keep(1, (b"x" * 50_000,), b"large")
        assert [number for number in range(100) if answers.find(1, (b"%d" % number,))] == left


class TestKept:
    @pytest.mark.parametrize(
        ("method", "path", "body"),
        [
            ("GET", "/schemas/ids/1", None),
            ("GET", "/subjects/s/versions/latest", None),
            ("GET", "/subjects", None),
            ("POST", "/subjects/s/versions", INT),
            ("POST", "/subjects/s", INT),
            ("POST", "/compatibility/subjects/s/versions/latest", STRING),
            ("POST", "/compatibility/subjects/s/versions?verbose=true", STRING),
        ],
    )
    def test_until_something_changes(self, ask, monkeypatch, method, path, body):
        first = ask(method, path, body)
        assert first.status == 200
        calls = found_anew(ask, monkeypatch)
        for _ in range(3):
            again = ask(method, path, body)
            assert (again.status, again.headers, again.data) == (200, first.headers, first.data)
        assert calls == []
        ask("PUT", "/config/other", {"compatibility": "FULL"})
        calls.clear()
        assert ask(method, path, body).data == first.data
        assert len(calls) == 1

    def test_another_request_is_another_answer(self, ask):
        body = {"schema": '{"type": "record", "name": "R", "fields": []}'}
        assert ask("GET", "/schemas/ids/1").json["schema"] == '"int"'
        assert ask("GET", "/schemas/ids/1?fetchMaxId=true").json["maxId"] == 1
        assert ask("GET", "/schemas/ids/1/schema").data == b'"int"'
        assert ask("POST", "/subjects/s", INT).json["version"] == 1
        assert ask("POST", "/subjects/s", body).status == 404
        assert ask("DELETE", "/schemas/ids/1").status == 405

    def test_refusals_are_found_anew(self, ask, monkeypatch):
        calls = found_anew(ask, monkeypatch)
        for _ in range(2):
            assert ask("GET", "/schemas/ids/9").fault[:2] == (404, 40403)
        assert len(calls) == 2

    def test_what_a_request_has_to_be(self, ask):
        """What is refused of a request is refused of one whose answer is kept."""
        path = "/subjects/s"
        assert ask("POST", path, INT).status == 200
        assert ask("POST", path, INT, {"sec-fetch-site": "cross-site"}).status == 403
        assert ask("POST", path, INT, {"content-type": "text/plain"}).status == 415
        assert ask("POST", path, INT, {"accept": "text/css"}).status == 406
        assert ask("POST", path, INT, {"content-length": str(1 << 40)}).status == 413
        types = [
            ask("POST", path, INT, {"accept": each}).headers["content-type"]
            for each in (TYPE, "application/json")
        ]
        assert types == [TYPE, "application/json"]

    def test_each_request_is_counted_and_logged(self, registry):
        stream = io.StringIO()
        handler = TurnHandler(stream)
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
        logger.propagate = False
        try:
            ask = Asked(registry, access_log=True)
            ask.register("s")
            for _ in range(3):
                ask("GET", "/schemas/ids/1")
            text = ask("GET", "/metrics").data.decode()
        finally:
            logger.removeHandler(handler)
            logger.propagate = True
            logger.setLevel(logging.NOTSET)
        handler.flush()
        labels = 'method="GET",route="/schemas/ids/{id}"'
        assert f'kcodec_registry_requests_total{{{labels},status="200"}} 3.0' in text
        assert f"kcodec_registry_request_seconds_count{{{labels}}} 3.0" in text
        lines = [json.loads(line) for line in stream.getvalue().splitlines()]
        read = [line for line in lines if line["path"] == "/schemas/ids/1"]
        assert [(line["route"], line["status"]) for line in read] == [("/schemas/ids/{id}", 200)] * 3
        assert len({line["bytes"] for line in read}) == 1


class TestChanges:
    """Changes by others are seen at once."""

    def test_of_another_process(self, tmp_path):
        ask = Asked(SqliteRegistry(str(tmp_path / "schemas.db")))
        ask.register("s")
        paths = ["/subjects/s/versions/latest", "/subjects", "/subjects/s/versions"]
        before = [ask("GET", path).json for path in paths]
        check = "/compatibility/subjects/s/versions/latest"
        assert ask("POST", check, INT).json == {"is_compatible": True}
        code = (
            "import sys; from kcodec import registry; from kcodec.registry import Schema\n"
            "registry.open(sys.argv[1]).register('s', Schema('\"long\"'))"
        )
        for _ in range(2):
            subprocess.run([sys.executable, "-c", code, ask.registry.url], check=True)
        after = [ask("GET", path).json for path in paths]
        assert [each["id"] for each in (before[0], after[0])] == [1, 2]
        assert (before[1:], after[1:]) == ([["s"], [1]], [["s"], [1, 2]])
        assert ask("POST", check, INT).json == {"is_compatible": False}

    def test_of_another_worker(self, tmp_path):
        one, other = (Asked(SqliteRegistry(str(tmp_path / "schemas.db"))) for _ in range(2))
        for number, text in enumerate(('"int"', '"long"', '"float"', '"double"'), 1):
            one.register("s", text)
            for ask in (other, one):
                assert ask("GET", "/subjects/s/versions/latest").json["version"] == number
        assert other("DELETE", "/subjects/s/versions/4").json == 4
        assert one("GET", "/subjects/s/versions/latest").json["version"] == 3
        # It is the same schema, and yet another version.
        assert one.register("s", '"double"').json["version"] == 5
        assert other.register("s", '"double"').json["version"] == 5

    def test_schemas_that_are_gone(self, ask):
        path = "/schemas/ids/1"
        assert ask("GET", path).status == 200
        ask("DELETE", "/subjects/s")
        assert ask("GET", path).status == 200
        ask("DELETE", "/subjects/s?permanent=true")
        assert ask("GET", path).fault[:2] == (404, 40403)
        assert ask("POST", "/subjects/s", INT).fault[:2] == (404, 40401)

    def test_modes_levels_and_aliases(self, ask):
        path, check = "/subjects/s/versions", "/compatibility/subjects/s/versions/latest"
        assert ask("POST", path, INT).status == 200
        assert ask("POST", check, STRING).json == {"is_compatible": False}
        ask("PUT", "/mode/s", {"mode": "READONLY"})
        assert ask("POST", path, INT).fault[:2] == (422, 42205)
        ask("DELETE", "/mode/s")
        ask("PUT", "/mode", {"mode": "READONLY_OVERRIDE"})
        assert ask("POST", path, INT).fault[:2] == (422, 42205)
        ask("PUT", "/mode", {"mode": "READWRITE"})
        assert ask("POST", path, INT).json["id"] == 1
        ask("PUT", "/config", {"compatibility": "NONE"})
        assert ask("POST", check, STRING).json == {"is_compatible": True}
        ask.register("t", '"string"')
        ask("PUT", "/config/s", {"alias": "t"})
        assert ask("GET", "/subjects/s/versions/latest").json["schema"] == '"string"'

    def test_types_that_are_installed_meanwhile(self, ask, monkeypatch):
        assert "TOY" not in ask("GET", "/schemas/types").json
        monkeypatch.setattr("kcodec.server.api.calls.schema_types", lambda: ["TOY"])
        assert ask("GET", "/schemas/types").json == ["TOY"]

    def test_a_file_that_is_locked(self, tmp_path):
        registry = SqliteRegistry(str(tmp_path / "schemas.db"))
        assert registry.database.state() is not None
        locking = SqliteRegistry(str(tmp_path / "schemas.db"))
        with locking.database.transaction() as connection:
            connection.execute("COMMIT")
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            connection.execute("BEGIN EXCLUSIVE")
            assert registry.database.state() is None
        locking.close()
        assert registry.database.state() is not None

    def test_a_handle_that_is_opened_again(self, tmp_path):
        registry, other = (SqliteRegistry(str(tmp_path / "schemas.db")) for _ in range(2))
        before = registry.database.state()
        assert registry.database.state() == before
        registry.close()
        other.register("s", Schema('"int"'))
        assert registry.database.state() != before
        other.close()
        registry.close()


READS = {"role": "read", "users": ["shop"]}


class TestUsers:
    @pytest.fixture
    def file(self, tmp_path):
        def write(*grants, password=KEPT):
            path = tmp_path / "access.json"
            users = dict.fromkeys(("shop", "root", "nobody"), password)
            path.write_text(
                json.dumps({"users": users, "grants": [{"role": "admin", "users": ["root"]}, *grants]})
            )
            return str(path)

        return write

    def test_each_has_answers_of_its_own(self, registry, file):
        registry.register("s", Schema('"int"'))
        registry.register("t", Schema('"long"'))
        ask = Asked(registry, access=file({**READS, "subjects": ["s"]}))
        for _ in range(2):
            assert ask("GET", "/subjects", headers=basic("root")).json == ["s", "t"]
            assert ask("GET", "/subjects", headers=basic("shop")).json == ["s"]
            assert ask("GET", "/schemas/ids/2", headers=basic("root")).status == 200
            for name, status in (("shop", 403), ("nobody", 403)):
                assert ask("GET", "/schemas/ids/2", headers=basic(name)).status == status
            for headers in ({}, basic("root", "wrong"), basic("else"), {"authorization": "Bearer x"}):
                assert ask("GET", "/schemas/ids/2", headers=headers).fault[:2] == (401, 40101)
            assert ask("POST", "/subjects/s/versions", INT, basic("root")).status == 200
            assert ask("POST", "/subjects/s/versions", INT, basic("shop")).fault[:2] == (403, 40301)

    def test_roles_and_passwords_that_change(self, registry, file, monkeypatch):
        monkeypatch.setattr(users, "_PAUSE", 0.0)
        registry.register("s", Schema('"int"'))
        ask = Asked(registry, access=file(READS))

        def status(password="secret"):
            return [ask("GET", "/schemas/ids/1", headers=basic("shop", password)).status for _ in range(2)]

        assert status() == [200, 200]
        file()
        assert status() == [403, 403]
        file(READS)
        assert status() == [200, 200]
        file(READS, password=hashed("another"))
        assert status() == [401, 401]
        assert status("another") == [200, 200]

    def test_who_is_known_is_not_waited_for(self, registry, file, monkeypatch):
        registry.register("s", Schema('"int"'))
        ask = Asked(registry, access=file(READS))
        assert ask("GET", "/schemas/ids/1", headers=basic("shop")).status == 200
        monkeypatch.setattr(ask.application._gate, "_threads", None)
        monkeypatch.setattr(users, "_PAUSE", 1000.0)
        assert ask("GET", "/schemas/ids/1", headers=basic("shop")).status == 200


TEXTS = [
    '"int"',
    '"long"',
    '"string"',
    '{"type":"record","name":"R","fields":[]}',
    '{"type":"record","name":"R","fields":[{"name":"a","type":"int"}]}',
    '{"type":"record","name":"R","fields":[{"name":"a","type":"int","default":1}]}',
]
SUBJECTS = ["a", "b", ":.lab:a"]

changes = st.one_of(
    st.tuples(st.just("register"), st.sampled_from(SUBJECTS), st.sampled_from(TEXTS)),
    st.tuples(st.just("delete_subject"), st.sampled_from(SUBJECTS), st.booleans()),
    st.tuples(st.just("delete_version"), st.sampled_from(SUBJECTS), st.integers(1, 3), st.booleans()),
    st.tuples(
        st.just("set_mode"), st.sampled_from([None, *SUBJECTS]), st.sampled_from(["READWRITE", "READONLY"])
    ),
    st.tuples(
        st.just("set_config"),
        st.sampled_from([None, *SUBJECTS]),
        st.sampled_from(["NONE", "FULL", "BACKWARD_TRANSITIVE"]),
    ),
    st.tuples(st.just("delete_config"), st.sampled_from(SUBJECTS)),
    st.tuples(st.just("alias"), st.sampled_from(SUBJECTS), st.sampled_from(["a", "b"])),
)


def change(registry, what, subject, *more):
    """Change a registry, if it can be."""
    try:
        if what == "register":
            registry.register(subject, Schema(*more))
        elif what == "delete_subject":
            registry.delete_subject(subject, permanent=more[0])
        elif what == "delete_version":
            registry.delete_version(subject, more[0], permanent=more[1])
        elif what == "set_mode":
            registry.set_mode(more[0], subject)
        elif what == "set_config":
            registry.set_config(Config(more[0]), subject)
        elif what == "alias":
            registry.set_config(Config(alias=more[0]), subject)
        else:
            registry.delete_config(subject)
    except RegistryError:
        pass


QUESTIONS = [
    ("GET", "/subjects?subjectPrefix=:*:", None),
    ("GET", "/schemas/ids/1", None),
    ("GET", "/schemas/ids/2?subject=:.lab:", None),
    ("GET", "/schemas/ids/1/versions", None),
    ("GET", "/config/a?defaultToGlobal=true", None),
    *(("GET", f"/subjects/{subject}/versions/latest", None) for subject in SUBJECTS),
    *(("POST", f"/subjects/{subject}", {"schema": TEXTS[4]}) for subject in SUBJECTS),
    *(("POST", f"/compatibility/subjects/{s}/versions?verbose=true", {"schema": TEXTS[5]}) for s in SUBJECTS),
]


@settings(max_examples=tries(25), deadline=None)
@given(
    steps=st.lists(changes, min_size=1, max_size=12), own=st.lists(st.booleans(), min_size=12, max_size=12)
)
@pytest.mark.parametrize("kind", ["memory", "file"])
def test_any_answer_is_the_one_that_is_found_anew(kind, steps, own):
    """Whoever changes whatever: a server that keeps its answers gives those of one that has just started."""
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "schemas.db")
        registry = SqliteRegistry(path) if kind == "file" else MemoryRegistry()
        asked = Asked(registry)
        for is_own, step in zip(own, steps, strict=False):
            if kind == "file" and not is_own:
                other = SqliteRegistry(path)
                change(other, *step)
                other.close()
            else:
                change(registry, *step)
            fresh = Asked(SqliteRegistry(path) if kind == "file" else registry)
            for question in QUESTIONS:
                expected, found = fresh(*question), asked(*question)
                assert (found.status, found.data) == (expected.status, expected.data), question
            # Nothing changes: the next time they are kept.
            for question in QUESTIONS:
                assert asked(*question).data == asked(*question).data
            fresh.stop()
        asked.stop()

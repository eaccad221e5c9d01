"""What the server makes of any request: types, bounds, times; faults never show more than they have to."""

import asyncio
import io
import json
import logging
import threading
import time
from typing import ClassVar

import pytest
from asked import TYPE, Asked
from cases import cases
from hypothesis import given, settings
from hypothesis import strategies as st
from tries import tries

from kcodec.errors import RegistryError
from kcodec.registry import Schema
from kcodec.registry.compatibility.levels import Compatibility
from kcodec.registry.memory import MemoryRegistry
from kcodec.registry.sqlite import SqliteRegistry
from kcodec.registry.store.database import Database
from kcodec.server.access.rights import current_user
from kcodec.server.access.roles import User
from kcodec.server.access_log import logger
from kcodec.server.api.apicurio import APICURIO_ROUTES
from kcodec.server.api.calls import ROUTES
from kcodec.server.api.durations import Durations
from kcodec.server.api.keys import KEY_ROUTES


class TestTypes:
    @pytest.mark.parametrize(
        ("accept", "expected"),
        [
            (None, TYPE),
            ("*/*", TYPE),
            ("application/json", "application/json"),
            ("text/plain, application/json;q=0.9, */*;q=0.1", "application/json"),
            (f"{TYPE}, application/vnd.schemaregistry+json, application/json", TYPE),
            ("application/vnd.schemaregistry+json", "application/vnd.schemaregistry+json"),
            ("APPLICATION/JSON", "application/json"),
        ],
    )
    def test_answers(self, ask, accept, expected):
        answer = ask("GET", "/subjects", headers={"accept": accept})
        assert (answer.status, answer.headers["content-type"]) == (200, expected)

    @pytest.mark.parametrize(
        ("path", "allowed"),
        [
            ("/subjects/", "GET, HEAD"),
            ("/subjects/s", "DELETE, POST"),
            ("/contexts/.lab/config/s", "DELETE, GET, HEAD, PUT"),
        ],
    )
    def test_methods_that_a_path_has(self, ask, path, allowed):
        answer = ask("PATCH", path)
        assert (answer.status, answer.headers["allow"]) == (405, allowed)

    def test_answers_that_nobody_takes(self, ask):
        assert ask("GET", "/subjects", headers={"accept": "text/css"}).fault[:2] == (406, 406)

    @pytest.mark.parametrize(
        ("type", "status"),
        [
            ("application/json", 200),
            ("application/json; charset=utf-8", 200),
            ("application/octet-stream", 200),
            ("", 415),
            (None, 415),
            ("application/x-www-form-urlencoded", 415),
            ("text/plain", 415),
        ],
    )
    def test_bodies(self, ask, type, status):
        body = {"schema": '"int"'}
        assert ask("POST", "/subjects/s/versions", body, {"content-type": type}).status == status


def test_other_sites_change_nothing(ask):
    for site, status in (("cross-site", 403), ("same-site", 403), ("same-origin", 200), ("none", 200)):
        headers = {"sec-fetch-site": site}
        assert ask("POST", "/subjects/s/versions", {"schema": '"int"'}, headers).status == status
        assert ask("GET", "/subjects", headers=headers).status == 200


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"origin": "null"}, 403),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "http://registry:8082"}, 403),
        ({"origin": "http://[", "host": "["}, 403),
        ({"origin": "http://registry:8081", "host": None}, 403),
        ({"origin": "http://registry:8081"}, 200),
        ({"origin": "HTTP://Registry:8081"}, 200),
        # A proxy may have changed the name; this header a page cannot.
        ({"origin": "https://schemas.example", "sec-fetch-site": "same-origin"}, 200),
        ({}, 200),
    ],
)
def test_a_change_comes_from_here_or_from_no_browser(ask, headers, status):
    headers = {"host": "registry:8081", **headers}
    for method, path, body in (
        ("PUT", "/config", {"compatibility": "NONE"}),
        ("POST", "/subjects/s/versions", {"schema": '"int"'}),
        ("DELETE", "/subjects/s", None),
    ):
        assert ask(method, path, body, headers).status == status


@cases(
    ("host", "status"),
    [
        *(("localhost", 200), ("LOCALHOST:8081", 200), ("127.0.0.1:8081", 200), ("[::1]:8081", 200)),
        *(("[::1]", 200), (None, 200)),
        *(("evil.example", 421), ("localhost.evil.example:8081", 421), ("localhost:8081:1", 421)),
    ],
)
def test_names_of_the_server(host, status):
    ask = Asked(allowed_hosts=["localhost", "127.0.0.1", "[::1]"])
    for path in ("/subjects", "/ui/"):
        assert ask("GET", path, headers={"host": host}).status == status
    assert ask("GET", "/health/live", headers={"host": host}).status == 200
    ask.stop()


def test_the_user_of_a_request_is_not_that_of_the_one_before(tmp_path, monkeypatch):
    """A request that waits behind another one on its connection begins in the context of that."""
    ask, lines = Asked(access_log=True), []
    monkeypatch.setattr(logger, "handle", lambda record: lines.append(json.loads(record.msg)))
    monkeypatch.setattr(logger, "isEnabledFor", lambda level: True)

    async def second():
        current_user.set(User("anna"))
        await asyncio.create_task(ask.sent("GET", "/health/live"))

    ask.loop.run_until_complete(second())
    assert [each.get("user") for each in lines] == [None]


class TestBodies:
    def test_all_under_way_have_one_budget(self):
        ask = Asked(max_body=200_000, max_bodies=200_000)

        async def meanwhile():
            first, second = asyncio.Event(), asyncio.Event()
            filler = b" " * 150_000

            async def sent(begun, ended):
                """A request that waits in the middle of its body."""
                scope = self.scope(len(filler) * 2)
                parts, answer = [filler, b"x"], []

                async def receive():
                    if len(parts) == 1:
                        begun.set()
                        await ended.wait()
                    part = parts.pop(0)
                    return {"type": "http.request", "body": part, "more_body": bool(parts)}

                async def send(message):
                    answer.append(message)

                await ask.application(scope, receive, send)
                return answer[0]

            ended = asyncio.Event()
            waiting = [asyncio.create_task(sent(each, ended)) for each in (first, second)]
            await asyncio.gather(first.wait(), second.wait())
            third = await sent(asyncio.Event(), ended)
            # Small ones are taken meanwhile.
            small = await ask.sent("POST", "/subjects/s/versions", {"schema": '"int"'})
            ended.set()
            first_answers = await asyncio.gather(*waiting)
            fourth = await sent(asyncio.Event(), ended)
            return third, small, first_answers, fourth

        third, small, others, fourth = ask.loop.run_until_complete(meanwhile())
        assert third["status"] == 503
        assert (b"retry-after", b"1") in third["headers"]
        assert small.status == 200
        assert [each["status"] for each in (*others, fourth)] == [400, 400, 400]
        ask.stop()

    def scope(self, length):
        return {
            "type": "http",
            "method": "POST",
            "path": "/subjects/s/versions",
            "raw_path": b"/subjects/s/versions",
            "query_string": b"",
            "headers": [(b"content-type", TYPE.encode()), (b"host", b"x")],
            "client": None,
        }

    @cases(
        "text",
        [
            "[" + "[]," * 600_000 + "[]]",
            '{"a":[' + '"",' * 600_000 + '""]}',
            '{"a":"' + '\\"' * 600_000 + '","b":[' + "1," * 600_000 + "1]}",
            '"' * 1_500_001,
        ],
        ids=["lists", "texts", "escapes", "quotes"],
    )
    @cases("encoding", ["utf-8", "utf-16-le"])
    def test_many_values_are_refused_before_they_are_made(self, ask, text, encoding):
        answer = ask("POST", "/subjects/s/versions", text.encode(encoding))
        assert answer.fault[:2] == (413, 413)

    def test_a_large_text_is_one_value(self, ask):
        doc = '\\"[],' * 300_000
        text = json.dumps({"type": "int", "doc": doc})
        assert ask("POST", "/subjects/s/versions", {"schema": text}).status == 200


class TestBounds:
    def test_bodies(self):
        ask = Asked(max_body=100)
        body = {"schema": '"int"' + " " * 100}
        answer = ask("POST", "/subjects/s/versions", body)
        assert answer.fault == (413, 413, "HTTP 413 Request Entity Too Large")
        for length in ("101", "9" * 5000):
            answer = ask("POST", "/subjects/s/versions", {}, {"content-length": length})
            assert (answer.status, answer.headers["connection"]) == (413, "close")

    def test_schemas(self):
        ask = Asked(max_schema=100, max_references=2)
        assert ask.register("s", '"int"' + " " * 95).status == 200
        assert ask.register("s", '"int"' + " " * 96).fault == (
            422,
            42209,
            "Register operation failed because schema is too large",
        )
        reference = {"name": "a", "subject": "s", "version": 1}
        assert ask.register("t", references=[reference] * 3).fault[:2] == (422, 42201)

    def test_queries(self, ask):
        assert ask("GET", "/subjects?" + "a=1&" * 200).fault[:2] == (400, 400)
        assert ask("GET", "/subjects?subjectPrefix=%ff").fault[:2] == (400, 400)

    def test_a_body_that_does_not_come(self):
        ask = Asked(timeout=0.05)
        ask.loop.run_until_complete(self.stalled(ask))

    async def stalled(self, ask):
        sent = []
        scope = {"type": "http", "method": "POST", "raw_path": b"/subjects/s", "path": "/subjects/s"}
        scope |= {"query_string": b"", "headers": [(b"content-length", b"9")]}

        async def receive():
            await asyncio.sleep(60)

        async def send(message):
            sent.append(message)

        await ask.application(scope, receive, send)
        assert (sent[0]["status"], dict(sent[0]["headers"])[b"connection"]) == (408, b"close")

    def test_an_answer_that_takes_too_long(self):
        class Slow(MemoryRegistry):
            def lookup(self, *given, **options):
                time.sleep(0.3)

        answer = Asked(Slow(), timeout=0.05)("POST", "/subjects/s", {"schema": '"int"'})
        assert answer.fault == (500, 50002, "The operation timed out")

    @cases(
        "body",
        [
            b"{",
            b"",
            b"\xff",
            b"null",
            b"7",
            b'"x"',
            b"[" * 100_000,
            b'{"a":' * 100_000,
            b'{"schema": NaN}',
            b'{"schema": 1' + b"0" * 10_000 + b"}",
        ],
    )
    def test_what_is_no_json(self, ask, body):
        assert ask("POST", "/subjects/s/versions", body).fault[:2] == (400, 400)


class TestFaults:
    def test_nothing_of_a_fault_is_told(self, caplog):
        class Faulty(MemoryRegistry):
            def subjects(self, *given, **options):
                raise RuntimeError("a secret")

        answer = Asked(Faulty())("GET", "/subjects")
        assert answer.fault == (500, 50001, "Internal Server Error")
        assert "a secret" in caplog.text

    def test_what_the_registry_cannot_do_is_logged(self, caplog):
        """Who runs the server learns of a full disk, not only who is refused."""

        class Full(MemoryRegistry):
            def subjects(self, *given, **options):
                raise RegistryError("sqlite:///s.db: database or disk is full", 500, 50001)

        ask = Asked(Full())
        assert ask("GET", "/subjects?%0A").fault == (500, 50001, "sqlite:///s.db: database or disk is full")
        assert ask("GET", "/schemas/ids/9").status == 404
        (logged,) = caplog.messages
        assert logged == "GET /subjects: sqlite:///s.db: database or disk is full"

    def test_text_that_is_no_unicode(self, ask):
        assert ask.register("s", '"\\ud800"').fault[:2] == (422, 42201)
        assert ask("POST", "/subjects/s/versions", b'{"schema": "\\ud800"}').fault[:2] == (422, 42201)
        assert ask("GET", "/subjects/%ed%a0%80/versions").fault[:2] == (400, 400)

    paths = st.sampled_from([route.template for route in (*ROUTES, *KEY_ROUTES, *APICURIO_ROUTES)]).flatmap(
        lambda template: st.lists(
            st.sampled_from(
                [template, "", "..", "%2e%2e", "%2F", "a%2Fb", "%00", "%", "%ff", ":.lab:", "-1"]
            ),
            min_size=1,
            max_size=3,
        ).map("/".join)
    )
    bodies = st.recursive(
        st.none() | st.booleans() | st.integers() | st.text() | st.sampled_from(['"int"', "AVRO"]),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    [
                        *(
                            "schema",
                            "schemaType",
                            "references",
                            "metadata",
                            "ruleSet",
                            "id",
                            "version",
                            "mode",
                        ),
                        *(
                            "compatibility",
                            "name",
                            "subject",
                            "properties",
                            "tags",
                            "defaultMetadata",
                            "alias",
                        ),
                        *("domainRules", "overrideRuleSet", "params", "normalize"),
                        *("firstVersion", "content", "artifactId", "artifactType", "groupId"),
                    ]
                ),
                inner,
                max_size=4,
            )
        ),
        max_leaves=8,
    )

    @settings(max_examples=tries(300), deadline=None)
    @given(
        method=st.sampled_from(["GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS"]),
        path=paths,
        names=st.lists(st.sampled_from(["s", "1", "latest", "a/b"]), min_size=2, max_size=2),
        query=st.text("abc=&%+0deltrusponm", max_size=20) | st.just("ifExists=CREATE_VERSION"),
        body=bodies,
    )
    def test_any_request_has_a_proper_answer(self, method, path, names, query, body):
        path = "/" + path.lstrip("/").replace("{subject}", names[0].replace("/", "%2F"))
        for name in ("version", "id", "guid", "context", "cluster", "topic", "group", "artifact"):
            path = path.replace(f"{{{name}}}", names[1].replace("/", "%2F"))
        answer = _fuzzed(method, f"{path}?{query}", body)
        assert answer.status < 500, answer.data
        if answer.status not in (200, 204):
            assert answer.fault[1] in (answer.status, *range(answer.status * 100, answer.status * 100 + 99))


_fuzzed = Asked()


class TestService:
    def test_health(self, ask):
        for path in ("/health", "/health/live", "/health/ready"):
            answer = ask("GET", path)
            assert (answer.status, answer.json) == (200, {"status": "UP"})

    def test_a_registry_that_does_not_answer(self, tmp_path, caplog):
        ask = Asked(SqliteRegistry(str(tmp_path / "schemas.db")))
        assert ask("GET", "/health").status == 200
        ask.registry.close()
        (tmp_path / "schemas.db").write_bytes(b"damaged" * 1000)
        answer = ask("GET", "/health")
        assert (answer.status, answer.json) == (503, {"status": "DOWN"})
        assert ask("GET", "/subjects").fault[:2] == (500, 50001)
        assert ask("GET", "/health/live").status == 200

    def test_metrics(self, ask):
        ask.register("s")
        ask("GET", "/schemas/ids/7")
        answer = ask("GET", "/metrics")
        assert answer.headers["content-type"].startswith("text/plain")
        lines = answer.data.decode().splitlines()
        labels = 'method="GET",route="/schemas/ids/{id}"'
        assert f'kcodec_registry_requests_total{{{labels},status="404"}} 1.0' in lines
        assert f"kcodec_registry_request_seconds_count{{{labels}}} 1.0" in lines
        assert "kcodec_registry_versions 1.0" in lines
        assert 'kcodec_registry_schemas{type="AVRO"} 1.0' in lines
        ask("DELETE", "/subjects/s")
        lines = ask("GET", "/metrics").data.decode().splitlines()
        assert "kcodec_registry_versions 0.0" in lines
        assert 'kcodec_registry_schemas{type="AVRO"} 0.0' in lines

    def test_counts_that_a_worker_has_only_begun(self, ask, tmp_path, monkeypatch):
        (tmp_path / "counter_1.db").touch()
        monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", str(tmp_path))
        assert ask("GET", "/metrics").status == 200

    def test_a_line_for_each_request(self):
        stream = io.StringIO()
        handler = logging.StreamHandler(stream)
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
        logger.propagate = False
        try:
            ask = Asked(access_log=True)
            ask("GET", "/subjects/a%0Ab/versions?x=\n", headers={"user-agent": "me\n"})
        finally:
            logger.removeHandler(handler)
            logger.propagate = True
            logger.setLevel(logging.NOTSET)
        (line,) = stream.getvalue().splitlines()
        found = json.loads(line)
        assert found.pop("ms") >= 0
        assert found.pop("bytes") > 50
        assert found.pop("time").endswith("+00:00")
        assert found == {
            "client": "192.0.2.1",
            "method": "GET",
            "path": "/subjects/a%0Ab/versions",
            "query": "x=\n",
            "route": "/subjects/{subject}/versions",
            "status": 422,
            "agent": "me\n",
        }

    def test_head_is_answered_as_get(self, ask):
        assert ask("HEAD", "/subjects").status == 200


def test_a_memory_registry_is_the_one_of_this_process():
    registry = MemoryRegistry("served")
    ask = Asked(registry)
    registry.register("here", Schema('"int"'))
    assert ask("GET", "/subjects").json == ["here"]


class Slow(SqliteRegistry):
    """A registry whose checks wait, as those of large schemas take their time."""

    asked, going = threading.Event(), threading.Event()

    def check_compatibility(self, *given, **options):
        with self.database.transaction():
            self.asked.set()
            assert self.going.wait(20)
        return super().check_compatibility(*given, **options)


def test_a_slow_check_keeps_no_other_waiting(tmp_path):
    ask = Asked(Slow(str(tmp_path / "schemas.db")))
    ask.register("s")

    async def both():
        body = {"schema": '"long"'}
        slow = asyncio.ensure_future(ask.sent("POST", "/compatibility/subjects/s/versions/latest", body))
        await asyncio.get_running_loop().run_in_executor(None, Slow.asked.wait, 20)
        quick = [await ask.sent("GET", "/schemas/ids/1") for _ in range(8)]
        quick.append(await ask.sent("POST", "/subjects/t/versions", body))
        Slow.going.set()
        return [*(each.status for each in quick), (await slow).json]

    assert ask.loop.run_until_complete(both()) == [200] * 9 + [{"is_compatible": True}]


class Placed(SqliteRegistry):
    """A registry that notes where its checks run, each of which takes a while longer if that is asked for."""

    at_once: ClassVar[list[bool]] = []
    longer = 0.0

    def check_compatibility(self, *given, **options):
        self.at_once.append(threading.current_thread() is threading.main_thread())
        time.sleep(self.longer)
        return super().check_compatibility(*given, **options)


def test_a_thread_is_for_what_may_take_long(tmp_path, monkeypatch):
    ask = Asked(Placed(str(tmp_path / "schemas.db")))
    # However slow the machine is.
    monkeypatch.setattr(ask.application._dispatcher, "_durations_of_bodies", Durations(1.0))
    ask.register("s")
    texts = [json.dumps({"type": "int", "doc": "x" * size}) for size in (10, 20, 1000, 1010, 1020, 1030)]
    for text in texts:
        monkeypatch.setattr(Placed, "longer", 1.1 * (text is texts[4]))
        answer = ask("POST", "/compatibility/subjects/s/versions/latest", {"schema": text})
        assert answer.json == {"is_compatible": True}
    # Not known; quick; much more than before; quick; quick until it was slow; slow.
    assert Placed.at_once == [False, True, False, True, True, False]


def test_a_body_that_costs_more_than_its_size_tells_is_for_a_thread(tmp_path, monkeypatch):
    monkeypatch.setattr(Placed, "at_once", [])
    ask = Asked(Placed(str(tmp_path / "schemas.db")))
    monkeypatch.setattr(ask.application._dispatcher, "_durations_of_bodies", Durations(60.0))
    ask.register("s")
    path = "/subjects/s/versions/latest"

    def check(number, **more):
        body = {"schema": '"int"', "number": number, "pad": " " * 1000, **more}
        assert ask("POST", f"/compatibility{path}", body).status in (200, 422)

    for number in range(2):
        check(number)
    assert Placed.at_once == [False, True]
    # Other languages, references, much text, a key that is written with escapes.
    check(2, schemaType="JSON", schema="{}")
    check(3, references=[])
    check(4, pad=" " * 5000)
    check(5, schema='"int"\u00e9')
    assert Placed.at_once[2:] == [False] * 4
    # What is compared with may be another schema now.
    ask.register("t")
    for number in range(6, 8):
        check(number)
    assert Placed.at_once[6:] == [False, True]
    ask.stop()


def test_memory_that_a_thread_uses_is_not_waited_for(monkeypatch):
    registry, at_once = MemoryRegistry(), []
    ask = Asked(registry)
    monkeypatch.setattr(ask.application._dispatcher, "_durations_of_bodies", Durations(20.0))
    ask.register("s")

    def noted(*given, **options):
        at_once.append(threading.current_thread() is threading.main_thread())
        return Compatibility(True)

    monkeypatch.setattr(registry, "check_compatibility", noted)
    using, used = threading.Event(), threading.Event()

    def use():
        with registry.database.lock:
            using.set()
            assert used.wait(20)

    async def meanwhile():
        busy = asyncio.get_running_loop().run_in_executor(None, use)
        await asyncio.to_thread(using.wait, 20)
        checked = await ask.sent("POST", "/compatibility/subjects/s/versions/latest", body)
        used.set()
        await busy
        return checked

    for text in ('"int"', '"long"', '"float"'):
        body = {"schema": text}
        if text == '"float"':
            answer = ask.loop.run_until_complete(meanwhile())
        else:
            answer = ask("POST", "/compatibility/subjects/s/versions/latest", body)
        assert answer.json == {"is_compatible": True}
    # Not known; quick; quick, but the registry is in use.
    assert at_once == [False, True, False]


def test_no_file_that_others_wait_for_is_read_at_once(tmp_path, monkeypatch):
    """As on file systems without shared memory."""
    monkeypatch.setattr(Database, "write_ahead", lambda self: False)
    monkeypatch.setattr(Placed, "at_once", [])
    ask = Asked(Placed(str(tmp_path / "schemas.db")))
    monkeypatch.setattr(ask.application._dispatcher, "_durations_of_bodies", Durations(1.0))
    ask.register("s")
    for size in (10, 11):
        body = {"schema": json.dumps({"type": "int", "doc": "x" * size})}
        assert ask("POST", "/compatibility/subjects/s/versions/latest", body).status == 200
    assert Placed.at_once == [False, False]

"""Who asks, and who may do what: users and their roles."""

import base64
import re
from urllib.parse import quote

import pytest
from asked import Asked
from cases import cases
from shop_users import KEPT, basic

from kcodec.errors import ConfigError
from kcodec.registry import Config, Reference, Schema
from kcodec.server.access import users
from kcodec.server.access.passwords import hashed
from kcodec.server.api.calls import ROUTES
from kcodec.server.api.keys import KEY_ROUTES

INT = Schema('"int"')


class TestUsers:
    def test_names_and_passwords(self, ask):
        assert ask("GET", "/subjects", headers=basic("reader")).status == 200
        for given in (
            {},
            basic("reader", "Secret"),
            basic("reader", ""),
            basic("who"),
            basic("", ""),
            {"authorization": "Basic ???"},
            {"authorization": "Basic " + base64.b64encode(b"reader").decode()},
            {"authorization": "Basic " + base64.b64encode(b"\xff:\xff").decode()},
            {"authorization": "Basic réader"},
            {"authorization": "Bearer secret"},
            {"authorization": "secret"},
        ):
            answer = ask("GET", "/subjects", headers=given)
            assert answer.fault == (401, 40101, "Unauthorized")
            assert answer.headers["www-authenticate"] == 'Basic realm="kcodec"'

    def test_a_right_password_is_remembered_for_its_user_alone(self, ask, monkeypatch):
        assert ask("GET", "/subjects", headers=basic("reader")).status == 200
        monkeypatch.setattr(users, "is_password", lambda *given: False)
        assert ask("GET", "/subjects", headers=basic("reader")).status == 200
        assert ask("GET", "/subjects", headers=basic("root")).status == 401
        assert ask("GET", "/subjects", headers=basic("reader", "other")).status == 401

    def test_the_file_is_read_again(self, ask, file, monkeypatch, caplog):
        monkeypatch.setattr(users, "_PAUSE", 0.0)
        assert ask("GET", "/subjects", headers=basic("reader")).status == 200
        file(users={"reader": hashed("new one")})
        assert ask("GET", "/subjects", headers=basic("reader")).status == 401
        assert ask("GET", "/subjects", headers=basic("reader", "new one")).status == 200
        path = file(users={"reader": "plain text"})
        assert ask("GET", "/subjects", headers=basic("reader", "new one")).status == 200
        assert "stay as they were" in caplog.text
        assert "plain text" not in caplog.text
        (open(path, "w")).close()
        assert ask("GET", "/subjects", headers=basic("reader", "new one")).status == 200

    @pytest.mark.parametrize(
        "body",
        [
            {"people": {}},
            {"users": []},
            {"users": {"a:b": KEPT}},
            {"users": {"a": "secret"}},
            {"users": {"a": KEPT.replace("scrypt:1", "scrypt:40")}},
            {"grants": [{"role": "king"}]},
            {"grants": [{"role": "read", "user": "a"}]},
            {"grants": [{"role": "read", "users": "a"}]},
            {"grants": [{"role": "read", "anonymous": "yes"}]},
            {"grants": ["read"]},
            {"tokens": {"jwks": "x"}},
            {"tokens": {"jwks": "/no/file", "issuer": "i", "audience": "a"}},
            {"tokens": {"jwks": "https://x", "issuer": "i", "audience": "a", "algorithms": ["HS256"]}},
            {"tokens": {"jwks": "https://x", "issuer": "i", "audience": "a", "secret": "s"}},
            {"tokens": {"jwks": "http://x", "issuer": "i", "audience": "a"}},
            {"tokens": {"jwks": "http://[", "issuer": "i", "audience": "a"}},
            {"tokens": {"jwks": "ftp://x", "issuer": "i", "audience": "a"}},
            {"tokens": {"jwks": "https://x", "issuer": "i", "audience": "a", "algorithms": 5}},
            {"tokens": {"jwks": "https://x", "issuer": "i", "audience": "a", "algorithms": [["RS256"]]}},
            {"tokens": {"jwks": "https://x", "issuer": "i", "audience": "a", "algorithms": []}},
            {"tokens": {"jwks": "https://x", "issuer": "i", "audience": "a", "user": ["sub"]}},
            {"tokens": {"jwks": "https://x", "issuer": "i", "audience": "a", "groups": 5}},
            {"grants": [{"role": ["read"]}]},
        ],
    )
    def test_files_that_say_something_else(self, file, body):
        with pytest.raises(ConfigError, match=r"access\.json: "):
            users.Access(file(**body))

    def test_no_file(self, tmp_path):
        with pytest.raises(ConfigError, match=r"none\.json"):
            users.Access(str(tmp_path / "none.json"))


class TestOfWhomNothingIsRead:
    @cases("user", [None, "nobody"])
    @cases(
        ("method", "path"),
        [
            ("POST", "/subjects/orders-value/versions"),
            ("POST", "/compatibility/subjects/orders-value/versions"),
            ("PUT", "/config"),
            ("GET", "/"),
            ("POST", "/ui/check"),
        ],
    )
    def test_who_has_no_role(self, ask, user, method, path):
        read = []

        async def receive():
            read.append(1)
            return {"type": "http.request", "body": b"{}"}

        status = []

        async def send(message):
            status.append(message.get("status"))

        headers = {"content-length": "2", "content-type": "application/json", **(basic(user) if user else {})}
        scope = {
            "type": "http",
            "method": method,
            "path": path,
            "raw_path": path.encode(),
            "query_string": b"",
            "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
            "client": None,
        }
        ask.loop.run_until_complete(ask.application(scope, receive, send))
        assert status[0] == (401 if user is None else 403)
        assert not read


def test_who_has_no_role_is_shown_no_page_and_can_leave(ask):
    nobody = basic("nobody")
    for path in ("", "subjects", "settings", "check", "decode", "find?q=1", "schema?id=1"):
        answer = ask("GET", f"/ui/{path}", headers=nobody)
        assert (answer.status, b"You have no role here" in answer.data) == (403, True), path
        assert b'nobody <a href="logout?user=nobody">' in answer.data
    assert ask("GET", "/ui/static/page.css", headers=nobody).status == 200
    assert ask("GET", "/ui/logout?user=nobody", headers=nobody).status == 401
    assert ask("GET", "/ui/settings", headers=basic("reader")).status == 200


class TestPagesOfAnonymousReaders:
    @pytest.fixture
    def asked(self, ask, file):
        grants = [{"role": "read", "anonymous": True}, {"role": "admin", "users": ["root"]}]
        asked = Asked(ask.registry, access=file(grants=grants))
        yield asked
        asked.stop()

    def test_they_can_sign_in(self, asked):
        page = asked("GET", "/ui/")
        assert (page.status, b'href="login"' in page.data) == (200, True)
        answer = asked("GET", "/ui/login")
        assert answer.status == 401
        assert answer.headers["www-authenticate"] == 'Basic realm="kcodec"'
        assert asked("GET", "/ui/login", headers=basic("root", "wrong")).status == 401
        answer = asked("GET", "/ui/login", headers=basic("root"))
        assert (answer.status, answer.headers["location"]) == (303, "./")

    def test_they_see_who_they_are_and_can_leave(self, asked):
        page = asked("GET", "/ui/", headers=basic("root"))
        assert b'root <a href="logout?user=root">' in page.data
        assert b'href="login"' not in page.data
        answer = asked("GET", "/ui/logout?user=root", headers=basic("root"))
        assert answer.status == 401
        assert answer.headers["www-authenticate"] == 'Basic realm="kcodec"'
        # With another name, or none, one goes on.
        for headers in ({}, basic("reader")):
            assert asked("GET", "/ui/logout?user=root", headers=headers).status == 303


class TestWhatIsResolved:
    """What a role may not read is not read by way of an alias, a reference or a form either."""

    RECORD = '{{"type":"record","name":"{}","fields":[{{"name":"{}","type":"{}"}}]}}'

    @pytest.fixture
    def asked(self, ask, file):
        registry = ask.registry
        registry.register(":.sec:bob-pay", Schema(self.RECORD.format("Pay", "iban", "string")))
        registry.register(":.sec:open", INT)
        registry.set_config(Config("NONE"), ":.sec:open")
        registry.register("bob-pay", Schema(self.RECORD.format("Pay", "mine", "int")))
        registry.set_config(Config(alias=":.sec:open"), "bob-al")
        registry.register("hidden-pay", Schema(self.RECORD.format("Hidden", "iban", "string")))
        reference = Reference("Hidden", "hidden-pay", 1)
        registry.register("bob-t", Schema(self.RECORD.format("T", "h", "Hidden"), references=(reference,)))
        asked = Asked(
            registry, access=file(grants=[{"role": "write", "users": ["shop"], "subjects": ["bob-*"]}])
        )
        yield asked
        asked.stop()

    @pytest.mark.parametrize(
        "path",
        [
            "/subjects/{}/versions",
            "/subjects/{}",
            "/compatibility/subjects/{}/versions/latest?verbose=true",
        ],
    )
    def test_references_are_those_of_the_context_that_is_meant(self, asked, path):
        reference = {"name": "Pay", "subject": "bob-pay", "version": 1}
        body = {"schema": self.RECORD.format("W", "p", "Pay"), "references": [reference]}
        answer = asked("POST", path.format("bob-al"), body, basic("shop"))
        assert answer.fault == (403, 40301, "User shop is denied operation read on Subject: :.sec:bob-pay")
        assert asked("POST", path.format("bob-x"), body, basic("shop")).status in (200, 404)

    def test_references_of_references(self, asked):
        shop, found = basic("shop"), asked.registry.get_version("bob-t")
        assert asked("GET", "/subjects/bob-t/versions/1", headers=shop).status == 200
        assert asked("GET", f"/schemas/ids/{found.id}", headers=shop).status == 200
        for path in (
            "/subjects/bob-t/versions/1?format=resolved",
            "/subjects/bob-t/versions/1/schema?format=resolved",
            f"/schemas/ids/{found.id}?format=resolved",
            f"/schemas/ids/{found.id}/schema?format=resolved",
            f"/schemas/ids/{found.id}?format=resolved&subject=bob-t",
            f"/schemas/guids/{found.guid}?format=resolved",
            f"/apis/registry/v3/ids/contentIds/{found.id}?references=DEREFERENCE",
            "/ui/version?subject=bob-t&version=1&form=resolved",
            "/ui/text?subject=bob-t&version=1&form=resolved",
            "/ui/compare?subject=bob-t&from=1&to=1",
        ):
            answer = asked("GET", path, headers=shop)
            assert (answer.status, b"iban" in answer.data) == (403, False), path
        page = asked("GET", "/ui/version?subject=bob-t&version=1", headers=shop)
        assert page.status == 200
        assert b"form=resolved" not in page.data
        reference = {"name": "T", "subject": "bob-t", "version": 1}
        body = {"schema": '["null","T"]', "references": [reference]}
        assert asked("POST", "/subjects/bob-u/versions", body, shop).status == 403

    def test_pages_say_the_same_of_what_is_hidden_and_of_nothing(self, asked):
        shop, found = basic("shop"), asked.registry.get_version("hidden-pay")

        def got(path):
            answer = asked("GET", path, headers=shop)
            return answer.status, answer.data, answer.headers.get("location")

        missing = "00000000-0000-0000-0000-000000000000"
        known = asked.registry.get_version("bob-pay").id
        assert got(f"/ui/find?q={known}")[2] == f"schema?id={known}"
        assert got(f"/ui/find?q={found.id}")[2] == f"subjects?q={found.id}"
        for template in ("/ui/schema?guid={}", "/ui/schema?id={}"):
            hidden, none = (found.guid, missing) if "guid" in template else (found.id, 999)
            told = [got(template.format(each))[:2] for each in (hidden, none)]
            assert told[0][0] == 403
            assert re.sub(rb'name="token" value="[^"]*"', b"", told[0][1]) == re.sub(
                rb'name="token" value="[^"]*"', b"", told[1][1]
            )


class TestRoles:
    @cases("route", [*ROUTES, *KEY_ROUTES], ids=lambda route: f"{route.method} {route.template}")
    def test_nothing_is_open(self, ask, route):
        """Who has no role, or has shown no name, is answered by nothing that the registry holds."""
        path = route.template
        for name, value in {
            "subject": "orders-value",
            "version": "1",
            "id": "1",
            "guid": "x",
            "kek": "pii",
        }.items():
            path = path.replace(f"{{{name}}}", value)
        for name in ("context", "cluster", "topic"):
            path = path.replace(f"{{{name}}}", ".lab")
        body = {"schema": '"int"', "mode": "READONLY", "compatibility": "NONE"}
        if "/deks" not in path:
            body |= {"name": "pii", "kmsType": "local-kms", "kmsKeyId": "mykey"}
        about_the_server = tuple(f"/v1/metadata/{part}" for part in ("id", "version", "deployment"))
        open_to_all = ("/", "/schemas/types", *about_the_server)
        for headers, refusal in ((basic("nobody"), (403, 40301)), ({}, (401, 40101))):
            answer = ask(route.method, path, body, headers)
            if path in open_to_all:
                assert answer.status == 200
            elif path.startswith("/associations"):
                assert answer.json == []
            else:
                assert answer.fault[:2] == refusal, path
        assert ask.registry.subjects() == [":.lab:x", "common", "hidden", "orders-value"]

    def test_lists_leave_out_what_may_not_be_read(self, ask):
        shop = basic("shop")
        assert ask("GET", "/subjects", headers=shop).json == [":.lab:x", "common", "orders-value"]
        assert ask("GET", "/subjects?limit=1&offset=1", headers=shop).json == ["common"]
        assert ask("GET", "/contexts", headers=shop).json == [".", ".lab"]
        assert ask("GET", "/contexts", headers=basic("owner")).json == ["."]
        listed = ask("GET", "/schemas?subjectPrefix=:*:", headers=shop).json
        assert {each["subject"] for each in listed} == {":.lab:x", "common", "orders-value"}

    def test_a_grant_on_other_contexts_is_none_on_what_holds_for_all(self, ask, file):
        grants = [{"role": "admin", "users": ["owner"], "subjects": [":.*"]}]
        asked = Asked(ask.registry, access=file(grants=grants))
        owner = basic("owner")
        for subject in ("hidden", ":.::.:hidden", ":.:hidden", ":.__GLOBAL:", ":.__GLOBAL", ":.", ":.:"):
            place = quote(subject, safe="")
            for method, path, body in (
                ("POST", f"/subjects/{place}/versions", {"schema": '"int"'}),
                ("PUT", f"/config/{place}", {"compatibility": "NONE"}),
                ("PUT", f"/mode/{place}", {"mode": "READONLY"}),
                ("DELETE", f"/subjects/{place}", None),
            ):
                assert asked(method, path, body, owner).status in (403, 422), (method, path)
        assert asked("PUT", "/config/:.lab:", {"compatibility": "NONE"}, owner).status == 200
        assert asked("GET", "/config/:.__GLOBAL:", headers=owner).status == 200
        assert ask.registry.subjects() == [":.lab:x", "common", "hidden", "orders-value"]
        assert ask.registry.config().compatibility == "BACKWARD"
        asked.close()

    def test_reading(self, ask):
        shop = basic("shop")
        assert ask("GET", "/subjects/common/versions/1", headers=shop).status == 200
        assert ask("GET", "/subjects/:.:common/versions/1", headers=shop).status == 200
        answer = ask("GET", "/subjects/hidden/versions/1", headers=shop)
        assert answer.fault == (403, 40301, "User shop is denied operation read on Subject: hidden")
        # Whether there is one is not told either.
        assert ask("GET", "/subjects/none/versions/1", headers=shop).fault[:2] == (403, 40301)
        assert ask("GET", "/subjects/hidden/versions/1", headers=basic("reader")).status == 200

    def test_schemas_by_id_belong_to_subjects(self, ask):
        shop = basic("shop")
        assert ask("GET", "/schemas/ids/1", headers=shop).status == 200
        for path in (
            "/schemas/ids/3",
            "/schemas/ids/3/schema",
            "/schemas/ids/3/versions",
            "/schemas/ids/3/subjects",
        ):
            assert ask("GET", path, headers=shop).fault[:2] == (403, 40301)
        guid = ask.registry.get(3).guid
        assert ask("GET", f"/schemas/guids/{guid}", headers=shop).fault[:2] == (403, 40301)
        assert ask("GET", f"/schemas/guids/{guid}/ids", headers=shop).json == []
        shared = ask.registry.get(1).guid
        ids = [{"context": ".", "id": 1}, {"context": ".lab", "id": 1}]
        assert ask("GET", f"/schemas/guids/{shared}/ids", headers=shop).json == ids
        assert ask("GET", f"/schemas/guids/{shared}/ids", headers=basic("owner")).json == ids[:1]
        assert ask("GET", "/schemas/ids/1?subject=x", headers=basic("owner")).fault[:2] == (403, 40301)
        # A schema that a readable subject once had may still be read, as its messages are.
        ask.registry.delete_subject("orders-value")
        assert ask("GET", "/schemas/ids/1", headers=shop).status == 200
        assert ask("GET", "/schemas/ids/99", headers=shop).fault[:2] == (404, 40403)

    def test_writing(self, ask):
        shop, body = basic("shop"), {"schema": '"long"'}
        assert ask("POST", "/subjects/orders-value/versions", body, shop).status == 200
        assert ask("POST", "/contexts/.lab/subjects/y/versions", body, shop).status == 200
        assert ask("POST", "/subjects/common/versions", body, shop).fault[:2] == (403, 40301)
        assert ask("POST", "/subjects/orders-value/versions?force=true", body, shop).fault[:2] == (403, 40301)
        assert ask("DELETE", "/subjects/orders-value", headers=shop).json == [1, 2]
        gone = ask("DELETE", "/subjects/orders-value?permanent=true", headers=shop)
        assert gone.fault == (403, 40301, "User shop is denied operation admin on Subject: orders-value")
        assert ask("DELETE", "/subjects/orders-value?permanent=true", headers=basic("owner")).json == [1, 2]

    def test_references_are_read(self, ask):
        text = '{"type":"record","name":"R","fields":[{"name":"a","type":"n.H"}]}'
        ask.registry.register("h", Schema('{"type":"fixed","name":"H","namespace":"n","size":1}'))
        body = {"schema": text, "references": [{"name": "n.H", "subject": "h", "version": 1}]}
        for path in (
            "/subjects/orders-new/versions",
            "/subjects/orders-new",
            "/compatibility/subjects/orders-new/versions",
        ):
            answer = ask("POST", path, body, basic("shop"))
            assert answer.fault == (403, 40301, "User shop is denied operation read on Subject: h")
        ask.registry.register("orders-new", Schema(text, references=(Reference("n.H", "h", 1),)))
        assert ask("POST", "/subjects/orders-new", body, basic("reader")).status == 200

    def test_settings(self, ask):
        owner, body = basic("owner"), {"compatibility": "NONE"}
        assert ask("PUT", "/config/orders-value", body, owner).status == 200
        assert ask("PUT", "/config/orders-value", body, basic("shop")).fault[:2] == (403, 40301)
        assert ask("PUT", "/config", body, owner).fault == (
            403,
            40301,
            "User owner is denied operation admin on all subjects",
        )
        assert ask("PUT", "/config", body, basic("root")).status == 200
        assert ask("GET", "/config", headers=owner).status == 200
        assert ask("GET", "/config/hidden?defaultToGlobal=true", headers=owner).fault[:2] == (403, 40301)
        assert ask("PUT", "/mode/:.:", {"mode": "READONLY"}, owner).fault[:2] == (403, 40301)

    def test_an_alias_opens_nothing(self, ask):
        body = {"alias": "hidden"}
        assert ask("PUT", "/config/orders-x", body, basic("owner")).fault[:2] == (403, 40301)
        assert ask("PUT", "/config/orders-x", {"alias": "orders-value"}, basic("owner")).status == 200

    def test_who_has_shown_no_name(self, ask, file):
        asked = Asked(
            ask.registry, access=file(grants=[{"role": "read", "anonymous": True, "subjects": ["common"]}])
        )
        assert asked("GET", "/subjects").json == ["common"]
        assert asked("GET", "/subjects/hidden/versions").status == 401
        # Whoever shows a wrong one is not taken for nobody.
        assert asked("GET", "/subjects", headers=basic("root", "wrong")).status == 401
        assert asked("GET", "/subjects", headers=basic("root")).status == 403

    def test_the_service_is_open(self, ask):
        assert [ask("GET", path).status for path in ("/health", "/health/live", "/metrics")] == [200] * 3

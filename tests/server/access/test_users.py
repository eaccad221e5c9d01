"""Who asks, and who may do what: users, tokens, roles."""

import base64
import contextlib
import hashlib
import hmac
import json
import re
import threading
import time
from http.client import HTTPException, IncompleteRead
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import quote

import jwt
import pytest
from asked import Asked
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from kcodec.errors import ConfigError, RegistryError
from kcodec.registry import Config, Reference, Schema
from kcodec.registry.memory import MemoryRegistry
from kcodec.server.access import bearer, users
from kcodec.server.access.passwords import hashed
from kcodec.server.api.calls import ROUTES
from kcodec.server.api.keys import KEY_ROUTES

INT = Schema('"int"')
ISSUER, AUDIENCE = "https://issuer.example", "registry"
#: Everybody's password.
KEPT = hashed("secret")

GRANTS = [
    {"role": "admin", "users": ["root"]},
    {"role": "write", "users": ["shop"], "groups": ["team"], "subjects": ["orders-*", ":.lab:*"]},
    {"role": "read", "users": ["shop"], "subjects": ["common"]},
    {"role": "admin", "users": ["owner"], "subjects": ["orders-*"]},
    {"role": "read", "users": ["reader"]},
]


def basic(user, password="secret"):
    return {"authorization": "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()}


@pytest.fixture
def file(tmp_path):
    """A function that writes the file of users and roles."""

    def write(**body):
        users = dict.fromkeys(("root", "shop", "owner", "reader", "nobody"), KEPT)
        path = tmp_path / "access.json"
        path.write_text(json.dumps({"users": users, "grants": GRANTS, **body}))
        return str(path)

    return write


@pytest.fixture
def ask(file):
    """A guarded registry with some subjects."""
    registry = MemoryRegistry()
    for subject, kind in (
        ("orders-value", "int"),
        ("common", "long"),
        ("hidden", "string"),
        (":.lab:x", "int"),
    ):
        registry.register(subject, Schema(f'"{kind}"'))
    asked = Asked(registry, access=file())
    yield asked
    asked.close()


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
            {"users": {"a": KEPT.replace("scrypt:14", "scrypt:40")}},
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
    @pytest.mark.parametrize("user", [None, "nobody"])
    @pytest.mark.parametrize(
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
    @pytest.mark.parametrize(
        "route", [*ROUTES, *KEY_ROUTES], ids=lambda route: f"{route.method} {route.template}"
    )
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


@pytest.fixture(scope="module")
def key():
    return rsa.generate_private_key(65537, 2048)


def published(key, name="one"):
    algorithm = (
        jwt.algorithms.RSAAlgorithm if isinstance(key, rsa.RSAPrivateKey) else jwt.algorithms.ECAlgorithm
    )
    found = json.loads(algorithm.to_jwk(key.public_key()))
    return {**found, "kid": name, "use": "sig"}


def token(key, name="one", algorithm="RS256", **claims):
    now = int(time.time())
    body = {"iss": ISSUER, "aud": AUDIENCE, "sub": "shop", "exp": now + 60, **claims}
    body = {name: value for name, value in body.items() if value is not None}
    return jwt.encode(body, key, algorithm, headers={"kid": name} if name else {})


def sent(text):
    return {"authorization": f"Bearer {text}"}


@contextlib.contextmanager
def issuer(answer):
    """Yield the address of an issuer's keys, and a list of the paths that it is asked for."""
    asked = []

    class Issuer(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            data = answer(self)
            if data is not None:
                self.send_response(200)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

        def log_message(self, *arguments):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Issuer)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/keys", asked
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture
def keys(tmp_path, key):
    path = tmp_path / "keys.json"
    path.write_text(json.dumps({"keys": [published(key)]}))
    return str(path)


@pytest.fixture
def tokens(keys, file, ask):
    settings = {"jwks": keys, "issuer": ISSUER, "audience": AUDIENCE}
    return Asked(ask.registry, access=file(tokens=settings))


class TestTokens:
    def test_whom_they_name(self, tokens, key):
        assert tokens("GET", "/subjects/common/versions", headers=sent(token(key))).status == 200
        assert tokens("GET", "/subjects/hidden/versions", headers=sent(token(key))).status == 403
        of_group = token(key, sub="else", groups=["team", "other"])
        assert tokens("GET", "/subjects/orders-value/versions", headers=sent(of_group)).status == 200
        assert tokens("GET", "/subjects/common/versions", headers=sent(of_group)).status == 403
        assert tokens("GET", "/subjects").headers["www-authenticate"] == 'Basic realm="kcodec", Bearer'

    def test_what_is_not_valid(self, tokens, key):
        other = rsa.generate_private_key(65537, 2048)
        public = key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        good = token(key)
        head, body, signature = good.split(".")
        forged = base64.urlsafe_b64encode(json.dumps({"sub": "root"}).encode()).decode().rstrip("=")
        # With the public key as a secret: what a check that trusts the header's algorithm falls for.
        confused = base64.urlsafe_b64encode(b'{"alg":"HS256","kid":"one"}').decode().rstrip("=") + "." + body
        digest = hmac.digest(public, confused.encode(), hashlib.sha256)
        confused += "." + base64.urlsafe_b64encode(digest).decode().rstrip("=")
        for each in (
            token(other),
            token(key, name="two"),
            token(key, exp=int(time.time()) - 120),
            token(key, exp=None),
            token(key, nbf=int(time.time()) + 120),
            token(key, aud="else"),
            token(key, aud=None),
            token(key, iss="else"),
            token(key, iss=None),
            token(key, sub=None),
            token(key, sub=""),
            f"{head}.{forged}.{signature}",
            f"{head}.{body}.",
            confused,
            jwt.encode({"sub": "root", "iss": ISSUER, "aud": AUDIENCE}, None, "none"),
            "x",
            "",
            "é",
            "a.b.c",
            "." * 100_000,
        ):
            assert tokens("GET", "/subjects", headers=sent(each)).fault[:2] == (401, 40101)
        assert tokens("GET", "/subjects", headers=sent(good)).status == 200

    def test_keys_are_fetched_and_looked_for_again(self, ask, file, key, monkeypatch):
        second = ec.generate_private_key(ec.SECP256R1())

        def answer(_):
            given = [published(key)] if len(fetched) == 1 else [published(key), published(second, "two")]
            return json.dumps({"keys": given}).encode()

        with issuer(answer) as (address, fetched):
            settings = {"jwks": address, "issuer": ISSUER, "audience": AUDIENCE}
            asked = Asked(ask.registry, access=file(tokens=settings))
            for _ in range(3):
                assert asked("GET", "/subjects", headers=sent(token(key))).status == 200
            assert len(fetched) == 1
            # An unknown key is looked for, but not with each request that names one.
            new = token(second, "two", "ES256")
            for _ in range(3):
                assert asked("GET", "/subjects", headers=sent(new)).status == 401
            assert len(fetched) == 1
            monkeypatch.setattr(bearer, "_PAUSE", 0)
            assert asked("GET", "/subjects", headers=sent(new)).status == 200
            assert len(fetched) == 2
        # Known keys go on without their issuer.
        monkeypatch.setattr(bearer, "_FRESH", 0)
        assert asked("GET", "/subjects", headers=sent(new)).status == 200
        assert asked("GET", "/subjects", headers=sent(token(key, "three"))).status == 401

    def test_groups_that_are_none(self, ask, file, keys, key):
        settings = {"jwks": keys, "issuer": ISSUER, "audience": AUDIENCE}
        grants = [{"role": "read", "groups": ["None", "5", "True", "{}"]}]
        asked = Asked(ask.registry, access=file(tokens=settings, grants=grants))
        for groups in (None, 5, True, {}):
            body = {
                "iss": ISSUER,
                "aud": AUDIENCE,
                "sub": "anna",
                "exp": int(time.time()) + 60,
                "groups": groups,
            }
            text = jwt.encode(body, key, "RS256", headers={"kid": "one"})
            assert asked("GET", "/subjects", headers=sent(text)).status == 403
        assert asked("GET", "/subjects", headers=sent(token(key, groups="5 6"))).status == 200
        asked.stop()

    @pytest.mark.parametrize("kid", [["one"], {"a": 1}, 5])
    def test_a_name_of_a_key_that_is_no_text(self, tokens, key, kid):
        head = {"alg": "RS256", "typ": "JWT", "kid": kid}
        _, *rest = token(key).split(".")
        encoded = base64.urlsafe_b64encode(json.dumps(head).encode()).decode().rstrip("=")
        assert tokens("GET", "/subjects", headers=sent(".".join([encoded, *rest]))).fault[:2] == (401, 40101)

    @pytest.mark.filterwarnings("ignore:The RSA key")
    @pytest.mark.parametrize(
        ("bits", "use", "status"), [(1024, "sig", 401), (2048, "enc", 401), (2048, "sig", 200)]
    )
    def test_keys_that_are_not_for_signatures(self, ask, file, tmp_path, bits, use, status):
        key = rsa.generate_private_key(65537, bits)
        path = tmp_path / "others.json"
        path.write_text(json.dumps({"keys": [{**published(key), "use": use}]}))
        settings = {"jwks": str(path), "issuer": ISSUER, "audience": AUDIENCE}
        asked = Asked(ask.registry, access=file(tokens=settings))
        assert asked("GET", "/subjects", headers=sent(token(key))).status == status
        asked.stop()

    def test_keys_that_come_for_ever(self, monkeypatch, key):
        monkeypatch.setattr(bearer, "_FETCH_SECONDS", 0.3)
        monkeypatch.setattr(bearer, "_PAUSE", 0)
        is_well = []

        def answer(request):
            if is_well:
                return json.dumps({"keys": [published(key)]}).encode()
            request.send_response(200)
            request.end_headers()
            with contextlib.suppress(OSError):
                while True:
                    request.wfile.write(b" ")
                    time.sleep(0.02)

        with issuer(answer) as (address, _):
            tokens = bearer.BearerTokens({"jwks": address, "issuer": ISSUER, "audience": AUDIENCE})
            start = time.monotonic()
            with pytest.raises(RegistryError, match="Unauthorized"):
                tokens.user(token(key))
            assert time.monotonic() - start < 5
            # What never ended keeps nobody from asking again.
            is_well.append(True)
            assert tokens.user(token(key)).name == "shop"

    def test_keys_that_are_too_many(self, monkeypatch):
        monkeypatch.setattr(bearer, "_MAX_KEYS", 10)
        with (
            issuer(lambda _: b" " * 11) as (address, _),
            pytest.raises(HTTPException, match="more than 10 bytes"),
        ):
            bearer._fetched(address)

    def test_keys_of_another_place(self):
        def leads(to):
            def answer(request):
                if request.path == "/there":
                    return b"{}"
                request.send_response(302)
                request.send_header("Location", to)
                request.end_headers()
                return None

            return answer

        with issuer(leads("there")) as (address, asked):
            assert bearer._fetched(address) == b"{}"
            assert asked == ["/keys", "/there"]
        with issuer(leads("keys")) as (address, asked), pytest.raises(ValueError, match="answers 302"):
            bearer._fetched(address)
        assert len(asked) == 5
        for place in ("https://issuer.example/keys", "file:///etc/passwd", "http:///x", "//"):
            with (
                issuer(leads(place)) as (address, _),
                pytest.raises(ValueError, match=r"leads to|answers 302"),
            ):
                bearer._fetched(address)

    def test_an_issuer_that_does_not_answer_is_not_asked_each_time(self, ask, file, key, monkeypatch):
        tried, failing = [], []

        def fetched(place):
            tried.append(place)
            if failing:
                raise failing[-1]
            return json.dumps({"keys": [published(key)]}).encode()

        monkeypatch.setattr(bearer, "_fetched", fetched)
        settings = {"jwks": "https://issuer.example/keys", "issuer": ISSUER, "audience": AUDIENCE}
        asked = Asked(ask.registry, access=file(tokens=settings))
        assert asked("GET", "/subjects", headers=sent(token(key))).status == 200
        monkeypatch.setattr(bearer, "_FRESH", 0)
        monkeypatch.setattr(bearer, "_PAUSE", 0)
        for failure in (
            TimeoutError("no answer"),
            json.JSONDecodeError("a page", "<html>", 0),
            OSError("gone"),
            IncompleteRead(b""),
        ):
            failing.append(failure)
            assert asked("GET", "/subjects", headers=sent(token(key))).status == 200
            assert asked("GET", "/subjects", headers=sent(token(key, "two"))).status == 401
        assert len(tried) == 9
        monkeypatch.setattr(bearer, "_PAUSE", 60)
        for _ in range(3):
            assert asked("GET", "/subjects", headers=sent(token(key))).status == 200
        assert len(tried) == 9

    def test_a_file_of_keys_that_is_gone(self, tokens, keys, key, monkeypatch):
        assert tokens("GET", "/subjects", headers=sent(token(key))).status == 200
        monkeypatch.setattr(bearer, "_FRESH", 0)
        monkeypatch.setattr(bearer, "_PAUSE", 0)
        (open(keys, "w")).close()
        assert tokens("GET", "/subjects", headers=sent(token(key))).status == 200
        assert tokens("GET", "/subjects", headers=sent(token(key, "two"))).fault[:2] == (401, 40101)

    def test_a_key_set_of_one_needs_no_name(self, tokens, key):
        assert tokens("GET", "/subjects", headers=sent(token(key, name=None))).status == 200

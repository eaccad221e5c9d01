"""Requests to a server that fails, drips, floods, or is no registry at all."""

import base64
import gzip
import json
import pickle
import random
import re
import socket
import ssl
import subprocess
import sys
import threading
import time

import pytest
from cases import cases
from http_answers import answering, whole
from refusals import refused
from registry_server import serve
from shop_schemas import INT, ORDER

from kcodec import registry as registries
from kcodec.errors import ConfigError, RegistryError
from kcodec.registry import Schema, guid
from kcodec.registry.memory import MemoryRegistry
from kcodec.registry.settings import Config

ONCE = {"max.retries": 0}
GUID = "01f692b3-0d4a-1c8a-3e60-0b1440637f8f"


SCHEMA = whole(200, b'{"schema": "\\"int\\""}')


def failure(url, config=None, **more):
    handle = registries.open(url, {**ONCE, **(config or {}), **more})
    with pytest.raises(RegistryError) as info:
        handle.get(7)
    handle.close()
    return info.value


class TestCredentials:
    def test_each_address_gets_its_own(self):
        down = whole(503, b'{"error_code": 503, "message": "down"}')
        with answering(down) as first, answering(SCHEMA) as second:
            one = first.url.replace("//", "//a:secretA@")
            other = second.url.replace("//", "//b:secretB@")
            handle = registries.open(f"{one},{other}", ONCE)
            assert handle.get(1).schema == INT
            assert first.seen[0][1]["Authorization"] == "Basic " + base64.b64encode(b"a:secretA").decode()
            assert second.seen[0][1]["Authorization"] == "Basic " + base64.b64encode(b"b:secretB").decode()
            handle.close()

    def test_those_of_the_settings_are_for_all(self):
        down = whole(503, b"")
        with answering(down) as first, answering(SCHEMA) as second:
            handle = registries.open(f"{first.url},{second.url}", {**ONCE, "basic.auth.user.info": "a:b"})
            assert handle.get(1).schema == INT
            assert first.seen[0][1]["Authorization"] == second.seen[0][1]["Authorization"] == "Basic YTpi"
            handle.close()

    def test_those_of_some_addresses_are_unclear(self):
        with pytest.raises(ConfigError, match="some addresses") as info:
            registries.open("http://a:secretA@one,http://two")
        assert "secretA" not in str(info.value)

    @pytest.mark.parametrize(
        ("config", "forms"),
        [
            (
                {"basic.auth.user.info": "reader:hünter/2&s"},
                "reader:hünter/2&s hünter/2&s h%C3%BCnter%2F2%26s h%C3%BCnter/2&s hünter/2&amp;s h\\xfcnter/2&s",
            ),
            (
                {"bearer.auth.credentials.source": "STATIC_TOKEN", "bearer.auth.token": "eyJ.nter+2/x=="},
                "eyJ.nter+2/x== eyJ.nter%2B2%2Fx%3D%3D",
            ),
            (
                {
                    "bearer.auth.credentials.source": "CUSTOM",
                    "bearer.auth.custom.provider.function": lambda config: {"bearer.auth.token": "winter"},
                    "bearer.auth.custom.provider.config": {},
                },
                "winter",
            ),
        ],
        ids=["basic", "token", "function"],
    )
    @pytest.mark.parametrize("kind", ["json", "html"])
    def test_an_echo_is_redacted(self, config, forms, kind):
        sent = []

        def echo(handler):
            sent.append(handler.headers["Authorization"].partition(" ")[2])
            text = f"said {handler.headers['Authorization']} or {sent[0]} or {sent[0].rstrip('=')} or {forms}"
            body = json.dumps({"error_code": 40301, "message": text}).encode()
            whole(403, body if kind == "json" else text.encode())(handler)

        with answering(echo) as server:
            text = repr(failure(server.url, config))
        assert re.search(r"said ((Bearer|Basic) )?\*\*\* or \*\*\* or \*\*\* or \*\*\*", text)
        assert "nter" not in text
        assert sent[0] not in text

    @pytest.mark.parametrize("place", ["settings", "address"])
    def test_a_refusal_names_the_user(self, place):
        told = b'{"error_code": 40301, "message": "User reader is denied operation write on Subject: s"}'
        with answering(whole(403, told)) as server:
            if place == "settings":
                error = failure(server.url, {"basic.auth.user.info": "reader:hunter2"})
            else:
                error = failure(server.url.replace("//", "//reader:hunter2@"))
        assert "User reader is denied operation write on Subject: s (" in str(error)
        assert "hunter2" not in repr(error)

    @pytest.mark.parametrize(
        "config",
        [
            {"bearer.auth.credentials.source": "GUESS"},
            {"bearer.auth.credentials.source": "STATIC_TOKEN"},
            {"bearer.auth.credentials.source": "OAUTHBEARER", "bearer.auth.client.id": "x"},
            {"bearer.auth.credentials.source": "OAUTHBEARER_AZURE_IMDS"},
            {"ssl.ca.location": "/no/such/file"},
            {"ssl.key.location": "/no/such/file"},
            {"proxy": "socks5://host:1"},
        ],
    )
    def test_settings_that_lack_something(self, config):
        with pytest.raises(ConfigError):
            registries.open("https://host", config).get(1)


class TestAnswers:
    def test_texts_are_one_bounded_line_that_tells_where_and_what(self):
        page = b"<html>\n<body>\x1b[31m" + b"no such page " * 10_000
        with answering(whole(404, page, "text/html")) as server:
            error = failure(server.url + "/api")
        text = str(error)
        assert text.startswith(f"{server.url}/api: HTTP 404: <html> <body>\\x1b[31mno such page")
        assert "asked GET /schemas/ids/7; is the base path /api right?" in text
        assert len(text) < 700
        assert text.isprintable()

    def test_what_is_no_registry_lacks_no_schema(self):
        for status, body in [
            (404, b"<html>"),
            (404, b""),
            (404, b"{}"),
            (404, b'{"error_code": 404, "message": "HTTP 404 Not Found"}'),
            (404, b'{"error_code": "40403"}'),
            (404, b"[]"),
            (404, b"[" * 100_000),
        ]:
            with answering(whole(status, body)) as server:
                error = failure(server.url)
            assert (error.status, error.missing) == (404, False), body
            assert "is the base path missing?" in str(error)
        with answering(whole(404, b'{"error_code": 40403, "message": "Schema 7 not found"}')) as server:
            error = failure(server.url)
        assert error.missing
        assert str(error) == f"{server.url}: HTTP 404: Schema 7 not found (asked GET /schemas/ids/7)"

    @cases(
        ("status", "body", "told"),
        [
            (200, b"<html>log in</html>", "no JSON: <html>log in</html>"),
            (200, b"7", "not a registry's"),
            (200, b"{}", "has no schema"),
            (200, b'{"schema": 7}', "has no schema"),
            (200, b'{"schema": "x", "references": 7}', "has no schema"),
            (200, b'{"schema": "x", "metadata": 7}', "has no schema"),
            (204, b"", "not a registry's"),
            (401, b"", "does it want credentials?"),
            (302, b"", "is it at https://elsewhere/?"),
            (400, b"Client sent an HTTP request to an HTTPS server.", "does it want https://?"),
        ],
    )
    def test_other_answers(self, status, body, told):
        with answering(whole(status, body, Location="https://elsewhere/")) as server:
            error = failure(server.url)
        assert told in str(error)
        assert str(error).startswith(f"{server.url}: ")
        assert "GET /schemas/ids/7" in str(error)

    def test_an_answer_that_is_compressed(self):
        """Although it was asked for as it is: the error shows no bytes of it."""
        packed = gzip.compress(b'{"schema": "\\"int\\""}')
        with answering(whole(200, packed, **{"Content-Encoding": "gzip"})) as server:
            error = failure(server.url)
        assert str(error).startswith(f"{server.url}: HTTP 200, but no JSON: it is compressed (gzip) (asked")
        assert server.seen[0][1]["Accept-Encoding"] == "identity"

    def test_another_place_that_is_not_told(self):
        with answering(whole(304, b"")) as server:
            assert str(failure(server.url)) == (
                f"{server.url}: HTTP 304: an empty answer (asked GET /schemas/ids/7)"
            )

    def test_a_body_has_a_bound(self):
        def flood(handler):
            handler.send_response(200)
            handler.end_headers()
            while True:
                handler.wfile.write(b" " * 65536)

        with answering(flood) as server:
            error = failure(server.url, {"max.response.bytes": 1_000_000})
        assert "the answer has more than 1000000 bytes" in str(error)

    def test_a_chunk_that_says_to_have_less_than_no_bytes(self):
        """Python's client would then take all that comes."""
        sent = []

        def flood(handler):
            handler.wfile.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n")
            for _ in range(1000):
                handler.wfile.write(b" " * 65536)
                sent.append(65536)

        with answering(flood) as server:
            error = failure(server.url, {"max.response.bytes": 1_000_000})
        assert "a chunk of the answer has no size" in str(error)
        assert len(sent) < 1000

    def test_an_answer_that_ends_early(self):
        def half(handler):
            handler.send_response(200)
            handler.send_header("Content-Length", "100")
            handler.end_headers()
            handler.wfile.write(b'{"schema"')
            handler.close_connection = True

        with answering(half) as server:
            assert "IncompleteRead" in str(failure(server.url))

    @pytest.mark.parametrize("where", ["head", "body", "chunks"])
    def test_a_drip_ends_at_the_time_out(self, where):
        stop = threading.Event()

        def drip(handler):
            write = handler.wfile.write
            if where != "head":
                write(b"HTTP/1.1 200 OK\r\n")
                write(
                    b"Content-Length: 500\r\n\r\n"
                    if where == "body"
                    else b"Transfer-Encoding: chunked\r\n\r\n"
                )
            while not stop.wait(0.05):
                write(b"1\r\n \r\n" if where == "chunks" else b" ")

        with answering(drip) as server:
            start = time.monotonic()
            error = failure(server.url, timeout=0.4)
            took = time.monotonic() - start
            stop.set()
        assert "no whole answer within 0.4 s" in str(error)
        assert took < 2

    def test_a_server_that_never_reads(self):
        with socket.create_server(("127.0.0.1", 0)) as server:
            url = f"http://127.0.0.1:{server.getsockname()[1]}"
            handle = registries.open(url, {**ONCE, "timeout": 0.3})
            with pytest.raises(RegistryError, match=r"within 0\.3 s"):
                handle.register("s", Schema(f'{{"type": "int", "doc": "{"x" * 20_000_000}"}}'))

    def test_what_is_no_http(self):
        def raw(answer):
            server = socket.create_server(("127.0.0.1", 0))

            def run():
                with server:
                    connection, _ = server.accept()
                    with connection:
                        connection.recv(10_000)
                        connection.sendall(answer)

            threading.Thread(target=run, daemon=True).start()
            return f"http://127.0.0.1:{server.getsockname()[1]}"

        assert "does it want https://?" in str(failure(raw(b"\x15\x03\x01\x00\x02\x02\x16")))
        assert "does it want https://?" in str(failure(raw(b"")))
        assert "LineTooLong" in str(failure(raw(b"HTTP/1.1 200 OK\r\nX: " + b"x" * 100_000)))
        with answering(SCHEMA) as server:
            error = failure(server.url.replace("http:", "https:"))
        assert "does it speak http://?" in str(error)
        assert "is the name of the host right?" in str(failure("http://no-such-host.invalid"))
        assert "does it run" in str(failure("http://127.0.0.1:9"))


class TestConnections:
    def test_they_are_used_again_and_opened_anew_when_closed(self):
        ports = []

        def answer(handler):
            ports.append(handler.client_address[1])
            SCHEMA(handler)
            # Without telling.
            handler.close_connection = len(ports) == 2

        with answering(answer) as server:
            handle = registries.open(server.url, ONCE)
            for number in range(4):
                handle.get(number)
                time.sleep(0.05)
            handle.close()
        assert ports[0] == ports[1] != ports[2] == ports[3]

    def test_none_is_left_open_at_the_end(self):
        """Python warns of sockets that nobody has closed."""
        script = "import sys, kcodec; print(kcodec.registry.open(sys.argv[1]).subjects())"
        with serve(MemoryRegistry()) as server:
            command = [sys.executable, "-W", "error", "-c", script, server.url]
            run = subprocess.run(command, capture_output=True, text=True)
        assert (run.stdout.strip(), run.stderr) == ("[]", "")

    def test_a_base_path(self):
        with answering(SCHEMA) as server:
            handle = registries.open(f"{server.url}/apis/ccompat/v7/", ONCE)
            handle.get(1)
            assert server.seen[0][0] == "/apis/ccompat/v7/schemas/ids/1"

    def test_through_a_proxy(self, monkeypatch):
        with answering(SCHEMA) as proxy:
            place = proxy.url.replace("//", "//me:hunter2@")
            handle = registries.open("http://registry.invalid:8081/x", {**ONCE, "proxy": place})
            assert handle.get(1).schema == INT
            path, headers, _ = proxy.seen[0]
            assert path == "http://registry.invalid:8081/x/schemas/ids/1"
            assert headers["Host"] == "registry.invalid:8081"
            assert headers["Proxy-Authorization"] == "Basic " + base64.b64encode(b"me:hunter2").decode()
            monkeypatch.setenv("http_proxy", proxy.url)
            assert registries.open("http://other.invalid:8081", ONCE).get(1).schema == INT
            error = failure("https://registry.invalid", {"proxy": place})
            assert proxy.seen[-1][0] == "registry.invalid:443"
            assert "hunter2" not in str(error)

    def test_tls(self, tmp_path):
        key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
        subprocess.run(
            [
                *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"),
                *("-nodes", "-keyout", key, "-out", certificate, "-days", "2", "-subj", "/CN=registry"),
                *("-addext", "subjectAltName=IP:127.0.0.1"),
            ],
            check=True,
            capture_output=True,
        )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        with answering(SCHEMA, context) as server:
            for config in ({"ssl.ca.location": str(certificate)}, {"ssl.ca.location": False}):
                handle = registries.open(server.url, {**ONCE, **config})
                assert [handle.get(number).schema for number in (1, 2)] == [INT, INT]
                handle.close()
            assert "is ssl.ca.location the authority" in str(failure(server.url))
            trusting = {**ONCE, "ssl.ca.location": str(certificate)}
            elsewhere = str(failure(server.url.replace("127.0.0.1", "localhost"), trusting))
            assert "certificate is not valid for 'localhost'" in elsewhere
            assert "ssl.ca.location" not in elsewhere
        # Who issues tokens is trusted by the same authority, or by a public one.
        token = whole(200, b'{"access_token": "t-1", "expires_in": 3600}')
        with answering(token, context) as issuer, answering(SCHEMA, context) as server:
            bearer = {
                "bearer.auth.credentials.source": "OAUTHBEARER_AZURE_IMDS",
                "bearer.auth.issuer.endpoint.url": issuer.url,
            }
            assert registries.open(server.url, {**trusting, **bearer}).get(1).schema == INT
            assert server.seen[0][1]["Authorization"] == "Bearer t-1"
            unknown = str(failure(server.url, {**ONCE, **bearer, "ssl.ca.location": False}))
            assert "no token" in unknown
            assert "CERTIFICATE_VERIFY_FAILED" in unknown
        context.load_verify_locations(certificate)
        context.verify_mode = ssl.CERT_REQUIRED
        with answering(SCHEMA, context) as server:
            assert "does it want a certificate of its clients" in str(failure(server.url, trusting))
            own = {"ssl.certificate.location": str(certificate), "ssl.key.location": str(key)}
            assert registries.open(server.url, {**trusting, **own}).get(1).schema == INT

    def test_without_what_is_optional(self):
        """Workers may have pyarrow and nothing else."""
        script = (
            "import sys\n"
            "for name in ('confluent_kafka', 'httpx', 'requests', 'certifi', 'authlib'): sys.modules[name] = None\n"
            "import kcodec\n"
            "serde = kcodec.Serde('AVRO', sys.argv[1], topic='t', reader_schema='\"int\"')\n"
            "print(serde.deserialize([b'\\0\\0\\0\\0\\1\\x0e']).to_pylist())\n"
        )
        store = MemoryRegistry()
        store.register("t-value", INT)
        with serve(store, password="me:hunter2") as server:
            url = server.url.replace("//", "//me:hunter2@")
            run = subprocess.run([sys.executable, "-c", script, url], capture_output=True, text=True)
        assert (run.stdout.strip(), run.stderr) == ("[7]", "")


class TestHttp:
    def test_credentials_are_used_and_never_shown(self):
        store = MemoryRegistry()
        with serve(store, password="me:hunter2:x") as server:
            address = server.url.replace("http://", "http://me:hunter2%3Ax@")
            handle = registries.open(address, {"max.retries": 0})
            assert handle.register("s", INT).id == 1
            pickled = pickle.dumps(handle)
            assert "hunter2" not in repr(handle) + handle.url + repr(pickled)
            copy = pickle.loads(pickled)
            assert copy.get(1).schema == INT
            source = {"basic.auth.credentials.source": "USER_INFO"}
            given = registries.open(server.url, {**source, "basic.auth.user.info": "me:hunter2:x"})
            assert given.get(1).schema == INT
            wrong = registries.open(server.url, {"basic.auth.user.info": "me:wrong-one", "max.retries": 0})
            with refused(401, 40101):
                wrong.get(1)
            with pytest.raises(ConfigError) as info:
                registries.open(address, {"basic.auth.user.info": "me:hunter2:x"})
            assert "hunter2" not in str(info.value)
            for each in (handle, given, wrong):
                each.close()

    def test_numbers_may_be_text(self):
        with serve(MemoryRegistry()) as server:
            given = {"timeout": "2.5", "max.retries": "0", "retries.wait.ms": "10", "cache.capacity": "1"}
            handle = registries.open(server.url, given)
            handle.set_config(Config(compatibility="NONE"))
            assert [handle.register("s", each).id for each in (INT, ORDER)] == [1, 2]
            server.requests.clear()
            for number in (1, 2, 2, 1):
                handle.get(number)
            assert server.requests == [f"GET /schemas/ids/{number}" for number in (1, 2, 1)]
            handle.close()
            with pytest.raises(ConfigError, match=r"max\.retries='often' is not a number"):
                registries.open(server.url, {"max.retries": "often"})

    @cases(
        ("name", "value"),
        [
            ("max.retries", -1),
            ("max.retries", 2.5),
            ("max.retries", []),
            ("retries.wait.ms", "-5"),
            ("cache.capacity", 2**31),
            ("timeout", -1),
            ("timeout", 0),
            ("timeout", float("nan")),
            ("timeout", "inf"),
            ("basic.auth.user.info", 5),
        ],
    )
    def test_values_that_no_setting_has(self, name, value):
        with pytest.raises(ConfigError, match=f"^{name}"):
            registries.open("http://host", {name: value})

    def test_failures_tell_where_and_how_long(self):
        class Failing(MemoryRegistry):
            def get(self, schema_id, subject=None, *, form=""):
                raise RegistryError("Error in the backend data store", 500, 50001)

        with serve(Failing()) as server:
            handle = registries.open(server.url, {"max.retries": "1", "retries.wait.ms": "1"})
            told = (
                rf"^{server.url}: HTTP 500: Error in the backend data store "
                r"\(after \d+\.\d s, asked GET /schemas/ids/1\)$"
            )
            drawn = random.getstate()
            with pytest.raises(RegistryError, match=told) as info:
                handle.get(1)
            assert random.getstate() == drawn  # what an application draws by its seed stays
            assert (info.value.status, info.value.error_code) == (500, 50001)
            assert server.requests == ["GET /schemas/ids/1"] * 2
            handle.close()

    def test_one_client_per_process(self):
        with serve(MemoryRegistry()) as server:
            one, two = registries.open(server.url), registries.open(server.url)
            one.register("s", INT)
            one.get(1)
            before = len(server.requests)
            assert two.get(1).schema == INT
            assert len(server.requests) == before
            assert registries.open(server.url, {"timeout": 3}).get(1).schema == INT
            assert len(server.requests) == before + 1
            one.close()

    def test_servers_that_answer_with_the_id_alone(self):
        with serve(MemoryRegistry(), old=True) as server:
            handle = registries.open(server.url)
            found = handle.register("s", INT)
            assert (found.id, found.version, found.schema, found.guid) == (1, None, INT, guid(INT))
            handle.close()

    def test_guids_that_a_server_tells_with_versions_alone(self):
        """A GUID covers the rules, in a form that only the server knows."""
        rules = {
            "domainRules": [
                {"name": "r", "kind": "CONDITION", "type": "CEL", "mode": "WRITE", "expr": "true"}
            ]
        }
        answers = {
            "/schemas/ids/7": {"schema": '"int"', "ruleSet": rules},
            "/schemas/ids/7/versions": [{"subject": "a b", "version": 2}],
            "/subjects/a%20b/versions/2": {
                "subject": "a b",
                "version": 2,
                "id": 7,
                "schema": '"int"',
                "guid": GUID,
            },
        }

        def answer(handler):
            whole(200, json.dumps(answers[handler.path.partition("?")[0]]).encode())(handler)

        for versions, expected in (
            ([{"subject": "a b", "version": 2}], GUID),
            ([], None),
            ([{"version": 2}, 5], None),
        ):
            answers["/schemas/ids/7/versions"] = versions
            with answering(answer) as server:
                handle = registries.open(server.url, ONCE)
                found = handle.get(7)
                assert found.guid == (expected or guid(found.schema))
                handle.close()

    @cases(
        ("body", "ask", "told"),
        [
            (b'{"schema": "\\"int\\""}', lambda handle: handle.get_version("s"), "the answer has no id"),
            (b'{"version": 1}', lambda handle: handle.register("s", INT), "the answer has no id"),
            (b'[{"subject": "s"}]', lambda handle: handle.schema_versions(7), "the answer has no versions"),
            (b'["s"]', lambda handle: handle.schema_versions(7), "the answer has no versions"),
            (b'{"id": 7}', lambda handle: handle.get_version("s"), "the answer has no schema"),
            (
                b'[{"subject": "s", "version": Infinity}]',
                lambda handle: handle.schema_versions(7),
                "the answer has no versions",
            ),
            (b'[1, {"a": 1}]', lambda handle: handle.versions("s"), "the answer is not a registry's"),
            (b'["1"]', lambda handle: handle.referenced_by("s", 1), "the answer is not a registry's"),
            (b"[true]", lambda handle: handle.delete_subject("s"), "the answer is not a registry's"),
            (b"[1]", lambda handle: handle.subjects(), "the answer is not a registry's"),
            (b'["a", null]', lambda handle: handle.contexts(), "the answer is not a registry's"),
        ],
    )
    def test_answers_that_lack_something(self, body, ask, told):
        with answering(whole(200, body)) as server:
            handle = registries.open(server.url, ONCE)
            with pytest.raises(RegistryError, match=told):
                ask(handle)
            handle.close()

    def test_names_that_are_no_text(self):
        """JSON can escape half of a surrogate pair, which UTF-8 does not have: no server has such a name."""
        asked = []

        def answer(handler):
            asked.append(handler.path.partition("?")[0])
            whole(404, b'{"error_code": 40403, "message": "no such"}')(handler)

        with answering(answer) as server:
            handle = registries.open(server.url, ONCE)
            for ask in (
                lambda: handle.get_by_guid("\ud800"),
                lambda: handle.schema_versions(7, "\ud800"),
                lambda: handle.subjects("\ud800"),
            ):
                with pytest.raises(RegistryError, match="no such"):
                    ask()
            handle.close()
        assert asked == ["/schemas/guids/%ED%A0%80", "/schemas/ids/7/versions", "/subjects"]

    def test_ids_that_no_server_has(self):
        """The bytes of a frame may say anything; a server has no path for what is beyond 31 bits."""
        handle = registries.open("http://127.0.0.1:9", {"max.retries": 0})
        with refused(404, 40403):
            handle.get(2**32 - 1)
        handle.close()

    def test_nobody_there(self):
        handle = registries.open(
            "http://127.0.0.1:9", {"max.retries": 0, "basic.auth.user.info": "me:hunter2"}
        )
        with pytest.raises(RegistryError) as info:
            handle.get(1)
        assert info.value.status is None
        assert "hunter2" not in str(info.value)
        handle.close()

    @cases(
        ("config", "told"),
        [
            ({"no.such.setting": "hunter2"}, r"'no\.such\.setting'; known are"),
            ({"max.retry": "hunter2"}, r"'max\.retry': did you mean 'max\.retries'"),
            ({"schema.registry.ssl.truststore.location": "t.jks"}, "here it is ssl.ca.location, a PEM file"),
            ({"ssl.keystore.location": "k.jks"}, "ssl.certificate.location and ssl.key.location"),
            ({"proxy": 5}, "proxy is not"),
            ({"basic.auth.credentials.source": "SASL_INHERIT"}, "neither URL nor USER_INFO"),
            ({"basic.auth.user.info": "hunter2"}, "user:password"),
            (
                {"basic.auth.user.info": "a:b", "bearer.auth.credentials.source": "STATIC_TOKEN"},
                "both basic.auth.user.info and bearer.auth",
            ),
            (
                {"bearer.auth.token": "hunter2"},
                "bearer.auth.token needs bearer.auth.credentials.source: STATIC",
            ),
            (
                {"basic.auth.user.info": "a:hunter2", "bearer.auth.logical.cluster": "lsrc-1"},
                "bearer.auth.logical.cluster needs bearer.auth.credentials.source",
            ),
        ],
    )
    def test_unknown_settings_are_told_with_what_they_are_here(self, config, told):
        with pytest.raises(ConfigError, match=told) as info:
            registries.open("http://127.0.0.1:9", config)
        assert "hunter2" not in str(info.value)

    def test_associations(self):
        with serve(MemoryRegistry()) as server:
            handle = registries.open(server.url)
            assert handle.associated_subjects("t", False) == []
            server.associations["t"] = ["elsewhere"]
            assert handle.associated_subjects("t", False) == ["elsewhere"]
            handle.close()

"""The messages of mechanisms, beside their specifications; tests/services has a broker that wants them."""

import socket
import sys
import time
import types
from contextlib import contextmanager, suppress
from threading import Thread

import http_answers
import pyarrow as pa
import pytest
from cases import cases
from fake_broker import FakeCluster

from kcodec.errors import ConfigError, KafkaError
from kcodec.kafka import follow, read, write
from kcodec.kafka.connection import sasl
from kcodec.kafka.connection.error_codes import is_retriable
from kcodec.kafka.connection.settings import Settings

SECRET = "hunter2-sesame"


def steps(mechanism, **config):
    return sasl.exchange(
        Settings.of(
            {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": mechanism, **config}, "broker:1"
        ),
        "broker",
    )


def test_plain():
    exchange = steps("PLAIN", **{"sasl.username": "u", "sasl.password": "p"})
    assert next(exchange) == b"\0u\0p"
    with pytest.raises(StopIteration):
        exchange.send(b"")


def test_scram_of_the_rfc(monkeypatch):
    """The exchange of RFC 7677, section 3."""
    monkeypatch.setattr(sasl.secrets, "token_urlsafe", lambda _: "rOprNGfwEbeRWgbNEkqO")
    exchange = steps("SCRAM-SHA-256", **{"sasl.username": "user", "sasl.password": "pencil"})
    assert next(exchange) == b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
    nonce = "rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
    last = exchange.send(f"r={nonce},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096".encode())
    assert last == f"c=biws,r={nonce},p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=".encode()
    with pytest.raises(StopIteration):
        exchange.send(b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=")


NONCE = "rOprNGfwEbeRWgbNEkqO"


@pytest.mark.parametrize(
    ("first", "last"),
    [
        (b"", None),
        (b"\xff", None),
        (b"r=other,s=QQ==,i=4096", None),
        (f"r={NONCE},s=QQ==,i=4096".encode(), None),
        (f"r={NONCE}x,s=QQ==,i=1".encode(), None),
        (f"r={NONCE}x,s=QQ==,i=999999999".encode(), None),
        (f"r={NONCE}x,s=!,i=4096".encode(), None),
        (f"m=x,r={NONCE}x,s=QQ==,i=4096".encode(), None),
        (f"r={NONCE}x,s=QQ==,i=4096".encode(), b"v=QQ=="),
        (f"r={NONCE}x,s=QQ==,i=4096".encode(), b""),
        (f"r={NONCE}x,s=QQ==,i=4096".encode(), b"e=invalid-proof"),
        (f"r={NONCE}x,s=QQ==,i=4096".encode(), "v=ü".encode()),
    ],
)
def test_scram_that_is_none(monkeypatch, first, last):
    monkeypatch.setattr(sasl.secrets, "token_urlsafe", lambda _: NONCE)
    exchange = steps("SCRAM-SHA-512", **{"sasl.username": "u,=", "sasl.password": SECRET})
    assert next(exchange) == f"n,,n=u=2C=3D,r={NONCE}".encode()
    if last is not None:
        assert exchange.send(first).startswith(b"c=biws,")
    with pytest.raises(KafkaError, match="SCRAM") as info:
        exchange.send(first if last is None else last)
    assert SECRET not in str(info.value)
    assert info.value.name == "SASL_AUTHENTICATION_FAILED"
    assert "invalid-proof" in str(info.value) or last != b"e=invalid-proof"


@pytest.mark.parametrize(
    ("first", "text"),
    [
        (b"", "the server's first message is not one of SCRAM"),
        (b"r=other,s=QQ==,i=4096", "the server's nonce does not begin with the client's"),
        (f"r={NONCE}x,s=QQ==,i=1".encode(), "the server asks for 1 rounds"),
        (f"r={NONCE}x,s=QQ==,i=4096".encode(), "the server does not know the password"),
    ],
)
def test_a_login_that_cannot_succeed_is_tried_once(fast, monkeypatch, first, text):
    monkeypatch.setattr(sasl.secrets, "token_urlsafe", lambda _: NONCE)
    login = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "SCRAM-SHA-256"}
    login |= {"sasl.username": "u", "sasl.password": SECRET}
    with FakeCluster({"t": 1}) as cluster:
        broker = cluster.brokers[0]
        broker.hooks["SaslHandshake"] = lambda body: {"errorCode": 0, "mechanisms": []}
        broker.hooks["SaslAuthenticate"] = lambda body: {
            "errorCode": 0,
            "errorMessage": None,
            "authBytes": first if body["authBytes"].startswith(b"n,,") else b"v=QQ==",
            "sessionLifetimeMs": 0,
        }
        for call in (
            lambda **place: read("t", **place),
            lambda **place: follow("t", **place),
            lambda **place: write(pa.table({"value": [b"1"]}), "t", **place),
        ):
            broker.asked.clear()
            with pytest.raises(KafkaError, match=rf"^127\.0\.0\.1:{broker.port}, SCRAM: {text}") as caught:
                call(servers=cluster.address, config={**fast, **login})
            assert caught.value.name == "SASL_AUTHENTICATION_FAILED"
            assert broker.asked.count("SaslHandshake") == 1


@pytest.mark.parametrize("mechanism", ["PLAIN", "OAUTHBEARER"])
def test_what_a_broker_says_of_a_login_shows_no_secret(fast, mechanism):
    """Though it repeats what it was sent."""
    login = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": mechanism}
    if mechanism == "PLAIN":
        login |= {"sasl.username": "shop", "sasl.password": SECRET}
    else:
        login |= {"oauth_cb": lambda _: (SECRET, 0)}
    with FakeCluster({"t": 1}) as cluster:
        broker = cluster.brokers[0]
        broker.hooks["SaslHandshake"] = lambda body: {"errorCode": 0, "mechanisms": []}

        def repeat(body):
            is_last = body["authBytes"] == b"\1" or mechanism == "PLAIN"
            said = f"shop may not log in with {SECRET}"
            return {
                "errorCode": 58 if is_last else 0,
                "errorMessage": said if is_last else None,
                "authBytes": b"{}",
                "sessionLifetimeMs": 0,
            }

        broker.hooks["SaslAuthenticate"] = repeat
        with pytest.raises(KafkaError, match=r"shop may not log in with \*\*\*$"):
            read("t", servers=cluster.address, config={**fast, **login})


@contextmanager
def answering(data):
    """Serve what reads what is sent, answers so, and closes; gives its address, and what it was sent."""
    asked = []

    def serve():
        with suppress(OSError):
            while True:
                peer, _ = server.accept()
                asked.append(peer.recv(10_000))
                peer.sendall(data)
                peer.close()

    with socket.create_server(("127.0.0.1", 0)) as server:
        Thread(target=serve, daemon=True).start()
        yield f"127.0.0.1:{server.getsockname()[1]}", asked


def test_tls_where_the_client_speaks_none(fast):
    """A broker answers with an alert, and closes."""
    text = r"it speaks TLS, security\.protocol is PLAINTEXT"
    alert = b"\x15\x03\x03\0\2\2\x50"
    with answering(alert) as (address, asked), pytest.raises(KafkaError, match=text) as caught:
        read("t", servers=address, config=fast)
    assert caught.value.name == "SSL_AUTHENTICATION_FAILED"
    assert len(asked) == 1


def test_no_tls_where_the_client_speaks_it(fast):
    """A broker closes, as for a request that is far too large."""
    config = {**fast, "default.api.timeout.ms": 200, "security.protocol": "SSL"}
    text = r"does this port speak TLS\? security\.protocol is SSL"
    with answering(b"") as (address, _), pytest.raises(KafkaError, match=text):
        read("t", servers=address, config=config)


def test_tokens_of_a_function():
    exchange = steps(
        "OAUTHBEARER", oauth_cb=lambda config: (f"t-{config}", 0), **{"sasl.oauthbearer.config": "c"}
    )
    assert next(exchange) == b"n,,\x01auth=Bearer t-c\x01\x01"
    # What was wrong comes as JSON, and is answered by one byte.
    assert exchange.send(b'{"status":"invalid_token"}') == b"\x01"

    def fails(_):
        raise RuntimeError(SECRET)

    with pytest.raises(KafkaError, match="oauth_cb failed with RuntimeError") as info:
        next(steps("OAUTHBEARER", oauth_cb=fails))
    assert SECRET not in str(info.value)
    for token in (None, "", "a\x01b", "\ud800"):
        with pytest.raises(ConfigError, match="returns no token"):
            next(steps("OAUTHBEARER", oauth_cb=lambda config, token=token: token))


def test_extensions_of_a_function():
    """Those that it returns as for confluent-kafka, behind those of the settings."""
    login = {"oauth_cb": lambda _: ("t", 0, "me", {"identityPoolId": "pool-1"})}
    exchange = steps("OAUTHBEARER", **login, **{"sasl.oauthbearer.extensions": " logicalCluster = lkc-1 ,"})
    assert next(exchange) == b"n,,\x01auth=Bearer t\x01logicalCluster=lkc-1\x01identityPoolId=pool-1\x01\x01"
    assert (
        next(steps("OAUTHBEARER", oauth_cb=lambda _: ("t", 0, "me", None))) == b"n,,\x01auth=Bearer t\x01\x01"
    )
    for wrong in (
        "ab",
        {"auth": "x"},
        {"a b": "x"},
        {"a": ""},
        {"a": "x\x01auth=Bearer y"},
        {"a": 1},
        {1: "a"},
    ):
        with pytest.raises(ConfigError, match="extension"):
            next(steps("OAUTHBEARER", oauth_cb=lambda _, wrong=wrong: ("t", 0, "me", wrong)))


@contextmanager
def endpoint(answer):
    """Yield the first message of a login whose token comes from an endpoint, and a list of what that is asked."""
    asked = []

    def tell(request):
        asked.append((request.path, request.headers["Authorization"], request.content))
        with suppress(OSError):
            answer(request)

    with http_answers.answering(tell, version="HTTP/1.0") as server:
        exchange = steps(
            "OAUTHBEARER",
            **{
                "request.timeout.ms": 500,
                "sasl.oauthbearer.method": "oidc",
                "sasl.oauthbearer.client.id": "me",
                "sasl.oauthbearer.client.secret": SECRET,
                "sasl.oauthbearer.scope": "kafka",
                "sasl.oauthbearer.extensions": "logicalCluster=lkc-1",
                "sasl.oauthbearer.token.endpoint.url": f"{server.url}/token",
            },
        )
        yield exchange, asked


@cases(
    "answer",
    [
        b'{"access_token": "abc"}',
        b"{}",
        b"no json",
        None,
        b"[" * 100_000,
        b"no HTTP\r\n\r\n",
        b'{"access_token": null}',
        b'{"access_token": ""}',
        b'{"access_token": "\\ud800"}',
        b'{"access_token": "abc\\u0001auth=Bearer x"}',
        b'{"access_token": "abc", "expires_in": "soon"}',
    ],
)
def test_tokens_of_an_endpoint(answer):
    def answers(request):
        if answer is None or not answer.startswith(b"no HTTP"):
            request.send_response(200 if answer is not None else 403)
            request.end_headers()
        request.wfile.write(answer or b"")

    with endpoint(answers) as (exchange, asked):
        if answer == b'{"access_token": "abc"}':
            assert next(exchange) == b"n,,\x01auth=Bearer abc\x01logicalCluster=lkc-1\x01\x01"
            path, credentials, body = asked[0]
            assert path == "/token"
            assert body == b"grant_type=client_credentials&scope=kafka"
            assert credentials.startswith("Basic ")
        else:
            with pytest.raises(KafkaError, match=r"no token from 127\.0\.0\.1") as info:
                next(exchange)
            assert SECRET not in str(info.value)
            # What is no HTTP may be another thing on the way; the others would be answered again.
            assert is_retriable(info.value) == (answer == b"no HTTP\r\n\r\n")


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_an_endpoint_that_leads_elsewhere_gets_no_secret_for_it(status):
    def leads(request):
        request.send_response(status)
        request.send_header("Location", f"http://localhost:{request.server.server_port}/other")
        request.end_headers()

    with (
        endpoint(leads) as (exchange, asked),
        pytest.raises(KafkaError, match=f"it answers {status}") as info,
    ):
        next(exchange)
    assert [path for path, *_ in asked] == ["/token"]
    assert not is_retriable(info.value)


def test_an_endpoint_whose_answer_never_ends():
    def drips(request):
        request.send_response(200)
        request.end_headers()
        while True:
            request.wfile.write(b" ")
            time.sleep(0.05)

    with endpoint(drips) as (exchange, _), pytest.raises(KafkaError, match="TimeoutError") as info:
        next(exchange)
    assert is_retriable(info.value)


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"\r\n" + b" " * (2 << 20), "HTTPException"),
        (b"Transfer-Encoding: chunked\r\n\r\n-5\r\n", "ValueError"),
        (b"Content-Length: 100\r\n\r\n{}", "IncompleteRead"),
    ],
    ids=["long", "chunk", "short"],
)
def test_an_endpoint_whose_answer_is_no_whole_one(data, kind):
    with endpoint(lambda request: request.wfile.write(b"HTTP/1.1 200 OK\r\n" + data)) as (exchange, _):
        with pytest.raises(KafkaError, match=f"no token from .*: {kind}") as info:
            next(exchange)
        assert is_retriable(info.value)


@pytest.mark.parametrize(
    "url", ["ftp://issuer/token", "http:///token", "http://[", "http://issuer:x/", "issuer"]
)
def test_an_endpoint_that_is_none(url):
    config = {"client.id": "me", "client.secret": SECRET, "token.endpoint.url": url, "method": "oidc"}
    exchange = steps("OAUTHBEARER", **{f"sasl.oauthbearer.{name}": value for name, value in config.items()})
    with pytest.raises(ConfigError, match=r"token\.endpoint\.url is not"):
        next(exchange)


def test_kerberos(monkeypatch):
    """What the package gssapi is asked for: a context of the broker's service, then no layer of security."""

    class GSSError(Exception):
        pass

    class Context:
        complete = False
        initiator_name = "me@REALM"

        def __init__(self, name, usage):
            self.asked = name, usage

        def step(self, token):
            self.complete = token is not None
            return b"first" if token is None else b"second"

        def unwrap(self, data):
            if not data:
                raise GSSError("no ticket\nof anyone")
            return types.SimpleNamespace(message=data)

        def wrap(self, data, encrypt):
            assert not encrypt
            return types.SimpleNamespace(message=b"wrapped " + data)

    names = []
    module = types.SimpleNamespace(
        Name=lambda *given: names.append(given) or "name",
        NameType=types.SimpleNamespace(hostbased_service="service"),
        SecurityContext=Context,
        exceptions=types.SimpleNamespace(GSSError=GSSError),
    )
    monkeypatch.setitem(sys.modules, "gssapi", module)
    exchange = steps("GSSAPI", **{"sasl.kerberos.service.name": "bus"})
    assert next(exchange) == b"first"
    assert exchange.send(b"token") == b"second"
    assert exchange.send(b"\x01\0\1\0") == b"wrapped \x01\0\1\0me@REALM"
    assert names == [("bus@broker", "service")]
    exchange = steps("GSSAPI")
    next(exchange)
    exchange.send(b"token")
    with pytest.raises(KafkaError, match="wants a layer of security"):
        exchange.send(b"\x06\0\1\0")
    exchange = steps("GSSAPI")
    next(exchange)
    exchange.send(b"token")
    with pytest.raises(KafkaError, match=r"^GSSAPI: no ticket of anyone$"):
        exchange.send(b"")
    monkeypatch.setitem(sys.modules, "gssapi", None)
    with pytest.raises(ConfigError, match="pip install gssapi"):
        next(steps("GSSAPI"))

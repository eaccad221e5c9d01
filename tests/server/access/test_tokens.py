"""Whom bearer tokens name, and the keys that they are checked by."""

import base64
import contextlib
import hashlib
import hmac
import json
import time
from http.client import HTTPException, IncompleteRead

import jwt
import pytest
from asked import Asked
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from http_answers import answering, whole

from kcodec.errors import RegistryError
from kcodec.server.access import bearer

ISSUER, AUDIENCE = "https://issuer.example", "registry"


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

    def tell(request):
        asked.append(request.path)
        data = answer(request)
        if data is not None:
            whole(200, data)(request)

    with answering(tell, version="HTTP/1.0") as server:
        yield f"{server.url}/keys", asked


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

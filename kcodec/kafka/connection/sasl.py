"""The mechanisms by which a client proves who it is, message by message."""

import base64
import hashlib
import hmac
import http.client
import secrets
import ssl
from collections.abc import Generator, Mapping
from typing import Any
from urllib.parse import SplitResult, urlencode, urlsplit

from kcodec.errors import ConfigError, KafkaError, one_line
from kcodec.kafka.connection.error_codes import login_failed
from kcodec.kafka.connection.settings import Settings, extension
from kcodec.registry.connection import Connections, basic
from kcodec.registry.tokens import is_token, read_token

#: What a client sends next, for what the server has answered.
Steps = Generator[bytes, bytes, None]

#: Rounds of a hash that a server may ask for: Kafka's default is 4096.
_ROUNDS = (4096, 1_000_000)
#: Bytes that the answer of an endpoint of tokens may have.
_MAX_BYTES = 1 << 20
#: What an endpoint answers below 500 that it may answer otherwise a moment later: a time-out, too many requests.
_MAY_PASS = (408, 429)


def exchange(settings: Settings, host: str) -> Steps:
    """Return the messages of the mechanism that the settings name; each answer is sent in.

    Raise `KafkaError` if the server's answer is wrong; another try would get the same answer, so that is final.
    """
    mechanism = settings.mechanism
    if mechanism == "PLAIN":
        return _plain(settings)
    if mechanism == "OAUTHBEARER":
        return _bearer(settings)
    if mechanism == "GSSAPI":
        return _kerberos(settings, host)
    return _scram(settings, "sha256" if mechanism == "SCRAM-SHA-256" else "sha512")


def said(text: str | None, sent: bytes) -> str | None:
    r"""Return what a broker says of a login, without the secret in what it was sent first.

    >>> said("me may not log in with sesame", b"\0me\0sesame")
    'me may not log in with ***'
    >>> said("no such token: abcdef", b"n,,\1auth=Bearer abcdef\1\1")
    'no such token: ***'
    """
    first = sent.decode(errors="replace")
    bearer = first.partition("auth=Bearer ")[2].partition("\1")[0]
    secret = bearer or (first.rpartition("\0")[2] if first.startswith("\0") else "")
    # One of a letter or two stands in any text.
    return text.replace(secret, "***") if text and len(secret) > 3 else text


def _plain(settings: Settings) -> Steps:
    yield f"\0{settings.username}\0{settings.password}".encode()


def _scram(settings: Settings, digest: str) -> Steps:
    """Prove by RFC 5802 that both sides know the password, without sending it."""
    assert settings.username is not None
    assert settings.password is not None
    name = settings.username.replace("=", "=3D").replace(",", "=2C")
    nonce = secrets.token_urlsafe(24)
    first = f"n={name},r={nonce}"
    answer = yield f"n,,{first}".encode()
    fields = _fields(answer)
    try:
        whole, salt, rounds = fields["r"], base64.b64decode(fields["s"], validate=True), int(fields["i"])
    except (KeyError, ValueError):
        raise login_failed("SCRAM: the server's first message is not one of SCRAM") from None
    if "m" in fields:
        raise login_failed("SCRAM: the server wants an extension that is not known")
    if not whole.startswith(nonce) or len(whole) == len(nonce):
        raise login_failed("SCRAM: the server's nonce does not begin with the client's")
    if not _ROUNDS[0] <= rounds <= _ROUNDS[1]:
        raise login_failed(f"SCRAM: the server asks for {rounds} rounds")
    salted = hashlib.pbkdf2_hmac(digest, settings.password.encode(), salt, rounds)
    last = f"c=biws,r={whole}"
    signed = ",".join((first, answer.decode(), last)).encode()

    def sign(key: bytes, text: bytes) -> bytes:
        return hmac.new(key, text, digest).digest()

    key = sign(salted, b"Client Key")
    signature = sign(hashlib.new(digest, key).digest(), signed)
    proof = bytes(a ^ b for a, b in zip(key, signature, strict=True))
    fields = _fields((yield f"{last},p={base64.b64encode(proof).decode()}".encode()))
    if "e" in fields:
        raise login_failed(f"SCRAM: the server refuses: {one_line(fields['e'])}")
    expected = base64.b64encode(sign(sign(salted, b"Server Key"), signed)).decode()
    if not hmac.compare_digest(fields.get("v", "").encode(), expected.encode()):
        raise login_failed("SCRAM: the server does not know the password")


def _fields(answer: bytes) -> dict[str, str]:
    try:
        parts = [part.partition("=") for part in answer.decode().split(",")]
    except UnicodeDecodeError:
        raise login_failed("SCRAM: the server's message is not text") from None
    return {name: value for name, equals, value in parts if equals}


def _bearer(settings: Settings) -> Steps:
    extensions = settings.oauth_extensions
    if settings.oauth_cb is None:
        token = _oidc_token(settings)
    else:
        token, more = _called_token(settings)
        extensions += more
    parts = ["n,,", f"auth=Bearer {token}", *extensions, "", ""]
    answer = yield "\x01".join(parts).encode()
    if answer:
        # The server says in JSON what was wrong, and wants a last byte before it fails.
        yield b"\x01"


def _called_token(settings: Settings) -> tuple[str, tuple[str, ...]]:
    """Return the token and the extensions of what `oauth_cb` returns, which may be all that confluent-kafka takes."""
    assert settings.oauth_cb is not None
    try:
        found = settings.oauth_cb(settings.oauth_config)
    except Exception as error:
        # Of the user's function; its text may hold what it was given.
        raise KafkaError(f"oauth_cb failed with {type(error).__name__}") from error
    parts = list(found) if isinstance(found, (tuple, list)) else [found]
    if not parts or not is_token(parts[0]):
        raise ConfigError("oauth_cb returns no token")
    named = parts[3] if len(parts) > 3 and parts[3] is not None else {}
    if not isinstance(named, Mapping):
        raise ConfigError("oauth_cb returns extensions that are no mapping")
    return parts[0], tuple(extension(*each) for each in named.items())


def _oidc_token(settings: Settings) -> str:
    """Ask for a token with the client's credentials (RFC 6749, 4.4), which go to no other place than the endpoint."""
    assert settings.oauth_url is not None
    form = {"grant_type": "client_credentials"}
    if settings.oauth_scope is not None:
        form["scope"] = settings.oauth_scope
    headers = {
        "Authorization": basic(f"{settings.oauth_client}:{settings.oauth_secret}"),
        "Accept": "application/json",
        "Content-Type": "application/x-www-form-urlencoded",
    }
    place = _endpoint(settings.oauth_url)
    context = settings.tls() if place.scheme == "https" else None
    target = place._replace(scheme="", netloc="", fragment="").geturl() or "/"
    connections = Connections(f"{place.scheme}://{place.netloc}", context, None, _MAX_BYTES)
    try:
        answer = connections.request(
            "POST", target, headers, urlencode(form).encode(), settings.request_timeout_ms / 1000
        )
    except ssl.SSLCertVerificationError as error:
        raise login_failed(f"no token from {place.hostname}: {one_line(error.verify_message)}") from None
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise KafkaError(f"no token from {place.hostname}: {type(error).__name__}") from None
    finally:
        connections.close()
    if not 200 <= answer.status < 300:
        may_pass = answer.status >= 500 or answer.status in _MAY_PASS
        text = f"no token from {place.hostname}: it answers {answer.status}"
        raise KafkaError(text) if may_pass else login_failed(text)
    try:
        return read_token(answer.body)[0]
    except ValueError:
        raise login_failed(f"no token from {place.hostname}: it answers with none") from None


def _endpoint(url: str) -> SplitResult:
    """Return the parts of the address of an endpoint; `ConfigError` if it is none."""
    try:
        place = urlsplit(url)
        if place.scheme in ("http", "https") and place.hostname and place.port != 0:
            return place
    except ValueError:
        pass
    raise ConfigError("sasl.oauthbearer.token.endpoint.url is not http(s)://host[:port]/path")


def _kerberos(settings: Settings, host: str) -> Steps:
    try:
        import gssapi
    except ImportError:
        raise ConfigError("sasl.mechanism=GSSAPI needs gssapi: pip install gssapi") from None
    try:
        name = gssapi.Name(f"{settings.kerberos_service}@{host}", gssapi.NameType.hostbased_service)
        context: Any = gssapi.SecurityContext(name=name, usage="initiate")
        token = context.step(None)
        while not context.complete:
            answer = yield token or b""
            token = context.step(answer)
        answer = yield token or b""
        # RFC 4752: the server offers layers of security and a size; the client takes none, and says who it is.
        offered = context.unwrap(answer).message
        if len(offered) != 4 or not offered[0] & 1:
            raise login_failed("GSSAPI: the server wants a layer of security")
        yield context.wrap(b"\x01" + offered[1:] + str(context.initiator_name).encode(), False).message
    except gssapi.exceptions.GSSError as error:
        raise login_failed(f"GSSAPI: {one_line(error)}") from error

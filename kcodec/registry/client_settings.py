"""Where a registry is and how it is asked: addresses with their credentials, and the settings of Confluent's client."""

import base64
import html
import pickle
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, TypeVar
from urllib.parse import unquote, urlsplit, urlunsplit

from kcodec.errors import ConfigError, near

_Handle = TypeVar("_Handle")

_USER_INFO = "basic.auth.user.info"
_SOURCE = "basic.auth.credentials.source"
_BEARER = "bearer.auth."
_BEARER_SOURCE = f"{_BEARER}credentials.source"

#: Every setting, and its type where it is a number.
_KNOWN: dict[str, type | None] = {
    _USER_INFO: None,
    _BEARER_SOURCE: None,
    "bearer.auth.token": None,
    "bearer.auth.logical.cluster": None,
    "bearer.auth.identity.pool.id": None,
    "bearer.auth.client.id": None,
    "bearer.auth.client.secret": None,
    "bearer.auth.scope": None,
    "bearer.auth.issuer.endpoint.url": None,
    "bearer.auth.issuer.endpoint.query": None,
    "bearer.auth.custom.provider.function": None,
    "bearer.auth.custom.provider.config": None,
    "ssl.ca.location": None,
    "ssl.certificate.location": None,
    "ssl.key.location": None,
    "ssl.key.password": None,
    "proxy": None,
    "timeout": float,
    "max.retries": int,
    "retries.wait.ms": int,
    "retries.max.wait.ms": int,
    "cache.capacity": int,
    "cache.latest.ttl.sec": int,
    "max.response.bytes": int,
}

#: Settings that have no part of one; times may have.
_COUNTS = ("max.retries", "cache.capacity", "max.response.bytes")

#: What the settings of Java's client are called here.
_JAVA = {
    "ssl.truststore.location": "ssl.ca.location, a PEM file (keytool -exportcert -rfc)",
    "ssl.truststore.certificates": "ssl.ca.location, a PEM file",
    "ssl.truststore.password": "ssl.ca.location, a PEM file, which has none",
    "ssl.truststore.type": "ssl.ca.location, a PEM file",
    "ssl.keystore.location": "ssl.certificate.location and ssl.key.location, PEM files",
    "ssl.keystore.certificate.chain": "ssl.certificate.location, a PEM file",
    "ssl.keystore.key": "ssl.key.location, a PEM file",
    "ssl.keystore.password": "ssl.key.password",
    "ssl.keystore.type": "ssl.certificate.location and ssl.key.location, PEM files",
    "ssl.endpoint.identification.algorithm": "ssl.ca.location",
    "http.connect.timeout.ms": "timeout, in seconds",
    "http.read.timeout.ms": "timeout, in seconds",
    "proxy.host": "proxy, http://host:port",
    "proxy.port": "proxy, http://host:port",
    "max.schemas.per.subject": "cache.capacity",
    "schema.registry.basic.auth.user.info": _USER_INFO,
}

_SECRET = re.compile(r"user\.info|password|secret|token|proxy")
#: What stands after the name of a way to authenticate is a credential, whoever's it is.
_AUTHORIZATION = re.compile(r"\b(?i:basic|bearer)(?:\s+|%20|\+)(?=\S+[\dA-Z=+/])[\w+/=.~%-]{6,}")


class Address(NamedTuple):
    """One address of a registry, without and with its credentials."""

    url: str
    user_info: str | None = None


def addresses(url: str, config: Mapping[str, Any]) -> tuple[Address, ...]:
    """Return the addresses that a URL lists, each with the credentials that go there and nowhere else."""
    found = []
    for address in url.split(","):
        try:
            parts = urlsplit(address.strip())
            known = (
                parts.scheme in ("http", "https")
                and parts.hostname is not None
                and parts.port != 0
                and not parts.query
                and not parts.fragment
            )
        except ValueError:
            known = False
        if not known:
            raise ConfigError("the address of a registry is not http(s)://host[:port][/path]")
        place, at, host = parts.netloc.rpartition("@")
        found.append(Address(urlunsplit(parts._replace(netloc=host)), unquote(place) if at else None))
    given = config.get(_USER_INFO)
    users = [each.user_info for each in found]
    if given is not None:
        if any(user is not None for user in users):
            raise ConfigError(f"credentials in the address and in {_USER_INFO}")
        found = [Address(each.url, given) for each in found]
    elif None in users and any(user is not None for user in users):
        raise ConfigError(
            "some addresses of the registry have credentials and some have none: give each its own, or "
            f"{_USER_INFO} for all of them"
        )
    for each in found:
        if each.user_info is not None and ":" not in each.user_info:
            raise ConfigError(f"{_USER_INFO} is not text of the form user:password")
    return tuple(found)


def checked(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return a configuration with its numbers as such; an unknown setting is a `ConfigError` that names the nearest."""
    settings = dict(config)
    if "url" in settings:
        raise ConfigError("the address of a registry is not part of its configuration")
    # Java's client has to be told which of the two places to look at; this one looks at both.
    if settings.get(_SOURCE) in ("URL", "USER_INFO"):
        del settings[_SOURCE]
    for name, value in list(settings.items()):
        if name not in _KNOWN:
            raise ConfigError(_unknown(str(name)))
        if _KNOWN[name] is not None:
            settings[name] = number(name, value)
    if not isinstance(settings.get(_USER_INFO, ""), str):
        raise ConfigError(f"{_USER_INFO} is not text of the form user:password")
    if not isinstance(settings.get("proxy", ""), str):
        raise ConfigError("proxy is not text of the form http://host:port")
    if _USER_INFO in settings and settings.get(_BEARER_SOURCE):
        raise ConfigError(f"both {_USER_INFO} and {_BEARER_SOURCE}")
    for name, value in settings.items():
        if name.startswith(_BEARER) and value is not None and settings.get(_BEARER_SOURCE) is None:
            raise ConfigError(
                f"{name} needs {_BEARER_SOURCE}: STATIC_TOKEN, OAUTHBEARER, OAUTHBEARER_AZURE_IMDS or CUSTOM"
            )
    return settings


def plain_name(name: str) -> str | None:
    """Return the name of a registry's setting as `checked` or Java's client knows it; None for other names.

    >>> plain_name("schema.registry.basic.auth.user.info"), plain_name("use.latest.version")
    ('basic.auth.user.info', None)
    """
    plain = name.removeprefix("schema.registry.")
    return plain if plain in _KNOWN or plain in _JAVA or plain == _SOURCE else None


def _unknown(name: str) -> str:
    if name == _SOURCE:
        return f"{_SOURCE} is neither URL nor USER_INFO"
    plain = name.removeprefix("schema.registry.")
    if plain in _JAVA or name in _JAVA:
        return f"unknown setting of a registry {name!r}: here it is {_JAVA.get(plain) or _JAVA[name]}"
    hint = near(plain, _KNOWN) or f"; known are {', '.join(_KNOWN)}"
    return f"unknown setting of a registry {name!r}{hint}"


def number(name: str, value: Any) -> Any:
    """Return the value of a setting that is a number, which may be text, in the bounds of that setting.

    >>> number("max.retries", "3"), number("timeout", None)
    (3, None)
    >>> number("max.retries", 2.5)
    Traceback (most recent call last):
    kcodec.errors.ConfigError: max.retries=2.5 is not a whole number
    """
    if value is None:
        return None
    kind = _KNOWN[name]
    assert kind is not None
    try:
        near_it = float(value)
        found = value if isinstance(value, float) or name in _COUNTS else kind(value)
    except (ValueError, TypeError, OverflowError):
        raise ConfigError(f"{name}={value!r} is not a number") from None
    if name in _COUNTS:
        found = _whole(value)
        if found != near_it:
            raise ConfigError(f"{name}={value!r} is not a whole number")
    if not 0 <= found < 1 << 31 or (name in ("timeout", "max.response.bytes") and not found):
        raise ConfigError(f"{name}={value!r} is out of range")
    return found


def _whole(value: Any) -> int | None:
    try:
        return int(value)
    except (ValueError, OverflowError):
        return None


class Redaction:
    """What takes credentials out of texts, in each form that a server or a library may repeat them in.

    The name of a user is none: a server that refuses something says to whom.

    >>> redaction = Redaction({"basic.auth.user.info": "me:sesame"}, [])
    >>> redaction("no sesame for Authorization: Basic bWU6c2VzYW1l")
    'no *** for Authorization: ***'
    >>> redaction("User me is denied operation write")
    'User me is denied operation write'
    """

    def __init__(self, config: Mapping[str, Any], users: Iterable[str | None]) -> None:
        secrets: set[str] = {user for user in users if user}
        for name, value in config.items():
            if isinstance(value, str) and value and _SECRET.search(name):
                secrets.add(
                    unquote(value.rpartition("@")[0].rpartition("/")[2]) if name == "proxy" else value
                )
        secrets = {each for each in secrets if each.strip("=")}
        # The password of a user; one of a letter or two stands in any text.
        secrets |= {each.partition(":")[2] for each in secrets if len(each.partition(":")[2]) > 3}
        forms = set(secrets)
        for secret in secrets:
            if len(secret) > 3:
                raw = secret.encode()
                forms |= {base64.b64encode(raw).decode(), base64.urlsafe_b64encode(raw).decode(), raw.hex()}
        longest_first = sorted(forms, key=len, reverse=True)
        self._known = re.compile("|".join(map(_pattern, longest_first))) if forms else None

    def __call__(self, message: object) -> str:
        """Return the text without credentials."""
        text = _AUTHORIZATION.sub("***", str(message))
        return text if self._known is None else self._known.sub("***", text)


def _pattern(secret: str) -> str:
    """Return a pattern that finds a text even if some characters are escaped, as in addresses, HTML, JSON or Python."""
    found = []
    for each in secret.rstrip("="):
        number = ord(each)
        forms = {
            each,
            html.escape(each),
            f"\\u{number:04x}",
            f"\\x{number:02x}",
            f"&#{number};",
            f"&#x{number:x};",
        }
        forms |= {"".join(f"%{byte:02X}" for byte in each.encode()), ascii(each)[1:-1], f"\\{each}"}
        forms |= {form.lower() for form in forms if form[0] == "%"} | ({"+"} if each == " " else set())
        found.append("(?:" + "|".join(map(re.escape, sorted(forms, key=len, reverse=True))) + ")")
    return "".join(found) + "(?:=|%3D|%3d)*"


def pickled(
    handle: type[_Handle], *given: Any
) -> tuple[Callable[[type[_Handle], bytes], _Handle], tuple[type[_Handle], bytes]]:
    """Return what ``__reduce__`` of a handle returns: it is made again of what was given.

    Credentials are not legible in the bytes.
    """
    return _unpickled, (handle, base64.b85encode(pickle.dumps(given)))


def _unpickled(handle: type[_Handle], given: bytes) -> _Handle:
    return handle(*pickle.loads(base64.b85decode(given)))

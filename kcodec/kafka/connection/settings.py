"""The settings of clients, under the names that librdkafka and Java's clients have for them."""

import logging
import re
import ssl
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from kcodec.arguments import Servers
from kcodec.contracts.settings import is_rule_setting
from kcodec.errors import ConfigError, near
from kcodec.protocol.batch.compression import CODECS

__all__ = ["Settings"]

logger = logging.getLogger(__name__)

_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER", "GSSAPI")
_INT32 = (1 << 31) - 1
#: Bytes of the longest text of Kafka's requests.
_LONGEST = (1 << 15) - 1
_JAAS = re.compile(r"""(\w+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|([^\s;]+))""")


class _Key(NamedTuple):
    """Where a setting goes, and how its value is read."""

    field: str
    read: Callable[[str, Any], Any]


def _text(name: str, value: Any) -> str:
    # Variables of the environment may be other bytes.
    if not isinstance(value, str) or any("\ud800" <= each <= "\udfff" for each in value):
        raise ConfigError(f"{name} is not text")
    return value


def _number(low: int, high: int = _INT32) -> Callable[[str, Any], int]:
    def read(name: str, value: Any) -> int:
        number = None
        with suppress(TypeError, ValueError, OverflowError):
            # Nothing is cut off what is no whole number.
            if not isinstance(value, bool) and (isinstance(value, str) or value == int(value)):
                number = int(value)
        if number is None or not low <= number <= high:
            raise ConfigError(f"{name}={value!r} is not a number within {low} and {high}")
        return number

    return read


def _level(name: str, value: Any) -> int | None:
    number = _number(-(1 << 17), 22)(name, value)
    # librdkafka's name for that of the codec.
    return None if number == -1 else number


def _flag(name: str, value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.strip().lower() in ("true", "false", "1", "0"):
        return value.strip().lower() in ("true", "1")
    raise ConfigError(f"{name}={value!r} is not true or false")


def _choice(*choices: str, upper: bool = False) -> Callable[[str, Any], str]:
    def read(name: str, value: Any) -> str:
        text = str(value).strip()
        text = text.upper() if upper else text.lower()
        if text not in choices:
            raise ConfigError(f"{name}={value!r} is not one of {', '.join(choices)}")
        return text

    return read


def _acks(name: str, value: Any) -> int:
    text = str(value).strip().lower()
    if text not in ("all", "-1", "0", "1"):
        raise ConfigError(f"{name}={value!r} is not one of all, -1, 0, 1")
    return -1 if text == "all" else int(text)


def _reset(name: str, value: Any) -> str:
    found = {
        "none": "error", "error": "error", "earliest": "earliest", "smallest": "earliest",
        "beginning": "earliest", "latest": "latest", "largest": "latest", "end": "latest",
    }.get(str(value).strip().lower())  # fmt: skip
    if found is None:
        raise ConfigError(f"{name}={value!r} is not one of error, earliest, latest")
    return found


def _callable(name: str, value: Any) -> Any:
    if not callable(value):
        raise ConfigError(f"{name} is not a function")
    return value


def _identification(name: str, value: Any) -> bool:
    text = str(value).strip().lower()
    if text not in ("https", "none", ""):
        raise ConfigError(f"{name}={value!r} is not https or none")
    return text == "https"


def _pem(name: str, value: Any) -> str:
    if str(value).strip().upper() != "PEM":
        raise ConfigError(f"{name}={value!r}: only PEM is read; `keytool` and `openssl` convert others to it")
    return "PEM"


def extension(name: Any, value: Any) -> str:
    """Return an extension of a token's login (RFC 7628) as it is sent; `ConfigError` if it is none.

    >>> extension("logicalCluster", "lkc-1")
    'logicalCluster=lkc-1'
    """
    if not (isinstance(name, str) and name.isascii() and name.isalpha() and name != "auth"):
        raise ConfigError(f"an extension of OAUTHBEARER has a name of letters that is not auth, not {name!r}")
    if not (isinstance(value, str) and value and value.isascii() and value.isprintable()):
        raise ConfigError(f"the extension {name} of OAUTHBEARER is not some text of printable ASCII")
    return f"{name}={value}"


def _extensions(name: str, value: Any) -> tuple[str, ...]:
    parts = [part.strip().partition("=") for part in _text(name, value).split(",") if part.strip()]
    return tuple(extension(key.strip(), text.strip()) for key, _, text in parts)


def _keys() -> dict[str, _Key]:
    """Return every setting that is understood: first the names of both, then librdkafka's, then Java's."""
    size, milliseconds = _number(1), _number(0)
    mechanism = _Key("mechanism", _choice(*_MECHANISMS, upper=True))
    request_timeout = _Key("request_timeout_ms", _number(1))
    delivery_timeout = _Key("delivery_ms", _number(1))
    fetch_wait = _Key("fetch_wait_ms", milliseconds)
    metadata_age = _Key("metadata_age_ms", _number(1))
    partition_bytes = _Key("partition_bytes", size)
    in_flight = _Key("in_flight", _number(1, 5))
    codec = _Key("codec", _choice(*CODECS))
    acks = _Key("acks", _acks)
    ca, certificate, key = (_Key(name, _text) for name in ("ca_file", "certificate_file", "key_file"))
    key_password = _Key("key_password", _text)
    return {
        "bootstrap.servers": _Key("servers", _text),
        "client.id": _Key("client_id", _text),
        "client.rack": _Key("rack", _text),
        "security.protocol": _Key("protocol", _choice(*_PROTOCOLS, upper=True)),
        "sasl.mechanism": mechanism,
        "sasl.mechanisms": mechanism,
        "sasl.username": _Key("username", _text),
        "sasl.password": _Key("password", _text),
        "sasl.jaas.config": _Key("jaas", _text),
        "sasl.kerberos.service.name": _Key("kerberos_service", _text),
        "oauth_cb": _Key("oauth_cb", _callable),
        "sasl.oauthbearer.config": _Key("oauth_config", _text),
        "sasl.oauthbearer.method": _Key("oauth_method", _choice("default", "oidc")),
        "sasl.oauthbearer.client.id": _Key("oauth_client", _text),
        "sasl.oauthbearer.client.secret": _Key("oauth_secret", _text),
        "sasl.oauthbearer.scope": _Key("oauth_scope", _text),
        "sasl.oauthbearer.extensions": _Key("oauth_extensions", _extensions),
        "sasl.oauthbearer.token.endpoint.url": _Key("oauth_url", _text),
        "ssl.ca.location": ca,
        "ssl.truststore.location": ca,
        "ssl.truststore.type": _Key("store_type", _pem),
        "ssl.ca.pem": _Key("ca_pem", _text),
        "ssl.truststore.certificates": _Key("ca_pem", _text),
        "ssl.certificate.location": certificate,
        "ssl.keystore.location": certificate,
        "ssl.keystore.type": _Key("store_type", _pem),
        "ssl.key.location": key,
        "ssl.key.password": key_password,
        "ssl.endpoint.identification.algorithm": _Key("check_host", _identification),
        "enable.ssl.certificate.verification": _Key("verify", _flag),
        "ssl.cipher.suites": _Key("ciphers", _text),
        "request.timeout.ms": request_timeout,
        "socket.timeout.ms": request_timeout,
        "socket.connection.setup.timeout.ms": _Key("connect_timeout_ms", _number(1)),
        "default.api.timeout.ms": _Key("timeout_ms", _number(1)),
        "delivery.timeout.ms": delivery_timeout,
        "message.timeout.ms": delivery_timeout,
        "metadata.max.age.ms": metadata_age,
        "topic.metadata.refresh.interval.ms": metadata_age,
        "retry.backoff.ms": _Key("backoff_ms", milliseconds),
        "retry.backoff.max.ms": _Key("max_backoff_ms", milliseconds),
        "fetch.max.bytes": _Key("fetch_bytes", size),
        "max.partition.fetch.bytes": partition_bytes,
        "fetch.message.max.bytes": partition_bytes,
        "fetch.min.bytes": _Key("fetch_min_bytes", size),
        "fetch.max.wait.ms": fetch_wait,
        "fetch.wait.max.ms": fetch_wait,
        "receive.message.max.bytes": _Key("receive_bytes", size),
        "check.crcs": _Key("check_crcs", _flag),
        "isolation.level": _Key("isolation", _choice("read_committed", "read_uncommitted")),
        "auto.offset.reset": _Key("reset", _reset),
        "group.id": _Key("group", _text),
        "acks": acks,
        "request.required.acks": acks,
        "enable.idempotence": _Key("idempotent", _flag),
        "max.in.flight.requests.per.connection": in_flight,
        "max.in.flight": in_flight,
        "compression.type": codec,
        "compression.codec": codec,
        "compression.level": _Key("level", _level),
        "batch.size": _Key("batch_bytes", size),
        "max.request.size": _Key("request_bytes", size),
        "message.max.bytes": _Key("request_bytes", size),
        "transactional.id": _Key("transactional_id", _text),
        "transaction.timeout.ms": _Key("transaction_timeout_ms", _number(1)),
        "schema.registry.url": _Key("registry", _text),
    }


_KEYS = _keys()

#: Settings of librdkafka and of Java's clients that are taken and change nothing: there are no members of groups here,
#: threads, sockets and logs are others, and what confluent-kafka's callbacks are told is raised or returned.
_WITHOUT_MEANING = frozenset(
    [
        "session.timeout.ms",
        "heartbeat.interval.ms",
        "max.poll.interval.ms",
        "max.poll.records",
        "partition.assignment.strategy",
        "group.instance.id",
        "group.protocol",
        "auto.commit.interval.ms",
        "enable.partition.eof",
        "queued.min.messages",
        "queued.max.messages.kbytes",
        "fetch.error.backoff.ms",
        "linger.ms",
        "queue.buffering.max.ms",
        "queue.buffering.max.messages",
        "queue.buffering.max.kbytes",
        "batch.num.messages",
        "buffer.memory",
        "delivery.report.only.error",
        "sticky.partitioning.linger.ms",
        "client.dns.lookup",
        "broker.address.family",
        "broker.address.ttl",
        "connections.max.idle.ms",
        "reconnect.backoff.ms",
        "reconnect.backoff.max.ms",
        "socket.keepalive.enable",
        "socket.nagle.disable",
        "send.buffer.bytes",
        "receive.buffer.bytes",
        "socket.send.buffer.bytes",
        "socket.receive.buffer.bytes",
        "api.version.request",
        "api.version.request.timeout.ms",
        "api.version.fallback.ms",
        "broker.version.fallback",
        "statistics.interval.ms",
        "debug",
        "log_level",
        "log.connection.close",
        "logger",
        "error_cb",
        "stats_cb",
        "throttle_cb",
        "on_commit",
    ]
)
#: What takes the place of others.
_INSTEAD = {
    "enable.auto.commit": "none are committed but by `commit`",
    "enable.auto.offset.store": "none are committed but by `commit`",
    **dict.fromkeys(("key.deserializer", "key.serializer"), "give key="),
    **dict.fromkeys(("value.deserializer", "value.serializer"), "give value="),
    "partitioner": "records go where murmur2_random puts them, or into partition=",
    "partitioner.class": "records go where Java's producer puts them, or into partition=",
    "retries": "delivery.timeout.ms is how long it is tried",
    "message.send.max.retries": "delivery.timeout.ms is how long it is tried",
    "max.block.ms": "default.api.timeout.ms is how long it is tried",
    "ssl.truststore.password": "ssl.ca.location is a PEM file, which has none (keytool -exportcert -rfc)",
    "ssl.keystore.password": "the key is a PEM file, whose password is ssl.key.password",
    **dict.fromkeys(
        ("ssl.certificate.pem", "ssl.keystore.certificate.chain"),
        "ssl.certificate.location names a file of it",
    ),
    **dict.fromkeys(("ssl.key.pem", "ssl.keystore.key"), "ssl.key.location names a file of it"),
    **dict.fromkeys(
        ("sasl.kerberos.principal", "sasl.kerberos.keytab", "sasl.kerberos.kinit.cmd"),
        "tickets are those of Kerberos' own cache, which kinit fills",
    ),
    **dict.fromkeys(
        (
            "sasl.login.callback.handler.class",
            "sasl.client.callback.handler.class",
            "sasl.oauthbearer.metadata.authentication.type",
        ),
        "a function oauth_cb returns tokens, or sasl.oauthbearer.method=oidc asks for them",
    ),
}
#: Of the settings of registries those that Java's clients have beside their own.
_OF_REGISTRY = ("basic.auth.", "bearer.auth.")


@dataclass(frozen=True)
class Settings:
    """Settings of a client, checked. Credentials are not shown.

    >>> Settings.of({"bootstrap.servers": "a:9092,b", "sasl.password": "sesame"}).addresses
    (('a', 9092), ('b', 9092))
    >>> Settings.of({"bootstrap.server": "a:9092"})
    Traceback (most recent call last):
    kcodec.errors.ConfigError: unknown setting 'bootstrap.server': did you mean 'bootstrap.servers'?
    """

    servers: str = ""
    client_id: str = "kcodec"
    rack: str = ""
    protocol: str = "PLAINTEXT"
    mechanism: str | None = None
    username: str | None = field(default=None, repr=False)
    password: str | None = field(default=None, repr=False)
    kerberos_service: str = "kafka"
    oauth_cb: Callable[[str], Any] | None = field(default=None, repr=False)
    oauth_config: str = field(default="", repr=False)
    oauth_method: str = "default"
    oauth_client: str | None = field(default=None, repr=False)
    oauth_secret: str | None = field(default=None, repr=False)
    oauth_scope: str | None = None
    oauth_extensions: tuple[str, ...] = field(default=(), repr=False)
    oauth_url: str | None = field(default=None, repr=False)
    store_type: str = "PEM"
    ca_file: str | None = None
    ca_pem: str | None = field(default=None, repr=False)
    certificate_file: str | None = None
    key_file: str | None = None
    key_password: str | None = field(default=None, repr=False)
    check_host: bool = True
    verify: bool = True
    ciphers: str | None = None
    request_timeout_ms: int = 30_000
    connect_timeout_ms: int = 10_000
    timeout_ms: int = 60_000
    delivery_ms: int | None = None
    metadata_age_ms: int = 300_000
    backoff_ms: int = 100
    max_backoff_ms: int = 1_000
    fetch_bytes: int = 16 << 20
    partition_bytes: int = 8 << 20
    fetch_min_bytes: int = 1
    fetch_wait_ms: int = 500
    receive_bytes: int = 100_000_000
    check_crcs: bool = True
    isolation: str = "read_committed"
    reset: str = "error"
    group: str | None = None
    acks: int = -1
    idempotent: bool | None = None
    in_flight: int = 5
    codec: str | None = None
    level: int | None = None
    batch_bytes: int = 500_000
    request_bytes: int = 1 << 19
    transactional_id: str | None = None
    transaction_timeout_ms: int = 60_000
    registry: str | None = field(default=None, repr=False)
    registry_config: tuple[tuple[str, Any], ...] = field(default=(), repr=False)
    rules: tuple[tuple[str, Any], ...] = field(default=(), repr=False)

    @classmethod
    def of(
        cls, config: Mapping[str, Any] | None = None, servers: "Servers | None" = None, **given: Any
    ) -> "Settings":
        """Check settings; `servers` are addresses beside them, `given` further fields, None for those that are not.

        Raise `ConfigError` for an unknown name, with the nearest known one, and for an invalid value. Settings of a
        schema registry have the prefix ``schema.registry.``, which ``basic.auth.`` and ``bearer.auth.`` may do without;
        those of rules are for serdes that have none of their own.
        """
        if config is not None and not isinstance(config, Mapping):
            raise ConfigError(f"config is a mapping of settings, not {type(config).__name__}")
        found: dict[str, Any] = {}
        names: dict[str, str] = {}
        registry, rules = [], []
        for name, value in (config or {}).items():
            if is_rule_setting(name):
                rules.append((name, value))
                continue
            key = _KEYS.get(name)
            if key is None:
                if isinstance(name, str) and name.startswith(("schema.registry.", *_OF_REGISTRY)):
                    registry.append((name.removeprefix("schema.registry."), value))
                    continue
                if name in _WITHOUT_MEANING:
                    continue
                if name in _INSTEAD:
                    if name.startswith("enable.auto.") and not _flag(name, value):
                        continue
                    if name == "partitioner" and value == "murmur2_random":
                        continue
                    raise ConfigError(f"unknown setting {name!r}: {_INSTEAD[name]}")
                raise ConfigError(f"unknown setting {name!r}{near(str(name), (*_KEYS, *_WITHOUT_MEANING))}")
            read = key.read(name, value)
            if key.field in found and found[key.field] != read:
                raise ConfigError(f"{names[key.field]} and {name} contradict each other")
            found[key.field], names[key.field] = read, name
        _read_jaas(found)
        for name, value in given.items():
            if value is not None:
                found[name] = value
        if servers is not None:
            try:
                text = servers if isinstance(servers, str) else ",".join(servers)
            except TypeError:
                raise ConfigError(f"servers={servers!r} is neither text nor a list of it") from None
            if found.get("servers", text) != text:
                raise ConfigError("servers= and bootstrap.servers contradict each other")
            found["servers"] = text
        made = cls(**found, registry_config=tuple(registry), rules=tuple(rules))
        made._check()
        if "protocol" not in found and (made.mechanism is not None or made.certificate_file is not None):
            logger.warning(
                "%s changes nothing without security.protocol, which is PLAINTEXT",
                names.get("mechanism") or names.get("certificate_file"),
            )
        return made

    def _check(self) -> None:
        if not self.addresses:
            raise ConfigError("no servers are given: servers='host:9092', on the command line -b host:9092")
        for name, value in (
            ("client.id", self.client_id), ("client.rack", self.rack), ("group.id", self.group),
            ("transactional.id", self.transactional_id),
        ):  # fmt: skip
            if value is not None and len(_text(name, value).encode()) > _LONGEST:
                raise ConfigError(f"{name} has more than {_LONGEST} bytes")
        if self.key_file is not None and self.certificate_file is None:
            raise ConfigError("ssl.key.location needs ssl.certificate.location")
        if self.protocol.startswith("SASL"):
            if self.mechanism is None:
                raise ConfigError(f"security.protocol={self.protocol} needs sasl.mechanism")
            if self.mechanism in ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512") and (
                self.username is None or self.password is None
            ):
                raise ConfigError(f"sasl.mechanism={self.mechanism} needs sasl.username and sasl.password")
            if self.mechanism == "OAUTHBEARER" and self.oauth_cb is None and self.oauth_method != "oidc":
                raise ConfigError("sasl.mechanism=OAUTHBEARER needs oauth_cb or sasl.oauthbearer.method=oidc")
            if (
                self.mechanism == "OAUTHBEARER"
                and self.oauth_method == "oidc"
                and (self.oauth_client is None or self.oauth_secret is None or self.oauth_url is None)
            ):
                names = ("client.id", "client.secret", "token.endpoint.url")
                raise ConfigError(f"oidc needs {', '.join('sasl.oauthbearer.' + name for name in names)}")
        if self.transactional_id is not None and self.idempotent is False:
            raise ConfigError("transactional.id needs enable.idempotence")
        if self.is_idempotent and self.acks != -1:
            raise ConfigError("enable.idempotence needs acks=all")

    @property
    def is_idempotent(self) -> bool:
        """Whether a batch that is sent again is not written twice: unless it was asked for otherwise."""
        return self.acks == -1 if self.idempotent is None else self.idempotent

    @property
    def compression(self) -> str:
        """The codec of batches that are written."""
        return self.codec or "zstd"

    @property
    def delivery_timeout_ms(self) -> int:
        """Time within which a batch has to be written; by default that of all other calls."""
        return self.timeout_ms if self.delivery_ms is None else self.delivery_ms

    @property
    def addresses(self) -> tuple[tuple[str, int], ...]:
        """Host and port of each server."""
        return tuple(_address(each) for each in self.servers.split(",") if each.strip())

    @property
    def is_encrypted(self) -> bool:
        """Whether connections have TLS."""
        return self.protocol in ("SSL", "SASL_SSL")

    def tls(self) -> ssl.SSLContext:
        """Make the context of TLS connections."""
        try:
            context = ssl.create_default_context(cafile=self.ca_file, cadata=self.ca_pem)
            if self.certificate_file is not None:
                context.load_cert_chain(
                    self.certificate_file, self.key_file, self.key_password or _no_password
                )
        except (ssl.SSLError, OSError, ValueError) as error:
            place = ", ".join(filter(None, (self.ca_file, self.certificate_file, self.key_file)))
            reason = str(error)
            if "PEM lib" in reason:
                # All that OpenSSL says of either.
                reason = "not a certificate and its key in PEM, or ssl.key.password is wrong"
            raise ConfigError(f"TLS ({place or 'certificates'}): {reason}") from None
        if self.ciphers is not None:
            try:
                context.set_ciphers(self.ciphers)
            except ssl.SSLError:
                names = "OpenSSL's names are taken, such as ECDHE-RSA-AES128-GCM-SHA256"
                raise ConfigError(f"ssl.cipher.suites={self.ciphers!r} has no cipher: {names}") from None
        context.check_hostname = self.check_host and self.verify
        if not self.verify:
            context.verify_mode = ssl.CERT_NONE
        return context


def _no_password() -> str:
    # Without this, OpenSSL would ask on the terminal.
    raise ValueError("the key is encrypted: ssl.key.password is needed")


def _address(text: str) -> tuple[str, int]:
    text = text.strip()
    # Java and librdkafka both take addresses with the protocol before them.
    text = text.rpartition("://")[2]
    host, colon, port = text.rpartition(":")
    if not colon or host.count(":") == 1 or (":" in host and not host.endswith("]")):
        host, port = text, "9092"
    if not host or not port.isdecimal() or len(port) > 20 or not 0 < int(port) < 65536:
        raise ConfigError(f"server {text!r} is not host:port")
    try:
        return host.strip("[]").encode("idna").decode() if host[0] != "[" else host[1:-1], int(port)
    except UnicodeError:
        raise ConfigError(f"server {text!r} is not host:port") from None


def _read_jaas(found: dict[str, Any]) -> None:
    """Take the user's name and password out of Java's ``sasl.jaas.config``."""
    text = found.pop("jaas", None)
    if text is None:
        return
    module = text.split(None, 1)[0].rpartition(".")[2] if text.strip() else ""
    options = {name: a or b or c for name, a, b, c in _JAAS.findall(text)}
    wanted = {
        "PlainLoginModule": (("username", "username"), ("password", "password")),
        "ScramLoginModule": (("username", "username"), ("password", "password")),
        "OAuthBearerLoginModule": (
            ("clientId", "oauth_client"), ("clientSecret", "oauth_secret"), ("scope", "oauth_scope"),
        ),
        "Krb5LoginModule": (("serviceName", "kerberos_service"),),
    }.get(module)  # fmt: skip
    if wanted is None:
        raise ConfigError(
            "sasl.jaas.config names none of the login modules of PLAIN, SCRAM, OAUTHBEARER and GSSAPI"
        )
    for name, place in wanted:
        if name in options:
            found.setdefault(place, re.sub(r"\\(.)", r"\1", options[name]))
    if module == "OAuthBearerLoginModule":
        start = "extension_"
        named = [(name[len(start) :], text) for name, text in options.items() if name.startswith(start)]
        found.setdefault("oauth_extensions", tuple(extension(*each) for each in named))
        if "oauth_url" in found:
            found.setdefault("oauth_method", "oidc")

"""Settings under the names of librdkafka and Java's clients."""

import pickle
import re
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from cases import cases
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.x509.oid import NameOID
from doc_pages import blocks

from kcodec.errors import ConfigError
from kcodec.kafka.connection.settings import Settings

SECRET = "hunter2-sesame"
MANAGED = Path(__file__).parents[3] / "docs" / "howto" / "managed.md"


def test_names_of_both():
    librdkafka = Settings.of(
        {
            "bootstrap.servers": "a:1",
            "security.protocol": "sasl_ssl",
            "sasl.mechanisms": "SCRAM-SHA-256",
            "sasl.username": "u",
            "sasl.password": SECRET,
            "socket.timeout.ms": "5000",
            "fetch.wait.max.ms": 7,
            "fetch.message.max.bytes": 1000,
            "compression.codec": "lz4",
            "max.in.flight": 2,
            "message.timeout.ms": 9,
        }
    )
    java = Settings.of(
        {
            "bootstrap.servers": "a:1",
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "SCRAM-SHA-256",
            "sasl.jaas.config": "org.apache.kafka.common.security.scram.ScramLoginModule required\n"
            f"  username=\"u\" password='{SECRET}';",
            "request.timeout.ms": 5000,
            "fetch.max.wait.ms": "7",
            "max.partition.fetch.bytes": "1000",
            "compression.type": "lz4",
            "max.in.flight.requests.per.connection": "2",
            "delivery.timeout.ms": 9,
        }
    )
    assert librdkafka == java
    assert (java.password, java.request_timeout_ms, java.codec) == (SECRET, 5000, "lz4")


def test_extensions_of_java():
    module = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required"
    jaas = f"{module} clientId='me' clientSecret='{SECRET}' extension_logicalCluster='lkc-1' extension_pool=\"p\";"
    login = {"security.protocol": "SASL_SSL", "sasl.mechanism": "OAUTHBEARER", "sasl.jaas.config": jaas}
    found = Settings.of(
        {**login, "sasl.oauthbearer.token.endpoint.url": "https://login.example/token"}, "b:2"
    )
    assert found.oauth_extensions == ("logicalCluster=lkc-1", "pool=p")


@cases(
    ("config", "message"),
    [
        ({"sasl.mechansim": "PLAIN"}, "unknown setting 'sasl.mechansim': did you mean 'sasl.mechanism'?"),
        ({"fetch.max.byte": 1}, "did you mean 'fetch.max.bytes'?"),
        ({"zzz": 1}, "unknown setting 'zzz'"),
        ({7: 1}, "unknown setting 7"),
        ({"acks": 2}, "acks=2 is not one of all, -1, 0, 1"),
        ({"fetch.max.bytes": "many"}, "fetch.max.bytes='many' is not a number within 1 and"),
        ({"fetch.max.bytes": True}, "fetch.max.bytes=True is not a number"),
        ({"max.in.flight": 6}, "is not a number within 1 and 5"),
        ({"check.crcs": "maybe"}, "check.crcs='maybe' is not true or false"),
        (
            {"security.protocol": "TLS"},
            "security.protocol='TLS' is not one of PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL",
        ),
        ({"security.protocol": "SASL_SSL"}, "security.protocol=SASL_SSL needs sasl.mechanism"),
        (
            {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN"},
            "needs sasl.username and sasl.password",
        ),
        ({"security.protocol": "SASL_SSL", "sasl.mechanism": "OAUTHBEARER"}, "needs oauth_cb or"),
        (
            {
                "security.protocol": "SASL_SSL",
                "sasl.mechanism": "OAUTHBEARER",
                "sasl.oauthbearer.method": "oidc",
            },
            "oidc needs sasl.oauthbearer.client.id",
        ),
        (
            {"sasl.mechanism": "PLAIN", "sasl.mechanisms": "GSSAPI"},
            "sasl.mechanism and sasl.mechanisms contradict",
        ),
        ({"auto.offset.reset": "sometimes"}, "is not one of error, earliest, latest"),
        ({"ssl.truststore.password": SECRET}, "ssl.ca.location is a PEM file, which has none"),
        ({"ssl.keystore.key": SECRET}, "ssl.key.location names a file of it"),
        ({"sasl.login.callback.handler.class": "a.B"}, "a function oauth_cb returns tokens"),
        ({"ssl.key.location": "key.pem"}, "ssl.key.location needs ssl.certificate.location"),
        ({"ssl.truststore.type": "JKS"}, "ssl.truststore.type='JKS': only PEM is read"),
        ({"bootstrap.servers": "a:1"}, "servers= and bootstrap.servers contradict"),
        (
            {"transactional.id": "x", "enable.idempotence": "false"},
            "transactional.id needs enable.idempotence",
        ),
        ({"enable.idempotence": "true", "acks": "1"}, "enable.idempotence needs acks=all"),
        ({"sasl.jaas.config": f"Nobody required password={SECRET};"}, "names none of the login modules"),
        ({"sasl.password": 7}, "sasl.password is not text"),
        ({"sasl.oauthbearer.extensions": "auth=x"}, "has a name of letters that is not auth, not 'auth'"),
        (
            {"sasl.oauthbearer.extensions": "a=b,logicalCluster"},
            "the extension logicalCluster of OAUTHBEARER",
        ),
        ({"oauth_cb": 7}, "oauth_cb is not a function"),
        ({"fetch.min.bytes": float("inf")}, "fetch.min.bytes=inf is not a number"),
        ({"fetch.min.bytes": 1.5}, "fetch.min.bytes=1.5 is not a number"),
        ({"client.id": "x" * 40_000}, "client.id has more than 32767 bytes"),
        ({"sasl.password": f"{SECRET}\udcff"}, "sasl.password is not text"),
    ],
)
def test_what_is_refused(config, message):
    with pytest.raises(ConfigError) as info:
        Settings.of(config, "b:2")
    assert message in str(info.value)
    assert SECRET not in str(info.value)


def test_settings_of_others_change_nothing():
    """Those of members of groups, and of clients that are made otherwise, as providers hand them out."""
    config = {
        "client.dns.lookup": "use_all_dns_ips",
        "session.timeout.ms": "45000",
        "enable.auto.commit": "false",
        "enable.auto.offset.store": False,
        "linger.ms": 5,
        "partitioner": "murmur2_random",
        "debug": "broker",
        "error_cb": print,
        "stats_cb": print,
        "logger": print,
    }
    assert Settings.of(config, "b:2") == Settings.of({}, "b:2")
    user = {"basic.auth.credentials.source": "USER_INFO", "basic.auth.user.info": f"me:{SECRET}"}
    registry = {"schema.registry.url": "http://r:1"}
    named = {f"schema.registry.{name}": value for name, value in user.items()}
    assert Settings.of({**registry, **user}, "b:2") == Settings.of({**registry, **named}, "b:2")
    assert SECRET not in repr(Settings.of(user, "b:2"))


@cases(
    ("name", "value", "reason"),
    [
        ("enable.auto.commit", True, "none are committed but by `commit`"),
        ("enable.auto.commit", "yes", "enable.auto.commit='yes' is not true or false"),
        ("value.deserializer", "org.apache.kafka.common.serialization.StringDeserializer", "give value="),
        ("partitioner", "consistent", "records go where murmur2_random puts them"),
        ("sasl.kerberos.keytab", "k", "which kinit fills"),
        ("sasl.oauthbearer.metadata.authentication.type", "azure_imds", "a function oauth_cb returns tokens"),
        ("max.block.ms", 5, "default.api.timeout.ms is how long it is tried"),
        ("session.timout.ms", 5, "did you mean 'session.timeout.ms'?"),
    ],
)
def test_what_takes_the_place_of_settings(name, value, reason):
    with pytest.raises(ConfigError, match=re.escape(reason)):
        Settings.of({name: value}, "b:2")


def test_the_level_of_the_codec():
    """librdkafka has -1 for it."""
    assert Settings.of({"compression.level": -1}, "b:2") == Settings.of({}, "b:2")
    assert Settings.of({"compression.level": "-2"}, "b:2").level == -2


@pytest.mark.parametrize("name", ["zookeeper.connect", "interceptor.classes", "log.dirs"])
def test_no_hint_where_nothing_is_near(name):
    with pytest.raises(ConfigError, match=f"^unknown setting '{name}'$"):
        Settings.of({name: 1}, "b:2")


@pytest.mark.parametrize("servers", [5, [5], object()])
def test_servers_that_are_none(servers):
    with pytest.raises(ConfigError, match="is neither text nor a list of it"):
        Settings.of({}, servers)


@pytest.mark.parametrize(
    ("text", "addresses"),
    [
        ("a:1", (("a", 1),)),
        ("a", (("a", 9092),)),
        ("PLAINTEXT://a:1, b:2,", (("a", 1), ("b", 2))),
        ("[::1]:5", (("::1", 5),)),
        ("[::1]", (("::1", 9092),)),
        (["a:1", "b:2"], (("a", 1), ("b", 2))),
        ("bücher.example:1", (("xn--bcher-kva.example", 1),)),
    ],
)
def test_addresses(text, addresses):
    assert Settings.of(servers=text).addresses == addresses


@cases("text", ["", ",", "a:0", "a:99999", "a:b", ":1", "a:" + "9" * 5000, None])
def test_addresses_that_are_none(text):
    with pytest.raises(ConfigError, match=r"is not host:port|no servers are given"):
        Settings.of(servers=text)


def test_credentials_are_not_shown():
    settings = Settings.of(
        {
            "sasl.username": SECRET,
            "sasl.password": SECRET,
            "ssl.key.password": SECRET,
            "ssl.ca.pem": SECRET,
            "sasl.oauthbearer.client.secret": SECRET,
            "sasl.oauthbearer.config": SECRET,
            "schema.registry.url": f"http://user:{SECRET}@host",
            "schema.registry.basic.auth.user.info": f"u:{SECRET}",
        },
        "a:1",
    )
    assert SECRET not in f"{settings} {settings!r}"
    assert pickle.loads(pickle.dumps(settings)) == settings


def test_certificates_that_are_none(tmp_path):
    bad = tmp_path / "ca.pem"
    bad.write_text("no certificate")
    for config in (
        {"ssl.ca.location": str(bad)},
        {"ssl.ca.location": str(tmp_path / "none")},
        {"ssl.ca.pem": "x"},
    ):
        with pytest.raises(ConfigError, match="TLS"):
            Settings.of({"security.protocol": "ssl", **config}, "a:1").tls()


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """Give the files of a certificate and of its key, whose password is `SECRET`."""
    folder = tmp_path_factory.mktemp("certificate")
    key, name = (
        ec.generate_private_key(ec.SECP256R1()),
        x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "x")]),
    )
    now = datetime.now(timezone.utc)
    made = x509.CertificateBuilder(name, name, key.public_key(), 1, now, now + timedelta(1)).sign(
        key, SHA256()
    )
    hidden = serialization.BestAvailableEncryption(SECRET.encode())
    form = serialization.PrivateFormat.PKCS8
    (folder / "key.pem").write_bytes(key.private_bytes(serialization.Encoding.PEM, form, hidden))
    (folder / "cert.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    return str(folder / "cert.pem"), str(folder / "key.pem")


def test_keys_and_ciphers(certificate):
    given = dict(zip(("ssl.certificate.location", "ssl.key.location"), certificate, strict=True))
    given["ssl.cipher.suites"] = "ECDHE-RSA-AES128-GCM-SHA256"

    def tls(**more):
        more = {name.replace("_", "."): value for name, value in more.items()}
        return Settings.of({"security.protocol": "ssl", **given, **more}, "a:1").tls()

    assert "ECDHE-RSA-AES128-GCM-SHA256" in {
        each["name"] for each in tls(ssl_key_password=SECRET).get_ciphers()
    }
    with pytest.raises(ConfigError, match=r"the key is encrypted: ssl\.key\.password is needed"):
        tls()
    with pytest.raises(
        ConfigError, match=r"not a certificate and its key in PEM, or ssl\.key\.password is wrong"
    ):
        tls(ssl_key_password="another")
    with pytest.raises(
        ConfigError, match=r"^ssl\.cipher\.suites='TLS_AES' has no cipher: OpenSSL's names are taken"
    ):
        tls(ssl_key_password=SECRET, ssl_cipher_suites="TLS_AES")


def test_settings_of_managed_services():
    """Those of the how-to are accepted, whole."""
    names = {}
    for block in blocks(MANAGED):
        exec(compile(block, MANAGED.name, "exec"), names)
    given = {
        name: each for name, each in names.items() if isinstance(each, dict) and "bootstrap.servers" in each
    }
    assert set(given) == {"msk_iam", "msk_scram", "event_hubs", "confluent_cloud", "redpanda", "aiven"}
    for each in given.values():
        assert Settings.of(each).protocol == each["security.protocol"]


@pytest.mark.parametrize(
    ("config", "warnings"),
    [
        ({"sasl.mechanisms": "PLAIN"}, ["sasl.mechanisms changes nothing without security.protocol"]),
        ({"ssl.certificate.location": "a.pem"}, ["ssl.certificate.location changes nothing without"]),
        ({"sasl.mechanism": "PLAIN", "security.protocol": "PLAINTEXT"}, []),
        ({}, []),
    ],
)
def test_credentials_without_a_protocol(config, warnings, caplog):
    """They go nowhere, which nobody means who does not say that connections are plain."""
    Settings.of({"bootstrap.servers": "a:1", **config})
    assert [each.startswith(told) for each, told in zip(caplog.messages, warnings, strict=True)] == [
        True
    ] * len(warnings)

"""TLS and every mechanism of SASL, at a broker with such listeners; no credential shows anywhere."""

import base64
import json
import logging
import time

import processes
import pyarrow as pa
import pytest
from artifacts import had
from topics import Kafka, Message

from kcodec.errors import KafkaError
from kcodec.kafka import follow, read, write

SECRET = "hunter2-sesame"


@pytest.fixture(scope="module")
def secured(tmp_path_factory, certificate):
    """Run a broker with listeners for PLAINTEXT, SASL_SSL and SSL; gives their addresses."""
    folder = tmp_path_factory.mktemp("secured")
    service, *addresses = had(lambda: processes.secured_broker(folder, certificate, SECRET))
    service.start()
    try:
        Kafka(addresses[0]).create("orders", partitions=2)
        Kafka(addresses[0]).produce("orders", [Message(b"k", b"%d" % number) for number in range(50)])
        yield addresses
    finally:
        service.kill()


def token(_):
    """Make a token of the kind that a broker without keys takes."""

    def part(value):
        return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

    claims = {"sub": "reader", "iat": int(time.time()) - 5, "exp": int(time.time()) + 600}
    return f"{part({'alg': 'none'})}.{part(claims)}.", time.time() + 600


LOGIN = {"sasl.username": "reader", "sasl.password": SECRET}
JAAS = 'org.apache.kafka.common.security.scram.ScramLoginModule required username="reader" password="%s";'
MECHANISMS = {
    "PLAIN": LOGIN,
    "SCRAM-SHA-256": LOGIN,
    "SCRAM-SHA-512": {"sasl.jaas.config": JAAS % SECRET},
    "OAUTHBEARER": {"oauth_cb": token},
}
WAIT = {"default.api.timeout.ms": 5_000, "request.timeout.ms": 5_000}


def sasl(mechanism, certificate, **more):
    return {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": mechanism,
        "ssl.ca.location": str(certificate),
        **MECHANISMS[mechanism],
        **more,
    }


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_mechanisms(secured, certificate, mechanism, caplog):
    caplog.set_level(logging.DEBUG)
    place = {"servers": secured[1], "config": sasl(mechanism, certificate)}
    assert read("orders", **place).read_all().num_rows >= 50
    write(pa.table({"value": [b"more"]}), "orders", **place)
    with follow("orders", start=-1, **place) as follower:
        assert len(next(follower))
    assert SECRET not in caplog.text


def test_client_certificates(secured, certificate):
    config = {"security.protocol": "SSL", "ssl.ca.location": str(certificate)}
    keys = {
        "ssl.certificate.location": str(certificate),
        "ssl.key.location": str(certificate.with_suffix(".key")),
    }
    assert read("orders", servers=secured[2], config={**config, **keys}).read_all().num_rows >= 50
    with pytest.raises(KafkaError, match=r"(?i)certificate|reset|closed"):
        read("orders", servers=secured[2], config={**config, **WAIT})


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256"])
def test_wrong_passwords(secured, certificate, mechanism):
    config = sasl(mechanism, certificate, **{"sasl.password": SECRET + "x"})
    start = time.monotonic()
    with pytest.raises(KafkaError, match="SASL_AUTHENTICATION_FAILED") as info:
        read("orders", servers=secured[1], config=config)
    assert time.monotonic() - start < 5, "it is not tried again"
    assert SECRET not in f"{info.value!r} {info.getrepr(showlocals=False)}"


def test_a_mechanism_that_the_broker_lacks(secured, certificate):
    config = {**sasl("PLAIN", certificate), "sasl.mechanism": "GSSAPI", **WAIT}
    with pytest.raises(KafkaError, match=r"UNSUPPORTED_SASL_MECHANISM: the broker has .*PLAIN"):
        read("orders", servers=secured[1], config=config)


def test_a_listener_without_logins(kafka):
    config = {**WAIT, "security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.username": "a"}
    with pytest.raises(KafkaError, match="ILLEGAL_SASL_STATE: this port takes no logins"):
        read("orders", servers=kafka.address, config={**config, "sasl.password": SECRET})


def test_certificates_that_nobody_knows(secured, certificate):
    config = sasl("PLAIN", certificate)
    del config["ssl.ca.location"]
    start = time.monotonic()
    with pytest.raises(KafkaError, match=r"cannot connect: .*certificate") as info:
        read("orders", servers=secured[1], config=config)
    assert time.monotonic() - start < 5, "it is not tried again"
    assert info.value.name == "SSL_AUTHENTICATION_FAILED"
    unverified = {**config, "enable.ssl.certificate.verification": "false"}
    assert read("orders", servers=secured[1], config=unverified).read_all().num_rows >= 50


def test_another_protocol_than_the_listener_has(secured):
    for config in (
        {**WAIT},
        {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", **LOGIN, **WAIT},
    ):
        with pytest.raises(KafkaError):
            read("orders", servers=secured[1], config=config)

"""TLS and credentials reach the registry, and no credential shows anywhere."""

import logging
import pickle

import pytest
from front import front as fronted
from pyspark.errors import PySparkException
from topics import of_spark, order, order_schema, serializer

from kcodec import Serde, registry
from kcodec.errors import RegistryError
from kcodec_spark import from_avro

SECRET = "hunter2-sesame"
BASIC = {"basic.auth.credentials.source": "USER_INFO", "basic.auth.user.info": f"reader:{SECRET}"}
BEARER = {
    "bearer.auth.credentials.source": "STATIC_TOKEN",
    "bearer.auth.token": SECRET,
    "bearer.auth.logical.cluster": "lsrc-1",
}


@pytest.fixture(params=["basic", "bearer"])
def guarded(request, registry_url, certificate):
    """Put TLS and authentication before the registry; gives it and the settings that get through."""
    with fronted(registry_url, certificate) as front:
        settings = BASIC if request.param == "basic" else BEARER
        if settings is BASIC:
            front.basic(BASIC["basic.auth.user.info"])
        else:
            front.authorization = f"Bearer {SECRET}"
        yield front, {**settings, "ssl.ca.location": str(certificate), "max.retries": "0"}


def options(settings):
    return {f"confluent.schema.registry.{name}": value for name, value in settings.items()}


def test_credentials_and_tls_reach_the_registry(guarded, registry_url, topic, caplog):
    front, settings = guarded
    caplog.set_level(logging.DEBUG)
    values = [serializer(registry_url, order_schema(), topic)(order(1))]
    serde = Serde("AVRO", registry.open(front.url, settings), topic=topic)
    assert serde.deserialize(values)[0]["id"].as_py() == 1
    if "bearer.auth.token" in settings:
        assert front.requests[-1].headers["target-sr-cluster"] == "lsrc-1"
    pickled = pickle.dumps(serde)
    again = pickle.loads(pickled)
    assert again.deserialize(values)[0]["id"].as_py() == 1
    assert SECRET not in f"{serde!r} {again!r} {again.registry!r} {again.registry.url} {pickled!r}"
    assert caplog.records
    assert SECRET not in caplog.text
    serde.registry.close()


@pytest.mark.parametrize("wrong", ["basic", "bearer", "url"])
def test_a_refusal_shows_no_credential(guarded, certificate, wrong):
    front, _ = guarded
    front.authorization = "Basic nobody"
    url, settings = front.url, {"ssl.ca.location": str(certificate)}
    if wrong == "url":
        url = url.replace("//", f"//reader:{SECRET}@")
    else:
        settings |= {"basic.auth.user.info": BASIC["basic.auth.user.info"]} if wrong == "basic" else BEARER
    handle = registry.open(url, settings)
    with pytest.raises(RegistryError) as info:
        handle.get(1)
    assert info.value.status == 401
    assert SECRET not in repr(info.value)
    assert SECRET not in f"{info.getrepr(showlocals=False)} {handle!r}"
    handle.close()


def test_a_certificate_that_nobody_knows(guarded):
    front, settings = guarded
    del settings["ssl.ca.location"]
    handle = registry.open(front.url, settings)
    with pytest.raises(RegistryError, match=f"{front.url}: SSLCertVerificationError: .*[Cc]ertificate"):
        handle.subjects()
    handle.close()


def test_spark(spark, guarded, registry_url, topic, capsys, request):
    front, settings = guarded
    place = {"subject": f"{topic}-value", "schemaRegistryAddress": front.url}
    permissive = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": "_error"}

    def frame(versions, column):
        values = [serializer(registry_url, order_schema(each), topic)(order(each, each)) for each in versions]
        rows = spark.createDataFrame([(bytes(value),) for value in values], "value binary")
        return rows.select(column.alias("order"))

    serializer(registry_url, order_schema(), topic)(order(1))
    lenient = from_avro("value", options={**options(settings), **permissive}, **place)
    patient = {**options(settings), **permissive, "onRegistryFailure": "null"}
    nulls = from_avro("value", options=patient, **place)
    strict = from_avro("value", options=options(settings), **place)
    # Version 2 was not there when the query was made: executors have to ask.
    asked = len(front.requests)
    read = frame([1, 2], strict)
    assert sorted(of_spark(row["order"])["id"] for row in read.collect()) == [1, 2]
    assert len(front.requests) > asked

    front.authorization = "Basic of another"
    error = frame([3], nulls).first()["order"]["_error"]
    assert (error["code"], "HTTP 401" in error["reason"]) == ("registry_error", True)
    with pytest.raises(PySparkException, match="HTTP 401"):
        frame([3], lenient).collect()
    with pytest.raises(PySparkException, match="HTTP 401") as on_executor:
        frame([3], strict).collect()
    with pytest.raises(RegistryError, match="HTTP 401") as on_client:
        from_avro("value", options=options(settings), **place)

    read.explain(extended=True)
    read.explain(mode="formatted")
    plans = capsys.readouterr().out
    assert "from_avro" in plans
    # The log of the classic session goes where this process has its standard error.
    connect = "connect" in type(spark).__module__
    log = request.getfixturevalue("connect_server").log.read_text(errors="replace") if connect else ""
    for shown in (str(read), plans, log, str(error), str(on_executor.value), repr(on_client.value)):
        assert SECRET not in shown

"""Options as Spark and Databricks spell them; no Spark needed."""

import subprocess
import sys

import pytest

from kcodec import ConfigError
from kcodec_spark import from_avro, from_connect_json, from_kafka_message, from_ksql, register
from kcodec_spark.options import (
    ReadOptions,
    RowsOptions,
    WriteOptions,
    read_options,
    rows_options,
    write_options,
)


def test_names_in_any_case():
    options = {
        "MODE": "Permissive",
        "columnnameofcorruptrecord": "_bad",
        "AVROSCHEMA": '"int"',
        "Confluent.Schema.Registry.basic.auth.user.info": "a:b",
    }
    registry = {"basic.auth.user.info": "a:b"}
    found = read_options(options, ("avroSchema",))
    assert found == ReadOptions(RowsOptions(True, "_bad"), {"avroSchema": '"int"'}, registry)
    options.pop("AVROSCHEMA")
    options.pop("Confluent.Schema.Registry.basic.auth.user.info")
    assert rows_options(options, "from_ksql") == RowsOptions(True, "_bad")


def test_nothing_given():
    assert read_options(None) == read_options({}) == ReadOptions(RowsOptions(), {}, {})
    assert rows_options(None, "from_ksql") == RowsOptions(False, None)
    assert write_options(None, "to_ksql") == WriteOptions(RowsOptions(), {}, {})


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (
            {"mode": "DROPMALFORMED"},
            "mode 'DROPMALFORMED' is not one of FAILFAST, PERMISSIVE: PERMISSIVE and a filter",
        ),
        ({"columnNameOfCorruptRecord": "c"}, "needs mode PERMISSIVE"),
        ({"mode": "PERMISSIVE", "columnNameOfCorruptRecord": ""}, "is not a name"),
        ({"recursiveFieldMaxDepth": "16"}, "16 is more than 15"),
        ({"recursiveFieldMaxDepth": "x"}, "'x' is not an integer"),
        ({"recursiveFieldMaxDepth": None}, "None is not an integer"),
        ({"enableStableIdentifiersForUnionType": "yes"}, "neither true nor false"),
        ({"avroSchemaEvolutionMode": "restart"}, "only none is supported"),
        ({"avroSchem": "x"}, "unknown option 'avroSchem'; did you mean avroSchema?"),
        ({"datetimeRebaseMode": "LEGACY"}, "only CORRECTED is supported, dates and times are"),
        ({"avroSchemaUrl": "x"}, "give its text as avroSchema"),
        ({"compression": "x"}, "an option of files"),
        ({"positionalFieldMatching": "true"}, "fields are matched by their names"),
        ({"schema.registry.url": "x"}, "give the address as schemaRegistryAddress"),
        ({"schema.registry.topic": "x"}, "give the subject, such as orders-value"),
        ({"value.schema.id": "7"}, "'value.schema.id': readerSchemaId"),
        (
            {"ssl.truststore.location": "x"},
            r"give confluent\.schema\.registry\.ssl\.ca\.location, a PEM file",
        ),
        ({"schema.registry.ssl.keystore.location": "x"}, r"registry\.ssl\.certificate\.location, a PEM file"),
        ({"readerSchemaId": "7"}, "readerSchemaId needs subject and schemaRegistryAddress"),
        ({"readerSchemaId": "7", "readerSchemaVersion": "1"}, "only one of them"),
        ({"onRegistryFailure": "null"}, "onRegistryFailure null needs mode PERMISSIVE"),
        ({"onRegistryFailure": "x"}, "'x' is not one of fail, null"),
        ({"mode": "FAILFAST", "MODE": "FAILFAST"}, "mode is given twice"),
        ({"auto.register.schemas": "true"}, r"registry begin with confluent\.schema\.registry\.$"),
        ({"confluent.schema.registry": "x"}, r"did you mean confluent\.schema\.registry\.\.\.\.\?"),
    ],
)
def test_what_from_avro_refuses(options, reason):
    with pytest.raises(ConfigError, match=reason):
        from_avro("value", '"int"', options)


@pytest.mark.parametrize(
    "name", ["avroSchema", "avroSchemaEvolutionMode", "confluent.schema.registry.timeout"]
)
def test_functions_without_schemas_in_a_registry_take_no_options_of_avro(name):
    known = "takes the options mode and columnNameOfCorruptRecord"
    for function, arguments in ((from_ksql, ("JSON", "A INT")), (from_kafka_message, ("{}",))):
        with pytest.raises(ConfigError, match=f"{function.__name__} {known}$"):
            function("value", *arguments, options={name: "none"})
    known_to_register = "takes the options mode, columnNameOfCorruptRecord and onRegistryFailure"
    with pytest.raises(ConfigError, match=f"register {known_to_register}; others are the codec's$"):
        register(None, {}, options={name: "none"})
    if "." not in name:
        with pytest.raises(ConfigError, match=f"from_connect_json {known}, debezium, and Connect's$"):
            from_connect_json("value", "INT", {name: "none"})


def test_what_is_taken():
    """What Spark and Databricks have, and means nothing else here."""
    from_avro_options = {"datetimeRebaseMode": "corrected", "avroSchemaEvolutionMode": "none"}
    names = ("datetimeRebaseMode", "avroSchemaEvolutionMode")
    assert read_options(from_avro_options, names).format == from_avro_options
    pem = {
        "ssl.truststore.location": "/ca.pem",
        "ssl.truststore.type": "PEM",
        "ssl.keystore.location": "/me.pem",
        "ssl.keystore.type": "pem",
        "ssl.key.password": "secret",
        "basic.auth.credentials.source": "USER_INFO",
    }
    given = {f"confluent.schema.registry.{name}": value for name, value in pem.items()}
    assert read_options(given).registry == {
        "ssl.ca.location": "/ca.pem",
        "ssl.certificate.location": "/me.pem",
        "ssl.key.password": "secret",
        "basic.auth.credentials.source": "USER_INFO",
    }
    with pytest.raises(ConfigError, match="are the same setting"):
        read_options({**given, "confluent.schema.registry.ssl.ca.location": "/ca.pem"})
    for name, instead in (("truststore", "ssl.ca.location"), ("keystore", "ssl.certificate.location")):
        options = {f"confluent.schema.registry.ssl.{name}.location": "x.jks"}
        with pytest.raises(ConfigError, match=f"here it is {instead}"):
            from_avro("value", options=options, subject="s", schemaRegistryAddress="registry:8081")
    written = write_options(
        {"MODE": "permissive", "Round": "TRUNCATE", "columnNameOfCorruptRecord": "e"}, "x"
    )
    assert written == WriteOptions(RowsOptions(True, "e"), {"round": "truncate"}, {})
    with pytest.raises(ConfigError, match="round 'up' is not one of error, truncate"):
        write_options({"round": "up"}, "to_avro")


def test_importing_the_package_imports_nothing_of_spark():
    code = "import sys, kcodec_spark; sys.exit('pyspark' in sys.modules or 'py4j' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

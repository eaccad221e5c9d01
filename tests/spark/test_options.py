"""Options as Spark and Databricks spell them; no Spark needed."""

import subprocess
import sys

import pytest

from kcodec import ConfigError
from kcodec_spark import from_avro, from_connect_json, from_kafka_message, from_ksql, register
from kcodec_spark.options import ReadOptions, RowsOptions, read_options, rows_options, write_options


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
    assert write_options(None) == {}


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"mode": "DROPMALFORMED"}, "mode 'DROPMALFORMED' is not one of FAILFAST, PERMISSIVE"),
        ({"columnNameOfCorruptRecord": "c"}, "needs mode PERMISSIVE"),
        ({"mode": "PERMISSIVE", "columnNameOfCorruptRecord": ""}, "is not a name"),
        ({"recursiveFieldMaxDepth": "16"}, "16 is more than 15"),
        ({"recursiveFieldMaxDepth": "x"}, "'x' is not an integer"),
        ({"recursiveFieldMaxDepth": None}, "None is not an integer"),
        ({"enableStableIdentifiersForUnionType": "yes"}, "neither true nor false"),
        ({"avroSchemaEvolutionMode": "restart"}, "only none is supported"),
        ({"avroSchem": "x"}, "unknown option 'avroSchem'; did you mean avroSchema?"),
        ({"datetimeRebaseMode": "LEGACY"}, "unknown option 'datetimeRebaseMode'$"),
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
    with pytest.raises(ConfigError, match=f"register {known}; others are the codec's$"):
        register(None, {}, options={name: "none"})
    if "." not in name:
        with pytest.raises(ConfigError, match=f"from_connect_json {known}, and Connect's$"):
            from_connect_json("value", "INT", {name: "none"})


def test_importing_the_package_imports_nothing_of_spark():
    code = "import sys, kcodec_spark; sys.exit('pyspark' in sys.modules or 'py4j' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

"""Options as Spark and Databricks spell them; no Spark needed."""

import subprocess
import sys

import pytest

from kcodec import ConfigError
from kcodec_spark.options import ReadOptions, read_options, write_options


def test_names_in_any_case():
    options = {
        "MODE": "Permissive",
        "columnnameofcorruptrecord": "_bad",
        "AVROSCHEMA": '"int"',
        "recursivefieldmaxdepth": 2,
        "EnableStableIdentifiersForUnionType": True,
        "avroSchemaEvolutionMode": "none",
        "Confluent.Schema.Registry.basic.auth.user.info": "a:b",
    }
    codec = {"recursive_depth": 2, "union_members": "type", "union_prefix": "member_"}
    registry = {"basic.auth.user.info": "a:b"}
    assert read_options(options) == ReadOptions(True, "_bad", '"int"', codec, registry)


def test_nothing_given():
    assert read_options(None) == read_options({}) == ReadOptions()
    assert write_options(None).registry == {}


def test_depths_that_spark_takes_for_none():
    assert read_options({"recursiveFieldMaxDepth": "0"}).codec == {}
    assert read_options({"recursiveFieldMaxDepth": "-1"}).codec == {}


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
def test_what_is_refused(options, reason):
    with pytest.raises(ConfigError, match=reason):
        read_options(options)


def test_importing_the_package_imports_nothing_of_spark():
    code = "import sys, kcodec_spark; sys.exit('pyspark' in sys.modules or 'py4j' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

"""Importing is light, and a codec that is built runs where only pyarrow is installed."""

import importlib
import os
import pickle
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pyarrow as pa
import pytest

import kcodec

ROOT = Path(__file__).parents[2]
OPTIONAL = (
    "numpy",
    "pyarrow",
    "fastavro",
    "confluent_kafka",
    "cramjam",
    "jsonschema_rs",
    "pyspark",
    "pandas",
    "polars",
    "rich",
)

SCHEMA = """{"type": "record", "name": "R", "fields": [
    {"name": "id", "type": "long"},
    {"name": "when", "type": {"type": "long", "logicalType": "timestamp-millis"}},
    {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 50, "scale": 3}},
    {"name": "kind", "type": {"type": "enum", "name": "K", "symbols": ["A", "B"]}},
    {"name": "tags", "type": {"type": "array", "items": "string"}},
    {"name": "more", "type": {"type": "map", "values": ["null", "double"]}},
    {"name": "either", "type": ["int", "string", "null"]}]}"""
ROWS = [
    {
        "id": 1,
        "when": 1_700_000_000_000_000,
        "price": "12.345",
        "kind": "B",
        "tags": ["x", "ü"],
        "more": [("a", 1.5), ("b", None)],
        "either": {"member0": None, "member1": "text"},
    },
    None,
]

ALONE = """
import pickle, sys
for name in {blocked!r}:
    sys.modules[name] = None
with open(sys.argv[1], "rb") as file:
    codec, values = pickle.load(file)
array = codec.decode(values)
assert codec.encode(array).equals(values), "other bytes"
array, report = codec.decode([b"\\x02", None, values[0].as_py()], errors="report")
assert report["code"].to_pylist() == ["truncated"]
assert array.is_valid().to_pylist() == [False, False, True]
assert all(sys.modules[name] is None for name in {blocked!r})
"""


def run(code: str, *arguments: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code, *arguments],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_server_without_a_broker_loads_nothing_of_columns():
    loaded = run("import kcodec.server.process, sys; print(*sorted(sys.modules))").split()
    assert "kcodec.server.page.topics" in loaded
    assert "pyarrow" not in loaded


@pytest.mark.parametrize(
    "module",
    [
        "kcodec",
        "kcodec.cli.main",
        "kcodec.errors",
        "kcodec.wire",
        "kcodec_spark",
        "kcodec_spark.workers.worker",
    ],
)
def test_import_is_light(module):
    loaded = run(f"import {module}, sys; print(*sorted(sys.modules))").split()
    assert not [name for name in OPTIONAL if name in loaded]


@pytest.mark.parametrize(
    "module",
    ["kcodec.serde.serde", "kcodec.registry", "kcodec.formats.avro.codec", "kcodec.protocol", "kcodec_spark"],
)
def test_import_needs_pyarrow_at_most(module):
    # pyarrow itself imports numpy where it is installed.
    blocked = [name for name in OPTIONAL if name != "pyarrow"]
    run(f"import sys; sys.modules.update(dict.fromkeys({blocked!r})); import {module}")


def test_public_names_are_loaded_when_used():
    assert run("import kcodec; print(kcodec.registry.open('memory://lazy').url)").strip() == "memory://lazy"
    assert set(kcodec.__all__) <= set(dir(kcodec))
    for name in kcodec.__all__:
        assert getattr(kcodec, name) is not None
    assert kcodec.__all__ == sorted(
        kcodec.__all__, key=lambda name: (not name.isupper(), name[0].islower(), name)
    )
    with pytest.raises(AttributeError, match="no attribute 'AvroCodek'"):
        kcodec.AvroCodek  # noqa: B018


@pytest.mark.parametrize("impl", ["native", "pure"])
def test_a_built_codec_runs_with_pyarrow_alone(impl, tmp_path):
    codec = kcodec.AvroCodec(SCHEMA)
    import decimal

    rows = [row and {**row, "price": decimal.Decimal(row["price"])} for row in ROWS]
    values = codec.encode(pa.array(rows, codec.arrow_type))
    assert values.null_count == 1
    file = tmp_path / "codec.pickle"
    file.write_bytes(pickle.dumps((codec, values)))
    blocked = [name for name in OPTIONAL if name != "pyarrow"]
    run(ALONE.format(blocked=blocked), str(file), KCODEC_IMPL=impl)


def test_spark_functions_are_loaded_when_used():
    import kcodec_spark

    assert set(kcodec_spark.__all__) <= set(dir(kcodec_spark))
    # Some have the name of their module, which importing it would give them.
    for name in kcodec_spark.__all__:
        assert callable(getattr(kcodec_spark, name)), name
    code = "import kcodec_spark.ship, kcodec_spark; from kcodec_spark import ship; "
    assert run(code + "print(ship is kcodec_spark.ship, ship)").startswith("True <function ship")
    with pytest.raises(AttributeError, match="no attribute 'from_avr'"):
        kcodec_spark.from_avr  # noqa: B018


LIGHT = """
import sys
import pyarrow as pa
import kcodec
from kcodec_spark import SparkLayout
from kcodec_spark.workers.udf import decode_permissive

codec = {codec}
offsets, data = pa.py_buffer(bytes(4) + b"\\2\\0\\0\\0"), pa.py_buffer({data})
values = pa.Array.from_buffers(pa.binary(), 1, [None, offsets, data])
codec.encode(codec.decode(values))
decode_permissive(codec.decode, "bad", False, values)
registry = kcodec.registry.open("memory://light")
serde = kcodec.Serde({format!r}, registry, topic="light", schema=codec.schema)
serde.deserialize(serde.serialize(codec.decode(values)))
codec.decode([values[0].as_py(), None])
codec.decode(values.slice(1))
assert "pandas" not in sys.modules, "pandas was loaded"
"""


@pytest.mark.parametrize("format", ["AVRO", "JSON_SR", "PROTOBUF"])
def test_good_rows_load_no_pandas(format):
    # It takes longer to load than all of kcodec, once for each of Spark's workers; pa.array of a list loads it.
    pytest.importorskip("pandas")
    codecs = {
        "AVRO": """kcodec.AvroCodec('{"type": "record", "name": "R", "fields": ['
            '{"name": "a", "type": "int"}, {"name": "b", "type": "int"}]}')""",
        "JSON_SR": """kcodec.JsonSchemaCodec(True, validate=True)""",
        "PROTOBUF": """kcodec.ProtobufCodec('syntax = "proto3"; message R { int32 a = 1; }', layout=SparkLayout())""",
    }
    data = b"12" if format == "JSON_SR" else b"\x08\2"
    run(LIGHT.format(codec=codecs[format], format=format, data=data))


FIRST = """
import sys
import pyarrow as pa
import kcodec

codec = {codec}
decode, encode = getattr(codec, "decode", None), getattr(codec, "encode", None)
decode, encode = decode or codec.deserialize, encode or codec.serialize
rows = encode({row}, as_list=True)
assert decode([*rows, None]).to_pylist() == [*decode(rows).to_pylist(), None]
assert decode([bytearray(row) for row in rows]).equals(decode(rows))
assert "pyarrow.compute" not in sys.modules, "pyarrow.compute was loaded"
assert "pandas" not in sys.modules, "pandas was loaded"
"""
FIRST_CODECS = {
    "avro": "kcodec.AvroCodec({'type': 'record', 'name': 'R', 'fields': [{'name': 'a', 'type': 'string'}]})",
    "json": "kcodec.JsonCodec(pa.struct([('a', pa.string())]))",
    "json schema": "kcodec.JsonSchemaCodec({'type': 'object', 'properties': {'a': {'type': 'string'}}})",
    "protobuf": "kcodec.ProtobufCodec('syntax = \"proto3\"; message R { string a = 1; }')",
    "connect": (
        "kcodec.ConnectJsonCodec({'type': 'struct', 'fields': [{'field': 'a', 'type': 'string'}]},"
        " schemas_enable=False)"
    ),
    "ksql": "kcodec.KsqlCodec('JSON', 'a STRING')",
    "serde": (
        "kcodec.Serde('AVRO', 'memory://first', topic='t',"
        " schema={'type': 'record', 'name': 'R', 'fields': [{'name': 'a', 'type': 'string'}]})"
    ),
}


@pytest.mark.parametrize("codec", FIRST_CODECS.values(), ids=FIRST_CODECS)
def test_first_calls_load_no_functions_of_arrow(codec):
    # They take twice as long to load as all of kcodec that a codec needs.
    array = """pa.StructArray.from_buffers(pa.struct([('a', pa.string())]), 1, [None], children=[
        pa.StringArray.from_buffers(1, pa.py_buffer(bytes(4) + b'\\1\\0\\0\\0'), pa.py_buffer(b'x'))])"""
    run(FIRST.format(codec=codec, row=array))


def test_one_version():
    for file, line in (
        ("pyproject.toml", r'version = "(.+)"'),
        ("CITATION.cff", r"version: (.+)"),
        ("CHANGELOG.md", r"## \[(.+)\] - .+"),
    ):
        text = (ROOT / file).read_text()
        assert re.search(rf"^{line}$", text, re.MULTILINE)[1] == kcodec.__version__, file


@pytest.mark.parametrize("name", ["kcodec", "kcodec.kafka", "kcodec.ksql", "kcodec.protocol", "kcodec_spark"])
def test_a_package_shows_what_is_public(name):
    """Also once modules within it are imported."""
    package = importlib.import_module(name)
    importlib.import_module("kcodec.kafka.connection.cluster")
    assert {each for each in dir(package) if not each.startswith("__")} == set(package.__all__)


@pytest.mark.parametrize("impl", ["native", "pure"])
def test_a_zip_file_has_nothing_compiled(impl, tmp_path):
    with zipfile.ZipFile(tmp_path / "kcodec.zip", "w") as file:
        for path in sorted((ROOT / "kcodec").rglob("*")):
            if path.suffix in (".py", ".so"):
                file.write(path, path.relative_to(ROOT))
    told = subprocess.run(
        [
            sys.executable,
            "-c",
            "import kcodec; print(kcodec.AvroCodec('\"long\"').decode([b'\\2']).to_pylist())",
        ],
        env={**os.environ, "PYTHONPATH": str(tmp_path / "kcodec.zip"), "KCODEC_IMPL": impl},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    if impl == "pure":
        assert told.stdout == "[1]\n", told.stderr
    else:
        assert "there is no compiled kcodec.objects._calls for cpython-3" in told.stderr
        assert "KCODEC_IMPL=pure runs without" in told.stderr


def test_what_tests_share_stands_in_modules_of_its_own():
    """A module of tests that another imports is collected in its place, and its name cannot be changed."""
    importing = re.compile(r"^\s*(?:from|import) test_", re.MULTILINE)
    modules = (ROOT / "tests").rglob("*.py")
    assert [path for path in modules if importing.search(path.read_text(encoding="utf-8"))] == []

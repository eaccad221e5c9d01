"""Arguments of another type than they should have: errors that name them."""

import importlib
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pytest
from cases import cases

import kcodec
import kcodec_spark
from kcodec.kafka import Range, limit_ranges, positions_json, split_ranges
from kcodec.protocol import MessageCodec, MessageSpec, check_evolution, expand_records
from kcodec.registry import Schema, guid, resolve, transfer

_PROTOBUF = 'syntax = "proto3"; message P { int32 x = 1; }'

_AVRO = kcodec.AvroCodec('{"type": "record", "name": "R", "fields": [{"name": "id", "type": "int"}]}')
_MESSAGE = MessageCodec(
    '{"type": "data", "name": "A", "validVersions": "0", "flexibleVersions": "none", "fields": []}', 0
)
_RANGE = Range("t", 0, 0, 10)


def _registry():
    return kcodec.registry.open("memory://arguments")


@cases(
    ("make", "message"),
    [
        (lambda: kcodec.ConnectJsonCodec(precision="9"), "precision='9' is not within 1 and 76"),
        (lambda: kcodec.ConnectJsonCodec(precision=9.5), "precision=9.5 is not within 1 and 76"),
        (lambda: kcodec.JsonSchemaCodec({}, fields=[1]), r"fields=\[1\] is not a list of one name or more"),
        (lambda: kcodec.JsonSchemaCodec({}, fields=5), "fields=5 is not a list of one name or more"),
        (lambda: kcodec.JsonSchemaCodec({}, "item.json"), "references='item.json' is not a mapping"),
        (lambda: kcodec.KsqlCodec("JSON", "A INT", properties="x"), "properties='x' is not a mapping"),
        (lambda: kcodec.ProtobufCodec(_PROTOBUF, 5), "message=5 is not a name, nor a list of indexes"),
        (lambda: kcodec.JsonCodec.infer([b"1"], sample="1"), "sample='1' is not a number of at least 1"),
        (lambda: kcodec.JsonCodec.infer([b"1"], sample=0), "sample=0 is not a number of at least 1"),
        (lambda: _AVRO.select("id"), "fields='id' is not a list of one name or more"),
        (lambda: _AVRO.encode_plan([]), r"kind=\[\] is not an Arrow type"),
        (lambda: kcodec.ConnectSchema.from_arrow("int"), "kind='int' is not an Arrow type"),
        (lambda: kcodec.ConnectSchema("int8").to_text(None), "decimal_format='NONE' is not one of BASE64"),
        (lambda: kcodec.KsqlCodec("JSON", "A INT", config="x"), "config='x' is not a mapping"),
        (lambda: _MESSAGE.encode_plan(None), "kind=None is not an Arrow type"),
        (lambda: _MESSAGE.encode_plan(pa.int8(), "x"), "version x is not one of 0"),
        (lambda: MessageSpec.parse(None), "text=None is not text"),
        (lambda: check_evolution(_MESSAGE.spec, None), "new=None is not a MessageSpec"),
        (lambda: expand_records([], "records"), r"messages=\[\] is not an Arrow column"),
        (lambda: expand_records(pa.array([{}]), 1), "path=1 is not text"),
        (lambda: split_ranges([1]), "ranges=1 is not a Range"),
        (lambda: split_ranges([_RANGE], "2"), "min_parts='2' is not a number of parts"),
        (lambda: split_ranges([_RANGE], max_count=0), "max_count=0 is not a number of at least 1"),
        (lambda: limit_ranges("x", 2), "ranges='x' is not a Range"),
        (lambda: limit_ranges(None, 2), "ranges=None is not a sequence of Range"),
        (lambda: limit_ranges([_RANGE], None), "max_offsets=None is not a number of offsets"),
        (lambda: positions_json(None), "offsets are by topic and partition, such as"),
        (lambda: positions_json({"t": {0: "1"}}), "offsets are integers"),
        (lambda: Schema('"int"', references=None), "references=None is not a sequence of Reference"),
        (lambda: guid('"int"'), "is not a kcodec.registry.Schema"),
        (lambda: resolve(_registry(), None), "schema=None is not a kcodec.registry.Schema"),
        (lambda: _registry().subjects(None), "prefix=None is not text"),
        (lambda: _registry().get_latest_with_metadata("s", "x"), "properties='x' is not a mapping"),
        (lambda: _registry().register("s", Schema('"int"'), schema_id="1"), "schema_id='1' is not a whole"),
        (lambda: transfer.copy(_registry(), "x"), "is not the URL of a registry or the name of a file"),
    ],
)
def test_they_are_refused(make, message):
    with pytest.raises(kcodec.ConfigError, match=message):
        make()


@pytest.mark.parametrize("array", [None, "x", [{"id": 1}], {}])
def test_columns_that_are_none(array):
    with pytest.raises(TypeError, match="is no Arrow column"):
        _AVRO.to_table(array)


def test_single_messages_are_bytes():
    codec = kcodec.ProtobufCodec(_PROTOBUF)
    for data in (5, "text", None):
        with pytest.raises(TypeError, match="bytes-like"):
            codec.to_json(data)
    with pytest.raises(TypeError, match="bytes-like"):
        codec.from_json(5)
    assert codec.to_json(pa.py_buffer(b"\x08\x07")) == codec.to_json(bytearray(b"\x08\x07")) == '{"x":7}'
    assert codec.from_json(memoryview(b'{"x":7}')) == b"\x08\x07"


@pytest.mark.parametrize("make", [kcodec.AvroCodec, kcodec.JsonSchemaCodec, kcodec.ProtobufCodec])
def test_names_of_files_are_no_schemas(make):
    with pytest.raises(
        kcodec.SchemaError, match=r"^'a/order\.json' is the name of a file: give the text that is in it$"
    ):
        make("a/order.json")


#: Names that stood for what has another one now.
FORMER = {
    "codec": "compression",
    "col": "data",
    "reader": "reader_schema",
}
#: What functions of Spark begin with, by its class; all else is ``data``: a column, or one of several kinds.
FIRST = {"DataFrame": "df", "SparkSession": "spark"}


def public_functions() -> Iterator[tuple[str, Callable]]:
    """Go through the functions, classes and methods that the packages give out, but those that are as another's are."""
    parts = ("kafka", "ksql", "registry", "protocol", "frames", "wire", "plan")
    for package in (kcodec, kcodec_spark, *(importlib.import_module(f"kcodec.{part}") for part in parts)):
        for name in package.__all__:
            found = getattr(package, name)
            if inspect.isroutine(found) or inspect.isclass(found):
                yield f"{package.__name__}.{name}", found
            if inspect.isclass(found):
                for method, each in inspect.getmembers(found, inspect.isroutine):
                    if not method.startswith("_"):
                        yield f"{package.__name__}.{name}.{method}", each


def signatures() -> Iterator[tuple[str, inspect.Signature]]:
    for name, found in public_functions():
        try:
            yield name, inspect.signature(found)
        except ValueError:  # of a class written in C
            continue


def test_one_thing_has_one_name():
    wrong = []
    for name, signature in signatures():
        for parameter in signature.parameters.values():
            is_flag = parameter.annotation in (bool, "bool")
            # Formats of keys and columns are called key; whether something is one is another question.
            if parameter.name in FORMER or (is_flag and parameter.name == "key"):
                wrong.append(f"{name}({parameter.name})")
    assert wrong == []
    assert sum(1 for _ in signatures()) > 300


def test_first_arguments_of_spark_functions():
    wrong = []
    for name in kcodec_spark.__all__:
        found = getattr(kcodec_spark, name)
        if inspect.isfunction(found):
            first = next(iter(inspect.signature(found).parameters.values()))
            if first.name != FIRST.get(first.annotation, "data"):
                wrong.append(f"{name}({first.name})")
    assert wrong == []


def test_options_of_spark_functions_are_a_mapping():
    for name in kcodec_spark.__all__:
        found = getattr(kcodec_spark, name)
        if inspect.isfunction(found):
            options = inspect.signature(found).parameters.get("options")
            assert options is None or options.kind is not inspect.Parameter.VAR_KEYWORD, name


@pytest.mark.parametrize(
    "call",
    [
        lambda: kcodec.KsqlCodec("KAFKA", "K INT KEY", key=True),
        lambda: kcodec.ConnectJsonCodec(key=True),
        lambda: kcodec.ProtobufCodec(_PROTOBUF, reader=_PROTOBUF),
        lambda: kcodec.protocol.write_batches(pa.table({"value": [b""]}), codec="zstd"),
        lambda: kcodec.kafka.write(pa.table({"value": [b""]}), "t", codec="zstd"),
    ],
)
def test_former_names_are_gone(call):
    with pytest.raises(TypeError, match=r"unexpected keyword argument '(key|reader|codec)'"):
        call()


def test_plans_and_options_are_told_apart():
    """The module of plans, what a codec decodes by, and the ranges that a reading of topics is made of."""
    assert inspect.ismodule(kcodec.plan)
    assert not hasattr(kcodec.kafka, "plan")
    assert isinstance(_AVRO.decode_plan, kcodec.plan.Plan)
    assert not hasattr(_AVRO, "plan")
    options = [name for name in kcodec.__all__ if name.endswith("Options")]
    assert options == ["AvroOptions", "JsonSchemaOptions", "ProtobufOptions"]


@pytest.mark.parametrize("name", ["Avro", "JsonSchema", "Protobuf"])
def test_options_of_serdes_are_arguments_of_codecs(name):
    """With the same names, defaults and types: what a codec is told, a serde is told as an option."""
    taken = inspect.signature(getattr(kcodec, f"{name}Codec")).parameters
    options = inspect.signature(getattr(kcodec, f"{name}Options")).parameters
    for each in options.values():
        assert taken[each.name].default == each.default, each.name
        # The option of a schema is kept as the struct of its fields.
        assert each.name == "arrow_type" or taken[each.name].annotation == each.annotation, each.name
    own = {"schema", "writer_schema", "reader_schema", "named_schemas", "references", "message"}
    assert taken.keys() - options.keys() - own <= {"limits", "trailing", "validate"}


@pytest.mark.parametrize("name", ["read", "follow", "write", "find_ranges"])
def test_topics_say_what_they_take(name):
    parameters = inspect.signature(getattr(kcodec.kafka, name)).parameters.values()
    assert [each.name for each in parameters if each.annotation in ("Any", Any)] == []

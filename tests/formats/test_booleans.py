"""Options that are True or False: nothing else is taken for either, in any codec, nor either for a number."""

import inspect
import json

import pyarrow as pa
import pytest
from cases import cases

import kcodec
from kcodec.protocol import TopicCodec, list_batches, read_batches, write_batches

_AVRO = '{"type": "record", "name": "P", "fields": [{"name": "x", "type": "int"}]}'
_PROTOBUF = 'syntax = "proto3"; message P { int32 x = 1; }'
_MESSAGE = {"type": "data", "name": "M", "validVersions": "0", "flexibleVersions": "0+", "fields": []}
_KIND = pa.schema([("x", pa.int32())])

_AVRO_CODEC = kcodec.AvroCodec(_AVRO)
_PROTOBUF_CODEC = kcodec.ProtobufCodec(_PROTOBUF)
_MESSAGE_CODEC = kcodec.MessageCodec(json.dumps(_MESSAGE), 0)
_SERDE = kcodec.Serde("AVRO", "memory://booleans", topic="t", schema=_AVRO)
_BATCHES = write_batches(pa.table({"value": [b"1"]}))

_CALLS = [
    (kcodec.AvroCodec, (_AVRO,)),
    (kcodec.AvroOptions, ()),
    (kcodec.JsonCodec, (_KIND,)),
    (kcodec.JsonCodec.infer, ([b"1"],)),
    (kcodec.ConnectJsonCodec, (_KIND,)),
    (kcodec.DecimalCodec, (2,)),
    (kcodec.ProtobufCodec, (_PROTOBUF,)),
    (kcodec.ProtobufOptions, ()),
    (_PROTOBUF_CODEC.to_json, (b"",)),
    (_PROTOBUF_CODEC.from_json, ("{}",)),
    (kcodec.JsonSchemaCodec, ({},)),
    (kcodec.KsqlCodec, ("JSON", "X INT")),
    (kcodec.KsqlCodec("JSON", "X INT").decode, ([],)),
    (kcodec.MessageCodec, (json.dumps(_MESSAGE), 0)),
    (kcodec.MessageCodec.for_versions, (json.dumps(_MESSAGE),)),
    (_MESSAGE_CODEC.decode, ([],)),
    (_MESSAGE_CODEC.encode, ([],)),
    (_MESSAGE_CODEC.to_json, ({},)),
    (TopicCodec, ("__consumer_offsets",)),
    (kcodec.Serde, ("AVRO", "memory://booleans")),
    (_SERDE.serialize, ([],)),
    (_SERDE.deserialize, ([],)),
    (_AVRO_CODEC.decode, ([],)),
    (_AVRO_CODEC.encode, ([],)),
    (kcodec.AvroCodec.to_table, (pa.array([{"x": 1}]),)),
    (read_batches, (_BATCHES,)),
    (list_batches, (_BATCHES,)),
]
#: Settings of Connect's, which are text too.
_SETTINGS = ("schemas_enable", "replace_null_with_default", "schemas_cache_size")


def _options(kind="bool"):
    for call, arguments in _CALLS:
        for name, parameter in inspect.signature(call).parameters.items():
            if str(parameter.annotation).startswith((kind, f"<class '{kind}'>")) and name not in _SETTINGS:
                yield pytest.param(call, arguments, name, id=f"{call.__qualname__}-{name}")


@cases(("call", "arguments", "name"), list(_options()))
@cases("value", ["false", 0, []])
def test_options_that_are_no_booleans_are_refused(call, arguments, name, value):
    with pytest.raises(kcodec.ConfigError, match=f"^{name}=.* is not True or False$"):
        call(*arguments, **{name: value})


@cases(("call", "arguments", "name"), list(_options("int")))
def test_booleans_are_no_numbers(call, arguments, name):
    # These have no default, and are given by their places.
    arguments = arguments[: {"scale": 0, "version": 1}.get(name, 2)]
    more = {"window": "tumbling", "is_key": True} if name == "window_size" else {}
    with pytest.raises(kcodec.ConfigError, match=r"True is (not|no duration)"):
        call(*arguments, **{name: True}, **more)


@pytest.mark.parametrize("name", kcodec.Limits._fields)
def test_limits_are_numbers(name):
    with pytest.raises(kcodec.ConfigError, match=f"^{name}=True is not a number"):
        kcodec.JsonCodec(_KIND, limits=kcodec.Limits(**{name: True}))


def test_all_codecs_have_such_options():
    assert len({case.id for case in _options()}) > 40

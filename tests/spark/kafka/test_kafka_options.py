"""The options of ``kcodec_kafka``, and what is asked of brokers and registries by them, without Spark's Java."""

import json
import pickle
import re
import subprocess
import sys
from datetime import datetime, timezone
from types import SimpleNamespace

import pyarrow as pa
import pytest
from fake_broker import FAST, FakeCluster
from pyspark.sql.types import StructType

from kcodec import AvroCodec, Serde, registry
from kcodec.errors import ConfigError, KafkaError, SchemaError
from kcodec.kafka import RecordError
from kcodec.protocol import write_batches
from kcodec_spark.kafka import register_kafka, sink
from kcodec_spark.kafka.formats import FORMAT_OPTIONS, encoder
from kcodec_spark.kafka.options import Given
from kcodec_spark.kafka.query import make
from kcodec_spark.kafka.scan import load

SERVERS = {"kafka.bootstrap.servers": "localhost:1"}
RECORD = json.dumps(
    {
        "type": "record",
        "name": "R",
        "fields": [
            {"name": "id", "type": "long"},
            {"name": "at", "type": {"type": "long", "logicalType": "time-micros"}},
        ],
    }
)


def given(is_write=False, **options):
    named = {name.replace("__", "."): value for name, value in options.items()}
    return Given({**SERVERS, **named}, is_write, FORMAT_OPTIONS)


def columns(**options):
    return make({**SERVERS, "subscribe": "orders", **options})


def test_names_have_no_case():
    options = given(MINPARTITIONS="3", Kafka__Fetch__Min__Bytes="7", Value__Format="avro")
    assert options.number("minPartitions") == 3
    assert options.config == {"bootstrap.servers": "localhost:1", "fetch.min.bytes": "7"}
    assert options.text("value.format") == "avro"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"startingOfset": "1"}, "unknown option 'startingOfset'; did you mean startingOffsets?"),
        ({"value.fromat": "avro"}, "did you mean value.format?"),
        ({"schemaRegistryAdress": "x"}, "did you mean schemaRegistryAddress?"),
        ({"kafka.group.id": "g"}, "there is no group: leave it out"),
        ({"subject.name.strategy": "RecordNameStrategy"}, "give value.subject, such as orders-value"),
        ({"key.subject.name.strategy": "RecordNameStrategy"}, "give key.subject, such as orders-value"),
        ({"option.subscribe": "t", "provider": "kcodec_kafka"}, "CREATE TEMPORARY VIEW"),
        ({"kafka.auto.offset.reset": "latest"}, "startingOffsets and failOnDataLoss say so"),
        ({"path": "orders"}, "give the topics as subscribe"),
        ({"subject": "a", "value.subject": "b"}, "value.subject is given twice"),
        ({"quite something else": "1"}, "settings of Kafka's client begin with kafka."),
    ],
)
def test_unknown_options(options, expected):
    with pytest.raises(ConfigError, match=expected.replace("?", r"\?")):
        given(**options)


def test_options_of_the_other_direction():
    with pytest.raises(ConfigError, match="the option includeheaders is for reading: leave it out here"):
        given(is_write=True, includeheaders="true")
    with pytest.raises(ConfigError, match="the option topic is for writing: leave it out here"):
        given(topic="orders")


def test_servers_are_needed():
    with pytest.raises(ConfigError, match=r"kafka\.bootstrap\.servers"):
        Given({}, False, ())


def test_topics():
    assert given(subscribe="a, b,").topics() == ["a", "b"]
    assert given(subscribePattern="a.*").topics().fullmatch("abc")
    assert given(assign='{"a": [0, 2]}').topics() == {"a": [0, 2]}
    for options in (
        {},
        {"subscribe": "a", "assign": "{}"},
        {"subscribe": ","},
        {"subscribePattern": "("},
        {"assign": "[]"},
        {"assign": '{"a": ["0"]}'},
        {"assign": "a"},
    ):
        with pytest.raises(ConfigError):
            given(**options).topics()


def test_bounds():
    """Times come before times by partition, and these before offsets."""
    offsets, times = '{"a": {"0": 5, "1": -2}}', '{"a": {"0": 1500}}'
    assert given().start("earliest").at == "earliest"
    assert given(startingOffsets="Latest").start("earliest").at == "latest"
    assert given(startingOffsets=offsets).start("latest").at == {"a": {0: 5, 1: -2}}
    found = given(startingOffsets=offsets, startingOffsetsByTimestamp=times).start("latest")
    at = datetime(1970, 1, 1, 0, 0, 1, 500_000, timezone.utc)
    assert (found.at, found.unmatched, found.is_time) == ({"a": {0: at}}, "error", True)
    found = given(startingTimestamp="1500", startingOffsetsByTimestamp=times).start("latest")
    assert (found.option, found.at) == ("startingTimestamp", at)
    assert given(endingTimestamp="1500").end().unmatched == "latest"
    assert (
        given(startingTimestamp="1", startingOffsetsByTimestampStrategy="latest").start("latest").unmatched
        == "latest"
    )
    for options in (
        {"startingOffsets": "first"},
        {"startingOffsets": '{"a": 1}'},
        {"startingOffsets": '{"a": {"0": 1.5}}'},
        {"startingTimestamp": "yesterday"},
        {"startingTimestamp": "-1"},
        {"startingOffsetsByTimestamp": '{"a": {"0": -1}}'},
        {"startingTimestamp": "1", "startingOffsetsByTimestampStrategy": "none"},
    ):
        with pytest.raises(ConfigError):
            given(**options).start("latest")


def test_numbers_flags_and_durations():
    for value in ("0", "-1", "1.5", "x", ""):
        with pytest.raises(ConfigError, match="is not a number from 1 on"):
            given(minPartitions=value).number("minPartitions")
    assert given(failOnDataLoss="FALSE").flag("failOnDataLoss", True) is False
    with pytest.raises(ConfigError, match="neither true nor false"):
        given(failOnDataLoss="no").flag("failOnDataLoss", True)
    for text, expected in (("15m", 900_000), ("1 s", 1000), ("250", 250), ("2h", 7_200_000)):
        assert given(maxTriggerDelay=text).milliseconds("maxTriggerDelay", "1s") == expected
    with pytest.raises(ConfigError, match="not a duration"):
        given(maxTriggerDelay="soon").milliseconds("maxTriggerDelay", "1s")


def test_columns_are_those_of_sparks_source():
    _, spark = columns(includeHeaders="true")
    assert spark.simpleString() == (
        "struct<key:binary,value:binary,topic:string,partition:int,offset:bigint,timestamp:timestamp,"
        "timestampType:int,headers:array<struct<key:string,value:binary>>>"
    )


def test_columns_of_values():
    formats = {"value.format": "avro", "value.schema": RECORD}
    _, spark = columns(**formats, columns="offset, value.*")
    assert spark.simpleString() == "struct<offset:bigint,id:bigint,at:time(6)>"
    _, spark = columns(**formats, columns="value.id")
    assert spark.simpleString() == "struct<id:bigint>"
    _, spark = columns(**formats, columns="value", mode="PERMISSIVE", columnNameOfCorruptRecord="_e")
    assert spark["value"].dataType.names == ["id", "at", "_e"]
    schema = '{"type": "object", "properties": {"id": {"type": "integer"}}, "additionalProperties": false}'
    _, spark = columns(**{"value.format": "json_sr", "value.schema": schema, "columns": "value.*"})
    assert spark.simpleString() == "struct<id:bigint>"
    connect = {"value.format": "connect_json", "value.schema": "id BIGINT", "value.schemas.cache.size": "7"}
    _, spark = columns(**connect, columns="value.*")
    assert spark.simpleString() == "struct<id:bigint>"
    day = '{"type": "struct", "fields": [{"field": "at", "type": "int32", "name": "io.debezium.time.Date"}]}'
    for debezium, kind in (("true", "date"), ("false", "int")):
        _, spark = columns(**{**connect, "value.schema": day, "debezium": debezium}, columns="value.*")
        assert spark.simpleString() == f"struct<at:{kind}>"
    two = "id BIGINT, of STRUCT<a: INT, b: INT>"
    for format in ("json", "connect_json"):
        _, spark = columns(
            **{"value.format": format, "value.schema": two, "value.fields": "of.b", "columns": "value.*"}
        )
        assert spark.simpleString() == "struct<of:struct<b:int>>"
    _, spark = columns(**{"key.format": "kafka", "key.schema": "K BIGINT", "columns": "key.K"})
    assert spark.simpleString() == "struct<K:bigint>"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"value.format": "arvo"}, "is not one of json_sr, protobuf, avro"),
        (
            {"value.format": "delimited", "value.schema": "A INT, B INT", "value.fields": "A"},
            "value.fields: delimited is read as a whole: select the columns",
        ),
        ({"value.schema": RECORD}, "value.schema needs value.format"),
        ({"value.format": "avro"}, "value.schema is needed, or schemaRegistryAddress"),
        ({"value.format": "json", "schemaRegistryAddress": "memory://x"}, "value.schema is needed$"),
        ({"value.format": "avro", "value.schema": RECORD, "value.message": "M"}, "option of protobuf"),
        (
            {"value.format": "avro", "value.schema": RECORD, "schemas.enable": "false"},
            "not an option of avro",
        ),
        (
            {"value.format": "kafka", "value.schema": "V INT", "value.subject": "s"},
            "no schemas in a registry",
        ),
        ({"value.format": "json", "value.schema": "{}"}, "a type of Spark, as DDL"),
        ({"value.format": "json", "value.schema": "id BIGINTS"}, "value.schema of json: "),
        (
            {"value.format": "avro", "schemaRegistryAddress": "memory://x", "subscribe": "a,b"},
            "give value.subject",
        ),
        ({"columns": "value.*"}, "columns: value.*: give value.format, such as avro"),
        ({"columns": "offset, key.id"}, "columns: key.id: give key.format, such as avro"),
        ({"columns": "offset", "where": "value.id = 1"}, "where: value.id: give value.format, such as avro"),
        ({"startingOffsets": "first"}, "startingOffsets='first' is not earliest, latest or offsets such as"),
        ({"endingOffsets": '{"t"'}, "endingOffsets: the offsets are not JSON"),
        ({"minPartitions": "none"}, "is not a number from 1 on"),
        ({"columns": "nothing"}, "column 'nothing' is neither one of"),
        ({"columns": "offset", "includeHeaders": "true"}, "name headers among the columns"),
        ({"columnNameOfCorruptRecord": "_e"}, "needs mode PERMISSIVE"),
        (
            {
                "value.format": "avro",
                "value.schema": '"long"',
                "mode": "PERMISSIVE",
                "columnNameOfCorruptRecord": "_e",
            },
            "value: columnNameOfCorruptRecord needs a record",
        ),
        ({"kafka.fetch.max.byte": "1"}, "did you mean 'fetch.max.bytes'"),
    ],
)
def test_what_cannot_be(options, expected):
    with pytest.raises(ConfigError, match=expected.replace("*", r"\*")):
        columns(**options)


def test_a_scan_shows_no_credentials_and_is_loaded_once():
    secret = {"kafka.sasl.password": "sesame", "kafka.sasl.username": "u", "kafka.sasl.mechanism": "PLAIN"}
    scan, _ = columns(**secret, **{"confluent.schema.registry.basic.auth.user.info": "u:sesame"})
    assert load(scan) is load(scan)
    assert "sesame" not in repr(load(scan))


def test_secrets_of_rules_do_not_travel(tmp_path):
    """What decrypts keys would stand in the plan: workers have it in their environment."""
    address = f"sqlite:///{tmp_path / 'schemas.db'}"
    registry.open(address).register("orders-value", registry.Schema(RECORD))
    options = {"value.format": "avro", "schemaRegistryAddress": address}
    columns(**options)
    secret = {"confluent.schema.registry.rule.executors._default_.param.secret": "sesame"}
    for place in ({}, {"value.frame": "GLUE"}):
        with pytest.raises(ConfigError, match="would have to travel to the executors") as refused:
            columns(**options, **place, **secret)
        assert "sesame" not in str(refused.value)
    with pytest.raises(ConfigError) as refused:
        columns(**{"value.format": "avro", "value.schema": RECORD}, **secret)
    assert "sesame" not in str(refused.value)
    row = StructType().add("value", StructType().add("id", "long").add("at", "long"))
    with pytest.raises(ConfigError, match="would have to travel to the executors") as refused:
        sink.make({**SERVERS, "topic": "orders", **options, **secret}, row)
    assert "sesame" not in str(refused.value)


def test_columns_of_the_same_name():
    """Options give no other names."""
    with pytest.raises(
        ConfigError, match=r"two columns are called 'id': .*; in Spark, read value and select"
    ):
        columns(**{"value.format": "avro", "value.schema": RECORD, "columns": "value.*, value.id"})


def test_what_plans_a_stream_loads_nothing_that_decodes():
    """Each stream starts a process for that, which everything else would make slower to start."""
    scan, _ = columns(**{"value.format": "avro", "value.schema": RECORD})
    program = (
        "import sys\n"
        "from kcodec_spark.kafka.stream import stream\n"
        "stream(sys.stdin.buffer.read())\n"
        "print([name for name in sys.modules if name.startswith(('kcodec.serde', 'kcodec.formats.avro'))])\n"
    )
    done = subprocess.run([sys.executable, "-c", program], input=scan, stdout=subprocess.PIPE, check=True)
    assert done.stdout.split() == [b"[]"]


def test_bad_values_have_their_place():
    """Payloads pickle, and bad ones are nulls with what is wrong beside them, whichever fields are read."""
    formats = {"value.format": "avro", "value.schema": RECORD, "mode": "PERMISSIVE"}
    scan, _ = columns(**formats, columnNameOfCorruptRecord="_e", columns="value")
    _, value = pickle.loads(load(scan).payloads)
    encoded = AvroCodec(RECORD).encode([{"id": 7, "at": 1}]).to_pylist()
    views = pa.array([*encoded, b"\x01", None], pa.binary_view())
    found = value.deserialize(views, "raise")
    assert found.type == value.arrow_type
    rows = found.to_pylist()
    assert rows[0]["id"] == 7
    assert (rows[1]["id"], rows[1]["_e"]["code"], rows[1]["_e"]["bytes"]) == (None, "truncated", b"\x01")
    assert rows[2] is None
    some = value.select(["id", "_e"]).deserialize(views, "raise").to_pylist()
    assert (some[0], some[1]["_e"]["code"]) == ({"id": 7, "_e": None}, "truncated")
    assert value.select(["id"]).deserialize(views, "raise").to_pylist()[1] == {"id": None}


SHOP = """syntax = "proto3"; package shop;
message Payment { int64 id = 1; }
message Refund { int64 id = 1; string why = 2; }
"""


def test_several_messages():
    place = "memory://several-messages"
    registry.open(place).register("orders-value", registry.Schema(SHOP, "PROTOBUF"))
    formats = {"value.format": "protobuf", "schemaRegistryAddress": place, "columns": "value.*"}
    with pytest.raises(
        ConfigError, match=r"give value\.message, one message of shop\.Payment, shop\.Refund, or several"
    ):
        # No schema is registered yet: nothing says which message comes first.
        columns(**formats, **{"value.schema": SHOP, "value.subject": "none"})
    _, spark = columns(**formats, **{"value.message": "Refund"})
    assert spark.simpleString() == "struct<id:bigint,why:string>"
    _, spark = columns(**formats, **{"value.message": "Payment, Refund"})
    assert (
        spark.simpleString()
        == "struct<shop.Payment:struct<id:bigint>,shop.Refund:struct<id:bigint,why:string>>"
    )
    serde = Serde("PROTOBUF", place, topic="orders", message=["Payment", "Refund"], schema=SHOP)
    sent = serde.serialize([{"shop.Payment": {"id": 1}}, {"shop.Refund": {"id": 2}}])
    scan, _ = columns(**formats, message="Payment,Refund")
    _, value = pickle.loads(load(scan).payloads)
    assert value.deserialize(sent, "raise").to_pylist() == [
        {"shop.Payment": {"id": 1}, "shop.Refund": None},
        {"shop.Payment": None, "shop.Refund": {"id": 2, "why": None}},
    ]
    options = {"value.format": "protobuf", "value.message": "Payment,Refund"}
    with pytest.raises(ConfigError, match=r"value\.message: which of several .* give schemaRegistryAddress"):
        columns(**options, **{"value.schema": SHOP})


def test_several_messages_are_written():
    place = "memory://several-messages-written"
    registry.open(place).register("orders-value", registry.Schema(SHOP, "PROTOBUF"))
    options = {**SERVERS, "value.format": "protobuf", "value.message": "Payment,Refund"}
    given = Given({**options, "schemaRegistryAddress": place}, True, FORMAT_OPTIONS)
    rows = pa.array(
        [
            {"Payment": {"id": 1}, "Refund": None},
            {"Payment": None, "Refund": {"id": 2, "why": "late"}},
            None,
            {"Payment": None, "Refund": None},
        ]
    )
    serde = encoder(given, "value", "PROTOBUF", ["orders"])
    written, report = serde.serialize(rows, errors="report")
    assert written.to_pylist() == [
        bytes.fromhex("00 00000001 00 0801"),
        bytes.fromhex("00 00000001 0202 08021204") + b"late",
        None,
        None,
    ]
    assert [(row["row"], row["code"]) for row in report.to_pylist()] == [(3, "union_members")]
    # What is known of the schema goes along to the executors.
    assert all(writer._targets for writer in pickle.loads(pickle.dumps(serde))._writer._writers.values())
    alone = Given({**options, "value.schema": SHOP}, True, FORMAT_OPTIONS)
    with pytest.raises(ConfigError, match="give schemaRegistryAddress"):
        encoder(alone, "value", "PROTOBUF", ["orders"])


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"key.format": "avro", "key.schema": "{"}, "key.schema: $: not JSON: "),
        ({"value.format": "kafka", "value.schema": "V INTS"}, "value.schema: "),
        (
            {"value.format": "protobuf", "value.schema": "/a/o.proto"},
            "value.schema='/a/o.proto' is not a schema",
        ),
        (
            {"value.format": "avro", "value.schema": '"int"', "value.avroSchema": "o.avsc"},
            "value.avroSchema='o.avsc' is not a schema: it takes the text of one, not the name of a file",
        ),
        (
            {"value.format": "avro", "value.schema": '"int"', "value.avroSchema": "{"},
            "value.schema or value.avroSchema: $: not JSON",
        ),
    ],
)
def test_schemas_that_are_none(options, reason):
    with pytest.raises(SchemaError, match=f"^{re.escape(reason)}"):
        columns(**options)


@pytest.mark.parametrize("format", ["avro", "protobuf"])
def test_schemas_that_are_none_in_a_sink(format):
    options = {**SERVERS, "topic": "t", "value.format": format, "value.schema": "{"}
    with pytest.raises(SchemaError, match=r"^value\.schema: "):
        sink.make(options, StructType().add("value", "string"))


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"startingOffsets": "latest"}, "startingOffsets: latest is for streams"),
        ({"startingOffsets": '{"t": {"0": 5, "1": -1}}'}, "startingOffsets: t-1: -1: latest is for streams"),
        ({"endingOffsets": "earliest"}, "endingOffsets: earliest is no end"),
        ({"endingOffsets": '{"t": {"0": -2, "1": -1}}'}, "endingOffsets: t-0: -2: earliest is no end"),
    ],
)
def test_a_batch_starts_before_its_end(options, reason):
    scan, _ = columns(**options)
    with pytest.raises(ConfigError, match=reason):
        load(scan).ranges()


def test_offsets_that_are_not_there(caplog):
    """With failOnDataLoss=false a batch ends where its partitions do; one that starts behind its end is an error."""
    with FakeCluster({"t": 1}) as cluster:
        settings = {f"kafka.{name}": str(value) for name, value in FAST.items()}
        place = {**settings, "kafka.bootstrap.servers": cluster.address, "topic": "t"}
        rows = pa.RecordBatch.from_pydict({"value": ["a", "b", "c"]})
        sink.load(sink.make(place, StructType().add("value", "string"))).write(iter([rows]))
        del place["topic"]

        def ranges(**options):
            scan, _ = make({**place, "subscribe": "t", **options})
            return [tuple(each) for each in load(scan).ranges()]

        far, near = '{"t": {"0": 1000}}', '{"t": {"0": 1}}'
        assert ranges(startingOffsets=near, endingOffsets=far, failOnDataLoss="false") == [("t", 0, 1, 3)]
        assert "t-0: the offsets 3 to 999 are not there" in caplog.text
        with pytest.raises(KafkaError, match="t-0: OFFSET_OUT_OF_RANGE: it ends at 3, before 1000"):
            ranges(endingOffsets=far)
        with pytest.raises(KafkaError, match="t-0: OFFSET_OUT_OF_RANGE: it ends at 3, before 1000"):
            ranges(startingOffsets=far, failOnDataLoss="false")
        assert ranges(startingOffsets=near, endingOffsets='{"t": {"0": -1}}') == [("t", 0, 1, 3)]
        assert ranges(startingOffsets=near, endingOffsets=near) == []
        with pytest.raises(
            ConfigError, match="t-0: startingOffsets is 2, which is beyond 1 of endingOffsets"
        ):
            ranges(startingOffsets='{"t": {"0": 2}}', endingOffsets=near)
        with pytest.raises(
            ConfigError, match=r"t-0: startingTimestamp is .*, which is beyond .* of endingTime"
        ):
            ranges(startingTimestamp="1500", endingTimestamp="1000")


@pytest.mark.parametrize(
    ("format", "schema", "written"),
    [
        (
            "avro",
            '{"type": "record", "name": "N", "fields": [{"name": "v", "type": "int"},'
            ' {"name": "next", "type": ["null", "N"], "default": null}]}',
            b"\2\2\4\0",
        ),
        ("protobuf", 'syntax = "proto3"; message N { int32 v = 1; N next = 2; }', b"\x08\1\x12\2\x08\2"),
    ],
)
def test_what_contains_itself_is_written(format, schema, written):
    given = Given({"kafka.bootstrap.servers": "h:1", "value.schema": schema}, True, FORMAT_OPTIONS)
    values = pa.array([{"v": 1, "next": {"v": 2}}])
    assert encoder(given, "value", format.upper(), ["t"]).encode(values).to_pylist() == [written]


def test_columns_that_are_written_have_no_case():
    """Spark resolves names so; only fields of the value keep theirs."""
    schema = StructType().add("KEY", "string").add("Topic", "string").add("ID", "long")
    rows = pa.RecordBatch.from_pydict({"KEY": ["k"], "Topic": ["t"], "ID": [1]})
    with FakeCluster({"t": 1}) as cluster:
        settings = {f"kafka.{name}": str(value) for name, value in FAST.items()}
        place = {**settings, "kafka.bootstrap.servers": cluster.address, "value.format": "json"}
        sink.load(sink.make(place, schema)).write(iter([rows]))
        (record,) = cluster.records(("t", 0)).to_pylist()
    assert (record["key"], record["value"]) == (b"k", b'{"ID":1}')
    variant = pa.struct([pa.field("metadata", pa.binary(), metadata={"variant": "true"})])
    with pytest.raises(SchemaError, match="ID: Spark's type variant"):
        sink.load(sink.make(place, schema)).write(iter([rows.set_column(2, "ID", pa.nulls(1, variant))]))
    twice = StructType().add("key", "string").add("KEY", "string").add("value", "string")
    with pytest.raises(ConfigError, match="two columns have the same name"):
        sink.make({**place, "topic": "t"}, twice)


@pytest.mark.parametrize("mode", ["PERMISSIVE", "FAILFAST"])
def test_damaged_batches(mode, caplog):
    """One is left out and logged, or fails the task."""
    place = ("t", 0)
    damaged = bytearray(write_batches(pa.table({"value": [b"\x02", b"\x02"], "offset": [1, 2]})))
    damaged[-1] ^= 1
    with FakeCluster({"t": 1}) as cluster:
        cluster.append(place, write_batches(pa.table({"value": [b"\x02"]})))
        cluster.logs[place].append((1, 2, bytes(damaged)))
        cluster.append(place, write_batches(pa.table({"value": [b"\x04"]})))
        settings = {f"kafka.{name}": str(value) for name, value in FAST.items()}
        formats = {"value.format": "avro", "value.schema": '"long"', "columns": "offset,value"}
        scan = load(
            columns(
                **{"kafka.bootstrap.servers": cluster.address, "subscribe": "t", "mode": mode},
                **formats,
                **settings,
            )[0]
        )
        (part,) = scan.ranges()
        if mode == "FAILFAST":
            with pytest.raises(RecordError, match="crc_mismatch: t-0, offset 1, batch"):
                list(scan.read(tuple(part)))
        else:
            rows = [row for batch in scan.read(tuple(part)) for row in batch.to_pylist()]
            assert rows == [{"offset": 0, "value": 1}, {"offset": 3, "value": 2}]
            assert "left out: crc_mismatch: t-0, offset 1, batch" in caplog.text
        assert list(scan.read(None)) == []


def test_what_has_data_sources_gets_one_whatever_its_version(monkeypatch):
    """Databricks 16.4 calls itself 3.5.2."""
    registered = []
    session = SimpleNamespace(dataSource=SimpleNamespace(register=registered.append))
    monkeypatch.setenv("SPARK_CONNECT_MODE_ENABLED", "1")
    monkeypatch.setattr("pyspark.__version__", "3.5.2")
    register_kafka(session)
    assert [each.name() for each in registered] == ["kcodec_kafka"]
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"this is 3\.5\.2: read_topic\(spark, options\) reads batches"):
        register_kafka(session)


def test_lists_of_nulls():
    """Arrow's cast, where fields become nullable, makes lists of them that are longer than what they hold."""
    kind = {"type": "array", "items": "null"}
    inner = {"type": "record", "name": "I", "fields": [{"name": "n", "type": kind}]}
    record = {"type": "record", "name": "R", "fields": [{"name": "i", "type": inner}]}
    rows = [{"i": {"n": [None, None]}}, {"i": {"n": [None]}}]
    with FakeCluster({"t": 1}) as cluster:
        cluster.append(("t", 0), write_batches(pa.table({"value": AvroCodec(record).encode(rows)})))
        place = {f"kafka.{name}": str(value) for name, value in FAST.items()}
        place |= {"kafka.bootstrap.servers": cluster.address, "subscribe": "t", "columns": "value"}
        scan = load(
            columns(
                **place, **{"value.format": "avro", "value.schema": json.dumps(record), "mode": "PERMISSIVE"}
            )[0]
        )
        (batch,) = (batch for part in scan.ranges() for batch in scan.read(tuple(part)))
    batch.validate(full=True)
    assert batch.column(0).to_pylist() == rows

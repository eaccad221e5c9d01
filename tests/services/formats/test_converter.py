"""Kafka's own JsonConverter as the oracle: on generated values, rows and columns, in both directions."""

import base64
import json
import random
import struct
from decimal import Decimal

import pyarrow as pa
import pytest
from artifacts import JAVA, had, jars, program, run
from topics import Message

from kcodec import ConnectJsonCodec, ConnectSchema
from kcodec.formats.connect.converter import SYNTAX, JsonConverter, converter_config
from kcodec.plan.failure import RowError
from kcodec_spark import from_connect_json, to_connect_json

NAMES = [f"org.apache.kafka.connect.data.{name}" for name in ("Decimal", "Date", "Time", "Timestamp")]
SETTINGS = [
    {},
    {"decimal.format": "NUMERIC"},
    {"schemas.enable": "false"},
    {"replace.null.with.default": "false", "decimal.format": "numeric"},
]


@pytest.fixture(scope="session")
def oracle():
    """Ask JsonConverter, all questions at once."""
    # The text of some doubles is the shortest only since 19.
    command = had(lambda: program(JAVA / "converter" / "Converter.java", jars("converter"), 21))

    def ask(questions):
        lines = [
            ",".join(f"{name}={value}" for name, value in ({"schemas.cache.size": 1000} | settings).items())
            + "\t"
            + base64.b64encode(data).decode()
            for settings, data in questions
        ]
        answers = [line.split("\t") for line in run(command, lines, timeout=300)]
        assert len(answers) == len(questions)
        return [(word, base64.b64decode(text)) for word, text in answers]

    return ask


def answer(settings, data):
    """What kcodec answers, a row at a time."""
    own = JsonConverter(converter_config(settings))
    try:
        written = own.from_connect_data(*own.to_connect_data(data))
    except RowError as error:
        return "refused", error.reason.encode()
    return ("null", b"") if written is None else ("written", written)


def double(r: random.Random) -> float:
    while True:
        value = (
            struct.unpack("<d", r.randbytes(8))[0]
            if r.random() < 0.5
            else round(r.uniform(-1e9, 1e9), r.randrange(9))
        )
        if value == value and abs(value) != float("inf"):
            return value


def schema(r: random.Random, depth: int = 0) -> dict:
    """Make a schema, some with a default."""
    simple = ["boolean", "int8", "int16", "int32", "int64", "float", "double", "string", "bytes"]
    kind = r.choice([*simple, *NAMES] + ["array", "map", "struct"] * 2 * (depth < 3))
    made = {"type": kind}
    if kind in NAMES:
        made = {"type": ("bytes", "int32", "int32", "int64")[NAMES.index(kind)], "name": kind, "version": 1}
        if kind == NAMES[0]:
            made["parameters"] = {"scale": str(r.randrange(-3, 12))}
    elif kind == "array":
        made["items"] = schema(r, depth + 1)
    elif kind == "map":
        made["keys"] = {"type": r.choice(["string", "int32", "int64"])}
        made["values"] = schema(r, depth + 1)
    elif kind == "struct":
        made["fields"] = [{"field": name, **schema(r, depth + 1)} for name in "abcdé"[: r.randrange(1, 6)]]
    if r.random() < 0.4:
        made["optional"] = True
    if r.random() < 0.1:
        made["doc"] = 'said "so"'
    if r.random() < 0.2 and made["type"] != "struct":
        made["default"] = value(r, {**made, "optional": False})
    return made


def value(r: random.Random, made: dict):
    """Make a value that its schema takes."""
    if made.get("optional") and r.random() < 0.3:
        return None
    kind = made.get("name") or made["type"]
    if kind == NAMES[0]:
        unscaled = r.choice([0, 1, -1, 255, -256, r.randrange(-(10**20), 10**20)])
        if r.random() < 0.5:
            size = (unscaled if unscaled >= 0 else ~unscaled).bit_length() // 8 + 1
            return base64.b64encode(unscaled.to_bytes(size, "big", signed=True)).decode()
        return Raw(str(Decimal(unscaled).scaleb(-int(made["parameters"]["scale"]))))
    if kind == NAMES[2]:
        return r.randrange(86_400_001)
    if kind == "boolean":
        return r.random() < 0.5
    if kind in ("float", "double"):
        return double(r) if kind == "double" else round(r.uniform(-1e5, 1e5), 3)
    if kind == "string":
        return "".join(r.choice('ab"\\/\n\t\x01\x7fé☃😀\u2028') for _ in range(r.randrange(6)))
    if kind == "bytes":
        return base64.b64encode(r.randbytes(r.randrange(6))).decode()
    if kind == "array":
        return [value(r, made["items"]) for _ in range(r.randrange(4))]
    if kind == "map":
        # One entry at most: Java's maps have an order of their own.
        item = value(r, made["values"])
        key = "k" if made["keys"]["type"] == "string" else r.randrange(100)
        entry = {key: item} if key == "k" else [[key, item]]
        return entry if r.random() < 0.8 else type(entry)()
    if kind == "struct":
        return {field["field"]: value(r, field) for field in made["fields"]}
    bits = {"int8": 8, "int16": 16, "int64": 64, NAMES[3]: 50}.get(kind, 32)
    return r.randrange(-(1 << (bits - 1)), 1 << (bits - 1))


class Raw(str):
    """A number as it is to be written."""


ODD = [
    None,
    True,
    False,
    0,
    -1,
    300,
    2**31,
    2**63,
    2**70,
    1.5,
    -0.5,
    1e300,
    "",
    "AJw=",
    "A",
    "x",
    [],
    [1],
    {},
    {"a": 1},
]
ODD += [
    Raw(text)
    for text in ("1e5", "1e-7", "-0.0", "1e400", "-1e-400", "1.50", "007", "1e2147483648", "16777217.0000001")
]


def text(made) -> str:
    if isinstance(made, Raw):
        return str(made)
    if isinstance(made, dict):
        return "{" + ",".join(f"{json.dumps(key)}:{text(item)}" for key, item in made.items()) + "}"
    if isinstance(made, list):
        return "[" + ",".join(map(text, made)) + "]"
    return json.dumps(made)


def odd(r: random.Random, made):
    """Put something odd somewhere into a value."""
    if isinstance(made, dict) and made and r.random() < 0.7:
        key = r.choice(list(made))
        return (
            {**made, key: odd(r, made[key])}
            if r.random() < 0.9
            else {k: v for k, v in made.items() if k != key}
        )
    if isinstance(made, list) and made and r.random() < 0.7:
        place = r.randrange(len(made))
        return [*made[:place], odd(r, made[place]), *made[place + 1 :]]
    return r.choice(ODD)


def question(r: random.Random):
    settings = r.choice(SETTINGS)
    made = schema(r)
    payload = value(r, made)
    if r.random() < 0.4:
        payload = odd(r, payload)
    if settings.get("schemas.enable") == "false":
        data = text(payload)
    elif r.random() < 0.5:
        data = f'{{"schema":{text(made)},"payload":{text(payload)}}}'
    else:
        data = f' {{"payload" : {text(payload)} ,\n"schema":{text(made)} }} '
    encoding = r.choice(["utf-8"] * 8 + ["utf-16", "utf-32-be"])
    data = data.encode(encoding)
    if encoding == "utf-8" and r.random() < 0.2:
        place = r.randrange(len(data) + 1)
        data = (
            data[:place] + r.choice([b"", b"}", b'"', b",", b"0", b"\\", b"\x00", b"e"]) + data[place + 1 :]
        )
    return settings, data


def test_rows(oracle, capsys):
    r = random.Random(5)
    questions = [question(r) for _ in range(4000)]
    words = {}
    for (settings, data), (word, told) in zip(questions, oracle(questions), strict=True):
        own, ours = answer(settings, data)
        assert own == word, (settings, data, told, ours)
        if word == "refused" and told.decode().startswith(SYNTAX):
            assert ours.decode().startswith(SYNTAX), (data, told, ours)
        elif word == "refused":
            # Java stumbles over a Decimal without any parameters.
            assert ours == told or b"is null" in told, (settings, data)
        elif ours != told:
            # Without a schema several keys are in the order of Java's map.
            assert json.loads(ours) == json.loads(told), (settings, data, told, ours)
        words[word] = words.get(word, 0) + 1
    assert min(words.values()) > 50
    with capsys.disabled():
        print(f"\nJsonConverter 4.3.0, rows: {words}")


@pytest.mark.parametrize("decimal_format", ["BASE64", "NUMERIC"])
def test_columns(oracle, decimal_format, capsys):
    r = random.Random(9)
    settings = {"decimal.format": decimal_format}
    columns, questions = [], []
    for _ in range(60):
        made = struct_of(r)
        rows = [f'{{"schema":{text(made)},"payload":{text(value(r, made))}}}'.encode() for _ in range(20)]
        codec = ConnectJsonCodec(text(made), decimal_format=decimal_format)
        array, report = codec.decode(rows, errors="report")
        assert set(report["code"].to_pylist()) <= {
            "out_of_range",
            "decimal_precision",
            "null_value",
            "inexact",
        }
        array = array.drop_null()
        columns.append((codec, array))
        questions += [(settings, data) for data in codec.encode(array).to_pylist()]
    answers = iter(oracle(questions))
    checked = 0
    for codec, array in columns:
        written = codec.encode(array).to_pylist()
        again = [next(answers) for _ in written]
        # Read and written by Java, what kcodec writes stays what it is; and read by kcodec, it is the column.
        assert again == [("written", data) for data in written]
        assert codec.decode([data for _, data in again]).equals(array)
        assert (
            ConnectJsonCodec(compat="connect")
            .decode(pa.array([None, *written]))[1:]
            .cast(array.type)
            .equals(array)
        )
        checked += len(written)
    assert checked > 500
    with capsys.disabled():
        print(f"\nJsonConverter 4.3.0, rows of columns, {decimal_format}: {checked}")


def struct_of(r: random.Random) -> dict:
    made = schema(r)
    while made["type"] != "struct" or ConnectSchema.from_json(text(made)).to_arrow().num_fields < 2:
        made = schema(r)
    return made


def test_through_the_broker(spark, kafka, topic, oracle):
    """What JsonConverter wrote to a topic, in both forms of decimals, is read; and written as it writes it."""
    schema = {"type": "struct", "optional": False, "name": "shop.Order", "fields": [
        {"field": "id", "type": "int64"},
        {"field": "price", "type": "bytes", "optional": True, "name": NAMES[0], "version": 1,
         "parameters": {"scale": "2", "connect.decimal.precision": "9"}},
        {"field": "at", "type": "int64", "name": NAMES[3], "version": 1, "optional": True},
        {"field": "tags", "type": "map", "keys": {"type": "string"}, "values": {"type": "int32"}},
    ]}  # fmt: skip
    key_schema = {"type": "string"}
    count = 40
    orders = [
        {
            "id": n,
            "price": None if n % 7 == 0 else Decimal(n * n - 99) / 100,
            "at": 1_700_000_000_000_000 + n * 1000,
            "tags": [("t", n)] * (n % 2),
        }
        for n in range(count)
    ]
    orders[3] = None
    values_codec = ConnectJsonCodec(schema)
    keys_codec = ConnectJsonCodec(key_schema, schemas_enable=False)
    column = pa.array(orders, values_codec.arrow_type)
    keys = keys_codec.encode(pa.array([f"{n:03}" for n in range(count)])).to_pylist()
    # Given what kcodec wrote, JsonConverter writes both forms.
    written = values_codec.encode(column).to_pylist()
    questions = [
        ({"decimal.format": "BASE64" if n % 2 else "NUMERIC"}, data)
        for n, data in enumerate(written)
        if data is not None
    ]
    answers = iter(oracle(questions))
    theirs = [None if data is None else next(answers)[1] for data in written]
    numbers = [n for n in range(0, count, 2) if orders[n]["price"] is not None]
    assert [n for n in range(count) if theirs[n] != written[n]] == numbers
    kafka.produce(topic, map(Message, keys, theirs))

    messages = kafka.consume(topic, count)
    assert keys_codec.decode([each.key for each in messages]).to_pylist() == [f"{n:03}" for n in range(count)]
    assert values_codec.decode([each.value for each in messages]).equals(column)

    frame = kafka.source(spark.read, topic).select(
        from_connect_json("key", key_schema, {"schemas.enable": "false"}, is_key=True).alias("key"),
        from_connect_json("value", schema).alias("order"),
    )
    again = kafka.create(f"{topic}-again")
    frame.select(
        to_connect_json("key", key_schema, {"schemas.enable": "false"}, is_key=True).alias("key"),
        to_connect_json("order", schema).alias("value"),
    ).write.format("kafka").option("kafka.bootstrap.servers", kafka.address).option("topic", again).save()
    messages = kafka.consume(again, count)
    assert [each.key for each in messages] == keys
    assert [each.value for each in messages] == written

"""Conditions on columns beside Spark's own answers: random ones, on rows with all that is odd."""

import json
import math
import os
import random
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal

import pyarrow as pa
import pytest
from fake_broker import PATIENT, FakeCluster

from kcodec import AvroCodec
from kcodec.kafka.conditions.condition import AnyOf, Compare, Every, Holds, IsNull, Not, OneOf, Text, mask
from kcodec.kafka.conditions.where import column_at, parse
from kcodec.protocol import write_batches
from kcodec_spark import register_kafka

#: In one query Spark answers so many.
AT_ONCE = 250
CONDITIONS = 10_000 if os.environ.get("KCODEC_HYPOTHESIS") == "thorough" else 500
QUERIES = 200 if os.environ.get("KCODEC_HYPOTHESIS") == "thorough" else 4

EPOCH = datetime(1970, 1, 1)
NAN = math.nan
#: Patterns of LIKE, as SQL and Python have them within quotes.
PATTERNS = ["", "%", "a%", "%b", "_", "a_", "%ä%", "\\\\%", "\\%", "a\\_", "_\\%%", "d_", "%.%"]
WORDS = ["a%", "a_", "\\", "a\nb", "", "a", "ab", "aä", "\uffff", "𝄞", "Z", "z", "ü€", "DE"]
MOMENTS = [
    EPOCH + timedelta(microseconds=each)
    for each in (-14831769600000001, -1, 0, 1, 1729987199999999, 1769860800000000)
]
#: Of each type, what stands in columns and in conditions.
VALUES = {
    "tiny": (pa.int32(), [-(2**31), -1, 0, 1, 7, 2**31 - 1]),
    "big": (pa.int64(), [-(2**63), -1, 0, 1, 2**53, 2**53 + 1, 2**63 - 1]),
    "price": (
        pa.decimal128(12, 2),
        [Decimal(each) for each in ("-9999999999.99", "-0.01", "0", "1.50", "7", "9999999999.99")],
    ),
    "single": (pa.float32(), [0.0, -0.0, 0.1, 1.5, -7.0, 3.4028234663852886e38, NAN, math.inf, -math.inf]),
    "ratio": (pa.float64(), [0.0, -0.0, 0.1, 1.5, -7.0, 1e300, NAN, math.inf, -math.inf]),
    "text": (pa.string(), WORDS),
    "flag": (pa.bool_(), [True, False]),
    "at": (pa.timestamp("us", "UTC"), [each.replace(tzinfo=timezone.utc) for each in MOMENTS]),
    "local": (pa.timestamp("us"), MOMENTS),
    "day": (pa.date32(), [date(1500, 2, 27), date(1969, 12, 31), date(1970, 1, 1), date(2026, 1, 31)]),
}
#: What is compared with numbers besides: none beyond the type, for which Spark 4.3 takes null for false (in
#: ``big < 1e25``, where big is a bigint).
NUMBERS = {
    "tiny": [Decimal("0.5"), Decimal("-0.5"), Decimal("6.9")],
    "big": [Decimal("0.5"), Decimal("9007199254740992.5"), Decimal("-1.0")],
    "price": [Decimal("1.495"), Decimal("-0.005"), Decimal("1.500"), 2],
}


def rows(draw, count=40):
    """Return random rows, with each column again as a field of a struct that may be null."""
    kinds = [pa.field(name, kind) for name, (kind, _) in VALUES.items()]
    made = [
        {name: None if draw.random() < 0.2 else draw.choice(values) for name, (_, values) in VALUES.items()}
        for _ in range(2 * count)
    ]
    inner = [None if draw.random() < 0.2 else each for each in made[count:]]
    schema = pa.schema([*kinds, pa.field("value", pa.struct(kinds))])
    return pa.RecordBatch.from_pylist(
        [{**each, "value": part} for each, part in zip(made, inner, strict=False)], schema
    )


def condition(draw, depth=2, paths=("{}", "value.{}")):
    kind = draw.random()
    if depth and kind < 0.4:
        parts = tuple(condition(draw, depth - 1, paths) for _ in range(draw.randint(1, 3)))
        return draw.choice([Every, AnyOf])(parts)
    if depth and kind < 0.55:
        return Not(condition(draw, depth - 1, paths))
    name = draw.choice([*VALUES])
    path = tuple(draw.choice(paths).format(name).split("."))
    values = [*VALUES[name][1], *NUMBERS.get(name, ())]
    kind = draw.random()
    if kind < 0.1:
        return IsNull(draw.choice([path, ("value",)]))
    if kind < 0.25:
        return OneOf(path, tuple(draw.choice(values) for _ in range(draw.randint(1, 4))))
    if name == "flag" and kind < 0.6:
        return Holds(path)
    if name == "text" and kind < 0.6:
        if draw.random() < 0.4:
            return Text(path, "match_like", draw.choice(PATTERNS))
        return Text(path, draw.choice(["starts_with", "ends_with", "match_substring"]), draw.choice(WORDS))
    return Compare(path, draw.choice(["==", "!=", "<", "<=", ">", ">="]), draw.choice(values))


def sql(made):
    """Return a condition as Spark reads it."""
    if isinstance(made, (Every, AnyOf)):
        joined = (" AND " if isinstance(made, Every) else " OR ").join(map(sql, made.parts))
        return f"({joined})"
    if isinstance(made, Not):
        return f"(NOT {sql(made.part)})"
    name = ".".join(made.path)
    if isinstance(made, IsNull):
        return f"({name} IS NULL)"
    if isinstance(made, Holds):
        return name
    if isinstance(made, Text) and made.how == "match_like":
        return f"({name} LIKE {quoted(made.value)})"
    if isinstance(made, Text):
        how = {"starts_with": "startswith", "ends_with": "endswith", "match_substring": "contains"}[made.how]
        return f"{how}({name}, {quoted(made.value)})"
    if isinstance(made, OneOf):
        return f"({name} IN ({', '.join(literal(each, made.path[-1]) for each in made.values)}))"
    return f"({name} {made.op} {literal(made.value, made.path[-1])})"


def quoted(text):
    return "'" + text.replace("\\", "\\\\").replace("\n", "\\n") + "'"


def literal(value, column):
    if isinstance(value, datetime):
        return f"TIMESTAMP '{value}'" if value.tzinfo else f"TIMESTAMP_NTZ '{value}'"
    if isinstance(value, date):
        return f"DATE '{value}'"
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, float):
        kind = "FLOAT" if column == "single" else "DOUBLE"
        # A zero of this sign is none of a decimal.
        return f"CAST('{value}' AS {kind})"
    return str(value)


def python(made):
    """Return a condition as it is given in text; None if it cannot be."""
    if isinstance(made, (Every, AnyOf)):
        parts = [python(part) for part in made.parts]
        joined = (" and " if isinstance(made, Every) else " or ").join(part or "" for part in parts)
        return None if None in parts else f"({joined})"
    if isinstance(made, Not):
        part = python(made.part)
        return None if part is None else f"(not {part})"
    name = ".".join(made.path)
    if isinstance(made, IsNull):
        return f"{name} is null"
    if isinstance(made, Holds):
        return name
    if isinstance(made, Text):
        return f"{name} LIKE {made.value!r}" if made.how == "match_like" else None
    values = made.values if isinstance(made, OneOf) else (made.value,)
    if any(isinstance(each, float) and not math.isfinite(each) for each in values):
        return None
    texts = [
        str(each) if isinstance(each, (bool, int, float, Decimal)) else repr(str(each)) for each in values
    ]
    return f"{name} in [{', '.join(texts)}]" if isinstance(made, OneOf) else f"{name} {made.op} {texts[0]}"


@pytest.mark.parametrize("seed", range(CONDITIONS // AT_ONCE))
def test_answers_are_sparks(classic, seed):
    draw = random.Random(seed)
    batch = rows(draw)
    made = [condition(draw) for _ in range(AT_ONCE)]
    frame = classic.createDataFrame(pa.Table.from_batches([batch]))
    frame.createOrReplaceTempView("where_rows")
    wanted = ", ".join(f"{sql(each)} AS c{number}" for number, each in enumerate(made))
    found = classic.sql(f"SELECT {wanted} FROM where_rows").toArrow()
    for number, each in enumerate(made):
        answers = found[f"c{number}"].to_pylist()
        own = mask(each, lambda path: column_at(batch, path)).to_pylist()
        assert own == answers, sql(each)
        text = python(each)
        if text is not None:
            assert mask(parse(text, "where"), lambda path: column_at(batch, path)).to_pylist() == answers, (
                text
            )


SCHEMA = {
    "type": "record",
    "name": "R",
    "fields": [
        {"name": "big", "type": ["null", "long"]},
        {"name": "tiny", "type": ["null", "int"]},
        {
            "name": "price",
            "type": ["null", {"type": "bytes", "logicalType": "decimal", "precision": 12, "scale": 2}],
        },
        {"name": "single", "type": ["null", "float"]},
        {"name": "ratio", "type": ["null", "double"]},
        {"name": "text", "type": ["null", "string"]},
        {"name": "flag", "type": ["null", "boolean"]},
        {"name": "at", "type": ["null", {"type": "long", "logicalType": "timestamp-micros"}]},
        {"name": "local", "type": ["null", {"type": "long", "logicalType": "local-timestamp-micros"}]},
        {"name": "day", "type": ["null", {"type": "int", "logicalType": "date"}]},
    ],
}


@pytest.mark.thorough
def test_filters_of_queries(classic):
    """The rows of a query are those that Spark leaves without handing filters over."""
    register_kafka(classic)
    draw = random.Random(7)
    codec = AvroCodec(json.dumps(SCHEMA))
    values = codec.encode(rows(draw, 60).column("value").cast(codec.arrow_type))
    texts = [
        " AND ".join(
            sql(condition(draw, draw.randint(0, 1), ["value.{}"])) for _ in range(draw.randint(1, 2))
        )
        for _ in range(QUERIES)
    ]
    with FakeCluster({"t": 2}) as cluster:
        for partition in range(2):
            part = values.slice(30 * partition, 30)
            times = pa.array([1000 * number for number in range(30)], pa.timestamp("ms", "UTC"))
            cluster.append(("t", partition), write_batches(pa.table({"value": part, "timestamp": times})))
        place = {f"kafka.{name}": str(value) for name, value in PATIENT.items()}
        place |= {"kafka.bootstrap.servers": cluster.address, "subscribe": "t"}
        place |= {"value.format": "avro", "value.schema": json.dumps(SCHEMA)}
        topic = classic.read.format("kcodec_kafka").options(**place)
        wanted = topic.load().selectExpr("partition", "offset", *texts).collect()
        try:
            classic.conf.set("spark.sql.python.filterPushdown.enabled", "true")
            topic = topic.option("pushFilters", "true")
            for number, text in enumerate(texts):
                # Spark hands filters over once for what was loaded, and has their rows in all that comes.
                found = topic.load().where(text).select("partition", "offset").collect()
                expected = [(row[0], row[1]) for row in wanted if row[2 + number]]
                assert sorted(tuple(row) for row in found) == sorted(expected), text
            frame = topic.load().where(
                "timestamp >= '1970-01-01 00:00:07' AND value.flag AND partition % 2 = 1"
            )
            plan = frame._jdf.queryExecution().executedPlan().toString()
            (kept,) = [line for line in plan.splitlines() if "Filter (" in line]
            assert "% 2" in kept
            assert "flag" not in kept
        finally:
            classic.conf.unset("spark.sql.python.filterPushdown.enabled")

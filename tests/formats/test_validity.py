"""No array is handed out that ``validate(full=True)`` refuses, whatever the rows, and however lenient the reading."""

import itertools

import pyarrow as pa
from cases import cases

import kcodec
from kcodec import ConnectSchema

DAY = 86_400_000
#: Values of JSON at and beyond the ends of all types.
VALUES = [
    "null", "true", "false", "{}", "[]", '""', '"x"', '"12"', '"AJw="', '"AJw"', '" 1.5f "', '"NaN"', '"-Infinity"',
    "0", "-0", "-1", "1.0", "1.5", "-0.0", "007", "1e2", "1e400", "-1e400", "1e-400", "12345678901234567890.5",
    "9" * 40, "0." + "0" * 40 + "1", "86400", f"{DAY - 1}", f"{DAY}", f"{DAY + 1}", f"{-DAY}", f'"{DAY}"', f"{DAY}.0",
    *(f"{sign * 2**bits + more}" for bits in (7, 15, 31, 32, 53, 63, 64) for sign in (1, -1) for more in (-1, 0, 1)),
    '"24:00:00"', '"23:59:60"', '"23:59:59.999"', '"0000-01-01"', '"9999-12-31"', '"2024-02-30"',
    '"2024-02-29T24:00:00Z"', '"2024-05-01T10:00:00.123456789+23:59"', '"\\ud800"', '"\\u0000"', '"😀"',
    "[1, null, true]", f"[{DAY}]", f"[0, {DAY}]", '[["k", 1], ["k", 2], [null, 3]]', f"[[{DAY}, 1]]", f"[[1, {DAY}]]",
    '{"k": 1, "k": null}', f'{{"k": {DAY}}}', f'{{"a": {DAY}, "b": [{DAY}]}}', '{"a": {"a": 1}}',
    "1 2", "", " ", "nul", "[1", "\"x", "x\ty",
]  # fmt: skip
ROWS = [*(text.encode() for text in VALUES), b'"\xff"', b'"\xed\xa0\x80"', b"\xf0\x9f"]
#: What stands in cells of delimited text.
CELLS = [text.strip('"').encode() for text in VALUES] + ROWS

CONNECT = [
    *(ConnectSchema(name) for name in ("boolean", "int8", "int16", "int32", "int64", "float", "double")),
    ConnectSchema("string"), ConnectSchema("bytes"), ConnectSchema.decimal(2, 9), ConnectSchema.decimal(-1, 50),
    ConnectSchema.date(), ConnectSchema.time(), ConnectSchema.timestamp(),
]  # fmt: skip
CONNECT += [ConnectSchema("array", value_schema=part) for part in CONNECT]
CONNECT += [
    ConnectSchema("map", key_schema=key, value_schema=ConnectSchema.time())
    for key in (ConnectSchema("string"), ConnectSchema("int8"), ConnectSchema.time())
]
CONNECT += [ConnectSchema("struct", fields={"a": part}) for part in CONNECT]
CONNECT.append(
    ConnectSchema(
        "struct",
        fields={
            "a": ConnectSchema.time(default=DAY),
            "b": ConnectSchema("array", value_schema=ConnectSchema.time()),
        },
    )
)
#: Columns of an Arrow type of the caller's own.
TIMES = [pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns"), pa.date32(), pa.date64()]
TIMES += [pa.timestamp("ms"), pa.timestamp("ns", "UTC"), pa.struct([("a", pa.time64("us"))])]

SQL = [
    "BOOLEAN",
    "INT",
    "BIGINT",
    "DOUBLE",
    "DECIMAL(4,2)",
    "DECIMAL(40,2)",
    "STRING",
    "BYTES",
    "TIME",
    "DATE",
]
SQL += ["TIMESTAMP", "ARRAY<TIME>", "MAP<STRING, TIME>", "STRUCT<A TIME, B ARRAY<TIME>>"]


def check(codec, rows):
    codec.decode(rows, errors="null").validate(full=True)


@cases("compat", [None, "connect"])
@cases("schema", CONNECT, ids=str)
def test_connect(impl, schema, compat):
    check(kcodec.ConnectJsonCodec(schema, schemas_enable=False, compat=compat), ROWS)
    rows = [b'{"schema":%s,"payload":%s}' % (schema.to_text().encode(), row) for row in ROWS]
    check(kcodec.ConnectJsonCodec(compat=compat), rows)


@cases("compat", [None, "connect"])
@cases("kind", TIMES, ids=str)
def test_connect_by_arrow_type(impl, kind, compat):
    check(kcodec.ConnectJsonCodec(kind, schemas_enable=False, compat=compat), ROWS)


@cases("compat", [None, "ksqldb"])
@cases("sql", SQL)
def test_ksqldb(impl, sql, compat):
    check(kcodec.KsqlCodec("JSON", f"A {sql}", wrap=False, compat=compat), ROWS)
    check(kcodec.KsqlCodec("JSON", f"A {sql}", compat=compat), [b'{"A":%s}' % row for row in ROWS])
    if "<" not in sql:
        check(kcodec.KsqlCodec("DELIMITED", f"A {sql}", compat=compat), CELLS)


@cases("kind", TIMES, ids=str)
@cases("times", ["iso", "number"])
def test_json(impl, kind, times):
    for nonfinite, text_numbers in itertools.product((False, True), repeat=2):
        check(kcodec.JsonCodec(kind, times=times, nonfinite=nonfinite, text_numbers=text_numbers), ROWS)

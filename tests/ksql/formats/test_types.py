"""ksqlDB's column lists and types: what is read, printed and refused, and the Arrow types."""

import gzip
import json

import pyarrow as pa
import pytest
from cases import cases

from kcodec import SchemaError
from kcodec.ksql.types import (
    MAX_NESTING,
    SqlColumn,
    SqlType,
    arrow_type,
    columns_of,
    parse_columns,
    parse_type,
    sql_type,
)

EVERYTHING = """(
    id BIGINT PRIMARY KEY, -- of the order
    `Order Key` varchar(20) KEY, "q""uote" STRING,
    b `boolean`, i int(3), n INTEGER(1, STRING), d double, amount DECIMAL(10 , 2),
    raw BYTES, t TIME, day DATE, at TIMESTAMP,
    a ARRAY<ARRAY<INT>>, suffix INT ARRAY ARRAY, m MAP<STRING, STRUCT<x INT, `y z` DECIMAL(38,0)>>, /* all
    */ e STRUCT< >, 2nd STRING, h ARRAY<STRUCT<key STRING, value BYTES>> HEADERS, one BYTES HEADER('one')
)"""
PRINTED = [
    "`ID` BIGINT PRIMARY KEY", "`Order Key` STRING KEY", '`q"uote` STRING', "`B` BOOLEAN", "`I` INTEGER",
    "`N` INTEGER", "`D` DOUBLE", "`AMOUNT` DECIMAL(10, 2)", "`RAW` BYTES", "`T` TIME", "`DAY` DATE",
    "`AT` TIMESTAMP", "`A` ARRAY<ARRAY<INTEGER>>", "`SUFFIX` ARRAY<ARRAY<INTEGER>>",
    "`M` MAP<STRING, STRUCT<`X` INTEGER, `y z` DECIMAL(38, 0)>>", "`E` STRUCT< >", "`2ND` STRING",
    "`H` ARRAY<STRUCT<`KEY` STRING, `VALUE` BYTES>> HEADERS", "`ONE` BYTES HEADER('one')",
]  # fmt: skip


def test_everything_is_read_and_printed():
    columns = parse_columns(EVERYTHING)
    assert [str(column) for column in columns] == PRINTED
    assert parse_columns(", ".join(PRINTED)) == columns
    assert [column.kind for column in columns] == ["key"] * 2 + ["value"] * 15 + ["header"] * 2


@pytest.mark.parametrize("text", ["", "()", "  "])
def test_no_columns(text):
    assert parse_columns(text) == ()


@cases(
    ("text", "message"),
    [
        ("ID", "a type is missing at line 1, column 3"),
        ("ID INT,", "a column is missing"),
        ("ID INT NAME STRING", "unexpected 'NAME' at line 1, column 8"),
        ("ID INT,\n  X FOO", "Cannot resolve unknown type: FOO: not one of DECIMAL, ARRAY"),
        ("ID INT,\n  X FOO", "TIMESTAMP at line 2, column 5"),
        ("ID STRING (1, KEY)", "'KEY' is neither a number nor STRING"),
        ("(ID INT", "')' is missing at line 1, column 8"),
        ("ID INT)", "unexpected ')'"),
        ("ID DECIMAL", "'(' is missing"),
        ("ID DECIMAL(0,0)", "DECIMAL precision must be >= 1: DECIMAL(0,0)"),
        ("ID DECIMAL(2,3)", "DECIMAL precision must be >= scale: DECIMAL(2,3)"),
        ("ID DECIMAL(99999999999,3)", "is not a number"),
        ("ID MAP<INT>", "',' is missing before '>'"),
        ("ID ARRAY<INT", "'>' is missing"),
        ("ID DECIMAL(2,-1)", "DECIMAL scale must be >= 0: DECIMAL(2,-1)"),
        ("ID DECIMAL(2.0,1)", "Value must be integer for command: DECIMAL(PRECISION)"),
        ("ID `ARRAY`<INT>", "Cannot resolve unknown type: ARRAY"),
        ("ID STRUCT<>", "'<' is missing before '<>'"),
        ("ID INT\u00a0KEY", r"unexpected '\xa0'"),
        ("H BYTES HEADERS", "expected ARRAY<STRUCT<`KEY` STRING, `VALUE` BYTES>>, got BYTES"),
        ("H STRING HEADER('a')", "Invalid type for HEADER('a') column: expected BYTES, got STRING"),
        ("ID INT PRIMARY", "'KEY' is missing"),
        ("ID INT KEY KEY", "unexpected 'KEY'"),
        ("ID BYTES HEADER(x)", "the name of a header is missing"),
        (
            "ID BYTES HEADER(' ')",
            "Header column must have a non-empty header key name defined at line 1, column 1",
        ),
        (
            "ID ARRAY<STRUCT<key STRING, value BYTES>> HEADER('')",
            "Header column must have a non-empty header key name defined",
        ),
        ("ID INT, `` INT", "name is empty at line 1, column 9"),
        ("` ID` INT", "name is not trimmed: ' ID'"),
        ("S STRUCT<`A\t` INT>", r"name is not trimmed: 'A\t'"),
        ('S STRUCT<"" INT>', "name is empty"),
        ("ID INT, id INT", "Duplicate column names: `ID`"),
        ("S STRUCT<A INT, `A` INT>", "Duplicate field names: `A`"),
        ("1 INT", "a name is missing before '1'"),
        ("ID INT; ID INT", "unexpected ';'"),
        ("`ID INT", "unexpected '`'"),
        ("A " + "ARRAY<" * (MAX_NESTING + 2), f"deeper than {MAX_NESTING}"),
        ("A INT" + " ARRAY" * (MAX_NESTING + 2), f"deeper than {MAX_NESTING}"),
    ],
)
def test_refused(text, message):
    with pytest.raises(SchemaError) as error:
        parse_columns(text)
    assert message in str(error.value)


def test_arrow_types_and_back():
    kind = parse_type(
        "STRUCT<"
        + ", ".join(text.replace(" PRIMARY KEY", "").replace(" KEY", "") for text in PRINTED[:15])
        + ">"
    )
    given = arrow_type(kind)
    assert sql_type(given) == kind
    assert given.field("AT").type == pa.timestamp("us", "UTC")
    assert given.field("T").type == pa.time32("ms")
    assert all(field.nullable for field in given)
    large = arrow_type(kind, large=True)
    assert large.field("A").type == pa.large_list(pa.large_list(pa.int32()))
    assert sql_type(large) == kind


def test_blanks_of_java():
    columns = parse_columns("`\u00a0a\u2003` STRING, h BYTES HEADER(' \u00a0a\t')")
    assert [column.name for column in columns] == ["\u00a0a\u2003", "H"]
    assert columns[1].header == "\u00a0a"


def test_wide_decimals():
    assert arrow_type(parse_type("DECIMAL(64,10)")) == pa.decimal256(64, 10)
    assert arrow_type(parse_type("DECIMAL(64,10)"), wide_decimals="string") == pa.string()
    for wide in ("decimal256", "string"):
        with pytest.raises(SchemaError, match="76 digits at most"):
            arrow_type(parse_type("DECIMAL(77,1)"), wide_decimals=wide)


@cases(
    ("given", "text"),
    [
        (pa.int8(), "INTEGER"), (pa.uint16(), "INTEGER"), (pa.uint32(), "BIGINT"), (pa.float32(), "DOUBLE"),
        (pa.large_string(), "STRING"), (pa.binary(4), "BYTES"), (pa.dictionary(pa.int8(), pa.string()), "STRING"),
        (pa.time64("us"), "TIME"), (pa.date64(), "DATE"), (pa.timestamp("ns"), "TIMESTAMP"),
        (pa.list_(pa.int8(), 3), "ARRAY<INTEGER>"), (pa.map_(pa.string(), pa.bool_()), "MAP<STRING, BOOLEAN>"),
    ],
)  # fmt: skip
def test_other_arrow_types(given, text):
    assert str(sql_type(given)) == text


@pytest.mark.parametrize(
    "given", [pa.uint64(), pa.null(), pa.duration("s"), pa.decimal128(3, -1), pa.month_day_nano_interval()]
)
def test_arrow_types_that_ksqldb_has_not(given):
    with pytest.raises(SchemaError, match="ksqlDB has no type for"):
        sql_type(given)


def test_columns_in_any_form():
    columns = (SqlColumn("ID", SqlType("INTEGER")), SqlColumn("Name", SqlType("STRING")))
    assert columns_of("id INT, `Name` STRING") == columns
    assert columns_of(columns) == columns
    assert columns_of(pa.schema([("ID", pa.int32()), ("Name", pa.string())])) == columns
    assert columns_of(pa.struct([("ID", pa.int32()), ("Name", pa.string())])) == columns
    for wrong in (3, ["ID INT"], [pa.field("a", pa.int8())]):
        with pytest.raises(SchemaError, match="columns are text, Arrow fields or SqlColumns"):
            columns_of(wrong)
    with pytest.raises(SchemaError, match="Duplicate column names: `ID`"):
        columns_of([columns[0], columns[0]])
    with pytest.raises(SchemaError, match="'other' is not one of value, key, header"):
        SqlColumn("ID", SqlType("INTEGER"), "other")


def test_columns_of_the_functional_tests(shared):
    path = shared / "vectors" / "ksql_vectors.jsonl.gz"
    count = 0
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as file:
        for line in file.read().split("\n")[:-1]:
            vector = json.loads(line)
            for side in ("input", "output"):
                for column in (vector.get(side) or {}).get("columns") or []:
                    kind = parse_type(column["sql"])
                    assert parse_type(str(kind)) == kind
                    assert sql_type(arrow_type(kind)) == kind
                    count += 1
    print(f"{count} columns")
    assert count > 900

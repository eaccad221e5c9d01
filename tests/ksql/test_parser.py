"""ksqlDB's statements: what is read of them, and what is refused, with its reason and place."""

import contextlib
import pickle

import pytest
from cases import cases
from hypothesis import given
from hypothesis import strategies as st

from kcodec import SchemaError
from kcodec.ksql import Statement, StatementError, parse
from kcodec.ksql.statement.parser import parse_one
from kcodec.ksql.types import MAX_NESTING

WITH = "WITH (kafka_topic='t', value_format='JSON')"


def test_everything_of_a_stream():
    [made] = parse(
        """
        -- comments stand anywhere
        create or replace /* even
        here */ Stream If Not Exists `My-Stream` (
            id BIGINT KEY, "Quote" VARCHAR(20), s STRUCT<a INT, `b` ARRAY<DECIMAL(10, 2)>>, key INT,
            h BYTES HEADER(' trace '), all_of_them ARRAY<STRUCT<key STRING, value BYTES>> HEADERS --@ a directive
        ) WITH ('kafka_topic' = 'it''s', `KEY_FORMAT`='delimited', VALUE_FORMAT = 'Protobuf', PARTITIONS=3,
            replicas='2', RETENTION_MS=86400000, timestamp='`ID`', key_delimiter='TAB',
            VALUE_PROTOBUF_NULLABLE_REPRESENTATION='OPTIONAL', CLEANUP_POLICY='delete');
        """
    )
    assert (made.kind, made.name, made.topic) == ("STREAM", "My-Stream", "it's")
    assert (made.or_replace, made.if_not_exists, made.source) == (True, True, False)
    assert [str(each) for each in made.columns] == [
        "`ID` BIGINT KEY", "`Quote` STRING", "`S` STRUCT<`A` INTEGER, `b` ARRAY<DECIMAL(10, 2)>>",
        "`KEY` INTEGER", "`H` BYTES HEADER('trace')",
        "`ALL_OF_THEM` ARRAY<STRUCT<`KEY` STRING, `VALUE` BYTES>> HEADERS",
    ]  # fmt: skip
    assert (made.key_format, made.value_format) == ("DELIMITED", "PROTOBUF")
    assert made.key_properties == {"delimiter": "TAB"}
    assert made.value_properties == {"nullableRepresentation": "optional"}
    assert (made.partitions, made.replicas, made.retention) == (3, 2, 86400000)
    assert (made.timestamp, made.timestamp_format, made.wrap) == ("ID", None, None)
    assert (made.window_type, made.window_size) == (None, None)
    assert [each.name for each in made.key_columns] == ["ID"]
    assert [each.name for each in made.value_columns] == ["Quote", "S", "KEY"]
    assert parse(str(made)) == [made]
    assert pickle.loads(pickle.dumps(made)) == made
    assert hash(made) == hash(parse(str(made))[0])


def test_tables_and_windows():
    [made] = parse(
        "CREATE SOURCE TABLE t (k STRING PRIMARY KEY, v INT) WITH (kafka_topic='t', value_format='json', "
        "key_format='kafka', window_type='tumbling', window_size='2 Hours', wrap_single_value=false);"
    )
    assert (made.kind, made.source, made.wrap) == ("TABLE", True, False)
    assert (made.window_type, made.window_size) == ("TUMBLING", 7_200_000)
    assert made.columns[0].primary
    assert str(made).startswith("CREATE SOURCE TABLE `T` (`K` STRING PRIMARY KEY, `V` INTEGER) WITH (")
    session = parse(
        "CREATE TABLE t (k STRING PRIMARY KEY, v INT) WITH (format='json', kafka_topic='t', window_type='SESSION');"
    )
    assert (session[0].window_type, session[0].window_size) == ("SESSION", None)


def test_defaults():
    [made] = parse(f"CREATE STREAM s (v INT) {WITH}")
    assert (made.key_format, made.value_format) == ("KAFKA", "JSON")
    assert made.key_codec() is None
    assert made.value_codec().decode([b'{"V":1}']).to_pylist() == [{"V": 1}]
    assert made.partitions is made.retention is made.timestamp is None


def test_columns_from_a_registry():
    [made] = parse("CREATE STREAM s WITH (kafka_topic='t', format='AVRO', value_schema_id=7);")
    assert made.infers == ("key", "value")
    assert made.value_properties == {"schemaId": "7"}
    [made] = parse("CREATE TABLE s (id INT PRIMARY KEY) WITH (kafka_topic='t', value_format='protobuf');")
    assert made.infers == ("value",)


def test_variables():
    text = """
    DEFINE topic = 'orders-${env}';
    define Format = '''JSON''';
    DEFINE name='orders'; DEFINE quoted='`Orders`'; DEFINE n = '3'; DEFINE yes = 'true'; DEFINE type = 'bigint';
    CREATE STREAM ${NAME} (id ${type}) WITH (kafka_topic='${topic}', value_format=${format}, partitions=${n},
        wrap_single_value=${yes});
    UNDEFINE topic; UNDEFINE never_defined;
    CREATE STREAM ${quoted} (id INT) WITH (kafka_topic='${topic}-$${topic}-${other:-none}-${', format=${format});
    """
    first, second = parse(text, {"env": "prod"})
    assert (first.name, first.topic, first.value_format, first.partitions, first.wrap) == (
        "ORDERS", "orders-prod", "JSON", 3, True,
    )  # fmt: skip
    assert str(first.columns[0]) == "`ID` BIGINT"
    assert second.name == "Orders"
    assert second.topic == "${topic}-${topic}-none-${"


def test_where_variables_stand_for_nothing():
    text = "CREATE STREAM s (a INT, h BYTES HEADER('${x}')) WITH (kafka_topic='${x}', value_format='JSON'%s);"
    [made] = parse(text % ", partitions=${n}", {"x": "t", "n": " 3\n"})
    assert (made.columns[1].header, made.topic, made.partitions) == ("${x}", "t", 3)
    # Without any variable nothing is looked for.
    [made] = parse(text.replace("='${x}'", "='$${x}-${y:-z}'") % "")
    assert made.topic == "$${x}-${y:-z}"


@cases(
    ("text", "message"),
    [
        (
            "CREATE STREAM ${x} (a INT) " + WITH,
            r"Identifier names cannot start with '@'.*Got: '\$\{x\}' at line 1, column 15",
        ),
        ("DEFINE x='a b'; CREATE STREAM ${x} (a INT) " + WITH, "Got: 'a b' at line 1, column 31"),
        ("DEFINE x='from'; CREATE STREAM ${x} (a INT) " + WITH, '"from" is a reserved keyword'),
        ("DEFINE x='a b'; CREATE STREAM s (a INT) WITH (kafka_topic=${x});", "Illegal argument. Got: 'a b'"),
        ("CREATE STREAM s (a INT) WITH (kafka_topic=${x});", r"Illegal argument. Got: '\$\{x\}'"),
        (
            "DEFINE x='''a'''; CREATE STREAM s (a INT) WITH (kafka_topic='${x}');",
            "is quoted, and so is the text",
        ),
        ("DEFINE 'x'='y';", "a name is missing before"),
        ("DEFINE 1x='y';", "a name is missing before '1x'"),
        ("DEFINE p='kafka_topic'; CREATE STREAM s (a INT) WITH ('${p}'='t');", r"WITH clause: \$\{P\}"),
        ("DEFINE x=3;", "a value is missing before '3'"),
        ("DEFINE x '3';", "'=' is missing"),
    ],
)
def test_variables_that_cannot_be(text, message):
    with pytest.raises(StatementError, match=message):
        parse(text)


def test_types():
    text = f"""
    CREATE TYPE address AS STRUCT<street STRING, no INT>;
    CREATE TYPE IF NOT EXISTS address AS INT;
    CREATE TYPE `people` AS ARRAY<STRUCT<a `Address`>>;
    -- ksqlDB's own types go first.
    CREATE TYPE int AS STRING; CREATE TYPE `Time` AS STRING;
    CREATE STREAM s (a ADDRESS, p PEOPLE, m MAP<STRING, address>, i INT, t TIME) {WITH};
    """
    [made] = parse(text)
    assert [str(each.type) for each in made.columns] == [
        "STRUCT<`STREET` STRING, `NO` INTEGER>",
        "ARRAY<STRUCT<`A` STRUCT<`STREET` STRING, `NO` INTEGER>>>",
        "MAP<STRING, STRUCT<`STREET` STRING, `NO` INTEGER>>",
        "INTEGER",
        "TIME",
    ]
    for name in ("t", "`T`", "`t`"):
        with pytest.raises(StatementError, match="since it is already registered with type: INTEGER"):
            parse(f"CREATE TYPE t AS INT; CREATE TYPE u AS t; CREATE TYPE {name} AS t;")


@cases(
    ("text", "words"),
    [
        ("SELECT * FROM s EMIT CHANGES;", "SELECT:"),
        ("INSERT INTO s VALUES (1);", "INSERT INTO:"),
        ("  \n-- first\n drop stream s;", "DROP STREAM:"),
        ("SHOW STREAMS EXTENDED;", "SHOW STREAMS:"),
        ("DESCRIBE s;", "DESCRIBE S:"),
        ("SET 'auto.offset.reset'='earliest';", "SET:"),
        ("CREATE STREAM s AS SELECT * FROM t;", "CREATE STREAM AS:"),
        (
            "CREATE OR REPLACE TABLE s WITH (kafka_topic='t') AS SELECT 1 FROM t;",
            "CREATE OR REPLACE TABLE AS:",
        ),
        ("CREATE SOURCE CONNECTOR c WITH ('a'='b');", "CREATE SOURCE CONNECTOR:"),
        ("CREATE SINK CONNECTOR c WITH ('a'='b');", "CREATE SINK:"),
        ("CREAT STREAM s", "Unknown statement 'CREAT': did you mean 'CREATE'?:"),
        ("42;", "Unknown statement '42':"),
    ],
)
def test_other_statements_are_refused_by_their_first_words(text, words):
    with pytest.raises(StatementError, match="only CREATE STREAM and CREATE TABLE are read") as error:
        parse(f"CREATE STREAM ok (a INT) {WITH};\n{text}")
    assert str(error.value).startswith(words)
    # Lines and columns count from 1, and comments before it are not of a statement.
    lines = text.split("\n")
    assert error.value.line == 1 + len(lines)
    assert error.value.column == 1 + len(lines[-1]) - len(lines[-1].lstrip())


def created(columns="(a INT)", properties="", kind="STREAM"):
    more = f", {properties}" if properties else ""
    return f"CREATE {kind} s {columns} WITH (kafka_topic='t', value_format='JSON'{more});"


@cases(
    ("text", "message"),
    [
        # What is no statement.
        ("CREATE STREAM s (a INT) WITH (kafka_topic='t', value_format='JSON') CREATE", "unexpected 'CREATE'"),
        (created("()"), "a name is missing before '\\)' at line 1, column 18"),
        (created("(a INT,)"), "a name is missing before '\\)'"),
        (created("(from INT)"), '"from" is a reserved keyword and it can.t be used as an identifier'),
        (created("(s STRUCT<topic INT>)"), '"topic" is a reserved keyword'),
        (";", "Unknown statement ';'"),
        ("CREATE STREAM s (a INT) WITH (kafka_topic 't');", "'=' is missing before \"'t'\""),
        ("CREATE STREAM s (a INT) WITH ();", "a property is missing before '\\)'"),
        ("CREATE STREAM s (a INT) WITH (kafka_topic=);", "a value is missing before '\\)'"),
        ("CREATE STREAM s (a INT) WITH (kafka_topic=t);", "a value is missing before 't'"),
        ("CREATE STREAM s (a INT) WITH (kafka_topic='t", 'unexpected "\'"'),
        (
            created(properties="partitions=99999999999999999999"),
            "Invalid numeric literal: 99999999999999999999",
        ),
        # Names.
        (
            "CREATE STREAM `a b` (a INT) " + WITH,
            "Source names may only contain alphanumeric values, '_' or '-'",
        ),
        ("CREATE STREAM `` (a INT) " + WITH, "name is empty"),
        (created("(a INT, `b ` INT)"), "name is not trimmed: 'b '"),
        (created("(a INT, A STRING)"), "Duplicate column names: `A`"),
        (
            created("(rowtime INT)"),
            "'ROWTIME' is a reserved column name. You cannot use it as a name for a column.",
        ),
        (created("(windowend INT)"), "'WINDOWEND' is a reserved column name"),
        # Keys.
        (
            created("(a INT PRIMARY KEY, b INT)"),
            "Column `A` is a 'PRIMARY KEY' column: please use 'KEY' for streams",
        ),
        (
            created("(a INT KEY, b INT)", kind="TABLE"),
            "Column `A` is a 'KEY' column: please use 'PRIMARY KEY' for tables",
        ),
        (created(kind="TABLE"), "Tables require a PRIMARY KEY. Please define the PRIMARY KEY."),
        (created(properties="window_type='SESSION'"), "Windowed sources require a key column."),
        (
            created("(a MAP<STRING, INT> KEY, b INT)", "key_format='JSON'"),
            "Map keys, including types that contain maps",
        ),
        (
            "CREATE OR REPLACE SOURCE STREAM s (a INT) " + WITH,
            "CREATE OR REPLACE is not supported on source streams",
        ),
        # Headers.
        (
            created("(a INT, h BYTES HEADER('x'), i BYTES HEADER('x'))"),
            r"already contains a HEADER\('x'\) column",
        ),
        (
            created("(a INT, h ARRAY<STRUCT<key STRING, value BYTES>> HEADERS, i BYTES HEADER('x'))"),
            "Schema already contains a HEADERS column.",
        ),
        (
            created("(a INT, h STRING HEADER('x'))"),
            r"Invalid type for HEADER\('x'\) column: expected BYTES, got STRING",
        ),
        # Properties.
        ("CREATE STREAM s (a INT);", 'Missing required property "KAFKA_TOPIC" which has no default value.'),
        (
            "CREATE STREAM s (a INT) WITH (kafka_topic='', value_format='JSON');",
            "property KAFKA_TOPIC: String must be non",
        ),
        (
            "CREATE STREAM s (a INT) WITH (kafka_topic='t');",
            "Statement is missing the 'VALUE_FORMAT' property",
        ),
        (
            "CREATE STREAM s WITH (kafka_topic='t', value_format='JSON');",
            "The statement does not define any columns.",
        ),
        (
            created(properties="kafka_topics='x'"),
            r"Invalid config variable\(s\) in the WITH clause: KAFKA_TOPICS: did you",
        ),
        (created(properties="kafka_topic='x'"), "Multiple entries with same key: KAFKA_TOPIC"),
        (created(properties="format='JSON'"), "Cannot supply both 'VALUE_FORMAT' and 'FORMAT' properties"),
        (created(properties="key_format='JSN'"), "Unknown format: JSN: .*did you mean 'JSON'"),
        (
            created(properties="partitions='x'"),
            "Invalid value x for property PARTITIONS: Not a number of type INT",
        ),
        (created(properties="partitions=5000000000"), "32-bit integer, but it was a java.lang.Long"),
        (created(properties="partitions=1.5"), "32-bit integer, but it was a java.math.BigDecimal"),
        (created(properties="partitions=TRUE"), "32-bit integer, but it was a java.lang.Boolean"),
        (created(properties="partitions=NULL"), "Invalid value null for property PARTITIONS"),
        (created(properties="retention_ms=1e3"), "64-bit integer .* but it was a java.lang.Double"),
        (
            created(properties="timestamp=3"),
            "property TIMESTAMP: Expected value to be a string, but it was a java.lang.Integer",
        ),
        (created(properties="wrap_single_value='yes'"), "Expected value to be either true or false"),
        (created("(a INT, b INT)", "wrap_single_value=true"), "only valid for single-field value schemas"),
        (
            created("(a INT KEY)", "wrap_single_value=true"),
            "'WRAP_SINGLE_VALUE' is only valid for single-field value schemas",
        ),
        (
            created(properties="value_delimiter='|'"),
            r"JSON does not support the following configs: \[delimiter\]",
        ),
        (
            created(properties="key_format='DELIMITED', key_delimiter=' '"),
            "Configuration KEY_DELIMITER is invalid: Delimiter cannot be empty, if you meant .* 'TAB' or 'SPACE'",
        ),
        (
            created(properties="key_format='DELIMITED', key_delimiter='ab'"),
            "Configuration KEY_DELIMITER is invalid: Invalid",
        ),
        (
            created(properties="value_schema_id=1"),
            "VALUE_FORMAT should support schema inference when VALUE_SCHEMA_ID",
        ),
        (
            "CREATE STREAM s (a INT) WITH (kafka_topic='t', value_format='AVRO', value_schema_id=1);",
            "Table elements and VALUE_SCHEMA_ID cannot both exist for create statement.",
        ),
        (
            created(properties="value_protobuf_nullable_representation='OPTIONAL'"),
            "can only be enabled with protobuf format",
        ),
        (
            created(properties="window_type='sliding'"),
            "String must be one of: SESSION, HOPPING, TUMBLING, null",
        ),
        (created(properties="window_type='hopping'"), "HOPPING windows require 'WINDOW_SIZE' to be provided"),
        (created(properties="window_size='1 DAY'"), "'WINDOW_SIZE' should not be set for SESSION windows."),
        (
            created(properties="window_type='tumbling', window_size='1'"),
            "Invalid duration: '1'. Expected 2 tokens, got: 1",
        ),
        (created(properties="window_type='tumbling', window_size='x s'"), "Not numeric: 'x'"),
        (created(properties="window_type='tumbling', window_size='1 weeks'"), "Unknown time unit: 'WEEKS'"),
        # Times.
        (
            created(properties="timestamp='b'"),
            "The TIMESTAMP column set in the WITH clause does not exist in the schema: 'B'",
        ),
        (
            created(properties="timestamp='a'"),
            r"Timestamp column, `A`, should be LONG\(INT64\), TIMESTAMP, or a String",
        ),
        (created("(a STRING)", "timestamp='a'"), "A String timestamp field has been specified without also"),
        (
            created("(a BIGINT)", "timestamp='a', timestamp_format='yyyy'"),
            "'TIMESTAMP_FORMAT' set in the WITH clause can only be used when the timestamp column is of type STRING.",
        ),
        (
            created("(a STRING)", "timestamp='a', timestamp_format='yyyyT'"),
            "Invalid datetime format for config:TIMESTAMP_FORMAT, reason:Unknown pattern letter: T",
        ),
    ],
)
def test_refused(text, message):
    with pytest.raises(StatementError, match=message) as error:
        parse(text)
    assert (error.value.line, len(str(error.value)) < 800) == (1, True)


def test_a_statement_by_itself():
    [made] = parse(created())
    assert parse_one(made) is made
    assert parse_one(str(made)) == made
    with pytest.raises(SchemaError, match="2 statements: one is needed"):
        parse_one(created() * 2)
    with pytest.raises(TypeError, match="variables are a mapping of names to texts, not list"):
        parse("CREATE STREAM s (a INT) WITH (kafka_topic='t', value_format='JSON');", ["x"])
    with pytest.raises(TypeError, match="a text or a Statement, not int"):
        parse_one(3)
    with pytest.raises(SchemaError, match="Unknown format: X"):
        Statement("STREAM", "S", made.columns, {"KAFKA_TOPIC": "t", "VALUE_FORMAT": "x"})
    with pytest.raises(SchemaError, match="'VIEW' is neither STREAM nor TABLE"):
        Statement("VIEW", "S", made.columns, made.properties)


def test_numbers():
    [made] = parse(created(properties="replicas=70000, retention_ms=-1, partitions=' 4 '"))
    # As Java's Number.shortValue.
    assert (made.replicas, made.retention, made.partitions) == (4464, -1, 4)
    assert parse(created(properties="replicas=2.9"))[0].replicas == 2
    # A double is an int first, with its bounds.
    for text, number in (("1e10", -1), ("-1e10", 0), ("7e4", 4464), ("99999999999.5", -6145)):
        assert parse(created(properties=f"replicas={text}"))[0].replicas == number
    assert str(parse(created("(a DECIMAL(00000000012, 2))"))[0].columns[0].type) == "DECIMAL(12, 2)"


def test_blanks_around_texts_of_properties():
    [made] = parse(
        "CREATE STREAM s (a STRING KEY, b STRING) WITH (kafka_topic=' \u00a0t\t', key_format=' json', "
        "value_format='DELIMITED\n', value_delimiter=' | ', timestamp=' b', timestamp_format=' yyyy ', "
        "window_type=' session ', cleanup_policy=' ');"
    )
    assert (made.topic, made.key_format, made.value_format) == ("\u00a0t", "JSON", "DELIMITED")
    assert made.value_properties == {"delimiter": "|"}
    assert (made.timestamp, made.timestamp_format, made.window_type) == ("B", "yyyy", "SESSION")
    assert made.properties["CLEANUP_POLICY"] == ""
    assert parse(str(made)) == [made]
    with pytest.raises(StatementError, match="property KAFKA_TOPIC: String must be non-empty"):
        parse("CREATE STREAM s (a INT) WITH (kafka_topic=' ', value_format='JSON');")


@cases(
    ("text", "column"),
    [
        ("s.ts", "TS"), ("`s`.`Ts`", "Ts"), ("s . ts.x", "TS"), ("ts + 1", "TS"), ("ts ts", "TS"), ("ts,", "TS"),
        ("ts AS x", "TS"), ("ts.*", None), ("ts[1]", None), ("s.ts->x", None), ("ts(1)", None), ("ts ''x''", None),
        ("(ts)", None), ("from", None), ("null", None), ("5", None), ("", None), ("ts.", None), ("${x}", None),
    ],
)  # fmt: skip
def test_references_of_columns(text, column):
    text = created("(ts BIGINT, `Ts` BIGINT, `FROM` BIGINT)", f"timestamp='{text}'")
    if column is not None:
        assert parse(text)[0].timestamp == column
    else:
        with pytest.raises(
            StatementError, match=r"the column '|Cannot parse text that is not column reference"
        ):
            parse(text)


HOSTILE = {
    "nesting": created("(a " + "ARRAY<" * 100_000 + "INT" + ">" * 100_000 + ")"),
    "suffixes": created("(a INT" + " ARRAY" * 100_000 + ")"),
    "quote": "CREATE STREAM `" + "a" * 1_000_000,
    "quotes": "CREATE STREAM " + "``" * 500_000 + "`",
    "text": created(properties="timestamp='" + "''" * 500_000),
    "comments": "/*" * 500_000,
    "dashes": "--" * 500_000 + "\nSELECT",
    "name": f"CREATE STREAM {'a' * 1_000_000}. (a INT) {WITH}",
    "type": created(f"(a {'x' * 1_000_000})"),
    "digits": created(properties="partitions=" + "9" * 1_000_000),
    "word": "x" * 1_000_000,
    "variable": "DEFINE a='xxxxxxxxxxxxxxxx'; " + "".join("DEFINE a='${a}${a}';" for _ in range(60)),
    "open variables": created(properties="timestamp='" + "${" * 300_000 + "'"),
    "types": "CREATE TYPE t AS STRUCT<a INT, b INT>; "
    + "".join(f"CREATE TYPE t{n} AS STRUCT<a t{n - 1 or ''}, b t{n - 1 or ''}>; " for n in range(1, 40)),
    "deep types": "CREATE TYPE t0 AS INT; "
    + "".join(f"CREATE TYPE t{n} AS ARRAY<t{n - 1}>; " for n in range(1, 99)),
    "pattern": created("(a STRING)", "timestamp='a', timestamp_format='" + "[" * 5000 + "'"),
}


@cases("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_text_is_refused_in_few_words(text):
    with pytest.raises(StatementError) as error:
        parse(text)
    assert len(str(error.value)) < 1000


def test_large_text():
    """Megabytes of what is right are read."""
    columns = ", ".join(f"c{n} STRUCT<a INT, b ARRAY<STRING>>" for n in range(500))
    made = parse(created(f"(k INT KEY, {columns})", "key_format='JSON'") * 3 + "--" + "x" * 1_000_000)
    assert [len(each.columns) for each in made] == [501] * 3
    nested = "ARRAY<" * MAX_NESTING + "INT" + ">" * MAX_NESTING
    assert parse(created(f"(a {nested})"))[0].columns


WORDS = [
    *(
        "CREATE",
        "OR",
        "REPLACE",
        "SOURCE",
        "STREAM",
        "TABLE",
        "IF",
        "NOT",
        "EXISTS",
        "s",
        "`a`",
        "(",
        ")",
        ",",
        "a",
    ),
    *(
        "INT",
        "STRUCT",
        "<",
        ">",
        "KEY",
        "WITH",
        "=",
        "'JSON'",
        "kafka_topic",
        "value_format",
        ";",
        "${x}",
        "DEFINE",
    ),
    *("--", "\n", "1.5", "-", "'", '"', "AS", "TYPE", "HEADERS"),
]


@given(st.lists(st.sampled_from(WORDS), max_size=40))
def test_any_words(words):
    with contextlib.suppress(StatementError):
        found = parse(" ".join(words), {"x": "y"})
        assert all(parse(str(each)) == [each] for each in found)

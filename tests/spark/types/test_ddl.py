"""Types in DDL are those that Spark's own parser reads."""

import pytest
from pyspark.errors import ParseException
from pyspark.sql.types import DataType

from kcodec import SchemaError
from kcodec.columns.types.ddl import ddl_type
from kcodec_spark.types.arrow import to_arrow_type

TYPES = [
    "id BIGINT, tags ARRAY<STRING>, amount DECIMAL(10,2)",
    "id: BIGINT NOT NULL COMMENT 'it\\'s', `a ``b``` STRUCT<x: INT NOT NULL, y DOUBLE>",
    "int",
    "date date",
    "map map<int, int>",
    "array array<int>, struct struct<a int>, decimal decimal, string string, not int, comment int, null int",
    "interval int",
    "variant int, geometry int",
    "timestamp without time zone",
    "a timestamp without time zone, timestamp timestamp",
    "tinyint",
    "a byte, b tinyint, c short, d smallint, e integer, f long, g real, h float",
    "ts timestamp, l timestamp_ltz, n timestamp_ntz, d date, b binary, v void, o boolean",
    "c char(3), v varchar(10), d dec(5), n numeric(5,5)",
    "map<string, array<struct<a: int, b: map<int, decimal(38,38)>>>>",
    "struct<>",
    "s struct<>",
    "struct<a int comment \"x\", b: string not null comment 'y'>",
    "a int -- more\n, /* and */ b int",
    "1a int, _b int, `größe` int, `` int",
    "s STRING COLLATE UTF8_LCASE",
    "a time(3), b time",
]
WRONG = [
    "id",
    "id int,",
    "id nothing",
    "größe int",
    "9 int",
    "decimal(5,6)",
    "array<>",
    "map<int>",
    "array<int",
    "id int not",
    "id int comment",
    "a.b int",
    "varchar",
    "id int name",
]


@pytest.mark.parametrize("text", TYPES)
def test_the_type_is_sparks(spark, text):
    assert ddl_type(text) == to_arrow_type(DataType.fromDDL(text))


@pytest.mark.parametrize("text", WRONG)
def test_what_spark_refuses_is_refused(spark, text):
    with pytest.raises(ParseException):
        DataType.fromDDL(text)
    with pytest.raises(SchemaError):
        ddl_type(text)

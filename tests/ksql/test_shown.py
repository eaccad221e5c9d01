"""Statements of ksqlDB as consoles and notebooks show them."""

from kcodec.columns.shown import MOST_ROWS
from kcodec.ksql import parse

TEXT = "CREATE TABLE t (id INT PRIMARY KEY, total DECIMAL(9, 2), h ARRAY<STRUCT<key STRING, value BYTES>> HEADERS)"
WITH = " WITH (kafka_topic='orders', key_format='kafka', value_format='avro');"


def test_a_statement_is_a_table_of_its_columns():
    [statement] = parse(TEXT + WITH)
    assert repr(statement).split("\n") == [
        "TABLE T: topic orders, key KAFKA, value AVRO",
        "  column  type                                        in",
        "  ID      INTEGER                                     primary key",
        "  TOTAL   DECIMAL(9, 2)                               value",
        "  H       ARRAY<STRUCT<`KEY` STRING, `VALUE` BYTES>>  headers",
    ]
    assert "<tr><td>TOTAL</td><td>DECIMAL(9, 2)</td><td>value</td></tr>" in statement._repr_html_()


def test_statements_of_strangers_are_one_screen_and_no_markup():
    name = "`a\x1b]0;owned\x07<script>\u202e`"
    columns = ", ".join([f"{name} INT", *(f"c{i} INT" for i in range(1000))])
    [statement] = parse(f"CREATE STREAM s ({columns}) WITH (kafka_topic='\x1b[31m', value_format='json');")
    assert len(repr(statement).split("\n")) == MOST_ROWS + 3
    assert all(line.isprintable() for line in repr(statement).split("\n"))
    assert statement._repr_html_().isprintable()
    assert "<script>" not in statement._repr_html_()

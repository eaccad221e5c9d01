"""The statements of ksqlDB's functional tests say what their plans say; those files stay where they are."""

import re

import pytest
from vector_files import read_vectors

from kcodec.errors import SchemaError
from kcodec.ksql import parse
from kcodec.ksql.types import parse_type

#: Statements that have a query, or create nothing.
OTHER = re.compile(r"\s*(INSERT|DROP)\b|.*\bAS\s+SELECT\b", re.IGNORECASE | re.DOTALL)


@pytest.fixture
def vectors(shared):
    return read_vectors("ksql_vectors.jsonl.gz", shared / "vectors")


def columns_of(statement):
    return [(each.name, each.kind, str(each.type)) for each in statement.columns]


def test_sources(vectors):
    """Name, kind, topic, formats, properties, columns: as in the plans."""
    count = 0
    for vector in vectors:
        if vector["kind"] != "passthrough":
            continue
        source = vector["input"]
        # Together, as later ones use the types that earlier ones make.
        found = parse("\n".join(text for text in vector["statements"] if not OTHER.match(text)))
        [statement, *_] = [each for each in found if each.topic == source["topic"]]
        assert statement.kind == vector["relation"]
        for part in ("key", "value"):
            format = source[part]["format"]
            assert getattr(statement, f"{part}_format") == format or format == "NONE"
            kept = getattr(statement, f"{part}_properties")
            # ksqlDB adds some by itself, or from the registry's schema.
            given = source[part]["properties"]
            assert kept.items() <= given.items()
            assert not {"delimiter", "schemaId", "nullableRepresentation"} & (given.keys() - kept.keys())
            if part in statement.infers:
                continue
            wanted = [
                (each["name"], each["kind"], str(parse_type(each["sql"])))
                for each in source["columns"]
                if each["kind"] == part
            ]
            assert [each for each in columns_of(statement) if each[1] == part] == wanted
        assert parse(str(statement)) == [statement]
        count += 1
    assert count == 223


def test_what_is_said_of_statements_with_errors(vectors):
    """The vectors of refused statements say what those say that are not at fault themselves."""
    count = 0
    for vector in vectors:
        texts = [text for text in vector["statements"] if re.match(r"\s*CREATE", text, re.IGNORECASE)]
        for text, said in zip(texts, vector.get("create", ()), strict=False):
            try:
                found = [] if OTHER.match(text) else parse(text)
            except SchemaError:
                continue
            for statement in found:
                wanted = [
                    (each["name"], each["kind"], str(parse_type(each["sql"])))
                    for each in said["columns"] or ()
                ]
                assert (statement.kind, statement.name, columns_of(statement)) == (
                    said["kind"],
                    said["name"],
                    wanted,
                )
                given = {name: str(value).upper() for name, value in said["with"].items()}
                assert {name: str(value).upper() for name, value in statement.properties.items()} == given
                count += 1
    assert count == 55


def test_refusals(vectors):
    """Of statements that ksqlDB refuses, those whose first statement is at fault are refused with its words."""
    refused = []
    for vector in vectors:
        if vector["kind"] != "exception":
            continue
        wanted = (vector["expected_exception"] or {}).get("message") or ""
        created = [text for text in vector["statements"] if not OTHER.match(text)]
        try:
            for text in created:
                parse(text)
        except SchemaError as error:
            refused.append(vector["test"])
            said = str(error)
            for line in re.split(r"\n|Statement:", wanted):
                if line.startswith(
                    ("reason: ", "The ", "'WRAP", "Format '", "Cannot supply", "KEY_F", "VALUE_F")
                ):
                    assert (
                        line.removeprefix("reason: ").rstrip(".").split(", column")[0].split(" Got: [")[0]
                        in said
                    )
    assert len(refused) >= 25, refused

"""Verdicts of Avro Java on pairs of schemas."""

import gzip
import json

from vector_files import HERE

from kcodec.formats.avro.schema import parse
from kcodec.formats.avro.compatibility import can_read


def test_verdicts_of_avro_java():
    with gzip.open(HERE / "vectors" / "avro_compat_matrix.json.gz", "rt", encoding="utf-8") as file:
        matrix = json.load(file)
    schemas = [parse(schema) for schema in matrix["schemas"]]
    wrong = []
    for pair in matrix["pairs"]:
        verdict = can_read(schemas[pair["reader"]], schemas[pair["writer"]])
        if verdict != (not pair["incompatibilities"]):
            wrong.append((matrix["schemas"][pair["reader"]], matrix["schemas"][pair["writer"]], pair))
    assert not wrong
    assert len(matrix["pairs"]) == 3550


def test_recursive_schemas():
    node = (
        '{"type":"record","name":"N","fields":[{"name":"v","type":"%s"},{"name":"next","type":["null","N"]}]}'
    )
    narrow, wide = parse(node.replace("%s", "int")), parse(node.replace("%s", "long"))
    assert can_read(wide, narrow)
    assert not can_read(narrow, wide)


def test_a_field_that_two_fields_match_cannot_be_read():
    writer = parse(
        '{"type":"record","name":"R","fields":[{"name":"a","type":"int"},{"name":"b","type":"int"}]}'
    )
    reader = parse('{"type":"record","name":"R","fields":[{"name":"a","aliases":["b"],"type":"int"}]}')
    assert not can_read(reader, writer)

"""Differences that Avro Java finds between pairs of schemas."""

import gzip
import json

from vector_files import HERE, read_vectors

from kcodec.formats.avro.changes.compatibility import differences
from kcodec.formats.avro.schema.parse import parse
from kcodec.formats.avro.schema_format import AvroFormat
from kcodec.formats.language import NamedText


def test_differences_of_avro_java():
    with gzip.open(HERE / "vectors" / "avro_compat_matrix.json.gz", "rt", encoding="utf-8") as file:
        matrix = json.load(file)
    schemas = [parse(schema) for schema in matrix["schemas"]]
    wrong = []
    for pair in matrix["pairs"]:
        found = differences(schemas[pair["reader"]], schemas[pair["writer"]])
        if [list(each) for each in found] != pair["incompatibilities"]:
            wrong.append((matrix["schemas"][pair["reader"]], matrix["schemas"][pair["writer"]], found, pair))
    assert not wrong
    assert len(matrix["pairs"]) == 3550


def test_differences_of_the_registry():
    """Every line; where the original throws, ours is a difference of its own."""
    lines = read_vectors("registry_avro_level2.jsonl.gz")
    avro = AvroFormat()
    thrown = 0
    for line in lines:
        references = [NamedText(each["name"], each["schema"]) for each in line.get("reader_references", ())]
        found = avro.differences(
            avro.parse_known(line["reader"], references), avro.parse_known(line["writer"])
        )
        assert (not found) is line["compatible"], line["id"]
        if line["incompatibilities"] is None:
            assert [each.type for each in found] == ["AMBIGUOUS_FIELD"], line["id"]
            thrown += 1
        else:
            assert [list(each) for each in found] == line["incompatibilities"], line["id"]
    print(f"{len(lines)} pairs, {thrown} of them throw in the original")
    assert (len(lines), thrown) == (84, 2)


def test_recursive_schemas():
    node = (
        '{"type":"record","name":"N","fields":[{"name":"v","type":"%s"},{"name":"next","type":["null","N"]}]}'
    )
    narrow, wide = parse(node.replace("%s", "int")), parse(node.replace("%s", "long"))
    assert not differences(wide, narrow)
    assert [each.path for each in differences(narrow, wide)] == ["/fields/0/type"]


def test_types_of_several_fields_are_found_in_each_of_them():
    text = '{"type":"record","name":"R","fields":[{"name":"a","type":%s},{"name":"b","type":%s}]}'
    for old, new, end in (
        ('"long"', '"bytes"', ""),
        ('["null","long"]', '["null","bytes"]', "/1"),
        ('["null","long"]', '"null"', "/1"),
    ):
        found = differences(parse(text % (new, new)), parse(text % (old, old)))
        assert [each.path for each in found] == [f"/fields/{i}/type{end}" for i in range(2)]


def test_the_path_of_a_record_that_a_union_read_first_begins_there():
    text = (
        '{"type":"record","name":"R","fields":[{"name":"a","type":["null",'
        '{"type":"record","name":"N","fields":[{"name":"%s","type":"int"}]}]},{"name":"b","type":"N"}]}'
    )
    found = differences(parse(text % "new"), parse(text % "old"))
    assert [each.path for each in found] == ["/fields/0/type/1", "/fields/0"]


def test_a_field_that_two_fields_match_cannot_be_read():
    writer = parse(
        '{"type":"record","name":"R","fields":[{"name":"a","type":"int"},{"name":"b","type":"int"}]}'
    )
    reader = parse('{"type":"record","name":"R","fields":[{"name":"a","aliases":["b"],"type":"int"}]}')
    assert differences(reader, writer) == [
        ("AMBIGUOUS_FIELD", "/fields/0", "a matches several fields of R: a, b")
    ]


def test_an_alias_may_not_be_the_field_s_own_name():
    field = '{"name":"a","aliases":["a"],"type":"int"}'
    record = parse(f'{{"type":"record","name":"R","fields":[{field}]}}')
    found = [("AMBIGUOUS_FIELD", "/fields/0", "a matches several fields of R: a, a")]
    assert differences(record, record) == found
    union = parse(f'["null",{{"type":"record","name":"R","fields":[{field}]}}]')
    assert differences(union, record) == found


def test_an_alias_without_a_namespace_is_none_of_a_type_that_has_one():
    def enum(name, **others):
        return parse({"type": "enum", "name": name, "symbols": ["A"], **others})

    found = differences(enum("n.E", aliases=[".Old"]), enum("Old"))
    assert found == [("NAME_MISMATCH", "/name", "expected: Old")]
    assert differences(enum("E", aliases=[".Old"]), enum("Old")) == []
    assert differences(enum("n.E", aliases=["Old"]), enum("n.Old")) == []


def test_types_used_again_and_again_are_bounded():
    def doubling(leaf):
        text = {"type": "record", "name": "R0", "fields": [{"name": "x", "type": leaf}]}
        for level in range(1, 40):
            fields = [{"name": "a", "type": text}, {"name": "b", "type": f"R{level - 1}"}]
            text = {"type": "record", "name": f"R{level}", "fields": fields}
        return parse(text)

    assert 0 < len(differences(doubling("int"), doubling("long"))) <= 2000

"""Verdicts and messages of Confluent's registry for histories of versions."""

import pytest
from vector_files import read_vectors

from kcodec.errors import RegistryError
from kcodec.formats.schema_format import find_schema_format
from kcodec.registry.compatibility.levels import LEVELS, Earlier, check, check_level


def earlier(line):
    versions = []
    for number, each in enumerate(line["history"], 1):
        known = find_schema_format(each.get("type", line["type"]))
        parsed = known.parse_known(each["schema"])
        versions.append(Earlier(number, known.type, known.canonical(parsed), lambda parsed=parsed: parsed))
    return versions[::-1]


def test_levels_of_the_real_registry():
    checked = dict.fromkeys(LEVELS, 0)
    lines = [
        line
        for line in read_vectors("registry_level_compat.jsonl.gz")
        if all(find_schema_format(each.get("type", line["type"])) for each in line["history"])
        and find_schema_format(line["type"])
    ]
    for line in lines:
        known = find_schema_format(line["type"])
        candidate = known.parse_known(line["candidate"]["schema"])
        for level, verdict in line["verdicts"].items():
            found = check(known, level, candidate, earlier(line))
            assert found.compatible is bool(found) is verdict, (line["id"], level)
            assert list(found.messages) == line["messages"].get(level, []), (line["id"], level)
            checked[level] += 1
    print(f"{len(lines)} histories, {sum(checked.values())} verdicts")
    assert min(checked.values()) == len(lines) >= 50


def test_only_as_much_is_parsed_as_the_level_asks_for():
    known = find_schema_format("AVRO")

    def never():
        raise AssertionError

    versions = [
        Earlier(3, "AVRO", '"int"', lambda: known.parse('"int"')),
        Earlier(2, "AVRO", '"string"', lambda: known.parse('"string"')),
        Earlier(1, "AVRO", "", never),
    ]
    assert check(known, "NONE", known.parse('"bytes"'), versions).compatible
    assert check(known, "BACKWARD", known.parse('"long"'), versions).compatible
    assert not check(known, "BACKWARD_TRANSITIVE", known.parse('"long"'), versions).compatible
    assert check(known, "FULL_TRANSITIVE", known.parse('"long"'), []).compatible


def test_lenient():
    known = find_schema_format("JSON")
    old = known.parse('{"type": "object", "properties": {"a": {}}}')
    new = known.parse('{"type": "object", "properties": {"a": {}, "b": {"type": "string"}}}')
    versions = [Earlier(1, "JSON", "", lambda: old)]
    assert not check(known, "BACKWARD", new, versions).compatible
    assert check(known, "BACKWARD", new, versions, "LENIENT").compatible


@pytest.mark.parametrize("level", [None, "", "BACK", 1])
def test_no_level(level):
    with pytest.raises(RegistryError) as info:
        check_level(level)
    assert (info.value.status, info.value.error_code) == (422, 42203)

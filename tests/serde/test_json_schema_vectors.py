"""The JSON lines of what Confluent's serializers and deserializers do."""

import json
from collections import Counter

import pyarrow as pa
from cases import cases
from serde_lines import check_line, deserialized, lines_of, schema_of, serialized, unused

from kcodec.formats.json.plan import RAW
from kcodec.java.jackson import read_tree, write_tree

LINES = lines_of("json")

#: Lines (by regular expression on their id) that are answered differently, and why.
ON_PURPOSE = {
    "json/(auto-java-validated/(object|nested)|validated-order/java/0[467])": "Java puts maps that it "
    "validates through a HashMap, and writes keys in the order of that",
    "json/schema-error(-unvalidated)?": "a registry refuses the schema, which only Java's mock takes",
    "de/json/(nan|big-numbers|invalid)": "Java reads any document without regard to its schema; a column holds "
    "what the schema says, and another value is an error of its row",
    "json/metadata": "a version without metadata has that of the one before, as on a server; a mock gives it none",
    "de/json/java-type-missing": "Java looks for the class that a schema names; nothing is ever loaded here",
}


def column(line):
    """A column of one value: objects are structs, and what is in them text of JSON unless it is simple."""
    text = line["value"]
    tree = None if text is None else read_tree(text.encode("utf-8", "surrogatepass"))
    if tree is None and (text is None or line.get("input") == "java"):
        return pa.nulls(1, pa.string())
    if isinstance(tree, dict) and "properties" in line["schema"]:
        fields, row = [], {}
        for name, value in tree.items():
            if isinstance(value, (int, str)):
                fields.append(pa.field(name, pa.string() if isinstance(value, str) else pa.int64()))
                row[name] = value
            else:
                fields.append(pa.field(name, pa.string(), metadata=RAW))
                row[name] = write_tree(value, escape_surrogates=True)
        return pa.array([row], pa.struct(fields))
    if isinstance(tree, (str, bool, int)) and "type" in line["schema"]:
        return pa.array([tree])
    return pa.array([text])


def answer_of(line, array, _serde):
    """Return the line's value and the decoded one, where both have it."""
    answer = array[0].as_py()
    expected = json.loads(line["value"])
    if isinstance(answer, dict):
        # Properties that are not there are null.
        answer = {name: value for name, value in answer.items() if value is not None}
        expected = {name: expected[name] for name in answer} if isinstance(expected, dict) else expected
    elif isinstance(answer, str) and not isinstance(expected, str):
        answer = json.loads(answer)
    return expected, answer


@cases("line", LINES, ids=[line["id"] for line in LINES])
def test_line(impl, line):
    if line["kind"] == "serialize":
        pair = serialized(line, column(line), schema=schema_of(line, line))
    else:
        pair = deserialized(line, answer_of)
    check_line(line, pair, ON_PURPOSE)


def test_counts():
    assert Counter(line["kind"] for line in LINES) == {"serialize": 86, "deserialize": 31}
    assert unused(LINES, ON_PURPOSE) == []

"""Rows whose schemas are made to cost much: deep ones, trees of defaults, many large ones."""

import json
import pickle

import pytest
from connect_rows import rows, struct

from kcodec import ConnectJsonCodec
from kcodec.formats.connect.fast import MAX_TEXTS

GOOD = rows(({"type": "int32"}, 1))


def envelope(schema: bytes, payload: bytes) -> bytes:
    return b'{"schema":' + schema + b',"payload":' + payload + b"}"


@pytest.mark.sampled(3)
@pytest.mark.parametrize("compat", [None, "connect"])
@pytest.mark.parametrize("levels", [1_001, 30_000])
def test_deep_schemas_and_payloads_cost_their_rows(levels, compat, impl):
    deep = b'{"type":"array","items":' * levels + b'{"type":"int32"}' + b"}" * levels
    maps = b'{"type":"map","keys":{"type":"string"},"values":' * levels + b'{"type":"int32"}' + b"}" * levels
    defaults = b'{"type":"int32","default":' + b"[" * levels + b"]" * levels + b"}"
    bad = [envelope(schema, b"1") for schema in (deep, maps, defaults)]
    bad.append(envelope(b'{"type":"int32"}', b"[" * levels + b"]" * levels))
    array, report = ConnectJsonCodec({"type": "int32"}, compat=compat).decode(
        GOOD + bad + GOOD, errors="report"
    )
    assert array.to_pylist() == [1, None, None, None, None, 1]
    assert report["row"].to_pylist() == [1, 2, 3, 4]
    assert report.nbytes < 10_000
    # Not as the first schema of a column either.
    array, report = ConnectJsonCodec(compat=compat).decode(bad[:3] + GOOD, errors="report")
    assert array.to_pylist() == [None, None, None, 1]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("compat", [None, "connect"])
def test_trees_of_defaults(compat, impl):
    """Ten of ten of ten of ten: each default holds ten of the one below it."""
    schema, default = {"type": "string"}, "x" * 100
    for _ in range(4):
        schema = {"type": "array", "items": {**schema, "optional": True, "default": default}}
        default = [default] * 10
    text = json.dumps({**schema, "optional": True, "default": default})
    assert len(text) > 1_000_000
    column = [envelope(text.encode(), b"null")] * 3
    array = ConnectJsonCodec(text, compat=compat).decode(column)
    assert array[2].as_py() == default
    # Read as another schema, what they are is an error of the row.
    array, report = ConnectJsonCodec({"type": "int32"}, compat=compat).decode(column + GOOD, errors="report")
    assert array.to_pylist() == [None, None, None, 1]
    assert set(report["code"].to_pylist()) <= {"unresolvable", "schema_error", "json_type"}


@pytest.mark.parametrize("compat", [None, "connect"])
def test_many_large_schemas(compat):
    """Every row has a schema of 500 fields of its own: columns come out right, and what is kept is bounded."""
    count = 80

    def one(number):
        fields = {f"f{number}_{field}": {"type": "int32", "optional": True} for field in range(499)}
        return struct(**fields, id={"type": "int32"}), {"id": number}

    column = rows(*map(one, range(count)))
    assert sum(map(len, column)) > 2_000_000
    codec = ConnectJsonCodec(struct(id={"type": "int32"}), compat=compat)
    for _ in range(2):
        assert codec.decode(column).field("id").to_pylist() == list(range(count))
    assert len(pickle.dumps(codec)) < 4 * MAX_TEXTS

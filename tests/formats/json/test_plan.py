"""Plans of JSON: what programs refuse, how plans print, and rows that a dialect reads again."""

import dataclasses
import pickle

import pyarrow as pa
import pytest
from cases import cases

from kcodec._impl import kernel
from kcodec.errors import CODES, Fault
from kcodec.formats.json.node import Form, JsonNode, Op
from kcodec.formats.json.plan import RAW, JsonOptions, decodable, json_plan
from kcodec.formats.json.reread import reread
from kcodec.plan import Limits, Plan
from kcodec.plan.failure import RowError


def test_plans_print():
    kind = pa.struct(
        [pa.field("id", pa.int64(), nullable=False), ("m", pa.map_(pa.int8(), pa.decimal128(5, 2)))]
    )
    plan = json_plan(kind, "decode", JsonOptions(duplicate_keys="error"))
    assert str(plan).splitlines()[1:] == [
        "  json_object NULL+UNIQUE -> column 0",
        "    id: json_integer -> column 1",
        "    m: json_map NULL+ABSENT+UNIQUE -> column 2",
        "      json_integer TEXT -> column 3",
        "      json_decimal NULL+ABSENT+TEXT -> column 4",
    ]
    bounded = dataclasses.replace(plan.root.children[0], bounds=(0, 9))
    assert str(bounded) == "id: json_integer 0..9 -> column 1"


def test_columns_that_mix_offsets_are_widened():
    kind = pa.struct(
        [pa.field("a", pa.string(), metadata=RAW), ("m", pa.map_(pa.binary(), pa.large_string()))]
    )
    wide = decodable(kind)
    assert wide.field("a").metadata == RAW
    assert wide == pa.struct([("a", pa.large_string()), ("m", pa.map_(pa.large_binary(), pa.large_string()))])
    assert decodable(pa.list_(pa.string())) == pa.list_(pa.string())


def test_programs_are_pickled(impl):
    program = kernel("formats.json._kernel").Program(json_plan(pa.int8(), "decode"), Limits(max_depth=3))
    again = pickle.loads(pickle.dumps(program))
    assert (again.plan, again.limits) == (program.plan, program.limits)


LEAF = JsonNode(Op.JSON_STRING, 0, forms=Form.NULL)
PAIR = pa.struct([pa.field("a", pa.int8(), nullable=False), ("b", pa.int8())])


@cases(
    ("kind", "root", "message"),
    [
        (pa.int8(), LEAF, "does not fit a column of int8"),
        (pa.string(), dataclasses.replace(LEAF, column=1), "there is no column 1"),
        (pa.string(), dataclasses.replace(LEAF, column=-1), "has no column"),
        (pa.string(), dataclasses.replace(LEAF, data=b" null "), "null is not a default"),
        (
            PAIR,
            JsonNode(Op.JSON_OBJECT, 0, children=(JsonNode(Op.JSON_INTEGER, 1, "a"),)),
            "gives values to each column",
        ),
        (
            PAIR,
            JsonNode(
                Op.JSON_OBJECT,
                0,
                children=(
                    JsonNode(Op.JSON_INTEGER, 1, "a", forms=Form.NULL),
                    JsonNode(Op.JSON_INTEGER, 2, "b"),
                ),
            ),
            "column 1 cannot be null",
        ),
        (
            pa.struct([("a", pa.string()), ("b", pa.large_string())]),
            JsonNode(
                Op.JSON_OBJECT,
                0,
                children=(JsonNode(Op.JSON_STRING, 1, "a"), JsonNode(Op.JSON_STRING, 2, "b")),
            ),
            "64-bit offsets",
        ),
        (
            pa.struct([("a", pa.string()), ("b", pa.date32())]),
            JsonNode(
                Op.JSON_UNION,
                0,
                children=(
                    JsonNode(Op.JSON_STRING, 1, "a", forms=Form.NULL),
                    JsonNode(Op.JSON_TIME, 2, "b", forms=Form.NULL),
                ),
            ),
            "two members of a union are of one kind",
        ),
        (
            pa.struct([("a", pa.string()), ("b", pa.string())]),
            JsonNode(
                Op.JSON_OBJECT,
                0,
                children=(JsonNode(Op.JSON_STRING, 1, "a"), JsonNode(Op.JSON_REST, 2, "b", forms=Form.NULL)),
            ),
            "is read as its first child",
        ),
    ],
)
def test_compiled_programs_refuse_plans_that_do_not_fit(kind, root, message):
    with pytest.raises(ValueError, match=message):
        kernel("formats.json._kernel", "native").Program(Plan("JSON", "decode", kind, root))


def test_folding_takes_the_upper_case_of_unicode(impl):
    module = kernel("formats.json._kernel")
    children = tuple(
        JsonNode(Op.JSON_INTEGER, i + 1, name, forms=Form.NULL | Form.ABSENT)
        for i, name in enumerate(["STRASSE", "ID", "id2"])
    )
    kind = pa.struct([(child.name, pa.int8()) for child in children])
    plan = Plan("JSON", "decode", kind, JsonNode(Op.JSON_OBJECT, 0, children=children, forms=Form.FOLD))
    rows = [
        '{"straße":1,"ıd":2}',
        '{"ID":1,"id":2,"Id":3}',
        '{"id":1,"ID":2}',
        '{"iD":1,"id":2}',
        '{"ID2":1,"id2":2}',
    ]
    decoded, faults = module.decode(pa.array(rows), [module.Program(plan)])
    assert faults == []
    assert [list(row.values()) for row in decoded.to_pylist()] == [
        [1, 2, None],
        [None, 1, None],
        [None, 2, None],
        [None, 2, None],
        [None, None, 2],
    ]


def test_rows_are_read_again():
    array = pa.array([{"a": 1}, None, {"a": 3}, None], pa.struct([("a", pa.int8())]))
    values = pa.array(["0", "1", "2", "3"])
    faults = [
        Fault(1, 0, "a", "json_type", CODES["json_type"]),
        Fault(3, 0, "a", "json_type", CODES["json_type"]),
    ]

    def read(data: bytes, row: int):
        if row == 3:
            raise RowError("out_of_range", 7, "b", "too much")
        return {"a": int(data) * 10}

    patched, left = reread(values, array, faults, read)
    assert patched.to_pylist() == [{"a": 1}, {"a": 10}, {"a": 3}, None]
    assert left == [Fault(3, 7, "b", "out_of_range", "too much")]
    assert reread(values, array, faults, read, stop=True)[1] == left
    assert reread(values, array, [], read) == (array, [])
    assert RowError("json_type").reason == CODES["json_type"]

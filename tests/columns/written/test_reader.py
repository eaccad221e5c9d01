"""Arrays of every layout as columns to be encoded: what has no plan is never read."""

import pyarrow as pa
from cases import cases

import kcodec

NUMBERS, TEXTS = pa.array([1, 2], pa.int32()), pa.array(["x", "y"])
LAYOUTS = [
    pa.UnionArray.from_dense(pa.array([0, 1], pa.int8()), pa.array([1, 0], pa.int32()), [NUMBERS, TEXTS]),
    pa.UnionArray.from_sparse(pa.array([1, 0], pa.int8()), [NUMBERS, TEXTS]),
    pa.array([[1], [2, 3]], pa.list_view(pa.int32())),
    pa.array([[1], [2, 3]], pa.large_list_view(pa.int32())),
    pa.array([(1, 2, 3), (4, 5, 6)], pa.month_day_nano_interval()),
]
RECORD = '{"type": "record", "name": "R", "fields": [{"name": "x", "type": %s}]}'


@cases("array", LAYOUTS, ids=lambda array: str(array.type)[:12])
@cases("schema", ['["int", "string"]', '{"type": "array", "items": "int"}', '"int"'])
def test_layouts_without_a_plan_are_errors_of_their_rows(impl, array, schema):
    for codec, column in (
        (kcodec.AvroCodec(schema), array),
        (kcodec.AvroCodec(RECORD % schema), pa.table({"x": array})),
        (kcodec.AvroCodec(RECORD % '"int"'), pa.table({"x": NUMBERS, "other": array})),
        (
            kcodec.AvroCodec(f'{{"type": "array", "items": {schema}}}'),
            pa.ListArray.from_arrays([0, 1, 2], array),
        ),
    ):
        encoded, report = codec.encode(column, errors="report")
        assert set(report["code"].to_pylist()) == {"type_mismatch"}
        assert encoded.null_count == report.num_rows

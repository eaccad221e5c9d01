"""Rows that failed, as columns."""

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from kcodec.columns.faults import Faults, joined
from kcodec.errors import CODES, Fault

CUT = Fault(3, 7, "items[1].sku", "truncated", CODES["truncated"], 12)
WHOLE = Fault(0, None, "", "unknown_schema_id", CODES["unknown_schema_id"])

faults = st.builds(
    Fault,
    row=st.integers(0, 1 << 40),
    offset=st.one_of(st.none(), st.integers(0, 1 << 40)),
    path=st.sampled_from(["", "id", "items[1].sku"]),
    code=st.sampled_from(["truncated", "trailing_bytes"]),
    reason=st.sampled_from(["one", "another"]),
    schema_id=st.one_of(st.none(), st.integers(0, (1 << 32) - 1)),
)


@given(st.lists(faults, unique_by=lambda fault: fault.row), st.randoms(use_true_random=False))
def test_parts_joined_are_all_rows_in_order(every, random):
    parts = [[], [], []]
    for fault in every:
        parts[random.randrange(3)].append(fault)
    ordered = sorted(every, key=lambda fault: fault.row)
    made = joined(Faults.of(part) if random.random() < 0.5 else part for part in map(sorted_rows, parts))
    assert list(made) == ordered
    assert [made[at] for at in range(len(made))] == ordered
    assert made[1:3] == ordered[1:3]


def sorted_rows(part):
    return sorted(part, key=lambda fault: fault.row)


@given(st.lists(faults))
def test_columns_and_codes(every):
    made = Faults.of(every)
    assert [list(each) for each in zip(*every, strict=True)] == (
        [column.to_pylist() for column in made.columns()] if every else []
    )
    assert made.codes().total() == len(every)
    assert all(
        made.codes()[code] == sum(fault.code == code for fault in every)
        for code in ("truncated", "trailing_bytes")
    )


def test_what_is_told_of_rows():
    made = Faults.of([WHOLE, CUT])
    assert made.placed(10)[1] == CUT._replace(row=13)
    assert (
        made.told(lambda path, code, reason: (path, code, reason.upper()))[0].reason == WHOLE.reason.upper()
    )
    assert made.with_reasons({1: "why"}) == [WHOLE, CUT._replace(reason="why")]
    assert made.with_ids(pa.array([1, None], pa.int64())) == [
        WHOLE._replace(schema_id=1),
        CUT._replace(schema_id=None),
    ]
    # Once made, they do not change.
    assert made == [WHOLE, CUT]

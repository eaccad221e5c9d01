"""Faults of values inside a column, as those of its rows."""

import numpy as np
import pyarrow as pa

from kcodec.columns.faults import nulled
from kcodec.errors import Fault
from kcodec.plan.failure import prefix


def of_field(array: pa.Array, faults: list[Fault], name: str) -> list[Fault]:
    """Return the faults of a field as faults of its structs; where a struct is null, nothing is lost."""
    if not faults:
        return []
    valid = array.is_valid()
    return [fault._replace(path=prefix(name, fault.path)) for fault in faults if valid[fault.row].as_py()]


def of_items(array: pa.Array, faults: list[Fault], step: str = "") -> list[Fault]:
    """Return the faults of items as those of the lists or maps that hold them; `step` follows an item's number."""
    if not faults:
        return []
    offsets, valid = array.offsets.to_numpy(), array.is_valid().to_pylist()
    owners = np.searchsorted(offsets, [fault.row for fault in faults], "right") - 1
    return [
        fault._replace(row=owner, path=prefix(f"[{fault.row - offsets[owner]}]{step}", fault.path))
        for fault, owner in zip(faults, owners.tolist(), strict=True)
        if 0 <= owner < len(valid) and valid[owner]
    ]


def without_rows(array: pa.Array, faults: list[Fault]) -> tuple[pa.Array, list[Fault]]:
    """Return an array with its faulty rows null, and the first fault of each of them in the order of the rows."""
    if not faults:
        return array, []
    first: dict[int, Fault] = {}
    for fault in faults:
        first.setdefault(fault.row, fault)
    bad = np.zeros(len(array), np.bool_)
    bad[list(first)] = True
    return nulled(array, pa.array(bad)), [first[row] for row in sorted(first)]

"""Values spread among rows: by the loop of any processor, and by that which this one is given."""

import ctypes

import numpy as np
import pytest
from compiled import compiled
from hypothesis import given
from hypothesis import strategies as st

KINDS = {"32": np.uint32, "64": np.uint64, "ends_32": np.int32, "bits": np.uint8}
SOURCE = '#include "scatter.h"\n' + "".join(
    f"void call_{name}{variant}(void *data, const uint8_t *present, int64_t count, int64_t length)"
    f" {{ kc_scatter_{name}{variant}(data, present, count, length); }}\n"
    for name in KINDS
    for variant in ("", "_best")
)
BEHIND = 8


@pytest.fixture(scope="module")
def loops(tmp_path_factory):
    return compiled(SOURCE, tmp_path_factory.mktemp("scatter"))


def expected(name, data, present):
    """Return what becomes of data, by the definition."""
    if name == "ends_32":
        return data[np.concatenate([[0], np.cumsum(present)])]
    found = np.zeros(len(present), data.dtype)
    found[present] = data[: present.sum()]
    return found


@pytest.mark.parametrize("variant", ["", "_best"])
@pytest.mark.parametrize("name", KINDS)
@given(present=st.lists(st.booleans(), max_size=70), seed=st.integers(0, 2**32 - 1))
def test_each_value_comes_to_its_row(loops, name, variant, present, seed):
    present = np.array(present, bool)
    length = len(present)
    values = np.random.default_rng(seed).integers(0, 2**31, length + 2 * BEHIND).astype(KINDS[name])
    if name == "bits":
        values &= 1
    data = np.packbits(values, bitorder="little") if name == "bits" else values.copy()
    rows = np.packbits(np.concatenate([present, np.zeros(8, bool)]), bitorder="little")
    getattr(loops, f"call_{name}{variant}")(
        data.ctypes.data_as(ctypes.c_void_p),
        rows.ctypes.data_as(ctypes.c_void_p),
        ctypes.c_int64(int(present.sum())),
        ctypes.c_int64(length),
    )
    found = np.unpackbits(data, bitorder="little") if name == "bits" else data
    wanted = expected(name, values, present)
    assert found[: len(wanted)].tolist() == wanted.tolist()
    if name != "bits":
        assert found[length + BEHIND + 1 :].tolist() == values[length + BEHIND + 1 :].tolist()

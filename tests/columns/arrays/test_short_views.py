"""Views without a buffer of long values, which pyarrow before 25 cannot hand over by the C data interface."""

import pyarrow as pa
import pytest

from kcodec import AvroCodec
from kcodec.columns.arrays import _integrity
from kcodec.columns.arrays.given import arrays

SHORT = pa.array([b"abc", None, b"", b"123456789012"])


def short_views():
    """Yield columns of views that a cast makes."""
    array = SHORT.cast(pa.binary_view())
    keys = pa.array(["a", "", "b"]).cast(pa.string_view())
    yield array
    yield pa.StructArray.from_arrays([pa.StructArray.from_arrays([array], ["a"])], ["b"])
    yield pa.ListArray.from_arrays(pa.array([0, 2, 4], pa.int32()), array)
    yield pa.FixedSizeListArray.from_arrays(array, 2)
    yield pa.MapArray.from_arrays(pa.array([0, 1, 2], pa.int32()), keys, array[:3])
    yield pa.DictionaryArray.from_arrays(pa.array([0, 3, None], pa.int8()), array)


@pytest.mark.parametrize("are_handed_over", [_integrity.HANDS_OVER_SHORT_VIEWS, False])
def test_views_of_short_values_alone(are_handed_over, impl, monkeypatch):
    monkeypatch.setattr(_integrity, "HANDS_OVER_SHORT_VIEWS", are_handed_over)
    for array in short_views():
        assert arrays(array)[0][0].equals(array), array.type
    assert AvroCodec('"bytes"').decode(pa.array([b"\x02a"]).cast(pa.binary_view())).to_pylist() == [b"a"]

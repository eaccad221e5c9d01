"""What pandas UDFs of Spark before 4.1 are given and give back, without Spark."""

import decimal
import math

import pandas as pd
import pyarrow as pa
import pytest

from kcodec_spark.workers.series import BOX, call


def given(values, kind):
    """Return what a function is given for a column, which Spark hands over as Arrow's conversion to pandas."""
    taken = []
    call(lambda array: taken.append(array) or array, "plain", pa.array(values, kind).to_pandas())
    return taken[0]


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([b"a", None, b""], pa.binary()),
        ([1, 2**62], pa.int64()),
        ([1, None, -(2**53) + 1], pa.int64()),
        ([1.5, 1.0], pa.float64()),
        ([1.5, None], pa.float64()),
        ([1.0, 2.0], pa.float64()),
        ([1e300, None], pa.float64()),
        ([math.inf, None], pa.float64()),
        ([decimal.Decimal("1.20"), None], pa.decimal128(3, 2)),
    ],
)
def test_columns_come_as_they_were(values, kind):
    assert given(values, kind).equals(pa.array(values, kind))


def test_text_is_text():
    # Newer pandas has large strings.
    assert given(["ü", None], pa.string()).cast(pa.string()).to_pylist() == ["ü", None]


def test_columns_of_nulls_are_bytes():
    assert given([None, None], pa.binary()).equals(pa.nulls(2, pa.binary()))


@pytest.mark.parametrize("value", [2**53, 2**53 + 1, -(2**53), 2**63 - 1, -(2**63)])
def test_numbers_that_lose_digits_are_refused(value):
    with pytest.raises(
        TypeError, match=r"beside nulls on this version of Spark: cast them to decimal\(20,0\)"
    ):
        given([value, None], pa.int64())


def test_structs_are_refused():
    with pytest.raises(TypeError, match="structs reach a function as pandas DataFrames"):
        call(lambda array: array, "plain", pd.DataFrame({"a": [1]}))


@pytest.mark.parametrize("form", ["plain", "boxed", "frame"])
def test_results_go_back_as_they_are(form):
    kind = pa.struct([("day", pa.date32()), ("prices", pa.list_(pa.decimal128(12, 2)))])
    made = pa.array([{"day": -171607, "prices": [decimal.Decimal("1.20"), None]}, None], kind)
    found = call(lambda _: made, form, pd.Series([b"", b""]))
    if form == "frame":
        parts = [pa.array(found[name]) for name in found.columns]
        assert parts[0].equals(made.flatten()[0])
        assert parts[1].equals(made.flatten()[1])
    elif form == "boxed":
        assert list(found.columns) == [BOX]
        assert pa.array(found[BOX]).equals(made)
    else:
        assert pa.array(found).equals(made)

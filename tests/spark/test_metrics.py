"""Arguments of the columns of an observation; what they count is tested with a broker."""

import pytest

from kcodec_spark import metrics, schema_id


def test_a_value_that_is_no_column(spark):
    for call in (lambda: metrics(3), lambda: metrics("value", 3), lambda: schema_id(None)):
        with pytest.raises(TypeError, match="a Column or the name of one, not"):
            call()

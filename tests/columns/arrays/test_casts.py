"""Casts in which rows that would lose something become null: all rows together as each by itself."""

import random
from decimal import Context, Decimal

import pyarrow as pa
import pytest
from cases import cases

from kcodec.columns.arrays.casts import cast_rows

TIMES = [
    pa.timestamp("s"),
    pa.timestamp("ms", "UTC"),
    pa.timestamp("us"),
    pa.timestamp("us", "UTC"),
    pa.timestamp("ns"),
]
KINDS = [
    *(pa.int8(), pa.int32(), pa.int64(), pa.uint8(), pa.uint64(), pa.float32(), pa.float64()),
    *(pa.decimal128(6, 2), pa.decimal128(20, 4), pa.decimal128(38, 0), pa.decimal256(50, 10)),
    *TIMES,
    *(pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns"), pa.duration("s"), pa.duration("us")),
]


def drawn(kind, rows, draw):
    """Return values of a type, many of which stand where others end."""
    types = pa.types

    def value():
        if draw.random() < 0.15:
            return None
        if types.is_decimal(kind):
            most = 10**kind.precision - 1
            number = draw.choice(
                [draw.randint(-most, most), draw.randint(-9999, 9999), most, 10 ** (kind.scale + 4)]
            )
            return Decimal(min(number, most)).scaleb(-kind.scale, Context(prec=80))
        if types.is_floating(kind):
            return draw.choice([1.5, 2.0, -0.0, 1e19, 2.0**53, float("inf"), draw.uniform(-1e5, 1e5)])
        if types.is_time(kind):
            per_second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[kind.unit]
            return draw.randrange(86_400) * per_second + draw.choice([0, draw.randrange(per_second)])
        is_unsigned = types.is_unsigned_integer(kind)
        most = (1 << (kind.bit_width - 1 + is_unsigned)) - 1
        least = 0 if is_unsigned else -most - 1
        number = draw.choice(
            [least, most, 0, draw.randint(least, most), draw.randint(-(10**6), 10**6) * 1000]
        )
        return min(max(number, least), most)

    values = [value() for _ in range(rows)]
    if types.is_temporal(kind):
        return pa.array(values, pa.int32() if kind.bit_width == 32 else pa.int64()).view(kind)
    return pa.array(values, kind)


@cases("nested", [False, True])
@cases("seed", range(150))
def test_all_rows_as_each(seed, nested):
    draw = random.Random(seed)
    kind = draw.choice(KINDS)
    array = drawn(draw.choice(KINDS), 30, draw)
    if nested:
        numbers = drawn(pa.int64(), 30, draw)
        mask = pa.array([draw.random() < 0.1 for _ in range(30)])
        array = pa.StructArray.from_arrays([numbers, array], ["n", "v"], mask=mask)
        kind = pa.struct([("n", pa.int16()), ("v", kind)])
    rows = [array.take(pa.array([row])) for row in range(len(array))]
    try:
        apart = [cast_rows(row, kind) for row in rows]
    except (pa.ArrowNotImplementedError, TypeError) as error:
        with pytest.raises(type(error)):
            cast_rows(array, kind)
        return
    found, faults = cast_rows(array, kind)
    assert found.equals(pa.concat_arrays([each for each, _ in apart]))
    assert faults == [fault._replace(row=row) for row, (_, lost) in enumerate(apart) for fault in lost]

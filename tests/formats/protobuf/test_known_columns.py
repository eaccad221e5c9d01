"""Dates, times of day and decimals are the same whether they are converted together or one by one."""

import random
from decimal import Decimal

import pyarrow as pa
import pytest
from cases import cases
from known_messages import FIELDS, IMPORTS, PLAIN, messages

from kcodec import ProtobufCodec, schema_of
from kcodec.formats.protobuf import conversions

SCHEMA = f'syntax = "proto3";\n{IMPORTS}message All {{\n{FIELDS}}}\n'


def results(act, monkeypatch):
    made = []
    for fewest in (1, 1 << 60):
        monkeypatch.setattr(conversions, "_FEWEST", fewest)
        made.append(act())
    return made


@pytest.mark.parametrize("seed", range(12))
def test_what_is_read(seed, impl, monkeypatch):
    r = random.Random(seed)
    plain = ProtobufCodec(SCHEMA, **PLAIN)
    rows = messages(r, seed % 3 == 0)
    values = plain.encode(pa.array(rows, plain.arrow_type)).to_pylist()
    for at in range(len(values)):
        if r.random() < 0.1:
            values[at] = None
        elif values[at] and r.random() < 0.1:
            changed = bytearray(values[at])
            changed[r.randrange(len(changed))] = r.randrange(256)
            values[at] = bytes(changed)
    codec = ProtobufCodec(SCHEMA, unit=r.choice(["us", "ns"]), large=r.random() < 0.3)

    def read():
        array, report = codec.decode(values, errors="report")
        array.validate(full=True)
        return array.to_pylist(), report.to_pylist()

    together, alone = results(read, monkeypatch)
    assert together == alone


@pytest.mark.parametrize("seed", range(12))
def test_what_is_written(seed, impl, monkeypatch):
    r = random.Random(seed)
    numbers = [
        pa.decimal128(9, 2), pa.decimal128(38, 10), pa.decimal128(5, -2), pa.decimal256(60, 3), pa.string(),
        pa.large_string(), pa.int32(), pa.uint64(), pa.float64(),
    ]  # fmt: skip
    number = numbers[seed % len(numbers)]

    def decimal():
        if pa.types.is_decimal(number):
            return Decimal(r.randint(-(10**5) + 1, 10**5 - 1)).scaleb(-number.scale)
        if pa.types.is_integer(number):
            return r.randint(0, 2**31 - 1)
        if pa.types.is_floating(number):
            return r.choice([0.5, 1e300, float("inf"), 12.25])
        return r.choice(
            [
                "0",
                "-0.00",
                "+12.50",
                "007",
                "1.",
                ".5",
                "1e5",
                "x",
                "",
                "9" * 38,
                "9" * 39,
                "-0.0001",
                "1,5",
                "٣",
            ]
        )

    kinds = [
        r.choice([pa.date32(), pa.timestamp("ms")]),
        r.choice([pa.time32("s"), pa.time64("us"), pa.time64("ns")]),
        number,
    ]
    most = [
        10**7 if pa.types.is_date32(kinds[0]) else 2**50,
        2**31 - 1 if kinds[1].bit_width == 32 else 10**15,
    ]
    names = ("one1", "one2", "one3")

    def value(at):
        if r.random() < 0.1:
            return None
        if at == 2:
            return decimal()
        if r.random() < 0.9:
            return 86_400 if kinds[0] == pa.date32() or at else 86_400_000
        return r.randint(-most[at], most[at])

    count = r.randint(1, 60)
    columns = [
        pa.array([value(at) for _ in range(count)], kind if at == 2 else f"int{kind.bit_width}").cast(kind)
        for at, kind in enumerate(kinds)
    ]
    array = pa.StructArray.from_arrays(columns, names)
    codec = ProtobufCodec(SCHEMA)

    def write():
        written, report = codec.encode(array, errors="report")
        return written.to_pylist(), report.to_pylist()

    together, alone = results(write, monkeypatch)
    assert together == alone


@cases("scale", [38, 39, 76, 77, 1000, -39, -77])
@cases("wide", [False, True])
def test_scales_that_arrow_does_not_print(impl, scale, wide):
    kind = pa.decimal256(76, scale) if wide else pa.decimal128(38, scale)
    slots = b"".join(value.to_bytes(kind.byte_width, "little", signed=True) for value in [12, 0, -1] * 8)
    column = pa.Array.from_buffers(kind, 24, [pa.py_buffer(b"\xff\xff\xfe"), pa.py_buffer(slots)])
    expected = [None if at == 16 else Decimal([12, 0, -1][at % 3]).scaleb(-scale) for at in range(24)]
    codec = ProtobufCodec(SCHEMA)
    for name in ("one3", "one4"):
        for first, count in ((0, 24), (14, 4)):
            array = pa.StructArray.from_arrays([column.slice(first, count)], [name])
            written, report = codec.encode(array, errors="report")
            assert report.num_rows == 0
            found = [
                None if each is None else Decimal(each)
                for each in codec.decode(written).field(name).to_pylist()
            ]
            assert found == expected[first : first + count]


def test_a_column_of_each(impl):
    kind = pa.schema([("d", pa.decimal128(12, 2)), ("t", pa.time64("us")), ("a", pa.date32())])
    codec = ProtobufCodec(schema_of(kind, "PROTOBUF", name="Row"), "Row")
    rows = [{"d": Decimal(n).scaleb(-2), "t": n * 1_000_003, "a": n * 97} for n in range(-40, 400)]
    columns = [
        pa.array([row["d"] for row in rows], pa.decimal128(12, 2)),
        pa.array([abs(row["t"]) for row in rows], pa.int64()).cast(pa.time64("us")),
        pa.array([row["a"] for row in rows], pa.int32()).cast(pa.date32()),
    ]
    found = codec.decode(codec.encode(pa.StructArray.from_arrays(columns, ["d", "t", "a"])))
    assert [found.field("t"), found.field("a")] == columns[1:]
    assert found.field("d").to_pylist() == [str(row["d"]) for row in rows]

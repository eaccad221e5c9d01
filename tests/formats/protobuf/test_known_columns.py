"""Dates, times of day and decimals are the same whether they are converted together or one by one."""

import random
from decimal import Decimal

import pyarrow as pa
import pytest

from kcodec import ProtobufCodec, schema_of
from kcodec.formats.protobuf import conversions

IMPORTS = "".join(
    f'import "{path}";\n'
    for path in (
        "confluent/type/decimal.proto",
        "google/type/date.proto",
        "google/type/timeofday.proto",
        "google/type/decimal.proto",
    )
)
TYPES = ("google.type.Date", "google.type.TimeOfDay", "confluent.type.Decimal", "google.type.Decimal")
FIELDS = "".join(
    f"{name} one{number} = {number}; repeated {name} many{number} = 1{number}; "
    f"map<string, {name}> by{number} = 2{number};\n"
    for number, name in enumerate(TYPES, 1)
)
SCHEMA = f'syntax = "proto3";\n{IMPORTS}message All {{\n{FIELDS}}}\n'
#: The same messages, as messages.
PLAIN = {"well_known": ()}


def drawn_date(r):
    return {"year": r.choice([0, 1, 1900, 2000, 2024, 9999, 10000, r.randint(1, 9999)]), "month": r.randint(0, 13),
            "day": r.randint(0, 32) if r.random() < 0.3 else r.randint(28, 31)}  # fmt: skip


def drawn_time(r):
    return {"hours": r.randint(0, 24), "minutes": r.randint(0, 60), "seconds": r.randint(0, 60),
            "nanos": r.choice([0, 1, 1000, 999_999_000, 999_999_999, 10**9, -1])}  # fmt: skip


def drawn_decimal(r):
    size = r.choice([0, 1, 1, 4, 8, 16, 17, 40, 1700, 1800])
    return {"value": r.randbytes(size), "precision": r.randint(0, 40),
            "scale": r.choice([0, 2, 2, 2, 5, 40, -3, 1000, 1001, -2000])}  # fmt: skip


def drawn_number(r):
    return {"value": r.choice(["1.5", "-0", "x", "", "1e3"])}


DRAWN = (drawn_date, drawn_time, drawn_decimal, drawn_number)


def messages(r, usual):
    """Draw rows of messages; all are as usual, or any."""
    few = [make(r) for make in DRAWN]
    few[0] |= {"month": 2, "day": 28, "year": r.randint(1, 9999)}
    few[1] = {"hours": 23, "minutes": r.randint(0, 59), "seconds": 59, "nanos": r.randint(0, 999_999) * 1000}
    few[2] = {"value": r.randbytes(r.randint(1, 16)), "precision": 5, "scale": r.choice([0, 2, 30])}
    rows = []
    for _ in range(r.randint(1, 60)):
        row = {}
        for number, make in enumerate(DRAWN, 1):
            draw = (lambda number=number: few[number - 1]) if usual else (lambda make=make: make(r))
            if r.random() < 0.8:
                row[f"one{number}"] = draw()
            row[f"many{number}"] = [draw() for _ in range(r.randint(0, 3))]
            row[f"by{number}"] = [(f"k{key}", draw()) for key in range(r.randint(0, 2))]
        rows.append(row)
    return rows


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


@pytest.mark.parametrize("scale", [38, 39, 76, 77, 1000, -39, -77])
@pytest.mark.parametrize("wide", [False, True])
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

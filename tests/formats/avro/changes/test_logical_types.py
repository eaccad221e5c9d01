"""Values whose logical type the reader's schema changes: converted exactly, an error of their row, or of their id."""

import datetime
import pickle
from decimal import Decimal

import pyarrow as pa
import pytest
from cases import cases
from hypothesis import given
from hypothesis import strategies as st
from side_by_side import same_decode

import kcodec
from kcodec import AvroCodec, ConfigError, Serde
from kcodec.formats.avro.changes.logical_types import conversions
from kcodec.formats.avro.schema.parse import parse
from kcodec.formats.debezium.unwrap import unwrap
from kcodec.registry import Config, Schema, differences

UTC = datetime.timezone.utc
NANOS = {"millis": 10**6, "micros": 1000, "nanos": 1}


def decimal(precision, scale, size=0):
    kind = {"type": "fixed", "name": "F", "size": size} if size else {"type": "bytes"}
    return {**kind, "logicalType": "decimal", "precision": precision, "scale": scale}


def logical(name):
    return {"type": "int" if name in ("date", "time-millis") else "long", "logicalType": name}


def debezium(name, wire="long"):
    return {"type": wire, "connect.version": 1, "connect.name": f"io.debezium.time.{name}"}


def record(**fields):
    return {"type": "record", "name": "V", "fields": [{"name": n, "type": t} for n, t in fields.items()]}


def written(schema, values):
    """Return rows of one field of a schema, from values as they stand on the wire."""
    if isinstance(schema, dict) and schema.get("logicalType") == "decimal":
        return AvroCodec(record(f=schema), wide_decimals="string").encode(
            pa.array([{"f": f"{value:f}"} for value in values], pa.struct([("f", pa.string())]))
        )
    plain = schema["type"] if isinstance(schema, dict) else schema
    kind = pa.struct([("f", pa.int32() if plain == "int" else pa.int64())])
    return AvroCodec(record(f=plain)).encode(pa.array([{"f": value} for value in values], kind))


def read(writer, reader, values, **options):
    """Return what the values of one field are read as, integers for times, and the codes of those that are none."""
    codec = AvroCodec(record(f=writer), record(f=reader), **options)
    rows, report = codec.decode(written(writer, values), errors="report")
    column = rows.field("f")
    if pa.types.is_temporal(column.type):
        column = column.view(pa.int32() if column.type.bit_width == 32 else pa.int64())
    found = [value.as_py() if rows[i].is_valid else None for i, value in enumerate(column)]
    for fault in report.to_pylist():
        assert (fault["path"], found[fault["row"]]) == ("f", None)
        found[fault["row"]] = fault["code"]
    return found


@pytest.mark.parametrize("size", [0, 5])
def test_scale_that_grew(impl, size):
    values = [Decimal("3.14"), Decimal("-0.01"), Decimal(0), Decimal("9999999.99"), Decimal("12345678.90")]
    assert read(decimal(10, 2, size), decimal(10, 3, size), values) == [
        Decimal("3.140"), Decimal("-0.010"), Decimal("0.000"), Decimal("9999999.990"), "decimal_precision",
    ]  # fmt: skip


def test_scale_that_shrank(impl):
    values = [Decimal("3.140"), Decimal("3.141"), Decimal("-1.230"), Decimal(0), Decimal("99999.990")]
    assert read(decimal(10, 3), decimal(6, 2), values) == [
        Decimal("3.14"), "inexact", Decimal("-1.23"), Decimal("0.00"), "decimal_precision",
    ]  # fmt: skip


@pytest.mark.parametrize("precision", [38, 76])
def test_wide_decimals_that_end_in_zeros(impl, precision):
    # More digits on the wire than any Arrow type has.
    values = [Decimal(7), Decimal(-(10**37)), Decimal(10**80), Decimal("0.5")]
    found = read(decimal(200, 100), decimal(precision, 0), values)
    assert found == [Decimal(7), Decimal(-(10**37)), "decimal_precision", "inexact"]


def test_decimals_as_text(impl):
    values = [Decimal("3.14"), Decimal("-0.01"), Decimal(0), Decimal(10**70)]
    found = read(decimal(80, 2), decimal(81, 4), values, wide_decimals="string")
    assert found == ["3.1400", "-0.0100", "0.0000", "1" + "0" * 70 + ".0000"]
    values = [Decimal("3.00"), Decimal("-2.50"), Decimal("0.00"), Decimal(10**77)]
    assert read(decimal(80, 2), decimal(77, 0), values, wide_decimals="string") == [
        "3", "inexact", "0", "decimal_precision",
    ]  # fmt: skip
    assert read(decimal(80, 2), decimal(78, 1), [Decimal("-2.50")], wide_decimals="string") == ["-2.5"]
    # Nothing but 0 has a digit before the point.
    found = read(decimal(5, 0), decimal(77, 77), [Decimal(0), Decimal(7)], wide_decimals="string")
    assert found == ["0." + "0" * 77, "decimal_precision"]


def test_scales_too_far_apart(impl):
    assert read(decimal(2000, 1500), decimal(38, 2), [Decimal(0)]) == ["logical_type"]


@given(st.data())
def test_any_scale(data):
    scales = [data.draw(st.integers(0, 45)) for _ in range(2)]
    precisions = [data.draw(st.integers(max(scale, 1), 76)) for scale in scales]
    digits = st.integers(-(10 ** precisions[0]) + 1, 10 ** precisions[0] - 1)
    step = 10 ** max(0, scales[0] - scales[1])
    even = digits.map(lambda n: (n > 0 or -1) * (abs(n) // step * step))
    unscaled = data.draw(st.lists(digits | even, min_size=1, max_size=20))
    writer, reader = (decimal(p, s) for p, s in zip(precisions, scales, strict=True))
    expected = []
    for number in unscaled:
        shift = scales[1] - scales[0]
        whole, rest = divmod(abs(number) * 10 ** max(shift, 0), 10 ** max(-shift, 0))
        if number and len(str(abs(number))) > precisions[1] - shift:
            expected.append("decimal_precision")
        elif rest:
            expected.append("inexact")
        else:
            expected.append(Decimal((number < 0, tuple(map(int, str(whole))), -scales[1])))
    codec = AvroCodec(record(f=writer), record(f=reader))
    values = [Decimal((n < 0, tuple(map(int, str(abs(n)))), -scales[0])) for n in unscaled]
    rows = written(writer, values)
    found, report = codec.decode(rows, errors="report")
    faults = {fault["row"]: fault["code"] for fault in report.to_pylist()}
    assert [faults.get(i) or row["f"] for i, row in enumerate(found.to_pylist())] == expected
    same_decode("formats.avro._kernel", [codec.decode_plan], rows.to_pylist())


@cases("local", ["", "local-"])
@cases("old", NANOS)
@cases("new", NANOS)
def test_units_of_timestamps(impl, local, old, new):
    seconds = [0, 1_704_067_200, -7]
    values = [second * 10**9 // NANOS[old] for second in seconds]
    column = min(NANOS[new], 1000)
    writer, reader = (logical(f"{local}timestamp-{unit}") for unit in (old, new))
    assert read(writer, reader, values) == [second * 10**9 // column for second in seconds]
    finer = NANOS[old] < NANOS[new]
    for value in (values[1] + 1, -1):
        expected = value // (NANOS[new] // NANOS[old]) * (NANOS[new] // column) if finer else None
        plain = value * NANOS[old] // column
        assert read(writer, reader, [value]) == ["inexact" if finer else plain]
        assert read(writer, reader, [value], round="truncate") == [expected if finer else plain]


def test_times_that_do_not_fit(impl):
    far = 2**62
    assert read(logical("timestamp-millis"), logical("timestamp-nanos"), [far]) == ["out_of_range"]
    assert read(logical("timestamp-nanos"), logical("timestamp-micros"), [far // 1000 * 1000]) == [
        far // 1000
    ]
    assert read(logical("timestamp-micros"), logical("timestamp-millis"), [-(2**63) + 1]) == ["inexact"]


def test_dates_are_midnights(impl):
    days = [0, 19_723, -1]
    for name in ("timestamp-millis", "timestamp-micros", "timestamp-nanos", "local-timestamp-millis"):
        ticks = 86_400 * 10 ** (9 if name.endswith("nanos") else 6)
        assert read(logical("date"), logical(name), days) == [day * ticks for day in days]
    assert read(logical("date"), logical("timestamp-nanos"), [2**31 - 1, 106_751]) == [
        "out_of_range", 106_751 * 86_400 * 10**9,
    ]  # fmt: skip
    assert read(logical("date"), logical("timestamp-micros"), [-(2**31), 2**31 - 1])[0] == "out_of_range"


def test_times_of_day(impl):
    values = [0, 86_399_999, 86_400_000, -1]
    bad = ["out_of_range"] * 2
    assert read(logical("time-millis"), logical("time-micros"), values) == [0, 86_399_999_000, *bad]
    assert read(logical("time-millis"), debezium("NanoTime"), values) == [0, 86_399_999_000_000, *bad]
    assert read(debezium("MicroTime"), debezium("NanoTime"), [5, 86_400_000_000]) == [5000, bad[0]]
    assert read(debezium("NanoTime"), logical("time-micros"), [5000, 5001, -1000]) == [5, "inexact", bad[0]]
    assert read(debezium("NanoTime"), logical("time-micros"), [5001], round="truncate") == [5]


@cases(
    ("writer", "reader"),
    [
        (logical("date"), logical("time-millis")),
        (logical("date"), logical("time-micros")),
        (logical("time-millis"), logical("date")),
        (logical("time-millis"), logical("timestamp-millis")),
        (logical("time-micros"), logical("timestamp-micros")),
        (logical("timestamp-micros"), logical("time-micros")),
        (logical("timestamp-micros"), logical("local-timestamp-micros")),
        (logical("local-timestamp-millis"), logical("timestamp-micros")),
        (debezium("MicroTimestamp"), logical("timestamp-millis")),
        (debezium("Year", "int"), debezium("Date", "int")),
        (debezium("MicroDuration"), debezium("MicroTimestamp")),
        (debezium("MicroTime"), debezium("MicroDuration")),
    ],
)
def test_types_that_mean_something_else(impl, writer, reader):
    assert read(writer, reader, [1, 2]) == ["logical_type"] * 2
    assert read(writer, reader, [1, 2], compat="avro") == read(reader["type"], reader, [1, 2])
    # Only the rows that have such a value.
    codec = AvroCodec(["null", writer], ["null", reader])
    rows, report = codec.decode([b"\0", b"\2\2"], errors="report")
    assert rows.to_pylist() == [None, None]
    [fault] = report.to_pylist()
    assert (fault["row"], fault["offset"], fault["code"]) == (1, 1, "logical_type")
    assert "is not the reader's" in fault["reason"]


def test_bytes_and_text_of_decimals_are_not_each_other(impl):
    for writer, reader in ((decimal(9, 2), "string"), ("string", decimal(9, 2))):
        rows, report = AvroCodec(writer, reader).decode([b"\2\x31"], errors="report")
        assert (rows.to_pylist(), report.to_pylist()[0]["code"]) == ([None], "logical_type")
        assert AvroCodec(writer, reader, compat="avro").decode([b"\2\x31"]).to_pylist() in (
            ["1"],
            [Decimal("0.49")],
        )
    fixed = {"type": "fixed", "name": "F", "size": 16}
    report = AvroCodec({**fixed, "logicalType": "uuid"}, decimal(30, 2, 16)).decode(
        [bytes(16)], errors="report"
    )[1]
    assert report.to_pylist()[0]["code"] == "logical_type"


def test_one_side_without_a_logical_type(impl):
    """It is the number or the bytes, which the other side explains."""
    assert read("long", logical("timestamp-millis"), [5]) == [5000]
    assert read("int", logical("timestamp-micros"), [5]) == [5]
    assert read(logical("timestamp-millis"), "long", [5]) == [5]
    assert read(logical("date"), "double", [5]) == [5.0]
    assert AvroCodec("bytes", decimal(9, 2)).decode([b"\4\x01\x3a"]).to_pylist() == [Decimal("3.14")]
    assert AvroCodec(decimal(9, 2), "bytes").decode([b"\4\x01\x3a"]).to_pylist() == [b"\x01\x3a"]
    assert read(debezium("Timestamp"), debezium("MicroTimestamp"), [5], debezium=False) == [5]


def test_debezium(impl):
    assert read(debezium("Timestamp"), debezium("MicroTimestamp"), [5]) == [5000]
    assert read(debezium("NanoTimestamp"), debezium("Timestamp"), [5_000_000, 1]) == [5000, "inexact"]
    assert read(debezium("Timestamp"), logical("local-timestamp-nanos"), [5]) == [5_000_000]
    assert read(debezium("Date", "int"), debezium("MicroTimestamp"), [1]) == [86_400 * 10**6]
    assert read(debezium("MicroDuration"), debezium("NanoDuration"), [5]) == [5000]
    assert read(debezium("Timestamp"), debezium("MicroTimestamp"), [5], compat="avro") == [5]


OLD = {"price": decimal(10, 2), "at": logical("timestamp-millis")}
NEW = {"price": decimal(12, 3), "at": logical("timestamp-micros")}
ROW = {"price": Decimal("3.14"), "at": datetime.datetime(2024, 1, 1, tzinfo=UTC)}
JAVA = {"price": Decimal("0.314"), "at": datetime.datetime(1970, 1, 20, 17, 21, 7, 200000, tzinfo=UTC)}


def nested(fields, **more):
    inner = record(**fields)
    return {
        "type": "record",
        "name": "Outer",
        "fields": [
            {"name": "one", "type": inner},
            {"name": "some", "type": {"type": "array", "items": "V"}},
            {"name": "by", "type": {"type": "map", "values": ["null", "V"]}},
            {"name": "either", "type": ["V", "string"]},
            *({"name": n, **t} for n, t in more.items()),
        ],
    }


def test_wherever_values_stand(impl):
    rows = [
        {"one": ROW, "some": [ROW, ROW], "by": [("k", ROW), ("n", None)], "either": {"member0": ROW}}
    ] * 40
    old = AvroCodec(nested(OLD))
    added = {"more": {"type": decimal(5, 3), "default": "\u0001\u003a"}}
    found = AvroCodec(nested(OLD), nested(NEW, **added)).decode(old.encode(pa.array(rows, old.arrow_type)))
    # A default is what the reader's schema means.
    expected = {**rows[0], "either": {"member0": ROW, "member1": None}, "more": Decimal("0.314")}
    assert found.to_pylist() == [expected] * 40
    java = AvroCodec(nested(OLD), nested(NEW, **added), compat="avro").decode(
        old.encode(pa.array(rows, old.arrow_type))
    )
    assert java.to_pylist()[0]["some"] == [JAVA, JAVA]


def test_nullable_columns_in_blocks(impl):
    nullable = [record(**{n: ["null", t] for n, t in fields.items()}) for fields in (OLD, NEW)]
    codec = AvroCodec(nullable[0])
    rows = [ROW, {"price": None, "at": None}, {**ROW, "at": None}] * 100
    found = AvroCodec(*nullable).decode(codec.encode(pa.array(rows, codec.arrow_type)))
    assert found.to_pylist() == rows


def test_choice_of_java(impl):
    data = AvroCodec(record(**OLD)).encode(pa.array([ROW]))
    codec = AvroCodec(record(**OLD), record(**NEW), compat="avro")
    assert codec.decode(data).to_pylist() == [JAVA]
    assert codec != AvroCodec(record(**OLD), record(**NEW))
    assert pickle.loads(pickle.dumps(codec)).decode(data).to_pylist() == [JAVA]
    for wrong in ("java", True, ""):
        with pytest.raises(ConfigError, match="compat="):
            AvroCodec("int", compat=wrong)
        with pytest.raises(ConfigError, match="compat="):
            kcodec.AvroOptions(compat=wrong)


def test_plan_tells_what_is_converted():
    plan = str(AvroCodec(record(**OLD), record(**NEW)).decode_plan)
    assert "price: decimal (12, 3) [scale 2 -> 3: converted] -> column 1" in plan
    assert "at: long factor 1000 [timestamp-millis -> timestamp-micros: converted] -> column 2" in plan
    back = str(AvroCodec(record(**NEW), record(**OLD), round="truncate").decode_plan)
    assert "[scale 3 -> 2: converted if exact]" in back
    assert (
        "at: long divisor 1000 floor factor 1000 [timestamp-micros -> timestamp-millis: converted if exact]"
        in back
    )
    assert "logical_type: the writer's date is not the reader's time-millis" in str(
        AvroCodec(logical("date"), logical("time-millis")).decode_plan
    )


def test_serde(impl):
    registry = kcodec.registry.open(f"memory://logical-types-{impl}")
    old = Serde("AVRO", registry, topic="t", schema=record(**OLD)).serialize(pa.array([ROW]))
    new = Serde("AVRO", registry, topic="t", schema=record(**NEW))
    both = pa.array([*old.to_pylist(), *new.serialize(pa.array([ROW])).to_pylist()] * 30)
    assert Serde("AVRO", registry, topic="t").deserialize(both).to_pylist() == [ROW] * 60
    java = Serde("AVRO", registry, topic="t", options=kcodec.AvroOptions(compat="avro"))
    assert java.deserialize(old).to_pylist() == [JAVA]
    # Values of one schema are also written as another.
    chosen = {"use.latest.version": True, "auto.register.schemas": False}
    writer = Serde("AVRO", registry, topic="t", schema=record(**OLD), config=chosen)
    assert new.deserialize(writer.serialize(pa.array([ROW]))).to_pylist() == [ROW]
    registry.set_config(Config("NONE"), "t-value")
    other = Serde("AVRO", registry, topic="t", schema=record(price=decimal(12, 3), at=logical("time-micros")))
    other.serialize(pa.array([{"price": Decimal(1), "at": datetime.time(1)}]))
    found, report = Serde("AVRO", registry, topic="t").deserialize(old, errors="report")
    fault = report.to_pylist()[0]
    assert (found.to_pylist(), fault["code"], fault["path"]) == ([None], "logical_type", "at")
    assert fault["schema_id"] is not None


def test_unwrapped_rows(impl):
    def envelope(unit):
        row = {"type": "record", "name": "Value", "fields": [{"name": "at", "type": debezium(unit)}]}
        fields = [("before", ["null", row], None), ("after", ["null", "Value"], None), ("op", "string", "c")]
        return {
            "type": "record",
            "name": "Envelope",
            "fields": [{"name": n, "type": t, "default": d} for n, t, d in fields],
        }

    at = datetime.datetime(2024, 1, 1)
    old, new = envelope("Timestamp"), envelope("MicroTimestamp")
    codec = AvroCodec(old)
    data = codec.encode(pa.array([{"before": None, "after": {"at": at}, "op": "c"}], codec.arrow_type))
    assert unwrap(AvroCodec(old, new).decode(data)).values.to_pylist() == [{"at": at}]


def test_differences_tell_it():
    old, new = (Schema(_text(record(**fields)), "AVRO") for fields in (OLD, NEW))
    assert [tuple(each) for each in differences(old, new)] == [
        ("LOGICAL_TYPE_CONVERTED", "/fields/0/type", "scale 2 -> 3: converted"),
        ("LOGICAL_TYPE_CONVERTED", "/fields/1/type", "timestamp-millis -> timestamp-micros: converted"),
    ]
    assert [each.message for each in differences(new, old)] == [
        "scale 3 -> 2: converted if exact", "timestamp-micros -> timestamp-millis: converted if exact",
    ]  # fmt: skip
    assert not differences(old, old)
    found = conversions(parse(nested(NEW)), parse(nested({**OLD, "price": "bytes"})))
    assert [(each.type, each.path) for each in found] == [
        ("LOGICAL_TYPE_CONVERTED", "/fields/0/type/fields/1/type")
    ]
    [found] = conversions(parse(["null", logical("time-millis")]), parse(logical("date")))
    assert tuple(found) == (
        "LOGICAL_TYPE_MISMATCH", "/1", "the writer's date is not the reader's time-millis",
    )  # fmt: skip


def _text(schema):
    return kcodec.AvroCodec(schema).schema

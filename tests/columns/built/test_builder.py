"""Output columns: whole, trimmed, in the pool's memory, and unharmed by rows that fail."""

import gc
import json
from decimal import Decimal

import pyarrow as pa
import pytest
from cases import cases

import kcodec
from kcodec.errors import CapacityError
from kcodec.formats.avro.schema.defaults import varint

DECIMAL = {"type": "bytes", "logicalType": "decimal", "scale": 2}
RECORD = {
    "type": "record",
    "name": "Inner",
    "fields": [{"name": "a", "type": "string"}, {"name": "b", "type": ["null", "long"]}],
}


def text(value: str) -> bytes:
    return varint(len(value.encode())) + value.encode()


def number(value: int) -> bytes:
    size = value.bit_length() // 8 + 1
    return varint(size) + value.to_bytes(size, "big", signed=True)


#: Kind of column -> its schema and the bytes of a few values.
KINDS = {
    "null": ("null", [b"", b""]),
    "boolean": ("boolean", [b"\0", b"\1"]),
    "int": ("int", [varint(7), varint(-(1 << 31))]),
    "long": ("long", [varint(1 << 62), varint(-1)]),
    "float": ("float", [b"\0\0\x80\x3f", b"\0\0\0\0"]),
    "double": ("double", [b"\0" * 6 + b"\xf0\x3f", b"\0" * 8]),
    "bytes": ("bytes", [text(""), text("x" * 40), text("y" * 200)]),
    "string": ("string", [text("é"), text(""), text("z" * 33), text("w" * 129)]),
    "fixed": ({"type": "fixed", "name": "F", "size": 5}, [b"abcde", b"\0" * 5]),
    "wide fixed": ({"type": "fixed", "name": "F", "size": 70}, [b"a" * 70, b"b" * 70]),
    "enum": ({"type": "enum", "name": "E", "symbols": ["A", "ß", "C" * 50]}, [b"\0", b"\2", b"\4"]),
    "decimal128": ({**DECIMAL, "precision": 38}, [number(10**37), number(-1)]),
    "decimal256": ({**DECIMAL, "precision": 70}, [number(10**69), number(-(10**40))]),
    "decimal text": ({**DECIMAL, "precision": 100}, [number(10**99), number(-5), number(0)]),
    "date": ({"type": "int", "logicalType": "date"}, [varint(0), varint(-1)]),
    "time": ({"type": "int", "logicalType": "time-millis"}, [varint(0), varint(86_399_999)]),
    "timestamp": ({"type": "long", "logicalType": "timestamp-millis"}, [varint(1), varint(-1)]),
    "record": (RECORD, [text("in") + b"\0", text("") + b"\2" + varint(9)]),
    "array": ({"type": "array", "items": "string"}, [b"\0", b"\4" + text("a") + text("b" * 60) + b"\0"]),
    "array of nulls": ({"type": "array", "items": "null"}, [b"\0", b"\x64\0", b"\1\0\2\0"]),
    "array of flags": ({"type": "array", "items": ["null", "boolean"]}, [b"\x06\0\2\1\2\0\0", b"\0"]),
    "map": (
        {"type": "map", "values": ["null", "int"]},
        [b"\0", b"\4" + text("k") + b"\0" + text("l") + b"\2\2\0"],
    ),
    "deep": (
        {"type": "array", "items": {"type": "map", "values": {"type": "array", "items": RECORD}}},
        [b"\2\2" + text("k") + b"\4" + (text("v") + b"\2\4") * 2 + b"\0\0\0", b"\0"],
    ),
    "union": (
        ["null", "long", "string", RECORD],
        [b"\0", b"\2\2", b"\4" + text("u"), b"\6" + text("r") + b"\0"],
    ),
    "numbers": (["int", "long"], [b"\0\2", b"\2\4"]),
}
WITH_NULL = {
    name: (["null", schema], [b"\0", *(b"\2" + value for value in values)])
    for name, (schema, values) in KINDS.items()
    if not isinstance(schema, list) and schema != "null"
}
ALL = KINDS | {f"nullable {name}": kind for name, kind in WITH_NULL.items()}
#: Rows of everything at once.
EVERYTHING = {
    "type": "record",
    "name": "Everything",
    "fields": [
        {"name": f"f{i}", "type": json.loads(json.dumps(schema).replace('"Inner"', f'"Inner{i}"'))}
        for i, (schema, _) in enumerate(ALL.values())
    ],
}
for position, field in enumerate(EVERYTHING["fields"]):
    for kind in field["type"] if isinstance(field["type"], list) else [field["type"]]:
        if isinstance(kind, dict) and kind["type"] in ("fixed", "enum"):
            kind["name"] += str(position)


#: One test for all kinds of columns.
each_kind = cases("kind", ALL.values(), ids=ALL)


@pytest.fixture(params=[False, True], ids=["32", "64"])
def large(request):
    return request.param


def codec_of(schema, **options) -> kcodec.AvroCodec:
    wide = "string" if '"precision": 100' in json.dumps(schema) else "decimal256"
    return kcodec.AvroCodec(schema, wide_decimals=wide, **options)


def everything(turn: int) -> bytes:
    return b"".join(values[turn % len(values)] for _, values in ALL.values())


def column_types(kind: pa.DataType) -> list[pa.DataType]:
    below = [kind.field(i).type for i in range(kind.num_fields)]
    return [kind, *(deeper for one in below for deeper in column_types(one))]


@each_kind
def test_no_rows(kind, large, impl):
    codec = codec_of(kind[0], large=large)
    decoded = codec.decode([])
    decoded.validate(full=True)
    assert (decoded.type, len(decoded)) == (codec.arrow_type, 0)


@each_kind
def test_all_null(kind, large, impl):
    codec = codec_of(kind[0], large=large)
    decoded = codec.decode([None] * 700)
    decoded.validate(full=True)
    assert (decoded.type, decoded.null_count) == (codec.arrow_type, 700)


@each_kind
def test_every_kind_is_whole(kind, large, impl):
    schema, values = kind
    codec = codec_of(schema, large=large)
    rows = [None if row % 5 == 4 else values[row % len(values)] for row in range(40)]
    decoded = codec.decode(rows)
    decoded.validate(full=True)
    assert decoded.is_null()[4::5].true_count == 8
    assert codec.decode(codec.encode(decoded)).equals(decoded)


def test_types_of_large(impl):
    narrow = column_types(codec_of(EVERYTHING).arrow_type)
    wide = column_types(codec_of(EVERYTHING, large=True).arrow_type)
    assert {pa.string(), pa.binary()} <= {*narrow}
    assert not {pa.large_string(), pa.large_binary()} & {*narrow}
    assert not any(pa.types.is_large_list(kind) for kind in narrow)
    assert {pa.large_string(), pa.large_binary()} <= {*wide}
    assert not any(kind in (pa.string(), pa.binary()) or pa.types.is_list(kind) for kind in wide)
    assert any(pa.types.is_large_list(kind) for kind in wide)
    assert any(pa.types.is_map(kind) for kind in wide)


@cases("rows", [1, 7, 8, 9, 511, 512, 513, 1500])
def test_blocks(rows, large):
    """Every number of rows around the size of a block; the same values as from blocks of one row."""
    codec = codec_of(EVERYTHING, large=large)
    payloads = [everything(turn) if turn % 11 else None for turn in range(rows)]
    decoded = codec.decode(payloads)
    decoded.validate(full=True)
    alone = [codec.decode(payloads[turn : turn + 1]).to_pylist()[0] for turn in range(min(rows, 60))]
    assert decoded[: len(alone)].to_pylist() == alone
    assert (
        decoded.slice(max(0, rows - 9)).to_pylist() == codec.decode(payloads[max(0, rows - 9) :]).to_pylist()
    )


@cases("size", [31, 32, 33, 63, 64, 65, 127, 128, 129, 160, 5000, 70_000, 200_000])
def test_lengths_around_the_size_of_a_move(size, large):
    codec = kcodec.AvroCodec({"type": "array", "items": ["null", "string"]}, large=large)
    value = "".join(chr(97 + at % 26) for at in range(size))
    row = b"\6\2" + text(value) + b"\0\2" + text(value[::-1]) + b"\0"
    rows = [row, b"\0", row, None, row[:-2], row]
    decoded, report = codec.decode(rows, errors="report")
    decoded.validate(full=True)
    good = [value, None, value[::-1]]
    assert decoded.to_pylist() == [good, [], good, None, None, good]
    assert report["row"].to_pylist() == [4]
    kept = decoded.filter(decoded.is_valid())
    assert codec.encode(kept).to_pylist() == [row, b"\0", row, row]


def test_memory_is_of_the_pool_and_comes_back(large):
    codec = codec_of(EVERYTHING, large=large)
    values = pa.array([everything(turn) for turn in range(3000)])
    codec.decode(values.slice(0, 10))
    kcodec.release_unused()
    before = pa.total_allocated_bytes()
    decoded = codec.decode(values)
    kcodec.release_unused()
    grown = pa.total_allocated_bytes() - before
    buffers = 3 * len(column_types(codec.arrow_type))
    # Each buffer is padded to 64 bytes, and starts up to 2 KiB into its memory.
    assert decoded.nbytes <= grown <= decoded.nbytes + buffers * (2048 + 64)
    del decoded
    kcodec.release_unused()
    assert pa.total_allocated_bytes() == before


def test_what_is_left_of_a_failure_comes_back():
    codec = codec_of(EVERYTHING)
    values = pa.array([everything(turn) for turn in range(600)] + [b"\xff"])
    kcodec.release_unused()
    before = pa.total_allocated_bytes()
    with pytest.raises(kcodec.DecodeError):
        codec.decode(values)
    kcodec.release_unused()
    assert pa.total_allocated_bytes() == before


def test_a_large_row_is_no_guide_to_the_rest():
    """Room is guessed from the rows done so far; one that is far above the rest must not decide it."""
    codec = kcodec.AvroCodec("string")
    size = 1 << 20
    values = pa.array([text("a" * size)] + [b"\0"] * 50_000)
    pool = pa.system_memory_pool()
    default = pa.default_memory_pool()
    pa.set_memory_pool(pool)
    try:
        before = pool.bytes_allocated()
        decoded = codec.decode(values)
        encoded = codec.encode(decoded)
        peak = pool.max_memory() - before
    finally:
        pa.set_memory_pool(default)
    assert len(decoded[0].as_py()) == size
    assert encoded.equals(values)
    assert peak < 64 * size


@pytest.mark.thorough
def test_too_much_for_32_bits(large):
    """What a block may yield is known before it is decoded, so the refusal touches no memory."""
    added = {"name": "added", "type": "string", "default": "x" * (8 << 20)}
    empty = {"type": "record", "name": "R", "fields": []}
    codec = kcodec.AvroCodec(empty, {**empty, "fields": [added]})
    left = []
    # The first time, what earlier tests left is freed, and what is kept for ever is made.
    for _ in range(3):
        with pytest.raises(CapacityError, match=r"added.*large=True"):
            codec.decode([b""] * 300)
        gc.collect()
        left.append(pa.total_allocated_bytes())
    assert left[1] == left[2]
    assert len(codec.decode([b""] * 2)[1]["added"].as_py()) == 8 << 20


@pytest.mark.thorough
def test_too_much_to_encode_for_32_bits():
    added = {"name": "added", "type": "string", "default": "x" * (8 << 20)}
    codec = kcodec.AvroCodec({"type": "record", "name": "R", "fields": [added]})
    rows = pa.array([{}] * 300, pa.struct([]))
    left = []
    for _ in range(3):
        with pytest.raises(CapacityError, match="large=True"):
            codec.encode(rows)
        gc.collect()
        left.append(pa.total_allocated_bytes())
    assert left[1] == left[2]


def bad_forms(values):
    """Damage that no kind of column survives: bytes behind the value, and for most a cut."""
    return [values[-1] + b"\0\0", b"\xff" * 11 + values[0]]


@pytest.mark.parametrize("position", range(5))
@each_kind
def test_bad_rows_leave_no_trace(kind, position, impl):
    schema, values = kind
    codec = codec_of(schema)
    good = [values[turn % len(values)] for turn in range(5)]
    expected = codec.decode(good).to_pylist()
    for bad in bad_forms(values):
        rows = [*good[:position], bad, bad, *good[position:]]
        decoded, report = codec.decode(rows, errors="report")
        decoded.validate(full=True)
        assert decoded.to_pylist() == [*expected[:position], None, None, *expected[position:]]
        assert report["row"].to_pylist() == [position, position + 1]


def test_rows_cut_at_every_byte(large, impl):
    """A row that ends anywhere within any column; the rows around it are as if decoded alone."""
    codec = codec_of(EVERYTHING, large=large)
    whole = everything(1)
    step = 1 if impl == "native" else 17
    cuts = range(0, len(whole), step)
    rows = [part for cut in cuts for part in (whole[:cut], everything(cut % 12))]
    decoded, report = codec.decode(rows, errors="report")
    decoded.validate(full=True)
    assert report["row"].to_pylist() == list(range(0, len(rows), 2))
    turns = [codec.decode([everything(turn)]).to_pylist()[0] for turn in range(12)]
    assert decoded.filter(decoded.is_valid()).to_pylist() == [turns[cut % 12] for cut in cuts]


def test_bad_text_between_good_rows(large, impl):
    schema = {
        "type": "record",
        "name": "R",
        "fields": [{"name": n, "type": ["null", "string"]} for n in "ab"],
    }
    codec = codec_of(schema, large=large)
    good = [b"\2" + text("é" * (turn % 40)) + b"\2" + text("ok") for turn in range(1300)]
    rows = list(good)
    bad = [0, 1, 5, 511, 512, 513, 1023, 1299]
    for turn, row in enumerate(bad):
        # The second half of a character stands at the start of the next value: valid only as a whole.
        rows[row] = [b"\2\2\xc3\2\2\xa9", b"\0\2\4\xe9a", b"\2\x02\xff\0"][turn % 3]
    decoded, report = codec.decode(rows, errors="report")
    decoded.validate(full=True)
    assert report["row"].to_pylist() == bad
    assert {*report["code"].to_pylist()} == {"invalid_utf8"}
    expected = codec.decode(good).to_pylist()
    assert decoded.to_pylist() == [None if row in bad else value for row, value in enumerate(expected)]


@cases("count", [2, 7, 8, 9, 10, 100, 1000])
def test_keys_that_stand_twice(count, large, impl):
    """The last entry of a key is kept, at its place; what stood below dropped entries is gone."""
    values = {"type": "array", "items": ["null", "string", {"type": "map", "values": "boolean"}]}
    codec = kcodec.AvroCodec({"type": "map", "values": values}, large=large)
    keys = [f"key {turn * 7 % max(count * 2 // 3, 1)}" for turn in range(count)]

    def value(turn):
        twice = b"\4" + text("t") + b"\0" + text("t") + b"\1" + b"\0"
        return varint(3) + b"\0\2" + text(str(turn) * (turn % 30)) + b"\4" + twice + b"\0"

    row = varint(count) + b"".join(text(key) + value(turn) for turn, key in enumerate(keys)) + b"\0"
    last = {key: turn for turn, key in enumerate(keys)}
    expected = [
        (
            key,
            [
                None,
                {"member0": str(turn) * (turn % 30), "member1": None},
                {"member0": None, "member1": [("t", True)]},
            ],
        )
        for key, turn in sorted(last.items(), key=lambda item: item[1])
    ]
    plain = b"\2" + text("k") + b"\2\0\0\0"
    rows = [row, plain, row[:-1], row, plain]
    decoded, report = codec.decode(rows, errors="report")
    decoded.validate(full=True)
    assert report["row"].to_pylist() == [2]
    assert decoded.to_pylist() == [expected, [("k", [None])], None, expected, [("k", [None])]]


@cases("rows", [1, 3, 300])
def test_keys_that_stand_twice_in_small_maps(rows, large, impl):
    """Of all lengths up to 20 bytes, with the same first and last eight; those of neighbours do not matter."""
    codec = kcodec.AvroCodec({"type": "map", "values": "int"}, large=large)
    names = ["", "a", "b", "ab", "ba", "é", "a" * 8, "a" * 9, "a" * 16, "a" * 17]
    names += ["a" * 8 + middle + "b" * 8 for middle in ("", "c", "d", "cd", "dc")]
    decoded, expected = [], []
    for turn in range(rows):
        keys = [names[(turn * 7 + at * (1 + turn % 4)) % len(names)] for at in range(turn % 12)]
        decoded.append(
            (varint(len(keys)) + b"".join(text(k) + varint(v) for v, k in enumerate(keys)) if keys else b"")
            + b"\0"
        )
        last = {key: at for at, key in enumerate(keys)}
        expected.append(sorted(last.items(), key=lambda item: item[1]))
    assert codec.decode(decoded).to_pylist() == expected


def test_decimal_columns_in_a_schema_that_allows_more_digits(impl):
    codec = kcodec.AvroCodec({**DECIMAL, "precision": 900}, wide_decimals="string")
    for kind in (pa.decimal128(38, 2), pa.decimal256(76, 2), pa.decimal256(70, 0)):
        column = pa.array([Decimal(10) ** 35, Decimal(-1), None], kind)
        assert codec.decode(codec.encode(column)).to_pylist() == ["1" + "0" * 35 + ".00", "-1.00", None]


@pytest.mark.skipif(not hasattr(pa.MemoryPool, "num_allocations"), reason="this pyarrow does not count them")
def test_text_that_is_not_in_the_rows_is_given_room_for_many_blocks():
    """Room that grew with each block was copied with each."""
    symbol = {"type": "enum", "name": "E", "symbols": ["S" * 1000]}
    defaults = {"type": "array", "items": "string"}
    reader = {
        "type": "record",
        "name": "R",
        "fields": [{"name": "a", "type": defaults, "default": ["d" * 1000]}],
    }
    empty = {"type": "record", "name": "R", "fields": []}
    pool = pa.default_memory_pool()
    for codec, payload in ((kcodec.AvroCodec(symbol), b"\0"), (kcodec.AvroCodec(empty, reader), b"")):
        before = pool.num_allocations()
        assert codec.decode([payload] * 20_000).nbytes > 20_000_000
        assert pool.num_allocations() - before < 40

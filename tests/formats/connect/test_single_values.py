"""Single values are written as columns of one row are."""

import datetime
import random
from decimal import Decimal

import pyarrow as pa
import pytest
from cases import cases

from kcodec import ConnectJsonCodec, KcodecError
from kcodec.objects.by_columns import ColumnReader, ColumnWriter, objects_of

KINDS = [
    *(pa.bool_(), pa.int8(), pa.int32(), pa.int64(), pa.uint8(), pa.uint64(), pa.float32(), pa.float64()),
    *(
        pa.string(),
        pa.large_string(),
        pa.binary(),
        pa.decimal128(10, 2),
        pa.decimal256(50, 5),
        pa.date32(),
        pa.date64(),
    ),
    *(pa.time32("ms"), pa.time64("us"), pa.timestamp("ms", "UTC"), pa.timestamp("us"), pa.timestamp("s")),
    *(pa.time64("ns"), pa.timestamp("ns"), pa.timestamp("ns", "UTC"), pa.timestamp("us", "UTC")),
    *(pa.list_(pa.int32()), pa.map_(pa.string(), pa.int64()), pa.map_(pa.int32(), pa.string())),
    *(pa.map_(pa.bool_(), pa.list_(pa.int8())), pa.map_(pa.date32(), pa.map_(pa.int8(), pa.int8()))),
    *(pa.struct([("x", pa.int32()), ("y", pa.string())]), pa.list_(pa.struct([("x", pa.float64())]))),
]
VALUES = [
    *(
        True,
        0,
        -1,
        127,
        128,
        2**31,
        2**63 - 1,
        2**64 - 1,
        1.5,
        0.1,
        float("nan"),
        float("inf"),
        "",
        "abc",
        'é"\n',
        b"ab",
    ),
    *(Decimal("1.25"), Decimal("1.255"), Decimal("12345678901.1"), datetime.date(2024, 2, 29)),
    *(
        datetime.time(1, 2, 3, 4000),
        datetime.time(1, 2, 3, 4567),
        datetime.datetime(2024, 1, 2, 3, 4, 5, 6000),
    ),
    datetime.datetime(2024, 1, 2, 3, 4, 5, 6789, tzinfo=datetime.timezone.utc),
    *(datetime.datetime(1969, 12, 31, 23, 59, 59, 999_999), datetime.datetime(9999, 12, 31), datetime.time()),
    *(
        [],
        [1, 2],
        ["a", None],
        [("k", 1)],
        [(1, "x"), (1, None)],
        [(True, [1])],
        [(datetime.date(2024, 2, 29), [(1, 2)])],
        [(None, "x")],
        {"k": 1},
        {"x": 1, "y": "z"},
        {"x": 1},
        {},
        [{"x": 1.5}],
        None,
        (1, 2),
    ),
]
OPTIONS = [
    {},
    {"config": {"decimal.format": "NUMERIC"}},
    {"compat": "connect"},
    {"tombstones": False},
    {"round": "truncate"},
    {"schemas_enable": True},
    {"schemas_enable": True, "config": {"decimal.format": "NUMERIC"}},
]


@cases("seed", range(20))
def test_they_are_written_as_columns_are(seed, impl):
    r = random.Random(seed)
    kinds = [r.choice(KINDS) for _ in range(r.randint(1, 3))]
    kind = pa.struct([pa.field(f"f{at}", each, r.random() < 0.7) for at, each in enumerate(kinds)])
    codec = ConnectJsonCodec(kind, **{"schemas_enable": False} | r.choice(OPTIONS))
    columns = ColumnWriter(codec.encode)
    for _ in range(40):
        value = {f"f{at}": r.choice(VALUES) for at in range(len(kinds)) if r.random() < 0.95}
        if r.random() < 0.05:
            value["unknown"] = 1
        answers = []
        for write in (codec.encode_one, columns.encode_one):
            try:
                answers.append(write(value))
            except KcodecError as error:
                answers.append((type(error), str(error)))
        assert answers[0] == answers[1], value


def test_what_is_plain_takes_no_column(monkeypatch):
    kind = pa.struct(
        [("a", pa.int64()), ("b", pa.list_(pa.string())), ("c", pa.map_(pa.string(), pa.float64()))]
    )
    codec = ConnectJsonCodec(kind, schemas_enable=False)
    monkeypatch.setenv("KCODEC_IMPL", "native")
    monkeypatch.setattr(ColumnWriter, "encode_one", None)
    written = codec.encode_one({"a": 1, "b": ["x", None], "c": {"k": 1.5}})
    assert written == b'{"a":1,"b":["x",null],"c":{"k":1.5}}'


@pytest.mark.parametrize("envelope", ["false", "true"])
def test_a_schema_of_the_settings_is_written_as_by_columns(impl, envelope):
    schema = '{"type": "struct", "optional": true, "fields": [{"field": "a", "type": "int32"}]}'
    codec = ConnectJsonCodec(config={"schema.content": schema, "schemas.enable": envelope})
    assert codec.encode_one({"a": 1}) == codec.encode([{"a": 1}])[0].as_py()


def test_envelopes_take_no_column(monkeypatch):
    schema = {"type": "struct", "fields": [{"field": "a", "type": "int32", "default": 7}]}
    codec = ConnectJsonCodec(schema)
    wanted = codec.encode([{"a": 1}, None]).to_pylist()
    monkeypatch.setenv("KCODEC_IMPL", "native")
    monkeypatch.setattr(ColumnWriter, "encode_one", None)
    assert [codec.encode_one(each) for each in ({"a": 1}, None)] == wanted


PAIRS = [
    *("[]", "[[1,2]]", " [ [ 1 , 2 ] , [ 3 , null ] ] ", "[[1,2],[1,3]]", "[[1,2],[3,4],[1,5]]", "null"),
    *(
        "[[null,2]]",
        "[[1]]",
        "[[]]",
        "[[1,2,3]]",
        "[1,2]",
        "{}",
        '{"1":2}',
        "[[1,2],]",
        "[[1,2]",
        "[[1 2]]",
        "[[1:2]]",
    ),
    *("[[300,2]]", '[["1",2]]', "[[true,2]]", "[[1.0,2]]", "[[1,[2]]]", "[null]", "[[1,2]]]"),
]


@cases(
    "key",
    [
        pa.int8(),
        pa.bool_(),
        pa.float64(),
        pa.binary(),
        pa.date32(),
        pa.decimal128(3, 1),
        pa.timestamp("ms", "UTC"),
    ],
)
@cases("maps", ["pairs", "dict"])
def test_maps_with_keys_that_are_no_text_are_read_as_columns_are(impl, key, maps):
    codec = ConnectJsonCodec(pa.struct([("m", pa.map_(key, pa.int8()))]), schemas_enable=False)
    keys = {pa.bool_(): ("true", "false"), pa.binary(): ('"AQ=="', '"Ag=="')}.get(key, ("1", "3"))
    for text in PAIRS:
        data = f'{{"m":{text.replace("[1,", f"[{keys[0]},").replace("[3,", f"[{keys[1]},")}}}'.encode()
        values, faults = objects_of(codec.decode([data], errors="null"))
        wanted = values[0]
        if wanted and wanted["m"] is not None and maps == "dict":
            wanted = {"m": dict(wanted["m"])}
        try:
            found = codec.decode_one(data, maps=maps)
        except KcodecError:
            found = None
        assert not faults
        assert found == wanted, data


def test_such_maps_take_no_column(monkeypatch):
    codec = ConnectJsonCodec(pa.map_(pa.int16(), pa.float64()), schemas_enable=False)
    monkeypatch.setenv("KCODEC_IMPL", "native")
    monkeypatch.setattr(ColumnReader, "decode_one", None)
    monkeypatch.setattr(ColumnWriter, "encode_one", None)
    for value, data in (([(1, 2.5), (-3, None)], b"[[1,2.5],[-3,null]]"), ([], b"[]")):
        assert codec.encode_one(value) == data
        assert codec.decode_one(data) == value


@pytest.mark.parametrize("number", [2**63 - 1, -(2**63), 2**63 - 2, 9_220 * 10**15, -9_220 * 10**15, 10**18])
def test_all_integers_take_no_column(monkeypatch, number):
    codec = ConnectJsonCodec(pa.list_(pa.int64()), schemas_enable=False)
    monkeypatch.setenv("KCODEC_IMPL", "native")
    monkeypatch.setattr(ColumnReader, "decode_one", None)
    assert codec.decode_one(b"[%d]" % number) == [number]


@pytest.mark.parametrize(
    "text", ["7", "-7 ", " 1234567890123456789", "1.50", "true", '"a"', "[7]", '{"x": 7}', "null"]
)
def test_keys_that_are_a_bare_value_take_no_column(monkeypatch, text):
    kinds = {"1": pa.decimal128(9, 2), "t": pa.bool_(), '"': pa.string(), "[": pa.list_(pa.int8())}
    kind = kinds.get(text[0], pa.struct([("x", pa.int8())]) if text[0] == "{" else pa.int64())
    codec = ConnectJsonCodec(kind, schemas_enable=False)
    wanted = codec.decode([text.encode()]).to_pylist()[0]
    monkeypatch.setenv("KCODEC_IMPL", "native")
    monkeypatch.setattr(ColumnReader, "decode_one", None)
    assert codec.decode_one(text.encode()) == wanted


@cases("text", ["7 8", "7x", "-", "", " ", "7,", "1e", "12345678901234567890", "tru", '"', '"a', "nul"])
def test_what_stands_behind_a_bare_value_is_an_error(impl, text):
    kind = pa.string() if text[:1] == '"' else pa.bool_() if text[:1] == "t" else pa.int64()
    codec = ConnectJsonCodec(kind, schemas_enable=False)
    code = codec.decode([text.encode()], errors="report")[1]["code"][0].as_py()
    with pytest.raises(KcodecError, match=code):
        codec.decode_one(text.encode())


@cases("number", [2**63, -(2**63) - 1, 9_999 * 10**15, -9_999 * 10**15, 10**19])
def test_integers_beyond_64_bits_are_none(impl, number):
    codec = ConnectJsonCodec(pa.int64(), schemas_enable=False)
    for values in ([b"%d" % number], [b"1", b"%d" % number] * 300):
        _, report = codec.decode(values, errors="report")
        assert set(report["code"].to_pylist()) == {"out_of_range"}
        assert report.num_rows == (len(values) + 1) // 2
    with pytest.raises(KcodecError, match="out_of_range"):
        codec.decode_one(b"%d" % number)

"""Writing record batches: Kafka's bytes, and where a batch ends."""

import struct

import pyarrow as pa
import pytest
from cases import cases
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from vector_files import read_vectors

from kcodec import ArrayError, ConfigError, EncodeError
from kcodec.protocol.batch.compression import CODECS
from kcodec.protocol.batch.headers import list_batches
from kcodec.protocol.batch.read import read_batches
from kcodec.protocol.batch.write import BatchFields, produced_batches, write_batches

VECTORS = [vector for vector in read_vectors("kafka_record_batches.jsonl.gz") if "bad/" not in vector["id"]]


HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
KINDS = {
    "producer_id": pa.int64(),
    "producer_epoch": pa.int16(),
    "transactional": pa.bool_(),
    "timestamp": pa.int64(),
}


def same(left: pa.Table, right: pa.Table, *, batch: bool) -> bool:
    columns = [name for name in left.column_names if batch or name != "batch"]
    return left.select(columns).to_pylist() == right.select(columns).to_pylist()


def test_vectors(impl, capsys):
    identical, equal = 0, 0
    for vector in VECTORS:
        data, magic = bytes.fromhex(vector["hex"]), vector["batches"][0]["magic"]
        table = read_batches(data, control="keep")
        if vector["batches"][0]["codec"] == "none" and vector["id"] != "v2/none/LogAppendTime":
            # A broker that puts its own time leaves the base timestamp as the producer had it: no record shows it.
            assert write_batches(table, magic=magic) == data, vector["id"]
            identical += 1
        for codec in CODECS[: 4 if magic < 2 else 5]:
            again = read_batches(write_batches(table, magic=magic, compression=codec), control="keep")
            assert same(table, again, batch=magic == 2), (vector["id"], codec)
            equal += 1
    with capsys.disabled():
        print(f"\nbatches written: {identical} with Kafka's bytes, {equal} read back ({impl})")
    assert identical == 9


def listed(table: pa.Table, **options) -> list[tuple[int, int]]:
    batches = list_batches(write_batches(table, **options)).to_pylist()
    assert all(batch["crc_valid"] for batch in batches)
    return [(batch["base_offset"], batch["count"]) for batch in batches]


def test_batches_end_at_max_bytes(impl):
    table = pa.table({"value": [b"v" * 50] * 10 + [b"w" * 500] + [b"x"]})
    assert listed(table) == [(0, 12)]
    assert listed(table, base_offset=100, max_bytes=1) == [(100 + row, 1) for row in range(12)]
    data = write_batches(table, max_bytes=300)
    batches = list_batches(data)
    assert batches.column("count").to_pylist() == [4, 4, 2, 1, 1]
    assert max(size for size in batches.column("size").to_pylist() if size < 500) <= 300
    assert read_batches(data).column("offset").to_pylist() == list(range(12))


@cases(
    ("columns", "batches"),
    [
        ({"offset": [0, 5, 6, 3, 4]}, [(0, 3), (3, 2)]),
        ({"offset": [0, 1 << 31, 1 << 33, (1 << 33) + 1]}, [(0, 1), (1 << 31, 1), (1 << 33, 2)]),
        ({"offset": [i << 29 for i in range(8)]}, None),
        ({"producer_id": [1, 1, 2]}, [(0, 2), (2, 1)]),
        ({"producer_epoch": [1, 2, 2]}, [(0, 1), (1, 2)]),
        ({"sequence": [5, 6, 9, 10, -1]}, [(0, 2), (2, 2), (4, 1)]),
        ({"sequence": [0x7FFFFFFF, 0, 1]}, [(0, 3)]),
        ({"offset": [0, 3, 4], "sequence": [7, 10, 11]}, [(0, 3)]),
        ({"transactional": [True, False]}, [(0, 1), (1, 1)]),
        ({"control_type": ["COMMIT", None], "key": [b"\0\0\0\1", None]}, [(0, 1), (1, 1)]),
        ({"batch": [3, 3, 4]}, [(0, 2), (2, 1)]),
        ({"partition_leader_epoch": [1, 2]}, [(0, 1), (1, 1)]),
        ({"timestamp_type": [0, 1]}, [(0, 1), (1, 1)]),
    ],
)
def test_batches_end_where_they_must(impl, columns, batches):
    table = pa.table(columns)
    if batches is not None:
        assert listed(table) == batches
    again = read_batches(write_batches(table), control="keep")
    for name in columns:
        if name not in ("batch", "control_type"):
            assert again.column(name).to_pylist() == columns[name], name


def test_columns_of_any_layout(impl):
    value = pa.chunked_array([[b"1"], [b"2", b"3"]], pa.large_binary())
    table = pa.table({"value": value, "key": pa.array(["a", None, "c"]).dictionary_encode()})
    rows = read_batches(write_batches(table)).select(["key", "value"]).to_pylist()
    assert [(row["key"], row["value"]) for row in rows] == [(b"a", b"1"), (None, b"2"), (b"c", b"3")]
    table = pa.table(
        {"value": pa.array([b"0", b"1", b"2"]), "timestamp": pa.array([1000, 2000, 3000], pa.timestamp("us"))}
    )
    again = read_batches(write_batches(table.slice(1)))
    assert again.column("value").to_pylist() == [b"1", b"2"]
    assert again.column("timestamp").cast(pa.int64()).to_pylist() == [2, 3]
    words = pa.DictionaryArray.from_arrays([1, None, 0], pa.array(["a", "b"], pa.string_view()))
    again = read_batches(write_batches(pa.table({"key": words})))
    assert again.column("key").to_pylist() == [b"b", None, b"a"]
    headers = pa.array([[("a", b"1")], None, [("b", b"2"), ("c", None)]], pa.map_(pa.string(), pa.binary()))
    again = read_batches(write_batches(pa.table({"headers": headers}).slice(1)))
    assert again.column("headers").to_pylist() == [
        [],
        [{"key": "b", "value": b"2"}, {"key": "c", "value": None}],
    ]
    assert write_batches(pa.table({"value": pa.array([], pa.binary())})) == b""
    batch = pa.record_batch({"value": [b"x"]})
    assert write_batches(batch) == write_batches(pa.table({"value": [b"x"]}))


@given(
    rows=st.lists(
        st.tuples(st.none() | st.binary(max_size=9), st.none() | st.binary(max_size=300)), max_size=40
    ),
    times=st.none() | st.integers(-5, 1 << 50),
    sequence=st.sampled_from([-1, 0, 0x7FFFFFFF - 3]),
    max_bytes=st.integers(1, 900),
    codec=st.sampled_from(["none", "zstd"]),
    edges=st.sets(st.integers(0, 39)),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_batches_of_producers_are_those_of_columns(impl, rows, times, sequence, max_bytes, codec, edges):
    columns = {
        "value": pa.array([value for _, value in rows], pa.binary()),
        "headers": pa.array([[("h", value)] if key else [] for key, value in rows], HEADERS),
    }
    if any(key is not None for key, _ in rows):
        columns["key"] = pa.array([key for key, _ in rows], pa.large_binary())
    if times is not None:
        columns["timestamp"] = pa.array([times + 7 * row for row in range(len(rows))], pa.int64())
    fields = BatchFields(producer_id=5, producer_epoch=3, transactional=True)
    starts = sorted({0, *edges} & {0, *range(len(rows))})
    runs = [(row, sequence if sequence < 0 else (sequence + row) & 0x7FFFFFFF) for row in starts]
    batches = produced_batches(
        pa.RecordBatch.from_pydict(columns), runs if rows else [], max_bytes=max_bytes, now=77, fields=fields
    )
    offset, found = 0, b""
    for number, each in batches:
        assert starts[number] <= offset
        assert offset + each.rows <= [*starts[1:], len(rows)][number]
        header, content = each.finish(codec, None)
        assert header[:8] == bytes(8)
        header[:8] = offset.to_bytes(8, "big")
        found += bytes(header) + bytes(content)
        offset += each.rows
    if sequence >= 0:
        columns["sequence"] = pa.array(
            [(sequence + row) & 0x7FFFFFFF for row in range(len(rows))], pa.int32()
        )
    same = {"producer_id": [5], "producer_epoch": [3], "transactional": [True], "timestamp": [77]}
    columns = {**{name: value * len(rows) for name, value in same.items()}, **columns}
    columns["batch"] = pa.array(
        [sum(start <= row for start in starts) for row in range(len(rows))], pa.int64()
    )
    table = pa.table(
        columns, pa.schema([(name, getattr(each, "type", KINDS.get(name))) for name, each in columns.items()])
    )
    assert found == write_batches(table, compression=codec, max_bytes=max_bytes)


def test_what_is_refused(impl):
    with pytest.raises(ConfigError, match="column 'vlaue' is not one of offset, "):
        write_batches(pa.table({"vlaue": [b""]}))
    with pytest.raises(ConfigError, match="column 'offset' has nulls"):
        write_batches(pa.table({"offset": pa.array([1, None])}))
    headers = pa.array(
        [[{"key": None, "value": b""}]], pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
    )
    with pytest.raises(EncodeError) as caught:
        write_batches(pa.table({"headers": headers}))
    assert (caught.value.row, caught.value.path, caught.value.code) == (0, "headers.key", "null_value")
    one = pa.table({"value": [b""]})
    for options, match in [
        ({"compression": "brotli"}, "'brotli' is not one of none, gzip, snappy, lz4, zstd"),
        ({"compression": "zstd", "magic": 1}, "zstd needs magic 2"),
        ({"compression": "snappy", "level": 1}, "level=1 is not one of snappy's"),
        ({"compression": "gzip", "level": 10}, "1 to 9"),
        ({"magic": 3}, "magic=3"),
        ({"max_bytes": 0}, "max_bytes=0"),
        ({"base_offset": -1}, "base_offset=-1"),
        ({"compression": "gzip", "level": "9"}, "level='9' is not one of gzip's: 1 to 9"),
        ({"max_bytes": "9"}, "max_bytes='9' is not within"),
        ({"base_offset": "9"}, "base_offset='9' is not within"),
    ]:
        with pytest.raises(ConfigError, match=match):
            write_batches(one, **options)
    for name, values, match in [
        ("offset", ["x"], "'offset' of string is not one of int64"),
        ("sequence", [1 << 40], "'sequence' of int64 is not one of int32"),
        ("producer_epoch", [1 << 15], "'producer_epoch' of int64 is not one of int16"),
        ("timestamp", ["x"], "'timestamp' of string is not one of int64"),
        ("transactional", ["x"], "'transactional' of string is not one of bool"),
        ("headers", [1], "headers are lists of structs of key and value, or maps, not int64"),
        ("headers", [[{"key": "a", "val": b"1"}]], "not list<item: struct<key: string, val: binary>>"),
        ("headers", [[{"k": "a", "v": b"1"}]], "not list<item: struct<k: string, v: binary>>"),
        ("headers", [[1]], r"not list<item: int64>: of Python, \[{'key': 'trace', 'value': b'1'}\]"),
        ("value", [1], "'value': a column of int64 does not hold payloads"),
    ]:
        with pytest.raises(ConfigError, match=match):
            write_batches(pa.table({name: values}))
    with pytest.raises(ConfigError, match="'key' is there twice"):
        write_batches(pa.table([pa.array([b""])] * 2, names=["key", "key"]))
    for nothing in (pa.array([1]), [1], 5, None):
        with pytest.raises(TypeError, match=f"{type(nothing).__name__} is no table"):
            write_batches(nothing)


@cases(
    ("magic", "name", "value"),
    [
        (1, "headers", [{"key": "a", "value": b""}]),
        (1, "producer_id", 5),
        (1, "producer_epoch", 0),
        (1, "sequence", 0),
        (1, "partition_leader_epoch", 0),
        (1, "transactional", True),
        (1, "control_type", "COMMIT"),
        (0, "producer_id", 5),
        (0, "timestamp", 5),
    ],
)
def test_what_older_messages_do_not_have(impl, magic, name, value):
    with pytest.raises(ConfigError, match=f"magic {magic} has no {name.removesuffix('_type')}"):
        write_batches(pa.table({name: [value]}), magic=magic)


@cases(
    ("name", "values", "path", "code"),
    [
        ("timestamp", pa.array([0, 1 << 62], pa.timestamp("s")), "timestamp", "out_of_range"),
        ("timestamp", pa.array([-1000, 1001], pa.timestamp("us", "UTC")), "timestamp", "inexact"),
        ("timestamp", pa.array([None, 1], pa.timestamp("ns")), "timestamp", "inexact"),
        ("timestamp_type", [0, 5], "timestamp_type", "out_of_range"),
        ("offset", [7, -5], "offset", "out_of_range"),
        ("headers", pa.array([[], [None]], HEADERS), "headers.key", "null_value"),
        ("headers", pa.array([[], [{"key": None}]], HEADERS), "headers.key", "null_value"),
    ],
)
def test_rows_that_are_refused(impl, name, values, path, code):
    with pytest.raises(EncodeError) as caught:
        write_batches(pa.table({name: values}))
    assert (caught.value.row, caught.value.path, caught.value.code) == (1, path, code)


def test_times_that_are_too_fine_name_no_option(impl):
    with pytest.raises(EncodeError, match="whole milliseconds: cast the column") as caught:
        write_batches(pa.table({"timestamp": pa.array([1001], pa.timestamp("us"))}))
    assert "round=" not in str(caught.value)


def test_levels(impl):
    table = pa.table({"value": [b"some text %d" % (row * row) for row in range(500)]})
    for codec, low, high in (("gzip", 1, 9), ("zstd", 1, 19), ("lz4", 1, 12)):
        sizes = [len(write_batches(table, compression=codec, level=level)) for level in (low, high)]
        assert sizes[1] < sizes[0]


def test_columns_that_lead_outside_of_their_buffers(impl):
    """They come by IPC; in chunks they are refused before they are joined."""
    offsets = pa.py_buffer(struct.pack("<3i", 0, 1 << 30, 3))
    wrong = pa.Array.from_buffers(pa.string(), 2, [None, offsets, pa.py_buffer(b"abc")])
    keys = pa.DictionaryArray.from_arrays(pa.array([0, 9], pa.int8()), pa.array([b"a"]), safe=False)
    for column in (wrong, keys, pa.chunked_array([pa.array(["a"]), wrong])):
        with pytest.raises(ArrayError):
            write_batches(pa.table({"value": column}))

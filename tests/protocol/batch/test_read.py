"""Reading record batches: options, streams, limits, and hostile bytes on both implementations."""

import gzip
import io
import struct
import zlib

import pyarrow as pa
import pytest
from cases import cases
from hypothesis import given
from hypothesis import strategies as st
from vector_files import read_vectors

from kcodec import ConfigError, DecodeError
from kcodec.protocol.batch import read as read_module
from kcodec.protocol.batch.compression import CODECS, compress
from kcodec.protocol.batch.headers import list_batches
from kcodec.protocol.batch.read import read_batches, stream_batches
from kcodec.protocol.batch.schema import RECORDS
from kcodec.protocol.batch.write import write_batches
from kcodec.wire import crc32c

VECTORS = {
    vector["id"]: bytes.fromhex(vector["hex"]) for vector in read_vectors("kafka_record_batches.jsonl.gz")
}
TABLE = pa.table(
    {
        "offset": pa.array([10, 11, 15, 16], pa.int64()),
        "timestamp": pa.array([1000, 999, None, 5000], pa.timestamp("ms", "UTC")),
        "key": pa.array([b"a", None, b"a key of more than twelve bytes", b""], pa.binary()),
        "value": pa.array([b"x" * 100, b"", None, b"twelve bytes"], pa.binary()),
        "headers": [[("h", b"1"), ("h", None)], [], [("ü", b"")], []],
    },
    schema=pa.schema(
        [
            ("offset", pa.int64()),
            ("timestamp", pa.timestamp("ms", "UTC")),
            ("key", pa.binary()),
            ("value", pa.binary()),
            ("headers", pa.map_(pa.string(), pa.binary())),
        ]
    ),
)


def sealed(batch: bytes) -> bytes:
    """Return a batch with the checksum that its bytes have."""
    if batch[16] == 2:
        return batch[:17] + struct.pack(">I", crc32c(batch[21:])) + batch[21:]
    return batch[:12] + struct.pack(">I", zlib.crc32(batch[16:])) + batch[16:]


def plain(table: pa.Table) -> list[dict]:
    return table.select(["offset", "timestamp", "key", "value", "headers"]).to_pylist()


def outcome(data: bytes, **options) -> object:
    """Read a buffer: its columns and faults, or the error."""
    try:
        table, faults = read_batches(data, errors="report", control="keep", **options)
        table.validate(full=True)
    except DecodeError as error:
        return (error.row, error.offset, error.path, error.code)
    number = table.schema.get_field_index("timestamp")
    table = table.set_column(number, "timestamp", table.column(number).cast(pa.int64()))
    return table.to_pydict(), faults.to_pylist()


def both(monkeypatch, data: bytes, **options) -> object:
    results = []
    for impl in ("native", "pure"):
        monkeypatch.setenv("KCODEC_IMPL", impl)
        results.append(outcome(data, **options))
    assert results[0] == results[1]
    return results[0]


@cases("codec", CODECS)
def test_what_is_written_is_read(impl, codec):
    data = write_batches(TABLE, compression=codec)
    table = read_batches(data)
    assert table.schema.equals(RECORDS)
    assert plain(table) == [
        {**row, "headers": [{"key": key, "value": value} for key, value in row["headers"]]}
        for row in TABLE.to_pylist()
    ]
    copied = read_batches(data, views=False)
    copied.validate(full=True)
    assert copied.column("value").type == pa.binary()
    assert copied.to_pylist() == table.to_pylist()


def test_nothing_is_copied_of_plain_batches():
    data = pa.py_buffer(write_batches(TABLE))
    pieces = read_batches(data).column("value").chunk(0).buffers()[2:]
    assert data.address in [piece.address for piece in pieces if piece is not None]


def test_control_batches(impl):
    marker = VECTORS["v2/control-abort"]
    data = write_batches(TABLE) + marker + VECTORS["v2/control-commit"]
    assert read_batches(data).num_rows == 4
    assert read_batches(data).column("control_type").null_count == 4
    only = read_batches(data, control="only")
    assert only.column("control_type").to_pylist() == ["ABORT", "COMMIT"]
    assert only.column("batch").to_pylist() == [1, 2]
    assert only.column("producer_id").to_pylist() == [12, 12]
    kept = read_batches(data, control="keep")
    assert kept.column("control_type").to_pylist() == [None] * 4 + ["ABORT", "COMMIT"]
    assert kept.column("transactional").to_pylist() == [False] * 4 + [True] * 2


@cases("kind", [b"\0\0\0\x09", b"\0\0\1\1", b"\0\0\0", b""])
def test_control_records_of_unknown_type(impl, kind):
    data = write_batches(pa.table({"key": [kind], "control": [True]}))
    assert read_batches(data, control="only").column("control_type").to_pylist() == ["UNKNOWN"]


def test_the_end(impl):
    data = write_batches(TABLE)
    for end in (b"", b"\0" * 12, b"\0" * 100_000, data[:-1], data[:61], data[:20], data[:5]):
        assert read_batches(data + end).num_rows == 4
    assert read_batches(data + b"\0" * 12, partial="error").num_rows == 4
    for end in (data[:-1], data[:20], data[:5]):
        with pytest.raises(DecodeError) as caught:
            read_batches(data + end, partial="error")
        assert (caught.value.code, caught.value.row, caught.value.offset) == ("truncated", 1, len(data))
    # Zeros are the end only if nothing else follows.
    with pytest.raises(DecodeError) as caught:
        read_batches(data + b"\0" * 100 + b"x")
    assert (caught.value.code, caught.value.offset) == ("invalid_batch", len(data) + 8)
    assert read_batches(b"").num_rows == 0
    assert list_batches(b"").num_rows == 0


def test_a_bad_batch_costs_its_own_records(impl):
    good = write_batches(TABLE)
    bad = good[:-1] + bytes([good[-1] ^ 1])
    data = good + bad + good
    with pytest.raises(DecodeError, match="crc_mismatch: row 1, byte ") as caught:
        read_batches(data)
    assert caught.value.offset == len(good) + 17
    table, faults = read_batches(data, errors="report")
    assert table.column("batch").to_pylist() == [0] * 4 + [2] * 4
    assert faults.select(["row", "offset", "code"]).to_pylist() == [
        {"row": 1, "offset": len(good) + 17, "code": "crc_mismatch"}
    ]
    assert read_batches(data, errors="skip").equals(table)
    assert list_batches(data).column("crc_valid").to_pylist() == [True, False, True]
    assert list_batches(data, check_crc=False).column("crc_valid").to_pylist() == [None] * 3


@cases(
    ("place", "value", "code", "offset"),
    [
        (8, struct.pack(">i", 13), "invalid_batch", 8),
        (8, struct.pack(">i", -1), "invalid_batch", 8),
        (8, struct.pack(">i", 40), "invalid_batch", 8),
        (16, b"\3", "invalid_batch", 16),
        (16, b"\xff", "invalid_batch", 16),
        (22, b"\5", "compression", 21),
        (22, b"\1", "compression", 61),
        (57, struct.pack(">i", 0x7FFFFFFF), "block_count", 57),
        (57, struct.pack(">i", -1), "block_count", 57),
        (57, struct.pack(">i", 3), "trailing_bytes", None),
        (57, struct.pack(">i", 5), "truncated", None),
        (61, b"\x01", "negative_length", 62),
    ],
)
def test_damaged_headers(impl, place, value, code, offset):
    batch = write_batches(TABLE)
    data = sealed(batch[:place] + value + batch[place + len(value) :])
    with pytest.raises(DecodeError) as caught:
        read_batches(data)
    assert caught.value.code == code
    assert offset is None or caught.value.offset == offset


def record(body: bytes, size: int | None = None) -> bytes:
    """Return a sealed batch of one record."""
    batch = write_batches(pa.table({"value": [b""]}))
    records = (bytes([2 * (len(body) if size is None else size)])) + body
    length = struct.pack(">i", 49 + len(records))
    return sealed(batch[:8] + length + batch[12:61] + records)


@cases(
    ("body", "code"),
    [
        (b"\0\0\0\1\1\0", None),
        (b"\0\0\0\1\1\0\0", "block_size"),
        (b"\0\0\0\3\1\0", "negative_length"),
        (b"\0\0\0\1\3\0", "negative_length"),
        (b"\0\0\0\1\1\1", "negative_length"),
        (b"\0\0\0\x7e\1\0", "truncated"),
        (b"\0\0\0\1\x7e\0", "truncated"),
        (b"\0\0\0\1\1\x7e", "block_count"),
        (b"\0\0\0\1\1\2\1\1", "negative_length"),
        (b"\0\0\0\1\1\2\2\xff\1", "invalid_utf8"),
        (b"\0\0\0\1\1\2\2a\3", "negative_length"),
        (b"\0" + b"\xff" * 10 + b"\0\1\1\0", "varint_overlong"),
        (b"\0" + b"\xff" * 9 + b"\2\0\1\1\0", "varint_overflow"),
        (b"\0\0\xff\xff\xff\xff\x1f\1\1\0", "varint_overflow"),
        (b"\0\0\xff\xff\xff\xff\xff\0\1\1\0", "varint_overlong"),
    ],
)
def test_damaged_records(impl, body, code):
    data = record(body)
    if code is None:
        assert read_batches(data).num_rows == 1
        return
    with pytest.raises(DecodeError) as caught:
        read_batches(data)
    assert (caught.value.code, caught.value.path) == (code, "records[0]")


def test_deltas_and_sequences_wrap_as_in_java(impl):
    top = (1 << 63) - 1
    table = pa.table({"offset": [top - 1, top], "timestamp": [top, -top], "sequence": [0x7FFFFFFF, 0]})
    read = read_batches(write_batches(table))
    assert read.column("offset").to_pylist() == [top - 1, top]
    assert read.column("timestamp").cast(pa.int64()).to_pylist() == [top, -top]
    assert read.column("sequence").to_pylist() == [0x7FFFFFFF, 0]
    assert list_batches(write_batches(table)).column("last_sequence").to_pylist() == [0]


@pytest.mark.parametrize(("base", "sequence"), [(5, -(1 << 31) + 4), (0, (1 << 31) - 1)])
def test_sequences_before_that_of_the_batch_are_those_of_java(impl, base, sequence):
    batch = bytearray(write_batches(pa.table({"value": [b"a"], "sequence": [base]})))
    batch[64] = 1  # the offset is one less than that of the batch
    assert read_batches(sealed(bytes(batch)))["sequence"].to_pylist() == [sequence]


def test_messages_within_one_do_not_stand_behind_it(impl):
    batch = write_batches(pa.table({"value": [b"a", b"b"]}), magic=1, compression="gzip")
    assert read_batches((1).to_bytes(8, "big") + batch[8:])["offset"].to_pylist() == [0, 1]
    assert read_batches(bytes(8) + batch[8:])["offset"].to_pylist() == [0, 1]
    with pytest.raises(DecodeError) as caught:
        read_batches(b"\xff" * 8 + batch[8:])
    assert caught.value.code == "invalid_batch"


@pytest.mark.parametrize("magic", [0, 1])
def test_checksums_of_messages_within_one(impl, magic):
    """Kafka's consumer compares them too."""
    inner = write_batches(pa.table({"value": [b"one", b"two"]}), magic=magic)
    second = len(inner) // 2
    for damaged, found in ((inner, None), (inner[:-1] + b"!", second + 12)):
        body = gzip.compress(damaged)
        start = (
            bytes(8)
            + struct.pack(">iIbb", 0, 0, magic, 1)
            + bytes(8 * magic)
            + struct.pack(">ii", -1, len(body))
        )
        batch = sealed(start[:8] + struct.pack(">i", len(start) - 12 + len(body)) + start[12:] + body)
        table, report = read_batches(batch, errors="report")
        assert table.num_rows == (0 if found else 2)
        assert report["code"].to_pylist() == (["crc_mismatch"] if found else [])
        assert read_batches(batch, check_crc=False).num_rows == 2


def test_a_size_that_no_batch_has_is_not_that_of_one_cut_off(impl):
    assert read_batches(bytes(8) + b"\0\0\0\x0e").num_rows == 0
    with pytest.raises(DecodeError) as caught:
        read_batches(bytes(8) + b"\0\0\0\x0d")
    assert (caught.value.code, caught.value.offset) == ("invalid_batch", 8)


def test_delete_horizon(impl):
    batch = bytearray(write_batches(TABLE))
    batch[22] |= 64
    (row,) = list_batches(sealed(bytes(batch))).to_pylist()
    assert row["base_timestamp"] is None
    assert row["delete_horizon"].timestamp() == 1
    assert read_batches(sealed(bytes(batch))).column("timestamp").cast(pa.int64())[1].as_py() == 999


@cases("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_bombs(impl, codec):
    bomb = write_batches(pa.table({"value": [bytes(3_000_000)]}), compression=codec)
    assert read_batches(bomb).num_rows == 1
    with pytest.raises(DecodeError) as caught:
        read_batches(bomb, max_decompressed=1_000_000)
    assert (caught.value.code, caught.value.offset) == ("size_limit", 61)


def many(count: int, codec: str = "zstd") -> bytes:
    """Return a batch of so many records of seven bytes, which compress to hardly anything."""
    record = write_batches(pa.table({"value": pa.array([None], pa.binary())}))[61:]
    plain = write_batches(pa.table({"value": pa.array([None], pa.binary())}))[:61]
    content = compress(codec, record * count)
    head = plain[:8] + struct.pack(">i", 49 + len(content)) + plain[12:22] + bytes([CODECS.index(codec)])
    return sealed(head + struct.pack(">i", count - 1) + plain[27:57] + struct.pack(">i", count) + content)


def test_a_batch_of_many_records_is_read_in_parts():
    """Twelve kilobytes may say millions of records: a stream has some of them at a time, a table has a limit."""
    data = many(1_500_000)
    assert len(data) < 1_200
    chunks = [len(chunk) for chunk in stream_batches(data)]
    assert chunks == [1 << 19, 1 << 19, 1_500_000 - (1 << 20)]
    assert read_batches(data).num_rows == 1_500_000
    with pytest.raises(DecodeError) as caught:
        read_batches(data, max_decompressed=100_000_000)
    assert (caught.value.code, caught.value.offset) == ("size_limit", 61)
    assert read_batches(data, max_decompressed=100_000_000, errors="skip").num_rows == 0


@pytest.mark.parametrize("most", [1, 3])
@pytest.mark.parametrize("codec", ["none", "zstd"])
def test_parts_are_as_the_whole(impl, monkeypatch, codec, most):
    batches = [write_batches(TABLE.slice(start), compression=codec) for start in (0, 2, 0)]
    bad = bytearray(write_batches(TABLE, compression="none"))
    # The last record, in which a value of 12 bytes is now one of 13.
    bad[bad.rindex(b"\x18twelve bytes")] = 0x1A
    data = b"".join([*batches, sealed(bytes(bad)), *batches])
    whole = outcome(data), outcome(data, views=False)
    headers = list_batches(data)
    assert whole[0][1][0]["path"] == "records[3]"
    monkeypatch.setattr(read_module, "_MOST_ROWS", most)
    assert (outcome(data), outcome(data, views=False)) == whole
    assert list_batches(data) == headers
    assert max(len(chunk) for chunk in stream_batches(data, errors="skip")) <= most
    with pytest.raises(DecodeError) as caught:
        read_batches(data)
    assert (caught.value.row, caught.value.path) == (3, "records[3]")


def test_no_count_is_believed(impl):
    """Counts of 2**31 cost no memory, in a batch and in its records."""
    for codec in ("none", "zstd"):
        batch = write_batches(pa.table({"value": [b"v"]}), compression=codec)
        before = pa.default_memory_pool().max_memory()
        for data in (
            sealed(batch[:57] + b"\x7f\xff\xff\xff" + batch[61:]),
            batch[:8] + b"\x7f\xff\xff\xff" + batch[12:],
        ):
            read_batches(data, errors="skip")
        assert pa.default_memory_pool().max_memory() <= max(before, 1 << 22)


class Trickle(io.BytesIO):
    """A file that gives less than it is asked for."""

    def read(self, size=-1):
        return super().read(min(size, 37))


@pytest.mark.parametrize("window", [1, 100, 1 << 20])
def test_streams(impl, window, tmp_path):
    data = b"".join(write_batches(TABLE, compression=codec) for codec in CODECS * 3)
    whole = read_batches(data)
    path = tmp_path / "log"
    path.write_bytes(data)
    for source in (
        path,
        str(path),
        io.BytesIO(data),
        pa.py_buffer(data),
        data,
        Trickle(data),
        pa.PythonFile(io.BytesIO(data), "r"),
    ):
        table = stream_batches(source, window=window).read_all()
        assert table.to_pylist() == whole.to_pylist()
    with pytest.raises(DecodeError) as caught:
        stream_batches(io.BytesIO(data[:-1]), window=window, partial="error").read_all()
    last = len(write_batches(TABLE, compression="zstd"))
    assert (caught.value.row, caught.value.offset) == (14, len(data) - last)
    assert stream_batches(io.BytesIO(data + bytes(1000)), window=window).read_all().num_rows == 60
    with pytest.raises(DecodeError) as caught:
        stream_batches(io.BytesIO(data + bytes(200) + b"1" * 200), window=window).read_all()
    assert caught.value.offset == len(data) + 8


def test_a_stream_keeps_what_it_needs():
    batch = write_batches(pa.table({"value": [b"v" * 1000] * 100}))

    class Endless(io.RawIOBase):
        left = 400

        def read(self, size=-1):
            self.left -= 1
            return batch if self.left >= 0 else b""

    before = pa.total_allocated_bytes()
    most = rows = 0
    for chunk in stream_batches(Endless()):
        rows += chunk.num_rows
        most = max(most, pa.total_allocated_bytes() - before)
    assert rows == 40_000
    assert most < 1 << 20


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"control": "drop"}, "control='drop' is not one of skip, keep, only"),
        ({"partial": "skip"}, "is not one of stop, error"),
        ({"errors": "null"}, "is not one of raise, skip, report"),
        ({"control": ["skip"]}, "is not one of skip, keep, only"),
        ({"max_decompressed": -1}, "max_decompressed=-1 is not a number of bytes"),
        ({"max_decompressed": "1"}, "max_decompressed='1' is not a number of bytes"),
    ],
)
def test_options_are_checked(options, match):
    with pytest.raises(ConfigError, match=match):
        read_batches(b"", **options)
    with pytest.raises(ConfigError, match="not for streams"):
        stream_batches(b"", errors="report")
    for window in (0, "1"):
        with pytest.raises(ConfigError, match=f"window={window!r} is not a number of bytes"):
            stream_batches(b"", window=window)
    with pytest.raises(ConfigError, match="option 'zz' is not one of check_crc, control"):
        stream_batches(b"", zz=1)


def read(data: bytes, **options) -> int:
    """Read what is there, or an error of ours; returns the number of records."""
    try:
        return read_batches(data, control="keep", **options).num_rows
    except DecodeError:
        return 0


def test_every_vector_cut_at_every_byte(impl, capsys):
    count = 0
    for data in VECTORS.values():
        step = 1 if impl == "native" or len(data) < 100 else 37
        for end in range(0, len(data), step):
            cut = data[:end]
            read(cut)
            read(cut, partial="error")
            # The same with a length that says that this is all.
            if end > 17:
                read(cut[:8] + struct.pack(">i", end - 12) + cut[12:], check_crc=False)
            count += 1
    with capsys.disabled():
        print(f"\nbatches cut: {count} ({impl})")
    assert count > 300


@given(name=st.sampled_from(sorted(VECTORS)), data=st.data())
def test_damaged_batches_are_the_same_to_both(name, data):
    batch = bytearray(VECTORS[name])
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(8 if len(batch) < 200 else 16, len(batch) - 1))
        batch[place] = data.draw(st.one_of(st.sampled_from(b"\0\1\2\3\x7f\x80\xff"), st.integers(0, 255)))
    cut = data.draw(st.one_of(st.just(len(batch)), st.integers(0, len(batch))))
    twice = bytes(batch[:cut]) + VECTORS["v2/empty-value-and-null"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(read_module, "_MOST_ROWS", data.draw(st.sampled_from([1, 2, 1 << 19])))
        both(patch, twice, check_crc=data.draw(st.booleans()), max_decompressed=1 << 20)


@given(
    rows=st.lists(
        st.tuples(
            st.one_of(st.none(), st.binary(max_size=20)),
            st.one_of(st.none(), st.binary(max_size=20)),
            st.integers(-2, 1 << 40),
            st.integers(1, 1 << 33),
            st.lists(st.tuples(st.text(max_size=3), st.one_of(st.none(), st.binary(max_size=3))), max_size=2),
        ),
        max_size=8,
    ),
    codec=st.sampled_from(CODECS),
    max_bytes=st.integers(1, 300),
)
def test_values_come_back(rows, codec, max_bytes):
    offsets, at = [], 0
    for row in rows:
        offsets.append(at)
        at += row[3]
    table = pa.table(
        {
            "offset": pa.array(offsets, pa.int64()),
            "timestamp": pa.array(
                [None if row[2] == -1 else row[2] for row in rows], pa.timestamp("ms", "UTC")
            ),
            "key": pa.array([row[0] for row in rows], pa.binary()),
            "value": pa.array([row[1] for row in rows], pa.binary()),
            "headers": pa.array(
                [[{"key": k, "value": v} for k, v in row[4]] for row in rows], RECORDS.field("headers").type
            ),
        }
    )
    with pytest.MonkeyPatch.context() as patch:
        written = set()
        for impl in ("native", "pure"):
            patch.setenv("KCODEC_IMPL", impl)
            written.add(write_batches(table, compression=codec, max_bytes=max_bytes))
        (data,) = written
        both(patch, data)
        assert plain(read_batches(data)) == table.to_pylist()


def test_every_byte_of_every_vector_changed(impl, capsys):
    """The same answer from both for small ones; for all of them an answer."""
    count = 0
    for data in VECTORS.values():
        small = len(data) < 100
        for place in range(len(data)):
            for value in (0, 0x7F, 0x80, data[place] ^ 1) if small else (data[place] ^ 0x41,):
                changed = data[:place] + bytes([value]) + data[place + 1 :]
                if small and impl == "native":
                    with pytest.MonkeyPatch.context() as patch:
                        both(patch, changed, check_crc=False)
                elif impl == "native" or place % 40 == 0:
                    read(changed, check_crc=False, max_decompressed=1 << 20)
                count += 1
    with capsys.disabled():
        print(f"\nbatches changed: {count} ({impl})")
    assert count > 1000


def test_others_take_views():
    """What is no view of pyarrow's own: polars and DuckDB."""
    duckdb = pytest.importorskip("duckdb")
    polars = pytest.importorskip("polars")
    table = read_batches(
        write_batches(TABLE, compression="lz4") + VECTORS["v2/control-abort"], control="keep"
    )
    frame = polars.from_arrow(table).filter(polars.col("offset") < 77).select("key", "value", "control_type")
    assert frame["key"].to_list() == TABLE["key"].to_pylist()
    assert frame["value"].to_list() == TABLE["value"].to_pylist()
    connection = duckdb.connect()
    connection.register("records", table)
    rows = connection.sql('SELECT key, value FROM records WHERE "offset" < 77 ORDER BY "offset"').fetchall()
    assert rows == list(zip(TABLE["key"].to_pylist(), TABLE["value"].to_pylist(), strict=True))
    assert polars.from_arrow(table)["control_type"].to_list() == [None] * 4 + ["ABORT"]


@pytest.mark.parametrize("views", [True, False])
def test_memory_is_given_back(impl, views):
    import gc

    data = pa.py_buffer(write_batches(TABLE) * 20 + write_batches(TABLE, compression="zstd") * 20)
    read_batches(data)
    gc.collect()
    before = pa.total_allocated_bytes()
    for _ in range(20):
        table = read_batches(data, views=views)
        column = table.column("value").chunk(0)
        del table
        assert column[0].as_py() == b"x" * 100
        with pytest.raises(DecodeError):
            read_batches(data.slice(1), views=views)
    assert pa.total_allocated_bytes() > before or impl == "pure"
    del column
    gc.collect()
    assert pa.total_allocated_bytes() <= before

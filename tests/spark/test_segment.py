"""The data source of log segments, in classic and Connect sessions."""

import json
import re
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException

from kcodec import ConfigError, DecodeError
from kcodec.protocol import write_batches
from kcodec_spark import register_segments
from kcodec_spark.segments.segment_source import ARROW, SCHEMA, SegmentReader


def batch(first: int, count: int, codec: str = "none", **columns) -> bytes:
    rows = range(first, first + count)
    table = {
        "offset": list(rows),
        "timestamp": pa.array(
            [None if row % 5 == 4 else 1_700_000_000_000 + row for row in rows], pa.int64()
        ),
        "key": pa.array([None if row % 3 == 0 else b"k%d" % row for row in rows], pa.binary()),
        "value": [json.dumps({"row": row}).encode() for row in rows],
        "headers": [[{"key": "h", "value": b"%d" % row}] if row % 2 else [] for row in rows],
        **{name: [value] * count for name, value in columns.items()},
    }
    return write_batches(pa.table(table), compression=codec)


def marker(offset: int, key: bytes) -> bytes:
    row = {
        "offset": offset,
        "key": key,
        "value": bytes(6),
        "producer_id": 9,
        "transactional": True,
        "control": True,
    }
    return write_batches(pa.table({name: [value] for name, value in row.items()}))


@pytest.fixture
def logs(tmp_path):
    """Make two partitions of a topic: 30 rows, of which 10 are of a transaction that was aborted."""
    folder = tmp_path / "orders-v2-0"
    folder.mkdir()
    (folder / f"{0:020d}.log").write_bytes(batch(0, 5) + batch(5, 5, "zstd"))
    aborted = batch(10, 10, "lz4", producer_id=9, producer_epoch=2, transactional=True)
    (folder / f"{10:020d}.log").write_bytes(aborted + marker(20, b"\0\0\0\0") + bytes(64))
    (folder / f"{0:020d}.index").write_bytes(b"")
    other = tmp_path / "orders-v2-1"
    other.mkdir()
    (other / f"{0:020d}.log").write_bytes(batch(0, 10, "gzip"))
    return tmp_path


def read(spark, path, **options):
    register_segments(spark)
    reader = spark.read.format("kcodec_segment").options(**options)
    return reader.load(str(path) if not isinstance(path, list) else path)


def test_records(spark, logs):
    frame = read(spark, logs / "orders-v2-0" / "*.log")
    assert frame.columns == ARROW.names
    rows = frame.orderBy("offset").collect()
    assert [row.offset for row in rows] == list(range(20))
    for row in rows:
        assert (row.topic, row.partition) == ("orders-v2", 0)
        assert json.loads(bytes(row.value)) == {"row": row.offset}
        assert row.key == (None if row.offset % 3 == 0 else b"k%d" % row.offset)
        expected = None if row.offset % 5 == 4 else 1_700_000_000_000 + row.offset
        assert (row.timestamp and round(row.timestamp.timestamp() * 1000)) == expected
        assert [(h.key, h.value) for h in row.headers] == (
            [("h", b"%d" % row.offset)] if row.offset % 2 else []
        )
        assert (row.producerId, row.transactional) == ((9, True) if row.offset >= 10 else (-1, False))
        assert row.controlType is None
        assert row.file.endswith(f"{0 if row.offset < 10 else 10:020d}.log")


def test_one_task_a_segment(spark, logs):
    frame = read(spark, logs)
    found = frame.selectExpr("spark_partition_id() AS task", "file").distinct().collect()
    assert len({row.task for row in found}) == len({row.file for row in found}) == 3
    assert frame.groupBy("partition").count().orderBy("partition").collect() == [(0, 20), (1, 10)]


def test_options(spark, logs):
    assert read(spark, logs, isolation="read_committed").count() == 20
    markers = read(spark, logs, control="only").select("offset", "controlType", "producerId").collect()
    assert [tuple(row) for row in markers] == [(20, "ABORT", 9)]
    path = logs / "orders-v2-1" / f"{0:020d}.log"
    data = path.read_bytes()
    path.write_bytes(data[:-9] + bytes([data[-9] ^ 1]) + data[-8:] + data)
    with pytest.raises(PySparkException, match=f"crc_mismatch: row 0, byte 17: .*, in {path}"):
        read(spark, path).collect()
    assert read(spark, path, mode="permissive").count() == 10
    with pytest.raises(PySparkException, match="is not one of isolation, control"):
        read(spark, path, isolated="yes").collect()


def test_what_is_not_there_fails_with_load(spark, logs):
    with pytest.raises(PySparkException, match=r"no \.log or \.checkpoint at"):
        print(read(spark, logs / "nothing").schema)


def paths_of(path, **options) -> list[str]:
    return [each.path for each in SegmentReader({"path": str(path), **options}).partitions()]


def test_paths(logs, monkeypatch):
    everything = sorted(str(path) for path in logs.glob("*/*.log"))
    zero = [path for path in everything if "v2-0" in path]
    assert paths_of(logs) == paths_of(f"{logs}/") == paths_of(f"{logs}/**/*.log") == everything
    assert paths_of(f"{logs}/*/*.log") == paths_of(f"{logs}/orders-v?-[01]/*") == everything
    assert paths_of(f"{logs}/orders-v2-0") == paths_of(f"{logs}/orders-v2-[!1]/*.log") == zero
    assert paths_of(zero[0]) == zero[:1]
    assert paths_of(f"file://{logs}/*-0/*.log") == paths_of(f"file://{logs}/orders-v2-0") == zero
    assert paths_of(f"file://{zero[0]}") == zero[:1]
    both = SegmentReader({"paths": json.dumps([zero[0], str(logs)])}).partitions()
    assert [each.path for each in both] == everything
    monkeypatch.chdir(logs)
    assert len(paths_of("*/*.log")) == len(paths_of("orders-*")) == len(paths_of(".")) == 3
    with pytest.raises(ConfigError, match=r"no \.log"):
        paths_of(f"{logs}/*.log")


def test_patterns_of_folders(spark, logs):
    """As every source of files in Spark reads them: all segments below the folders that match."""
    everything = sorted(str(path) for path in logs.glob("*/*.log"))
    zero = [path for path in everything if "v2-0" in path]
    assert paths_of(f"{logs}/orders-*") == paths_of(f"{logs}/orders-*/") == everything
    assert paths_of(f"file://{logs}/orders-v2-[01]") == paths_of(f"{logs}/?rders*") == everything
    assert paths_of(f"{logs}/*-0") == paths_of(f"{logs}/orders-{{v2-0,v3-*}}") == zero
    assert paths_of(f"{logs}/orders-{{v2-0/*,v3-0}}") == zero
    assert read(spark, f"{logs}/orders-*").count() == 30


def test_what_a_broker_leaves_behind(logs):
    """Copies of segments are read if they are named, by a path or a pattern, but not with their folder."""
    folder = logs / "orders-v2-1"
    log = folder / f"{0:020d}.log"
    copies = [f"{log}.{suffix}" for suffix in ("cleaned", "deleted", "swap")]
    for copy in copies:
        Path(copy).write_bytes(log.read_bytes())
    assert paths_of(folder) == paths_of(f"{folder}/*.log") == [str(log)]
    assert paths_of(f"file://{folder}") == [str(log)]
    assert paths_of(copies[0]) == paths_of(f"{folder}/*.cleaned") == copies[:1]
    assert paths_of(f"{folder}/*") == [str(log), *copies]
    assert paths_of(f"{logs}/*-1") == [str(log)]


def test_other_filesystems(logs):
    import pyarrow.fs

    (segment,) = SegmentReader({"path": str(logs / "orders-v2-1")}).partitions()
    segment.filesystem = pyarrow.fs.SubTreeFileSystem(str(logs), pyarrow.fs.LocalFileSystem())
    segment.path = f"orders-v2-1/{0:020d}.log"
    reader = SegmentReader({"path": "x", "isolation": "read_committed"})
    assert sum(chunk.num_rows for chunk in reader.read(segment)) == 10
    assert (segment.topic, segment.partition) == ("orders-v2", 1)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({}, "give the path"),
        ({"path": "x", "mode": "DROPMALFORMED"}, "is not one of FAILFAST, PERMISSIVE"),
        (
            {"path": "x", "isolation": "committed"},
            "'committed' is not one of read_uncommitted, read_committed",
        ),
        ({"path": "x", "control": "none"}, "'none' is not one of skip, keep, only"),
        ({"path": "x", "checkCrc": "no"}, "is not one of true, false"),
        ({"path": "x", "maxDecompressed": "1g"}, "is not a number of bytes"),
        ({"path": "x", "offset": "1"}, "option 'offset' is not one of"),
    ],
)
def test_options_are_checked(options, match):
    with pytest.raises(ConfigError, match=match):
        SegmentReader(options)


def test_options_have_no_case(logs):
    reader = SegmentReader({"PATH": str(logs), "checkcrc": "FALSE", "MaxDecompressed": "100"})
    assert reader.options == {"errors": "raise", "check_crc": False, "max_decompressed": 100}
    reader = SegmentReader(
        {"path": "x", "isolation": "READ_COMMITTED", "control": "Keep", "mode": "permissive"}
    )
    assert reader.options == {"errors": "skip", "isolation": "read_committed", "control": "keep"}


def test_columns_are_fixed(spark, logs):
    register_segments(spark)
    source = spark.read.format("kcodec_segment")
    assert source.schema(SCHEMA).load(str(logs)).count() == 30
    with pytest.raises(PySparkException, match="the columns of kcodec_segment are fixed"):
        source.schema("value binary").load(str(logs)).collect()


def test_uris(logs):
    folder = logs / "a b %" / "ü-0"
    folder.mkdir(parents=True)
    log = folder / "1.log"
    log.write_bytes(batch(0, 1))
    start = f"file://{logs}"
    for path in ("a b %25/ü-0/1.log", "a b %25/ü-0", "a%20b%20%25/%C3%BC-0", "a b %25/*/*.log"):
        assert paths_of(f"{start}/{path}") == [str(log)]
    for path in ("file:///a%", "file://host/x.log", "tape:/x.log"):
        with pytest.raises(ConfigError, match=r"^" + re.escape(path)):
            paths_of(path)


def test_times_that_spark_does_not_have(logs):
    path = logs / "orders-v2-1" / f"{0:020d}.log"
    path.write_bytes(write_batches(pa.table({"timestamp": [1 << 62]})))
    reader = SegmentReader({"path": str(path)})
    with pytest.raises(DecodeError, match=f"out_of_range: row 0, timestamp: .*, in {path}"):
        list(reader.read(*reader.partitions()))


def test_memory_does_not_grow_with_the_segment(logs):
    path = logs / "orders-v2-1" / f"{0:020d}.log"
    path.write_bytes(batch(0, 100, "zstd") * 2000)
    reader = SegmentReader({"path": str(path)})
    before = pa.total_allocated_bytes()
    rows = most = 0
    for chunk in reader.read(*reader.partitions()):
        rows += chunk.num_rows
        most = max(most, pa.total_allocated_bytes() - before)
    assert rows == 200_000
    assert most < 64 << 20

"""What ``kcodec dump-log`` shows, beside what Kafka's own tool printed of the same files."""

import io
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from vector_files import read_vectors

from kcodec import ConfigError, DecodeError
from kcodec.cli.main import main
from kcodec.protocol import list_batches, read_batches, write_batches
from kcodec.protocol.batch import control_records, dump_log
from kcodec.protocol.batch import read as batch
from kcodec.protocol.batch.dump_log import Dump

VECTORS = read_vectors("kafka_record_batches_dump.jsonl.gz")
FILES = {line["folder"]: line["files"] for line in VECTORS if "files" in line}
RUNS = [line for line in VECTORS if "files" not in line]
LOG = "00000000000000000000.log"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Make the folder of a run the current one."""

    def enter(name: str):
        for file, content in FILES[name].items():
            (tmp_path / file).write_bytes(bytes.fromhex(content))
        monkeypatch.chdir(tmp_path)
        return tmp_path

    return enter


def test_vectors(impl, folder, capsys):
    for run in RUNS:
        root = folder(run["folder"])
        status = main(["dump-log", *run["arguments"], run["file"]])
        shown = capsys.readouterr()
        assert shown.out == run["stdout"], run["file"]
        lines = shown.err.replace(str(root), "FOLDER").splitlines(keepends=True)
        # Kafka's tool says of damaged batches what is on its standard output, and no more.
        damage = [line for line in lines if line.startswith(f"{run['file']}: ")]
        assert "".join(line for line in lines if line not in damage) == run["stderr"], run["file"]
        assert bool(damage) == ("isvalid: false" in shown.out or "invalid bytes at the end" in shown.out)
        assert status == bool(lines)
    with capsys.disabled():
        print(f"\ndumps of Kafka's own tool: {len(RUNS)} the same ({impl})")
    assert len(RUNS) > 20


@pytest.fixture
def log(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = pa.table(
        {
            "key": pa.array([b"k", None, b"\xff"]),
            "value": [b"v", b"\xc3\xbc", None],
            "timestamp": pa.array([1, 2, None]),
            "headers": [[{"key": "h", "value": b"\xfe"}], [], []],
        }
    )
    data = write_batches(table)
    (tmp_path / LOG).write_bytes(data + bytes(30))
    return data


@pytest.mark.parametrize("arguments", [[], ["--print-data-log"], ["--format", "json", "--print-data-log"]])
def test_files_are_read_in_parts(impl, tmp_path, monkeypatch, capsys, arguments):
    """What is shown of a file does not depend on how much of it is read at a time."""
    table = pa.table({"value": [b"v" * 10, None, b"w"]})
    kinds = [(2, "none"), (1, "gzip"), (0, "none"), (2, "zstd"), (0, "lz4")]
    data = b"".join(
        write_batches(table, magic=magic, compression=codec, base_offset=3 * number)
        for number, (magic, codec) in enumerate(kinds)
    )
    path = tmp_path / LOG
    path.write_bytes(data + bytes(9))
    shown = set()
    for size in (7, 100, 1 << 20):
        monkeypatch.setattr(batch, "_WINDOW", size)
        monkeypatch.setattr(batch.chunks_of, "__defaults__", (size,))
        main(["dump-log", *arguments, str(path)])
        shown.add(capsys.readouterr())
    assert len(shown) == 1


def test_trailing_bytes(impl, log, capsys):
    assert main(["dump-log", LOG]) == 0
    assert capsys.readouterr().out.endswith(f"\nFound 30 invalid bytes at the end of {LOG}\n")


def test_segments_that_do_not_start_at_0(impl, tmp_path, monkeypatch, capsys):
    """Kafka's tool counts from 0 in each file, and reports the first record of all others."""
    monkeypatch.chdir(tmp_path)
    name = "00000000000000000005.log"
    (tmp_path / name).write_bytes(write_batches(pa.table({"value": [b"a", b"b"]}), base_offset=5))
    assert main(["dump-log", name]) == 0
    assert main(["dump-log", "--print-data-log", name]) == 1
    assert capsys.readouterr().err.endswith(f"{name}\n  -1 is followed by 5\n")


def test_json(impl, log, capsys):
    assert main(["dump-log", "--format", "json", LOG]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    batch = json.loads(line)
    assert (batch["count"], batch["crc_valid"], batch["max_timestamp"], batch["delete_horizon"]) == (
        3,
        True,
        2,
        None,
    )
    assert main(["dump-log", "--format", "json", "--deep-iteration", LOG]) == 0
    records = json.loads(capsys.readouterr().out)["records"]
    assert [(r.get("key"), r.get("key_base64"), r.get("value")) for r in records] == [
        ("k", None, "v"),
        (None, None, "ü"),
        (None, "/w==", None),
    ]
    assert records[0]["headers"] == [{"key": "h", "value_base64": "/g=="}]
    assert "key" not in records[2]


def test_json_of_entries(impl, folder, capsys):
    folder("b")
    name = "00000000000000000100"
    assert (
        main(
            [
                "dump-log",
                "--format",
                "json",
                *(f"{name}.{kind}" for kind in ("index", "timeindex", "txnindex")),
            ]
        )
        == 0
    )
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == {"offset": 104, "position": 121}
    assert lines[2] == {"timestamp": 1005, "offset": 102}
    assert lines[-1]["last_stable_offset"] == 110


def test_parquet(impl, log, capsys, tmp_path):
    assert main(["dump-log", "--format", "parquet", "--out", "batches.parquet", LOG]) == 0
    assert pq.read_table("batches.parquet").to_pylist() == list_batches(log).to_pylist()
    assert main(["dump-log", "--format", "parquet", "--print-data-log", "--out", "records.parquet", LOG]) == 0
    assert pq.read_table("records.parquet").to_pylist() == read_batches(log).to_pylist()
    assert main(["dump-log", "--format", "parquet", LOG]) == 2
    assert "--out" in capsys.readouterr().err


def test_parquet_of_entries(folder, tmp_path):
    folder("b")
    assert (
        main(["dump-log", "--format", "parquet", "--out", "s.parquet", "00000000000000000100.snapshot"]) == 0
    )
    assert pq.read_table("s.parquet").column("producer_id").to_pylist() == [7, 9, 11]


def test_text_to_a_file(log, capsys):
    assert main(["dump-log", "--out", "dump.txt", LOG]) == 0
    assert capsys.readouterr().out == ""
    with open("dump.txt", encoding="utf-8") as file:
        assert file.readline() == f"Dumping {LOG}\n"


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--print-data-log"],
        ["--format", "json"],
        ["--format", "json", "--deep-iteration"],
        ["--format", "parquet", "--out", "out.parquet"],
        ["--format", "parquet", "--out", "out.parquet", "--print-data-log"],
    ],
)
def test_damage(impl, log, capsys, arguments):
    """Every form tells of the same damage, with the number of the batch and its position."""
    header = b"\0" * 8 + b"\0\0\0\1" + b"\0" * 30
    flipped = log[:-1] + bytes([log[-1] ^ 1])
    for data, damage in [
        (log + log, None),
        (log + header, f"invalid_batch: row 1, byte {len(log) + 8}"),
        (log + log[:-1], f"truncated: row 1, byte {len(log)}"),
        (log + log[:5], f"truncated: row 1, byte {len(log)}"),
        (log[:-1], "truncated: row 0, byte 0"),
        (log + flipped + log, f"crc_mismatch: row 1, byte {len(log)}"),
    ]:
        with open(LOG, "wb") as file:
            file.write(data)
        status = main(["dump-log", *arguments, LOG])
        lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith(f"{LOG}: ")]
        if damage is None:
            assert lines == []
        else:
            assert status == 1
            assert lines[0].startswith(f"{LOG}: {damage}: ")


def test_records_of_damaged_batches(impl, log, capsys):
    """Records of a batch with another checksum are shown; one whose records are damaged is named."""
    with open(LOG, "wb") as file:
        file.write(log + log[:17] + b"\0" + log[18:])
    arguments = ["dump-log", "--format", "parquet", "--out", "out.parquet", "--print-data-log", LOG]
    assert main(arguments) == 1
    assert "crc_mismatch: row 1" in capsys.readouterr().err
    assert pq.read_table("out.parquet").column("batch").to_pylist() == [0, 0, 0, 1, 1, 1]
    with open(LOG, "wb") as file:
        file.write(log[:61] + b"\1" + log[62:])
    assert main(["dump-log", "--deep-iteration", LOG]) == 1
    shown = capsys.readouterr()
    assert "isvalid: false" in shown.out
    assert f"{LOG}: negative_length: row 0, byte 62, records[0]" in shown.err


def test_an_index_of_a_damaged_log(impl, folder, capsys):
    root = folder("b")
    log = root / "00000000000000000100.log"
    log.write_bytes(log.read_bytes()[:-1])
    for kind in ("index", "timeindex"):
        assert main(["dump-log", f"00000000000000000100.{kind}"]) == 1
        assert "00000000000000000100.log: truncated: row" in capsys.readouterr().err


def test_one_bad_file_does_not_end_the_others(impl, log, tmp_path, capsys):
    (tmp_path / "1.snapshot").write_bytes(b"")
    (tmp_path / "x.log").write_bytes(log)
    (tmp_path / LOG).write_bytes(log)
    assert main(["dump-log", "1.snapshot", LOG]) == 1
    shown = capsys.readouterr()
    assert "baseOffset: 0" in shown.out
    assert shown.err.startswith("1.snapshot: truncated: row 0, byte 0: ")
    assert main(["dump-log", "missing.log", "x.log", "1.snapshot", LOG]) == 2
    shown = capsys.readouterr()
    assert "baseOffset: 0" in shown.out
    first, second, third = shown.err.splitlines()
    assert "No such file" in first
    assert "missing.log" in first
    assert "x.log does not start with an offset" in second
    assert third.startswith("1.snapshot: truncated")


def test_what_is_refused(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name, message in [
        ("x.txt", "is not one of .log, .checkpoint, "),
        ("x.log", "does not start with an offset"),
        ("0.checkpoint", "is not named offset-epoch.checkpoint"),
        ("00000000000000000000.index", "which is not beside it"),
    ]:
        (tmp_path / name).write_bytes(b"\0\0\0\1\0\0\0\1")
        assert main(["dump-log", name]) == 2
        assert message in capsys.readouterr().err
    (tmp_path / "orders-0").mkdir()
    assert main(["dump-log", "orders-0"]) == 2
    assert "orders-0: Is a directory; its files are wanted, such as orders-0/*.log" in capsys.readouterr().err
    with pytest.raises(ConfigError, match="is not one of"):
        Dump("x.txt")
    (tmp_path / "1.snapshot").write_bytes(b"")
    with pytest.raises(DecodeError, match="truncated"):
        Dump(tmp_path / "1.snapshot").text(io.StringIO())


def test_control_records_are_shown_as_jackson_writes_them():
    codec = control_records._codec("KRAFT_VOTERS", 0)
    endpoint = {"name": "BRÖKER😀", "host": "h", "port": 1}
    voter = {
        "voterId": 1,
        "voterDirectoryId": bytes(16),
        "endpoints": [endpoint],
        "kRaftVersionFeature": {"minSupportedVersion": 0, "maxSupportedVersion": 1},
    }
    value = codec.encode_one({"version": 0, "voters": [voter]})
    assert '"name":"BRÖKER😀"' in dump_log._control({"control_type": "KRAFT_VOTERS", "value": value})


def test_control_records_of_newer_versions_are_shown_as_kafka_reads_them():
    """What a newer version has behind the fields that are known is not looked at."""
    for kind, value, shown in (
        ("SNAPSHOT_FOOTER", b"\0\1\0more", {"version": 1}),
        ("KRAFT_VERSION", b"\0\2\0\1\0more", {"version": 2, "kRaftVersion": 1}),
        (
            "LEADER_CHANGE",
            b"\0\1" + bytes(4) + b"\1\1\0more",
            {"version": 1, "leaderId": 0, "voters": [], "grantingVoters": []},
        ),
    ):
        assert control_records.to_json(kind, value) == shown

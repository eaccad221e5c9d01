"""Batches that Kafka's own classes wrote, and what they read in damaged ones."""

import pyarrow as pa
import pytest
from vector_files import HERE, read_vectors

from kcodec import DecodeError
from kcodec.protocol.batch.headers import list_batches
from kcodec.protocol.batch.read import read_batches
from kcodec.protocol.batch.schema import TIMESTAMP_TYPES

NAME = "kafka_record_batches.jsonl.gz"
VECTORS = read_vectors(NAME)
#: What is wrong with those that Java refuses: with checksums compared, and without.
BAD = {
    "bad/count-too-big": ("crc_mismatch", "truncated"),
    "bad/count-too-small": ("crc_mismatch", "trailing_bytes"),
    "bad/codec-5": ("crc_mismatch", "compression"),
}
CODES = {name: number for number, name in TIMESTAMP_TYPES.items()}


def rows(table: pa.Table) -> list[dict]:
    """Show records in the form of the vectors."""
    millis = table.column("timestamp").cast(pa.int64()).to_pylist()
    return [
        {
            "offset": row["offset"],
            "timestamp": -1 if millis[number] is None else millis[number],
            "sequence": row["sequence"],
            "key": row["key"] if row["key"] is None else row["key"].hex(),
            "value": row["value"] if row["value"] is None else row["value"].hex(),
            "headers": [
                [h["key"], h["value"] if h["value"] is None else h["value"].hex()] for h in row["headers"]
            ],
            "controlType": row["control_type"],
        }
        for number, row in enumerate(table.to_pylist())
    ]


def wanted(batch: dict) -> list[dict]:
    return [
        {"controlType": None, **{name: value for name, value in record.items() if name != "sizeInBytes"}}
        for record in batch["records"]
    ]


def check(vector: dict) -> None:
    data = bytes.fromhex(vector["hex"])
    table = read_batches(data, control="keep")
    table.validate(full=True)
    assert rows(table) == [row for batch in vector["batches"] for row in wanted(batch)]
    numbers = [number for number, batch in enumerate(vector["batches"]) for _ in batch["records"]]
    assert table.column("batch").to_pylist() == numbers
    listed = list_batches(data).to_pylist()
    assert len(listed) == len(vector["batches"])
    position = 0
    for got, batch in zip(listed, vector["batches"], strict=True):
        assert got["position"] == position
        position += batch["sizeInBytes"]
        millis = {
            name: None if got[name] is None else int(got[name].timestamp() * 1000)
            for name in ("base_timestamp", "max_timestamp")
        }
        assert {
            "magic": got["magic"],
            "baseOffset": got["base_offset"],
            "lastOffset": got["last_offset"],
            "sizeInBytes": got["size"],
            "codec": got["compression"],
            "timestampType": TIMESTAMP_TYPES[got["timestamp_type"]],
            "crc": got["crc"],
            "valid": got["crc_valid"],
            "producerId": got["producer_id"],
            "producerEpoch": got["producer_epoch"],
            "baseSequence": got["base_sequence"],
            "partitionLeaderEpoch": got["partition_leader_epoch"],
            "transactional": got["transactional"],
            "control": got["control"],
            "count": got["count"],
            "maxTimestamp": -1 if millis["max_timestamp"] is None else millis["max_timestamp"],
            "baseTimestamp": millis["base_timestamp"],
            "records": batch["records"],
        } == {"count": len(batch["records"]), "baseTimestamp": millis["base_timestamp"], **batch}
    assert position == len(data)


def check_bad(vector: dict) -> None:
    data = bytes.fromhex(vector["hex"])
    for check_crc, code in zip((True, False), BAD[vector["id"]], strict=True):
        with pytest.raises(DecodeError) as caught:
            read_batches(data, check_crc=check_crc)
        assert caught.value.code == code
        table, faults = read_batches(data, check_crc=check_crc, errors="report")
        assert (table.num_rows, faults.column("code").to_pylist()) == (0, [code])
        assert read_batches(data, check_crc=check_crc, errors="skip").num_rows == 0


def run(vectors: list[dict]) -> tuple[int, int]:
    good = [vector for vector in vectors if not vector["id"].startswith("bad/")]
    bad = [vector for vector in vectors if vector["id"].startswith("bad/")]
    for vector in good:
        check(vector)
    for vector in bad:
        check_bad(vector)
    return len(good), len(bad)


def test_vectors(impl, capsys):
    good, bad = run(VECTORS)
    with capsys.disabled():
        print(f"\n{NAME}: {good} read as Java does, {bad} refused ({impl})")
    assert (good, bad) == (22, 3)


def test_shared_vectors(impl, shared, capsys):
    good, bad = run(read_vectors(NAME, shared / "vectors"))
    with capsys.disabled():
        print(f"\nshared {NAME}: {good} read as Java does, {bad} refused ({impl})")
    assert good
    assert bad


def test_the_copy_is_compact():
    assert (HERE / "vectors" / NAME).stat().st_size < 1 << 16

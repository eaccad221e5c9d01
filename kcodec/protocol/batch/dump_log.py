"""What the files of a partition hold, for people to read: as Kafka's own dump tool prints it, as JSON, as Parquet."""

from __future__ import annotations

import base64
import json
import os
import struct
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TextIO

import pyarrow as pa

from kcodec._impl import kernel
from kcodec.arguments import FilePath
from kcodec.errors import CODES, ConfigError, DecodeError, Fault
from kcodec.java.jackson import write_tree
from kcodec.java.utf8 import decode_utf8
from kcodec.protocol.batch.compression import CODECS, Expanded
from kcodec.protocol.batch.control_records import coordinator_epoch, to_json
from kcodec.protocol.batch.headers import Scans, batch_table
from kcodec.protocol.batch.partition_files import LOGS, base_offset_of, suffix_of
from kcodec.protocol.batch.read import BatchOptions, BatchSource, chunks_of
from kcodec.protocol.batch.schema import BATCHES, CONTROL, TIMESTAMP_TYPES, record_schema
from kcodec.protocol.batch.segment import read_segment
from kcodec.protocol.batch.topic_text import TopicText

_OPTIONS = BatchOptions(check_crc=False, control="keep", errors="report")
#: Rows of a Parquet row group at most; chunks of a log are smaller.
_ROWS = 1 << 17


class Dump:
    """The content of one file of a partition, as `kcodec.protocol.read_segment` takes it.

    `records` shows the records of batches, too; `contents` and `metadata` are for the text form: keys and values of
    records, and all else of them; `topic` makes the text of those of internal topics. `problems` is what is wrong with
    the file, found while it was shown. A damaged batch is one line: the file, the batch's number, and its position.
    """

    def __init__(
        self,
        path: FilePath,
        *,
        records: bool = False,
        contents: bool = False,
        metadata: bool = True,
        topic: TopicText | None = None,
    ) -> None:
        self.topic = topic
        self.path = Path(os.fspath(path))
        self.suffix = suffix_of(path)
        self.records = records or contents
        self.contents = contents
        self.metadata = metadata
        self.problems: list[str] = []

    # ---------------------------------------------------------------------------------------------- text

    def text(self, out: TextIO) -> None:
        """Write what ``kafka-dump-log.sh`` prints; what it prints of errors is in `problems`.

        Raise `DecodeError` if an index or a snapshot is not what its suffix says.
        """
        out.write(f"Dumping {self.path}\n")
        if self.suffix in LOGS:
            self._log_text(out)
        elif self.suffix == ".index":
            self._index_text(out)
        elif self.suffix == ".timeindex":
            self._time_index_text(out)
        elif self.suffix == ".txnindex":
            for row in read_segment(self.path).to_pylist():
                out.write(" ".join(f"{_camel(name)}: {value}" for name, value in row.items()) + "\n")
        else:
            self._snapshot_text(out)

    def _log_text(self, out: TextIO) -> None:
        if self.suffix == ".log":
            out.write(f"Log starting offset: {base_offset_of(self.path)}\n")
        elif self.path.name == "bootstrap.checkpoint":
            out.write("KRaft bootstrap snapshot\n")
        else:
            offset, _, epoch = self.path.name.split(".")[0].partition("-")
            if not (offset.isdecimal() and epoch.isdecimal()):
                raise ConfigError(f"{self.path.name} is not named offset-epoch.checkpoint")
            out.write(f"Snapshot end offset: {int(offset)}, epoch: {int(epoch)}\n")
        last = -1
        jumps: dict[int, int] = {}
        end = 0
        for batch, rows, content in self._batches():
            out.write(_batch_line(batch))
            end = batch["position"] + batch["size"]
            sums = _sums(content, batch) if self.records and batch["magic"] < 2 else [None] * len(rows)
            for row, found in zip(rows, sums, strict=False):
                if row["offset"] != last + 1:
                    jumps[last] = row["offset"]
                last = row["offset"]
                out.write(self._record_line(batch, row, found))
        surplus = self.path.stat().st_size - end
        if surplus > 0:
            out.write(f"Found {surplus} invalid bytes at the end of {self.path.name}\n")
        lines = [f"  {before} is followed by {after}" for before, after in sorted(jumps.items())]
        self._complain("Non-consecutive offsets in ", lines)

    def _complain(self, title: str, lines: list[str]) -> None:
        """Add lines to the problems, under a title that names the file; nothing if there are none."""
        if lines:
            self.problems += [f"{title}{self.path.absolute()}", *lines]

    def _record_line(self, batch: dict[str, Any], row: dict[str, Any], found: Any) -> str:
        parts = []
        if self.metadata:
            parts.append(
                f"offset: {row['offset']} {TIMESTAMP_TYPES[batch['timestamp_type']]}: {_time(row['timestamp'])}"
                f" keySize: {_size(row['key'])} valueSize: {_size(row['value'])}"
            )
            if batch["magic"] == 2:
                names = ",".join(header["key"] for header in row["headers"])
                parts.append(f"sequence: {row['sequence']} headerKeys: [{names}]")
            if found:
                parts.append(f"isValid: {_bool(found[0])} crc: {found[1]}")
            if batch["control"]:
                parts.append(_control(row))
        if self.contents and not batch["control"]:
            key, value = row["key"], row["value"]
            if self.topic is None:
                texts = [None if each is None else decode_utf8(each) for each in (key, value)]
            else:
                texts = list(self.topic.of(row["offset"], key, value))
            parts += [
                f"{name}: {text}"
                for name, text in zip(("key", "payload"), texts, strict=True)
                if text is not None
            ]
        # Without metadata the tool prints an empty line for what has no content.
        return ("| " + " ".join(parts) if parts else "") + "\n"

    def _index_text(self, out: TextIO) -> None:
        entries = read_segment(self.path).to_pylist()
        if not entries:
            out.write(f"{self.path} is empty.\n")
            return
        ends = {batch["position"]: batch["last_offset"] for batch, _ in self._log_batches()}
        wrong = []
        for entry in entries:
            if ends.get(entry["position"]) != entry["offset"]:
                wrong.append((entry["offset"], ends.get(entry["position"], -1)))
            out.write(f"offset: {entry['offset']} position: {entry['position']}\n")
        lines = [f"  Index offset: {index}, log offset: {log}" for index, log in reversed(wrong)]
        self._complain("Mismatches in :", lines)

    def _time_index_text(self, out: TextIO) -> None:
        table = read_segment(self.path)
        times = table.column("timestamp").cast(pa.int64()).to_pylist()
        largest = {
            batch["last_offset"]: max((_time(row["timestamp"]) for row in rows), default=-1)
            for batch, rows in self._log_batches(records=True)
        }
        offsets = sorted(largest)
        mismatches: list[str] = []
        disorder: list[str] = []
        missing: list[str] = []
        before = -1
        for time, offset in zip(times, table.column("offset").to_pylist(), strict=True):
            if offset not in largest:
                following = next((each for each in offsets if each >= offset), -1)
                missing.append(f"Indexed offset: {offset}, found log offset: {following}")
            else:
                if largest[offset] != time:
                    mismatches.append(f"  Index timestamp: {time}, log timestamp: {largest[offset]}")
                if before >= time:
                    disorder.append(f"  Index timestamp: {time}, Previously indexed timestamp: {before}")
            out.write(f"timestamp: {time} offset: {offset}\n")
            before = time
        self._complain("Found timestamp mismatch in :", mismatches)
        self._complain("Found out of order timestamp in :", disorder)
        self._complain("The following indexed offsets are not found in :", missing)

    def _snapshot_text(self, out: TextIO) -> None:
        for row in _plain_times(read_segment(self.path)).to_pylist():
            offset = -1 if row["current_txn_first_offset"] is None else row["current_txn_first_offset"]
            first = f"OptionalLong[{offset}]" if offset >= 0 else "OptionalLong.empty"
            time = _time(row["timestamp"])
            line = (
                f"producerId: {row['producer_id']} producerEpoch: {row['producer_epoch']}"
                f" coordinatorEpoch: {row['coordinator_epoch']} currentTxnFirstOffset: {first} lastTimestamp: {time}"
            )
            if row["last_offset"] >= 0:
                sequence = row["last_sequence"] - row["offset_delta"]
                line += (
                    f" firstSequence: {sequence + (1 << 31) if sequence < 0 else sequence}"
                    f" lastSequence: {row['last_sequence']} lastOffset: {row['last_offset']}"
                    f" offsetDelta: {row['offset_delta']} timestamp: {time}"
                )
            out.write(line + "\n")

    def _log_batches(self, records: bool = False) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
        """Read the batches of the log that an index is of."""
        path = self.path.with_name(self.path.name.split(".")[0] + ".log")
        if not path.exists():
            raise ConfigError(f"{self.path.name} is checked against {path.name}, which is not beside it")
        log = Dump(path, records=records)
        for batch, rows, _ in log._batches():
            yield batch, rows
        self.problems += log.problems

    def _batches(self) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]], pa.Buffer]]:
        """Read the batches one by one, each with its records if they are wanted, and its bytes."""
        source = BatchSource(_OPTIONS)
        for scan, data, position, table in self._parts():
            rows: dict[int, list[dict[str, Any]]] = defaultdict(list)
            if self.records:
                for chunk in _decode(source, scan, data, position):
                    for row in _plain_times(pa.Table.from_batches([chunk])).to_pylist():
                        rows[row["batch"]].append(row)
            for number, batch in enumerate(_plain_times(table).to_pylist(), source.count):
                yield batch, rows.pop(number, []), data.slice(batch["position"] - position, batch["size"])
            source.count += len(scan)
        self._report(source.faults)

    def _parts(self) -> Iterator[tuple[Any, pa.Buffer, int, pa.Table]]:
        """Read the headers part by part: a scan, its buffer, where that is in the file, and its table."""
        scans = Scans(BatchOptions(partial="error", errors="report"))
        for scan, data, position in chunks_of(self.path, scans):
            table = batch_table(scan, data, position, _OPTIONS)
            sums = zip(
                table.column("position").to_pylist(), table.column("crc_valid").to_pylist(), strict=True
            )
            self._report(
                Fault(number, start, "", "crc_mismatch", CODES["crc_mismatch"])
                for number, (start, valid) in enumerate(sums, scans.count)
                if not valid
            )
            yield scan, data, position, table
        self._report(scans.faults)

    def _report(self, faults: Iterable[Fault]) -> None:
        self.problems += [f"{self.path}: {DecodeError(*fault)}" for fault in faults]

    # -------------------------------------------------------------------------------------- JSON, Parquet

    def json(self, out: TextIO) -> None:
        """Write one JSON object a line: a batch, with its records if they are shown, or an entry of an index.

        Names are those of the columns, times are milliseconds since 1970. Bytes are text if they are UTF-8; if not,
        their Base64 stands under the name with ``_base64`` appended.
        """
        if self.suffix in LOGS:
            for batch, rows, _ in self._batches():
                line = {**batch, "records": [_readable(row) for row in rows]} if self.records else batch
                out.write(json.dumps(line, ensure_ascii=False) + "\n")
            return
        for row in _plain_times(read_segment(self.path)).to_pylist():
            out.write(json.dumps(row) + "\n")

    def parquet(self, out: Any) -> None:
        """Write a Parquet file: a row a record if they are shown, else a row a batch, or an entry of an index."""
        import pyarrow.parquet as pq

        if self.suffix not in LOGS:
            pq.write_table(read_segment(self.path), out)
            return
        schema = _storable(record_schema(views=False)) if self.records else BATCHES
        with pq.ParquetWriter(out, schema) as writer:
            for table in self._tables():
                writer.write_table(table.cast(schema), _ROWS)

    def _tables(self) -> Iterator[pa.Table]:
        source = BatchSource(_OPTIONS._replace(views=False))
        for scan, data, position, table in self._parts():
            if not self.records:
                yield table
                continue
            for chunk in _decode(source, scan, data, position):
                yield pa.Table.from_batches([chunk])
            source.count += len(scan)
        self._report(source.faults)


def _decode(source: BatchSource, scan: Any, data: pa.Buffer, position: int) -> Iterator[pa.RecordBatch]:
    """Read the records of the batches of a scan, of those with another checksum, too."""
    if len(scan):
        start = int(scan.headers()["position"][0])
        again = kernel("protocol.batch._kernel").scan(data, start, scan.end - start, False)
        yield from source.decode(again, data, position)


def _storable(schema: pa.Schema) -> pa.Schema:
    """Replace dictionaries by what they stand for."""
    fields = [field.with_type(pa.string()) if field.type == CONTROL else field for field in schema]
    return pa.schema(fields)


def _plain_times(table: pa.Table) -> pa.Table:
    """Show times as numbers: all of them, not only those that Python has."""
    for number, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type):
            table = table.set_column(number, field.name, table.column(number).cast(pa.int64()))
    return table


def _readable(row: dict[str, Any]) -> dict[str, Any]:
    """Show bytes as text."""
    shown: dict[str, Any] = {}
    for name, value in row.items():
        if isinstance(value, bytes):
            try:
                shown[name] = value.decode()
            except UnicodeDecodeError:
                shown[f"{name}_base64"] = base64.b64encode(value).decode()
        elif isinstance(value, list):
            shown[name] = [_readable(each) for each in value]
        else:
            shown[name] = value
    return shown


def _camel(name: str) -> str:
    first, *following = name.split("_")
    return first + "".join(word.capitalize() for word in following)


def _bool(value: bool | None) -> str:
    return "true" if value else "false"


def _time(value: int | None) -> int:
    return -1 if value is None else value


def _size(value: bytes | None) -> int:
    return -1 if value is None else len(value)


def _batch_line(batch: dict[str, Any]) -> str:
    if batch["magic"] == 2:
        horizon = batch["delete_horizon"]
        start = (
            f"baseOffset: {batch['base_offset']} lastOffset: {batch['last_offset']} count: {batch['count']}"
            f" baseSequence: {batch['base_sequence']} lastSequence: {batch['last_sequence']}"
            f" producerId: {batch['producer_id']} producerEpoch: {batch['producer_epoch']}"
            f" partitionLeaderEpoch: {batch['partition_leader_epoch']}"
            f" isTransactional: {_bool(batch['transactional'])} isControl: {_bool(batch['control'])}"
            f" deleteHorizonMs: {'OptionalLong.empty' if horizon is None else f'OptionalLong[{horizon}]'}"
        )
    else:
        start = f"offset: {batch['last_offset']}"
    return (
        f"{start} position: {batch['position']} {TIMESTAMP_TYPES[batch['timestamp_type']]}:"
        f" {_time(batch['max_timestamp'])} size: {batch['size']} magic: {batch['magic']}"
        f" compresscodec: {batch['compression'] or 'unknown'} crc: {batch['crc']}"
        f" isvalid: {_bool(batch['crc_valid'])}\n"
    )


def _control(row: dict[str, Any]) -> str:
    """Show what a control record says."""
    kind = row["control_type"]
    try:
        if kind in ("ABORT", "COMMIT"):
            return f"endTxnMarker: {kind} coordinatorEpoch: {coordinator_epoch(row['value'])}"
        if kind != "UNKNOWN":
            name = {
                "LEADER_CHANGE": "LeaderChange:",
                "KRAFT_VERSION": "KRaftVersion",
                "KRAFT_VOTERS": "KRaftVoters",
            }
            title = name.get(kind, kind.title().replace("_", ""))
            return f"{title} {write_tree(to_json(kind, row['value']))}"
    except DecodeError as error:
        return f"{kind}: {error.code}"
    number = int.from_bytes(row["key"][2:4], "big", signed=True) if row["key"] else -1
    return f"controlType: {kind}({number})"


def _sums(content: pa.Buffer, batch: dict[str, Any]) -> Iterator[tuple[bool, int]]:
    """Yield the checksum of a message of magic 0 or 1, or those of the messages in it: whether it is right, and it."""
    if batch["compression"] == "none":
        yield batch["crc_valid"], batch["crc"]
        return
    (key,) = struct.unpack_from(">i", content, 18 + 8 * batch["magic"])
    start = 18 + 8 * batch["magic"] + 4 + max(key, 0) + 4
    expanded = Expanded(_OPTIONS.max_decompressed)
    expanded.append(CODECS.index(batch["compression"]), content.slice(start), batch["magic"])
    inside = expanded.finish().to_pybytes()
    at = 0
    while at < len(inside):
        _, size, crc = struct.unpack_from(">qiI", inside, at)
        yield zlib.crc32(inside[at + 16 : at + 12 + size]) == crc, crc
        at += 12 + size

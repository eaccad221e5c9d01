"""How much memory a decode takes, for types of 10 to 32,000 columns and 1 to 100,000 rows, in four formats.

    .venv/bin/python asv_bench/memory_growth.py [--impl pure] [--formats avro json] [--most 3200000]

Each cell is a process of its own. It prints what the process grew by at its peak, from the moment before the decode,
and what it may: 64 MB, 4 KB a column, 8 times the payloads and 4 times the result. Rows have few of their fields, which
is where columns that reserve room for all of a row would take most: `flat` has the columns in the row, `items` in the
items of a list, of which each row has one. Cells of more than `--most` values are left out.
"""

import argparse
import json
import os
import subprocess
import sys
from typing import Any

FORMATS = ("avro", "protobuf", "json", "json_schema")
SHAPES = ("flat", "items")
COLUMNS = (10, 100, 1_000, 10_000, 32_000)
ROWS = (1, 100, 10_000, 100_000)
FIELDS = 8  # that a row has


def example(name: str, shape: str, columns: int) -> tuple[Any, bytes]:
    """Return a codec of so many columns, and a payload."""
    import kcodec

    if name == "avro":
        given = [{"name": f"f{i}", "type": "string"} for i in range(FIELDS)]
        added = [
            {"name": f"f{i}", "type": ["string", "null"], "default": "-"} for i in range(FIELDS, columns)
        ]
        record: Any = {"type": "record", "name": "R", "fields": given}
        reader: Any = {"type": "record", "name": "R", "fields": given + added}
        payload = b"\x14some text!" * FIELDS
        if shape == "items":
            record, reader = ({"type": "array", "items": each} for each in (record, reader))
            payload = b"\x02" + payload + b"\x00"
        return kcodec.AvroCodec(json.dumps(record), json.dumps(reader)), payload
    if name == "protobuf":
        fields = "".join(f"E f{i} = {i + 1};" if i % 2 else f"string f{i} = {i + 1};" for i in range(columns))
        text = f'syntax = "proto3"; enum E {{ NAME_OF_AN_ENUM = 0; }} message S {{ {fields} }}'
        payload = b"".join(bytes([(2 * i + 1) << 3 | 2, 10]) + b"some text!" for i in range(FIELDS // 2))
        if shape == "items":
            text = text.replace("message S", "message M { repeated S s = 1; } message S")
            payload = bytes([0x0A, len(payload)]) + payload
        return kcodec.ProtobufCodec(text, "M" if shape == "items" else "S"), payload
    document: Any = {f"f{i}": "some text!" for i in range(FIELDS)}
    payload = json.dumps([document] if shape == "items" else document).encode()
    if name == "json":
        import pyarrow as pa

        kind = pa.struct([(f"f{i}", pa.string()) for i in range(columns)])
        return kcodec.JsonCodec(pa.list_(kind) if shape == "items" else kind), payload
    schema: Any = {"type": "object", "properties": {f"f{i}": {"type": "string"} for i in range(columns)}}
    if shape == "items":
        schema = {"type": "array", "items": schema}
    return kcodec.JsonSchemaCodec(json.dumps(schema)), payload


def status(name: str) -> int:
    """Return a figure of the process, in bytes."""
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))


def cell(name: str, shape: str, columns: int, rows: int) -> None:
    """Decode, and print what was taken and what may be."""
    import pyarrow as pa

    codec, payload = example(name, shape, columns)
    values = pa.array([payload] * rows, pa.binary())
    # From here on the peak is that of the decode.
    with open("/proc/self/clear_refs", "w") as refs:
        refs.write("5")
    before = status("VmRSS")
    array = codec.decode(values)
    taken = status("VmHWM") - before
    print(taken, (64 << 20) + 4096 * columns + 8 * values.nbytes + 4 * array.nbytes)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cell", nargs=4, help=argparse.SUPPRESS)
    parser.add_argument("--impl", choices=["native", "pure"], default="native")
    parser.add_argument("--formats", nargs="+", choices=FORMATS, default=FORMATS)
    parser.add_argument("--most", type=int, default=3_200_000)
    given = parser.parse_args()
    if given.cell:
        name, shape, columns, rows = given.cell
        cell(name, shape, int(columns), int(rows))
        return
    failed = 0
    print(f"{'format':12} {'shape':6} {'columns':>8} {'rows':>8} {'MB':>8} {'may be':>8}")
    for name in given.formats:
        for shape in SHAPES:
            for columns in COLUMNS:
                for rows in ROWS:
                    if columns * rows > given.most:
                        continue
                    done = subprocess.run(
                        [sys.executable, __file__, "--cell", name, shape, str(columns), str(rows)],
                        env={**os.environ, "KCODEC_IMPL": given.impl},
                        capture_output=True,
                        text=True,
                        check=False,
                    )
                    head = f"{name:12} {shape:6} {columns:8,} {rows:8,}"
                    if done.returncode:
                        failed += 1
                        print(
                            head,
                            "fail:",
                            (done.stderr.splitlines() or [str(done.returncode)])[-1],
                            flush=True,
                        )
                        continue
                    taken, bound = (int(each) for each in done.stdout.split())
                    failed += taken > bound
                    print(
                        f"{head} {taken / 1e6:8.1f} {bound / 1e6:8.1f}  {'pass' if taken <= bound else 'FAIL'}",
                        flush=True,
                    )
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()

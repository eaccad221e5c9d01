"""Columns whose names of enums are text cost what they hold, and what there is no memory for is not written to."""

import json
import subprocess
import sys

PEAK = """
import json
import pyarrow as pa
import kcodec
pool = pa.system_memory_pool()
pa.set_memory_pool(pool)
fields = "".join(f"E e{i} = {i + 1}; repeated string t{i} = {i + 1001};" for i in range(400))
codec = kcodec.ProtobufCodec(f'syntax = "proto3"; message M {{ {fields} }} enum E {{ {"A" * 40} = 0; }}')
codec.decode([b""] * 256)
print(json.dumps(pool.max_memory()))
"""

REFUSED = """
import pyarrow as pa
import kcodec
codec = kcodec.ProtobufCodec('syntax = "proto3"; message M { int32 i = 1; string t = 2; repeated string l = 3; }')
good = bytes.fromhex("0801 12026162 1a0162")
rows = pa.array(([good] * 200 + [good[:5]]) * 9)
expected = codec.decode(rows, errors="report")
allocate = pa.allocate_buffer
for refused in range(60):
    calls = iter(range(60))
    def pool(*size, **options):
        if next(calls) == refused:
            raise MemoryError
        return allocate(*size, **options)
    kcodec.release_unused()
    pa.allocate_buffer = pool
    try:
        column, report = codec.decode(rows, errors="report")
    except kcodec.CapacityError:
        continue
    assert column.equals(expected[0]) and report.equals(expected[1])
print(60 - len(list(calls)))
"""


def test_rows_that_there_is_no_memory_to_look_into():
    """Where bad rows are read apart, in columns that may get no memory, they are bad all the same."""
    done = subprocess.run([sys.executable, "-c", REFUSED], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 10


def test_memory_of_many_enums():
    done = subprocess.run([sys.executable, "-c", PEAK], capture_output=True, text=True, check=True)
    # 400 columns of 256 names each are 4 MiB.
    assert json.loads(done.stdout) < 1 << 28

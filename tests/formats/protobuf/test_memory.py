"""Columns whose names of enums are text cost what they hold, however many of them a message has."""

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


def test_memory_of_many_enums():
    done = subprocess.run([sys.executable, "-c", PEAK], capture_output=True, text=True, check=True)
    # 400 columns of 256 names each are 4 MiB.
    assert json.loads(done.stdout) < 1 << 28

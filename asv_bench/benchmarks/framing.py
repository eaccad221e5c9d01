"""Confluent's prefix, on buffers."""

import numpy as np
import pyarrow as pa

from kcodec import wire

from . import ROWS


class Framing:
    """Splitting a column of three schema ids, and joining it again."""

    params = ([20, 200],)
    param_names = ("payload_bytes",)

    def setup(self, payload_bytes: int) -> None:
        ids = np.random.default_rng(3).integers(1, 4, ROWS)
        values = [b"\0" + int(number).to_bytes(4, "big") + b"x" * payload_bytes for number in ids]
        _, offsets, self.data = pa.array(values, pa.binary()).buffers()
        self.offsets = np.frombuffer(offsets, np.int32, ROWS + 1)
        self.ids = ids.astype(np.int32)
        self.payloads = np.zeros(ROWS * payload_bytes, np.uint8)
        self.ends = np.arange(0, (ROWS + 1) * payload_bytes, payload_bytes, dtype=np.int64)

    def time_split(self, payload_bytes: int) -> None:
        wire.split_frames(self.data, self.offsets)

    def time_join(self, payload_bytes: int) -> None:
        wire.join_frames(self.payloads, self.ends, self.ids)

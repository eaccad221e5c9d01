"""Confluent's prefix, on buffers; columns behind each frame."""

import json
import uuid

import numpy as np
import pyarrow as pa

from kcodec import Serde, registry, wire

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


class Frames:
    """Columns behind each kind of frame: all rows of one schema, or of two in turn."""

    params = (["CONFLUENT", "GLUE", "GLUE_ZLIB", "APICURIO", "SINGLE_OBJECT"], ["one", "two"])
    param_names = ("frame", "schemas")

    def setup(self, frame: str, schemas: str) -> None:
        names = [f"f{number}" for number in range(15)]
        texts = [
            json.dumps(
                {
                    "type": "record",
                    "name": "Row",
                    "fields": [{"name": name, "type": "long"} for name in (*names, *more)],
                }
            )
            for more in ([], ["new"])
        ]
        numbers = [str(uuid.UUID(int=at)) for at in (1, 2)]
        ids = numbers if "GLUE" in frame else [1, 2]
        written = []
        known = registry.of(texts if frame == "SINGLE_OBJECT" else dict(zip(ids, texts, strict=True)))
        for schema_id, text in zip(ids, texts, strict=True):
            place = known if frame == "SINGLE_OBJECT" else registry.of(_Latest(schema_id, text))
            serde = Serde("AVRO", place, topic="t", schema=text, frame=frame)
            row = dict.fromkeys((field["name"] for field in json.loads(text)["fields"]), 1 << 40)
            written.append(serde.serialize([row])[0].as_py())
        values = written if schemas == "two" else written[:1] * 2
        self.values = pa.array(values * (ROWS // 2), pa.binary())
        self.serde = Serde("AVRO", known, topic="t", reader_schema=texts[0], frame=frame)
        self.serde.deserialize(self.values)

    def time_decode(self, frame: str, schemas: str) -> None:
        self.serde.deserialize(self.values)


class BadRows:
    """Columns of a serde in which every tenth row is cut, has no frame, or has an id that is not known."""

    params = (["AVRO", "JSON_SR", "PROTOBUF"], ["cut", "no frame", "unknown id"])
    param_names = ("format", "bad")

    def setup(self, format: str, bad: str) -> None:
        self.serde = Serde(format, f"memory://bad-{format}", topic="t")
        rows = {name: [f"{name} {row}" for row in range(ROWS)] for name in ("a", "b", "c")}
        values = self.serde.serialize(pa.table(rows), as_list=True)
        make = {
            "cut": lambda value: value[:-3],
            "no frame": lambda value: b"hello",
            "unknown id": lambda value: b"\0\0\0\3\xe7" + value[5:],
        }[bad]
        self.values = pa.array(
            [value if row % 10 else make(value) for row, value in enumerate(values)], pa.binary()
        )

    def time_null(self, format: str, bad: str) -> None:
        self.serde.deserialize(self.values, errors="null")

    def time_report(self, format: str, bad: str) -> None:
        self.serde.deserialize(self.values, errors="report")


class _Latest:
    """A registry of one schema."""

    def __init__(self, schema_id: int | str, text: str) -> None:
        self.schema_id = schema_id
        self.text = text

    def schema(self, schema_id: int | str) -> str:
        return self.text

    def register(self, subject: str, schema: registry.Schema) -> int | str:
        return self.schema_id

    def latest(self, subject: str) -> tuple[int | str, str]:
        return self.schema_id, self.text

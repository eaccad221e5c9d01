"""Records in records that some of the rows lack, and rows that are null."""

import random

import pyarrow as pa

import kcodec

from . import ROWS


class Lacking:
    """Rows of which a share has null instead of a record of six fields."""

    params = (["AVRO", "PROTOBUF", "JSON"], [0, 1, 10, 50])
    param_names = ("format", "percent")

    def setup(self, format: str, percent: int) -> None:
        drawn = random.Random(45)
        inner = [
            None
            if drawn.random() < percent / 100
            else {
                "id": drawn.getrandbits(20),
                "status": drawn.choice(["new", "paid", "cancelled"]),
                "note": drawn.choice([None, "ε", "a longer note"]),
                "amount": drawn.getrandbits(20) / 64,
                "name": f"name {drawn.getrandbits(10)}",
                "tags": [drawn.getrandbits(7) for _ in range(drawn.randint(0, 4))],
            }
            for _ in range(ROWS)
        ]
        self.array = pa.array([{"id": row, "inner": value, "last": "x"} for row, value in enumerate(inner)])
        schema = pa.schema(self.array.type.fields)
        if format == "JSON":
            self.codec = kcodec.JsonCodec(self.array.type)
        elif format == "AVRO":
            self.codec = kcodec.AvroCodec(kcodec.schema_of(schema, name="Row"))
        else:
            self.codec = kcodec.ProtobufCodec(kcodec.schema_of(schema, format, name="Row"), "Row")
        self.values = self.codec.encode(self.array)

    def time_decode(self, format: str, percent: int) -> None:
        self.codec.decode(self.values)

    def time_encode(self, format: str, percent: int) -> None:
        self.codec.encode(self.array)


class Tombstones(Lacking):
    """Rows of which a share is null, as those of a topic that is compacted."""

    def setup(self, format: str, percent: int) -> None:
        super().setup(format, 0)
        drawn = random.Random(46)
        rows = [None if drawn.random() < percent / 100 else row for row in self.array.to_pylist()]
        self.array = pa.array(rows, self.array.type)
        self.values = self.codec.encode(self.array)

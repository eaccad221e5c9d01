"""Avro columns: decode, encode, schemas that evolve, ids that alternate, rows that are bad."""

import io
import json

import pyarrow as pa

import kcodec

from .avro_records import EVOLVED, NESTED, SCHEMAS, array, codec, framed, payloads, registry


class Codec:
    """Plain payloads; fastavro with pyarrow beside kcodec."""

    params = (["flat", "nested"],)
    param_names = ("schema",)

    def setup(self, schema: str) -> None:
        self.codec, self.values, self.array = codec(schema), payloads(schema), array(schema)

    def time_decode(self, schema: str) -> None:
        self.codec.decode(self.values)

    def time_encode(self, schema: str) -> None:
        self.codec.encode(self.array)

    def time_make(self, schema: str) -> None:
        kcodec.AvroCodec(json.dumps(SCHEMAS[schema])).decode([None])


class Fastavro:
    """What the same takes with fastavro, on a tenth of the rows."""

    params = (["flat", "nested"],)
    param_names = ("schema",)

    def setup(self, schema: str) -> None:
        import fastavro

        self.reader = fastavro.schemaless_reader
        self.schema = fastavro.parse_schema(SCHEMAS[schema])
        values = payloads(schema)
        self.values = values.slice(0, max(1, len(values) // 10)).to_pylist()
        self.type = codec(schema).arrow_type

    def time_decode(self, schema: str) -> None:
        pa.array([self.reader(io.BytesIO(value), self.schema) for value in self.values], self.type)


class Evolved:
    """Twelve fields on the wire, five of them read, with a promotion and two defaults."""

    def setup(self) -> None:
        self.codec = kcodec.AvroCodec(json.dumps(NESTED), json.dumps(EVOLVED))
        self.few = kcodec.AvroCodec(json.dumps(NESTED), fields=["id", "address.city"])
        self.values = payloads("nested")

    def time_decode(self) -> None:
        self.codec.decode(self.values)

    def time_decode_two_fields(self) -> None:
        self.few.decode(self.values)


class Ids:
    """Framed values of one schema id, and of two that alternate, into the columns of a third schema."""

    params = ([1, 2],)
    param_names = ("ids",)

    def setup(self, ids: int) -> None:
        self.values = framed(ids)
        self.serde = kcodec.Serde("AVRO", registry(), topic="orders", reader_schema=json.dumps(EVOLVED))
        self.serde.deserialize(self.values)

    def time_deserialize(self, ids: int) -> None:
        self.serde.deserialize(self.values)


class BadRows:
    """Rows of which some are cut short."""

    params = ([0, 1, 10, 50],)
    param_names = ("percent",)

    def setup(self, percent: int) -> None:
        self.codec = codec("nested")
        values = payloads("nested").to_pylist()
        cut = [value[:-5] if row % 100 < percent else value for row, value in enumerate(values)]
        self.values = pa.array(cut, pa.binary())

    def time_report(self, percent: int) -> None:
        self.codec.decode(self.values, errors="report")

    def time_null(self, percent: int) -> None:
        self.codec.decode(self.values, errors="null")

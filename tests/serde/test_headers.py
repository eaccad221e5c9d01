"""Ids of schemas in headers."""

import uuid

import pyarrow as pa
import pytest
from order_registry import V1, frame

from kcodec import Serde
from kcodec.errors import ConfigError
from kcodec.registry import Schema

pytestmark = pytest.mark.usefixtures("impl")

HEADER_OUT = {
    "value.schema.id.serializer": "io.confluent.kafka.serializers.schema.id.HeaderSchemaIdSerializer"
}


VIEWS = (pa.string_view(), pa.binary_view())


class TestHeaders:
    def test_round_trip(self, registry):
        serde = Serde("AVRO", registry, topic="t", schema=V1, config=HEADER_OUT)
        column = pa.array([{"id": 1}, None, {"id": 2}])
        values, headers = serde.serialize_with_headers(column)
        assert values.to_pylist() == [b"\x02", None, b"\x04"]
        expected = b"\x01" + uuid.UUID(registry.get(1).guid).bytes
        assert headers.to_pylist() == [expected, None, expected]
        assert serde.deserialize(values, headers=headers).to_pylist() == column.to_pylist()
        with pytest.raises(ConfigError, match="serialize_with_headers"):
            serde.serialize(column)
        with pytest.raises(ConfigError, match="HeaderSchemaIdSerializer"):
            Serde("AVRO", registry, topic="t").serialize_with_headers(column)

    def test_forms_of_headers(self, registry):
        guid = b"\x01" + uuid.UUID(registry.register("t-value", Schema(V1)).guid).bytes
        serde = Serde("AVRO", registry, topic="t")
        values = [b"\x02", frame(1, b"\x04"), None, frame(1, b"\x06")]
        pairs = [[("x", b""), (serde.header, b"bad"), (serde.header, guid)], [], None, [(serde.header, None)]]
        spark = pa.array(
            [row and [{"key": key, "value": value} for key, value in row] for row in pairs],
            pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())])),
        )
        parts = [part.cast(kind) for part, kind in zip(spark.values.flatten(), VIEWS, strict=True)]
        views = pa.ListArray.from_arrays(
            spark.offsets, pa.StructArray.from_arrays(parts, ["key", "value"]), mask=spark.is_null()
        )
        content = pa.array([guid, None, None, None])
        expected = [{"id": 1}, {"id": 2}, None, {"id": 3}]
        for headers in (
            pairs,
            spark,
            views,
            content,
            content.to_pylist(),
            pa.chunked_array([content[:1], content[1:]]),
        ):
            assert serde.deserialize(values, headers=headers).to_pylist() == expected
        assert serde.deserialize(values[1:], headers=spark[1:]).to_pylist() == expected[1:]
        chunked = pa.chunked_array([values[:2], values[2:]], pa.binary())
        assert serde.deserialize(chunked, headers=spark).to_pylist() == expected

    def test_what_are_no_headers(self, registry):
        serde = Serde("AVRO", registry, topic="t", schema=V1)
        for row in (1, [1], [("x",)], {"x": b"1"}):
            with pytest.raises(TypeError, match="headers are bytes, or a list of pairs of a key and a value"):
                serde.deserialize([frame(1, b"\x02")], headers=[row])

    def test_bad_headers_are_errors_of_their_rows(self, registry):
        registry.register("t-value", Schema(V1))
        serde = Serde("AVRO", registry, topic="t")
        headers = [b"", b"\x02\0\0\0\x01", b"\0\0\0", b"\0\0\0\0\x63", b"\0\0\0\0\x01 and more"]
        array, report = serde.deserialize([b"\x02"] * 5, errors="report", headers=headers)
        assert array.to_pylist() == [None] * 4 + [{"id": 1}]
        assert report["code"].to_pylist() == [
            "frame_truncated",
            "frame_magic",
            "frame_truncated",
            "unknown_schema_id",
        ]
        assert report["offset"].to_pylist() == [None] * 4

    def test_the_deserializer_is_chosen(self, registry):
        found = registry.register("t-value", Schema(V1))
        header = b"\x01" + uuid.UUID(found.guid).bytes

        def serde(name, **more):
            config = {"value.schema.id.deserializer": f"{name}SchemaIdDeserializer", **more}
            return Serde("AVRO", registry, topic="t", config=config)

        assert serde("Prefix").deserialize([frame(1, b"\x02")], headers=[b"junk"]).to_pylist() == [{"id": 1}]
        array, report = serde("Header").deserialize(
            [b"\x02", frame(1, b"\x02"), None], "report", [header, None, None]
        )
        assert array.to_pylist() == [{"id": 1}, None, None]
        assert report["code"].to_pylist() == ["frame_truncated"]
        for setting in ({"use.schema.id": "1"}, {"use.schema.guid": found.guid}):
            assert serde("Config", **setting).deserialize([b"\x02", None]).to_pylist() == [{"id": 1}, None]
        with pytest.raises(ConfigError):
            serde("Config").deserialize([b"\x02"])
        with pytest.raises(ConfigError):
            serde("Header").deserialize([b"\x02"])
        with pytest.raises(ConfigError, match="1 headers for 2 values"):
            serde("Dual").deserialize([b"\x02", None], headers=[header])

    def test_only_keys_of_rows_without_header_are_looked_up(self, registry):
        header = b"\x01" + uuid.UUID(registry.register("t-value", Schema(V1)).guid).bytes
        registry.calls.clear()
        serde = Serde("AVRO", registry, topic="t", reader_schema='{"type":"record","name":"E","fields":[]}')
        serde.deserialize([b"\0\0\0\0\x63payload"], errors="null", headers=[header])
        assert [call[0] for call in registry.calls] == ["guid"]

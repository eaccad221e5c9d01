"""Memory at its peak, with the process."""

from .avro_records import array, codec, payloads


class Peak:
    """Decoding and encoding."""

    params = (["flat", "nested"],)
    param_names = ("schema",)

    def setup(self, schema: str) -> None:
        self.codec, self.values, self.array = codec(schema), payloads(schema), array(schema)

    def peakmem_decode(self, schema: str) -> None:
        self.codec.decode(self.values)

    def peakmem_encode(self, schema: str) -> None:
        self.codec.encode(self.array)

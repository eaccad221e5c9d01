"""Lists of bytes, as clients of other libraries give and take them, beside columns of the same values."""

from .avro_records import array, codec, payloads


class Lists:
    """Decoded from a list or a column, encoded as one of them."""

    params = (["flat", "nested"], ["column", "list"])
    param_names = ("schema", "form")

    def setup(self, schema: str, form: str) -> None:
        self.codec, self.array = codec(schema), array(schema)
        self.values = payloads(schema).to_pylist() if form == "list" else payloads(schema)

    def time_decode(self, schema: str, form: str) -> None:
        self.codec.decode(self.values)

    def time_encode(self, schema: str, form: str) -> None:
        self.codec.encode(self.array, as_list=form == "list")

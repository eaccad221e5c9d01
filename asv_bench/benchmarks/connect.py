"""Connect's JSON: envelopes beside their payloads, schemas that differ, decimals in both forms, rows that are bad."""

import pyarrow as pa

import kcodec

from . import ROWS
from .json_documents import TYPE, documents

SCHEMA = kcodec.ConnectSchema.from_arrow(TYPE)


def enveloped(values: pa.Array, schemas: list[bytes], payload_first: bool = False) -> pa.Array:
    """Put payloads into envelopes, with the schemas in turn."""
    form = b'{"payload":%b,"schema":%b}' if payload_first else b'{"schema":%b,"payload":%b}'
    rows = []
    for row, payload in enumerate(values.to_pylist()):
        schema = schemas[row % len(schemas)]
        rows.append(form % ((payload, schema) if payload_first else (schema, payload)))
    return pa.array(rows, pa.binary())


class Payloads:
    """Documents of 15 fields without an envelope, read and written."""

    params = (["BASE64", "NUMERIC"],)
    param_names = ("decimal_format",)

    def setup(self, decimal_format: str) -> None:
        self.codec = kcodec.ConnectJsonCodec(TYPE, schemas_enable=False, decimal_format=decimal_format)
        self.array = self.codec.decode(documents(ROWS))
        self.values = self.codec.encode(self.array)

    def time_decode(self, decimal_format: str) -> None:
        self.codec.decode(self.values)

    def time_encode(self, decimal_format: str) -> None:
        self.codec.encode(self.array)


class Envelopes:
    """The same in envelopes: one schema, four in turn, the payload before the schema."""

    params = (["one", "four", "payload first"],)
    param_names = ("schemas",)

    def setup(self, schemas: str) -> None:
        text = SCHEMA.to_text().encode()
        texts = [text] if schemas != "four" else [text + b" " * blanks for blanks in range(4)]
        self.values = enveloped(documents(ROWS), texts, schemas == "payload first")
        self.codec = kcodec.ConnectJsonCodec()
        self.exact = kcodec.ConnectJsonCodec(compat="connect")
        self.array = self.codec.decode(self.values)

    def time_decode(self, schemas: str) -> None:
        self.codec.decode(self.values)

    def time_decode_as_connect(self, schemas: str) -> None:
        self.exact.decode(self.values)

    def time_encode(self, schemas: str) -> None:
        self.codec.encode(self.array)

    def peakmem_decode(self, schemas: str) -> None:
        self.codec.decode(self.values)


class BadRows:
    """One row of a hundred that Connect reads and strict reading refuses."""

    params = ([None, "connect"],)
    param_names = ("compat",)

    def setup(self, compat: str | None) -> None:
        values = documents(ROWS).to_pylist()
        values[::100] = [value.replace(b'"quantity":', b'"quantity":0', 1) for value in values[::100]]
        self.values = pa.array(values, pa.binary())
        self.codec = kcodec.ConnectJsonCodec(TYPE, schemas_enable=False, compat=compat)

    def time_decode(self, compat: str | None) -> None:
        self.codec.decode(self.values, errors="report")


class Decimals:
    """Columns of decimals in the forms that Kafka's tools write."""

    params = (["bytes", "base64", "number"],)
    param_names = ("form",)

    def setup(self, form: str) -> None:
        text = "number" if form == "number" else "base64"
        self.codec = kcodec.DecimalCodec(2, 18, text=text, output=form)
        self.array = (
            pa.array(range(-ROWS, ROWS, 2), pa.int64()).cast(pa.decimal128(38, 0)).cast(pa.decimal128(38, 2))
        )
        self.values = self.codec.encode(self.array)

    def time_decode(self, form: str) -> None:
        self.codec.decode(self.values)

    def time_encode(self, form: str) -> None:
        self.codec.encode(self.array)

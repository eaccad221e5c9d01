"""Plain JSON: decode, encode, key order, decimals and doubles, rows that are bad."""

import pyarrow as pa

import kcodec

from . import ROWS
from .json_documents import TYPE, documents


class Codec:
    """Documents of 15 fields, whose keys come in the schema's order, in the reverse one, or shuffled in each."""

    params = (["steady", "reversed", "shuffled"],)
    param_names = ("keys",)

    def setup(self, keys: str) -> None:
        self.codec = kcodec.JsonCodec(pa.struct(list(TYPE)[::-1]) if keys == "reversed" else TYPE)
        self.values = documents(ROWS, keys == "shuffled")
        self.array = self.codec.decode(self.values)

    def time_decode(self, keys: str) -> None:
        self.codec.decode(self.values)

    def time_encode(self, keys: str) -> None:
        self.codec.encode(self.array)

    def peakmem_decode(self, keys: str) -> None:
        self.codec.decode(self.values)


class Orjson:
    """What the same takes with orjson, on a tenth of the rows; its decimals went through doubles."""

    def setup(self) -> None:
        import orjson

        self.orjson = orjson
        self.values = documents(max(1, ROWS // 10)).to_pylist()
        exact = kcodec.JsonCodec(TYPE).decode(documents(max(1, ROWS // 10)))
        fields = [field.with_type(pa.float64()) if "dec" in str(field.type) else field for field in TYPE]
        self.type = pa.struct(fields)
        self.array = exact.cast(self.type)

    def time_decode(self) -> None:
        pa.array([self.orjson.loads(value) for value in self.values], self.type)

    def time_encode(self) -> None:
        for row in self.array.to_pylist():
            self.orjson.dumps(row)


class Leaves:
    """One field of a type."""

    params = (["int", "decimal", "wide decimal", "double", "string", "escaped", "bytes", "time"],)
    param_names = ("type",)

    def setup(self, name: str) -> None:
        kind, text = {
            "int": (pa.int64(), "{row}"),
            "decimal": (pa.decimal128(18, 4), "{row}.25"),
            "wide decimal": (pa.decimal128(38, 10), "1234567890123456789{row}.25"),
            "double": (pa.float64(), "0.12345678901{row}e-3"),
            "string": (pa.string(), '"value number {row}"'),
            "escaped": (pa.string(), r'"value\n\u00e9 number {row}"'),
            "bytes": (pa.binary(), '"AAECAwQFBgcICQ=="'),
            "time": (pa.timestamp("us", "UTC"), '"2024-05-01T10:20:30.123456Z"'),
        }[name]
        self.codec = kcodec.JsonCodec(pa.struct([("v", kind)]))
        rows = ['{"v":' + text.replace("{row}", str(row)) + "}" for row in range(ROWS)]
        self.values = pa.array(rows, pa.string())
        self.array = self.codec.decode(self.values)

    def time_decode(self, name: str) -> None:
        self.codec.decode(self.values)

    def time_encode(self, name: str) -> None:
        self.codec.encode(self.array)


class BadRows:
    """Documents of which some are cut short."""

    params = ([0, 1, 10, 50],)
    param_names = ("percent",)

    def setup(self, percent: int) -> None:
        self.codec = kcodec.JsonCodec(TYPE)
        values = documents(ROWS).to_pylist()
        cut = [value[:-5] if row % 100 < percent else value for row, value in enumerate(values)]
        self.values = pa.array(cut, pa.binary())

    def time_report(self, percent: int) -> None:
        self.codec.decode(self.values, errors="report")

    def time_null(self, percent: int) -> None:
        self.codec.decode(self.values, errors="null")


class Unknown:
    """Documents of which two fields are read, the others skipped."""

    def setup(self) -> None:
        self.codec = kcodec.JsonCodec(pa.struct([TYPE.field("order"), TYPE.field("device")]))
        self.values = documents(ROWS)

    def time_decode(self) -> None:
        self.codec.decode(self.values)

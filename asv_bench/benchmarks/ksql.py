"""ksqlDB's formats: JSON with keys in either case, values as text, odd rows read again; schemas in a registry."""

import random
from decimal import Decimal

import pyarrow as pa

import kcodec

from . import ROWS

COLUMNS = (
    "ID BIGINT, CUSTOMER STRING, AMOUNT DECIMAL(12,2), TAX DECIMAL(12,4), QUANTITY INT, PRICE DOUBLE, PAID BOOLEAN, "
    "CREATED TIMESTAMP, DUE DATE, NOTE STRING, CITY STRING, TAGS ARRAY<STRING>, "
    "ADDRESS STRUCT<STREET STRING, ZIP INT>, COUNTRY STRING, WEIGHT DOUBLE"
)
#: Those that Protobuf's own codec does not convert one by one.
REGISTERED = (
    "ID BIGINT, CUSTOMER STRING, QUANTITY INT, PRICE DOUBLE, PAID BOOLEAN, CREATED TIMESTAMP, NOTE STRING, "
    "CITY STRING, TAGS ARRAY<STRING>, ADDRESS STRUCT<STREET STRING, ZIP INT>, COUNTRY STRING, WEIGHT DOUBLE"
)
_WORDS = ["alpha", "kafka", "spark", "column", "orchid", "Zürich", "crème", "東京"]


def orders(rows: int = ROWS) -> pa.Array:
    """Make rows of the columns, with a fixed seed."""
    chance = random.Random(7)

    def word() -> str:
        return chance.choice(_WORDS)

    made = [
        {
            "ID": chance.getrandbits(40),
            "CUSTOMER": f"{word()} {word()}",
            "AMOUNT": Decimal(chance.randrange(10**9)).scaleb(-2),
            "TAX": Decimal(chance.randrange(10**8)).scaleb(-4),
            "QUANTITY": chance.randrange(1000),
            "PRICE": round(chance.uniform(0, 1000), 3),
            "PAID": chance.random() < 0.5,
            "CREATED": 1_700_000_000_000_000 + 1000 * chance.randrange(10**9),
            "DUE": 19_000 + chance.randrange(400),
            "NOTE": None if chance.random() < 0.5 else f"{word()} {word()} {word()}",
            "CITY": word(),
            "TAGS": [word() for _ in range(chance.randrange(4))],
            "ADDRESS": {"STREET": word(), "ZIP": chance.randrange(99_999)},
            "COUNTRY": "CH",
            "WEIGHT": round(chance.uniform(0, 100), 2),
        }
        for _ in range(rows)
    ]
    return pa.array(made, kcodec.KsqlCodec("JSON", COLUMNS).arrow_type)


def lower(documents: pa.Array) -> pa.Array:
    """Write the keys in lower case, as most producers do."""
    names = [column.name for column in kcodec.KsqlCodec("JSON", COLUMNS).columns] + ["STREET", "ZIP"]
    made = []
    for document in documents.to_pylist():
        for name in names:
            document = document.replace(f'"{name}":'.encode(), f'"{name.lower()}":'.encode())
        made.append(document)
    return pa.array(made, documents.type)


class Json:
    """Fifteen columns, two of them decimals, in about 300 bytes."""

    params = ([None, "ksqldb"], ["columns", "lower"])
    param_names = ("compat", "keys")

    def setup(self, compat: str | None, keys: str) -> None:
        self.codec = kcodec.KsqlCodec("JSON", COLUMNS, compat=compat)
        self.array = orders()
        self.values = self.codec.encode(self.array)
        if keys == "lower":
            self.values = lower(self.values)

    def time_decode(self, compat: str | None, keys: str) -> None:
        self.codec.decode(self.values)

    def time_encode(self, compat: str | None, keys: str) -> None:
        self.codec.encode(self.array)


class OddRows:
    """Rows that only ksqlDB reads, a fraction of all."""

    params = ([0.0001, 0.01],)
    param_names = ("fraction",)

    def setup(self, fraction: float) -> None:
        self.codec = kcodec.KsqlCodec("JSON", COLUMNS, compat="ksqldb")
        values = self.codec.encode(orders()).to_pylist()
        for row in range(0, len(values), round(1 / fraction)):
            values[row] = values[row].replace(b'"QUANTITY":', b'"QUANTITY":1.5,"X":')
        self.values = pa.array(values)

    def time_decode(self, fraction: float) -> None:
        self.codec.decode(self.values)


class Bare:
    """A single column without its record."""

    def setup(self) -> None:
        self.codec = kcodec.KsqlCodec("JSON", "K BIGINT KEY", is_key=True)
        self.values = pa.array([str(n).encode() for n in range(ROWS)])
        self.array = self.codec.decode(self.values)

    def time_decode(self) -> None:
        self.codec.decode(self.values)

    def time_encode(self) -> None:
        self.codec.encode(self.array)


class Delimited:
    """Eight of the columns as delimited text."""

    def setup(self) -> None:
        names = ("ID", "CUSTOMER", "AMOUNT", "QUANTITY", "PRICE", "PAID", "CREATED", "NOTE")
        columns = [column for column in kcodec.KsqlCodec("JSON", COLUMNS).columns if column.name in names]
        self.codec = kcodec.KsqlCodec("DELIMITED", columns)
        rows = orders()
        fields = [column.name for column in columns]
        self.array = pa.StructArray.from_arrays([rows.field(name) for name in fields], fields)
        self.values = self.codec.encode(self.array)

    def time_decode(self) -> None:
        self.codec.decode(self.values)

    def time_encode(self) -> None:
        self.codec.encode(self.array)


class Kafka:
    """A single number."""

    def setup(self) -> None:
        self.codec = kcodec.KsqlCodec("KAFKA", "K BIGINT KEY", is_key=True)
        self.array = pa.array(range(ROWS))
        self.values = self.codec.encode(self.array)

    def time_decode(self) -> None:
        self.codec.decode(self.values)

    def time_encode(self) -> None:
        self.codec.encode(self.array)


class Registered:
    """The columns behind the ids of their own schemas, beside the serde or codec of these schemas."""

    params = (["AVRO", "PROTOBUF", "JSON_SR"], ["ksql", "own"])
    param_names = ("format", "codec")

    def setup(self, format: str, codec: str) -> None:
        registry = "memory://benchmark"
        ksql = kcodec.KsqlCodec(format, REGISTERED, registry=registry, topic=format)
        array = orders()
        array = pa.StructArray.from_arrays(
            [array.field(column.name) for column in ksql.columns], [column.name for column in ksql.columns]
        )
        values = ksql.encode(array)
        if codec == "ksql":
            self.decode, self.encode = ksql.decode, ksql.encode
        elif format == "JSON_SR":
            plain = kcodec.KsqlCodec("JSON", REGISTERED)
            values = plain.encode(array)
            self.decode, self.encode = plain.decode, plain.encode
        else:
            serde = kcodec.Serde(
                format, registry, topic=format, schema=ksql.schema, reader_schema=ksql.schema
            )
            array = serde.deserialize(values)
            self.decode, self.encode = serde.deserialize, serde.serialize
        self.values, self.array = values, array

    def time_decode(self, format: str, codec: str) -> None:
        self.decode(self.values)

    def time_encode(self, format: str, codec: str) -> None:
        self.encode(self.array)

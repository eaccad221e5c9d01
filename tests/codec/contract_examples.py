"""A codec of each format, with rows that it reads and writes: what the tests of `contracts.py` are of."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any, NamedTuple

import pyarrow as pa

from kcodec import (
    AvroCodec,
    ConnectJsonCodec,
    DecimalCodec,
    JsonCodec,
    JsonSchemaCodec,
    KsqlCodec,
    MessageCodec,
    ProtobufCodec,
    Serde,
)


class SerdeCodec:
    """A serde, called as codecs are."""

    def __init__(self, **arguments: Any) -> None:
        self._serde = Serde("AVRO", "memory://contracts", topic="contracts", schema=ORDER, **arguments)
        # The schema is registered with the first row.
        self.encode(AvroCodec(ORDER).decode(AVRO[:1]))
        self.arrow_type = self._serde.arrow_type

    def decode(self, values: Any, errors: str = "raise", **options: Any) -> Any:
        return self._serde.deserialize(values, errors=errors, **options)

    def encode(self, array: Any, errors: str = "raise", **options: Any) -> Any:
        return self._serde.serialize(array, errors=errors, **options)


class Example(NamedTuple):
    """A codec, and rows to try it with.

    Attributes
    ----------
    make : callable
        Makes the codec; every call makes an equal one.
    payloads : list
        What is decoded, without nulls: bytes, or str where the codec writes text.
    rows : list
        What they hold.
    bad : bytes or str
        A payload that is refused, unless the format takes any bytes,
    code : str
        for this reason.
    unwritable : pyarrow.Array
        One row that is not written.
    other : callable
        Makes a codec that is not equal.
    as_text : bool
        Whether binary and text columns of the same bytes are the same.
    """

    make: Callable[[], Any]
    payloads: list
    rows: list
    bad: bytes | str | None
    code: str
    unwritable: pa.Array | None
    other: Callable[[], Any]
    as_text: bool = True

    @property
    def is_text(self) -> bool:
        return bool(self.payloads) and isinstance(self.payloads[0], str)

    def column(self, payloads: list) -> pa.Array:
        """Make a column of payloads."""
        return pa.array(payloads, pa.string() if self.is_text else pa.binary())


ORDER = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": "int"},
        {"name": "note", "type": ["null", "string"]},
        {"name": "tags", "type": {"type": "array", "items": "string"}},
        {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
    ],
}

ROWS = [
    {"id": 1, "note": None, "tags": [], "price": Decimal("1.56")},
    {"id": -64, "note": "é" * 20, "tags": ["a", "bc"], "price": Decimal("-0.01")},
    {"id": 2**31 - 1, "note": "", "tags": ["x" * 40], "price": Decimal("9999999.99")},
]

AVRO = [
    b"\x02\x00\x00\x04\x00\x9c",
    b"\x7f\x02\x50" + "é".encode() * 20 + b"\x04\x02a\x04bc\x00\x02\xff",
    b"\xfe\xff\xff\xff\x0f\x02\x00\x02\x50" + b"x" * 40 + b"\x00\x08\x3b\x9a\xc9\xff",
]

#: As Java's converters and ksqlDB write them, too.
DOCUMENTS = [
    b'{"id":1,"note":null,"tags":[],"price":1.56}',
    f'{{"id":-64,"note":"{"é" * 20}","tags":["a","bc"],"price":-0.01}}'.encode(),
    f'{{"id":2147483647,"note":"","tags":["{"x" * 40}"],"price":9999999.99}}'.encode(),
]

KIND = pa.struct(
    [
        pa.field("id", pa.int32(), nullable=False),
        ("note", pa.string()),
        ("tags", pa.list_(pa.string())),
        ("price", pa.decimal128(9, 2)),
    ]
)

CONNECT = {
    "type": "struct",
    "fields": [
        {"field": "id", "type": "int32"},
        {"field": "note", "type": "string", "optional": True},
        {"field": "tags", "type": "array", "items": {"type": "string"}},
        {
            "field": "price",
            "type": "bytes",
            "name": "org.apache.kafka.connect.data.Decimal",
            "version": 1,
            "parameters": {"scale": "2", "connect.decimal.precision": "9"},
        },
    ],
}

DOCUMENT = {
    "type": "object",
    "properties": {
        "id": {"type": "integer", "connect.type": "int32"},
        "note": {"type": ["string", "null"]},
        "tags": {"type": "array", "items": {"type": "string"}},
        "price": {
            "type": "number",
            "title": "org.apache.kafka.connect.data.Decimal",
            "connect.type": "bytes",
            "connect.parameters": {"scale": "2", "connect.decimal.precision": "9"},
        },
    },
    "required": ["id"],
}

MESSAGE = """{"type": "data", "name": "Order", "validVersions": "0", "flexibleVersions": "0+", "fields": [
    {"name": "Id", "type": "int32", "versions": "0+"},
    {"name": "Note", "type": "string", "versions": "0+", "nullableVersions": "0+"},
    {"name": "Tags", "type": "[]string", "versions": "0+"},
    {"name": "Price", "type": "bytes", "versions": "0+", "taggedVersions": "0+", "tag": 0}]}"""

PROTO = """
    syntax = "proto3";
    message Order { int32 id = 1; optional string note = 2; repeated string tags = 3; string price = 4; }
"""

SQL = "`id` INT, `note` STRING, `tags` ARRAY<STRING>, `price` DECIMAL(9, 2)"

KSQL_AVRO = [
    b"\0\0\0\0\1" + row
    for row in (
        b"\x02\x02\x00\x02\x00\x02\x04\x00\x9c",
        b"\x02\x7f\x02\x50" + "é".encode() * 20 + b"\x02\x04\x02\x02a\x02\x04bc\x00\x02\x02\xff",
        b"\x02\xfe\xff\xff\xff\x0f\x02\x00\x02\x02\x02\x50" + b"x" * 40 + b"\x00\x02\x08\x3b\x9a\xc9\xff",
    )
]

KSQL_PROTOBUF = [
    b"\0\0\0\0\1\0" + row
    for row in (
        b"\x08\1\x22\x08\x0a\2\0\x9c\x10\3\x18\2",
        b"\x08\xc0"
        + b"\xff" * 8
        + b"\1\x12\x28"
        + "é".encode() * 20
        + b"\x1a\1a\x1a\2bc\x22\7\x0a\1\xff\x10\1\x18\2",
        b"\x08\xff\xff\xff\xff\7\x12\0\x1a\x28" + b"x" * 40 + b"\x22\x0a\x0a\4\x3b\x9a\xc9\xff\x10\x09\x18\2",
    )
]

CELLS = "`id` INT, `note` STRING, `price` DECIMAL(9, 2)"

UNWRITABLE = pa.array([{"id": 1 << 40, "note": None, "tags": [], "price": Decimal(1)}])


def enveloped(document: bytes, codec: ConnectJsonCodec) -> bytes:
    """Put a document into the envelope that a codec writes."""
    start = codec.encode(pa.array(ROWS[:1], codec.arrow_type))[0].as_py().partition(b'"payload":')[0]
    return start + b'"payload":' + document + b"}"


def registered_codec(name: str, **options: Any) -> KsqlCodec:
    """Return a codec of ksqlDB's whose schema is the first one of a registry."""
    codec = KsqlCodec(name, SQL, **{"registry": f"memory://contracts-{name}", "topic": "t", **options})
    codec.register()
    return codec


def examples() -> dict[str, Example]:
    connect = {"decimal_format": "NUMERIC"}
    lenient = {"schemas_enable": False, "compat": "connect", "tombstones": True, **connect}
    optional = {"VALUE_PROTOBUF_NULLABLE_REPRESENTATION": "OPTIONAL"}
    prices = [row["price"] for row in ROWS]
    cells = [{"id": row["id"], "note": "a,b" * row["id"], "price": row["price"]} for row in ROWS[:2]]
    cells[1]["note"] = '"é"'
    messages = [{**row, "price": str(row["price"]).encode()} for row in ROWS]
    wide = pa.array([Decimal("12345678.9")], pa.decimal128(9, 1))
    return {
        "avro": Example(
            lambda: AvroCodec(ORDER), AVRO, ROWS, b"\x02\x00\x00\x04\x00", "truncated", UNWRITABLE,
            lambda: AvroCodec(ORDER, large=True),
        ),
        "json": Example(
            lambda: JsonCodec(KIND), DOCUMENTS, ROWS, b'{"id":1,"note":7}', "json_type", UNWRITABLE,
            lambda: JsonCodec(KIND, nulls="omit"),
        ),
        "json schema": Example(
            lambda: JsonSchemaCodec(DOCUMENT), DOCUMENTS, ROWS, b'{"id":1,"note":7}', "json_type", UNWRITABLE,
            lambda: JsonSchemaCodec(DOCUMENT, unknown="keep"),
        ),
        "json schema, validated": Example(
            lambda: JsonSchemaCodec(DOCUMENT, validate=True), DOCUMENTS, ROWS, b'{"id":1,"tags":[7]}',
            "schema_violation", UNWRITABLE, lambda: JsonSchemaCodec(DOCUMENT),
        ),
        "connect": Example(
            lambda: ConnectJsonCodec(CONNECT, **connect),
            [enveloped(document, ConnectJsonCodec(CONNECT, **connect)) for document in DOCUMENTS],
            ROWS, DOCUMENTS[0], "json_type", UNWRITABLE, lambda: ConnectJsonCodec(CONNECT),
        ),
        "connect without schemas, lenient": Example(
            lambda: ConnectJsonCodec(CONNECT, **lenient), DOCUMENTS, ROWS, b'{"id":1}', "null_value", UNWRITABLE,
            lambda: ConnectJsonCodec(CONNECT, **{**lenient, "compat": None}),
        ),
        "decimals": Example(
            lambda: DecimalCodec(2, 9), [b"\x00\x9c", b"\xff", b"\x3b\x9a\xc9\xff"], prices, b"", "empty_decimal", wide,
            lambda: DecimalCodec(2, 10), as_text=False,
        ),
        "decimals in Base64": Example(
            lambda: DecimalCodec(2, 9, output="base64"), ["AJw=", "/w==", "O5rJ/w=="], prices, "A", "invalid_base64",
            wide, lambda: DecimalCodec(2, 9), as_text=False,
        ),
        "ksqlDB's JSON": Example(
            lambda: KsqlCodec("JSON", SQL), DOCUMENTS, ROWS, b'{"id":1.5}', "inexact", UNWRITABLE,
            lambda: KsqlCodec("JSON", SQL, compat="ksqldb"),
        ),
        "ksqlDB's DELIMITED": Example(
            lambda: KsqlCodec("DELIMITED", CELLS), [b'1,"a,b",1.56', '"-64","""é""",-0.01'.encode()], cells, b"x",
            "column_count", pa.array([{"id": 1 << 40}]),
            lambda: KsqlCodec("DELIMITED", CELLS, properties={"delimiter": ";"}),
        ),
        "ksqlDB's KAFKA": Example(
            lambda: KsqlCodec("KAFKA", "V INT"), [b"\0\0\0\1", b"\xff\xff\xff\xff"], [{"V": 1}, {"V": -1}], b"\0",
            "truncated", pa.array([{"V": 1 << 40}]), lambda: KsqlCodec("KAFKA", "V BIGINT"),
        ),
        "ksqlDB's NONE": Example(
            lambda: KsqlCodec("NONE", ""), [], [], None, "", None, lambda: KsqlCodec("NONE", "", large=True),
        ),
        "ksqlDB's AVRO": Example(
            lambda: registered_codec("AVRO"), KSQL_AVRO, ROWS,
            b"\0\0\0\0\1\2", "truncated", UNWRITABLE,
            lambda: registered_codec("AVRO", large=True),
        ),
        "ksqlDB's PROTOBUF": Example(
            lambda: registered_codec("PROTOBUF", properties=optional),
            KSQL_PROTOBUF, ROWS, b"\0\0\0\0\1\0\x08", "truncated", UNWRITABLE,
            lambda: registered_codec("PROTOBUF", topic="u"),
        ),
        "ksqlDB's PROTOBUF_NOSR": Example(
            lambda: KsqlCodec("PROTOBUF_NOSR", SQL, properties=optional), [row[6:] for row in KSQL_PROTOBUF], ROWS,
            b"\x08", "truncated", UNWRITABLE, lambda: KsqlCodec("PROTOBUF_NOSR", SQL),
        ),
        "ksqlDB's JSON_SR": Example(
            lambda: registered_codec("JSON_SR"),
            [b"\0\0\0\0\1" + document for document in DOCUMENTS], ROWS, b'\0\0\0\0\1{"id":1.5}', "inexact", UNWRITABLE,
            lambda: registered_codec("JSON_SR", topic="u"),
        ),
        "ksqlDB's windows": Example(
            lambda: KsqlCodec("KAFKA", "V INT", is_key=True, window="SESSION"),
            [b"\0\0\0\1" + bytes(7) + b"\2" + bytes(7) + b"\1"],
            [{"V": 1, "WINDOWSTART": 1, "WINDOWEND": 2}], b"\0" * 9, "truncated", None,
            lambda: KsqlCodec("KAFKA", "V INT", is_key=True, window="HOPPING", window_size=5),
        ),
        "protobuf": Example(
            lambda: ProtobufCodec(PROTO),
            [
                b"\x08\1\x22\0041.56",
                b"\x08\xc0" + b"\xff" * 8 + b"\1\x12\x28" + "é".encode() * 20 + b"\x1a\1a\x1a\2bc\x22\5-0.01",
                b"\x08\xff\xff\xff\xff\7\x12\0\x1a\x28" + b"x" * 40 + b"\x22\x0a9999999.99",
            ],
            [{**row, "price": str(row["price"])} for row in ROWS], b"\x08\1\x22\5", "truncated",
            pa.array([{"id": 1 << 40}]), lambda: ProtobufCodec(PROTO, large=True),
        ),
        "messages": Example(
            lambda: MessageCodec(MESSAGE, 0),
            [
                b"\0\0\0\1\0\1\1\0\5\0051.56",
                b"\xff\xff\xff\xc0\x29" + "é".encode() * 20 + b"\3\2a\3bc\1\0\6\6-0.01",
                b"\x7f\xff\xff\xff\1\2\x29" + b"x" * 40 + b"\1\0\x0b\x0b9999999.99",
            ],
            messages, b"\0\0\0\1\0\1", "truncated", pa.array([{"id": 1 << 40}]),
            lambda: MessageCodec(MESSAGE, 0, large=True),
        ),
    }  # fmt: skip


EXAMPLES = examples()

#: Not a codec, but what it does with columns is what they do.
SERDE = Example(
    SerdeCodec, [b"\0\0\0\0\1" + payload for payload in AVRO], ROWS, b"\0\0\0\0\1\2\0", "truncated", UNWRITABLE,
    SerdeCodec,
)  # fmt: skip

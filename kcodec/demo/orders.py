"""Orders to show kcodec with: three versions of a schema, and framed values in which they alternate."""

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from kcodec._lazy import compute as pc
from kcodec.registry import SchemaRegistry
from kcodec.serde.serde import Serde

if TYPE_CHECKING:
    import numpy as np

TOPIC = "orders"

#: Bytes of the frame: a zero and the schema id.
_FRAME = 5
_MONEY = {"type": "bytes", "logicalType": "decimal", "precision": 12, "scale": 2}
_MILLIS = {"type": "long", "logicalType": "timestamp-millis"}
_MICROS = {"type": "long", "logicalType": "timestamp-micros"}
_START = 1_750_000_000_000_000


def _schema(version: int) -> str:
    """Return the order schema in one of its versions; each can be read as every later one."""
    states = ["NEW", "PAID", "SHIPPED"] + ["CANCELLED"] * (version > 1)
    address = [{"name": name, "type": "string"} for name in ("street", "city", "country")]
    line = [
        {"name": "sku", "type": "string"},
        {"name": "quantity", "type": "int" if version == 1 else "long"},
        {"name": "price", "type": _MONEY},
    ]
    card = [{"name": "network", "type": "string"}, {"name": "last4", "type": "string"}]
    transfer = [{"name": "iban", "type": "string"}, {"name": "cleared", "type": "boolean"}]
    fields: list[dict[str, Any]] = [
        {"name": "id", "type": "long"},
        {"name": "customer", "type": "string"},
        {"name": "status", "type": {"type": "enum", "name": "Status", "symbols": states}},
        {"name": "total", "type": _MONEY},
        {"name": "created", "type": _MILLIS},
        {"name": "address", "type": {"type": "record", "name": "Address", "fields": address}},
        {
            "name": "lines",
            "type": {"type": "array", "items": {"type": "record", "name": "Line", "fields": line}},
        },
        {"name": "attributes", "type": {"type": "map", "values": "string"}},
        {
            "name": "payment",
            "type": [
                {"type": "record", "name": "Card", "fields": card},
                {"type": "record", "name": "Transfer", "fields": transfer},
            ],
        },
        {"name": "weight", "type": "float" if version < 3 else "double"},
        {"name": "note", "type": ["null", "string"], "default": None},
    ]
    if version > 1:
        fields.append({"name": "paid", "type": ["null", _MICROS], "default": None})
        fields.append({"name": "channel", "type": "string", "default": "web"})
    if version > 2:
        fields.append({"name": "points", "type": ["null", "int"], "default": None})
        fields[10] = {**fields[10], "name": "comment", "aliases": ["note"]}
    return json.dumps({"type": "record", "name": "Order", "namespace": "shop", "fields": fields})


#: The versions, oldest first.
SCHEMAS = tuple(_schema(version) for version in (1, 2, 3))


class Orders(NamedTuple):
    """Framed values, and the version (1 to 3) that each was written with: null for tombstones and damaged rows."""

    values: pa.BinaryArray
    versions: pa.Int8Array


def make_orders(registry: SchemaRegistry, rows: int, topic: str = TOPIC) -> Orders:
    """Register the versions of the schema and write orders with all of them: the same ones each time.

    Versions alternate at random, one row in a hundred is a tombstone, and a few rows are damaged, each in another way.

    >>> import kcodec.registry
    >>> orders = make_orders(kcodec.registry.open("memory://doc-orders"), 1000)
    >>> len(orders.values), sorted(orders.versions.unique().drop_null().to_pylist())
    (1000, [1, 2, 3])
    """
    import numpy as np

    random = np.random.default_rng(7)
    version_of = random.integers(0, len(SCHEMAS), rows)
    tombstones = random.random(rows) < 0.01
    written = [
        Serde("AVRO", registry, topic=topic, schema=text).serialize(
            _records(number, np.flatnonzero(version_of == number - 1), random)
        )
        for number, text in enumerate(SCHEMAS, 1)
    ]
    place = np.empty(rows, np.int64)
    first = 0
    for number, column in enumerate(written):
        place[version_of == number] = first + np.arange(len(column))
        first += len(column)

    intact = pa.concat_arrays(written)
    candidates = np.flatnonzero(~tombstones)
    chosen = random.choice(candidates, min(len(_DAMAGE), len(candidates)), replace=False)
    damaged = [
        damage(intact[int(place[row])].as_py()) for damage, row in zip(_DAMAGE, sorted(chosen), strict=False)
    ]
    place[np.sort(chosen)] = first + np.arange(len(damaged))
    values = pa.concat_arrays([intact, pa.array(damaged, pa.binary())]).take(pa.array(place, mask=tombstones))
    gone = tombstones.copy()
    gone[chosen] = True
    return Orders(values, pa.array((version_of + 1).astype(np.int8), mask=gone))


def _records(version: int, ids: "np.ndarray[Any, Any]", random: "np.random.Generator") -> pa.StructArray:
    """Make the orders of one version, one for each id."""
    import numpy as np

    rows = len(ids)

    def some(share: float) -> "np.ndarray[Any, Any]":
        """Choose the rows that are null."""
        return random.random(rows) >= share

    def pick(texts: list[str], count: int = rows) -> pa.Array:
        return pa.array(texts).take(pa.array(random.integers(0, len(texts), count)))

    def struct(fields: dict[str, pa.Array], mask: Any = None) -> pa.StructArray:
        return pa.StructArray.from_arrays(
            list(fields.values()), list(fields), mask=None if mask is None else pa.array(mask)
        )

    states = ["NEW", "PAID", "SHIPPED"] + ["CANCELLED"] * (version > 1)
    counts = random.integers(0, 4, rows)
    starts = pa.array(np.concatenate([[0], np.cumsum(counts)]), pa.int32())
    items = int(counts.sum())
    quantity = random.integers(1, 20, items)
    lines = struct(
        {
            "sku": pick([f"SKU-{number:05d}" for number in range(5000)], items),
            "quantity": pa.array(quantity, pa.int32() if version == 1 else pa.int64()),
            "price": _money(random.integers(99, 100_000, items)),
        }
    )
    # The keys of one map differ: they are taken in turn.
    held = random.integers(0, 3, rows)
    ends = np.concatenate([[0], np.cumsum(held)])
    turn = np.arange(int(held.sum())) - np.repeat(ends[:-1], held)
    attributes = pa.MapArray.from_arrays(
        pa.array(ends, pa.int32()),
        pa.array(["campaign", "referrer"]).take(pa.array(turn)),
        pick(["spring", "newsletter", "søk", "partner"], len(turn)),
    )
    by_card = random.random(rows) < 0.7
    payment = {
        "member0": struct(
            {
                "network": pick(["visa", "mastercard", "amex"]),
                "last4": pick([f"{n:04d}" for n in range(10000)]),
            },
            ~by_card,
        ),
        "member1": struct(
            {
                "iban": pick([f"DE{n:020d}" for n in range(1000)]),
                "cleared": pa.array(random.random(rows) < 0.5),
            },
            by_card,
        ),
    }
    created = _START + ids.astype(np.int64) * 37_000
    columns: dict[str, pa.Array] = {
        "id": pa.array(ids.astype(np.int64)),
        "customer": pick([f"{name} {n}" for name in ("Ana", "Björn", "Chen", "Dalia") for n in range(500)]),
        "status": pick(states),
        "total": _money(random.integers(100, 50_000_000, rows)),
        "created": pa.array(created).cast(pa.timestamp("us", "UTC")),
        "address": struct(
            {
                "street": pick([f"{n} Harbour Street" for n in range(1, 200)]),
                "city": pick(["Oslo", "Zürich", "東京", "Boston"]),
                "country": pick(["NO", "CH", "JP", "US"]),
            }
        ),
        "lines": pa.ListArray.from_arrays(starts, lines),
        "attributes": attributes,
        "payment": struct(payment),
        "weight": pa.array((random.random(rows) * 30).astype(np.float32 if version < 3 else np.float64)),
        "comment" if version > 2 else "note": _with_nulls(pick(["leave at the door", "gift"]), some(0.2)),
    }
    if version > 1:
        paid = pa.array(created + random.integers(0, 10**9, rows), mask=some(0.6))
        columns["paid"] = paid.cast(pa.timestamp("us", "UTC"))
        columns["channel"] = pick(["web", "app", "shop"])
    if version > 2:
        columns["points"] = pa.array(random.integers(0, 500, rows).astype(np.int32), mask=some(0.5))
    return struct(columns)


def _money(cents: "np.ndarray[Any, Any]") -> pa.Array:
    """Make decimals of 12 digits, two behind the point."""
    import numpy as np

    words = np.zeros((len(cents), 2), np.int64)
    words[:, 0] = cents
    return pa.Array.from_buffers(pa.decimal128(12, 2), len(cents), [None, pa.py_buffer(words)])


def _with_nulls(array: pa.Array, missing: "np.ndarray[Any, Any]") -> pa.Array:
    return pc.if_else(pa.array(missing), pa.scalar(None, array.type), array)


def _customer(value: bytes) -> int:
    """Find the length of the customer's name: behind the frame and the id."""
    position = _FRAME
    while value[position] & 0x80:
        position += 1
    return position + 1


def _bad_text(value: bytes) -> bytes:
    first = _customer(value) + 1
    return value[:first] + b"\xff" + value[first + 1 :]


def _bad_state(value: bytes) -> bytes:
    length = _customer(value)
    status = length + 1 + value[length] // 2
    return value[:status] + b"\x7e" + value[status + 1 :]


#: What may happen to a value on its way.
_DAMAGE: tuple[Callable[[bytes], bytes], ...] = (
    lambda value: value[:-3],
    lambda _: b'{"id": 7, "customer": "Ana"}',
    lambda value: b"\0" + (2**31 - 1).to_bytes(4, "big") + value[_FRAME:],
    lambda _: b"\0\0",
    _bad_text,
    _bad_state,
    lambda value: value[:_FRAME] + b"\xff" * 11,
)

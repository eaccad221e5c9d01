"""JSON documents that the benchmarks share, from a fixed seed: 15 fields, two of them decimals, about 300 bytes."""

import functools
import json
import random

import pyarrow as pa

TYPE = pa.struct(
    [
        ("order", pa.int64()),
        ("customer", pa.string()),
        ("email", pa.string()),
        ("created", pa.int64()),
        ("status", pa.string()),
        ("amount", pa.decimal128(18, 4)),
        ("tax", pa.decimal128(12, 2)),
        ("quantity", pa.int32()),
        ("score", pa.float64()),
        ("gift", pa.bool_()),
        (
            "address",
            pa.struct([("street", pa.string()), ("city", pa.string()), ("zip", pa.int32())]),
        ),
        ("tags", pa.list_(pa.string())),
        ("note", pa.string()),
        ("ratio", pa.float64()),
        ("device", pa.string()),
    ]
)

_WORDS = ["alpha", "beta", "gamma", "kafka", "spark", "arrow", "column", "orchid", "Zürich", "crème", "東京"]


def document(r: random.Random, row: int, order: list[str] | None = None, shuffled: bool = False) -> bytes:
    """Return a document, with its keys in an order of their own if one is given, or in any."""
    quoted = functools.partial(json.dumps, ensure_ascii=False)
    street = f"{r.randrange(99)} {r.choice(_WORDS)} st"
    address = (
        f'{{"street":{quoted(street)},"city":{quoted(r.choice(_WORDS))},"zip":{r.randrange(10**4, 10**5)}}}'
    )
    fields = [
        ("order", str(10_000_000 + row)),
        ("customer", quoted(f"{r.choice(_WORDS)} {r.choice(_WORDS)}")),
        ("email", f'"u{r.randrange(10**6)}@example.org"'),
        ("created", str(1_700_000_000_000 + 37 * row)),
        ("status", f'"{r.choice(("NEW", "PAID", "SHIPPED", "CANCELLED"))}"'),
        ("amount", f"{r.randrange(1, 10**5)}.{r.randrange(10**4):04d}"),
        ("tax", f"{r.randrange(10**4)}.{r.randrange(100):02d}"),
        ("quantity", str(r.randrange(1, 200))),
        ("score", repr(round(r.uniform(0, 1000), 6))),
        ("gift", r.choice(("true", "false"))),
        ("address", address),
        ("tags", "[" + ",".join(quoted(word) for word in r.choices(_WORDS, k=r.randrange(4))) + "]"),
        ("note", quoted(f"call {r.choice(_WORDS)}") if r.random() < 0.6 else "null"),
        ("ratio", repr(round(r.random(), 9))),
        ("device", f'"{r.getrandbits(32):08x}"'),
    ]
    if order is not None:
        fields.sort(key=lambda field: order.index(field[0]))
    if shuffled:
        r.shuffle(fields)
    return ("{" + ",".join(f'"{name}":{value}' for name, value in fields) + "}").encode()


@functools.cache
def documents(rows: int, shuffled: bool = False) -> pa.BinaryArray:
    """Return documents with their keys in a steady order, or shuffled in each."""
    r = random.Random(11)
    return pa.array([document(r, row, shuffled=shuffled) for row in range(rows)], pa.binary())

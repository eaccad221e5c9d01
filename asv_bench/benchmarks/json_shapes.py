"""JSON documents of several shapes, from fixed seeds: what producers write, each of which costs a decoder otherwise."""

import functools
import json
import random
from collections.abc import Callable
from typing import NamedTuple

import pyarrow as pa

from .json_documents import TYPE, document, documents


class Shape(NamedTuple):
    """Documents, and the type that they are read as."""

    type: pa.StructType
    values: pa.BinaryArray


def _columns(kind: pa.StructType, row: Callable[[random.Random, int], str | dict], rows: int) -> Shape:
    """Return documents that a function writes, or makes a dict of."""
    r = random.Random(7)
    made = (row(r, number) for number in range(rows))
    texts = [
        each if isinstance(each, str) else json.dumps(each, ensure_ascii=False, separators=(",", ":"))
        for each in made
    ]
    return Shape(kind, pa.array([text.encode() for text in texts], pa.binary()))


def _orders(rows: int) -> Shape:
    return Shape(TYPE, documents(rows))


def _two_producers(rows: int) -> Shape:
    """Return orders whose keys come in one of two orders, at random."""
    r = random.Random(7)
    names = TYPE.names
    orders = [names, random.Random(8).sample(names, len(names))]
    return Shape(TYPE, pa.array([document(r, row, r.choice(orders)) for row in range(rows)], pa.binary()))


def _shuffled(rows: int) -> Shape:
    return Shape(TYPE, documents(rows, True))


_SENTENCES = (
    "the quick brown fox jumps over the lazy dog",
    'he said "never again" and left',
    "see C:\\Users\\kafka\\log for more\n",
    "total:\t12 items\r\n",
    "a line that goes on for a while without anything in it that would have to be escaped at all",
)


def _text(rows: int) -> Shape:
    """Return 1 to 2 kB of text with quotes, backslashes, ends of lines and \\u escapes, one in about 40 characters."""
    kind = pa.struct([("id", pa.int64()), ("title", pa.string()), ("body", pa.string()), ("ok", pa.bool_())])

    def row(r: random.Random, number: int) -> str:
        body = " ".join(r.choices(_SENTENCES, k=r.randrange(20, 45)))
        title = "caf\u00e9 " + r.choice(_SENTENCES)
        return json.dumps({"id": number, "title": title, "body": body, "ok": True}, separators=(",", ":"))

    return _columns(kind, row, rows // 4)


def _lines(rows: int) -> Shape:
    """Return orders with up to eight lines, objects in a list."""
    line = pa.struct(
        [
            ("sku", pa.string()),
            ("quantity", pa.int32()),
            ("price", pa.float64()),
            ("gift", pa.bool_()),
            ("note", pa.string()),
        ]
    )
    kind = pa.struct([("id", pa.int64()), ("customer", pa.string()), ("lines", pa.list_(line))])

    def order(r: random.Random, number: int) -> dict:
        lines = [
            {
                "sku": f"SKU-{r.randrange(100_000):05}",
                "quantity": r.randrange(1, 200),
                "price": round(r.uniform(0, 100), 2),
                "gift": r.random() < 0.2,
                "note": "x" * r.randrange(20) if r.random() < 0.5 else None,
            }
            for _ in range(r.randrange(9))
        ]
        return {"id": number, "customer": f"customer {r.randrange(10_000)}", "lines": lines}

    return _columns(kind, order, rows // 2)


_SCRIPTS = (
    "Съешь же ещё этих мягких французских булок, да выпей чаю",
    "天地玄黄宇宙洪荒日月盈昃辰宿列張",
    "いろはにほへとちりぬるを",
    "Zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich",
    "🙂 κόσμε 🚀",
)


def _non_ascii(rows: int) -> Shape:
    """Return text of several scripts as it stands, in UTF-8."""
    names = ["name", "street", "city", "comment", "reply"]
    kind = pa.struct([("id", pa.int64()), *((name, pa.string()) for name in names)])

    def row(r: random.Random, number: int) -> dict:
        texts = {name: r.choice(_SCRIPTS)[: r.randrange(4, 60)] for name in names[:3]}
        return {"id": number, **texts, **{name: " ".join(r.choices(_SCRIPTS, k=3)) for name in names[3:]}}

    return _columns(kind, row, rows // 2)


def _numbers(rows: int) -> Shape:
    """Return numbers of all lengths: computed doubles, short ones, exponents, integers of up to 19 digits."""
    fields = [
        *((f"computed{at}", pa.float64()) for at in range(6)),
        *((f"short{at}", pa.float64()) for at in range(3)),
        *((f"exponent{at}", pa.float64()) for at in range(3)),
        *((f"big{at}", pa.int64()) for at in range(4)),
    ]

    def row(r: random.Random, number: int) -> dict:
        return {
            **{f"computed{at}": r.uniform(-1, 1) * 10 ** (at - 1) for at in range(6)},
            **{f"short{at}": round(r.uniform(0, 1000), at + 1) for at in range(3)},
            **{f"exponent{at}": r.uniform(-1, 1) * 10.0 ** r.randrange(-60, 60) for at in range(3)},
            **{f"big{at}": r.getrandbits(r.randrange(20, 63)) * r.choice((1, -1)) for at in range(4)},
        }

    return _columns(pa.struct(fields), row, rows)


def _embeddings(rows: int) -> Shape:
    """Return vectors of 768 doubles, as a model gives them."""
    kind = pa.struct([("id", pa.int64()), ("vector", pa.list_(pa.float64()))])
    return _columns(
        kind, lambda r, number: {"id": number, "vector": [r.gauss(0, 0.05) for _ in range(768)]}, rows // 50
    )


_LEAVES: tuple[tuple[pa.DataType, Callable[[random.Random], object]], ...] = (
    (pa.int64(), lambda r: r.getrandbits(r.randrange(4, 40))),
    (pa.string(), lambda r: f"value {r.getrandbits(r.randrange(4, 60)):x}"),
    (pa.float64(), lambda r: round(r.uniform(0, 1000), r.randrange(1, 7))),
    (pa.bool_(), lambda r: r.random() < 0.5),
)


def _fields(count: int) -> pa.StructType:
    return pa.struct([(f"field_{at}", _LEAVES[at % len(_LEAVES)][0]) for at in range(count)])


def _sparse(rows: int) -> Shape:
    """Return 3 to 9 of 60 fields, other ones in each document, in the order of the type."""

    def row(r: random.Random, number: int) -> dict:
        chosen = sorted(r.sample(range(60), r.randrange(3, 10)))
        return {f"field_{at}": _LEAVES[at % len(_LEAVES)][1](r) for at in chosen}

    return _columns(_fields(60), row, rows)


def _wide(rows: int) -> Shape:
    """Return 200 fields."""

    def row(r: random.Random, number: int) -> dict:
        return {f"field_{at}": _LEAVES[at % len(_LEAVES)][1](r) for at in range(200)}

    return _columns(_fields(200), row, rows // 10)


def _deep(rows: int) -> Shape:
    """Return objects in objects, eight levels of them, and a list of objects in each second one."""
    point = pa.struct([("x", pa.int64()), ("label", pa.string())])
    kind = pa.struct([("leaf", pa.float64())])
    for _ in range(8):
        kind = pa.struct(
            [("id", pa.int64()), ("name", pa.string()), ("points", pa.list_(point)), ("below", kind)]
        )

    def node(r: random.Random, level: int) -> dict:
        if level == 8:
            return {"leaf": round(r.random(), 6)}
        points = [
            {"x": r.randrange(1000), "label": f"p{r.randrange(100)}"}
            for _ in range(r.randrange(4) * (level % 2))
        ]
        name = f"node {r.getrandbits(20):x}"
        return {"id": r.getrandbits(30), "name": name, "points": points, "below": node(r, level + 1)}

    return _columns(kind, lambda r, number: node(r, 0), rows // 2)


_SHAPES = {
    "orders": _orders,
    "two producers": _two_producers,
    "shuffled": _shuffled,
    "lines": _lines,
    "text": _text,
    "non-ASCII": _non_ascii,
    "numbers": _numbers,
    "embeddings": _embeddings,
    "sparse": _sparse,
    "wide": _wide,
    "deep": _deep,
}
SHAPES = tuple(_SHAPES)


@functools.cache
def shape(name: str, rows: int) -> Shape:
    """Return documents of a shape: about as many bytes as `rows` orders have, if they are large."""
    return _SHAPES[name](max(rows, 50))

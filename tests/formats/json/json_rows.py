"""Rows of JSON objects of many fields, as producers write them, and what compares both implementations on rows."""

import random
from functools import partial

import pyarrow as pa
import side_by_side

from kcodec.plan import Limits

KERNEL = "formats.json._kernel"
LIMITS = Limits(max_depth=6, max_expansion=60, max_number_length=45)
same_decode = partial(side_by_side.same_decode, KERNEL, limits=LIMITS)

KINDS = [
    pa.field("id", pa.int64(), False),
    pa.field("name", pa.string()),
    pa.field("price", pa.decimal128(12, 2)),
    pa.field("much", pa.decimal256(60, 3)),
    pa.field("small", pa.int8()),
    pa.field("number of a long name", pa.int32()),
    pa.field("score", pa.float64()),
    pa.field("share", pa.float32()),
    pa.field("gift", pa.bool_()),
    pa.field("address", pa.struct([("street", pa.string()), ("place", pa.struct([("zip", pa.uint32())]))])),
    pa.field("tags", pa.list_(pa.string())),
    pa.field("sizes", pa.list_(pa.int16())),
    pa.field("counts", pa.map_(pa.string(), pa.int64())),
    pa.field("at", pa.timestamp("us", "UTC")),
    pa.field(
        "lines", pa.list_(pa.struct([("sku", pa.string()), ("qty", pa.int32()), ("rate", pa.float64())]))
    ),
    pa.field("note", pa.string(), False),
]

#: Values for each: good ones, and then odd ones.
VALUES = {
    "id": "1 | 12345678 | 123456789012345 | -7 | 0 || 1234567890123456 | -0 | 01 | 1.0 | 1e3 | - | 9e",
    "name": f'"a" | "" | null | "{"x" * 31}" | "{"é" * 16}" | "{"y" * 80}" || "\\u00e9\\n" | 7 | nul | "a',
    "price": '1.25 | 0.5 | 3 | -2.50 | null || 1234567890.12 | 12345678901.1 | 1. | .5 | 00.5 | 1.005 | "1.25" | 1.2.3',
    "much": "1.125 | -0.001 | null || 12345678901234567890.5 | 1.1234",
    "small": "127 | -128 | null || 128 | 1.5",
    "number of a long name": "1 | -2147483648 | null || 2147483648",
    "score": "1.5 | 0.1 | 123.456789 | 1234567.1234567 | -0.5 || 1234567.12345678 | -0.0 | "
    "0 | -0 | 0.1234567890123 | 1e-7 | 9007199254740993 | -",
    "share": "1.5 | 0.1 | null || 16777217",
    "gift": "true | false | null || trues | tru",
    "address": '{"street":"s","place":{"zip":12345}} | {"street":"s","place":null} | null || {} | '
    '{"place":{"zip":1},"street":"é"} | {"street":"s","place":{"zip":1,"zip":2}}',
    "tags": '[] | ["a"] | ["a","é","c"] || ["a",null] | null | ["a",] | ["a" | ["\\""] | [ "a" ]',
    "sizes": "[] | [1,2,3] || [32768] | [,] | [1 , 2] | null",
    "counts": '{} | {"a":1} || {"a":1,"a":2} | null',
    "at": '"2024-05-06T07:08:09Z" | null || "never"',
    "lines": '[] | [{"sku":"a","qty":1,"rate":0.5}] | null | [{"sku":"{é}]\\\\","qty":-2,"rate":null},'
    '{"sku":null,"qty":3,"rate":12.25}] || [{}] | [{"qty":1,"rate":1.5,"sku":"a"}] | '
    '[{"sku":"\\"{","qty":1,"rate":1.5}] | [{"sku":"a","qty":1.5}] | [{"sku":"a","qty":1},] | '
    '[ {"sku" : "a", "qty" : 1, "rate" : 2.5} , {"sku" : "b", "qty" : 2, "rate" : 3.5} ] | '
    '[{"sku":"a"}{"sku":"b"}] | [null] | [1,{"sku":"a"}] | [{"sku":"a","qty":1] | [{"sku":"a"}} | '
    '[{"sku":"a","qty":1,"rate":2.5,"more":[{"sku":[]}]}] | {"sku":"a"} | [{"sku":"a","sku":"b"}]',
    "note": '"n" | "é" | "\U0001f600" || "\x1f"',
}


def line(row):
    return f'{{"sku":"s{row}","qty":{row},"rate":0.25}}'


def usual(row, order="steady"):
    """Return a document of the fields of KINDS as parts; orders are few, of two, or any: each row has its own."""
    parts = {
        "id": f"{row}",
        "name": f'"n{row}{"é" * (row % 5)}"' if row % 4 else "null",
        "price": f"{row}.25",
        "much": f"{row}.125",
        "small": f"{row % 100}",
        "number of a long name": f"{row % 1000}",
        "score": f"{row}.5",
        "share": "0.5",
        "gift": "true" if row % 3 else "false",
        "address": f'{{"street":"s{row}","place":{{"zip":{row}}}}}',
        "tags": f'["a","é{row}"]' if row % 2 else "[]",
        "sizes": f"[1,{row % 1000}]",
        "counts": f'{{"a":{row}}}',
        "at": '"2024-05-06T07:08:09Z"',
        "lines": f"[{','.join([line(row)] * (row % 4))}]",
        "note": f'"{"x" * (row % 40)}"',
    }
    names = list(parts)
    if order != "steady":
        random.Random(row if order == "any" else row * row % 7 % 2).shuffle(names)
    return {name: parts[name] for name in names}


def written(parts):
    return ("{" + ",".join(f'"{name}":{value}' for name, value in parts.items()) + "}").encode()

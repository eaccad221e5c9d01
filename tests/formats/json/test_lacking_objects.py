"""Objects that a share of the rows lack, in objects and in lists: both implementations make the same of them."""

import random

import pyarrow as pa
from cases import cases
from json_rows import KINDS, VALUES, same_decode, usual, written

from kcodec.formats.json.plan import json_plan

#: Odd values of each field, most of which are wrong.
ODD = {name: text.split(" || ")[1].split(" | ") for name, text in VALUES.items() if " || " in text}
INNER = pa.struct(KINDS)
LIST = pa.list_(pa.struct([("n", pa.int64()), ("place", INNER.field("address").type), ("s", pa.string())]))
KIND = pa.struct([*KINDS[:4], ("inner", INNER), ("items", LIST), ("empty", pa.struct([])), *KINDS[4:]])


class Rows:
    """Documents drawn by seed, whose objects are null or absent in one share of the rows, and odd in another."""

    def __init__(self, seed, order):
        self.random = random.Random(seed)
        self.order = order
        self.lack = self.random.choice([0.02, 0.1, 0.3, 0.6])
        self.odd = self.random.choice([0, 0, 0.01, 0.1])

    def object(self, parts, name, text):
        """Give an object a field, unless this row lacks it."""
        drawn = self.random.random() / self.lack
        if drawn > 0.5:
            parts[name] = "null" if drawn < 1 else text

    def order_of(self, row):
        return self.order if self.order != "rare" else "any" if row % 40 == 25 else "steady"

    def fields(self, row):
        parts = usual(row, self.order_of(row))
        address = parts.pop("address")
        if self.random.random() < self.odd:
            name = self.random.choice([*ODD])
            parts[name] = self.random.choice(ODD[name])
        self.object(parts, "address", address)
        return parts

    def item(self, row):
        parts = {"n": str(row)}
        self.object(parts, "place", f'{{"street":"é{row}","place":{{"zip":{row}}}}}')
        return written({**parts, "s": f'"{row}"'}).decode()

    def document(self, row):
        if self.random.random() < self.odd / 4:
            return self.random.choice([None, b"null", b"", b"[]"])
        parts = self.fields(row)
        items = ",".join(self.item(row) for _ in range(self.random.choice([0, 1, 3])))
        for name, text in (
            ("inner", written(self.fields(row + 1)).decode()),
            ("items", f"[{items}]"),
            ("empty", "{}"),
        ):
            self.object(parts, name, text)
        names = list(parts)
        order = self.order_of(row)
        if order != "steady":
            random.Random(row if order == "any" else row % 2).shuffle(names)
        document = written({name: parts[name] for name in names})
        if self.order == "rare" and row % 13 == 3:
            # As Python's json writes it.
            document = document.replace(b'":', b'": ').replace(b',"', b', "')
        return document[: len(document) // 2] if self.random.random() < self.odd / 4 else document


@cases("order", ["steady", "rare", "few", "any"])
@cases("seed", range(4))
def test_objects_that_some_rows_lack(seed, order):
    rows = Rows(seed, order)
    count = rows.random.choice([7, 70, 150])
    same_decode([json_plan(KIND, "decode")], [rows.document(row) for row in range(count)])

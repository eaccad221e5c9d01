"""Keys of ksqlDB's JSON in any case: both implementations find the same of them in columns of many rows."""

import json
import random

import pyarrow as pa
import pytest
from side_by_side import answer, on_both

from kcodec import KsqlCodec

COLUMNS = """
    ID BIGINT, NAME STRING, `Mixed` STRING, A_NAME_OF_MORE_THAN_SIXTEEN_BYTES DOUBLE, `ÄÖÜ` STRING, `twin` INT,
    TWIN INT, INNER STRUCT<X INT, A_SECOND_LONG_NAME_OF_A_FIELD STRING>, ITEMS ARRAY<STRUCT<N INT, LABEL STRING>>,
    LAST BOOLEAN
"""
STYLES = {
    "upper": str,
    "lower": str.lower,
    "camel": lambda name: name[0].lower() + name[1:].title(),
    "odd": lambda name: "".join(random.choice((letter, letter.lower())) for letter in name),
}


class Documents:
    """Documents drawn by seed: each in one case of its keys or another, in one order or several."""

    def __init__(self, seed, usual):
        self.random = random.Random(seed)
        self.usual = usual
        self.share = self.random.choice([0, 0.02, 0.5])
        self.shuffled = self.random.choice([0, 0, 0.1, 1])
        self.separators = self.random.choice([(",", ":"), (", ", ": ")])

    def keys(self, value, style):
        if isinstance(value, list):
            return [self.keys(each, style) for each in value]
        if not isinstance(value, dict):
            return value
        pairs = [(STYLES[style](name), self.keys(each, style)) for name, each in value.items()]
        if self.random.random() < self.shuffled:
            self.random.shuffle(pairs)
        return dict(pairs)

    def document(self, row):
        value = {
            "ID": row,
            "NAME": f"n{row}",
            "Mixed": "é",
            "A_NAME_OF_MORE_THAN_SIXTEEN_BYTES": row / 2,
            "ÄÖÜ": "ü",
            "TWIN": row % 7,
            "INNER": {"X": row, "A_SECOND_LONG_NAME_OF_A_FIELD": "x" * (row % 5)},
            "ITEMS": [{"N": at, "LABEL": str(row)} for at in range(row % 4)],
            "LAST": row % 2 == 0,
        }
        style = self.usual if self.random.random() >= self.share else self.random.choice([*STYLES])
        text = json.dumps(self.keys(value, style), ensure_ascii=False, separators=self.separators)
        # A name that comes twice, in one case and in another.
        if self.random.random() < self.share / 4:
            text = text[:-1] + self.random.choice(
                [',"id":-1}', ',"ID":-2}', ',"name":"last","Name":"l"}', "}}"]
            )
        if self.random.random() < self.share / 8:
            text = self.random.choice(['{"iD":-3,', '{"ID":-4,']) + text[1:]
        return text.encode()


@pytest.mark.parametrize("usual", [*STYLES])
@pytest.mark.parametrize("seed", range(4))
def test_keys_in_any_case(seed, usual):
    random.seed(seed)
    documents = Documents(seed, usual)
    values = pa.array([documents.document(row) for row in range(documents.random.choice([50, 150]))])
    codec = KsqlCodec("JSON", COLUMNS)
    on_both(lambda: answer(*codec.decode(values, errors="report")))

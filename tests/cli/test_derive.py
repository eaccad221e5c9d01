"""``kcodec registry derive``: the schema of a file of rows."""

import json

import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

from kcodec.cli.main import main

ROWS = pa.table({"id": [1, 2], "note": ["a", "b"]})
WRITERS = {
    "parquet": pq.write_table,
    "arrow": feather.write_feather,
    "csv": csv.write_csv,
    "jsonl": lambda table, path: path.write_text("\n".join(map(json.dumps, table.to_pylist())) + "\n\n"),
}


@pytest.mark.parametrize("suffix", WRITERS)
def test_files(tmp_path, capsys, suffix):
    path = tmp_path / f"orders.{suffix}"
    WRITERS[suffix](ROWS, path)
    assert main(["registry", "derive", str(path), "--name", "Order", "--namespace", "shop"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "type": "record",
        "name": "Order",
        "namespace": "shop",
        "fields": [
            {"name": "id", "type": ["null", "long"], "default": None},
            {"name": "note", "type": ["null", "string"], "default": None},
        ],
    }
    assert main(["registry", "derive", str(path), "--format", "ddl"]) == 0
    assert capsys.readouterr().out == "id BIGINT, note STRING\n"


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("orders.txt", "", "orders.txt: what it is, its name says: .parquet, "),
        ("orders.parquet", "x", "orders.parquet: "),
        ("orders.jsonl", "{", "row 0 is not JSON"),
        ("orders.jsonl", "\n\n", "orders.jsonl: there are no rows"),
        ("orders.csv", "", "orders.csv: "),
        ("orders.arrow", "x", "orders.arrow: "),
        ("none.parquet", None, "none.parquet"),
    ],
)
def test_what_is_no_file_of_rows(tmp_path, capsys, name, text, message):
    if text is not None:
        (tmp_path / name).write_text(text)
    assert main(["registry", "derive", str(tmp_path / name)]) == 2
    assert message in capsys.readouterr().err

"""Measure ``from_connect_json`` in Spark beside a codec of zero cost and Spark's own ``from_json``.

``python spark_json.py``: documents of 15 fields from Parquet, into the noop sink, in a classic session. The codec of
zero cost runs in the same kind of Arrow UDF and returns columns that were there before: it costs what Spark costs.
Rounds are interleaved; medians are printed and written as JSON. How many amounts ``from_json`` reads as something else,
or as null, is counted too: at the scale that they have, at a smaller one, and in Base64, the converter's default.
"""

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from benchmarks.json_documents import TYPE, documents
from rounds import command_line
from spark_peers import ROOT, classic, medians_of, zero_cost

import kcodec

#: As `TYPE`, but for a scale that is less than that of the amounts in the documents.
NARROW = pa.struct(
    [field.with_type(pa.decimal128(18, 2)) if field.name == "amount" else field for field in TYPE]
)
PLAIN = {"schemas.enable": "false"}


def measure(rows: int, rounds: int) -> dict[str, Any]:
    """Run the three in turn, and compare what they give."""
    from pyspark.sql import functions as F
    from pyspark.sql.functions import arrow_udf

    from kcodec_spark import from_connect_json, to_connect_json
    from kcodec_spark.types import from_arrow_type

    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"] = ROOT
    spark = classic({})
    kind = from_arrow_type(TYPE)
    with tempfile.TemporaryDirectory() as folder:
        pq.write_table(pa.table({"value": documents(rows)}), Path(folder, "rows.parquet"))
        file = str(Path(folder, "decoded.arrow"))
        decoded = kcodec.ConnectJsonCodec(TYPE, schemas_enable=False).decode(documents(rows).slice(0, 20_000))
        with pa.ipc.new_file(file, pa.schema([("r", TYPE)])) as writer:
            writer.write_batch(pa.record_batch({"r": decoded}))
        frame = spark.read.parquet(str(Path(folder, "rows.parquet"))).repartition(2).cache()
        frame.count()
        text = F.col("value").cast("string")
        cases = {
            "kcodec": from_connect_json("value", kind, PLAIN),
            "zero": arrow_udf(zero_cost(file, "r"), kind)("value"),
            "from_json": F.from_json(text, kind),
        }
        frames = {name: frame.select(column.alias("r")) for name, column in cases.items()}
        result: dict[str, Any] = {**medians_of(frames, rounds)}
        # At a scale that the amounts do not fit, from_json rounds where kcodec gives an error.
        whole = from_connect_json("value", kind, PLAIN)
        base64 = to_connect_json(whole, kind, PLAIN).cast("string")
        readings = {
            "amounts changed, scale 4": F.from_json(text, kind),
            "amounts changed, scale 2": F.from_json(text, from_arrow_type(NARROW)),
            "amounts changed, Base64": F.from_json(base64, kind),
        }
        counts = {
            name: frame.where(~read["amount"].eqNullSafe(whole["amount"])).count()
            for name, read in readings.items()
        }
    spark.stop()
    result["kcodec / zero"] = result["kcodec"] / result["zero"]
    result["from_json / kcodec"] = result["from_json"] / result["kcodec"]
    return {**result, **counts}


def main() -> None:
    parser = command_line(__doc__, rows=300_000, rounds=5)
    parser.add_argument("--json", type=Path, help="where to write the figures")
    given = parser.parse_args()
    result = measure(given.rows, given.rounds)
    for name, value in result.items():
        print(f"{name:32} {value:10.3f}" if isinstance(value, float) else f"{name:32} {value:10}")
    if given.json:
        given.json.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Print the suites that a change touches, as an expression for asv's ``--bench``; nothing if it touches none.

``python asv_bench/touched.py [BASE]`` compares HEAD with where it left BASE (main).

    asv continuous --bench "$(python asv_bench/touched.py)" main HEAD
"""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
BENCHMARKS = ROOT / "asv_bench" / "benchmarks"
#: All suites: modules of benchmarks; others are what suites share.
SUITES = {path.stem for path in BENCHMARKS.glob("*.py") if "def time_" in path.read_text()} | {"memory"}
#: Those of schemas and what is written with them.
SCHEMAS = {"avro", "json_schema", "ksql", "protobuf", "registry"}
#: Suites that a file is measured by: the longest beginning of its path counts. What is not here is not measured.
MEASURED = {
    # What every format stands on: errors, wire, columns, plan, codec.
    "kcodec/": SUITES,
    "kcodec/cli/": set(),
    "kcodec/contracts/": {"contracts"},
    "kcodec/demo/": set(),
    "kcodec/kafka/": set(),  # needs a broker: by hand, topic_parts.py and end_to_end.py
    "kcodec/ksql/": {"ksql"},
    "kcodec/formats/avro/": {"avro", "ksql", "lists", "memory", "registry", "spark", "threads"},
    "kcodec/formats/connect/": {"connect"},
    "kcodec/formats/debezium/": {"avro", "connect"},
    "kcodec/formats/decimals.py": {"connect"},
    "kcodec/formats/json/": {"connect", "json", "json_schema", "ksql"},
    "kcodec/formats/json_schema/": {"json_schema", "ksql", "registry"},
    "kcodec/formats/protobuf/": {"ksql", "protobuf", "registry"},
    "kcodec/formats/language.py": SCHEMAS,
    "kcodec/formats/payloads.py": SCHEMAS,
    "kcodec/formats/printing.py": SCHEMAS,
    "kcodec/formats/schema_format.py": SCHEMAS,
    "kcodec/protocol/": {"batches", "protocol"},
    "kcodec/registry/": {"registry"},
    "kcodec/server/": set(),
    "kcodec/serde/": {"avro", "contracts", "json_schema", "ksql", "protobuf", "spark"},
    "kcodec_spark/": {"spark"},
    "kcodec_spark/kafka/": set(),
    "setup.py": SUITES,
    "asv_bench/asv.conf.json": SUITES,
    "asv_bench/benchmarks/__init__.py": SUITES,
    "asv_bench/benchmarks/avro_records.py": {"avro", "lists", "memory", "spark", "threads"},
    "asv_bench/benchmarks/json_documents.py": {"connect", "json", "json_schema"},
    **{f"asv_bench/benchmarks/{suite}.py": {suite} for suite in SUITES},
}


def measured_by(path: str) -> set[str]:
    """Return the suites that a file of the repository is measured by."""
    found = max((start for start in MEASURED if path.startswith(start)), key=len, default=None)
    return set() if found is None else MEASURED[found]


def touched(paths: list[str]) -> str:
    """Return what selects the suites of some files."""
    suites = set().union(*map(measured_by, paths))
    return rf"^({'|'.join(sorted(suites))})\." if suites else ""


def main() -> None:
    base = sys.argv[1] if len(sys.argv) > 1 else "main"
    changed = subprocess.run(
        ["git", "diff", "--name-only", f"{base}...HEAD"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    print(touched(changed.stdout.splitlines()))


if __name__ == "__main__":
    main()

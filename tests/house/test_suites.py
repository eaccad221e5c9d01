"""What a change touches is measured by the suites that there are."""

import ast
import importlib.util
from pathlib import Path

ROOT = Path(__file__).parents[2]
spec = importlib.util.spec_from_file_location("touched", ROOT / "asv_bench" / "touched.py")
touched = importlib.util.module_from_spec(spec)
spec.loader.exec_module(touched)


def shared_by(path: Path) -> set[str]:
    """Return the modules of benchmarks that a suite imports."""
    imports = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ImportFrom)]
    return {node.module or "__init__" for node in imports if node.level == 1}


def test_suites_exist():
    assert {path.stem for path in touched.BENCHMARKS.glob("*.py")} >= touched.SUITES
    assert {"avro", "json", "memory", "protobuf", "spark"} <= touched.SUITES
    assert set().union(*touched.MEASURED.values()) == touched.SUITES


def test_what_is_named_exists():
    assert [path for path in touched.MEASURED if not (ROOT / path).exists()] == []


def test_every_format_is_measured():
    for folder in sorted((ROOT / "kcodec" / "formats").iterdir()):
        if (folder / "__init__.py").exists():
            assert touched.measured_by(f"kcodec/formats/{folder.name}/codec.py") < touched.SUITES, folder


def test_suites_are_touched_by_what_they_share():
    for suite in touched.SUITES:
        for name in shared_by(touched.BENCHMARKS / f"{suite}.py"):
            assert suite in touched.measured_by(f"asv_bench/benchmarks/{name}.py"), (suite, name)


def test_touched():
    assert touched.touched(["kcodec/formats/json/_row.pyx"]) == r"^(connect|json|json_schema|ksql)\."
    assert touched.touched(["kcodec/protocol/batch/scan.py", "README.md"]) == r"^(batches|protocol)\."
    assert touched.touched(["kcodec/wire/binary/varint.h"]).count("|") == len(touched.SUITES) - 1
    assert touched.touched(["README.md", "kcodec/cli/main.py", "kcodec/server/process.py"]) == ""

"""A layer imports and cimports only what stands to its left in the line below."""

import ast
import re
from pathlib import Path

import pytest

import kcodec

ROOT = Path(__file__).parents[1]
#: errors -> wire -> columns -> plan -> formats -> protocol -> registry -> serde -> kcodec_spark, cli
RANKS = {
    "_impl": 0,
    "errors": 0,
    "wire": 1,
    "columns": 2,
    "plan": 3,
    "formats": 4,
    "protocol": 5,
    "registry": 6,
    "serde": 7,
    "cli": 8,
    "kcodec_spark": 8,
}
#: Modules beside the one that gives its name to their layer.
BESIDE = {
    "serde_config": "serde",
    "serde_frames": "serde",
    "serde_metrics": "serde",
    "demo": "cli",
    "cli_protocol": "cli",
    "cli_dump_log": "cli",
    "demo_orders": "cli",
    "demo_kafka": "cli",
}
#: What the other package takes from the top of this one.
PUBLIC = {"", *kcodec.__all__, "__version__"} - RANKS.keys()
CIMPORT = re.compile(r"^\s*(?:from\s+(\S+)\s+c?import\b|c?import\s+([\w., ]+))", re.MULTILINE)
SOURCES = sorted(
    path
    for package in ("kcodec", "kcodec_spark")
    for pattern in ("*.py", "*.pyi", "*.pyx", "*.pxd")
    for path in (ROOT / package).rglob(pattern)
    # The list of public names names all layers, and the package's marker for Cython is empty.
    if path.parent != ROOT / "kcodec" or path.stem != "__init__"
)


def module_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def layer_of(module: str) -> str | None:
    """Name the layer that a module belongs to; None for those of others."""
    parts = module.split(".")
    if parts[0] == "kcodec_spark":
        return "kcodec_spark"
    if parts[0] != "kcodec":
        return None
    name = parts[1] if len(parts) > 1 else ""
    return BESIDE.get(name, name)


def imports(path: Path) -> set[str]:
    """Collect what a file imports, wherever in it; names of the package itself with what is taken from it."""
    if path.suffix in (".pyx", ".pxd"):
        found = set()
        for source, modules in CIMPORT.findall(path.read_text(encoding="utf-8")):
            found |= {source} if source else {name.split()[0] for name in modules.split(",")}
        return found
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            if node.module == "kcodec":
                found |= {f"kcodec.{alias.name}" for alias in node.names}
            else:
                found.add(node.module)
    return found


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_go_to_the_left(path):
    layer = layer_of(module_of(path))
    assert layer in RANKS, f"{path} has no place in the line of layers"
    for module in imports(path):
        other = layer_of(module)
        if layer == "kcodec_spark" and other in PUBLIC:
            continue
        if other not in (None, layer, "__version__"):
            assert other in RANKS, f"{path} imports {module}: import it from the module that defines it"
            assert RANKS[other] < RANKS[layer], f"{path} imports {module}"


def test_the_scan_sees_cimports():
    found = imports(ROOT / "kcodec" / "formats" / "_avro.pyx")
    assert {"kcodec.wire.cursor", "kcodec.plan.program", "kcodec.errors"} <= found

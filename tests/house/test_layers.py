"""The import rules: a layer imports only what stands to its left, no modules import each other in a circle.

Imports inside functions and for type checkers count like any other, and so does ``cimport``.
"""

import ast
import functools
import importlib
import re
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import kcodec

ROOT = Path(__file__).parents[2]
#: From left to right; layers of the same rank do not know each other.
LAYERS = (
    ("errors", "arguments", "_daemon_threads", "_files", "_fork", "_impl", "_lazy"),
    ("frames",),
    ("_kept", "_threads", "java", "wire"),
    ("columns",),
    ("plan",),
    ("objects",),
    ("codec",),
    ("formats", "protocol"),
    ("registry",),
    ("contracts",),
    ("serde", "confluent"),
    ("kafka",),
    ("ksql",),
    ("kcodec_spark", "server", "cli", "demo", "__main__"),
)
RANKS = {layer: rank for rank, layers in enumerate(LAYERS) for layer in layers}
#: The formats, from the first that stands on none to the last; those of a rank do not know each other.
FORMAT_RANKS = (
    ("json", "language", "table", "tagged", "time_types"),
    # What a schema language is asked: `language` by registries, `payloads` by serdes, `printing` by consoles.
    ("payloads",),
    ("printing",),
    ("schema_format",),
    ("derived",),
    ("avro", "protobuf"),
    # Connect's model: its schemas, its values, and both as JSON.
    ("connect.model", "connect.schema", "connect.values", "connect.json_reader", "connect.json_writer"),
    ("json_schema",),
    ("connect", "decimals"),
    ("debezium",),
)
#: The rooms and files of Avro, from schemas to what registries know of it.
AVRO_RANKS = (
    ("schema",),
    ("changes", "json", "tagged"),
    ("plans",),
    ("_kernel_py", "rows"),
    ("block", "kernel"),
    ("objects",),
    ("_encode", "codec"),
    ("_kernel", "payloads"),
    ("schema_format",),
)
#: The rooms and files of Protobuf, from message types to what registries know of it.
PROTOBUF_RANKS = (
    ("descriptor",),
    ("messages",),
    ("language",),
    ("changes", "json", "schema"),
    ("exported", "types"),
    ("plans", "tagged"),
    ("_kernel_py", "rows"),
    ("block", "kernel", "objects"),
    # Messages that are one value: those that are as usual together, then all others.
    ("known_columns",),
    ("conversions",),
    ("_encode", "codec"),
    ("_kernel", "payloads"),
    ("schema_format",),
)
#: The rooms and files of columns, from types and what columns are made of to what is taken and given.
COLUMN_RANKS = (
    ("faults", "shown", "types"),
    ("built",),
    ("rows",),
    ("arrays", "framed"),
    ("stream", "written"),
)
#: The rooms and files of Kafka's topics, from connections to what is asked of whole topics.
KAFKA_RANKS = (
    ("messages", "views"),
    ("connection",),
    ("offsets", "payload_format"),
    ("report", "conditions", "groups", "topics", "writing"),
    ("fetching",),
    ("reading",),
    ("inspection",),
)
#: The rooms and files of Spark's functions, from what is asked for and what a session can do to what users call.
SPARK_RANKS = (
    ("options", "session"),
    ("types",),
    ("workers",),
    ("functions",),
    ("ship",),
    (
        *("avro", "connect_json", "debezium", "json", "json_schema", "protobuf", "protocol"),
        *("dead_letters", "decimals", "frames", "merge", "metrics", "register", "schema", "segments"),
    ),
    ("kafka", "lag"),
    ("ksql",),
    ("demo",),
)
#: The rooms and files of bytes, from single values to what users call.
WIRE_RANKS = (
    ("_faults", "binary", "single", "slices"),
    ("text",),
    ("buffers",),
    ("_framing_py",),
    ("_framing",),
    ("checksum", "decimal", "endian", "framing", "utf8", "varint"),
)
#: The packages whose parts have ranks of their own.
RANKS_WITHIN = {
    "kcodec.columns": COLUMN_RANKS,
    "kcodec.formats": FORMAT_RANKS,
    "kcodec.formats.avro": AVRO_RANKS,
    "kcodec.formats.protobuf": PROTOBUF_RANKS,
    "kcodec.kafka": KAFKA_RANKS,
    "kcodec.wire": WIRE_RANKS,
    "kcodec_spark": SPARK_RANKS,
}
#: What row loops are built of: the compiled modules and twins of these layers are made for those of the layers above,
#: and are private to other Python alone.
BUILT_OF = ("wire", "columns", "plan", "objects")
#: Lines that a file may have: what is longer does more than one thing.
MAX_LINES = 700
#: The only modules beside the packages.
FILES = {
    "__init__",
    "__main__",
    "errors",
    "_daemon_threads",
    "_files",
    "_fork",
    "_kept",
    "_impl",
    "_lazy",
    "_threads",
    "codec",
    "frames",
    "arguments",
}
#: What the other package takes from the top of this one.
PUBLIC = {"", *kcodec.__all__, "__version__"} - RANKS.keys()
#: The console script starts the demo and the server, which are imported only then; the package starts the script.
ALLOWED = {("cli", "demo"), ("cli", "server"), ("__main__", "cli")}
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


MODULES = {module_of(path) for path in SOURCES}


def layer_of(module: str) -> str | None:
    """Return the layer that a module belongs to; None for those of others."""
    parts = module.split(".")
    if parts[0] == "kcodec_spark":
        return "kcodec_spark"
    return (parts[1] if len(parts) > 1 else "") if parts[0] == "kcodec" else None


@functools.cache
def imports(path: Path) -> set[str]:
    """Collect what a file imports, wherever in it; of names taken from a package, those that are modules."""
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
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= names if node.module == "kcodec" else (names & MODULES) or {node.module}
    return found


def test_each_file_has_a_layer():
    assert [path for path in SOURCES if layer_of(module_of(path)) not in RANKS] == []


def test_imports_go_to_the_left():
    wrong = []
    for path in SOURCES:
        layer = layer_of(module_of(path))
        for module in imports(path):
            other = layer_of(module)
            if other is None or other == layer or (layer, other) in ALLOWED:
                continue
            if layer in LAYERS[-1] and other in PUBLIC:
                continue
            # What has no rank is to be imported from the module that defines it.
            if other not in RANKS or RANKS[other] >= RANKS[layer]:
                wrong.append(f"{path} imports {module}")
    assert wrong == []


def part_of(module: str, package: str) -> str | None:
    """Return the part of a package with ranks that a module belongs to; None for those of other packages."""
    name = module.removeprefix(f"{package}.")
    parts = {part for rank in RANKS_WITHIN[package] for part in rank}
    found = [part for part in parts if name != module and f"{name}.".startswith(f"{part}.")]
    return max(found, key=len, default=None)


@pytest.mark.parametrize("package", RANKS_WITHIN)
def test_parts_import_what_is_of_a_rank_below(package):
    ranks = {part: rank for rank, parts in enumerate(RANKS_WITHIN[package]) for part in parts}
    wrong = []
    for path in SOURCES:
        module = module_of(path)
        part = part_of(module, package)
        assert (part is None) == (not module.startswith(f"{package}.")), f"{module} has no rank"
        for each in imports(path):
            other = part_of(each, package)
            if part is None or other is None:
                continue
            same = other.split(".")[0] == part.split(".")[0]
            if ranks[other] > ranks[part] or (ranks[other] == ranks[part] and not same):
                wrong.append(f"{path} imports {each}")
    assert wrong == []


def ops_of_plans() -> dict[str, set[str]]:
    """Collect the ops of each format's plans, by the module that has them."""
    own = re.compile(r"^class Op\b", re.MULTILINE)
    modules = sorted(module_of(path) for path in SOURCES if own.search(path.read_text(encoding="utf-8")))
    return {module: set(importlib.import_module(module).Op.__members__) for module in modules}


def test_ops_stand_with_their_format():
    homes = ops_of_plans()
    assert {(layer_of(module), module.rpartition(".")[2]) for module in homes} == {
        ("formats", "node"),
        ("protocol", "node"),
    }
    assert "UNION" in homes["kcodec.formats.avro.plans.node"]


def test_what_all_plans_share_names_no_op():
    named = re.compile(rf"\.({'|'.join(sorted(set().union(*ops_of_plans().values())))})\b")
    shared = [path for path in SOURCES if layer_of(module_of(path)) == "plan"]
    found = [(path.name, name) for path in shared for name in named.findall(path.read_text(encoding="utf-8"))]
    assert found == []
    avro = ROOT / "kcodec" / "formats" / "avro" / "rows" / "_program.pyx"
    assert {"FAIL", "UNION"} <= set(named.findall(avro.read_text(encoding="utf-8")))


def is_twin(module: str) -> bool:
    return module.endswith("_py")


def private_imports(path: Path) -> list[tuple[str, str]]:
    """Collect the private modules that a file imports, each behind the package that it belongs to."""
    found = []
    for other in imports(path):
        home, _, name = other.rpartition(".")
        while home and not name.startswith("_"):
            home, _, name = home.rpartition(".")
        if other.startswith("kcodec") and home not in ("", "kcodec") and not name.startswith("__"):
            found.append((home, other))
    return found


def test_private_modules_are_imported_by_their_own_package():
    wrong = []
    for path in SOURCES:
        module = module_of(path)
        is_compiled = path.suffix in (".pyx", ".pxd")
        for home, other in private_imports(path):
            if is_compiled or (is_twin(module) and is_twin(other)):
                if layer_of(home) in BUILT_OF:
                    continue
                # A format is one package to its row loops, the block loops within it included.
                home = ".".join(home.split(".")[:3])
            if not f"{module}.".startswith(f"{home}."):
                wrong.append(f"{path} imports {other}")
    assert wrong == []


def test_the_scan_sees_private_modules():
    formats = ROOT / "kcodec" / "formats"
    found = private_imports(formats / "avro" / "_kernel.pyx")
    assert {
        ("kcodec.plan", "kcodec.plan._decoder"),
        ("kcodec.formats.avro.block", "kcodec.formats.avro.block._decode"),
    } <= set(found)
    twin = ROOT / "kcodec" / "protocol" / "batch" / "_kernel_py.py"
    assert ("kcodec.wire.buffers", "kcodec.wire.buffers._crc32c_py") in private_imports(twin)


def test_no_modules_import_each_other():
    graph: dict[str, set[str]] = {}
    for path in SOURCES:
        # The lazy names of a package are for its users; within it, modules name each other.
        if path.stem == "__init__":
            continue
        module = module_of(path)
        graph.setdefault(module, set()).update(imports(path) & MODULES - {module})
    TopologicalSorter(graph).prepare()


def test_files_are_short():
    files = (path for package in ("kcodec", "kcodec_spark") for path in (ROOT / package).rglob("*"))
    code = [path for path in files if path.suffix in (".py", ".pyi", ".pyx", ".pxd", ".h")]
    assert len(code) > 500
    long = {path.name for path in code if path.read_text(encoding="utf-8").count("\n") > MAX_LINES}
    assert long == set()


def test_only_packages_stand_at_the_top():
    assert {path.stem for path in (ROOT / "kcodec").glob("*.p*") if path.is_file()} - {"py"} == FILES | {
        "py"
    } - {"py"}
    assert {path.stem for path in (ROOT / "kcodec" / "protocol").glob("*.py*")} == {"__init__", "connection"}
    assert {path.stem for path in (ROOT / "kcodec" / "kafka").glob("*.py*")} == {
        "__init__",
        "inspection",
        "offsets",
        "payload_format",
        "report",
        "views",
    }
    assert {path.stem for path in (ROOT / "kcodec" / "formats").glob("*.py*")} == {
        "__init__",
        "decimals",
        "derived",
        "language",
        "payloads",
        "printing",
        "schema_format",
        "table",
        "tagged",
        "time_types",
    }


def test_the_scan_sees_cimports():
    found = imports(ROOT / "kcodec" / "formats" / "avro" / "_kernel.pyx")
    assert {"kcodec.wire.binary.cursor", "kcodec.formats.avro.rows._program", "kcodec.plan.node"} <= found

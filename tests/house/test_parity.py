"""Compiled modules and their plain-Python twins offer the same, and errors have the same order everywhere."""

import importlib
import inspect
import re
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest
from cases import cases

from kcodec import CODES
from kcodec._impl import IMPLEMENTATIONS, kernel

ROOT = Path(__file__).parents[2]
COMPILED = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts) for path in (ROOT / "kcodec").rglob("*.pyx")
)
TWINS = [name for name in COMPILED if (ROOT / f"{name.replace('.', '/')}_py.py").exists()]


def public(module) -> dict[str, object]:
    """What a module offers: its ``__all__``, or what it or its parts define."""
    names = getattr(module, "__all__", None)
    if names is None:
        home = module.__name__
        names = [
            name
            for name, value in vars(module).items()
            if not name.startswith("_") and callable(value) and getattr(value, "__module__", "") == home
        ]
    return {name: getattr(module, name) for name in names}


def parameters(function) -> list[tuple[object, ...]]:
    return [(p.name, p.kind, p.default) for p in inspect.signature(function).parameters.values()]


def attributes(kind: type) -> set[str]:
    return {name for name in dir(kind) if not name.startswith("_")}


@cases("name", TWINS)
def test_twins_offer_the_same(name):
    native = public(importlib.import_module(name))
    # In plain Python a twin may also hold what compiled code has as inline functions.
    pure = public(importlib.import_module(f"{name}_py"))
    assert native, f"{name} offers nothing"
    assert set(native) <= set(pure)
    for each, value in native.items():
        if inspect.isclass(value):
            assert attributes(pure[each]) <= attributes(value), each
        else:
            assert parameters(value) == parameters(pure[each]), each


def test_the_kernels_have_twins():
    assert {
        "kcodec.formats.avro._kernel",
        "kcodec.columns.framed._frames",
        "kcodec.wire.buffers._varint",
    } <= set(TWINS)


@cases("name", COMPILED)
def test_compiled_modules_are_compiled(name):
    file = importlib.import_module(name).__file__
    assert file.endswith(tuple(EXTENSION_SUFFIXES)), file


def test_every_twin_is_the_twin_of_something():
    # What twins have in common; for compiled code that is a header.
    shared = {"kcodec.wire.buffers._column_py"}
    for path in (ROOT / "kcodec").rglob("_*_py.py"):
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        assert name in shared or name.removesuffix("_py") in COMPILED, name


def test_status_has_the_order_of_the_codes():
    text = (ROOT / "kcodec" / "wire" / "binary" / "status.pxd").read_text()
    names = [name.lower() for name in re.findall(r"^    ([A-Z][A-Z0-9_]*)\b", text, re.MULTILINE)]
    assert names[0] == "ok"
    assert names[1 : 1 + len(CODES)] == list(CODES)
    header = (ROOT / "kcodec" / "wire" / "binary" / "bits.h").read_text()
    numbers = {
        name.lower(): int(number) for name, number in re.findall(r"^    KC_(\w+) = (\d+)", header, re.M)
    }
    assert numbers["ok"] == 0
    assert numbers == {name: names.index(name) for name in numbers}


def test_the_implementation_is_chosen_in_one_place(monkeypatch):
    assert IMPLEMENTATIONS == ("native", "pure")
    monkeypatch.setenv("KCODEC_IMPL", "pure")
    assert kernel("formats.avro._kernel").__name__ == "kcodec.formats.avro._kernel_py"
    assert kernel("formats.avro._kernel", "native").__name__ == "kcodec.formats.avro._kernel"
    monkeypatch.setenv("KCODEC_IMPL", "fast")
    with pytest.raises(ValueError, match="'fast' is not one of native, pure"):
        kernel("formats.avro._kernel")

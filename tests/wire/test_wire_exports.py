"""Both implementations offer the same functions, and importing kcodec stays light."""

import doctest
import importlib
import importlib.machinery
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import kcodec
import kcodec.wire
from kcodec._impl import kernel
from kcodec.errors import CODES

KERNELS = ["_varint", "_endian", "_decimal", "_framing", "_utf8", "_crc32c"]
#: Functions for compiled code alone.
INTERNAL = ["_floats"]
MODULES = ["varint", "endian", "decimal", "framing", "utf8", "checksum", "slices"]
WIRE = Path(kcodec.wire.__file__).parent


def functions(module) -> dict[str, list[tuple[str, object]]]:
    """Name, parameters and defaults of what a module defines itself."""
    return {
        name: [(p.name, p.default) for p in inspect.signature(value).parameters.values()]
        for name, value in vars(module).items()
        if callable(value) and not name.startswith("_") and value.__module__ == module.__name__
    }


@pytest.mark.parametrize("name", KERNELS)
def test_twins_have_the_same_names_and_signatures(name):
    native, pure = kernel(f"wire.{name}", "native"), kernel(f"wire.{name}", "pure")
    own = functions(pure)
    shared = functions(native)
    assert shared
    assert {key: own[key] for key in shared} == shared
    assert native.__file__ != pure.__file__


def test_every_compiled_module_has_a_twin_and_a_stub():
    compiled = {
        path.name.removesuffix(suffix)
        for suffix in importlib.machinery.EXTENSION_SUFFIXES
        for path in WIRE.glob(f"*{suffix}")
    }
    assert {name for name in compiled if "." not in name} == {*KERNELS, *INTERNAL}
    for name in KERNELS:
        assert (WIRE / f"{name}_py.py").exists()
        assert (WIRE / f"{name}.pyi").exists()


def test_status_is_in_the_order_of_the_codes():
    text = (WIRE / "status.pxd").read_text()
    names = re.findall(r"^    ([A-Z][A-Z0-9_]+)\b", text, re.MULTILINE)
    assert [name.lower() for name in names[1 : len(CODES) + 1]] == list(CODES)


def test_public_names():
    assert kcodec.wire.__all__ == sorted(kcodec.wire.__all__)
    for name in kcodec.wire.__all__:
        assert getattr(kcodec.wire, name).__doc__


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_the_docs(impl, name):
    module = importlib.import_module(f"kcodec.wire.{name}")
    failed, _ = doctest.testmod(module)
    assert failed == 0


def test_importing_pulls_in_no_numpy():
    code = "import sys, kcodec.wire; assert not {'numpy', 'pyarrow'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)

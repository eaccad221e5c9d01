"""What stands beside compiled modules, what is public, and that importing it stays light."""

import doctest
import importlib
import importlib.machinery
import subprocess
import sys
from pathlib import Path

from cases import cases

import kcodec
import kcodec.wire

KERNELS = [
    "_framing",
    "buffers/_crc32c",
    "buffers/_decimal",
    "buffers/_endian",
    "buffers/_utf8",
    "buffers/_varint",
]
#: Functions for compiled code alone.
INTERNAL = ["text/_floats"]
MODULES = ["varint", "endian", "decimal", "framing", "utf8", "checksum", "slices"]
WIRE = Path(kcodec.wire.__file__).parent


def test_every_compiled_module_has_a_twin_and_a_stub():
    compiled = {
        path.relative_to(WIRE).as_posix().removesuffix(suffix)
        for suffix in importlib.machinery.EXTENSION_SUFFIXES
        for path in WIRE.rglob(f"*{suffix}")
    }
    assert {name for name in compiled if "." not in name} == {*KERNELS, *INTERNAL}
    for name in KERNELS:
        assert (WIRE / f"{name}_py.py").exists()
        assert (WIRE / f"{name}.pyi").exists()


def test_public_names():
    assert kcodec.wire.__all__ == sorted(kcodec.wire.__all__)
    for name in kcodec.wire.__all__:
        assert getattr(kcodec.wire, name).__doc__


@cases("name", MODULES)
def test_examples_in_the_docs(impl, name):
    module = importlib.import_module(f"kcodec.wire.{name}")
    failed, _ = doctest.testmod(module)
    assert failed == 0


def test_importing_pulls_in_no_numpy():
    code = "import sys, kcodec.wire; assert not {'numpy', 'pyarrow'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)

"""C headers of the package, compiled as a library that tests call."""

import ctypes
import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest

WIRE = Path(__file__).parents[2] / "kcodec" / "wire"


def compiled(source, folder, *flags):
    """Return the functions of a C source that includes headers of ``kcodec.wire``."""
    compiler = sysconfig.get_config_var("CC")
    if not WIRE.is_dir():
        pytest.skip("the sources are not here")
    if not compiler or not shutil.which(compiler.split()[0]):
        pytest.skip("there is no C compiler")
    (folder / "source.c").write_text(source)
    library = folder / "source.so"
    rooms = [f"-I{WIRE / room}" for room in ("binary", "text")]
    command = [compiler.split()[0], *flags, "-O2", "-shared", "-fPIC", *rooms, "-o", str(library)]
    subprocess.run([*command, str(folder / "source.c")], check=True)
    return ctypes.CDLL(str(library))

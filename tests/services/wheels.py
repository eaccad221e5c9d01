"""A wheel of what is compiled here, and environments that it is installed in, with nothing of this checkout."""

import shutil
import sys
from pathlib import Path

from processes import run

ROOT = Path(__file__).parents[2]
#: Makes a wheel of this Python and platform alone, as of what it compiles.
SETUP = """\
from setuptools import Distribution, setup
setup(distclass=type("Compiled", (Distribution,), {"has_ext_modules": lambda self: True}))
"""


def wheel(folder: Path) -> Path:
    """Make a wheel; what is compiled is taken as it is, instead of compiling it again."""
    sources, wheels = folder / "sources", folder / "wheels"
    sources.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, sources)
    for name in ("kcodec", "kcodec_spark"):
        shutil.copytree(
            ROOT / name, sources / name, ignore=shutil.ignore_patterns("__pycache__", "*.pyx", "*.c")
        )
    (sources / "MANIFEST.in").write_text("recursive-include kcodec *.so\n")
    (sources / "setup.py").write_text(SETUP)
    quiet = ("-q", "--no-deps", "--no-build-isolation", "--disable-pip-version-check")
    run(sys.executable, "-m", "pip", "wheel", *quiet, "-w", wheels, sources)
    [made] = wheels.iterdir()
    assert not made.name.endswith("-any.whl")
    return made


def environment(folder: Path, others: str, *extras: str) -> Path:
    """Install a wheel, with extras, where the packages of another Python are; gives the environment."""
    venv = folder / "venv"
    run(others, "-m", "venv", "--without-pip", venv)
    [packages] = (venv / "lib").glob("python*/site-packages")
    [theirs] = Path(others).parents[1].glob("lib/python*/site-packages")
    (packages / "others.pth").write_text(f"{theirs}\n")
    # Without an index: all that the wheel asks for has to be there.
    offline = ("-q", "--no-index", "--no-compile")
    made = f"{wheel(folder)}[{','.join(extras)}]" if extras else wheel(folder)
    run(venv / "bin" / "python", "-m", "pip", "install", *offline, made)
    return venv

"""The compiled modules; all other configuration is in pyproject.toml."""

import os
import sys
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

DEBUG = os.environ.get("KCODEC_DEBUG") == "1"

sources = sorted(Path("kcodec").rglob("*.pyx"))
if not sources:
    # A distribution without its .pyx files must fail to build, not become a package of plain Python.
    raise SystemExit("kcodec: no .pyx files found: the source distribution is incomplete")

shared = sorted(str(p) for pattern in ("*.pxd", "*.h") for p in Path("kcodec").rglob(pattern))
if sys.platform == "win32":
    flags = ["/Od", "/Zi"] if DEBUG else ["/O2"]
else:
    # Python's own flags ask for debug symbols, which are four fifths of a library. Those after the last -g count.
    flags = ["-O0", "-g"] if DEBUG else ["-O3", "-g0", "-fno-strict-aliasing"]
    if sys.platform == "linux":
        flags.append("-fno-plt")

extensions = [
    Extension(
        ".".join(path.with_suffix("").parts),
        [str(path)],
        depends=[str(path), *shared],
        include_dirs=["kcodec/wire/binary", "kcodec/wire/text"],
        extra_compile_args=flags,
        # What reads floats needs a newer C++ library than old clusters have.
        extra_link_args=["-static-libstdc++"] if sys.platform == "linux" else [],
    )
    for path in sources
]

directives = {
    "language_level": 3,
    "binding": True,
    "embedsignature": True,
    "embedsignature.format": "python",
    "cdivision": True,
    "wraparound": False,
    "boundscheck": DEBUG,
    "initializedcheck": DEBUG,
    "freethreading_compatible": True,
    "warn.unused": True,
    "warn.deprecated.DEF": True,
}

# Processes that share the work import this file, where Python starts them anew.
if __name__ == "__main__":
    setup(
        options={"build_ext": {"parallel": os.cpu_count() or 1}},
        ext_modules=cythonize(
            extensions,
            compiler_directives=directives,
            build_dir="build/cython",
            annotate=DEBUG,
            nthreads=0 if DEBUG else (os.cpu_count() or 1),
        ),
    )

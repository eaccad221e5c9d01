"""The packages as archives, as they are installed here, and the name of what was sent of them."""

import atexit
import functools
import hashlib
import shutil
import tempfile
import zipfile
from importlib.util import find_spec
from pathlib import Path

from kcodec import __version__

_EXCLUDED_SUFFIXES = frozenset([".c", ".cpp", ".h", ".pxd", ".pyc", ".pyi", ".pyx"])

#: Package -> name of the empty file that marks the latest archive of it.
_markers: dict[str, str] = {}


def shipped() -> str | None:
    """Return the name of the file that marks what `ship` sent from this process, or None if it sent nothing."""
    return _markers.get("kcodec")


def archive_of(package: str) -> Path:
    """Return the archive of a package, named after its content: a name always means the same content."""
    content = _content(package)
    digest = hashlib.sha256()
    for path, data in content:
        digest.update(f"{path}\0{len(data)}\0".encode())
        digest.update(data)
    name = f"{package}-{__version__}-{digest.hexdigest()[:16]}"
    archive = _folder() / f"{name}.zip"
    _markers[package] = name
    if not archive.exists():
        content.append((name, b""))
        with zipfile.ZipFile(archive, "w") as file:
            for path, data in content:
                # A fixed time: the same content is the same archive.
                file.writestr(zipfile.ZipInfo(path, (2020, 1, 1, 0, 0, 0)), data, zipfile.ZIP_DEFLATED)
    return archive


@functools.cache
def _folder() -> Path:
    """Make the folder of the archives; executors of a classic session fetch them there until the end."""
    folder = tempfile.mkdtemp(prefix="kcodec-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


def _content(package: str) -> list[tuple[str, bytes]]:
    spec = find_spec(package)
    root = Path(str(spec and spec.origin)).parent
    return [
        (path.relative_to(root).as_posix(), path.read_bytes())
        for path in sorted(root.rglob("*"))
        if path.is_file() and path.suffix not in _EXCLUDED_SUFFIXES and "__pycache__" not in path.parts
    ]

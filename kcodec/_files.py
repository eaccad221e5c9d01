"""Files that users name."""

import errno
import os
import stat
from collections.abc import Iterable

__all__ = ["check_apart", "check_end"]


def check_apart(target: str | os.PathLike[str], sources: Iterable[str | os.PathLike[str]]) -> None:
    """Check that a file that is to be written, which loses what is in it, is none of those that are read.

    Raises
    ------
    OSError
        If it is, under this or another name.
    """
    for source in sources:
        try:
            is_same = os.path.samefile(source, target)
        except OSError:
            continue
        if is_same:
            raise OSError(errno.EINVAL, "what is read would be written over", str(target))


def check_end(path: str | os.PathLike[str]) -> None:
    """Check that a path, if something is there, names what has an end: no device, such as ``/dev/zero``.

    Raises
    ------
    OSError
        If it is a device other than the null one.
    """
    try:
        found = os.stat(path)
    except OSError:
        # Whoever opens it says what is wrong.
        return
    if (stat.S_ISCHR(found.st_mode) or stat.S_ISBLK(found.st_mode)) and not os.path.samefile(
        path, os.devnull
    ):
        raise OSError(errno.EINVAL, "this is a device, not a file", str(path))

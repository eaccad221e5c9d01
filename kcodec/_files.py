"""Files that users name."""

import errno
import os
import stat
from collections.abc import Iterable

__all__ = ["check_apart", "check_end"]


def check_apart(target: str | os.PathLike[str], sources: Iterable[str | os.PathLike[str]]) -> None:
    """Refuse (`OSError`) a file that is to be written, and loses what is in it, if it is one of those that are read.

    It is the same file under another name, too.
    """
    for source in sources:
        try:
            is_same = os.path.samefile(source, target)
        except OSError:
            continue
        if is_same:
            raise OSError(errno.EINVAL, "what is read would be written over", str(target))


def check_end(path: str | os.PathLike[str]) -> None:
    """Refuse (`OSError`) a path of what has no end, such as the device ``/dev/zero``, but for the null device."""
    try:
        found = os.stat(path)
    except OSError:
        # Whoever opens it says what is wrong.
        return
    if (stat.S_ISCHR(found.st_mode) or stat.S_ISBLK(found.st_mode)) and not os.path.samefile(
        path, os.devnull
    ):
        raise OSError(errno.EINVAL, "this is a device, not a file", str(path))

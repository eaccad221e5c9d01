"""Files that users name."""

import errno
import os
import stat

__all__ = ["check_end"]


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
        raise OSError(errno.EINVAL, "a device is no file", str(path))

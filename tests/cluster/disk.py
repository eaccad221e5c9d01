"""A disk of its own for a broker, which can get full and slow: a file system in a file, as root on Linux mounts it."""

import ctypes
import os
import random
import subprocess
from contextlib import suppress
from pathlib import Path

_MEGABYTES = 1024
#: That of Linux.
_NEW_MOUNTS = 0x00020000
#: Holds a file system for the first of each two times, and leaves it alone for the second.
_HOLD = 'while [ $# -gt 0 ]; do fsfreeze -f "$0" && { sleep $1; fsfreeze -u "$0"; }; sleep $2; shift 2; done'


class Disk:
    """A file system that is mounted for this process and those that it starts, so that it ends with them.

    `folder` is where it is; a usual folder, with `lacks` as the reason, where nothing can be mounted.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "mounted"
        self.folder.mkdir(parents=True)
        self.lacks = ""
        image = folder / "image"
        try:
            if ctypes.CDLL(None, use_errno=True).unshare(_NEW_MOUNTS):
                raise OSError(os.strerror(ctypes.get_errno()))
            with image.open("wb") as file:
                file.truncate(_MEGABYTES << 20)
            _run("mount", "--make-rprivate", "/")
            _run("mkfs.ext4", "-q", "-m", "0", image)
            _run("mount", "-o", "loop", image, self.folder)
        except (AttributeError, OSError) as error:
            self.lacks = f"no disk of its own can be mounted: {error}"

    def fill(self) -> None:
        """Leave no place on it."""
        self._check()
        with (self.folder / "filler").open("wb") as file:
            found = os.statvfs(self.folder)
            # All at once, but for what the file system needs for it; the rest bit by bit.
            with suppress(OSError):
                os.posix_fallocate(file.fileno(), 0, (found.f_bavail - 1000) * found.f_frsize)
            file.seek(0, os.SEEK_END)
            with suppress(OSError):
                while os.write(file.fileno(), bytes(4096)):
                    pass

    def free(self) -> None:
        (self.folder / "filler").unlink(missing_ok=True)

    def slow(self, seconds: float, chosen: random.Random) -> None:
        """Have what writes to it wait again and again, for so many seconds in all."""
        self._check()
        times = []
        while sum(times) < seconds:
            times += [chosen.uniform(0.1, 1.5), chosen.uniform(0.01, 0.2)]
        # A process that goes on to its end whatever becomes of this one: nobody can write before that.
        command = ["sh", "-c", _HOLD, str(self.folder), *(f"{each:.2f}" for each in times)]
        subprocess.run(command, check=True, start_new_session=True)

    def close(self) -> None:
        if not self.lacks:
            _run("umount", "--lazy", self.folder)

    def _check(self) -> None:
        if self.lacks:
            raise OSError(self.lacks)


def _run(*command: object) -> None:
    try:
        done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise OSError(f"no {command[0]} on the PATH") from None
    if done.returncode:
        raise OSError(f"{command[0]}: {done.stderr.strip()}")

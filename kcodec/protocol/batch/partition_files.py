"""The files in the folder of a partition: their names, and what lies beside one."""

import os
import re
from pathlib import PurePosixPath

import pyarrow as pa

from kcodec.arguments import FilePath, FileSystem
from kcodec.errors import ConfigError

#: Suffixes of files that hold record batches.
LOGS = (".log", ".checkpoint")

_SUFFIXES = (*LOGS, ".index", ".timeindex", ".txnindex", ".snapshot")
#: What a broker appends to the name of a file that is about to go or to come.
_PASSING = re.compile(r"\.(deleted|cleaned|swap)$")


def suffix_of(path: FilePath) -> str:
    """Return the suffix that says what a file is; raise `ConfigError` if it is none of a partition's."""
    suffix = PurePosixPath(_PASSING.sub("", os.fspath(path))).suffix
    if suffix not in _SUFFIXES:
        if os.path.isdir(path):
            raise ConfigError(f"{os.fspath(path)} is a folder: give the name of a file in it")
        raise ConfigError(f"the suffix of {os.fspath(path)} is not one of {', '.join(_SUFFIXES)}")
    return suffix


def base_offset_of(path: FilePath) -> int:
    """Return the offset that a file's name starts with; raise `ConfigError` if it does not start with one."""
    name = re.split(r"[/\\]", os.fspath(path))[-1]
    digits = name.split(".")[0]
    if not re.fullmatch("[0-9]{1,20}", digits):
        raise ConfigError(f"{name} does not start with an offset, as 00000000000000000000.index does")
    return int(digits)


def beside(path: FilePath, suffix: str) -> str:
    """Return the name of the file of another suffix that lies beside a segment."""
    return re.sub(r"\.log$", suffix, _PASSING.sub("", os.fspath(path)))


def neighbours(path: FilePath, filesystem: "FileSystem | None") -> tuple[list[str], list[str]]:
    """List the segments of the same folder that come before and after one, in order."""
    folder, base = os.path.dirname(os.fspath(path)), base_offset_of(path)
    if filesystem is None:
        names = os.listdir(folder or ".")
    else:
        names = [each.base_name for each in filesystem.get_file_info(pa.fs.FileSelector(folder))]
    logs = sorted(name for name in names if re.fullmatch(r"[0-9]{20}\.log", name))
    before = [os.path.join(folder, name) for name in logs if int(name[:20]) < base]
    return before, [os.path.join(folder, name) for name in logs if int(name[:20]) > base]


def open_file(path: FilePath, filesystem: "FileSystem | None") -> pa.NativeFile:
    """Open a file of a filesystem, or of the local one if that is None."""
    if filesystem is None:
        # Not mapped into memory: a file that a broker truncates meanwhile would end the process.
        return pa.OSFile(os.fsencode(path))
    if not hasattr(filesystem, "open_input_file"):
        raise ConfigError(f"filesystem={filesystem!r} is not a pyarrow.fs.FileSystem")
    return filesystem.open_input_file(os.fspath(path))

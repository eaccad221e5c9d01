"""Why a row cannot be read or written: what is raised where rows are handled one by one."""

from kcodec.errors import CODES, Fault, SchemaError

_MAX_PATH = 1000


class OtherPrefix(Exception):
    """Raised where the values do not all start with the same bytes after all, and have to be read another way."""


class OtherMeaning(SchemaError):
    """Values of a writer's schema mean something else than what they are to be read as: ``logical_type``."""


class RowError(Exception):
    """What is wrong with the row at hand.

    The code is one of `kcodec.CODES`, whose reason is the default. Without an offset no byte is meant, without a path
    the row as a whole.

    >>> RowError("out_of_range", path="[2]").within("sizes").fault(7)[:4]
    (7, None, 'sizes[2]', 'out_of_range')
    """

    def __init__(self, code: str, offset: int | None = None, path: str = "", reason: str = "") -> None:
        # Names and text of JSON may hold halves of surrogate pairs, which reports cannot.
        reason = (reason or CODES[code]).encode(errors="backslashreplace").decode()
        super().__init__(code, offset, path, reason)
        self.code = code
        self.offset = offset
        self.path = path
        self.reason = reason

    def __str__(self) -> str:
        return self.reason

    def fault(self, row: int) -> Fault:
        """Return the error as a fault of the row with this number."""
        return Fault(row, self.offset, bounded(self.path), self.code, self.reason)

    def within(self, step: str) -> "RowError":
        """Return the same error with its path extended by a step of the value around it."""
        return RowError(self.code, self.offset, prefix(step, self.path), self.reason)


def bounded(path: str) -> str:
    """Return a path, or the beginning of a long one: names of a megabyte are not repeated for each row.

    >>> len(bounded("x" * 10**6))
    1003
    """
    return path if len(path) <= _MAX_PATH else f"{path[:_MAX_PATH]}..."


def step(path: str, name: str) -> str:
    """Return the path of a member of a value."""
    return f"{path}.{name}" if path and name else path or name


def prefix(step: str, path: str) -> str:
    """Return a path that starts one step further out.

    >>> prefix("a", "b[2]"), prefix("b", "[2]"), prefix("b", "")
    ('a.b[2]', 'b[2]', 'b')
    """
    return f"{step}.{path}" if path and not path.startswith("[") else step + path

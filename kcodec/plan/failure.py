"""Why a row cannot be read or written: what is raised where rows are handled one by one."""

from kcodec.errors import CODES, Fault

__all__ = ["RowError", "step"]


class RowError(Exception):
    """What is wrong with the row at hand.

    Parameters
    ----------
    code : str
        One of `kcodec.CODES`.
    offset : int or None
        The byte in the row; None if none is meant.
    path : str
        The value in the row; empty for the row as a whole.
    reason : str, optional
        By default that of the code.
    """

    def __init__(self, code: str, offset: int | None = None, path: str = "", reason: str = "") -> None:
        super().__init__(code)
        self.code = code
        self.offset = offset
        self.path = path
        self.reason = reason or CODES[code]

    def fault(self, row: int) -> Fault:
        """Return the facts of the row, which has this number."""
        return Fault(row, self.offset, self.path, self.code, self.reason)


def step(path: str, name: str) -> str:
    """Return the path of a member of a value."""
    return f"{path}.{name}" if path and name else path or name

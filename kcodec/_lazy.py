"""Names whose modules are imported when the names are first used, because that takes time."""

import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow.compute as compute

__all__ = ["compute", "lazy_names"]


def lazy_names(
    package: str, modules: Mapping[str, Sequence[str]], others: Mapping[str, str] | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the ``__getattr__`` and the ``__dir__`` of a package that imports its names when they are first used.

    `modules` has the public names by the module that defines them: ``.module`` where that is relative to the package,
    or ``.`` for names that are themselves modules of it. `others` are further names, each with its module.
    """
    homes = {**(others or {}), **{name: module for module, names in modules.items() for name in names}}

    def get(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if homes[name] == ".":
            return importlib.import_module(f".{name}", package)
        value = getattr(importlib.import_module(homes[name], package), name)
        vars(sys.modules[package])[name] = value
        return value

    def names() -> list[str]:
        # What is public: not the modules within that were imported so far.
        known = vars(sys.modules[package])
        return sorted({*known["__all__"], *(name for name in known if name.startswith("__"))})

    return get, names


class _LazyModule:
    """A module of another package, as far as its functions are concerned."""

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __getattr__(self, name: str) -> Any:
        value = getattr(importlib.import_module(self.__name__), name)
        setattr(self, name, value)
        return value


if not TYPE_CHECKING:
    #: The import takes as long as that of all a codec needs, which seldom needs it.
    compute = _LazyModule("pyarrow.compute")

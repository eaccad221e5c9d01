"""Classes that records are made into: which, how they are called, and what is made for their fields."""

import dataclasses
import inspect
import sys
import typing
from functools import partial
from typing import Any

from kcodec.errors import ConfigError, near

__all__ = ["Target", "signature"]

if sys.version_info >= (3, 14):
    from annotationlib import Format

    # Annotations are evaluated when they are asked for, and only a type checker may know the names in them.
    signature = partial(inspect.signature, annotation_format=Format.FORWARDREF)
else:
    signature = inspect.signature


class Target:
    """A class that is called with the fields of a record.

    It is a dataclass, a NamedTuple, or any class whose arguments have the names of the fields, such as those of
    pydantic, attrs and msgspec.

    >>> class Point(typing.NamedTuple):
    ...     x: int
    ...     y: int
    >>> Target(Point).called_with(["x", "y"])[1] is None, Target(Point).called_with(["y", "x"])[1]
    (True, ('y', 'x'))
    """

    def __init__(self, kind: Any) -> None:
        self._kind = kind
        try:
            self._parameters = {**signature(kind).parameters, **_named_beside_alias(kind)}
        except (TypeError, ValueError):
            raise ConfigError(f"into={kind!r} cannot be called with the fields of a record") from None
        try:
            self._hints = typing.get_type_hints(kind)
        except Exception:
            # Annotations that only a type checker can read: any text, which is run.
            self._hints = {}

    def inside(self, name: str) -> "Target | None":
        """Return what the records in a field are made into; None for dicts."""
        found = [each for each in _classes(self._hints.get(name)) if _is_record(each)]
        return Target(found[0]) if len(found) == 1 else None

    def called_with(self, names: list[str]) -> tuple[Any, tuple[str, ...] | None]:
        """Return the class and the names of the arguments; None for these if they are called by their places.

        A class that does not take one of the fields is a `ConfigError`.
        """
        kinds = inspect.Parameter
        if any(each.kind is kinds.VAR_KEYWORD for each in self._parameters.values()):
            return self._kind, tuple(names)
        for name in names:
            if name not in self._parameters:
                hint = near(name, self._parameters)
                raise ConfigError(f"{self._kind.__name__} does not take the field {name}{hint}")
        placed = [each.name for each in self._parameters.values() if each.kind is kinds.POSITIONAL_OR_KEYWORD]
        return self._kind, None if placed[: len(names)] == names else tuple(names)


def _named_beside_alias(kind: Any) -> dict[str, inspect.Parameter]:
    """Return what a class of pydantic takes by the names of fields, too, where its signature has their aliases."""
    settings = getattr(kind, "model_config", None)
    if not isinstance(settings, dict) or not (
        settings.get("populate_by_name") or settings.get("validate_by_name")
    ):
        return {}
    return {
        name: inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY)
        for name in getattr(kind, "__pydantic_fields__", ())
    }


def _classes(hint: Any) -> list[Any]:
    """Return the classes that an annotation names, also those in lists, dicts and unions."""
    inner = typing.get_args(hint)
    return [each for part in inner for each in _classes(part)] if inner else [hint]


def _is_record(kind: Any) -> bool:
    """Return whether a class of an annotation stands for a record: it has fields of its own."""
    if not isinstance(kind, type):
        return False
    if dataclasses.is_dataclass(kind) or (issubclass(kind, tuple) and hasattr(kind, "_fields")):
        return True
    # Those of pydantic, attrs and msgspec.
    return any(
        hasattr(kind, name) for name in ("__pydantic_fields__", "__attrs_attrs__", "__struct_fields__")
    )

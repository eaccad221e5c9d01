"""In which form values become Python objects."""

from typing import Any, NamedTuple

from kcodec.errors import ConfigError, check_choice, one_line

_MAPS = ("pairs", "dict")
_UNIONS = ("members", "value")


class ObjectForm(NamedTuple):
    """How the values that Python has several types for are made.

    >>> ObjectForm.of(maps="dict").maps
    'dict'
    >>> ObjectForm.of(maps="list")
    Traceback (most recent call last):
    kcodec.errors.ConfigError: maps='list' is not one of pairs, dict
    """

    #: Whether a map is a list of pairs, as Arrow's ``to_pylist`` has it, or a dict.
    maps: str = "pairs"
    #: Whether a union of several types is a dict of its members, of which one is not None, or that one's value.
    unions: str = "members"
    #: The class that the outermost record is made into: see `kcodec.objects.into`. None makes dicts.
    into: Any = None
    #: Whether nanoseconds that Python's times cannot hold are dropped; otherwise they are ``inexact``.
    floor: bool = False

    @classmethod
    def of(
        cls, maps: str | None = None, unions: str = "members", into: Any = None, floor: bool = False
    ) -> "ObjectForm":
        """Check what a codec's method was given; maps of classes are dicts unless it says what they are."""
        if maps is None:
            maps = "pairs" if into is None else "dict"
        check_choice("maps", maps, _MAPS)
        check_choice("unions", unions, _UNIONS)
        return cls(maps, unions, into, floor)


def check_class(into: Any) -> None:
    """Refuse what records cannot be made into, before a reader is looked for by it.

    >>> check_class([])
    Traceback (most recent call last):
    kcodec.errors.ConfigError: into=[] is not a class
    """
    if not callable(into):
        raise ConfigError(f"into={one_line(repr(into), 60)} is not a class")

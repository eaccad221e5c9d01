"""The order in which Java's hash tables give out their keys."""

from collections.abc import Iterable
from typing import TypeVar

Key = TypeVar("Key", str, int)


def hash_order(first: Iterable[Key], then: Iterable[Key] = ()) -> list[Key]:
    """Return keys in the order of a Java ``HashSet`` or ``HashMap`` that is made of some of them, then gets the rest.

    They are texts, or integers of 32 bits.

    >>> hash_order(["price", "id", "name"]), hash_order([77, -3, 2])
    (['price', 'name', 'id'], [-3, 2, 77])
    """
    keys = dict.fromkeys(first)
    size = 16
    while size < len(keys) / 0.75 + 1:
        size *= 2
    keys.update(dict.fromkeys(then))
    while len(keys) > size * 0.75:
        size *= 2
    return sorted(keys, key=lambda key: _spread(key) & size - 1)


def _spread(key: str | int) -> int:
    if isinstance(key, int):
        code = key & 0xFFFFFFFF
        return code ^ code >> 16
    code = 0
    units = key.encode("utf-16-be", "surrogatepass")
    for at in range(0, len(units), 2):
        code = (31 * code + (units[at] << 8) + units[at + 1]) & 0xFFFFFFFF
    return code ^ code >> 16

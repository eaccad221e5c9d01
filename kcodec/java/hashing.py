"""The order in which Java's hash tables give out their texts."""

from collections.abc import Iterable


def hash_order(first: Iterable[str], then: Iterable[str] = ()) -> list[str]:
    """Return texts in the order of a Java ``HashSet`` or ``HashMap`` that is made of some of them, then gets the rest.

    >>> hash_order(["price", "id", "name"])
    ['price', 'name', 'id']
    """
    texts = dict.fromkeys(first)
    size = 16
    while size < len(texts) / 0.75 + 1:
        size *= 2
    texts.update(dict.fromkeys(then))
    while len(texts) > size * 0.75:
        size *= 2
    return sorted(texts, key=lambda text: _spread(text) & size - 1)


def _spread(text: str) -> int:
    code = 0
    units = text.encode("utf-16-be", "surrogatepass")
    for at in range(0, len(units), 2):
        code = (31 * code + (units[at] << 8) + units[at + 1]) & 0xFFFFFFFF
    return code ^ code >> 16

"""Text that is not UTF-8, as Java's own decoder and encoder change it."""

import re

#: Half of a surrogate pair, which is no text by itself.
SURROGATE = re.compile("[\ud800-\udfff]")


def decode_utf8(data: bytes) -> str:
    """Decode UTF-8 as Java does: with one U+FFFD for each run of bytes that its decoder gives up on."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        pass
    text = []
    at = 0
    while at < len(data):
        size, valid = _measure(data[at : at + 4])
        text.append(data[at : at + size].decode() if valid else "\ufffd")
        at += size
    return "".join(text)


def replace_surrogates(text: str) -> str:
    """Replace each half of a surrogate pair that stands alone by the question mark that Java's encoder writes."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _measure(data: bytes) -> tuple[int, bool]:
    """Return how many bytes Java's decoder consumes at once, and whether they are a character."""
    first = data[0]
    if first < 0x80:
        return 1, True
    if not 0xC2 <= first <= 0xF7:
        return 1, False
    size = 2 if first < 0xE0 else 3 if first < 0xF0 else 4
    follow = 1
    while follow < min(size, len(data)) and data[follow] & 0xC0 == 0x80:
        follow += 1
    second = data[1] if len(data) > 1 else None
    wrong = second is not None and (
        (first == 0xE0 and second < 0xA0)
        or (first == 0xF0 and second < 0x90)
        or (first == 0xF4 and second > 0x8F)
    )
    if first > 0xF4 or wrong:
        return 1, False
    # A value cut short is one replacement, up to the first byte that cannot follow.
    if follow < size:
        return follow, False
    # A surrogate is well-formed for Java, but no character.
    surrogate = first == 0xED and second is not None and second >= 0xA0
    return size, not surrogate

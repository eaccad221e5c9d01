"""Text that is no UTF-8, as Java reads it."""

__all__ = ["java_text"]


def java_text(data: bytes) -> str:
    """Decode UTF-8 as Java does: with one U+FFFD for each run of bytes that its decoder gives up on.

    Examples
    --------
    >>> java_text(bytes([0xED, 0xA0, 0x80, 0x61, 0xF0, 0x9F]))
    '\ufffda\ufffd'
    """
    text = []
    at = 0
    while at < len(data):
        size, good = _java_character(data[at : at + 4])
        text.append(data[at : at + size].decode() if good else "\ufffd")
        at += size
    return "".join(text)


def _java_character(data: bytes) -> tuple[int, bool]:
    """Tell how many bytes Java takes for a character, and whether they are one."""
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
    # What is left of a value is one replacement, but for a byte that cannot follow.
    if follow < size:
        return follow, False
    # A surrogate is well-formed for Java, but no character.
    surrogate = first == 0xED and second is not None and second >= 0xA0
    return size, not surrogate

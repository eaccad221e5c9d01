"""White space, as Java's ``String.trim`` has it: all up to the space, and nothing beyond ASCII."""

_BLANKS = "".join(map(chr, range(0x21)))


def trim(text: str) -> str:
    r"""Take white space off both ends, as ``String.trim`` does.

    >>> trim("\x00 a\u00a0 ")
    'a\xa0'
    """
    return text.strip(_BLANKS)

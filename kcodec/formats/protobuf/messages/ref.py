"""The message ``Ref`` of Apicurio's serializers, ``message Ref { string name = 1; }``, which names another message."""

from kcodec.errors import SchemaError
from kcodec.wire.single import read, write

#: Field 1, a string.
_TAG = 0x0A


def write_ref(name: str) -> bytes:
    r"""Return the bytes of a ``Ref``.

    >>> write_ref("Order")
    b'\n\x05Order'
    """
    data = name.encode()
    return bytes([_TAG]) + write(len(data)) + data


def read_ref(data: bytes) -> str:
    r"""Return the name in a ``Ref``, the last one if there are several; other bytes are a `SchemaError`.

    >>> read_ref(b"\n\x05Order")
    'Order'
    """
    name, at = b"", 0
    while at < len(data):
        size, start, code = read(data, at + 1, 32)
        if data[at] != _TAG or code or start + size > len(data):
            raise SchemaError("what names the message is not Apicurio's Ref")
        name, at = data[start : start + size], start + size
    try:
        return name.decode()
    except UnicodeDecodeError:
        raise SchemaError("what names the message is not UTF-8") from None

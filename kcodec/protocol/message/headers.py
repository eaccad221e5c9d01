"""The headers of requests and responses: what stands between the size and the message."""

import functools

from kcodec.errors import CODES, DecodeError
from kcodec.protocol.spec.message import MessageSpec
from kcodec.wire.single import read as read_varint

# The client id keeps its int16 length in flexible versions: a broker must be able to read the header of an
# ApiVersionsRequest that is newer than itself.
_REQUEST = """{"type": "header", "name": "RequestHeader", "validVersions": "0-2", "flexibleVersions": "2+",
    "fields": [
    {"name": "RequestApiKey", "type": "int16", "versions": "0+", "default": "%s"},
    {"name": "RequestApiVersion", "type": "int16", "versions": "0+", "default": "%s"},
    {"name": "CorrelationId", "type": "int32", "versions": "0+"},
    {"name": "ClientId", "type": "string", "versions": "1+", "nullableVersions": "1+", "ignorable": true,
     "flexibleVersions": "none"}]}"""

_RESPONSE = """{"type": "header", "name": "ResponseHeader", "validVersions": "0-1", "flexibleVersions": "1+",
    "fields": [
    {"name": "CorrelationId", "type": "int32", "versions": "0+"}]}"""

#: Types of the messages that have a header.
HEADER_TYPES = ("request", "response")


@functools.cache
def header_spec(kind: str, api_key: int | None = None, api_version: int | None = None) -> MessageSpec:
    """Return the definition of a header; an api key and version that are given are the defaults of its fields."""
    if kind == "response":
        return MessageSpec.parse(_RESPONSE)
    defaults = ("" if value is None else value for value in (api_key, api_version))
    return MessageSpec.parse(_REQUEST % tuple(defaults))


def skip_tags(data: memoryview, at: int) -> int:
    r"""Return the byte behind the tags that stand at a byte, of which none is known; `DecodeError` if there are none.

    ::

        uvarint count | (uvarint tag | uvarint size | value)*

    >>> skip_tags(memoryview(bytes.fromhex("01000161ff")), 0)
    4
    """

    def uvarint() -> int:
        nonlocal at
        value, after, code = read_varint(data, at, 32)
        if code:
            raise _error(at, code)
        at = after
        return value

    last = -1
    count = uvarint()
    if 2 * count > len(data) - at:
        raise _error(at, "truncated")
    for _ in range(count):
        tag = uvarint()
        if tag <= last:
            raise _error(at, "tag_order")
        last = tag
        size = uvarint()
        if size > len(data) - at:
            raise _error(at, "truncated")
        at += size
    return at


def _error(at: int, code: str) -> DecodeError:
    return DecodeError(0, at, "", code, CODES[code])

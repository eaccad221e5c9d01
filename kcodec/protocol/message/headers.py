"""The headers of requests and responses: what stands between the size and the message."""

import functools

from kcodec.protocol.spec.message import MessageSpec

__all__ = ["HEADER_TYPES", "header_spec"]

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

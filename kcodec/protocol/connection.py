"""Requests and responses as they stand on a connection: a size, a header, a message.

::

    int32 size | header | message
    request header  v0  int16 api key | int16 api version | int32 correlation id
                    v1  the same | nullable string client id (int16 length)
                    v2  the same | tags
    response header v0  int32 correlation id
                    v1  the same | tags

A response says neither its api nor its version: both are those of the request with its correlation id.
"""

import struct
from collections.abc import Iterable
from typing import Any, NamedTuple

from kcodec._fork import fork_safe_lock
from kcodec._kept import Kept
from kcodec.errors import CODES, ConfigError, DecodeError
from kcodec.protocol.message.codec import MessageCodec
from kcodec.protocol.message.headers import skip_tags
from kcodec.protocol.spec.definitions import Definitions
from kcodec.protocol.spec.message import MessageSpec
from kcodec.protocol.spec.model import API_VERSIONS

#: Bytes that a message may have with its header: Kafka's default for ``socket.request.max.bytes``.
MAX_SIZE = 104_857_600

#: Codecs that connections keep: one for each message and version.
_KEPT = 128

#: The header of a request up to its client id.
_REQUEST = struct.Struct(">hhi")

_PRODUCE = 0
_UNSUPPORTED_VERSION = 35


def split_messages(data: Any, *, max_size: int = MAX_SIZE) -> tuple[list[memoryview], int]:
    r"""Split what came over a connection into messages.

    Parameters
    ----------
    data : bytes-like
        Messages with their sizes and headers; the last one may be incomplete.
    max_size : int
        Bytes that a message may have with its header.

    Returns
    -------
    messages : list of memoryview
        Slices of `data`: headers and messages, without the sizes.
    used : int
        Bytes of the complete messages; the next one begins behind them.

    Raises
    ------
    DecodeError
        If a size is negative or above the limit; ``row`` is the number of the message.

    Examples
    --------
    >>> messages, used = split_messages(b"\0\0\0\2ab\0\0\0\1c\0\0")
    >>> [bytes(message) for message in messages], used
    ([b'ab', b'c'], 11)
    """
    view = memoryview(data).cast("B")
    messages: list[memoryview] = []
    at = 0
    while len(view) - at >= 4:
        size = int.from_bytes(view[at : at + 4], "big", signed=True)
        if size < 0:
            raise DecodeError(len(messages), at, "", "negative_length", CODES["negative_length"])
        if size > max_size:
            reason = f"a message of {size} bytes is above the limit of {max_size}"
            raise DecodeError(len(messages), at, "", "size_limit", reason)
        if size > len(view) - at - 4:
            break
        messages.append(view[at + 4 : at + 4 + size])
        at += 4 + size
    return messages, at


def join_messages(messages: Iterable[Any]) -> bytes:
    r"""Join messages with their headers, each behind its size.

    Parameters
    ----------
    messages : iterable of bytes-like
        Headers and messages, without the sizes: what `split_messages` gives.

    Returns
    -------
    bytes

    Examples
    --------
    >>> join_messages([b"ab", b"c"])
    b'\x00\x00\x00\x02ab\x00\x00\x00\x01c'
    """
    return b"".join(part for message in messages for part in (len(message).to_bytes(4, "big"), message))


class Exchange(NamedTuple):
    """A request or response that was read.

    Attributes
    ----------
    spec : MessageSpec
        What it is.
    version : int
        At which version.
    header : dict
        Fields of its header.
    body : dict
        Fields of its message.

    Examples
    --------
    >>> from kcodec.protocol import load
    >>> text = '{"type": "request", "name": "PingRequest", "apiKey": 7, "validVersions": "0", "flexibleVersions": '
    >>> text += '"none", "fields": [{"name": "Id", "type": "int8", "versions": "0+"}]}'
    >>> sent = Connection(load(text)).write_request("PingRequest", 0, {"id": 5})
    >>> exchange = Connection(load(text)).read_request(split_messages(sent)[0][0])
    >>> exchange.spec.name, exchange.version, exchange.body
    ('PingRequest', 0, {'id': 5})
    """

    spec: MessageSpec
    version: int
    header: dict[str, Any]
    body: dict[str, Any]


class OpenedResponse(NamedTuple):
    """A response of which only the header was read.

    Attributes
    ----------
    spec : MessageSpec
        What it is.
    version : int
        At which version.
    start : int
        Byte at which its message begins.

    Examples
    --------
    See `Connection.open_response`.
    """

    spec: MessageSpec
    version: int
    start: int


class Connection:
    """One connection: writes and reads messages, and knows which requests have no response yet.

    It does no I/O, and may be used on either side, or to follow a connection of others.

    Parameters
    ----------
    definitions : Definitions
        Of the requests and responses.
    compat : {None, "kafka"}
        As for `MessageCodec`.

    Examples
    --------
    >>> from kcodec.protocol import load
    >>> common = '"apiKey": 7, "name": "PingRe%s", "validVersions": "0", "flexibleVersions": "none", "fields": ['
    >>> field = '{"name": "Id", "type": "int8", "versions": "0+"}]}'
    >>> texts = ['{"type": "%s", ' % kind + common % kind[2:] + field for kind in ("request", "response")]
    >>> client, broker = Connection(load(texts)), Connection(load(texts))
    >>> sent = client.write_request("PingRequest", 0, {"id": 5}, client_id="me")
    >>> request = broker.read_request(split_messages(sent)[0][0])
    >>> request.body, request.header["correlationId"]
    ({'id': 5}, 0)
    >>> answer = broker.write_response(0, {"id": 6})
    >>> client.read_response(split_messages(answer)[0][0]).body
    {'id': 6}
    """

    def __init__(self, definitions: Definitions, *, compat: str | None = None) -> None:
        self.definitions = definitions
        self._compat = compat
        self._codecs: Kept[tuple[str, int, str | None], MessageCodec] = Kept(_KEPT)
        self._waiting: dict[int, tuple[MessageSpec, int]] = {}
        self._next = 0
        self._lock = fork_safe_lock()

    def another(self) -> "Connection":
        """Return a connection with the same definitions, on which nothing was sent; codecs are made once for both."""
        made = Connection(self.definitions, compat=self._compat)
        made._codecs = self._codecs
        return made

    @property
    def in_flight(self) -> dict[int, tuple[str, int]]:
        """The requests without a response, the oldest first: correlation id -> name and version."""
        with self._lock:
            return {number: (spec.name, version) for number, (spec, version) in self._waiting.items()}

    def write_request(
        self,
        name: str,
        version: int,
        body: dict[str, Any],
        *,
        correlation_id: int | None = None,
        client_id: str | None = None,
    ) -> bytes:
        """Write a request with its header and size, and wait for its response.

        A ProduceRequest with ``acks`` 0 has none.

        Parameters
        ----------
        name : str
            Of the message, such as ``"MetadataRequest"``.
        version : int
            Of the request.
        body : dict
            Its fields, as for `MessageCodec.encode_one`.
        correlation_id : int, optional
            By default the next one.
        client_id : str, optional
            Who asks.

        Raises
        ------
        ConfigError
            If there is no such request, or one with this correlation id has no response yet.
        EncodeError
            If a value does not fit its field.
        """
        spec = self._request(name)
        with self._lock:
            number = self._next if correlation_id is None else correlation_id
            header = {
                "requestApiKey": spec.api_key,
                "requestApiVersion": version,
                "correlationId": number,
                "clientId": client_id,
            }
            message = self._framed(spec, version).encode_one({"header": header, "body": body})
            self._sent(number, spec, version, body)
        return join_messages([message])

    def open_request(
        self,
        name: str,
        version: int,
        size: int,
        *,
        correlation_id: int | None = None,
        client_id: str | None = None,
        is_answered: bool = True,
    ) -> bytes:
        r"""Write the size and header of a request, and wait for its response; the caller writes the message itself.

        That is for messages that are not to be copied, such as a ProduceRequest with its record batches. What
        `MessageCodec` writes of the request may stand behind as well.

        Parameters
        ----------
        name : str
            Of the message, such as ``"ProduceRequest"``.
        version : int
            Of the request.
        size : int
            Bytes of the message.
        correlation_id : int, optional
            By default the next one.
        client_id : str, optional
            Who asks.
        is_answered : bool
            Whether there is a response: not to a ProduceRequest with ``acks`` 0.

        Raises
        ------
        ConfigError
            If there is no such request or version, a request with this correlation id has no response yet, or the
            client id has more than 32767 bytes.

        Examples
        --------
        >>> from kcodec.protocol import load
        >>> text = '{"type": "request", "name": "PingRequest", "apiKey": 70, "validVersions": "0", '
        >>> connection = Connection(load(text + '"flexibleVersions": "none", "fields": []}'))
        >>> connection.open_request("PingRequest", 0, 2, client_id="me") + b"ab"
        b'\x00\x00\x00\x0e\x00F\x00\x00\x00\x00\x00\x00\x00\x02meab'
        >>> connection.in_flight
        {0: ('PingRequest', 0)}
        """
        spec = self._request(name)
        if version not in spec.valid_versions:
            raise ConfigError(f"version {version} of {name} is not one of {spec.valid_versions}")
        client = None if client_id is None else client_id.encode()
        if client is not None and len(client) > 0x7FFF:
            raise ConfigError(f"a client id of {len(client)} bytes is longer than 32767")
        with self._lock:
            number = self._next if correlation_id is None else correlation_id
            self._sent(number, spec, version, {"acks": int(is_answered)})
        # By hand: a codec takes longer for a header than a broker for a small request.
        header = _REQUEST.pack(spec.api_key, version, number)
        header_version = spec.header_version(version)
        if header_version >= 1:
            header += b"\xff\xff" if client is None else len(client).to_bytes(2, "big") + client
        if header_version >= 2:
            header += b"\0"
        return (len(header) + size).to_bytes(4, "big") + header

    def read_request(self, data: Any) -> Exchange:
        """Read a request, without its size, and wait for its response.

        Raises
        ------
        DecodeError
            If it cannot be read; with the code ``unsupported_version`` if there is no such api or version.
        ConfigError
            If a request with its correlation id has no response yet.
        """
        data = bytes(data)
        if len(data) < 4:
            raise DecodeError(0, len(data), "header", "truncated", CODES["truncated"])
        api_key = int.from_bytes(data[:2], "big", signed=True)
        version = int.from_bytes(data[2:4], "big", signed=True)
        try:
            spec = self.definitions.request(api_key)
        except ConfigError:
            reason = f"there is no request of api key {api_key}"
            raise DecodeError(0, 0, "header.requestApiKey", "unsupported_version", reason) from None
        if version not in spec.valid_versions:
            reason = f"version {version} of {spec.name} is not one of {spec.valid_versions}"
            raise DecodeError(0, 2, "header.requestApiVersion", "unsupported_version", reason)
        message = self._framed(spec, version).decode_one(data)
        with self._lock:
            self._wait(message["header"]["correlationId"], spec, version, message["body"])
        return Exchange(spec, version, message["header"], message["body"])

    def write_response(self, correlation_id: int, body: dict[str, Any]) -> bytes:
        """Write the response to a request that was read, with its header and size.

        Raises
        ------
        ConfigError
            If no request of this correlation id waits for a response.
        EncodeError
            If a value does not fit its field.
        """
        with self._lock:
            request, version = self._waiting.get(correlation_id, (None, 0))
        if request is None:
            raise ConfigError(f"no request of correlation id {correlation_id} waits for a response")
        spec = self._answer(request)
        header = {"correlationId": correlation_id}
        message = self._framed(spec, version).encode_one({"header": header, "body": body})
        with self._lock:
            self._waiting.pop(correlation_id, None)
        return join_messages([message])

    def read_response(self, data: Any) -> Exchange:
        """Read the response, without its size, to one of the requests that wait.

        Raises
        ------
        DecodeError
            If it cannot be read; with the code ``unresolvable`` if no request has its correlation id.

        Notes
        -----
        A broker answers an ApiVersionsRequest of a version that it does not know with version 0 and the error
        UNSUPPORTED_VERSION (KIP-511).
        """
        data = bytes(data)
        number, spec, version = self._awaited(data)
        message = self._framed(spec, version).decode_one(data)
        with self._lock:
            self._waiting.pop(number, None)
        return Exchange(spec, version, message["header"], message["body"])

    def open_response(self, data: Any) -> OpenedResponse:
        """Find out which response this is and where its message begins; the caller reads the message itself.

        That is for messages that are not to be copied, such as a FetchResponse with its record batches; `codec` reads
        any other.

        Raises
        ------
        DecodeError
            As `read_response`, of the header alone.

        Examples
        --------
        >>> from kcodec.protocol import load
        >>> common = '"apiKey": 7, "name": "PingRe%s", "validVersions": "0", "flexibleVersions": "none", "fields": []}'
        >>> texts = ['{"type": "%s", ' % kind + common % kind[2:] for kind in ("request", "response")]
        >>> connection = Connection(load(texts))
        >>> sent = connection.write_request("PingRequest", 0, {})
        >>> opened = connection.open_response(bytes(4) + b"what it says")
        >>> opened.spec.name, opened.version, opened.start
        ('PingResponse', 0, 4)
        """
        view = memoryview(data).cast("B")
        number, spec, version = self._awaited(view)
        start = skip_tags(view, 4) if spec.header_version(version) else 4
        with self._lock:
            self._waiting.pop(number, None)
        return OpenedResponse(spec, version, start)

    def codec(self, name: str, version: int) -> MessageCodec:
        """Return the codec of a message without its header; it is made once.

        Raises
        ------
        ConfigError
            If there is no such message or version.
        """
        if name not in self.definitions:
            raise ConfigError(f"there is no message called {name!r}")
        return self._codec(self.definitions[name], version)

    def _awaited(self, data: bytes | memoryview) -> tuple[int, MessageSpec, int]:
        """Return the correlation id of a response, what it is, and at which version."""
        if len(data) < 4:
            raise DecodeError(0, len(data), "header", "truncated", CODES["truncated"])
        number = int.from_bytes(data[:4], "big", signed=True)
        with self._lock:
            request, version = self._waiting.get(number, (None, 0))
        if request is None:
            reason = f"no request of correlation id {number} waits for a response"
            raise DecodeError(0, 0, "header.correlationId", "unresolvable", reason)
        spec = self._answer(request)
        error = int.from_bytes(data[4:6], "big", signed=True)
        if spec.api_key == API_VERSIONS and error == _UNSUPPORTED_VERSION:
            version = 0
        return number, spec, version

    def _sent(self, number: int, spec: MessageSpec, version: int, body: dict[str, Any]) -> None:
        self._wait(number, spec, version, body)
        self._next = number + 1 if number < 0x7FFFFFFF else 0

    def _wait(self, number: int, spec: MessageSpec, version: int, body: dict[str, Any]) -> None:
        if number in self._waiting:
            raise ConfigError(f"a request of correlation id {number} waits for its response already")
        if spec.api_key != _PRODUCE or body.get("acks", 0) != 0:
            self._waiting[number] = spec, version

    def _request(self, name: str) -> MessageSpec:
        spec = self.definitions.get(name)
        if spec is None or spec.type != "request":
            raise ConfigError(f"there is no request called {name!r}")
        return spec

    def _answer(self, request: MessageSpec) -> MessageSpec:
        assert request.api_key is not None
        try:
            return self.definitions.response(request.api_key)
        except ConfigError:
            raise ConfigError(f"the definitions have no response to {request.name}") from None

    def _framed(self, spec: MessageSpec, version: int) -> MessageCodec:
        """Return the codec of a message with its header."""
        return self._codec(spec, version, spec.type)

    def _codec(self, spec: MessageSpec, version: int, header: str | None = None) -> MessageCodec:
        return self._codecs.get(
            (spec.name, version, header),
            lambda: MessageCodec(spec, version, header=header, compat=self._compat),
        )

"""Protobuf: a message type as a codec of columns."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from kcodec.codec import Codec
from kcodec.errors import ConfigError, DecodeError, Fault
from kcodec.formats.protobuf.descriptor import MessageType
from kcodec.formats.protobuf.json_reader import from_json
from kcodec.formats.protobuf.json_writer import DEFAULTS, JsonWriting, to_json
from kcodec.formats.protobuf.kernel import kernel
from kcodec.formats.protobuf.message import read_message, write_message
from kcodec.formats.protobuf.plan import decode_plan
from kcodec.formats.protobuf.schema import ProtobufSchema
from kcodec.formats.protobuf.types import WELL_KNOWN, TypeOptions
from kcodec.plan import Limits, Plan
from kcodec.plan.failure import RowError
from kcodec.plan.programs import Programs

__all__ = ["ProtobufCodec", "ProtobufReader"]


class ProtobufReader:
    """A message type with its columns, for payloads of any type that may be read as it."""

    def __init__(
        self, message: MessageType, *, options: TypeOptions | None = None, limits: Limits | None = None
    ) -> None:
        self.message = message
        self.options = options or TypeOptions()
        plan, self.arrow_type = decode_plan(message, self.options)
        self.program = Programs(plan, Limits.of(limits))

    def decode(
        self, values: pa.Array, *, selector: Any = None, starts: Any = None, stop: bool = False
    ) -> tuple[pa.Array, list[Fault]]:
        """Decode an array; see `RowKernel.decode`."""
        module = kernel()
        return module.decode(
            values, [self.program.compiled(module)], selector=selector, starts=starts, stop=stop
        )


class ProtobufCodec(Codec):
    def __init__(
        self,
        schema: object,
        message: str | Sequence[int] | None = None,
        *,
        large: bool = False,
        fields: Sequence[str] | None = None,
        recursive_depth: int | None = None,
        unknown_fields: str = "skip",
        enums: str = "name",
        unknown_enums: str = "number",
        unsigned: str = "wide",
        absent: str = "default",
        unit: str = "us",
        round: str = "error",
        oneofs: str = "members",
        empty_messages: str = "keep",
        well_known: Sequence[str] = tuple(name for name in WELL_KNOWN if name != "any"),
        limits: Limits | None = None,
    ) -> None:
        options = TypeOptions(
            large,
            fields,
            recursive_depth,
            unknown_fields,
            enums,
            unknown_enums,
            unsigned,
            absent,
            unit,
            round,
            oneofs,
            empty_messages,
            well_known,
        )
        self._schema = ProtobufSchema.parse(schema)
        self._reader = ProtobufReader(self._schema.message(message), options=options, limits=limits)
        self.arrow_type = self._reader.arrow_type

    @property
    def plan(self) -> Plan:
        """The decode plan; ``str`` of it is a readable tree."""
        return self._reader.program.plan

    def _decode(self, array: pa.Array, stop: bool) -> tuple[pa.Array, list[Fault]]:
        return self._reader.decode(array, stop=stop)

    def to_json(
        self,
        data: bytes,
        *,
        indent: bool = False,
        defaults: str = "none",
        proto_names: bool = False,
        extensions: bool = False,
    ) -> str:
        """Return one message as JSON, as protobuf-java's ``JsonFormat`` prints it.

        Parameters
        ----------
        data : bytes
            The message.
        indent : bool
            Print each field in a line of its own.
        defaults : {"none", "no_presence", "all"}
            Which fields that are not set are printed: none; those without presence, and lists and maps; also the
            scalars of proto2 and editions, with the default that they declare.
        proto_names : bool
            Print names as they are declared, rather than in camel case.
        extensions : bool
            Print the extensions that the schema has, as ``[full.name]``. Else they are left out, as unknown fields
            always are.

        Raises
        ------
        DecodeError
            If the bytes are not a message, or one that JSON cannot express: a time out of its range, an Any of a
            type that neither the schema nor google.protobuf has.

        Examples
        --------
        >>> codec = ProtobufCodec('syntax = "proto3"; message Order { int64 order_id = 1; repeated string tags = 2; }')
        >>> codec.to_json(bytes.fromhex("0807120161"))
        '{"orderId":"7","tags":["a"]}'
        """
        if defaults not in DEFAULTS:
            raise ConfigError(f"defaults={defaults!r} is not one of {', '.join(DEFAULTS)}")
        with _single():
            message = read_message(self._reader.message, bytes(data), extensions=extensions)
            return to_json(message, self._schema.messages, JsonWriting(indent, defaults, proto_names))

    def from_json(self, text: str | bytes, *, ignore_unknown: bool = False) -> bytes:
        """Return the bytes of a message that is given as JSON, with fields in the order of their numbers.

        Parameters
        ----------
        text : str or bytes
            The JSON, with fields in any order and under either name, extensions as ``[full.name]``. 64-bit integers
            may be numbers, numbers may be strings, ``null`` is a field that is not set.
        ignore_unknown : bool
            Pass over fields that the message does not have, and names that an enum does not have.

        Raises
        ------
        DecodeError
            If the text is not valid JSON, or not of this message.

        Examples
        --------
        >>> codec = ProtobufCodec('syntax = "proto3"; message Order { int64 order_id = 1; repeated string tags = 2; }')
        >>> codec.from_json('{"tags": ["a"], "order_id": 7}').hex()
        '0807120161'
        """
        with _single():
            data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else bytes(text)
            message = from_json(
                data, self._reader.message, self._schema.messages, ignore_unknown=ignore_unknown
            )
            return write_message(message)


@contextmanager
def _single() -> Iterator[None]:
    """Raise what is wrong with a single message for users."""
    try:
        yield
    except RowError as error:
        raise DecodeError(*error.fault(0)) from None

"""Protobuf: a message type as a codec of columns."""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from kcodec.codec import Codec
from kcodec.errors import Fault
from kcodec.formats.protobuf.descriptor import MessageType
from kcodec.formats.protobuf.kernel import kernel
from kcodec.formats.protobuf.plan import decode_plan
from kcodec.formats.protobuf.schema import ProtobufSchema
from kcodec.formats.protobuf.types import WELL_KNOWN, TypeOptions
from kcodec.plan import Limits, Plan
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

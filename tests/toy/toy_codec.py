"""What a new format consists of beside its schemas: a codec, an entry in the table, and its functions of Spark."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from toy_format import ToyDecoder, ToyEncoder, ToyFormat

from kcodec.codec import Codec
from kcodec.formats.table import Format
from kcodec_spark.functions.schemas import decoded_by_schema, encoded_by_schema

#: The entry in the table of formats.
ENTRY = Format("TOY_SR", "toy_codec:ToyCodec", "toy_format:ToyFormat", "TOY", spark="toy", page="toy.md")


class ToyCodec(Codec):
    """Integers of the width that a schema says."""

    _encoded_type = pa.binary()

    def __init__(self, schema: str) -> None:
        self._arguments = {"schema": schema}
        self._size = ToyFormat().parse(schema)
        self._decoder = ToyDecoder(self._size)
        self.arrow_type = self._decoder.arrow_type

    def _decode(self, array: pa.Array, stop: bool) -> Any:
        numbers = np.where(np.asarray(array.is_valid()), 0, -1).astype(np.int32)
        starts = np.zeros(len(array), np.int32)
        return self._decoder.decode(array, [self._size], selector=numbers, starts=starts, stop=stop)

    def _encode(self, array: pa.Array, stop: bool) -> Any:
        return ToyEncoder(self._size).encode(array, prefix=b"", large=False, stop=stop)


def from_toy(
    data: Any,
    schema: Any = None,
    options: Mapping[str, Any] | None = None,
    subject: Any = None,
    schemaRegistryAddress: Any = None,
    *,
    deterministic: bool = False,
) -> Any:
    """Decode a column of toys."""
    place = (subject, schemaRegistryAddress, {})
    return decoded_by_schema("TOY_SR", data, schema, options, *place, deterministic=deterministic)


def to_toy(
    data: Any,
    schema: Any = None,
    options: Mapping[str, Any] | None = None,
    subject: Any = None,
    schemaRegistryAddress: Any = None,
) -> Any:
    """Encode a column of integers as toys."""
    return encoded_by_schema("TOY_SR", data, schema, options, subject, schemaRegistryAddress, {})

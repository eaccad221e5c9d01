"""How messages are laid out in Arrow columns."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa

from kcodec.columns.types.fields import field_names
from kcodec.errors import ConfigError, check_booleans, check_choice, is_whole
from kcodec.formats.protobuf.descriptor import MessageType
from kcodec.formats.protobuf.json.well_known import is_well_known

#: Arrow types of scalars, but for unsigned integers, enums, text and bytes.
SCALAR_TYPES = {
    "double": pa.float64(),
    "float": pa.float32(),
    "bool": pa.bool_(),
    **dict.fromkeys(("int32", "sint32", "sfixed32"), pa.int32()),
    **dict.fromkeys(("int64", "sint64", "sfixed64"), pa.int64()),
}

_UNSIGNED = {
    "wide": (pa.int64(), pa.decimal128(20, 0)),
    "native": (pa.uint32(), pa.uint64()),
    "signed": (pa.int32(), pa.int64()),
}

#: Groups of well-known types that have a column of their own instead of a struct of their fields, each with what its
#: types are read as (see `kcodec.formats.protobuf.plans.plan`).
WELL_KNOWN = {
    "times": {
        "google.protobuf.Timestamp": "timestamp",
        "google.protobuf.Duration": "duration",
    },
    "wrappers": {
        f"google.protobuf.{name}Value": "inner"
        for name in ("Double", "Float", "Int64", "UInt64", "Int32", "UInt32", "Bool", "String", "Bytes")
    },
    "structs": {
        "google.protobuf.Struct": "json",
        "google.protobuf.Value": "json",
        "google.protobuf.ListValue": "json",
    },
    "any": {"google.protobuf.Any": "json"},
    "field_masks": {"google.protobuf.FieldMask": "inner"},
    "dates": {"google.type.Date": "date", "google.type.TimeOfDay": "time_of_day"},
    "decimals": {"google.type.Decimal": "inner", "confluent.type.Decimal": "decimal"},
}

#: All but the one that is JSON only for those who know all types in advance.
DEFAULT_WELL_KNOWN = tuple(name for name in WELL_KNOWN if name != "any")

_CHOICES = {
    "unknown_fields": ("skip", "keep"),
    "enums": ("name", "number"),
    "unknown_enums": ("number", "error"),
    "unsigned": tuple(_UNSIGNED),
    "absent": ("default", "null"),
    "unit": ("us", "ns"),
    "round": ("error", "truncate"),
    "oneofs": ("members", "case"),
    "empty_messages": ("keep", "drop"),
}


class Layout(Protocol):
    """What makes other columns of decoded messages than those that they have here; ``kcodec_spark`` has Spark's.

    It is compared and pickled with the codec.
    """

    def columns(self, array: pa.Array, message: MessageType, options: "ProtobufOptions") -> pa.Array:
        """Return an array of structs in the layout."""

    def is_added(self, name: str, message: MessageType) -> bool:
        """Return whether a column of a message without fields is of this layout alone: nulls, which are not written."""


@dataclass(frozen=True)
class ProtobufOptions:
    """How a message is laid out in Arrow columns, for a `kcodec.Serde`; see `kcodec.ProtobufCodec` for what they mean.

    Raises
    ------
    ConfigError
        If one of them is something else than it may be.

    Examples
    --------
    >>> ProtobufOptions(enums="number", unit="ns").unit
    'ns'
    """

    large: bool = False
    fields: Sequence[str] | None = None
    recursive_depth: int | None = None
    unknown_fields: str = "skip"
    enums: str = "name"
    unknown_enums: str = "number"
    unsigned: str = "wide"
    absent: str = "default"
    unit: str = "us"
    round: str = "error"
    oneofs: str = "members"
    empty_messages: str = "keep"
    layout: Layout | None = None
    well_known: Sequence[str] = DEFAULT_WELL_KNOWN

    def __post_init__(self) -> None:
        for name, allowed in _CHOICES.items():
            check_choice(name, getattr(self, name), allowed)
        check_booleans(large=self.large)
        if self.layout is not None and not hasattr(self.layout, "columns"):
            raise ConfigError(
                f"layout={self.layout!r} is not a layout: kcodec_spark.SparkLayout() is Spark's"
            )
        depth = self.recursive_depth
        if depth is not None and (not is_whole(depth) or depth < 1):
            raise ConfigError(f"recursive_depth={depth!r} is not a number of at least 1")
        object.__setattr__(self, "fields", field_names(self.fields))
        groups = self.well_known
        if isinstance(groups, str) or not isinstance(groups, Iterable):
            raise ConfigError(f"well_known={groups!r} is not a list of names")
        object.__setattr__(self, "well_known", tuple(groups))
        for name in self.well_known:
            check_choice("well_known", name, tuple(WELL_KNOWN))

    def readings(self) -> dict[str, str]:
        """Return what the well-known types are read as that are not read as messages."""
        return {name: reading for group in self.well_known for name, reading in WELL_KNOWN[group].items()}

    def unsigned_type(self, kind: str) -> pa.DataType:
        """Return the Arrow type of an unsigned integer."""
        return _UNSIGNED[self.unsigned]["64" in kind]

    def text_type(self) -> pa.DataType:
        """Return the type of text."""
        return pa.large_string() if self.large else pa.string()

    def bytes_type(self) -> pa.DataType:
        """Return the type of bytes."""
        return pa.large_binary() if self.large else pa.binary()

    def list_type(self, item: Any) -> pa.DataType:
        """Return the type of a list, given the type of its items, which are never null."""
        field = pa.field("item", item, nullable=False)
        return pa.large_list(field) if self.large else pa.list_(field)


def reading_of(message: MessageType, readings: Mapping[str, str]) -> str:
    """Return what a type is read as, of `ProtobufOptions.readings`; empty for a message.

    A schema may declare a message of a well-known name itself, with other fields.
    """
    reading = readings.get(message.name, "")
    return reading if reading and is_well_known(message) else ""

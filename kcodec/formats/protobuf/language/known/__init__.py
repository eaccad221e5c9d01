"""Texts of the files that every Protobuf compiler and Confluent's registry know: they need no reference."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from kcodec.formats.protobuf.language.parse import parse
from kcodec.formats.protobuf.language.syntax import File

__all__ = ["EXTENSIONS", "KNOWN", "known_file"]

_PROTOBUF = "any api descriptor duration empty field_mask source_context struct timestamp type wrappers"
_TYPE = (
    "calendar_period color date datetime dayofweek decimal expr fraction interval latlng money month"
    " phone_number postal_address quaternion timeofday"
)

#: Their import paths.
KNOWN = frozenset(
    [f"google/protobuf/{each}.proto" for each in _PROTOBUF.split()]
    + [f"google/type/{each}.proto" for each in _TYPE.split()]
    + ["confluent/meta.proto", "confluent/type/decimal.proto", "confluent/type/variant.proto"]
)

#: The extensions that they declare.
EXTENSIONS = frozenset(
    f"confluent.{each}_meta" for each in ("file", "message", "field", "enum", "enum_value")
)


@cache
def known_file(path: str) -> File:
    """Return the tree of one of `KNOWN`."""
    return parse(files(__name__).joinpath(*path.split("/")).read_text("utf-8"))

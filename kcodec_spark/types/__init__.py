"""Types of Spark: from Arrow's and to them, to Avro's, and where they are not as the formats have theirs.

The names below are loaded when they are first used.
"""

from typing import TYPE_CHECKING

from kcodec._lazy import lazy_names

if TYPE_CHECKING:
    from kcodec_spark.types.arrow import arrow_schema, from_arrow_type, to_arrow_type
    from kcodec_spark.types.avro_schemas import to_avro_type

__all__ = ["arrow_schema", "from_arrow_type", "to_arrow_type", "to_avro_type"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        ".arrow": ["arrow_schema", "from_arrow_type", "to_arrow_type"],
        ".avro_schemas": ["to_avro_type"],
    },
)

"""Debezium's dates and times, which are numbers or text with a name in their schema, and their Arrow types.

Its other types are what they look like: ``io.debezium.data.Json``, ``Xml``, ``Uuid``, ``Enum``, ``EnumSet``,
``Ltree`` and ``Tsvector`` text, ``Bits`` bytes, ``DoubleVector`` and ``FloatVector`` lists, ``VariableScaleDecimal``,
``SparseDoubleVector`` and ``geometry.*`` structs, ``io.debezium.time.Year``, ``MicroDuration`` and ``NanoDuration``
numbers, ``Interval`` and ``ZonedTime`` text, which keeps the zone that no Arrow type has.
"""

from typing import NamedTuple

import pyarrow as pa


class TimeType(NamedTuple):
    """A type of dates or times: Connect's type of the values, what Avro would call it, and its Arrow type.

    Text is ISO 8601 as java.time prints it in UTC, of which Avro has no logical type.
    """

    wire: str
    logical: str
    arrow_type: pa.DataType


#: By the name of the schema. Milliseconds become microseconds, as Connect's and Avro's own do.
TIME_TYPES = {
    f"io.debezium.time.{name}": kind
    for name, kind in {
        "Date": TimeType("int32", "date", pa.date32()),
        "Time": TimeType("int32", "time-millis", pa.time32("ms")),
        "MicroTime": TimeType("int64", "time-micros", pa.time64("us")),
        "NanoTime": TimeType("int64", "time-nanos", pa.time64("ns")),
        "Timestamp": TimeType("int64", "local-timestamp-millis", pa.timestamp("us")),
        "MicroTimestamp": TimeType("int64", "local-timestamp-micros", pa.timestamp("us")),
        "NanoTimestamp": TimeType("int64", "local-timestamp-nanos", pa.timestamp("ns")),
        "ZonedTimestamp": TimeType("string", "iso-text", pa.timestamp("us", "UTC")),
        "IsoDate": TimeType("string", "iso-text", pa.date32()),
        "IsoTime": TimeType("string", "iso-text", pa.time64("us")),
        "IsoTimestamp": TimeType("string", "iso-text", pa.timestamp("us")),
    }.items()
}

"""Filters that Spark hands to a source when a query is planned, as conditions; what is not understood Spark keeps."""

import pickle
from collections.abc import Iterable
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pyarrow as pa

from kcodec.errors import ConfigError
from kcodec.kafka.conditions.condition import Compare, Condition, Every, IsNull, Not, OneOf, Text
from kcodec.kafka.conditions.where import column_at, empty, matching
from kcodec_spark.kafka.scan import load

#: Spark gives decimals of so many digits or more rounded to so many.
_ROUNDED = 28
#: Names of Spark's classes.
_COMPARISONS = {
    "EqualTo": "==",
    "GreaterThan": ">",
    "GreaterThanOrEqual": ">=",
    "LessThan": "<",
    "LessThanOrEqual": "<=",
}
_TEXTS = {
    "StringStartsWith": "starts_with",
    "StringEndsWith": "ends_with",
    "StringContains": "match_substring",
}


def push(scan: bytes, filters: Iterable[Any]) -> tuple[bytes, list[Any]]:
    """Return the scan, pickled, that gives only the rows for which filters hold, and those that Spark keeps."""
    found = load(scan)
    shown = empty(pa.schema(list(found.schema)[: found.shown]))
    taken: list[Condition] = [] if found.condition is None else [found.condition]
    left = []
    for each in filters:
        condition = _condition(each, shown)
        if condition is None:
            left.append(each)
        else:
            taken.append(condition)
    return pickle.dumps(replace(found, condition=Every(tuple(taken)) if taken else None)), left


def _condition(filter: Any, shown: pa.RecordBatch) -> Condition | None:
    """Return a filter as a condition; None if it is none that has the same answer here."""
    name = type(filter).__name__
    if name == "Not":
        part = _condition(filter.child, shown)
        return None if part is None else Not(part)
    try:
        kind = column_at(shown, filter.attribute).type
        found = _of(name, filter, kind)
        if found is not None:
            matching(found, shown)
    except (AttributeError, ConfigError):
        return None
    return found


def _of(name: str, filter: Any, kind: pa.DataType) -> Condition | None:
    path = tuple(filter.attribute)
    if name in ("IsNull", "IsNotNull"):
        return IsNull(path) if name == "IsNull" else Not(IsNull(path))
    value = filter.value
    values = value if name == "In" else (value,)
    if name == "EqualNullSafe" and value is None:
        return IsNull(path)
    # Conditions read text as a value of any type, Spark gives one as it is; and null compares with nothing.
    if not all(each is not None and isinstance(each, str) == pa.types.is_string(kind) for each in values):
        return None
    if any(isinstance(each, Decimal) and len(each.as_tuple().digits) >= _ROUNDED for each in values):
        return None
    if name == "In":
        return OneOf(path, tuple(values))
    if name == "EqualNullSafe":
        return Every((Not(IsNull(path)), Compare(path, "==", value)))
    if name in _TEXTS:
        return Text(path, _TEXTS[name], value)
    return Compare(path, _COMPARISONS[name], value) if name in _COMPARISONS else None

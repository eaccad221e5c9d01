"""Rules that run row by row, on values as Python objects: conditions, transforms, and migrations between versions."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from kcodec.contracts.rules import Phase
from kcodec.formats.language import NamedText
from kcodec.formats.schema_format import SchemaFormat

CODE = "rule"


class Refusal(NamedTuple):
    """Why a value is not read or written: path, code and reason."""

    path: str
    code: str
    reason: str


class ValueShape(NamedTuple):
    """The schema of values: its text, what it refers to and, if it declares messages, which of them the values are."""

    text: str
    references: tuple[NamedText, ...] = ()
    indexes: tuple[int, ...] = ()


@dataclass
class RowRules:
    """What the rules of a schema make of payloads, one after the other.

    Each payload becomes a Python object as confluent-kafka's deserializer makes it, goes through the rules, and becomes
    a payload again, which is then read as a column, or was written from one. If there are only conditions, it stays
    what it was.
    """

    #: The format of the payloads.
    format: SchemaFormat
    #: The subject of the schema, which its keys are those of.
    subject: str
    #: The schemas of the payloads before and after.
    given: ValueShape
    made: ValueShape
    #: Rules for payloads, before they are objects.
    opening: Phase | None = None
    #: Rules for objects.
    phases: tuple[Phase, ...] = ()
    #: Rules for payloads, made of the objects.
    closing: Phase | None = None
    #: What runs the rules, once it is made; it does not pickle.
    runner: Any = field(default=None, repr=False, compare=False)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "runner": None}

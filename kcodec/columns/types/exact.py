"""Arrow types as keys, where pyarrow's types are equal that are not the same."""

import pyarrow as pa


class ExactType:
    """A type as a key of what is made of it.

    pyarrow's types are equal whatever the metadata of their fields, and so are dictionaries, or run ends, of any two
    extension types. A type that is one of these is equal to itself alone, so that what is made of it is not kept.

    >>> marked = pa.struct([pa.field("a", pa.string(), metadata={"kcodec.json": "raw"})])
    >>> plain = pa.struct([pa.field("a", pa.string())])
    >>> marked == plain, ExactType(marked) == ExactType(plain), ExactType(plain) == ExactType(plain)
    (True, False, True)
    """

    __slots__ = ("_is_told", "kind")

    def __init__(self, kind: pa.DataType) -> None:
        self.kind = kind
        self._is_told: bool | None = None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ExactType):
            return False
        if self.kind is other.kind:
            return True
        if not self.kind.equals(other.kind, check_metadata=True):
            return False
        if self._is_told is None:
            self._is_told = is_told_apart(self.kind)
        return self._is_told

    def __hash__(self) -> int:
        return hash(self.kind)


def is_told_apart(kind: pa.DataType) -> bool:
    """Return whether pyarrow tells a type from all others.

    Not where values of extensions, or with metadata, stand once: in a dictionary, or for a run.

    >>> is_told_apart(pa.dictionary(pa.int8(), pa.string())), is_told_apart(pa.dictionary(pa.int8(), pa.uuid()))
    (True, False)
    """
    waiting = [(kind, False)]
    while waiting:
        each, is_stored = waiting.pop()
        if isinstance(each, pa.BaseExtensionType):
            if is_stored:
                return False
            waiting.append((each.storage_type, False))
        elif pa.types.is_dictionary(each) or pa.types.is_run_end_encoded(each):
            waiting.append((each.value_type, True))
        else:
            for number in range(each.num_fields):
                field = each.field(number)
                if is_stored and field.metadata:
                    return False
                waiting.append((field.type, is_stored))
    return True

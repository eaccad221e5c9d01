"""Arrow types as keys that tell fields apart by their metadata, too."""

import pyarrow as pa


class ExactType:
    """A type as a key of what its fields' metadata has a say in; types are equal whatever their metadata.

    >>> marked = pa.struct([pa.field("a", pa.string(), metadata={"kcodec.json": "raw"})])
    >>> plain = pa.struct([pa.field("a", pa.string())])
    >>> marked == plain, ExactType(marked) == ExactType(plain), ExactType(plain) == ExactType(plain)
    (True, False, True)
    """

    __slots__ = ("kind",)

    def __init__(self, kind: pa.DataType) -> None:
        self.kind = kind

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ExactType) and self.kind.equals(other.kind, check_metadata=True)

    def __hash__(self) -> int:
        return hash(self.kind)

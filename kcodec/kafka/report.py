"""What could not be read: batches, keys and values, each with where it stands in its topic."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import pyarrow as pa

from kcodec.columns.shown import html_page, text_page
from kcodec.errors import DecodeError
from kcodec.kafka.offsets import Lost

REPORT = pa.schema(
    [
        pa.field("topic", pa.string(), nullable=False),
        pa.field("partition", pa.int32(), nullable=False),
        pa.field("offset", pa.int64(), nullable=False),
        pa.field("column", pa.string()),
        pa.field("byte", pa.int64()),
        pa.field("path", pa.string(), nullable=False),
        pa.field("code", pa.string(), nullable=False),
        pa.field("reason", pa.string(), nullable=False),
        pa.field("schema_id", pa.int64()),
    ]
)

#: The same where schema ids are text.
_TEXT_REPORT = REPORT.set(8, pa.field("schema_id", pa.string()))


class RecordFault(NamedTuple):
    """What was wrong with a key or a value, or with a batch.

    Attributes
    ----------
    topic, partition, offset
        Where it stands: the offset of the record, or the first of the batch.
    column : str or None
        ``"key"`` or ``"value"``; None if it is the batch.
    byte : int or None
        The byte in the key, value or batch.
    path, code, reason, schema_id
        As of a `kcodec.DecodeError`.
    """

    topic: str
    partition: int
    offset: int
    column: str | None
    byte: int | None
    path: str
    code: str
    reason: str
    schema_id: int | str | None = None


class RecordError(DecodeError):
    """A key or value that cannot be decoded, or a batch that cannot be read.

    Attributes
    ----------
    topic, partition, position
        Where it stands: `position` is the offset of the record, or the first of the batch.
    column : str or None
        ``"key"`` or ``"value"``; None if it is the batch.
    offset : int or None
        The byte in the key, value or batch; and the other attributes of a `DecodeError`.

    Examples
    --------
    >>> fault = RecordFault("orders", 0, 12, "value", 3, "id", "truncated", "the value ends inside a varint")
    >>> error = RecordError(fault)
    >>> error.position, error.column, error.code
    (12, 'value', 'truncated')
    """

    def __init__(self, fault: RecordFault) -> None:
        super().__init__(0, fault.byte, fault.path, fault.code, fault.reason, fault.schema_id)
        self.args = (fault,)
        self.topic = fault.topic
        self.partition = fault.partition
        self.position = fault.offset
        self.column = fault.column

    def _value(self) -> str:
        return f"{self.topic}-{self.partition}, offset {self.position}, {self.column or 'batch'}"


class ReadReport:
    """What could not be read so far; it grows as the topic is read. Its first faults are shown as a table.

    Attributes
    ----------
    faults : list of RecordFault
        In the order in which they were met.
    text_ids : bool
        Whether the table has schema ids as text: keys or values have frames whose ids are GUIDs or fingerprints.

    Examples
    --------
    >>> ReadReport().table().num_rows
    0
    """

    def __init__(self) -> None:
        self.faults: list[RecordFault] = []
        self.text_ids = False

    def __len__(self) -> int:
        return len(self.faults)

    def __repr__(self) -> str:
        return text_page(*self._page())

    def _repr_html_(self) -> str:
        return html_page(*self._page())

    def _page(self) -> tuple[str, Sequence[str], list[RecordFault]]:
        """Return a title, the names of the columns that are shown, and the first rows."""
        return f"ReadReport: {len(self):,} fault{'s' * (len(self) != 1)}", RecordFault._fields, self.faults

    def lose(self, lost: Iterable[Lost]) -> None:
        """Add offsets that are no longer there."""
        for each in lost:
            reason = f"the offsets {each.start} to {each.end - 1} are no longer there"
            code = "offset_out_of_range"
            if each.is_replaced:
                reason = f"what was read at the offsets {each.start} to {each.end - 1} is no longer there"
                code = "log_truncated"
            place = (each.topic, each.partition, each.start)
            self.faults.append(RecordFault(*place, None, None, "", code, reason))

    def table(self) -> pa.Table:
        """Return a table with a row for each fault.

        Its columns are ``topic``, ``partition``, ``offset`` (of the record, or the first of a batch), ``column``
        (``key``, ``value``, or null for a batch), ``byte`` (in the key, value or batch), ``path``, ``code``, ``reason``
        and ``schema_id`` (text with `text_ids`). Offsets that are no longer there have the code
        ``offset_out_of_range``; those whose records were read, and then replaced by others, ``log_truncated``.
        """
        faults = self.faults
        if self.text_ids:
            told = (None if each.schema_id is None else str(each.schema_id) for each in faults)
            faults = [each._replace(schema_id=name) for each, name in zip(faults, told, strict=True)]
        schema = _TEXT_REPORT if self.text_ids else REPORT
        columns = [pa.array([each[i] for each in faults], field.type) for i, field in enumerate(schema)]
        return pa.Table.from_arrays(columns, schema=schema)

"""The layouts of the records that are read from internal topics daily, for when no definitions are at hand.

They are those of Kafka 4.3: OffsetCommit and GroupMetadata in ``__consumer_offsets``, TransactionLog in
``__transaction_state``. Later versions of these records only add tagged fields (KIP-915), which are skipped or kept as
unknown tags.
"""

import functools
from importlib.resources import files

from kcodec.protocol.spec.definitions import Definitions
from kcodec.protocol.spec.message import MessageSpec
from kcodec.protocol.spec.parse import parse

_RECORDS = ("OffsetCommit", "GroupMetadata", "TransactionLog")


@functools.cache
def builtin_definitions() -> Definitions:
    """Return the definitions of OffsetCommit, GroupMetadata and TransactionLog, keys and values."""
    folder = files("kcodec.protocol.topics").joinpath("layouts")
    texts = (
        folder.joinpath(f"{record}{part}.json").read_text("utf-8")
        for record in _RECORDS
        for part in ("Key", "Value")
    )
    return Definitions(parse(text, "kcodec", MessageSpec) for text in texts)

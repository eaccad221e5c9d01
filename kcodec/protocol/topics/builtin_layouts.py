"""The layouts of the records that are read from internal topics daily, for when no definitions are at hand.

They are those of Kafka 4.3: OffsetCommit and GroupMetadata in ``__consumer_offsets``, TransactionLog in
``__transaction_state``. Later versions of these records only add tagged fields (KIP-915), which are skipped or kept as
unknown tags.
"""

import functools
from typing import Any

from kcodec.protocol.spec.definitions import Definitions
from kcodec.protocol.spec.message import MessageSpec
from kcodec.protocol.spec.model import FieldSpec, FieldType, StructSpec
from kcodec.protocol.spec.versions import Versions

__all__ = ["builtin_definitions"]


def _field(name: str, kind: str, versions: str, **more: Any) -> FieldSpec:
    for each in ("nullable_versions", "tagged_versions"):
        if each in more:
            more[each] = Versions.parse(more[each])
    return FieldSpec(name, FieldType.parse(kind), Versions.parse(versions), **more)


def _message(
    name: str, valid: str, flexible: str, *fields: FieldSpec, common: StructSpec | None = None
) -> MessageSpec:
    struct = StructSpec(name, Versions.parse(valid), fields)
    shared = () if common is None else (common,)
    return MessageSpec(name, "data", struct, Versions.parse(flexible), common_structs=shared, file="kcodec")


@functools.cache
def builtin_definitions() -> Definitions:
    """Return the definitions of OffsetCommit, GroupMetadata and TransactionLog, keys and values."""
    member = StructSpec(
        "MemberMetadata",
        Versions.parse("0+"),
        (
            _field("memberId", "string", "0+"),
            _field("groupInstanceId", "string", "3+", nullable_versions="3+", default="null", ignorable=True),
            _field("clientId", "string", "0+"),
            _field("clientHost", "string", "0+"),
            _field("rebalanceTimeout", "int32", "1+", default="-1", ignorable=True),
            _field("sessionTimeout", "int32", "0+"),
            _field("subscription", "bytes", "0+"),
            _field("assignment", "bytes", "0+"),
        ),
    )
    partitions = (_field("Topic", "string", "0+"), _field("PartitionIds", "[]int32", "0+"))
    since_1 = {"tagged_versions": "1+", "versions": "1+"}
    return Definitions(
        (
            _message(
                "OffsetCommitKey",
                "0-1",
                "none",
                _field("group", "string", "0-1"),
                _field("topic", "string", "0-1"),
                _field("partition", "int32", "0-1"),
            ),
            _message(
                "OffsetCommitValue",
                "0-4",
                "4+",
                _field("offset", "int64", "0+"),
                _field("leaderEpoch", "int32", "3+", default="-1", ignorable=True),
                _field("metadata", "string", "0+"),
                _field("commitTimestamp", "int64", "0+"),
                _field("expireTimestamp", "int64", "1", default="-1", ignorable=True),
                _field("topicId", "uuid", "4+", tagged_versions="4+", tag=0, ignorable=True),
            ),
            _message("GroupMetadataKey", "2", "none", _field("group", "string", "2")),
            _message(
                "GroupMetadataValue",
                "0-4",
                "4+",
                _field("protocolType", "string", "0+"),
                _field("generation", "int32", "0+"),
                _field("protocol", "string", "0+", nullable_versions="0+"),
                _field("leader", "string", "0+", nullable_versions="0+"),
                _field("currentStateTimestamp", "int64", "2+", default="-1", ignorable=True),
                _field("members", "[]MemberMetadata", "0+"),
                common=member,
            ),
            _message("TransactionLogKey", "0", "none", _field("TransactionalId", "string", "0")),
            _message(
                "TransactionLogValue",
                "0-1",
                "1+",
                _field("ProducerId", "int64", "0+"),
                _field("PreviousProducerId", "int64", default="-1", tag=0, **since_1),
                _field("NextProducerId", "int64", default="-1", tag=1, **since_1),
                _field("ProducerEpoch", "int16", "0+"),
                _field("NextProducerEpoch", "int16", default="-1", tag=3, **since_1),
                _field("TransactionTimeoutMs", "int32", "0+"),
                _field("TransactionStatus", "int8", "0+"),
                _field(
                    "TransactionPartitions",
                    "[]PartitionsSchema",
                    "0+",
                    nullable_versions="0+",
                    fields=partitions,
                ),
                _field("TransactionLastUpdateTimestampMs", "int64", "0+"),
                _field("TransactionStartTimestampMs", "int64", "0+"),
                _field("ClientTransactionVersion", "int16", default="0", tag=2, **since_1),
            ),
        )
    )

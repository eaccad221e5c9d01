"""The requests that are made of brokers, and their responses, in the versions that are spoken.

They are those that every broker from 1.0 to 4.x understands, without compact forms, and further ones of metadata and
fetches, which name topics by their ids. Fetch responses and produce requests, which hold record sets, are not read and
written by these definitions, but in `fetch_response` and `producer`.
"""

import functools
from typing import Any

from kcodec.protocol.spec.definitions import Definitions
from kcodec.protocol.spec.message import MessageSpec
from kcodec.protocol.spec.model import FieldSpec, FieldType, StructSpec
from kcodec.protocol.spec.versions import Versions

__all__ = ["definitions"]


def _field(name: str, kind: str, *fields: FieldSpec, versions: str = "0+", **more: Any) -> FieldSpec:
    if "nullable" in more:
        more["nullable_versions"] = Versions.parse(more.pop("nullable"))
    if "tag" in more:
        more["tagged_versions"] = Versions.parse(versions)
    return FieldSpec(name, FieldType.parse(kind), Versions.parse(versions), fields=fields, **more)


def _pair(
    name: str,
    api_key: int,
    versions: str,
    request: tuple[FieldSpec, ...],
    response: tuple[FieldSpec, ...],
    flexible: str = "none",
) -> tuple[MessageSpec, MessageSpec]:
    def message(kind: str, fields: tuple[FieldSpec, ...]) -> MessageSpec:
        full = name + kind.capitalize()
        struct = StructSpec(full, Versions.parse(versions), fields)
        return MessageSpec(full, kind, struct, Versions.parse(flexible), api_key=api_key, file="kcodec")

    return message("request", request), message("response", response)


_ERROR = _field("errorCode", "int16")
_MESSAGE = _field("errorMessage", "string", nullable="0+")
_THROTTLE = _field("throttleTimeMs", "int32")
_INDEX = _field("partitionIndex", "int32")
_NAME = _field("name", "string")
_TOPIC_ID_10 = _field("topicId", "uuid", versions="10+", ignorable=True)
# Of fetches, which name topics by the one or the other.
_TOPIC = (
    _field("topic", "string", versions="0-12", ignorable=True),
    _field("topicId", "uuid", versions="13+", ignorable=True),
)


@functools.cache
def definitions() -> Definitions:
    """Return the definitions of all requests and responses."""
    return Definitions(
        message for pair in (*_about_topics(), *_about_producers(), *_about_groups()) for message in pair
    )


def _about_topics() -> tuple[tuple[MessageSpec, MessageSpec], ...]:
    api_versions = _pair(
        "ApiVersions",
        18,
        "0",
        (),
        (
            _ERROR,
            _field(
                "apiKeys",
                "[]ApiVersion",
                _field("apiKey", "int16"),
                _field("minVersion", "int16"),
                _field("maxVersion", "int16"),
            ),
        ),
    )
    metadata = _pair(
        "Metadata",
        3,
        "4-10",
        (
            _field(
                "topics",
                "[]MetadataRequestTopic",
                _TOPIC_ID_10,
                _field("name", "string", nullable="10+"),
                nullable="1+",
            ),
            _field("allowAutoTopicCreation", "bool", default="true"),
            _field("includeClusterAuthorizedOperations", "bool", versions="8-10"),
            _field("includeTopicAuthorizedOperations", "bool", versions="8+"),
        ),
        (
            _THROTTLE,
            _field(
                "brokers",
                "[]MetadataResponseBroker",
                _field("nodeId", "int32"),
                _field("host", "string"),
                _field("port", "int32"),
                _field("rack", "string", nullable="0+", default="null"),
            ),
            _field("clusterId", "string", nullable="0+", default="null"),
            _field("controllerId", "int32", default="-1"),
            _field(
                "topics",
                "[]MetadataResponseTopic",
                _ERROR,
                _NAME,
                _TOPIC_ID_10,
                _field("isInternal", "bool", default="false"),
                _field(
                    "partitions",
                    "[]MetadataResponsePartition",
                    _ERROR,
                    _INDEX,
                    _field("leaderId", "int32"),
                    _field("leaderEpoch", "int32", versions="7+", default="-1"),
                    _field("replicaNodes", "[]int32"),
                    _field("isrNodes", "[]int32"),
                    _field("offlineReplicas", "[]int32", versions="5+"),
                ),
                _field("topicAuthorizedOperations", "int32", versions="8+", default="-2147483648"),
            ),
            _field("clusterAuthorizedOperations", "int32", versions="8-10", default="-2147483648"),
        ),
        "9+",
    )
    list_offsets = _pair(
        "ListOffsets",
        2,
        "2-5",
        (
            _field("replicaId", "int32"),
            _field("isolationLevel", "int8"),
            _field(
                "topics",
                "[]ListOffsetsTopic",
                _NAME,
                _field(
                    "partitions",
                    "[]ListOffsetsPartition",
                    _INDEX,
                    _field("currentLeaderEpoch", "int32", versions="4+", default="-1"),
                    _field("timestamp", "int64"),
                ),
            ),
        ),
        (
            _THROTTLE,
            _field(
                "topics",
                "[]ListOffsetsTopicResponse",
                _NAME,
                _field(
                    "partitions",
                    "[]ListOffsetsPartitionResponse",
                    _INDEX,
                    _ERROR,
                    _field("timestamp", "int64", default="-1"),
                    _field("offset", "int64", default="-1"),
                    _field("leaderEpoch", "int32", versions="4+", default="-1"),
                ),
            ),
        ),
    )
    fetch = _pair(
        "Fetch",
        1,
        "4-13",
        (
            _field(
                "clusterId", "string", versions="12+", nullable="12+", default="null", tag=0, ignorable=True
            ),
            _field("replicaId", "int32", default="-1"),
            _field("maxWaitMs", "int32"),
            _field("minBytes", "int32"),
            _field("maxBytes", "int32", default="0x7fffffff"),
            _field("isolationLevel", "int8", default="0"),
            _field("sessionId", "int32", versions="7+", default="0"),
            _field("sessionEpoch", "int32", versions="7+", default="-1"),
            _field(
                "topics",
                "[]FetchTopic",
                *_TOPIC,
                _field(
                    "partitions",
                    "[]FetchPartition",
                    _field("partition", "int32"),
                    _field("currentLeaderEpoch", "int32", versions="9+", default="-1", ignorable=True),
                    _field("fetchOffset", "int64"),
                    _field("lastFetchedEpoch", "int32", versions="12+", default="-1"),
                    _field("logStartOffset", "int64", versions="5+", default="-1"),
                    _field("partitionMaxBytes", "int32"),
                ),
            ),
            _field(
                "forgottenTopicsData",
                "[]ForgottenTopic",
                *_TOPIC,
                _field("partitions", "[]int32"),
                versions="7+",
            ),
            _field("rackId", "string", versions="11+"),
        ),
        (
            _THROTTLE,
            _field("errorCode", "int16", versions="7+"),
            _field("sessionId", "int32", versions="7+"),
            _field(
                "responses",
                "[]FetchableTopicResponse",
                *_TOPIC,
                _field(
                    "partitions",
                    "[]PartitionData",
                    _INDEX,
                    _ERROR,
                    _field("highWatermark", "int64"),
                    _field("lastStableOffset", "int64", default="-1"),
                    _field("logStartOffset", "int64", versions="5+", default="-1"),
                    _field(
                        "divergingEpoch",
                        "EpochEndOffset",
                        _field("epoch", "int32", default="-1"),
                        _field("endOffset", "int64", default="-1"),
                        versions="12+",
                        tag=0,
                    ),
                    _field(
                        "currentLeader",
                        "LeaderIdAndEpoch",
                        _field("leaderId", "int32", default="-1"),
                        _field("leaderEpoch", "int32", default="-1"),
                        versions="12+",
                        tag=1,
                    ),
                    _field(
                        "snapshotId",
                        "SnapshotId",
                        _field("endOffset", "int64", default="-1"),
                        _field("epoch", "int32", default="-1"),
                        versions="12+",
                        tag=2,
                    ),
                    _field(
                        "abortedTransactions",
                        "[]AbortedTransaction",
                        _field("producerId", "int64"),
                        _field("firstOffset", "int64"),
                        nullable="4+",
                    ),
                    _field("preferredReadReplica", "int32", versions="11+", default="-1"),
                    _field("records", "records", nullable="0+"),
                ),
            ),
        ),
        "12+",
    )
    log_dirs = _pair(
        "DescribeLogDirs",
        35,
        "1",
        (
            _field(
                "topics",
                "[]DescribableLogDirTopic",
                _field("topic", "string"),
                _field("partitions", "[]int32"),
                nullable="0+",
            ),
        ),
        (
            _THROTTLE,
            _field(
                "results",
                "[]DescribeLogDirsResult",
                _ERROR,
                _field("logDir", "string"),
                _field(
                    "topics",
                    "[]DescribeLogDirsTopic",
                    _NAME,
                    _field(
                        "partitions",
                        "[]DescribeLogDirsPartition",
                        _INDEX,
                        _field("partitionSize", "int64"),
                        _field("offsetLag", "int64"),
                        _field("isFutureKey", "bool"),
                    ),
                ),
            ),
        ),
    )
    return api_versions, metadata, list_offsets, fetch, log_dirs


def _about_producers() -> tuple[tuple[MessageSpec, MessageSpec], ...]:
    produce = _pair(
        "Produce",
        0,
        "3-8",
        (
            _field("transactionalId", "string", nullable="0+", default="null"),
            _field("acks", "int16"),
            _field("timeoutMs", "int32"),
            _field(
                "topicData",
                "[]TopicProduceData",
                _NAME,
                _field(
                    "partitionData",
                    "[]PartitionProduceData",
                    _field("index", "int32"),
                    _field("records", "records", nullable="0+"),
                ),
            ),
        ),
        (
            _field(
                "responses",
                "[]TopicProduceResponse",
                _NAME,
                _field(
                    "partitionResponses",
                    "[]PartitionProduceResponse",
                    _field("index", "int32"),
                    _ERROR,
                    _field("baseOffset", "int64"),
                    _field("logAppendTimeMs", "int64", default="-1"),
                    _field("logStartOffset", "int64", versions="5+", default="-1"),
                    _field(
                        "recordErrors",
                        "[]BatchIndexAndErrorMessage",
                        _field("batchIndex", "int32"),
                        _field("batchIndexErrorMessage", "string", nullable="0+", default="null"),
                        versions="8+",
                    ),
                    _field("errorMessage", "string", versions="8+", nullable="8+", default="null"),
                ),
            ),
            _THROTTLE,
        ),
    )
    init = _pair(
        "InitProducerId",
        22,
        "0-1",
        (
            _field("transactionalId", "string", nullable="0+"),
            _field("transactionTimeoutMs", "int32"),
        ),
        (
            _THROTTLE,
            _ERROR,
            _field("producerId", "int64", default="-1"),
            _field("producerEpoch", "int16"),
        ),
    )
    add = _pair(
        "AddPartitionsToTxn",
        24,
        "0-2",
        (
            _field("v3AndBelowTransactionalId", "string"),
            _field("v3AndBelowProducerId", "int64"),
            _field("v3AndBelowProducerEpoch", "int16"),
            _field(
                "v3AndBelowTopics",
                "[]AddPartitionsToTxnTopic",
                _NAME,
                _field("partitions", "[]int32"),
            ),
        ),
        (
            _THROTTLE,
            _field(
                "resultsByTopicV3AndBelow",
                "[]AddPartitionsToTxnTopicResult",
                _NAME,
                _field(
                    "resultsByPartition",
                    "[]AddPartitionsToTxnPartitionResult",
                    _INDEX,
                    _field("partitionErrorCode", "int16"),
                ),
            ),
        ),
    )
    end = _pair(
        "EndTxn",
        26,
        "0-2",
        (
            _field("transactionalId", "string"),
            _field("producerId", "int64"),
            _field("producerEpoch", "int16"),
            _field("committed", "bool"),
        ),
        (_THROTTLE, _ERROR),
    )
    return produce, init, add, end


def _about_groups() -> tuple[tuple[MessageSpec, MessageSpec], ...]:
    find = _pair(
        "FindCoordinator",
        10,
        "1-2",
        (_field("key", "string"), _field("keyType", "int8", default="0")),
        (
            _THROTTLE,
            _ERROR,
            _MESSAGE,
            _field("nodeId", "int32"),
            _field("host", "string"),
            _field("port", "int32"),
        ),
    )
    commit = _pair(
        "OffsetCommit",
        8,
        "2-7",
        (
            _field("groupId", "string"),
            _field("generationIdOrMemberEpoch", "int32", default="-1"),
            _field("memberId", "string"),
            _field("groupInstanceId", "string", versions="7+", nullable="7+", default="null"),
            _field("retentionTimeMs", "int64", versions="2-4", default="-1", ignorable=True),
            _field(
                "topics",
                "[]OffsetCommitRequestTopic",
                _NAME,
                _field(
                    "partitions",
                    "[]OffsetCommitRequestPartition",
                    _INDEX,
                    _field("committedOffset", "int64"),
                    _field("committedLeaderEpoch", "int32", versions="6+", default="-1", ignorable=True),
                    _field("committedMetadata", "string", nullable="0+"),
                ),
            ),
        ),
        (
            _field("throttleTimeMs", "int32", versions="3+"),
            _field(
                "topics",
                "[]OffsetCommitResponseTopic",
                _NAME,
                _field("partitions", "[]OffsetCommitResponsePartition", _INDEX, _ERROR),
            ),
        ),
    )
    fetch = _pair(
        "OffsetFetch",
        9,
        "2-5",
        (
            _field("groupId", "string"),
            _field(
                "topics",
                "[]OffsetFetchRequestTopic",
                _NAME,
                _field("partitionIndexes", "[]int32"),
                nullable="2+",
            ),
        ),
        (
            _field("throttleTimeMs", "int32", versions="3+"),
            _field(
                "topics",
                "[]OffsetFetchResponseTopic",
                _NAME,
                _field(
                    "partitions",
                    "[]OffsetFetchResponsePartition",
                    _INDEX,
                    _field("committedOffset", "int64"),
                    _field("committedLeaderEpoch", "int32", versions="5+", default="-1"),
                    _field("metadata", "string", nullable="0+"),
                    _ERROR,
                ),
            ),
            _ERROR,
        ),
    )
    handshake = _pair(
        "SaslHandshake",
        17,
        "1",
        (_field("mechanism", "string"),),
        (_ERROR, _field("mechanisms", "[]string")),
    )
    authenticate = _pair(
        "SaslAuthenticate",
        36,
        "0-1",
        (_field("authBytes", "bytes"),),
        (
            _ERROR,
            _MESSAGE,
            _field("authBytes", "bytes"),
            _field("sessionLifetimeMs", "int64", versions="1+", default="0"),
        ),
    )
    return find, commit, fetch, handshake, authenticate

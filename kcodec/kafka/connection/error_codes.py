"""The errors that brokers answer with, by number: name, and whether another try may succeed."""

from kcodec.errors import KafkaError, KafkaTimeoutError

__all__ = [
    "CORRUPT_MESSAGE",
    "DUPLICATE_SEQUENCE",
    "ILLEGAL_SASL_STATE",
    "LEADER_NOT_AVAILABLE",
    "LOG_TRUNCATED",
    "OFFSET_OUT_OF_RANGE",
    "SASL_AUTHENTICATION_FAILED",
    "SSL_AUTHENTICATION_FAILED",
    "TOPIC_RECREATED",
    "UNKNOWN_MEMBER_ID",
    "UNKNOWN_TOPIC_ID",
    "UNKNOWN_TOPIC_OR_PARTITION",
    "UNSUPPORTED_COMPRESSION_TYPE",
    "UNSUPPORTED_VERSION",
    "broker_error",
    "is_retriable",
    "login_failed",
    "recreated",
    "timed_out",
    "truncated",
]

OFFSET_OUT_OF_RANGE = 1
CORRUPT_MESSAGE = 2
UNKNOWN_TOPIC_OR_PARTITION = 3
LEADER_NOT_AVAILABLE = 5
UNKNOWN_MEMBER_ID = 25
ILLEGAL_SASL_STATE = 34
UNSUPPORTED_VERSION = 35
DUPLICATE_SEQUENCE = 46
SASL_AUTHENTICATION_FAILED = 58
UNSUPPORTED_COMPRESSION_TYPE = 76
UNKNOWN_TOPIC_ID = 100
_TIMED_OUT = 7
#: The names of what no broker answers, and so has no number.
SSL_AUTHENTICATION_FAILED = "SSL_AUTHENTICATION_FAILED"
TOPIC_RECREATED = "TOPIC_RECREATED"
LOG_TRUNCATED = "LOG_TRUNCATED"

_NAMES = {
    -1: "UNKNOWN_SERVER_ERROR",
    1: "OFFSET_OUT_OF_RANGE",
    2: "CORRUPT_MESSAGE",
    3: "UNKNOWN_TOPIC_OR_PARTITION",
    4: "INVALID_FETCH_SIZE",
    5: "LEADER_NOT_AVAILABLE",
    6: "NOT_LEADER_OR_FOLLOWER",
    7: "REQUEST_TIMED_OUT",
    8: "BROKER_NOT_AVAILABLE",
    9: "REPLICA_NOT_AVAILABLE",
    10: "MESSAGE_TOO_LARGE",
    12: "OFFSET_METADATA_TOO_LARGE",
    13: "NETWORK_EXCEPTION",
    14: "COORDINATOR_LOAD_IN_PROGRESS",
    15: "COORDINATOR_NOT_AVAILABLE",
    16: "NOT_COORDINATOR",
    17: "INVALID_TOPIC_EXCEPTION",
    18: "RECORD_LIST_TOO_LARGE",
    19: "NOT_ENOUGH_REPLICAS",
    20: "NOT_ENOUGH_REPLICAS_AFTER_APPEND",
    21: "INVALID_REQUIRED_ACKS",
    22: "ILLEGAL_GENERATION",
    24: "INVALID_GROUP_ID",
    25: "UNKNOWN_MEMBER_ID",
    27: "REBALANCE_IN_PROGRESS",
    28: "INVALID_COMMIT_OFFSET_SIZE",
    29: "TOPIC_AUTHORIZATION_FAILED",
    30: "GROUP_AUTHORIZATION_FAILED",
    31: "CLUSTER_AUTHORIZATION_FAILED",
    32: "INVALID_TIMESTAMP",
    33: "UNSUPPORTED_SASL_MECHANISM",
    34: "ILLEGAL_SASL_STATE",
    35: "UNSUPPORTED_VERSION",
    36: "TOPIC_ALREADY_EXISTS",
    37: "INVALID_PARTITIONS",
    38: "INVALID_REPLICATION_FACTOR",
    39: "INVALID_REPLICA_ASSIGNMENT",
    40: "INVALID_CONFIG",
    41: "NOT_CONTROLLER",
    42: "INVALID_REQUEST",
    43: "UNSUPPORTED_FOR_MESSAGE_FORMAT",
    44: "POLICY_VIOLATION",
    45: "OUT_OF_ORDER_SEQUENCE_NUMBER",
    46: "DUPLICATE_SEQUENCE_NUMBER",
    47: "INVALID_PRODUCER_EPOCH",
    48: "INVALID_TXN_STATE",
    49: "INVALID_PRODUCER_ID_MAPPING",
    50: "INVALID_TRANSACTION_TIMEOUT",
    51: "CONCURRENT_TRANSACTIONS",
    52: "TRANSACTION_COORDINATOR_FENCED",
    53: "TRANSACTIONAL_ID_AUTHORIZATION_FAILED",
    54: "SECURITY_DISABLED",
    55: "OPERATION_NOT_ATTEMPTED",
    56: "KAFKA_STORAGE_ERROR",
    57: "LOG_DIR_NOT_FOUND",
    58: "SASL_AUTHENTICATION_FAILED",
    59: "UNKNOWN_PRODUCER_ID",
    69: "GROUP_ID_NOT_FOUND",
    73: "TOPIC_DELETION_DISABLED",
    74: "FENCED_LEADER_EPOCH",
    75: "UNKNOWN_LEADER_EPOCH",
    76: "UNSUPPORTED_COMPRESSION_TYPE",
    78: "OFFSET_NOT_AVAILABLE",
    87: "INVALID_RECORD",
    88: "UNSTABLE_OFFSET_COMMIT",
    89: "THROTTLING_QUOTA_EXCEEDED",
    90: "PRODUCER_FENCED",
    100: "UNKNOWN_TOPIC_ID",
    103: "INCONSISTENT_TOPIC_ID",
}

_RETRIABLE = {3, 5, 6, 7, 8, 9, 13, 14, 15, 16, 19, 20, 51, 56, 74, 75, 78, 88, 89, 100, 103}


def is_retriable(error: KafkaError) -> bool:
    """Return whether another try may succeed: if the broker's code says so, or the connection ended."""
    return error.name is None or error.code in _RETRIABLE


def broker_error(code: int, what: str, message: str | None = None) -> KafkaError:
    """Return the error that a broker's code stands for, with what it was asked.

    >>> broker_error(29, "topic 'orders'").message
    "topic 'orders': TOPIC_AUTHORIZATION_FAILED"
    """
    name = _NAMES.get(code, f"ERROR_{code}")
    kind = KafkaTimeoutError if code == _TIMED_OUT else KafkaError
    return kind(f"{what}: {name}" + (f": {message}" if message else ""), code, name)


def login_failed(reason: str) -> KafkaError:
    """Return the error of a login that fails on the client's side, and would fail again.

    >>> is_retriable(login_failed("SCRAM: the server does not know the password"))
    False
    """
    return KafkaError(reason, SASL_AUTHENTICATION_FAILED, _NAMES[SASL_AUTHENTICATION_FAILED])


def recreated(topic: str) -> KafkaError:
    """Return the error of a topic that was deleted and made anew, so that old offsets mean nothing in it.

    >>> recreated("orders").name
    'TOPIC_RECREATED'
    """
    text = f"topic {topic!r} was deleted and made anew: old offsets mean nothing in it"
    return KafkaError(f"{text} ({TOPIC_RECREATED})", None, TOPIC_RECREATED)


def truncated(what: str, offset: int, end: int) -> KafkaError:
    """Return the error of a log that has lost what was read of it, so that its offsets are those of other records.

    >>> truncated("orders-0", 12, 10).name
    'LOG_TRUNCATED'
    """
    behind = "an unknown offset" if end < 0 else f"offset {end}"
    text = f"{what}: it was read up to offset {offset}, and has lost what was there from {behind} on"
    return KafkaError(f"{text} ({LOG_TRUNCATED})", None, LOG_TRUNCATED)


def timed_out(error: KafkaError, before: KafkaError | None, milliseconds: int) -> KafkaTimeoutError:
    """Return the error of tries that took too long: that of the last one, and how long was tried.

    The end of the time cuts off a try that waits for a broker. If the one before it had an answer, that says more.

    >>> cut = KafkaTimeoutError("localhost:9092: no response: timed out")
    >>> timed_out(cut, broker_error(6, "orders-0"), 60_000).message
    'orders-0: NOT_LEADER_OR_FOLLOWER (after tries for 60000 ms)'
    """
    if isinstance(error, KafkaTimeoutError):
        if error.code is not None or before is None or before.code is None:
            return error
        error = before
    told = KafkaTimeoutError(f"{error} (after tries for {milliseconds} ms)", error.code, error.name)
    told.__cause__ = error
    return told

"""The errors that brokers answer with, by number: name, and whether another try may succeed."""

from enum import IntEnum

from kcodec.errors import KafkaError, KafkaTimeoutError

#: The names of what no broker answers, and so has no number.
SSL_AUTHENTICATION_FAILED = "SSL_AUTHENTICATION_FAILED"
TOPIC_RECREATED = "TOPIC_RECREATED"
LOG_TRUNCATED = "LOG_TRUNCATED"


class Code(IntEnum):
    """What brokers answer."""

    UNKNOWN_SERVER_ERROR = -1
    OFFSET_OUT_OF_RANGE = 1
    CORRUPT_MESSAGE = 2
    UNKNOWN_TOPIC_OR_PARTITION = 3
    INVALID_FETCH_SIZE = 4
    LEADER_NOT_AVAILABLE = 5
    NOT_LEADER_OR_FOLLOWER = 6
    REQUEST_TIMED_OUT = 7
    BROKER_NOT_AVAILABLE = 8
    REPLICA_NOT_AVAILABLE = 9
    MESSAGE_TOO_LARGE = 10
    OFFSET_METADATA_TOO_LARGE = 12
    NETWORK_EXCEPTION = 13
    COORDINATOR_LOAD_IN_PROGRESS = 14
    COORDINATOR_NOT_AVAILABLE = 15
    NOT_COORDINATOR = 16
    INVALID_TOPIC_EXCEPTION = 17
    RECORD_LIST_TOO_LARGE = 18
    NOT_ENOUGH_REPLICAS = 19
    NOT_ENOUGH_REPLICAS_AFTER_APPEND = 20
    INVALID_REQUIRED_ACKS = 21
    ILLEGAL_GENERATION = 22
    INVALID_GROUP_ID = 24
    UNKNOWN_MEMBER_ID = 25
    REBALANCE_IN_PROGRESS = 27
    INVALID_COMMIT_OFFSET_SIZE = 28
    TOPIC_AUTHORIZATION_FAILED = 29
    GROUP_AUTHORIZATION_FAILED = 30
    CLUSTER_AUTHORIZATION_FAILED = 31
    INVALID_TIMESTAMP = 32
    UNSUPPORTED_SASL_MECHANISM = 33
    ILLEGAL_SASL_STATE = 34
    UNSUPPORTED_VERSION = 35
    TOPIC_ALREADY_EXISTS = 36
    INVALID_PARTITIONS = 37
    INVALID_REPLICATION_FACTOR = 38
    INVALID_REPLICA_ASSIGNMENT = 39
    INVALID_CONFIG = 40
    NOT_CONTROLLER = 41
    INVALID_REQUEST = 42
    UNSUPPORTED_FOR_MESSAGE_FORMAT = 43
    POLICY_VIOLATION = 44
    OUT_OF_ORDER_SEQUENCE_NUMBER = 45
    DUPLICATE_SEQUENCE_NUMBER = 46
    INVALID_PRODUCER_EPOCH = 47
    INVALID_TXN_STATE = 48
    INVALID_PRODUCER_ID_MAPPING = 49
    INVALID_TRANSACTION_TIMEOUT = 50
    CONCURRENT_TRANSACTIONS = 51
    TRANSACTION_COORDINATOR_FENCED = 52
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED = 53
    SECURITY_DISABLED = 54
    OPERATION_NOT_ATTEMPTED = 55
    KAFKA_STORAGE_ERROR = 56
    LOG_DIR_NOT_FOUND = 57
    SASL_AUTHENTICATION_FAILED = 58
    UNKNOWN_PRODUCER_ID = 59
    GROUP_ID_NOT_FOUND = 69
    TOPIC_DELETION_DISABLED = 73
    FENCED_LEADER_EPOCH = 74
    UNKNOWN_LEADER_EPOCH = 75
    UNSUPPORTED_COMPRESSION_TYPE = 76
    OFFSET_NOT_AVAILABLE = 78
    INVALID_RECORD = 87
    UNSTABLE_OFFSET_COMMIT = 88
    THROTTLING_QUOTA_EXCEEDED = 89
    PRODUCER_FENCED = 90
    UNKNOWN_TOPIC_ID = 100
    INCONSISTENT_TOPIC_ID = 103


_NAMES = {code.value: code.name for code in Code}
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
    kind = KafkaTimeoutError if code == Code.REQUEST_TIMED_OUT else KafkaError
    return kind(f"{what}: {name}" + (f": {message}" if message else ""), int(code), name)


def login_failed(reason: str) -> KafkaError:
    """Return the error of a login that fails on the client's side, and would fail again.

    >>> is_retriable(login_failed("SCRAM: the server does not know the password"))
    False
    """
    code = Code.SASL_AUTHENTICATION_FAILED
    return KafkaError(reason, code.value, code.name)


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

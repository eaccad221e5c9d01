"""The options of ``kcodec_kafka``: those of Spark's own Kafka source and sink under their names, and kcodec's.

Spark gives them in lower case, and compares names without regard to case.
"""

import difflib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Any

from kcodec.errors import ConfigError
from kcodec.kafka import read_positions
from kcodec_spark.options import REGISTRY_PREFIX

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_TOPICS = ("subscribe", "subscribePattern", "assign")
_STARTS = ("startingTimestamp", "startingOffsetsByTimestamp", "startingOffsets")
_ENDS = ("endingTimestamp", "endingOffsetsByTimestamp", "endingOffsets")
#: What only batches heed, and what only streams do.
_BATCH = ("minPartitions", "maxRecordsPerPartition")
STREAM = ("maxOffsetsPerTrigger", "minOffsetsPerTrigger", "maxTriggerDelay")
#: Of keys and values, also with ``key.`` and ``value.`` before them; without, they are those of values.
PAYLOAD = ("format", "schema", "subject", "fields", "message", "frame")
ROWS = ("mode", "columnNameOfCorruptRecord", "onRegistryFailure")
_READ = (
    *_TOPICS,
    *_STARTS,
    "startingOffsetsByTimestampStrategy",
    *_ENDS,
    *_BATCH,
    *STREAM,
    "failOnDataLoss",
    "includeHeaders",
    "columns",
    "where",
    "pushFilters",
    "timestampsInOrder",
    "schemaRegistryAddress",
    *ROWS,
)
#: Spark hands the place of a checkpoint on to the sink.
_WRITE = ("topic", "schemaRegistryAddress", "checkpointLocation")
_KAFKA = "kafka."

#: Names in lower case -> what takes their place.
_INSTEAD = {
    **dict.fromkeys(("groupidprefix", "kafka.group.id"), "there is no group: leave it out"),
    "kafka.auto.offset.reset": "startingOffsets and failOnDataLoss say so",
    **dict.fromkeys(
        ("fetchoffset.numretries", "fetchoffset.retryintervalms"),
        "give kafka.default.api.timeout.ms and kafka.retry.backoff.ms",
    ),
    "kafkaconsumer.polltimeoutms": "give kafka.default.api.timeout.ms",
    **dict.fromkeys(
        (
            "kafka.key.deserializer",
            "kafka.value.deserializer",
            "kafka.key.serializer",
            "kafka.value.serializer",
        ),
        "give key.format and value.format",
    ),
    "kafka.enable.auto.commit": "offsets stand in the checkpoint, none are committed",
    "kafka.interceptor.classes": "there are no interceptors",
    "kafka.transactional.id": "tasks write at least once; kcodec.kafka.write has transactions",
    "schema.registry.url": "give the address as schemaRegistryAddress",
    "kafka.schema.registry.url": "give the address as schemaRegistryAddress",
    **{
        f"{side}subject.name.strategy": f"give {side or 'value.'}subject, such as orders-value"
        for side in ("", "key.", "value.")
    },
    **dict.fromkeys(("mode", "columnnameofcorruptrecord"), "what cannot be written fails its task"),
    "provider": "topics cannot be a table: CREATE TEMPORARY VIEW orders USING kcodec_kafka OPTIONS (...)",
    "path": "give the topics as subscribe, subscribePattern or assign, and topic where it is written",
}


class Given:
    """Options by their proper names, unknown ones refused with the nearest known one.

    `config` are the settings of Kafka's client, `registry` those of the registry's.
    """

    def __init__(self, options: Mapping[str, str], is_write: bool, formats: tuple[str, ...]) -> None:
        self._values: dict[str, str] = {}
        self.config: dict[str, Any] = {}
        self.registry: dict[str, Any] = {}
        here, elsewhere = (_WRITE, _READ) if is_write else (_READ, _WRITE)
        known = {name.lower(): name for name in here}
        for name in (*PAYLOAD, *formats):
            known[name.lower()] = f"value.{name}"
            for part in ("key", "value"):
                known[f"{part}.{name}".lower()] = f"{part}.{name}"
        # What is said by the format that the reader has.
        del known["format"]
        # For a table, Spark gives each option twice, and what it says of the table itself.
        for name, value in sorted(options.items(), key=lambda option: option[0].lower() != "provider"):
            lower = name.lower()
            if lower in known:
                if known[lower] in self._values:
                    raise ConfigError(f"the option {known[lower]} is given twice")
                self._values[known[lower]] = value
            elif lower in _INSTEAD:
                raise ConfigError(f"unknown option {name!r}: {_INSTEAD[lower]}")
            elif lower.startswith(_KAFKA):
                self.config[lower[len(_KAFKA) :]] = value
            elif lower.startswith(REGISTRY_PREFIX):
                self.registry[lower[len(REGISTRY_PREFIX) :]] = value
            elif lower in map(str.lower, elsewhere):
                raise ConfigError(
                    f"the option {name} is for {'reading' if is_write else 'writing'}: leave it out here"
                )
            else:
                raise ConfigError(f"unknown option {name!r}{_nearest(lower, known)}")
        if "bootstrap.servers" not in self.config:
            raise ConfigError("no servers are given: .option('kafka.bootstrap.servers', 'host:9092')")

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def text(self, name: str) -> str | None:
        """Return an option, None without it."""
        return self._values.get(name)

    def names(self, prefix: str) -> dict[str, str]:
        """Return the options that begin with a prefix, without it."""
        return {name[len(prefix) :]: value for name, value in self._values.items() if name.startswith(prefix)}

    def one_of(self, *names: str) -> str | None:
        """Return the first of some options that is given."""
        return next((name for name in names if name in self._values), None)

    def number(self, name: str) -> int | None:
        """Return an option that is a number from 1 on."""
        text = self._values.get(name)
        if text is None:
            return None
        if not text.strip().isdecimal() or int(text) < 1:
            raise ConfigError(f"{name}={text!r} is not a number from 1 on")
        return int(text)

    def flag(self, name: str, default: bool) -> bool:
        """Return an option that is true or false."""
        text = self._values.get(name, str(default)).strip().lower()
        if text not in ("true", "false"):
            raise ConfigError(f"{name}={self._values[name]!r} is neither true nor false")
        return text == "true"

    def topics(self) -> Any:
        """Return the topics, as `kcodec.kafka.read` takes them."""
        given = [name for name in _TOPICS if name in self._values]
        if len(given) != 1:
            raise ConfigError(f"one of {', '.join(_TOPICS)} says which topics are read")
        text = self._values[given[0]].strip()
        if given[0] == "subscribe":
            names = [name.strip() for name in text.split(",") if name.strip()]
            if not names:
                raise ConfigError("subscribe is empty")
            return names
        if given[0] == "subscribePattern":
            try:
                return re.compile(text)
            except (re.error, RecursionError, OverflowError) as error:
                raise ConfigError(f"subscribePattern={text!r} is no pattern: {error}") from None
        return _assignment(text)

    def start(self, default: str) -> "Bound":
        """Return where reading starts."""
        return self._bound(_STARTS, default)

    def end(self) -> "Bound":
        """Return where reading ends."""
        return self._bound(_ENDS, "latest")

    def check(self) -> None:
        """Raise if an option has an invalid value, even one that a batch or a stream does not use."""
        self.start("latest")
        self.end()
        for name in (*_BATCH, "maxOffsetsPerTrigger", "minOffsetsPerTrigger"):
            self.number(name)
        self.milliseconds("maxTriggerDelay", "15m")
        for name in ("pushFilters", "timestampsInOrder"):
            self.flag(name, False)

    def refuse_ends(self) -> None:
        """Raise if an end is given."""
        if name := self.one_of(*_ENDS):
            raise ConfigError(f"{name}: a stream has no end")

    def _bound(self, names: tuple[str, ...], default: str) -> "Bound":
        name = self.one_of(*names)
        if name is None:
            return Bound(names[-1], default)
        text = self._values[name].strip()
        if name.endswith("ByTimestamp"):
            by = {
                topic: {number: _time(name, each) for number, each in at.items()}
                for topic, at in _positions(name, text).items()
            }
            return Bound(name, by, self._strategy() if name in _STARTS else "latest")
        if name.endswith("Timestamp"):
            return Bound(name, _time(name, text), self._strategy() if name in _STARTS else "latest")
        if text.lower() in ("earliest", "latest"):
            return Bound(name, text.lower())
        if not text.startswith("{"):
            raise ConfigError(
                f'{name}={text!r} is not earliest, latest or offsets such as {{"orders": {{"0": 23}}}}'
            )
        return Bound(name, _positions(name, text))

    def _strategy(self) -> str:
        text = self._values.get("startingOffsetsByTimestampStrategy", "error").strip().lower()
        if text not in ("error", "latest"):
            raise ConfigError(f"startingOffsetsByTimestampStrategy={text!r} is not one of error, latest")
        return text

    def milliseconds(self, name: str, default: str) -> float:
        """Return an option that is a duration, such as ``15m``."""
        text = self._values.get(name, default).strip().lower()
        found = re.fullmatch(r"(\d+)\s*(ms|s|m|min|h|d|us)?", text)
        if found is None:
            raise ConfigError(f"{name}={text!r} is not a duration such as 15m")
        unit = {"us": 0.001, "s": 1000, "m": 60_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}
        return int(found[1]) * unit.get(found[2], 1)


@dataclass(frozen=True)
class Bound:
    """Where reading starts or ends: ``earliest``, ``latest``, a time, or offsets or times by topic and partition.

    `option` is the one that says so; `unmatched` is what becomes of a time that no record has reached: ``error`` or
    ``latest``.
    """

    option: str
    at: Any
    unmatched: str = field(default="latest")

    @property
    def is_time(self) -> bool:
        """Whether it is given in times."""
        return self.option.endswith("Timestamp")


def _nearest(name: str, known: Mapping[str, str]) -> str:
    near = difflib.get_close_matches(name, [*known, "kafka.bootstrap.servers"], 1)
    if near:
        return f"; did you mean {known.get(near[0], near[0])}?"
    return ": settings of Kafka's client begin with kafka., those of the registry's with " + REGISTRY_PREFIX


def _assignment(text: str) -> dict[str, list[int]]:
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"assign is not JSON: {error}") from None
    if (
        not isinstance(parsed, dict)
        or not parsed
        or not all(
            isinstance(numbers, list) and all(type(number) is int for number in numbers)
            for numbers in parsed.values()
        )
    ):
        raise ConfigError('assign is such as {"orders": [0, 1]}')
    return parsed


def _positions(name: str, text: str) -> dict[str, dict[int, int]]:
    try:
        return read_positions(text)
    except ConfigError as error:
        raise ConfigError(f"{name}: {error}") from None


def _time(name: str, value: Any) -> datetime:
    try:
        milliseconds = int(value)
        if milliseconds >= 0:
            return _EPOCH + timedelta(milliseconds=milliseconds)
    except (OverflowError, TypeError, ValueError):
        pass
    raise ConfigError(f"{name}: {value!r} is not a number of milliseconds since 1970")

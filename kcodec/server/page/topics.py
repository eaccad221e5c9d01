"""The pages of a broker's topics: what there is, who reads it and how far, and the last records; nothing is changed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from kcodec.errors import KafkaError
from kcodec.frames import CONFLUENT, CONFLUENT_HEADER
from kcodec.kafka.topics.looks import Look, looks_of
from kcodec.registry.base import DEFAULT_CONTEXT
from kcodec.server.page.message import read_message
from kcodec.server.page.part import ListPart
from kcodec.server.page.request import Refused, Response
from kcodec.server.page.visit import Visit

__all__ = ["topic", "topics"]

#: Records that are shown of a topic, the last of its partitions, and characters of each key and value.
_SAMPLE = 20
_MOST_SHOWN = 2000

#: Bytes of a payload of which a value is made.
_MOST_READ = 256 << 10

#: Rows of groups, and of partitions, that a page has.
_MOST_ROWS = 500

#: The year 10000, in microseconds since 1970.
_YEAR_10000 = 253_402_300_800_000_000

#: The error of a topic that is not there.
_UNKNOWN_TOPIC = 3


class Shown(NamedTuple):
    """A key or a value on a page."""

    #: As JSON or text, or as hexadecimal digits; empty of null.
    text: str
    #: What its bytes look like, in words.
    kind: str
    #: The id of its schema.
    schema: int | None = None
    #: Why it is not decoded; empty if it is, or if there is nothing to decode.
    problem: str = ""
    #: Characters that are not shown.
    left_out: int = 0


class ShownRecord(NamedTuple):
    """A record on a page."""

    partition: int
    offset: int
    time: int | None
    key: Shown
    value: Shown
    headers: int


def topics(visit: Visit) -> Response:
    """List the topics of the broker: all, or those whose names hold a text."""
    # What reads topics takes as long to load as the whole server, which most run without a broker.
    from kcodec.kafka.topics.topic_list import list_topics

    config = _config(visit)
    query = visit.request.query
    wanted = query.text("q").strip()
    with _asked():
        found = list_topics(config=config).to_pylist()
    rows: dict[str, dict[str, Any]] = {}
    for each in found:
        row = rows.setdefault(each["topic"], {"partitions": 0, "records": 0, "size": None, "down": 0})
        row["partitions"] += 1
        if each["start"] is None:
            row["down"] += 1
            continue
        row["records"] += each["end"] - each["start"]
        if each["size"] is not None:
            row["size"] = (row["size"] or 0) + each["size"]
    names = [name for name in sorted(rows) if wanted.casefold() in name.casefold()]
    part = ListPart.of(names, query.number("page", 1))
    return visit.page(
        "topics",
        part=part,
        rows=[(name, rows[name]) for name in part.items],
        wanted=wanted,
        fields={"q": wanted},
    )


def topic(visit: Visit) -> Response:
    """Show a topic: its partitions, the groups that read it, and its last records with their schemas."""
    from kcodec.kafka.groups.group_list import topic_groups
    from kcodec.kafka.inspection import last_records
    from kcodec.kafka.topics.topic_list import list_topics

    config = _config(visit)
    name = visit.request.query.text("name")
    if not name or name.startswith("^"):
        raise Refused(404, "This is not the name of a topic.")
    with _asked():
        partitions = list_topics([name], config=config).to_pylist()
        groups = topic_groups(name, config=config).to_pylist()
        led = [row for row in partitions if row["start"] is not None]
        found, damaged = last_records(led, _SAMPLE, None, config)
    times = found["timestamp"].cast("int64")
    found = found.set_column(found.schema.get_field_index("timestamp"), "timestamp", times)
    alive = {side: bool(visit.alive(f"{name}-{side}")) for side in ("key", "value")}
    return visit.page(
        "topic",
        name=name,
        partitions=partitions[:_MOST_ROWS],
        more_partitions=len(partitions[_MOST_ROWS:]),
        records=sum(row["end"] - row["start"] for row in led),
        groups=groups[:_MOST_ROWS],
        more_groups=len(groups[_MOST_ROWS:]),
        sample=_records(visit, found.to_pylist()),
        damaged=damaged,
        alive=alive,
    )


def _config(visit: Visit) -> dict[str, Any]:
    """Return the settings of a client; whoever may not administer everything sees no data of topics."""
    if visit.broker is None:
        raise Refused(404, "This server has no broker.")
    # The broker answers the server, whoever asks: grants of subjects say nothing of topics.
    visit.need("admin")
    return {**_PATIENCE, **visit.broker}


#: A page is not waited for as long as a program waits for a broker.
_PATIENCE = {"default.api.timeout.ms": 10_000, "request.timeout.ms": 5_000}


@contextmanager
def _asked() -> Iterator[None]:
    """Answer with what a broker says against a request."""
    try:
        yield
    except KafkaError as error:
        raise Refused(404 if error.code == _UNKNOWN_TOPIC else 502, f"{error}.") from None


def _records(visit: Visit, rows: list[dict[str, Any]]) -> list[ShownRecord]:
    """Return the last records, the newest first."""
    rows.sort(key=lambda row: (row["timestamp"] or 0, row["partition"], row["offset"]), reverse=True)
    rows = rows[:_SAMPLE]
    headers = [row["headers"] for row in rows]
    sides = []
    for side in ("key", "value"):
        payloads, is_key = [row[side] for row in rows], side == "key"
        looks = looks_of(payloads, headers, is_key=is_key)
        sides.append(
            [
                _shown(visit, payload, look, _framed(payload or b"", look, given or [], is_key=is_key))
                for payload, look, given in zip(payloads, looks, headers, strict=True)
            ]
        )
    return [
        ShownRecord(
            row["partition"],
            row["offset"],
            _time(row["timestamp"]),
            key,
            value,
            len(row["headers"] or ()),
        )
        for row, key, value in zip(rows, *sides, strict=True)
    ]


def _time(microseconds: int | None) -> int | None:
    """Return a time in milliseconds; None if Python has no such date, as a producer may write any number."""
    if microseconds is None or not 0 <= microseconds < _YEAR_10000:
        return None
    return microseconds // 1000


def _shown(visit: Visit, payload: bytes | None, look: Look, framed: bytes | None) -> Shown:
    if not payload:
        return Shown("", look.text)
    message = None
    if framed is not None and len(framed) <= _MOST_READ:
        message = read_message(visit.registry, framed, DEFAULT_CONTEXT)
        if message.value is not None and message.found is not None:
            return _cut(Shown(message.value, look.text, message.found.id))
    if look.kind in ("JSON", "CONNECT_JSON", "TEXT"):
        return _cut(Shown(payload.decode(errors="replace"), look.text))
    if look.kind in ("INT", "BIGINT"):
        return Shown(str(int.from_bytes(payload, "big", signed=True)), look.text)
    problem = "" if message is None else message.problem
    found = None if message is None or message.found is None else message.found.id
    digits = payload[: _MOST_SHOWN // 3].hex(" ")
    return Shown(digits, look.text, found, problem, 3 * len(payload) - 1 - len(digits))


def _framed(payload: bytes, look: Look, headers: list[dict[str, Any]], *, is_key: bool) -> bytes | None:
    """Return the payload behind Confluent's frame; None without such a frame."""
    if look.frame == CONFLUENT.name:
        return payload
    if look.frame == CONFLUENT_HEADER.name:
        # What stands in the header is what would stand in front, message indexes of Protobuf included.
        name = CONFLUENT_HEADER.header_of(is_key=is_key)
        key = look.key.to_bytes(4, "big") if isinstance(look.key, int) else look.key or b""
        values: list[bytes] = [each["value"] or b"" for each in headers if each["key"] == name]
        # There may be others of that name, which are no frames.
        return next(each for each in values if each[1 : 1 + len(key)] == key) + payload
    return None


def _cut(shown: Shown) -> Shown:
    left_out = max(len(shown.text) - _MOST_SHOWN, 0)
    return shown._replace(text=shown.text[:_MOST_SHOWN], left_out=left_out)

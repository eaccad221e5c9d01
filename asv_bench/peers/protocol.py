"""kcodec's entries for a benchmark of Kafka's protocol that hands out a case at a time.

A case has ``kind`` (``msg``, ``column`` or ``records``), ``message``, ``version`` and ``payload``. An engine gives None
for what it does not do, else ``decode``, and ``encode`` with the object ``obj`` that it writes::

    PEER=asv_bench.peers.protocol
    python bench_protocol_peers.py --engine $PEER:one --engine $PEER:columns

with the repository on ``PYTHONPATH``, and the folders of Kafka's definitions in ``KCODEC_DEFINITIONS``. `columns` makes
a column of many messages of the case, for all engines that come after it: it should be the last. What it prints as
messages encoded per second then are columns; bytes per second are right.
"""

import functools
import os
from collections.abc import Callable
from typing import Any

import pyarrow as pa

import kcodec
from kcodec.protocol import Definitions, load, read_batches

Engine = dict[str, Any]

#: Messages of a column.
ROWS = 2000


@functools.cache
def _definitions() -> list[Definitions]:
    return [load(folder) for folder in os.environ["KCODEC_DEFINITIONS"].split(os.pathsep)]


def _codec(case: dict[str, Any]) -> kcodec.MessageCodec | None:
    for definitions in _definitions():
        if case["message"] in definitions:
            header = "version" if case["kind"] == "column" else None
            return kcodec.MessageCodec(definitions[case["message"]], case["version"], header=header)
    return None


def _one_message(case: dict[str, Any]) -> Engine | None:
    codec = _codec(case)
    if codec is None or case["kind"] == "column":
        return None
    return {"decode": codec.decode_one, "encode": codec.encode_one, "obj": codec.decode_one(case["payload"])}


def _message_columns(case: dict[str, Any]) -> Engine | None:
    codec = _codec(case)
    if codec is None:
        return None
    if case["kind"] == "msg":
        case.update(
            kind="column", items=ROWS, payloads=[case["payload"]] * ROWS, payload=case["payload"] * ROWS
        )
    case["payloads"] = pa.array(case["payloads"], pa.binary())

    def encode(messages: pa.StructArray) -> pa.Buffer:
        return codec.encode(messages).buffers()[2]

    return {"decode": codec.decode, "encode": encode, "obj": codec.decode(case["payloads"])}


def _record_columns(case: dict[str, Any]) -> Engine:
    """Read a record batch, its checksum compared."""
    return {"decode": read_batches}


#: Kind of a case -> what decodes and encodes it message by message, and in columns.
_ONE: dict[str, Callable[[dict[str, Any]], Engine | None]] = {"msg": _one_message}
_COLUMNS: dict[str, Callable[[dict[str, Any]], Engine | None]] = {
    "msg": _message_columns,
    "column": _message_columns,
    "records": _record_columns,
}


def one(case: dict[str, Any]) -> Engine | None:
    """Return what decodes a message to a dict."""
    make = _ONE.get(case["kind"])
    return make(case) if make else None


def columns(case: dict[str, Any]) -> Engine | None:
    """Return what decodes a column of messages, or a batch of records, to Arrow columns."""
    make = _COLUMNS.get(case["kind"])
    return make(case) if make else None

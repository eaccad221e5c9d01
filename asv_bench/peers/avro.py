"""kcodec's entries for a benchmark of Avro decoders that offers a case as bytes.

A case has ``schema_json``, ``reader_schema``, ``datums`` and ``framed`` (lists of bytes), ``arrow_datums`` and
``arrow_framed`` (the same as Arrow arrays), ``batch`` (the same as columns) and ``rows``. `contestants` gives
functions that return record batches, `encoders` functions that return binary arrays.
"""

import json
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from callers import callers

import kcodec

_IDS = 3


#: Shows the columns of a struct without nulls as a batch; nothing is copied.
_batch = pa.RecordBatch.from_struct_array


def _schemas(case: Any) -> tuple[str, str | None]:
    return case.schema_json, None if case.reader_schema is None else json.dumps(case.reader_schema)


def _serde(case: Any) -> tuple[kcodec.Serde, list[int]]:
    """Register the case's schema under several ids: as it is, and with a property that changes nothing."""
    registry = kcodec.registry.open(f"memory://peers-{case.name}")
    ids = [
        registry.register(
            "t-value", kcodec.registry.Schema(json.dumps({**case.schema, "revision": number}))
        ).id
        for number in range(_IDS)
    ]
    writer, reader = _schemas(case)
    return kcodec.Serde("AVRO", registry, topic="t", reader_schema=reader or writer), ids


def _framed(case: Any, ids: list[int]) -> pa.Array:
    """Frame the datums with the ids in turn."""
    prefixes = [b"\0" + number.to_bytes(4, "big") for number in ids]
    values = [prefixes[row % len(prefixes)] + datum for row, datum in enumerate(case.datums)]
    return pa.array(values, pa.binary())


def contestants(case: Any) -> dict[str, Any]:
    """Return what decodes."""
    codec = kcodec.AvroCodec(*_schemas(case))
    serde, ids = _serde(case)
    one, mixed = _framed(case, ids[:1]), _framed(case, ids)
    return {
        "kcodec decode, 1 thread": lambda: _batch(codec.decode(case.arrow_datums)),
        "kcodec decode from list[bytes]": lambda: _batch(codec.decode(case.datums)),
        "kcodec decode, 1 caller that goes on": callers(codec.decode, case.arrow_datums, 1),
        "kcodec decode, 2 callers that go on": callers(codec.decode, case.arrow_datums, 2),
        "kcodec serde, framed, 1 id": lambda: _batch(serde.deserialize(one)),
        f"kcodec serde, framed, {_IDS} interleaved ids": lambda: _batch(serde.deserialize(mixed)),
    }


def encoders(case: Any) -> dict[str, Any]:
    """Return what encodes."""
    if case.batch is None or case.reader_schema is not None:
        return {}
    codec = kcodec.AvroCodec(case.schema_json)
    # The decoder's own columns, and the reference's: other Arrow types, which are cast.
    own = codec.decode(case.arrow_datums)
    return {
        "kcodec encode, 1 thread": lambda: codec.encode(own),
        "kcodec encode of the reference batch": lambda: codec.encode(case.batch),
        "kcodec encode, 1 caller that goes on": callers(codec.encode, own, 1),
        "kcodec encode, 2 callers that go on": callers(codec.encode, own, 2),
    }

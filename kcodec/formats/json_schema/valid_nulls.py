"""Documents that are validated when they are written: which nulls stand in them, and which properties are left out.

A column has a null for a property that is null and for one that is not there. Which of the two a document had is
decided by its schema (`Shape.writes_null`); where the result is not valid, the other way is tried as well.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import chain, combinations, groupby, islice
from typing import Protocol

import pyarrow as pa

from kcodec.columns.arrays.nested import replace_rows
from kcodec.errors import Fault
from kcodec.formats.json_schema.validation import Validator, validated

#: Rows that are written anew together.
_ROWS = 4096

#: Documents that are made of one row: all of those with up to six properties that may be null or left out.
_MAX_TRIES = 66

_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[{}\[\]:]|[^{}\[\],:"]+', re.DOTALL)


class _Encoding(Protocol):
    def encode(
        self, array: pa.Array, *, large: bool = False, nulls: str = "schema"
    ) -> tuple[pa.Array, Sequence[Fault]]:
        """Encode as `JsonSchemaWriter.encode`."""


def encode_valid(
    writer: _Encoding, array: pa.Array, validator: Validator, *, large: bool
) -> tuple[pa.Array, list[Fault]]:
    """Write an array as valid documents, with 64-bit offsets if they are `large`; also return the faults, in order.

    A row that is not valid whichever nulls are left out is a fault, and its document is null.
    """
    encoded, faults = writer.encode(array, large=large)
    checked, found = validated(encoded, faults, encoded, [validator])
    refused = [fault.row for fault in found if fault.code == "schema_violation"]
    mended: dict[int, bytes] = {}
    for block, rows in groupby(refused, lambda row: row // _ROWS):
        begin = block * _ROWS
        part = array.slice(begin, _ROWS)
        full, bare = (writer.encode(part, large=large, nulls=nulls)[0] for nulls in ("all", "none"))
        for row in rows:
            choice = full[row - begin].as_py(), bare[row - begin].as_py()
            text = _valid(encoded[row].as_py(), choice[0], choice[1], validator)
            if text is not None:
                mended[row] = text
    if mended:
        checked = replace_rows(checked, list(mended), pa.array(list(mended.values()), checked.type))
    return checked, [fault for fault in found if fault.row not in mended]


def _valid(written: bytes, full: bytes, bare: bytes, validator: Validator) -> bytes | None:
    """Return a document that is valid, of those between one with all nulls and one without any; None if none is."""
    if full == bare:
        return None
    tokens = _TOKEN.findall(full)
    places = _missing(tokens, bare)
    reader = validator.reader()
    for left_out in _choices(places, frozenset(_missing(tokens, written))):
        text = _joined(tokens, left_out)
        if validator.violation_read_by(reader, text) is None:
            return text
    return None


def _choices(places: Sequence[int], written: frozenset[int]) -> Iterator[frozenset[int]]:
    """Yield which members to leave out: what differs in one from what was written, all, none, and what differs more."""
    flips = chain.from_iterable(combinations(places, count) for count in range(2, len(places) + 1))
    single = (written ^ {place} for place in places[: _MAX_TRIES // 2])
    more = (written ^ frozenset(flip) for flip in flips)
    return islice(chain(single, [frozenset(places), frozenset[int]()], more), _MAX_TRIES)


def _missing(tokens: Sequence[bytes], text: bytes) -> list[int]:
    """Return the places of the names, among the tokens of a document, whose nulls a smaller document does not have."""
    others = _TOKEN.findall(text)
    found = []
    at = other = 0
    while at < len(tokens):
        is_name = tokens[at + 1 : at + 2] == [b":"]
        if is_name and (tokens[at] != others[other] or others[other + 1 : other + 2] != [b":"]):
            found.append(at)
            at += 3
        else:
            at += 1
            other += 1
    return found


def _joined(tokens: Sequence[bytes], left_out: frozenset[int]) -> bytes:
    parts: list[bytes] = []
    at = 0
    while at < len(tokens):
        if at in left_out:
            at += 3
            continue
        token = tokens[at]
        if parts and parts[-1] not in (b"{", b"[", b":") and token not in (b"}", b"]", b":"):
            parts.append(b",")
        parts.append(token)
        at += 1
    return b"".join(parts)

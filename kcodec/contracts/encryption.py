"""Fields of columns, and payloads, encrypted and decrypted by the rules of their schema."""

import binascii
import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from kcodec._impl import kernel
from kcodec._lazy import compute as pc
from kcodec.columns.arrays.nested import can_take, replace_rows
from kcodec.columns.faults import null_rows, nulled, refused
from kcodec.columns.types.plain import is_bytes, is_list, is_text
from kcodec.contracts.cipher import Cipher, decrypt_values, encrypt_values
from kcodec.contracts.columns import ValuePlace, changed
from kcodec.contracts.keyring import Keyring, Session
from kcodec.contracts.row_rules import RowRules
from kcodec.contracts.rules import Contract, EncryptRule
from kcodec.contracts.tags import TaggedFields
from kcodec.errors import Fault
from kcodec.formats.tagged import ITEMS, VALUES, TaggedField
from kcodec.plan.failure import bounded

__all__ = [
    "Ruled",
    "closed_columns",
    "decrypt_fields",
    "decrypt_payloads",
    "encrypt_fields",
    "encrypt_payloads",
    "without_rows",
]

_CODE = "encryption"
#: So many contracts are looked for in all rows of a column; more of them in their own rows, which are copied for it.
_FEW_GROUPS = 4
#: Types whose values rules encrypt; all others they refuse to.
_ENCRYPTED = ("STRING", "BYTES")


class Ruled(NamedTuple):
    """A contract and the fields that its rules may be about; or code and reason of why no row is written.

    `rows` is what runs the rules if they run row by row.
    """

    contract: Contract
    fields: tuple[TaggedField, ...] = ()
    wrong: tuple[str, str] | None = None
    rows: RowRules | None = None


def decrypt_fields(
    array: pa.Array, ruled: Ruled, ring: Keyring, rows: Any = None
) -> tuple[pa.Array, list[Fault]]:
    """Decrypt the fields of decoded rows; return these, and one fault for each that failed, in order.

    `rows` is a mask of those that the contract is about, if it is not about all. Rows that failed stay as they are.
    """
    session = Session(ring)
    return _fields(array, ruled, lambda rule, field: _Decryption(rule, ruled.contract, field, session), rows)


def decrypt_groups(
    array: pa.Array, groups: Sequence[tuple[Ruled, Any]], ring: Keyring
) -> tuple[pa.Array, list[Fault]]:
    """Decrypt the fields of decoded rows of several contracts, and return what `decrypt_fields` does.

    Each group has the numbers of its rows, in order. No row is in two groups.
    """
    # Most serdes need no NumPy.
    import numpy as np

    faults: list[Fault] = []
    if len(groups) > _FEW_GROUPS and can_take(array.type):
        # Each of them looks at its own rows alone.
        others = np.setdiff1d(np.arange(len(array)), np.concatenate([rows for _, rows in groups]))
        parts = [array.take(pa.array(others))]
        for ruled, rows in groups:
            part, failed = decrypt_fields(array.take(pa.array(rows)), ruled, ring)
            faults += (fault._replace(row=int(rows[fault.row])) for fault in failed)
            parts.append(part)
        # Bytes of a fixed size are of any size where they were encrypted.
        if all(part.type == array.type for part in parts):
            places = np.argsort(np.concatenate([others, *(rows for _, rows in groups)]))
            array = pa.concat_arrays(parts).take(pa.array(places))
            return array, sorted(faults, key=lambda fault: fault.row)
        faults.clear()
    for ruled, rows in groups:
        mask = np.zeros(len(array), bool)
        mask[rows] = True
        array, failed = decrypt_fields(array, ruled, ring, mask)
        faults += failed
    return array, sorted(faults, key=lambda fault: fault.row)


def encrypt_fields(array: pa.Array, ruled: Ruled, ring: Keyring) -> tuple[pa.Array, list[Fault]]:
    """Encrypt the fields of a column, in a layout that `kcodec.columns.arrays.nested.unpack` leaves as it is."""
    session = Session(ring)
    return _fields(array, ruled, lambda rule, field: _Encryption(rule, ruled.contract, field, session), None)


def decrypt_payloads(
    payloads: Sequence[bytes | None], contract: Contract, ring: Keyring
) -> tuple[list[bytes | None], dict[int, str]]:
    """Decrypt payloads; also return why those failed that are None."""
    session, failed = Session(ring), {}
    values = list(payloads)
    for rule in contract.payload:
        cipher_of = functools.partial(session.read, rule, contract.subject)
        values, wrong = decrypt_values(values, cipher_of, versioned=rule.expiry_days > 0)
        if rule.failure == "NONE":
            for at in wrong:
                values[at] = payloads[at]
        else:
            failed.update({at: _told(rule, reason) for at, reason in wrong.items()})
    return values, failed


def encrypt_payloads(
    payloads: Sequence[bytes | None], contract: Contract, ring: Keyring
) -> tuple[list[bytes | None], str]:
    """Encrypt payloads; also return why not, if there is no key."""
    session = Session(ring)
    values = list(payloads)
    for rule in contract.payload:
        key = session.write(rule, contract.subject)
        if not isinstance(key, str):
            values = encrypt_values(values, key[0], version=key[1])
        elif rule.failure != "NONE":
            return values, _told(rule, key)
    return values, ""


def closed_columns(contract: Contract, fields: Sequence[TaggedField], kind: pa.DataType) -> str:
    """Return why a column would be written unencrypted, as it is not known what is in it; empty if that is known.

    The fields are in columns of the schema's own layout. Columns that are missing in `kind` are no error: there is no
    value in them. One that has no columns itself, such as text of JSON, may have a field in it that is to be encrypted.
    """
    tagged = TaggedFields(fields, contract.schema.metadata)
    for rule in contract.fields:
        for field in tagged.chosen(rule.tags):
            within = _opaque(field.steps, kind)
            if within is not None and rule.failure != "NONE":
                return f"the rule {rule.name} encrypts {field.name}, which cannot be found in a column of {within}"
    return ""


def _opaque(steps: Sequence[str | int], kind: pa.DataType) -> pa.DataType | None:
    """Return the type at which steps can go no further; None if they reach their end, or a member is missing."""
    for each in steps:
        if isinstance(each, str):
            at = kind.get_field_index(each) if pa.types.is_struct(kind) else -1
            if at < 0:
                return None if pa.types.is_struct(kind) or pa.types.is_null(kind) else kind
            kind = kind.field(at).type
        elif each == ITEMS and is_list(kind):
            kind = kind.value_type
        elif each == VALUES and pa.types.is_map(kind):
            kind = kind.item_type
        else:
            return None if pa.types.is_null(kind) else kind
    return None


def without_rows(array: pa.Array, faults: Sequence[Fault]) -> pa.Array:
    """Return an array that is null in the rows of faults."""
    if not faults:
        return array
    return replace_rows(array, [fault.row for fault in faults], null_rows(len(faults), array.type))


def _fields(
    array: pa.Array, ruled: Ruled, change: Callable[[EncryptRule, TaggedField], "_Change"], rows: Any
) -> tuple[pa.Array, list[Fault]]:
    """Run the rules in order, each on its fields in order; only the first failure of a row counts."""
    failed: dict[int, Fault] = {}
    if ruled.wrong is not None:
        return array, refused(array.is_valid(), *ruled.wrong)
    tagged = TaggedFields(ruled.fields, ruled.contract.schema.metadata)
    made = [
        (rule, [] if _is_wrong(rule) else [change(rule, field) for field in tagged.chosen(rule.tags)])
        for rule in ruled.contract.fields
    ]
    # All of them at once: each time, the column is made anew of all its fields.
    array = changed(array, [(each.field.steps, each) for _, changes in made for each in changes], rows)
    for rule, changes in made:
        if _is_wrong(rule):
            wanted = array.is_valid() if rows is None else pc.and_(array.is_valid(), pa.array(rows))
            for row in pc.indices_nonzero(wanted).to_pylist():
                failed.setdefault(row, Fault(row, None, "", _CODE, _told(rule, rule.wrong)))
        for each in changes:
            for row, path, reason in each.failed:
                failed.setdefault(row, Fault(row, None, bounded(path), _CODE, _told(rule, reason)))
    return array, [failed[row] for row in sorted(failed)]


def _is_wrong(rule: EncryptRule) -> bool:
    """Return whether a rule cannot run, so that every row is an error."""
    return bool(rule.wrong) and rule.failure != "NONE"


def _told(rule: EncryptRule, reason: str) -> str:
    return f"the rule {rule.name}: {reason}"


class _Change:
    """What becomes of the values of one field by one rule; `failed` has row, path and reason of those that failed."""

    def __init__(self, rule: EncryptRule, contract: Contract, field: TaggedField, session: Session) -> None:
        self.rule, self.subject, self.field, self.session = rule, contract.subject, field, session
        self.failed: list[tuple[int, str, str]] = []

    def __call__(self, values: pa.Array, place: ValuePlace, rows: Any) -> pa.Array:
        """Return the values changed, but for those of other rows."""
        if not self.is_about(values.type):
            return values
        if self.field.kind not in _ENCRYPTED or not _is_written(values.type):
            # Text that is read as times, and bytes as decimals, are no text or bytes any more.
            reason = f"a field of type {self.field.kind} in a column of {values.type} is not encrypted"
            self._fail(place, dict.fromkeys(_valid(values, rows), reason))
            return values
        binary = pa.large_binary() if values.type in _LARGE else pa.binary()
        if pa.types.is_fixed_size_binary(values.type):
            values = values.cast(binary)
        wanted = values
        if rows is not None:
            wanted = nulled(values, pa.array(~rows))
        made, failed = self.values(kernel("columns.rows._binary").bytes_list(wanted.cast(binary)))
        self._fail(place, failed)
        found = self._column(made, values.type, place)
        kept = found.is_null() if rows is None else pc.or_(found.is_null(), pa.array(~rows))
        return pc.if_else(kept, values, found) if kept.true_count else found

    def is_about(self, kind: pa.DataType) -> bool:
        """Return whether values of a column are looked at."""
        raise NotImplementedError

    def values(self, values: list[bytes | None]) -> tuple[list[bytes | None], dict[int, str]]:
        """Return the values changed, and why some are not, by their position."""
        raise NotImplementedError

    def _column(self, made: list[bytes | None], kind: pa.DataType, place: ValuePlace) -> pa.Array:
        """Return values as a column; bytes that are not text fail."""
        binary = pa.large_binary() if kind in _LARGE else pa.binary()
        array = kernel("columns.rows._binary").binary_array(made)
        array = pa.array(made, binary) if array is None else array.cast(binary)
        try:
            return array.cast(kind)
        except pa.ArrowInvalid:
            wrong = {
                at: "the decrypted text is not UTF-8" for at, value in enumerate(made) if not _is_utf8(value)
            }
        self._fail(place, wrong)
        return pa.array([None if at in wrong else value for at, value in enumerate(made)], binary).cast(kind)

    def _fail(self, place: ValuePlace, failed: dict[int, str]) -> None:
        if self.rule.failure != "NONE":
            self.failed += [(*place.locate(at), reason) for at, reason in failed.items()]


class _Decryption(_Change):
    def is_about(self, kind: pa.DataType) -> bool:
        # What is of other types was never encrypted.
        return self.field.kind in _ENCRYPTED and _is_written(kind)

    def values(self, values: list[bytes | None]) -> tuple[list[bytes | None], dict[int, str]]:
        made, failed = decrypt_values(
            values,
            functools.partial(self.session.read, self.rule, self.subject),
            versioned=self.rule.expiry_days > 0,
            encoded=self.field.kind == "STRING" and not self.field.is_base64,
        )
        if self.field.is_base64:
            for at, value in enumerate(made):
                try:
                    made[at] = None if value is None else binascii.a2b_base64(value)
                except binascii.Error:
                    made[at], failed[at] = None, "the decrypted text is not Base64"
        return made, failed


class _Encryption(_Change):
    def is_about(self, kind: pa.DataType) -> bool:
        return True

    def __call__(self, values: pa.Array, place: ValuePlace, rows: Any) -> pa.Array:
        if self.field.is_never_absent and values.null_count and _is_written(values.type):
            values = pc.fill_null(values, "" if is_text(values.type) else b"")
        return super().__call__(values, place, rows)

    def values(self, values: list[bytes | None]) -> tuple[list[bytes | None], dict[int, str]]:
        key: tuple[Cipher, int | None] | str = self.session.write(self.rule, self.subject)
        if isinstance(key, str):
            nothing: list[bytes | None] = [None] * len(values)
            return nothing, {at: key for at, value in enumerate(values) if value is not None}
        if self.field.is_base64:
            values = [None if each is None else binascii.b2a_base64(each, newline=False) for each in values]
        encoded = self.field.kind == "STRING" and not self.field.is_base64
        return encrypt_values(values, key[0], version=key[1], encoded=encoded), {}


_LARGE = (pa.large_binary(), pa.large_string())


def _is_written(kind: pa.DataType) -> bool:
    """Return whether values of a column are text or bytes."""
    return is_text(kind) or is_bytes(kind) or pa.types.is_fixed_size_binary(kind)


def _valid(values: pa.Array, rows: Any) -> list[int]:
    valid = values.is_valid() if rows is None else pc.and_(values.is_valid(), pa.array(rows))
    return pc.indices_nonzero(valid).to_pylist()


def _is_utf8(value: bytes | None) -> bool:
    try:
        return value is None or value.decode() is not None
    except UnicodeDecodeError:
        return False

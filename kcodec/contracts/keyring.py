"""The keys of encrypted values: found, or made, in a registry and decrypted by their key management service."""

import base64
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from kcodec._fork import fork_safe_lock
from kcodec.contracts.cipher import Cipher
from kcodec.contracts.rules import EncryptRule
from kcodec.contracts.settings import RuleSettings
from kcodec.errors import RegistryError
from kcodec.registry.base import DEFAULT_CONTEXT, SchemaRegistry, context_of
from kcodec.registry.keys.material import new_material
from kcodec.registry.keys.services import KeyServiceError, unwrap, wrap
from kcodec.registry.keys.values import LATEST, Dek, Kek, KeyRegistry

#: Seconds after which a key is asked for again where the settings do not say: one that was taken back, or followed by
#: another, is used so long.
_SECONDS = 300.0
#: The parameter that says it.
_EXPIRY = "cache.expiry.secs"
#: Versions of keys that a column may ask for in vain: any bytes may be versions.
_MISSES = 100
_DAY = 24 * 60 * 60 * 1000


class NoKey(Exception):
    """Why there is no key."""


class _Found(NamedTuple):
    """A key, its version, and until when it is not asked for again."""

    cipher: Cipher
    version: int
    until: float


class Keyring:
    """The keys that a serde has met, by what encrypts them, subject, algorithm and version.

    It pickles without them.
    """

    def __init__(self, registry: SchemaRegistry, settings: RuleSettings) -> None:
        self._registry = registry
        self._settings = settings
        self._lock = fork_safe_lock()
        self._known: dict[tuple[str, ...], _Found] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return Keyring, (self._registry, self._settings)

    def __repr__(self) -> str:
        return "<Keyring>"

    def read(self, rule: EncryptRule, subject: str, version: int | None) -> Cipher:
        """Return the key that values of a version were encrypted by; without a version the first. Or raise `NoKey`."""
        number = version or 1
        place = "read", rule.kek_name, subject, rule.algorithm, str(number)
        return self._found(
            place, rule, subject, lambda keys: self._stored(keys, rule, subject, number)
        ).cipher

    def write(self, rule: EncryptRule, subject: str) -> tuple[Cipher, int | None]:
        """Return the key that values are encrypted by, made if there is none, and its version if it has versions.

        If it cannot be had, it is `NoKey`.
        """
        place = "write", rule.kek_name, subject, rule.algorithm, str(rule.expiry_days)
        found = self._found(place, rule, subject, lambda keys: self._current(keys, rule, subject))
        return found.cipher, found.version if rule.expiry_days else None

    def _found(
        self,
        place: tuple[str, ...],
        rule: EncryptRule,
        subject: str,
        find: Callable[[KeyRegistry], tuple[Kek, Dek]],
    ) -> _Found:
        if rule.wrong:
            raise NoKey(rule.wrong)
        if not subject:
            raise NoKey("no subject is known, whose key it is: topic= names it")
        keys = getattr(self._registry, "keys", None)
        if not isinstance(keys, KeyRegistry):
            raise NoKey(f"the registry {self._registry.url} keeps no keys")
        known = self._known.get(place)
        if known is not None and time.monotonic() < known.until:
            return known
        # Of threads that come at once, one asks; who has a key waits for none of them.
        with self._lock:
            known = self._known.get(place)
            if known is not None and time.monotonic() < known.until:
                return known
            # Before a key is made: what is wrong with the settings leaves nothing in the registry.
            until = self._until(rule)
            try:
                kek, dek = find(keys)
                found = _Found(self._cipher(rule, kek, dek), dek.version, until)
            except RegistryError as error:
                raise NoKey(f"the key of {subject} by {rule.kek_name}: {error}") from None
            except (KeyServiceError, ValueError, ImportError) as error:
                raise NoKey(str(error)) from None
            self._known[place] = found
            return found

    def _until(self, rule: EncryptRule) -> float:
        given = self._settings.parameters(rule.name, rule.type).get(_EXPIRY)
        try:
            seconds = _SECONDS if given is None else float(given)
        except ValueError:
            raise NoKey(f"{_EXPIRY}={given} is not a number of seconds") from None
        return float("inf") if seconds < 0 else time.monotonic() + seconds

    def _stored(self, keys: KeyRegistry, rule: EncryptRule, subject: str, version: int) -> tuple[Kek, Dek]:
        kek = _checked(rule, keys.kek(rule.kek_name, context=_context(subject)))
        # What a key that is deleted softly has encrypted can still be read.
        return kek, keys.dek(rule.kek_name, subject, version, rule.algorithm, deleted=True)

    def _current(self, keys: KeyRegistry, rule: EncryptRule, subject: str) -> tuple[Kek, Dek]:
        kek = _checked(
            rule,
            _or_none(keys.kek, rule.kek_name, context=_context(subject)) or _new_kek(keys, rule, subject),
        )
        wanted = LATEST if rule.expiry_days else 1
        dek: Dek | None = _or_none(keys.dek, rule.kek_name, subject, wanted, rule.algorithm)
        is_expired = dek is not None and rule.expiry_days and _age(dek) > rule.expiry_days
        if dek is not None and not is_expired:
            return kek, dek
        encrypted = None
        if not kek.shared:
            parameters = self._settings.parameters(rule.name, rule.type)
            encrypted = base64.b64encode(wrap(kek, new_material(rule.algorithm), parameters)).decode()
        new = Dek(rule.kek_name, subject, dek.version + 1 if dek else 1, rule.algorithm, encrypted)
        try:
            return kek, keys.register_dek(new)
        except RegistryError as error:
            # Another process was quicker; or this one may write no new key, and goes on with the old one.
            if error.status != 409 and dek is None:
                raise
            return kek, dek if error.status != 409 and dek else keys.dek(
                rule.kek_name, subject, wanted, rule.algorithm
            )

    def _cipher(self, rule: EncryptRule, kek: Kek, dek: Dek) -> Cipher:
        if dek.key_material is not None:
            return Cipher(rule.algorithm, base64.b64decode(dek.key_material))
        encrypted = base64.b64decode(dek.encrypted_key_material or "")
        return Cipher(rule.algorithm, unwrap(kek, encrypted, self._settings.parameters(rule.name, rule.type)))


class Session:
    """The keys for one column; a key that could not be had is not asked for again."""

    def __init__(self, ring: Keyring) -> None:
        self._ring = ring
        self._missing: dict[tuple[EncryptRule, str, int | None], str] = {}

    def read(self, rule: EncryptRule, subject: str, version: int | None) -> Cipher | str:
        """Return a key as `Keyring.read` does, or why there is none."""
        place = rule, subject, version
        if place in self._missing:
            return self._missing[place]
        if len(self._missing) >= _MISSES:
            return (
                f"one of more than {_MISSES} unknown keys in these values, too many to ask the registry for"
            )
        try:
            return self._ring.read(rule, subject, version)
        except NoKey as error:
            return self._missing.setdefault(place, str(error))

    def write(self, rule: EncryptRule, subject: str) -> tuple[Cipher, int | None] | str:
        """Return a key as `Keyring.write` does, or why there is none."""
        place = rule, subject, None
        if place not in self._missing:
            try:
                return self._ring.write(rule, subject)
            except NoKey as error:
                self._missing[place] = str(error)
        return self._missing[place]


def _checked(rule: EncryptRule, kek: Kek) -> Kek:
    """Return a key that encrypts keys, if it is the one that the rule means."""
    for what, wanted, found in (
        ("kms type", rule.kms_type, kek.kms_type),
        ("kms key id", rule.kms_key_id, kek.kms_key_id),
    ):
        if wanted and wanted != found:
            raise NoKey(f"the key {kek.name} has the {what} {found}, the rule {wanted}")
    return kek


def _new_kek(keys: KeyRegistry, rule: EncryptRule, subject: str) -> Kek:
    if not rule.kms_type or not rule.kms_key_id:
        raise NoKey(f"there is no key {rule.kek_name}, and the rule does not tell its kms type and key id")
    new, context = Kek(rule.kek_name, rule.kms_type, rule.kms_key_id), _context(subject)
    try:
        return keys.register_kek(new, context=context)
    except RegistryError as error:
        if error.status != 409:
            raise
        return keys.kek(rule.kek_name, context=context)


def _or_none(find: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    try:
        return find(*arguments, **named)
    except RegistryError as error:
        if error.status != 404:
            raise
        return None


def _age(dek: Dek) -> float:
    """Return the age of a key in days."""
    return (time.time() * 1000 - (dek.ts or 0)) / _DAY


def _context(subject: str) -> str | None:
    found = context_of(subject)
    return None if found == DEFAULT_CONTEXT else found

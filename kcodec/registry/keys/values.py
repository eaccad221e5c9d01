"""The keys that a registry keeps: none of them in the clear, but for those that it shares."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn, Protocol, runtime_checkable

from kcodec.errors import RegistryError

#: What values are encrypted by.
ALGORITHMS = ("AES128_GCM", "AES256_GCM", "AES256_SIV")
DEFAULT_ALGORITHM = "AES256_GCM"

#: The version that stands for the latest one.
LATEST = -1

_MAX_NAME = 256
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")
#: Services that are known by the beginning of their names.
_SERVICES = {"aws": "aws-kms", "azure": "azure-kms", "gcp": "gcp-kms"}


@dataclass(frozen=True, slots=True)
class Kek:
    """A key that encrypts keys (KEK): where it is, for it never leaves its key management service.

    >>> Kek("orders", "local-kms", "mykey").json
    {'name': 'orders', 'kmsType': 'local-kms', 'kmsKeyId': 'mykey', 'shared': False}
    """

    #: Its name in the registry.
    name: str
    #: The service, such as ``aws-kms``.
    kms_type: str
    #: What the service calls it.
    kms_key_id: str
    #: Settings of the service; also made of a mapping.
    kms_props: tuple[tuple[str, str], ...] = ()
    #: What it is for.
    doc: str | None = None
    #: Whether the registry may use it itself, and gives its readers the keys that it encrypts.
    shared: bool = False
    #: When it was changed, in milliseconds since 1970.
    ts: int | None = field(default=None, compare=False)
    #: Whether it is softly deleted.
    deleted: bool = field(default=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "kms_props", tuple(sorted(dict(self.kms_props).items())))
        kind = next(
            (known for begin, known in _SERVICES.items() if self.kms_type.lower().startswith(begin)), None
        )
        object.__setattr__(self, "kms_type", kind or self.kms_type)

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> "Kek":
        """Make one of a server's JSON; refuse (42271) a part that is missing or of another type."""
        props = body.get("kmsProps") or {}
        if not isinstance(props, Mapping) or not all(
            isinstance(each, str) for pair in props.items() for each in pair
        ):
            invalid_key("kmsProps")
        if not isinstance(body.get("doc"), str | None):
            invalid_key("doc")
        for key in ("shared", "deleted"):
            if not isinstance(body.get(key), bool | None):
                invalid_key(key)
        ts = body.get("ts")
        return cls(
            check_key_name(body.get("name")),
            _text(body, "kmsType"),
            _text(body, "kmsKeyId"),
            tuple(props.items()),
            body.get("doc"),
            bool(body.get("shared")),
            ts if isinstance(ts, int) else None,
            bool(body.get("deleted")),
        )

    @property
    def json(self) -> dict[str, Any]:
        """The key as servers write it, without what is empty."""
        body: dict[str, Any] = {"name": self.name, "kmsType": self.kms_type, "kmsKeyId": self.kms_key_id}
        if self.kms_props:
            body["kmsProps"] = dict(self.kms_props)
        if self.doc:
            body["doc"] = self.doc
        body["shared"] = self.shared
        if self.ts is not None:
            body["ts"] = self.ts
        if self.deleted:
            body["deleted"] = True
        return body


@dataclass(frozen=True, slots=True)
class Dek:
    """A key that encrypts data (DEK), encrypted itself.

    >>> Dek("orders", "orders-value", 1, "AES256_GCM", "c2VjcmV0", "cGxhaW4=")
    Dek(kek_name='orders', subject='orders-value', version=1, algorithm='AES256_GCM', ts=None, deleted=False)
    """

    #: What it is encrypted by.
    kek_name: str
    #: The subject whose values it encrypts.
    subject: str
    #: Its number, from 1.
    version: int = 1
    #: One of `ALGORITHMS`.
    algorithm: str = DEFAULT_ALGORITHM
    #: The encrypted key in Base64.
    encrypted_key_material: str | None = field(default=None, repr=False)
    #: The key itself in Base64, where a registry shares it; it stands in no ``repr``.
    key_material: str | None = field(default=None, repr=False)
    #: When it was made, in milliseconds since 1970.
    ts: int | None = field(default=None, compare=False)
    #: Whether it is softly deleted.
    deleted: bool = field(default=False, compare=False)

    @classmethod
    def of(cls, body: Mapping[str, Any], kek_name: str | None = None, subject: str | None = None) -> "Dek":
        """Make one of a server's JSON, or of a request whose path names the key that it is encrypted by.

        A part that is missing or of another type is refused (42271).
        """
        version, ts = body.get("version", 1), body.get("ts")
        if not isinstance(version, int) or isinstance(version, bool) or not 1 <= version < 2**31:
            invalid_key("version")
        for key in ("encryptedKeyMaterial", "keyMaterial"):
            if not isinstance(body.get(key), str | None):
                invalid_key(key)
        if not isinstance(body.get("deleted"), bool | None):
            invalid_key("deleted")
        return cls(
            check_key_name(kek_name if kek_name is not None else body.get("kekName")),
            check_key_subject(subject if subject is not None else body.get("subject")),
            version,
            check_algorithm(body.get("algorithm")),
            body.get("encryptedKeyMaterial") or None,
            body.get("keyMaterial") or None,
            ts if isinstance(ts, int) else None,
            bool(body.get("deleted")),
        )

    @property
    def json(self) -> dict[str, Any]:
        """The key as servers write it, without what is empty."""
        body: dict[str, Any] = {
            "kekName": self.kek_name,
            "subject": self.subject,
            "version": self.version,
            "algorithm": self.algorithm,
        }
        optional = {
            "encryptedKeyMaterial": self.encrypted_key_material,
            "keyMaterial": self.key_material,
            "ts": self.ts,
            "deleted": self.deleted or None,
        }
        return {**body, **{key: value for key, value in optional.items() if value is not None}}


@runtime_checkable
class KeyRegistry(Protocol):
    """A store of keys, with the answers of Confluent's DEK registry.

    Every method raises `kcodec.RegistryError`, with the ``status`` and ``error_code`` of the real server: 40470 no such
    key, 40971 a key that exists, 42271 a part that is missing or wrong.
    """

    def kek(self, name: str, *, deleted: bool = False, context: str | None = None) -> Kek:
        """Find a key that encrypts keys; ``deleted`` finds softly deleted ones as well."""

    def register_kek(self, kek: Kek, *, context: str | None = None) -> Kek:
        """Register a key that encrypts keys."""

    def dek(
        self,
        kek_name: str,
        subject: str,
        version: int = 1,
        algorithm: str = DEFAULT_ALGORITHM,
        *,
        deleted: bool = False,
    ) -> Dek:
        """Find a version of the key of a subject; `LATEST` is the latest."""

    def register_dek(self, dek: Dek) -> Dek:
        """Register a version of the key of a subject."""


def check_key_name(name: Any) -> str:
    """Return the name of a key; refuse (42271) one that there cannot be.

    >>> check_key_name("my-kek_1")
    'my-kek_1'
    """
    if (
        not isinstance(name, str)
        or not 0 < len(name) <= _MAX_NAME
        or not (name[0].isalpha() or name[0] == "_")
    ):
        invalid_key("name")
    if not all(each.isalpha() or each.isdecimal() or each in "_-" for each in name):
        invalid_key("name")
    return name


def check_key_subject(subject: Any) -> str:
    """Return the subject of a key; refuse (42271) one that there cannot be."""
    if not isinstance(subject, str) or not subject or _CONTROL.search(subject):
        invalid_key("subject")
    return subject


def check_algorithm(algorithm: Any) -> str:
    """Return an algorithm, the default one for none; refuse (42271) an unknown one."""
    if algorithm in (None, ""):
        return DEFAULT_ALGORITHM
    if algorithm not in ALGORITHMS:
        invalid_key("algorithm")
    return str(algorithm)


def _text(body: Mapping[str, Any], key: str) -> str:
    value = body.get(key)
    if not isinstance(value, str) or not value:
        invalid_key(key)
    return value


def no_key(name: str) -> NoReturn:
    """Raise what a registry says of a key that it does not have."""
    raise RegistryError(f"Key '{name}' not found", 404, 40470)


def already_exists(name: str) -> NoReturn:
    """Raise what a registry says of a key that it has already."""
    raise RegistryError(f"Key '{name}' already exists; use a different value", 409, 40971)


def invalid_key(part: str) -> NoReturn:
    """Raise what a registry says of a key with a part that is missing or wrong: its name."""
    raise RegistryError(part, 422, 42271)

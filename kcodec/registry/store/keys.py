"""The keys of an embedded registry: those that encrypt keys, and the encrypted ones; none in the clear."""

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NoReturn

from kcodec.errors import RegistryError
from kcodec.registry.keys.material import new_material
from kcodec.registry.keys.services import KeyServiceError, unwrap, wrap
from kcodec.registry.keys.values import (
    DEFAULT_ALGORITHM,
    LATEST,
    Dek,
    Kek,
    already_exists,
    check_algorithm,
    check_key_name,
    check_key_subject,
    invalid_key,
    no_key,
)
from kcodec.registry.store.change_log import ChangeLog, now
from kcodec.registry.store.database import Database

_KEK = "name, kms_type, kms_key_id, kms_props, doc, shared, ts, deleted"
_DEK = "kek_name, subject, version, algorithm, encrypted, ts, deleted"


class Keys:
    """A `KeyRegistry` in the database of an embedded registry; what is wrong is refused as Confluent's server does.

    A key that is shared is used by the registry itself: with its service, as the process is allowed to there.

    >>> keys = Keys(Database(":memory:", "memory://"))
    >>> keys.register_kek(Kek("orders", "local-kms", "mykey")).name
    'orders'
    >>> keys.register_dek(Dek("orders", "orders-value", encrypted_key_material="c2VjcmV0")).version
    1
    >>> keys.dek("orders", "orders-value", LATEST).version, keys.kek_names()
    (1, ['orders'])
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._log = ChangeLog(database)

    # Keys that encrypt keys

    def kek_names(self, prefixes: Sequence[str] = (), *, deleted: bool = False) -> list[str]:
        """Return the names of the keys, or of those that encrypt keys of subjects with some prefixes."""
        with self._database.transaction():
            if not prefixes:
                rows = self._database.execute(
                    "SELECT name FROM keks WHERE ? OR NOT deleted ORDER BY name", (deleted,)
                )
                return [name for (name,) in rows]
            rows = self._database.execute(
                "SELECT DISTINCT kek_name, subject FROM deks WHERE ? OR NOT deleted", (deleted,)
            )
            return sorted({name for name, subject in rows if subject.startswith(tuple(prefixes))})

    def kek(self, name: str, *, deleted: bool = False, context: str | None = None) -> Kek:
        """Find a key; ``deleted`` finds softly deleted ones as well. Keys are those of all contexts."""
        with self._database.transaction():
            found = self._kek(check_key_name(name))
        if found is None or (found.deleted and not deleted):
            no_key(name)
        return found

    def register_kek(self, kek: Kek, *, context: str | None = None) -> Kek:
        """Register a key; one that was softly deleted is there again."""
        check_key_name(kek.name)
        with self._database.transaction(write=True):
            old = self._kek(kek.name)
            if old is not None and (old.deleted == kek.deleted or old != kek):
                already_exists(kek.name)
            made = self._put_kek(kek)
            self._log.add(
                "register_kek",
                None,
                kek=kek.name,
                kms_type=kek.kms_type,
                kms_key_id=kek.kms_key_id,
                shared=kek.shared,
            )
        return made

    def update_kek(self, name: str, changes: Mapping[str, Any]) -> Kek:
        """Change settings, description or sharing of a key, by the names that they have in JSON."""
        with self._database.transaction(write=True):
            old = self.kek(name)
            new = Kek.of(
                {**old.json, **{key: changes[key] for key in ("kmsProps", "doc", "shared") if key in changes}}
            )
            if new == old:
                return old
            made = self._put_kek(new)
            changed = [key for key, value in new.json.items() if old.json.get(key) != value]
            self._log.add("update_kek", None, kek=name, changed=changed)
        return made

    def check_kek(self, name: str) -> None:
        """Have the service of a shared key encrypt something."""
        kek = self.kek(name)
        if not kek.shared:
            invalid_key("shared")
        _encrypted(kek, new_material(DEFAULT_ALGORITHM), "__TEST")

    def delete_kek(self, name: str, *, permanent: bool = False) -> None:
        """Delete a key that encrypts no other: softly, then permanently."""
        with self._database.transaction(write=True):
            kek = self.kek(name, deleted=True)
            used = self._database.execute(
                "SELECT 1 FROM deks WHERE kek_name = ? AND deleted <= ? LIMIT 1", (name, permanent)
            ).fetchone()
            if used is not None:
                raise RegistryError(f"One or more references exist to the key {name}", 422, 42272)
            if permanent and not kek.deleted:
                _not_deleted(name)
            if permanent:
                self._database.execute("DELETE FROM keks WHERE name = ?", (name,))
            elif not kek.deleted:
                self._put_kek(replace(kek, deleted=True))
            if permanent or not kek.deleted:
                self._log.add("delete_kek", None, kek=name, permanent=permanent)

    def undelete_kek(self, name: str) -> None:
        """Have a softly deleted key again."""
        with self._database.transaction(write=True):
            kek = self.kek(name, deleted=True)
            if kek.deleted:
                self._put_kek(replace(kek, deleted=False))
                self._log.add("undelete_kek", None, kek=name)

    # Keys that encrypt data

    def dek_subjects(self, kek_name: str, *, deleted: bool = False) -> list[str]:
        """Return the subjects that have keys which a key encrypts."""
        with self._database.transaction():
            self.kek(kek_name, deleted=deleted)
            rows = self._database.execute(
                "SELECT DISTINCT subject FROM deks WHERE kek_name = ? AND deleted <= ? ORDER BY subject",
                (kek_name, deleted),
            )
            return [subject for (subject,) in rows]

    def dek_versions(
        self, kek_name: str, subject: str, algorithm: str | None = None, *, deleted: bool = False
    ) -> list[int]:
        """Return the numbers of the keys of a subject."""
        with self._database.transaction():
            self.kek(kek_name, deleted=deleted)
            return [dek.version for dek in self._of_subject(kek_name, subject, algorithm, deleted=deleted)]

    def dek(
        self,
        kek_name: str,
        subject: str,
        version: int = 1,
        algorithm: str | None = DEFAULT_ALGORITHM,
        *,
        deleted: bool = False,
    ) -> Dek:
        """Find a version of the key of a subject; with the key itself, if it is shared."""
        with self._database.transaction():
            kek = self.kek(kek_name, deleted=deleted)
            known = self._of_subject(kek_name, subject, algorithm, deleted=deleted)
            found = [dek for dek in known if version in (LATEST, dek.version)]
        if not found:
            no_key(subject)
        return _with_material(kek, found[-1])

    def register_dek(self, dek: Dek) -> Dek:
        """Register a version of the key of a subject; if it is shared, the registry makes it."""
        return self.store_dek(self.prepare_dek(dek))

    def prepare_dek(self, dek: Dek) -> Dek:
        """Do the part of a registration that changes nothing: have the service encrypt a shared key, which takes time.

        It is the key that there is, or a new one.
        """
        check_key_subject(dek.subject)
        kek = self.kek(dek.kek_name, deleted=dek.deleted)
        if dek.encrypted_key_material is not None:
            return replace(dek, key_material=None)
        if not kek.shared:
            invalid_key("encryptedKeyMaterial")
        with self._database.transaction():
            old = self._dek(dek)
        material = new_material(dek.algorithm)
        if old is not None:
            material = base64.b64decode(_with_material(kek, old).key_material or "")
        encrypted = _encrypted(kek, material, dek.subject)
        return replace(
            dek, encrypted_key_material=encrypted, key_material=base64.b64encode(material).decode()
        )

    def store_dek(self, dek: Dek, *, rewrap: bool = False) -> Dek:
        """Register what was prepared; ``rewrap`` replaces what a key is encrypted by."""
        with self._database.transaction(write=True):
            kek = self.kek(dek.kek_name, deleted=dek.deleted)
            old = self._dek(dek)
            if old is not None and not rewrap:
                is_same = kek.shared or old.encrypted_key_material == dek.encrypted_key_material
                if old.deleted == dek.deleted or not is_same:
                    already_exists(dek.subject)
            self._put_dek(dek)
            made = self._dek(dek)
            assert made is not None
            self._log_dek("register_dek", made, rewrap=rewrap)
        return replace(made, key_material=dek.key_material)

    def delete_dek(
        self,
        kek_name: str,
        subject: str,
        version: int | None = None,
        algorithm: str | None = None,
        *,
        permanent: bool = False,
    ) -> None:
        """Delete the keys of a subject, or one version: softly, then permanently."""
        with self._database.transaction(write=True):
            for dek in self._meant(kek_name, subject, version, algorithm):
                if permanent and not dek.deleted:
                    _not_deleted(subject)
                if permanent:
                    self._database.execute(
                        "DELETE FROM deks WHERE kek_name = ? AND subject = ? AND version = ? AND algorithm = ?",
                        (dek.kek_name, dek.subject, dek.version, dek.algorithm),
                    )
                elif not dek.deleted:
                    self._put_dek(replace(dek, deleted=True))
                if permanent or not dek.deleted:
                    self._log_dek("delete_dek", dek, permanent=permanent)

    def undelete_dek(
        self, kek_name: str, subject: str, version: int | None = None, algorithm: str | None = None
    ) -> None:
        """Have softly deleted keys of a subject again, or one version."""
        with self._database.transaction(write=True):
            if self.kek(kek_name, deleted=True).deleted:
                raise RegistryError(f"Key '{kek_name}' must be undeleted first", 404, 40472)
            for dek in self._meant(kek_name, subject, version, algorithm):
                if dek.deleted:
                    self._put_dek(replace(dek, deleted=False))
                    self._log_dek("undelete_dek", dek)

    def _log_dek(self, action: str, dek: Dek, **how: bool) -> None:
        self._log.add(action, dek.subject, dek.version, kek=dek.kek_name, algorithm=dek.algorithm, **how)

    # Rows

    def _meant(self, kek_name: str, subject: str, version: int | None, algorithm: str | None) -> list[Dek]:
        """Return the keys of a subject, deleted ones too, or refuse (40470)."""
        self.kek(kek_name, deleted=True)
        every = self._of_subject(kek_name, subject, algorithm, deleted=True)
        if version == LATEST:
            every = every[-1:]
        elif version is not None:
            every = [dek for dek in every if dek.version == version]
        return every or no_key(subject)

    def _of_subject(self, kek_name: str, subject: str, algorithm: str | None, *, deleted: bool) -> list[Dek]:
        values = (kek_name, check_key_subject(subject), check_algorithm(algorithm))
        return self._deks("kek_name = ? AND subject = ? AND algorithm = ?", values, deleted=deleted)

    def _kek(self, name: str) -> Kek | None:
        row = self._database.execute(f"SELECT {_KEK} FROM keks WHERE name = ?", (name,)).fetchone()
        if row is None:
            return None
        name, kms_type, key_id, props, doc, shared, ts, deleted = row
        return Kek(
            name, kms_type, key_id, tuple(json.loads(props).items()), doc, bool(shared), ts, bool(deleted)
        )

    def _put_kek(self, kek: Kek) -> Kek:
        new = replace(kek, ts=now())
        self._database.execute(
            f"INSERT OR REPLACE INTO keks ({_KEK}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (
                new.name,
                new.kms_type,
                new.kms_key_id,
                json.dumps(dict(new.kms_props)),
                new.doc,
                new.shared,
                new.ts,
                new.deleted,
            ),
        )
        return new

    def _deks(self, condition: str, values: Sequence[Any], *, deleted: bool) -> list[Dek]:
        rows = self._database.execute(
            f"SELECT {_DEK} FROM deks WHERE {condition} AND (? OR NOT deleted) ORDER BY version",
            (*values, deleted),
        )
        return [
            Dek(kek_name, subject, version, algorithm, encrypted, ts=ts, deleted=bool(gone))
            for kek_name, subject, version, algorithm, encrypted, ts, gone in rows
        ]

    def _dek(self, dek: Dek) -> Dek | None:
        values = (dek.kek_name, dek.subject, dek.version, dek.algorithm)
        found = self._deks(
            "kek_name = ? AND subject = ? AND version = ? AND algorithm = ?", values, deleted=True
        )
        return found[0] if found else None

    def _put_dek(self, dek: Dek) -> None:
        self._database.execute(
            f"INSERT OR REPLACE INTO deks ({_DEK}) VALUES (?, ?, ?, ?, ?, ?, ?)",
            (
                dek.kek_name,
                dek.subject,
                dek.version,
                dek.algorithm,
                dek.encrypted_key_material,
                now(),
                dek.deleted,
            ),
        )


def _with_material(kek: Kek, dek: Dek) -> Dek:
    """Return a key with its material, if it is one that the registry shares."""
    if not kek.shared or dek.encrypted_key_material is None:
        return dek
    try:
        material = unwrap(kek, base64.b64decode(dek.encrypted_key_material), {})
    except (KeyServiceError, ValueError) as error:
        _not_generated("raw", dek.subject, error)
    return replace(dek, key_material=base64.b64encode(material).decode())


def _encrypted(kek: Kek, material: bytes, subject: str) -> str:
    try:
        return base64.b64encode(wrap(kek, material, {})).decode()
    except KeyServiceError as error:
        _not_generated("encrypted", subject, error)


def _not_generated(what: str, subject: str, error: Exception) -> NoReturn:
    raise RegistryError(f"Could not generate {what} dek for {subject}: {error}", 500, 50070) from None


def _not_deleted(name: str) -> NoReturn:
    raise RegistryError(f"Key '{name}' was not deleted first before being permanently deleted", 404, 40471)

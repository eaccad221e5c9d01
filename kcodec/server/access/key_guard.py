"""Keys of encrypted fields that each user may use as the user's roles allow."""

from collections.abc import Callable, Mapping
from typing import Any

from kcodec.registry.keys.values import Dek, Kek
from kcodec.server.access.rights import Guarded, of_some


def _of_kek(guard: Guarded, kek: Kek, **named: Any) -> None:
    if kek.shared:
        guard.check("admin", None)
    else:
        guard.check("write", kek.name)


def _of_changed_kek(guard: Guarded, name: str, changes: Mapping[str, Any]) -> None:
    guard.check("admin", name)
    if changes.get("shared") or ("kmsProps" in changes and guard.kek(name).shared):
        guard.check("admin", None)


def _of_writers(guard: Guarded, name: str, *rest: Any, **named: Any) -> None:
    guard.check("write", name)


def _of_administrators(guard: Guarded, name: str, *rest: Any, **named: Any) -> None:
    guard.check("admin", name)


def _of_readers(guard: Guarded, kek_name: str, subject: str, *rest: Any, **named: Any) -> None:
    guard.check("read", subject)


def _of_dek(guard: Guarded, dek: Dek, **named: Any) -> None:
    guard.check("write", dek.subject)


def _of_deletion(
    guard: Guarded, kek_name: str, subject: str, *rest: Any, permanent: bool = False, **named: Any
) -> None:
    guard.check("admin" if permanent else "write", subject)


#: What is checked before a method is called, with the arguments that it is called with.
_RIGHTS: dict[str, Callable[..., None]] = {
    "kek_names": of_some,
    "kek": of_some,
    "register_kek": _of_kek,
    "update_kek": _of_changed_kek,
    "check_kek": _of_writers,
    "delete_kek": _of_administrators,
    "undelete_kek": _of_administrators,
    "dek_versions": _of_readers,
    "dek": _of_readers,
    "prepare_dek": _of_dek,
    "store_dek": _of_dek,
    "delete_dek": _of_deletion,
    "undelete_dek": _of_deletion,
}


class GuardedKeys(Guarded):
    """Keys as who asks may use them.

    A key that encrypts data belongs to its subject: who may read the subject may have it, who may write it may make a
    new one. A key that encrypts keys is no secret: all who have a role may see where it is. The grants of subjects hold
    for its name as well: who may write a subject of that name may register it, and administrators change and delete it.
    One that is shared is used by the registry, with its own access to the service, at the address that the key names:
    only who may administer all there is has it do so.
    """

    name = "a guard of keys"
    checks = _RIGHTS

    def dek_subjects(self, kek_name: str, *, deleted: bool = False) -> list[str]:
        """Return the subjects that have keys, of those that the user may read."""
        self.check_some()
        return [each for each in self._whole.dek_subjects(kek_name, deleted=deleted) if self.may_read(each)]

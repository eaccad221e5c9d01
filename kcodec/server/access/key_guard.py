"""Keys of encrypted fields that each user may use as the user's roles allow."""

from collections.abc import Callable, Mapping
from typing import Any

from kcodec.registry.keys.values import Dek, Kek
from kcodec.registry.store.keys import Keys
from kcodec.server.access.roles import Role


class GuardedKeys:
    """Keys whose methods refuse (403, 40301) what the roles of the user do not allow.

    A key that encrypts data belongs to its subject: who may read the subject may have it, who may write it may make a
    new one. A key that encrypts keys is no secret: all who have a role may see where it is. The grants of subjects hold
    for its name as well: who may write a subject of that name may register it, and administrators change and delete it.
    One that is shared is used by the registry, with its own access to the service, at the address that the key names:
    only who may administer all there is has it do so.

    `check` refuses a user without a role for a subject, and `check_some` one without any.
    """

    def __init__(
        self,
        keys: Keys,
        check: Callable[[Role, str | None], None],
        check_some: Callable[[], None],
        may_read: Callable[[str], bool],
    ) -> None:
        self._keys = keys
        self._check = check
        self._check_some = check_some
        self._may_read = may_read

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """Return a method of the keys that first asks whether the user may do what it does."""
        right = _RIGHTS.get(name)
        if right is None:
            raise AttributeError(f"guarded keys have no {name}")
        method = getattr(self._keys, name)

        def checked(*arguments: Any, **named: Any) -> Any:
            right(self, *arguments, **named)
            return method(*arguments, **named)

        return checked

    def dek_subjects(self, kek_name: str, *, deleted: bool = False) -> list[str]:
        """Return the subjects that have keys, of those that the user may read."""
        self._check_some()
        return [each for each in self._keys.dek_subjects(kek_name, deleted=deleted) if self._may_read(each)]


def _of_some(guard: GuardedKeys, *given: Any, **named: Any) -> None:
    guard._check_some()


def _of_kek(guard: GuardedKeys, kek: Kek, **named: Any) -> None:
    if kek.shared:
        guard._check("admin", None)
    else:
        guard._check("write", kek.name)


def _of_changed_kek(guard: GuardedKeys, name: str, changes: Mapping[str, Any]) -> None:
    guard._check("admin", name)
    if changes.get("shared") or ("kmsProps" in changes and guard._keys.kek(name).shared):
        guard._check("admin", None)


def _of_writers(guard: GuardedKeys, name: str, *rest: Any, **named: Any) -> None:
    guard._check("write", name)


def _of_administrators(guard: GuardedKeys, name: str, *rest: Any, **named: Any) -> None:
    guard._check("admin", name)


def _of_readers(guard: GuardedKeys, kek_name: str, subject: str, *rest: Any, **named: Any) -> None:
    guard._check("read", subject)


def _of_dek(guard: GuardedKeys, dek: Dek, **named: Any) -> None:
    guard._check("write", dek.subject)


def _of_deletion(
    guard: GuardedKeys, kek_name: str, subject: str, *rest: Any, permanent: bool = False, **named: Any
) -> None:
    guard._check("admin" if permanent else "write", subject)


#: What is checked before a method is called, with the arguments that it is called with.
_RIGHTS: dict[str, Callable[..., None]] = {
    "kek_names": _of_some,
    "kek": _of_some,
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

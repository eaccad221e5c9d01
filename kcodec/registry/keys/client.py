"""The keys of a server: the calls of Confluent's DEK registry that reading and writing need."""

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote

from kcodec.errors import RegistryError
from kcodec.registry.keys.values import DEFAULT_ALGORITHM, Dek, Kek

__all__ = ["ServerKeys"]

_ROOT = "dek-registry/v1/keks"

#: ``ask(method, path, query, body)`` returns the object that a server answers with.
Ask = Callable[[str, str, Mapping[str, Any] | None, Any], Any]


class ServerKeys:
    """A `KeyRegistry` over the connections of a registry's handle."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    def kek(self, name: str, *, deleted: bool = False, context: str | None = None) -> Kek:
        """Find a key that encrypts keys."""
        query = {"deleted": _flag(deleted), **_context(context)}
        return Kek.of(self._ask("GET", f"{_ROOT}/{_quoted(name)}", query, None))

    def register_kek(self, kek: Kek, *, context: str | None = None) -> Kek:
        """Register a key that encrypts keys."""
        return Kek.of(self._ask("POST", _ROOT, _context(context) or None, kek.json))

    def dek(
        self,
        kek_name: str,
        subject: str,
        version: int = 1,
        algorithm: str = DEFAULT_ALGORITHM,
        *,
        deleted: bool = False,
    ) -> Dek:
        """Find a version of the key of a subject."""
        place = f"{_ROOT}/{_quoted(kek_name)}/deks/{_quoted(subject)}/versions/{version}"
        return Dek.of(self._ask("GET", place, {"algorithm": algorithm, "deleted": _flag(deleted)}, None))

    def register_dek(self, dek: Dek) -> Dek:
        """Register a version of the key of a subject; older servers want the subject in the body alone."""
        body = {key: value for key, value in dek.json.items() if key not in ("kekName", "ts")}
        place = f"{_ROOT}/{_quoted(dek.kek_name)}/deks"
        try:
            found = self._ask("POST", f"{place}/{_quoted(dek.subject)}", None, body)
        except RegistryError as error:
            if error.status != 405:
                raise
            found = self._ask("POST", place, None, body)
        return Dek.of(found)


def _context(context: str | None) -> dict[str, str]:
    return {} if context is None else {"context": context}


def _flag(value: bool) -> str:
    return "true" if value else "false"


def _quoted(name: str) -> str:
    return quote(name, safe="")

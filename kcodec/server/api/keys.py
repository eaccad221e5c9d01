"""The calls of Confluent's DEK registry: keys that encrypt keys, and the encrypted keys of subjects."""

from collections.abc import Callable
from typing import Any

from kcodec.registry.keys.values import LATEST, Dek, Kek, check_key_name, check_key_subject, invalid_key
from kcodec.server.access.guard import ServedRegistry
from kcodec.server.api.request import Request
from kcodec.server.api.router import Route, Write

__all__ = ["KEY_ROUTES"]

_ROOT = "/dek-registry/v1/keks"
_KEK = f"{_ROOT}/{{kek}}"
_DEK = f"{_KEK}/deks/{{subject}}"
_VERSION = f"{_DEK}/versions/{{version}}"


def kek_names(registry: ServedRegistry, request: Request) -> Any:
    """List the keys that encrypt keys."""
    names = registry.keys.kek_names(request.values("subjectPrefix"), deleted=request.flag("deleted"))
    return request.page()(names)


def kek(registry: ServedRegistry, request: Request) -> Any:
    """Return a key that encrypts keys."""
    return registry.keys.kek(request.path["kek"], deleted=request.flag("deleted")).json


def register_kek(registry: ServedRegistry, request: Request) -> Any:
    """Register a key that encrypts keys."""
    new = Kek.of(request.json)
    return Write(lambda registry: registry.keys.register_kek(new).json)


def update_kek(registry: ServedRegistry, request: Request) -> Any:
    """Change a key that encrypts keys."""
    name, changes = check_key_name(request.path["kek"]), request.json
    return Write(lambda registry: registry.keys.update_kek(name, changes).json)


def check_kek(registry: ServedRegistry, request: Request) -> Any:
    """Have the service of a shared key encrypt something."""
    name = check_key_name(request.path["kek"])
    registry.keys.check_kek(name)
    return registry.keys.kek(name).json


def delete_kek(registry: ServedRegistry, request: Request) -> Any:
    """Delete a key that encrypts keys."""
    name, permanent = check_key_name(request.path["kek"]), request.flag("permanent")
    return Write(lambda registry: registry.keys.delete_kek(name, permanent=permanent))


def undelete_kek(registry: ServedRegistry, request: Request) -> Any:
    """Have a key that encrypts keys again."""
    name = check_key_name(request.path["kek"])
    return Write(lambda registry: registry.keys.undelete_kek(name))


def dek_subjects(registry: ServedRegistry, request: Request) -> Any:
    """List the subjects that have keys."""
    return request.page()(registry.keys.dek_subjects(request.path["kek"], deleted=request.flag("deleted")))


def dek_versions(registry: ServedRegistry, request: Request) -> Any:
    """List the versions of the key of a subject."""
    return request.page()(registry.keys.dek_versions(*_subject(request), deleted=request.flag("deleted")))


def dek(registry: ServedRegistry, request: Request) -> Any:
    """Return a version of the key of a subject; the first where none is named."""
    name, subject, algorithm = _subject(request)
    number = _number(request) if "version" in request.path else 1
    found = registry.keys.dek(name, subject, number, algorithm, deleted=request.flag("deleted"))
    return found.json


def register_dek(registry: ServedRegistry, request: Request) -> Any:
    """Register a version of the key of a subject, which the path names or the body."""
    given = Dek.of(request.json, request.path["kek"], request.path.get("subject"))
    if request.json.get("subject") not in (None, given.subject):
        invalid_key("subject")
    prepared, rewrap = registry.keys.prepare_dek(given), request.flag("rewrap")
    return Write(lambda registry: registry.keys.store_dek(prepared, rewrap=rewrap).json)


def delete_dek(registry: ServedRegistry, request: Request) -> Any:
    """Delete the keys of a subject, or one version."""
    permanent = request.flag("permanent")
    return _changed(request, lambda keys, name, *what: keys.delete_dek(name, *what, permanent=permanent))


def undelete_dek(registry: ServedRegistry, request: Request) -> Any:
    """Have the keys of a subject again, or one version."""
    return _changed(request, lambda keys, name, *what: keys.undelete_dek(name, *what))


def _changed(request: Request, change: Callable[..., None]) -> Write:
    name, subject, algorithm = _subject(request)
    number = _number(request) if "version" in request.path else None
    return Write(lambda registry: change(registry.keys, name, subject, number, algorithm))


def _subject(request: Request) -> tuple[str, str, str | None]:
    """Return what encrypts the keys, the subject, and the algorithm that is asked for."""
    kek, subject = check_key_name(request.path["kek"]), check_key_subject(request.path["subject"])
    return kek, subject, request.text("algorithm") or None


def _number(request: Request) -> int:
    found = request.version
    return LATEST if found == "latest" else found


KEY_ROUTES = (
    Route("GET", _ROOT, kek_names),
    Route("POST", _ROOT, register_kek),
    Route("GET", _KEK, kek),
    Route("PUT", _KEK, update_kek),
    Route("DELETE", _KEK, delete_kek),
    Route("POST", f"{_KEK}/test", check_kek),
    Route("POST", f"{_KEK}/undelete", undelete_kek),
    Route("GET", f"{_KEK}/deks", dek_subjects),
    Route("POST", f"{_KEK}/deks", register_dek),
    # Of a shared key they have the key itself, which is not kept.
    Route("GET", _DEK, dek, lasts=False),
    Route("POST", _DEK, register_dek),
    Route("DELETE", _DEK, delete_dek),
    Route("POST", f"{_DEK}/undelete", undelete_dek),
    Route("GET", f"{_DEK}/versions", dek_versions),
    Route("GET", _VERSION, dek, lasts=False),
    Route("DELETE", _VERSION, delete_dek),
    Route("POST", f"{_VERSION}/undelete", undelete_dek),
)

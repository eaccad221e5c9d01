"""The calls of the API: each asks the registry and returns the JSON of its answer."""

import functools
from collections.abc import Iterable, Iterator
from dataclasses import replace
from importlib import metadata
from typing import Any

from kcodec.errors import RegistryError
from kcodec.formats.schema_format import schema_types
from kcodec.registry.base import ALL_CONTEXTS, DEFAULT_CONTEXT, RegisteredSchema, context_of, qualified
from kcodec.registry.settings import Config, check_mode
from kcodec.registry.store.change_log import ACTIONS
from kcodec.server.access.guard import ServedRegistry
from kcodec.server.api.request import Request, refuse
from kcodec.server.api.router import Route, Write

__all__ = ["ROUTES"]


def _registered(found: RegisteredSchema, *, subject: bool = True) -> dict[str, Any]:
    """Return a version of a subject as the server writes it."""
    place = {"subject": found.subject} if subject else {}
    return {**place, "version": found.version, "id": found.id, "guid": found.guid, **found.schema.json}


def _formed(registry: ServedRegistry, found: RegisteredSchema, request: Request) -> RegisteredSchema:
    """Return a version with its text in the form that is asked for."""
    form = request.text("format")
    if not form:
        return found
    return registry.get_version(found.subject or "", found.version or 0, deleted=True, form=form)


def _referring(found: RegisteredSchema, request: Request) -> RegisteredSchema:
    """Return a schema whose references name their context, if that is asked for."""
    context = context_of(found.subject or "")
    if request.text("referenceFormat") != "qualified" or context == DEFAULT_CONTEXT:
        return found
    references = (replace(each, subject=qualified(each.subject, context)) for each in found.schema.references)
    return replace(found, schema=replace(found.schema, references=tuple(references)))


def _alone(found: RegisteredSchema) -> dict[str, Any]:
    """Return a schema that was asked for by its id or GUID."""
    return {"guid": found.guid, **found.schema.json}


# Subjects


def register(registry: ServedRegistry, request: Request) -> Any:
    """Register a schema."""
    found = registry.prepare(
        request.path["subject"],
        request.schema(),
        normalize=request.flag("normalize"),
        schema_id=request.optional_number("id"),
        version=request.optional_number("version"),
        force=request.flag("force"),
    )
    if isinstance(found, RegisteredSchema):
        return _registered(_formed(registry, found, request), subject=False)
    return Write(
        lambda registry: _registered(_formed(registry, registry.store(found), request), subject=False)
    )


def lookup(registry: ServedRegistry, request: Request) -> Any:
    """Find a schema under a subject."""
    found = registry.lookup(
        request.path["subject"],
        request.schema(),
        normalize=request.flag("normalize"),
        deleted=request.flag("deleted"),
    )
    return _registered(_formed(registry, found, request))


def subjects(registry: ServedRegistry, request: Request) -> Any:
    """List the subjects."""
    ask = functools.partial(
        registry.subjects, deleted=request.flag("deleted"), deleted_only=request.flag("deletedOnly")
    )
    prefixes = _whole(request.prefixes)
    if len(prefixes) == 1:
        return ask(prefixes[0], offset=request.offset, limit=request.limit)
    return request.page()(sorted({name for prefix in prefixes for name in ask(prefix)}))


def _whole(prefixes: Iterable[str]) -> list[str]:
    """Return prefixes of subjects: in the default context, unless one names another or stands for all."""
    return [each if each.startswith((":.", ALL_CONTEXTS)) else f":.:{each}" for each in prefixes]


def delete_subject(registry: ServedRegistry, request: Request) -> Any:
    """Delete a subject."""
    subject, permanent = request.path["subject"], request.flag("permanent")
    return Write(lambda registry: registry.delete_subject(subject, permanent=permanent))


def latest_with_metadata(registry: ServedRegistry, request: Request) -> Any:
    """Find the latest version with some metadata."""
    wanted = dict(zip(request.values("key"), request.values("value"), strict=False))
    found = registry.get_latest_with_metadata(
        request.path["subject"], wanted, deleted=request.flag("deleted")
    )
    return _registered(_formed(registry, found, request))


# Versions


def versions(registry: ServedRegistry, request: Request) -> Any:
    """List the versions of a subject."""
    subject, deleted = request.path["subject"], request.flag("deleted")
    only, negative = request.flag("deletedOnly"), request.flag("deletedAsNegative")
    found = registry.versions(subject, deleted=deleted, deleted_only=only)
    if negative:
        gone = set(registry.versions(subject, deleted_only=True))
        found = [-each if each in gone else each for each in registry.versions(subject, deleted=True)]
    return request.page()(found)


def version(registry: ServedRegistry, request: Request) -> Any:
    """Find a version."""
    return _registered(_referring(_version(registry, request), request))


def version_text(registry: ServedRegistry, request: Request) -> Any:
    """Return the text of a version."""
    return _version(registry, request).schema.text


def _version(registry: ServedRegistry, request: Request) -> RegisteredSchema:
    return registry.get_version(
        request.path["subject"],
        request.version,
        deleted=request.flag("deleted"),
        form=request.text("format"),
    )


def referenced_by(registry: ServedRegistry, request: Request) -> Any:
    """List the ids of the schemas that refer to a version."""
    found = registry.referenced_by(request.path["subject"], request.version, deleted=request.flag("deleted"))
    return request.page()(found)


def delete_version(registry: ServedRegistry, request: Request) -> Any:
    """Delete a version."""
    subject, number, permanent = request.path["subject"], request.version, request.flag("permanent")
    return Write(lambda registry: registry.delete_version(subject, number, permanent=permanent))


# Schemas

#: Schemas that a list has at most.
_MOST_SCHEMAS = 1000


def schemas(registry: ServedRegistry, request: Request) -> Iterator[dict[str, Any] | None]:
    """List versions with their schemas."""
    deleted, latest = request.flag("deleted"), request.flag("latestOnly")
    prefixes = _whole(request.placed(each) for each in request.values("subjectPrefix") or [""])
    ask = functools.partial(registry.listed_versions, prefixes, deleted=deleted, latest=latest)
    start = request.offset
    limit = request.limit if 0 < request.limit <= _MOST_SCHEMAS else _MOST_SCHEMAS
    kind = request.text("ruleType")
    for subject, number in ask() if kind else ask(offset=start, limit=limit):
        try:
            found = registry.get_version(subject, number, deleted=deleted)
        except RegistryError as error:
            if not error.missing:
                raise
            # It has been deleted since the list began.
            continue
        if not kind:
            yield _registered(found)
        elif not _has_rule(found, kind):
            yield None
        elif start:
            start -= 1
        else:
            yield _registered(found)
            limit -= 1
            if not limit:
                return


def _has_rule(found: RegisteredSchema, kind: str) -> bool:
    """Return whether a schema has a rule of a type."""
    rules = found.schema.rules
    return rules is not None and any(each.type == kind for each in rules)


def schema(registry: ServedRegistry, request: Request) -> Any:
    """Find a schema by its id."""
    kept = registry.get(request.id, request.within, form=request.text("format"))
    if request.within is None:
        found = _alone(kept)
    else:
        place = registry.schema_place(request.id, request.within)
        kept = replace(kept, subject=place.subject, version=place.version)
        found = {**_alone(_referring(kept, request)), **place._asdict()}
    return {**found, "maxId": registry.max_id(kept.subject)} if request.flag("fetchMaxId") else found


def schema_text(registry: ServedRegistry, request: Request) -> Any:
    """Return the text of a schema."""
    return registry.get(request.id, request.within, form=request.text("format")).schema.text


def schema_versions(registry: ServedRegistry, request: Request) -> Any:
    """List where a schema is registered."""
    found = registry.schema_versions(request.id, request.within, deleted=request.flag("deleted"))
    return request.page()([each._asdict() for each in found])


def schema_subjects(registry: ServedRegistry, request: Request) -> Any:
    """List the subjects where a schema is registered."""
    found = registry.schema_versions(request.id, request.within, deleted=request.flag("deleted"))
    return request.page()(sorted({each.subject for each in found}))


def schema_by_guid(registry: ServedRegistry, request: Request) -> Any:
    """Find a schema by its GUID."""
    return _alone(registry.get_by_guid(request.path["guid"], form=request.text("format")))


def schema_ids(registry: ServedRegistry, request: Request) -> Any:
    """List the ids of a schema in the contexts."""
    return [
        {"context": context, "id": number} for context, number in registry.schema_ids(request.path["guid"])
    ]


def types(registry: ServedRegistry, request: Request) -> Any:
    """List the types of schemas."""
    return schema_types()


# Compatibility, settings


def compatibility(registry: ServedRegistry, request: Request) -> Any:
    """Check whether a schema may become a version."""
    verbose = request.flag("verbose")
    try:
        found = registry.check_compatibility(
            request.path["subject"],
            request.schema(),
            version=request.version if "version" in request.path else None,
            normalize=request.flag("normalize"),
        )
    except RegistryError as error:
        if error.error_code != 42201 or not verbose:
            raise
        return {"is_compatible": False, "messages": [str(error)]}
    verdict = {"is_compatible": found.compatible}
    return {**verdict, "messages": list(found.messages)} if verbose else verdict


def config(registry: ServedRegistry, request: Request) -> Any:
    """Return the configuration of a subject or of all."""
    return _read(registry.config(request.subject, default_to_global=request.flag("defaultToGlobal")))


def set_config(registry: ServedRegistry, request: Request) -> Any:
    """Change the configuration of a subject or of all."""
    wanted = Config.of(request.json)
    cleared = [key for key, value in request.json.items() if value is None]
    return Write(lambda registry: registry.set_config(wanted, request.subject, cleared=cleared).json)


def delete_config(registry: ServedRegistry, request: Request) -> Any:
    """Drop the configuration of a subject or of all."""
    return Write(lambda registry: _read(registry.delete_config(request.subject)))


def _read(found: Config) -> dict[str, Any]:
    """Return a configuration as it is read, where the level has another key than where it is written."""
    body = found.json
    if "compatibility" in body:
        body["compatibilityLevel"] = body.pop("compatibility")
    return body


def mode(registry: ServedRegistry, request: Request) -> Any:
    """Return the mode of a subject or of all."""
    return {"mode": registry.mode(request.subject, default_to_global=request.flag("defaultToGlobal"))}


def set_mode(registry: ServedRegistry, request: Request) -> Any:
    """Change the mode of a subject or of all."""
    wanted, force = check_mode(request.json.get("mode")), request.flag("force")
    return Write(lambda registry: {"mode": registry.set_mode(wanted, request.subject, force=force)})


def delete_mode(registry: ServedRegistry, request: Request) -> Any:
    """Drop the mode of a subject or of all."""
    if request.flag("recursive"):
        return Write(lambda registry: _moded(registry.delete_modes(request.subject)))
    return Write(lambda registry: _moded(registry.delete_mode(request.subject)))


def _moded(mode: str | None) -> dict[str, Any]:
    """Return a mode as the server writes it; an absent one is left out."""
    return {} if mode is None else {"mode": mode}


# The server


def contexts(registry: ServedRegistry, request: Request) -> Any:
    """List the contexts."""
    prefix = request.text("contextPrefix")
    return request.page()([name for name in registry.contexts() if name.startswith(prefix)])


def delete_context(registry: ServedRegistry, request: Request) -> Any:
    """Delete a context that is empty."""
    return Write(lambda registry: registry.delete_context(request.path["context"]))


def root(registry: ServedRegistry, request: Request) -> Any:
    """Return an empty object, as the root of Confluent's server does."""
    return {}


def associations(registry: ServedRegistry, request: Request) -> Any:
    """List the subjects that are associated with a topic."""
    is_key = request.text("associationType") == "key"
    found = registry.associated_subjects(request.path["topic"], is_key, request.path["cluster"])
    return [{"subject": each} for each in found]


def unassociated(registry: ServedRegistry, request: Request) -> Any:
    """List what is associated with a subject, or with a resource by its id: nothing is."""
    return []


def cluster(registry: ServedRegistry, request: Request) -> Any:
    """Return the names of the clusters; this server has no Kafka cluster."""
    return {"scope": {"path": [], "clusters": {"kafka-cluster": "", "schema-registry-cluster": "kcodec"}}}


def server_version(registry: ServedRegistry, request: Request) -> Any:
    """Return the version of the server."""
    return {"version": metadata.version("kcodec")}


def deployment(registry: ServedRegistry, request: Request) -> Any:
    """Return what is said of where the server runs: nothing, as where nobody has set it."""
    return {"attributes": []}


#: Changes that an answer has unless another number is asked for, and at most.
_CHANGES, _MOST_CHANGES = 100, 1000


def changes(registry: ServedRegistry, request: Request) -> Any:
    """List what was changed, the newest first; a call of our own."""
    action, user = request.text("action") or None, request.values("user")
    if action not in (None, *ACTIONS):
        refuse(400, f"The action {action!r} is none of {', '.join(ACTIONS)}")
    before, limit = request.number("before", 0), request.number("limit", _CHANGES)
    found = registry.changes(
        request.placed(request.text("subject")) or None,
        user=user[0] if user else None,
        action=action,
        before=before if before > 0 else None,
        offset=request.offset,
        limit=min(limit, _MOST_CHANGES) if limit > 0 else _CHANGES,
    )
    return [each.json for each in found]


ROUTES = (
    Route("GET", "/", root),
    Route("POST", "/", root),
    Route("GET", "/subjects", subjects),
    Route("POST", "/subjects/{subject}", lookup),
    Route("DELETE", "/subjects/{subject}", delete_subject),
    Route("GET", "/subjects/{subject}/metadata", latest_with_metadata),
    Route("GET", "/subjects/{subject}/versions", versions),
    Route("POST", "/subjects/{subject}/versions", register),
    Route("GET", "/subjects/{subject}/versions/{version}", version),
    Route("DELETE", "/subjects/{subject}/versions/{version}", delete_version),
    Route("GET", "/subjects/{subject}/versions/{version}/schema", version_text),
    Route("GET", "/subjects/{subject}/versions/{version}/referencedby", referenced_by),
    Route("GET", "/schemas", schemas, lists=True),
    Route("GET", "/schemas/types", types, lasts=False),
    Route("GET", "/schemas/ids/{id}", schema),
    Route("GET", "/schemas/ids/{id}/schema", schema_text),
    Route("GET", "/schemas/ids/{id}/subjects", schema_subjects),
    Route("GET", "/schemas/ids/{id}/versions", schema_versions),
    Route("GET", "/schemas/guids/{guid}", schema_by_guid),
    Route("GET", "/schemas/guids/{guid}/ids", schema_ids),
    Route("POST", "/compatibility/subjects/{subject}/versions", compatibility),
    Route("POST", "/compatibility/subjects/{subject}/versions/{version}", compatibility),
    Route("GET", "/config", config),
    Route("PUT", "/config", set_config),
    Route("DELETE", "/config", delete_config),
    Route("GET", "/config/{subject}", config),
    Route("PUT", "/config/{subject}", set_config),
    Route("DELETE", "/config/{subject}", delete_config),
    Route("GET", "/mode", mode),
    Route("PUT", "/mode", set_mode),
    Route("DELETE", "/mode", delete_mode),
    Route("GET", "/mode/{subject}", mode),
    Route("PUT", "/mode/{subject}", set_mode),
    Route("DELETE", "/mode/{subject}", delete_mode),
    Route("GET", "/contexts", contexts),
    Route("DELETE", "/contexts/{context}", delete_context),
    Route("GET", "/v1/metadata/id", cluster),
    Route("GET", "/v1/metadata/version", server_version),
    Route("GET", "/v1/metadata/deployment", deployment),
    Route("GET", "/kcodec/v1/changes", changes),
    Route("GET", "/associations/resources/{cluster}/{topic}", associations),
    Route("GET", "/associations/resources/{resource}", unassociated),
    Route("GET", "/associations/subjects/{subject}", unassociated),
)

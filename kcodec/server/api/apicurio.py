"""The calls of Apicurio Registry's own API (v3) that its Java serializers make.

An artifact of the group ``default`` is a subject; one of another group is the subject ``group:artifact``, as Apicurio
has it behind its own copy of Confluent's API. A schema's id is its content id and its global id.
"""

from dataclasses import replace
from typing import Any

from kcodec.errors import RegistryError
from kcodec.registry.base import RegisteredSchema, Schema
from kcodec.server.access.guard import ServedRegistry
from kcodec.server.api.request import Request, refuse, version_named
from kcodec.server.api.router import Route, Write

__all__ = ["APICURIO_ROUTES"]

_DEFAULT_GROUP = "default"
#: Versions that one answer lists at most.
_PAGE = 500

#: What may be done where an artifact exists: another content is one more version of it.
_IF_EXISTS = ("FIND_OR_CREATE_VERSION", "CREATE_VERSION")


def create(registry: ServedRegistry, request: Request) -> Any:
    """Register a version of an artifact."""
    if request.text("ifExists") not in _IF_EXISTS:
        refuse(400, f"ifExists has to be {' or '.join(_IF_EXISTS)}")
    group = request.path["group"]
    try:
        artifact = request.json["artifactId"]
        subject, schema = _subject(group, artifact), _first_version(request)
    except (AttributeError, KeyError, TypeError, ValueError):
        refuse(400, "The body of the request is not an artifact with its first version")

    def answer(found: RegisteredSchema) -> dict[str, Any]:
        version = _metadata(found, group, artifact)
        return {"artifact": {key: version[key] for key in _OF_ARTIFACT}, "version": version}

    found = registry.prepare(request.placed(subject), schema)
    if isinstance(found, RegisteredSchema):
        return answer(found)
    return Write(lambda registry: answer(registry.store(found)))


def search(registry: ServedRegistry, request: Request) -> Any:
    """Find the version of an artifact that has a content."""
    group, artifact = request.text("groupId", _DEFAULT_GROUP), request.text("artifactId")
    try:
        body = {"schema": request.body.decode(), "schemaType": request.text("artifactType")}
    except UnicodeDecodeError:
        refuse(400)
    found = _with_content(registry, request.placed(_subject(group, artifact)), request.schema_of(body))
    versions = [] if found is None else [_metadata(found, group, artifact)]
    return {"count": len(versions), "versions": versions}


def search_by_id(registry: ServedRegistry, request: Request) -> Any:
    """Find the versions that have a global or a content id."""
    given = request.text("contentId") or request.text("globalId")
    if not given.isdecimal():
        refuse(400, "contentId or globalId has to be a number")
    # No other is an id: any eight bytes of a value may be asked for.
    number = int(given) if len(given) < 10 else 0
    try:
        found = registry.get(number, request.within)
        places = registry.schema_versions(number, request.within)
    except RegistryError as error:
        if not error.missing:
            raise
        return {"count": 0, "versions": []}
    versions = []
    for each in places:
        group, artifact = _artifact(each.subject)
        known = replace(found, subject=each.subject, version=each.version)
        versions.append(_metadata(known, group, artifact))
    return {"count": len(versions), "versions": versions}


def versions(registry: ServedRegistry, request: Request) -> Any:
    """List the versions of an artifact, the oldest first."""
    group, artifact = request.path["group"], request.path["artifact"]
    subject = request.placed(_subject(group, artifact))
    start, most = request.offset, min(max(request.number("limit", _PAGE), 0), _PAGE)
    numbers = registry.versions(subject)
    page = numbers[start : start + most]
    listed = [_metadata(registry.get_version(subject, each), group, artifact) for each in page]
    return {"count": len(numbers), "versions": listed}


def version(registry: ServedRegistry, request: Request) -> Any:
    """Describe a version."""
    return _metadata(_version(registry, request), request.path["group"], request.path["artifact"])


def version_content(registry: ServedRegistry, request: Request) -> Any:
    """Return the text of a version."""
    return _version(registry, request).schema.text


def version_references(registry: ServedRegistry, request: Request) -> Any:
    """List what a version refers to."""
    return _references(_version(registry, request))


def content(registry: ServedRegistry, request: Request) -> Any:
    """Return the text of a schema, with its references written out if that is asked for."""
    form = "resolved" if request.text("references") == "DEREFERENCE" else ""
    return registry.get(request.id, request.within, form=form).schema.text


def references(registry: ServedRegistry, request: Request) -> Any:
    """List what a schema refers to."""
    return _references(registry.get(request.id, request.within))


_ROOT = "/apis/registry/v3"
_VERSION = f"{_ROOT}/groups/{{group}}/artifacts/{{artifact}}/versions/{{version}}"

APICURIO_ROUTES = (
    Route("POST", f"{_ROOT}/groups/{{group}}/artifacts", create),
    Route("POST", f"{_ROOT}/search/versions", search),
    Route("GET", f"{_ROOT}/search/versions", search_by_id),
    Route("GET", f"{_ROOT}/groups/{{group}}/artifacts/{{artifact}}/versions", versions),
    Route("GET", _VERSION, version),
    Route("GET", f"{_VERSION}/content", version_content),
    Route("GET", f"{_VERSION}/references", version_references),
    Route("GET", f"{_ROOT}/ids/contentIds/{{id}}", content),
    Route("GET", f"{_ROOT}/ids/contentIds/{{id}}/references", references),
    Route("GET", f"{_ROOT}/ids/globalIds/{{id}}", content),
    Route("GET", f"{_ROOT}/ids/globalIds/{{id}}/references", references),
)


def _subject(group: str, artifact: Any) -> str:
    if not isinstance(artifact, str):
        raise TypeError("the id of an artifact is not text")
    return artifact if group == _DEFAULT_GROUP else f"{group}:{artifact}"


def _artifact(subject: str) -> tuple[str, str]:
    """Return the group and the artifact that a subject is."""
    group, colon, artifact = subject.partition(":")
    return (group, artifact) if colon and group and artifact else (_DEFAULT_GROUP, subject)


def _first_version(request: Request) -> Schema:
    """Return the schema in the body of a request for an artifact."""
    given = request.json["firstVersion"]["content"]
    references = [
        {
            "name": each["name"],
            "subject": _subject(each.get("groupId") or _DEFAULT_GROUP, each["artifactId"]),
            "version": int(each["version"]),
        }
        for each in given.get("references") or ()
    ]
    kind = request.json["artifactType"]
    return request.schema_of({"schema": given["content"], "schemaType": kind, "references": references})


def _with_content(registry: ServedRegistry, subject: str, given: Schema) -> RegisteredSchema | None:
    """Return the version that has a content, with whatever references."""
    tried = set()
    try:
        for number in reversed(registry.versions(subject)):
            known = registry.get_version(subject, number).schema.references
            if known in tried:
                continue
            tried.add(known)
            try:
                return registry.lookup(subject, replace(given, references=known))
            except RegistryError as error:
                # Not there with these references, or no schema with them.
                if error.error_code not in (40403, 42201):
                    raise
    except RegistryError as error:
        if not error.missing:
            raise
    return None


def _version(registry: ServedRegistry, request: Request) -> RegisteredSchema:
    subject = request.placed(_subject(request.path["group"], request.path["artifact"]))
    return registry.get_version(subject, version_named(request.path["version"].removeprefix("branch=")))


#: What the metadata of an artifact and those of its versions have in common.
_OF_ARTIFACT = ("groupId", "artifactId", "artifactType")


def _metadata(found: RegisteredSchema, group: str, artifact: str) -> dict[str, Any]:
    """Return what Apicurio tells of a version."""
    return {
        "groupId": group,
        "artifactId": artifact,
        "artifactType": found.schema.type,
        "version": str(found.version),
        "contentId": found.id,
        "globalId": found.id,
        "state": "ENABLED",
    }


def _references(found: RegisteredSchema) -> list[dict[str, str]]:
    return [
        {
            "groupId": _DEFAULT_GROUP,
            "artifactId": each.subject,
            "version": str(each.version),
            "name": each.name,
        }
        for each in found.schema.references
    ]

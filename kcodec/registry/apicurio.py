"""Apicurio Registry by its own API (v3): ``apicurio://host:8080``."""

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NoReturn
from urllib.parse import quote

from kcodec.errors import ConfigError, RegistryError, is_whole
from kcodec.registry.base import Reference, RegisteredSchema, Schema, guid
from kcodec.registry.client import RegistryClient
from kcodec.registry.client_settings import Redaction, addresses, checked, pickled
from kcodec.registry.connection import Answer
from kcodec.registry.source import PartialRegistry, SchemaId

#: The settings beside those of a registry's client, and what they do.
SETTINGS: dict[str, str] = {
    "use.id": "which ids values have: contentId (default), as Apicurio 3 writes them, or globalId",
    "group.id": "the group whose artifacts subjects are (default: default); others are group:artifact",
}
_IDS = ("contentId", "globalId")
_ROOT = "/apis/registry/v3"
_DEFAULT_GROUP = "default"
#: What Apicurio calls the errors for what does not exist; one for a path that it has not is none of them.
_MISSING = tuple(f"{what}NotFoundException" for what in ("Artifact", "Content", "Group", "Version"))
#: Versions of an artifact that one request lists, and that are listed at all.
_PAGE, _MOST = 500, 100_000


class ApicurioRegistry(PartialRegistry):
    """A registry of Apicurio: its subjects are artifacts, its ids global ids or those of contents.

    Its URL is ``apicurio://`` or ``apicurio+https://``; without a path it is ``/apis/registry/v3``. Settings are keys
    of `SETTINGS`, and those of the client of a server (see `kcodec.registry.open`); one that is unknown or wrong is a
    `ConfigError`. It pickles without its connections, and makes none until it is asked for something.

    >>> ApicurioRegistry("apicurio://registry:8080", {"use.id": "globalId"})
    ApicurioRegistry('apicurio://registry:8080')
    """

    def __init__(self, url: str, config: Mapping[str, Any]) -> None:
        self._given = (url, dict(config))
        own = {name: str(config.get(name) or "") for name in SETTINGS}
        self._id_name = own["use.id"] or _IDS[0]
        if self._id_name not in _IDS:
            raise ConfigError(f"use.id={self._id_name} is not {' or '.join(_IDS)}")
        self._group = own["group.id"] or _DEFAULT_GROUP
        settings = checked({name: value for name, value in config.items() if name not in SETTINGS})
        scheme, _, place = url.partition("://")
        # The path is Apicurio's own unless another is given, as behind a proxy.
        place = place.rstrip("/") if "/" in place.rstrip("/") else place.rstrip("/") + _ROOT
        found = addresses(f"{'https' if scheme.lower().endswith('https') else 'http'}://{place}", settings)
        super().__init__(f"{scheme.lower()}://{found[0].url.partition('://')[2].removesuffix(_ROOT)}")
        users = [each.user_info for each in found]
        self._client = _Client(found, settings, Redaction(settings, users))

    def __reduce__(self) -> tuple[Any, ...]:
        return pickled(ApicurioRegistry, *self._given)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _schema_of(self, schema_id: SchemaId) -> Schema:
        if not is_whole(schema_id):
            raise LookupError(f"Apicurio's ids are numbers, not {schema_id}")
        found = self._ask("GET", "search/versions", {self._id_name: schema_id, "limit": 1})
        version = next(iter(_versions(found)), None)
        if version is None:
            raise LookupError(f"there is no {self._id_name} {schema_id}")
        if version[self._id_name] != schema_id:
            # As from a server that does not know what is asked by, and gives any version.
            raise RegistryError(
                f"{self._url}: asked for {self._id_name} {schema_id}, it gives another", None, 50005
            )
        return self._schema(version)

    def _register(self, subject: str, schema: Schema) -> RegisteredSchema:
        group, artifact = self._place(subject)
        references = []
        for each in schema.references:
            of_group, name = self._place(each.subject)
            references.append(
                {"groupId": of_group, "artifactId": name, "version": str(each.version), "name": each.name}
            )
        content = {
            "content": schema.text,
            "contentType": "application/x-protobuf" if schema.type == "PROTOBUF" else "application/json",
            "references": references,
        }
        body = {"artifactId": artifact, "artifactType": schema.type, "firstVersion": {"content": content}}
        query = {"ifExists": "FIND_OR_CREATE_VERSION"}
        try:
            found = self._ask("POST", f"groups/{_quoted(group)}/artifacts", query, body)
        except RegistryError as error:
            if error.status in (400, 409) and "ncompatible" in str(error):
                raise RegistryError(str(error), 409, 40901) from None
            raise
        version = found.get("version")
        return self._told(subject, _checked(version if isinstance(version, dict) else {}), schema)

    def _version(self, subject: str, number: int) -> RegisteredSchema:
        name = "branch=latest" if number == -1 else number
        found = self._ask("GET", f"{self._artifact(subject)}/versions/{_quoted(name)}")
        return self._told(subject, _checked(found))

    def _numbers(self, subject: str) -> list[int]:
        """Return the versions of an artifact that are numbers."""
        listed: list[int | None] = []
        query = {"limit": _PAGE, "order": "asc", "orderby": "globalId"}
        for offset in range(0, _MOST, _PAGE):
            found = self._ask("GET", f"{self._artifact(subject)}/versions", {**query, "offset": offset})
            page = _versions(found)
            listed += map(_number, page)
            if len(page) != _PAGE:
                # More than were asked for come from who gives all of them at once.
                break
        return sorted(each for each in listed if each is not None)

    def _find(self, subject: str, schema: Schema) -> RegisteredSchema:
        """Find the latest version of an artifact that has a text and references."""
        group, artifact = self._place(subject)
        query = {"groupId": group, "artifactId": artifact, "artifactType": schema.type}
        versions = _versions(self._ask("POST", "search/versions", query, schema.text.encode()))
        same = (each for each in reversed(versions) if self._schema(each).references == schema.references)
        found = next(same, None)
        if found is None:
            raise RegistryError(f"{self!r} has no such schema under {subject}", 404, 40403)
        return self._told(subject, found, schema)

    def _told(
        self, subject: str, version: Mapping[str, Any], schema: Schema | None = None
    ) -> RegisteredSchema:
        """Return a version as registries do."""
        schema = schema or self._schema(version)
        return RegisteredSchema(version[self._id_name], guid(schema), schema, subject, _number(version))

    def _schema(self, version: Mapping[str, Any]) -> Schema:
        """Return the schema of a version, of which no other has the global id."""
        path = f"ids/globalIds/{version['globalId']}"
        text = self._ask("GET", path, is_text=True)
        references = self._ask("GET", f"{path}/references", kind=list)
        try:
            found = tuple(
                Reference(each["name"], self._subject(each), int(each["version"])) for each in references
            )
        except (KeyError, TypeError, ValueError, OverflowError):
            raise RegistryError(
                f"{self._url}: the references of {path} are not of versions that are numbers", None, 50005
            ) from None
        return Schema(text, version["artifactType"], found)

    def _place(self, subject: str) -> tuple[str, str]:
        """Return the group and the artifact that a subject names."""
        group, colon, artifact = subject.partition(":")
        return (group, artifact) if colon and group and artifact else (self._group, subject)

    def _subject(self, place: Mapping[str, Any]) -> str:
        group, artifact = place.get("groupId") or _DEFAULT_GROUP, place["artifactId"]
        return artifact if group == self._group else f"{group}:{artifact}"

    def _artifact(self, subject: str) -> str:
        group, artifact = self._place(subject)
        return f"groups/{_quoted(group)}/artifacts/{_quoted(artifact)}"

    def _ask(
        self,
        method: str,
        path: str,
        query: Mapping[str, Any] | None = None,
        body: Any = None,
        *,
        is_text: bool = False,
        kind: type = dict,
    ) -> Any:
        """Return what the server answers, of the type that it has to have."""
        found = self._client.request(method, path, query, body, is_text=is_text)
        if not isinstance(found, str if is_text else kind):
            self._client.unknown(f"{method} /{path}")
        return found


class _Client(RegistryClient):
    accepted, sent = "*/*", "application/json"
    what = "Apicurio Registry"

    def _refuse(self, server: Any, asked: str, answer: Answer, start: float) -> NoReturn:
        with suppress(ValueError, AttributeError, RecursionError):
            told = json.loads(answer.body)
            if answer.status == 404 and str(told.get("name")) in _MISSING:
                raise LookupError(str(told.get("title")))
        super()._refuse(server, asked, answer, start)


def _versions(found: Mapping[str, Any]) -> list[dict[str, Any]]:
    listed = found.get("versions")
    if not isinstance(listed, list):
        raise RegistryError("the answer has no versions of Apicurio's", None, 50005)
    return [_checked(each) for each in listed]


def _checked(version: Any) -> dict[str, Any]:
    """Return what is told of a version, if it has what any has."""
    if (
        not isinstance(version, dict)
        or not all(is_whole(version.get(name)) for name in _IDS)
        or not isinstance(version.get("artifactType"), str)
    ):
        raise RegistryError("the answer has no version of Apicurio's", None, 50005)
    return version


def _number(version: Mapping[str, Any]) -> int | None:
    """Return the number of a version; None of one that has another name."""
    name = version.get("version")
    return int(name) if isinstance(name, str) and name.isdecimal() and len(name) < 10 else None


def _quoted(name: int | str) -> str:
    return quote(str(name), safe="=")

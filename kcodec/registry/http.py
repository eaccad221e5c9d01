"""A Schema Registry server: ``http://`` and ``https://``."""

import functools
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Literal
from urllib.parse import quote

from kcodec._fork import fork_safe_lock
from kcodec.errors import ConfigError, RegistryError, check_booleans, check_kind, is_whole
from kcodec.registry.base import (
    ALL_CONTEXTS,
    Reference,
    RegisteredSchema,
    Schema,
    SubjectVersion,
    check_schema,
    check_subject,
    guid,
    unknown_schema,
)
from kcodec.registry.client import RegistryClient
from kcodec.registry.client_settings import Redaction, addresses, checked, pickled
from kcodec.registry.compatibility.levels import Compatibility, check_level, read_differences
from kcodec.registry.keys.client import ServerKeys
from kcodec.registry.settings import Config, check_config, check_mode

#: The highest id that there can be: a frame's four bytes, read without a sign, may hold more.
_MAX_ID = 2**31 - 1

#: Schemas by id that are kept where the configuration does not say.
_CAPACITY = 1000


class _Shared:
    """What all handles of a process with the same address and configuration share."""

    def __init__(self, client: RegistryClient, capacity: int) -> None:
        self.client = client
        self._capacity = capacity
        self._by_id: OrderedDict[int, RegisteredSchema] = OrderedDict()
        self._lock = fork_safe_lock()

    def known(self, schema_id: int) -> RegisteredSchema | None:
        with self._lock:
            found = self._by_id.get(schema_id)
            if found is not None:
                self._by_id.move_to_end(schema_id)
            return found

    def keep(self, found: RegisteredSchema) -> None:
        with self._lock:
            self._by_id[found.id or 0] = found
            while len(self._by_id) > self._capacity:
                self._by_id.popitem(last=False)

    def forget(self) -> None:
        with self._lock:
            self._by_id.clear()


_shared: dict[Any, _Shared] = {}
_lock = fork_safe_lock()


class HttpRegistry:
    """A Schema Registry server.

    It is asked over connections that all handles of a process with the same address and configuration share. The
    handle pickles as both; credentials in the address count as configuration, go to the address that they stand in and
    to no other, and appear in no text, nor legibly in the bytes of a pickle (which anyone can read back nevertheless).
    For the configuration see `kcodec.registry.open`.

    >>> HttpRegistry("https://me:secret@registry:8081", {"timeout": 5})
    <HttpRegistry https://registry:8081>
    """

    def __init__(self, url: str, config: Mapping[str, Any] | None = None) -> None:
        if config is not None and not isinstance(config, Mapping):
            raise ConfigError(f"the configuration of a registry is a mapping, not {type(config).__name__}")
        self._given = (url, dict(config or {}))
        self._config = checked(self._given[1])
        self._addresses = addresses(url, self._config)
        self._url = ",".join(each.url for each in self._addresses)

    @property
    def url(self) -> str:
        """The address, without credentials."""
        return self._url

    @property
    def keys(self) -> ServerKeys:
        """The keys of encrypted fields that the server keeps."""
        return ServerKeys(functools.partial(self._ask, kind=dict))

    def __repr__(self) -> str:
        return f"<HttpRegistry {self._url}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return pickled(HttpRegistry, *self._given)

    def register(
        self,
        subject: str,
        schema: Schema,
        *,
        normalize: bool = False,
        schema_id: int | None = None,
        version: int | None = None,
    ) -> RegisteredSchema:
        """Register a schema under a subject.

        Servers before 8.0 answer with the id alone: the version is then None, the text the one sent.
        """
        check_booleans(normalize=normalize)
        subject, schema = check_subject(subject), check_schema(schema)
        place, query = f"subjects/{_quoted(subject)}/versions", {"normalize": _flag(normalize)}
        wanted = {"id": schema_id, "version": version}
        asked = {name: number for name, number in wanted.items() if number is not None}
        found = self._registered("POST", place, query, schema, subject, asked)
        return found if found.version is not None else replace(found, version=version)

    def lookup(
        self, subject: str, schema: Schema, *, normalize: bool = False, deleted: bool = False
    ) -> RegisteredSchema:
        """Find a schema under a subject by its content."""
        subject, schema = check_subject(subject), check_schema(schema)
        query = {"normalize": _flag(normalize), "deleted": _flag(deleted)}
        return self._registered("POST", f"subjects/{_quoted(subject)}", query, schema, subject)

    def check_compatibility(
        self,
        subject: str,
        schema: Schema,
        level: str | None = None,
        version: int | Literal["latest"] | None = "latest",
        *,
        normalize: bool = False,
    ) -> Compatibility:
        """Ask the server whether a schema may become the next version of a subject.

        It tells its reasons in words, of which the differences are read, and compares at the level that is set there:
        another one is a `kcodec.ConfigError`.
        """
        subject, schema = check_subject(subject), check_schema(schema)
        if (
            level is not None
            and check_level(level) != self.config(subject, default_to_global=True).compatibility
        ):
            raise ConfigError("a server checks compatibility at the level that is set there")
        place = f"compatibility/subjects/{_quoted(subject)}/versions"
        if version is not None:
            place += f"/{_quoted('latest' if version == -1 else version)}"
        query = {"normalize": _flag(normalize), "verbose": "true"}
        answer = self._ask("POST", place, query, schema.json, kind=dict)
        given = answer.get("messages")
        messages = tuple(map(str, given)) if isinstance(given, list) else ()
        return Compatibility(bool(answer.get("is_compatible")), read_differences(messages), messages)

    def get(self, schema_id: int, subject: str | None = None, *, form: str = "") -> RegisteredSchema:
        """Find a schema by its id, which is kept; `form` is the server's ``format`` of the text."""
        if not is_whole(schema_id) or schema_id > _MAX_ID:
            # Servers have no such path, and say so as one that is no registry does.
            unknown_schema(schema_id)
        shared = self._open()
        is_plain = subject is None and not form
        known = shared.known(schema_id) if is_plain else None
        if known is not None:
            return known
        place = f"schemas/ids/{_quoted(schema_id)}"
        fields = self._ask("GET", place, _given(subject=subject, format=form), kind=dict)
        schema = self._schema(fields, place)
        identity = fields.get("guid")
        if not isinstance(identity, str):
            # The GUID covers the rules as well; some servers tell it with a version.
            identity = self._guid(schema_id) if fields.get("ruleSet") else None
        found = RegisteredSchema(schema_id, identity or guid(schema), schema)
        if is_plain:
            shared.keep(found)
        return found

    def _guid(self, schema_id: int) -> str | None:
        """Return the GUID that a server tells with a version of a schema."""
        place = f"schemas/ids/{_quoted(schema_id)}/versions"
        for each in self._ask("GET", place, {"deleted": "true"}, kind=list):
            if isinstance(each, dict) and {"subject", "version"} <= each.keys():
                at = f"subjects/{_quoted(each['subject'])}/versions/{_quoted(each['version'])}"
                identity = self._ask("GET", at, {"deleted": "true"}, kind=dict).get("guid")
                return identity if isinstance(identity, str) else None
        return None

    def get_by_guid(self, guid: str, *, form: str = "") -> RegisteredSchema:
        """Find a schema by its GUID; a server may not tell the id."""
        place = f"schemas/guids/{_quoted(guid)}"
        fields = self._ask("GET", place, _given(format=form), kind=dict)
        number = fields.get("id")
        return RegisteredSchema(number if is_whole(number) else None, guid, self._schema(fields, place))

    def get_version(
        self,
        subject: str,
        version: int | Literal["latest"] = "latest",
        *,
        deleted: bool = False,
        form: str = "",
    ) -> RegisteredSchema:
        """Find a version of a subject; the latest is always asked for anew."""
        subject = check_subject(subject)
        wanted = "latest" if version == -1 else version
        place = f"subjects/{_quoted(subject)}/versions/{_quoted(wanted)}"
        query = _given(deleted="true" if deleted else None, format=form)
        return self._registered("GET", place, query, None, subject)

    def get_latest_with_metadata(
        self, subject: str, properties: Mapping[str, str], *, deleted: bool = True
    ) -> RegisteredSchema:
        """Find the latest version whose metadata has all these properties; softly deleted ones count unless told."""
        check_kind(Mapping, "a mapping of names to values", properties=properties)
        subject = check_subject(subject)
        query = {"key": list(properties), "value": list(properties.values()), "deleted": _flag(deleted)}
        return self._registered("GET", f"subjects/{_quoted(subject)}/metadata", query, None, subject)

    def associated_subjects(self, topic: str, is_key: bool, cluster: str = "-") -> list[str]:
        """Return the subjects that the server associates with a topic; none where it knows no associations."""
        place = f"associations/resources/{_quoted(cluster)}/{_quoted(topic)}"
        query = {"resourceType": "topic", "associationType": "key" if is_key else "value"}
        try:
            found = self._ask("GET", place, query, kind=list)
        except RegistryError as error:
            if error.status == 404:
                return []
            raise
        return [str(each["subject"]) for each in found if isinstance(each, dict) and "subject" in each]

    def subjects(
        self,
        prefix: str = "",
        *,
        deleted: bool = False,
        deleted_only: bool = False,
        offset: int = 0,
        limit: int = -1,
    ) -> list[str]:
        """Return the subjects that have a version."""
        check_kind(str, "text", prefix=prefix)
        query = {"subjectPrefix": prefix or ALL_CONTEXTS, **_page(deleted, deleted_only, offset, limit)}
        return self._list("GET", "subjects", query, of=str)

    def versions(
        self,
        subject: str,
        *,
        deleted: bool = False,
        deleted_only: bool = False,
        offset: int = 0,
        limit: int = -1,
    ) -> list[int]:
        """Return the numbers of a subject's versions."""
        place = f"subjects/{_quoted(check_subject(subject))}/versions"
        return self._list("GET", place, _page(deleted, deleted_only, offset, limit), of=int)

    def schema_versions(
        self, schema_id: int, subject: str | None = None, *, deleted: bool = False
    ) -> list[SubjectVersion]:
        """Return where a schema of an id is registered."""
        place = f"schemas/ids/{_quoted(schema_id)}/versions"
        query = _given(subject=subject, deleted=_flag(deleted))
        found = self._ask("GET", place, query, kind=list)
        try:
            return [SubjectVersion(str(each["subject"]), int(each["version"])) for each in found]
        except (KeyError, TypeError, ValueError, OverflowError):
            self._open().client.unknown(f"GET /{place}", what="the answer has no versions")

    def referenced_by(
        self, subject: str, version: int | Literal["latest"] = "latest", *, deleted: bool = False
    ) -> list[int]:
        """Return the ids of the schemas that refer to a version."""
        place = f"subjects/{_quoted(check_subject(subject))}/versions/{_quoted(version)}/referencedby"
        return self._list("GET", place, {"deleted": _flag(deleted)}, of=int)

    def contexts(self) -> list[str]:
        """Return the names of the contexts."""
        return self._list("GET", "contexts", of=str)

    def config(self, subject: str | None = None, *, default_to_global: bool = False) -> Config:
        """Return what a subject is set to, or the registry as a whole."""
        query = {"defaultToGlobal": _flag(default_to_global)}
        return Config.of(self._ask("GET", _place("config", subject), query, kind=dict))

    def set_config(self, config: Config, subject: str | None = None) -> Config:
        """Change the given parts of a configuration, and leave the rest as it is; return the given parts."""
        check_config(config)
        return Config.of(self._ask("PUT", _place("config", subject), None, config.json, kind=dict))

    def delete_config(self, subject: str | None = None) -> Config:
        """Reset a subject to what holds for all, or the registry to the defaults; return what was set."""
        return Config.of(self._ask("DELETE", _place("config", subject), kind=dict))

    def mode(self, subject: str | None = None, *, default_to_global: bool = False) -> str:
        """Return the mode of a subject, or of the registry as a whole."""
        query = {"defaultToGlobal": _flag(default_to_global)}
        return str(self._ask("GET", _place("mode", subject), query, kind=dict).get("mode"))

    def set_mode(self, mode: str, subject: str | None = None, *, force: bool = False) -> str:
        """Set the mode of a subject, or of the registry as a whole."""
        check_booleans(force=force)
        body = {"mode": check_mode(mode)}
        query = {"force": _flag(force)}
        return str(self._ask("PUT", _place("mode", subject), query, body, kind=dict).get("mode"))

    def delete_mode(self, subject: str | None = None) -> str:
        """Reset a subject to the mode that holds for all; return what was set."""
        return str(self._ask("DELETE", _place("mode", subject), kind=dict).get("mode"))

    def delete_version(
        self, subject: str, version: int | Literal["latest"], *, permanent: bool = False
    ) -> int:
        """Delete a version: softly, then permanently."""
        check_booleans(permanent=permanent)
        place = f"subjects/{_quoted(check_subject(subject))}/versions/{_quoted(version)}"
        found: int = self._ask("DELETE", place, {"permanent": "true"} if permanent else None, kind=int)
        self._open().forget()
        return found

    def delete_subject(self, subject: str, *, permanent: bool = False) -> list[int]:
        """Delete all versions of a subject: softly, then permanently."""
        check_booleans(permanent=permanent)
        place = f"subjects/{_quoted(check_subject(subject))}"
        found: list[int] = self._list("DELETE", place, {"permanent": "true"} if permanent else None, of=int)
        self._open().forget()
        return found

    def close(self) -> None:
        """Close this process's connections to the same address with the same configuration."""
        with _lock:
            shared = _shared.pop(self._key(), None)
        if shared is not None:
            shared.client.close()

    def _key(self) -> Any:
        settings = [
            (name, value if isinstance(value, (str, int, float)) else id(value))
            for name, value in self._config.items()
        ]
        return self._addresses, frozenset(settings)

    def _open(self) -> _Shared:
        key = self._key()
        with _lock:
            shared = _shared.get(key)
            if shared is None:
                users = [each.user_info for each in self._addresses]
                client = RegistryClient(self._addresses, self._config, Redaction(self._config, users))
                capacity = self._config.get("cache.capacity")
                shared = _shared[key] = _Shared(client, _CAPACITY if capacity is None else capacity)
        return shared

    def _ask(
        self, method: str, path: str, query: Mapping[str, Any] | None = None, body: Any = None, *, kind: type
    ) -> Any:
        """Return the value that the server answers with, of the type that it has to have."""
        client = self._open().client
        found = client.request(method, path, query, body)
        if not isinstance(found, kind) or isinstance(found, bool):
            client.unknown(f"{method} /{path}")
        return found

    def _list(self, method: str, path: str, query: Mapping[str, Any] | None = None, *, of: type) -> Any:
        """Return the list that the server answers with, whose items have to be of a type."""
        found = self._ask(method, path, query, kind=list)
        if not all(isinstance(each, of) and not isinstance(each, bool) for each in found):
            self._open().client.unknown(f"{method} /{path}")
        return found

    def _registered(
        self,
        method: str,
        path: str,
        query: Mapping[str, Any] | None,
        sent: Schema | None,
        subject: str,
        asked: Mapping[str, int] | None = None,
    ) -> RegisteredSchema:
        body = None if sent is None else {**sent.json, **(asked or {})}
        fields = self._ask(method, path, query, body, kind=dict)
        number, version, identity = fields.get("id"), fields.get("version"), fields.get("guid")
        if not is_whole(number):
            self._open().client.unknown(f"{method} /{path}", what="the answer has no id")
        schema = sent if sent is not None and "schema" not in fields else self._schema(fields, path)
        identity = identity if isinstance(identity, str) else guid(schema)
        return RegisteredSchema(number, identity, schema, subject, version if is_whole(version) else None)

    def _schema(self, fields: Mapping[str, Any], path: str) -> Schema:
        """Return the schema that an answer holds."""
        try:
            found = Schema.of(fields)
        except (AttributeError, TypeError, ValueError):
            found = None
        if found is None or not isinstance(fields.get("schema"), str) or not _complete(found.references):
            self._open().client.unknown(f"GET /{path}", what="the answer has no schema")
        return found


def _complete(references: Iterable[Reference]) -> bool:
    return all(
        isinstance(each.name, str) and isinstance(each.subject, str) and is_whole(each.version)
        for each in references
    )


def _quoted(name: Any) -> str:
    # Half of a surrogate pair, which JSON can escape, is the name of nothing: for the server to say.
    return quote(str(name), safe="", errors="surrogatepass")


def _place(kind: str, subject: str | None) -> str:
    return kind if subject is None else f"{kind}/{_quoted(check_subject(subject, whole=False))}"


def _flag(value: bool) -> str:
    return "true" if value else "false"


def _given(**query: str | None) -> dict[str, str]:
    return {name: value for name, value in query.items() if value}


def _page(deleted: bool, deleted_only: bool, offset: int, limit: int) -> dict[str, Any]:
    """Return the query that asks for a part of a list."""
    return {"deleted": _flag(deleted), "deletedOnly": _flag(deleted_only), "offset": offset, "limit": limit}

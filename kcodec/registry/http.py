"""A Schema Registry server, through confluent-kafka's client: ``http://`` and ``https://``."""

import base64
import os
import pickle
import re
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Literal, TypeVar
from urllib.parse import quote, unquote, urlencode, urlsplit, urlunsplit

from kcodec.errors import ConfigError, RegistryError
from kcodec.registry.base import (
    DEFAULT_TYPE,
    Metadata,
    Reference,
    RegisteredSchema,
    Schema,
    SubjectVersion,
    check_schema,
    check_subject,
    guid,
)
from kcodec.registry.compatibility.levels import Compatibility, check_level
from kcodec.registry.rules import RuleSet
from kcodec.registry.settings import Config, check_mode

__all__ = ["HttpRegistry"]

_T = TypeVar("_T")

_USER_INFO = "basic.auth.user.info"
_SOURCE = "basic.auth.credentials.source"
_SECRET = re.compile(r"user\.info|password|secret|token|proxy")
_NUMBERS = frozenset(
    [
        "cache.capacity",
        "cache.latest.ttl.sec",
        "max.retries",
        "retries.max.wait.ms",
        "retries.wait.ms",
        "timeout",
    ]
)

#: Seconds that a request may take where the configuration does not say; the client itself would wait for
#: ever.
_TIMEOUT = 60

_clients: dict[Any, Any] = {}
_lock = threading.Lock()


class HttpRegistry:
    """A Schema Registry server.

    The client is made when it is first needed, once per process for the same address and configuration. The
    handle pickles as both; credentials in the address count as configuration, and appear in no text, nor
    legibly in the bytes of a pickle (which anyone can read back nevertheless). For the configuration see
    `kcodec.registry.open`; what of it the client does not take is a `ConfigError` when the client is first needed.

    Examples
    --------
    >>> HttpRegistry("https://me:secret@registry:8081", {"timeout": 5})
    <HttpRegistry https://registry:8081>
    """

    def __init__(self, url: str, config: Mapping[str, Any] | None = None) -> None:
        if config is not None and not isinstance(config, Mapping):
            raise ConfigError(f"the configuration of a registry is a mapping, not {type(config).__name__}")
        self._config = dict(config or {})
        if "url" in self._config:
            raise ConfigError("the address of a registry is not part of its configuration")
        for name in _NUMBERS.intersection(self._config):
            self._config[name] = _number(name, self._config[name])
        addresses, user_info = [], None
        for address in url.split(","):
            try:
                parts = urlsplit(address.strip())
                known = parts.scheme in ("http", "https") and parts.hostname is not None
            except ValueError:
                known = False
            if not known:
                raise ConfigError("the address of a registry is not http(s)://host[:port][/path]")
            place, at, host = parts.netloc.rpartition("@")
            if at and user_info is None:
                user_info = unquote(place)
            addresses.append(urlunsplit(parts._replace(netloc=host)))
        # Java's client has to be told which of the two places to look at; the one used here looks at both.
        if self._config.get(_SOURCE) in ("URL", "USER_INFO"):
            del self._config[_SOURCE]
        if not isinstance(self._config.get(_USER_INFO, ""), str):
            raise ConfigError(f"{_USER_INFO} is not text of the form user:password")
        if user_info is not None:
            if _USER_INFO in self._config:
                raise ConfigError(f"credentials in the address and in {_USER_INFO}")
            self._config[_USER_INFO] = user_info
        self._url = ",".join(addresses)

    @property
    def url(self) -> str:
        """The address, without credentials."""
        return self._url

    def __repr__(self) -> str:
        return f"<HttpRegistry {self._url}>"

    def __reduce__(self) -> tuple[Callable[[str, bytes], "HttpRegistry"], tuple[str, bytes]]:
        return _unpickled, (self._url, base64.b85encode(pickle.dumps(self._config)))

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
        subject, schema = check_subject(subject), check_schema(schema)
        if schema_id is None:
            found = self._call(
                lambda client: client.register_schema_full_response(subject, _sent(schema), normalize)
            )
            return self._registered(found, subject, schema)
        body = {**_sent(schema).to_dict(), "id": schema_id}
        if version is not None:
            body["version"] = version
        path = f"subjects/{_quoted(subject)}/versions?normalize={normalize}"
        answer = self._ask("post", path, body)
        kept = answer.get("schema")
        if isinstance(kept, str):
            schema = replace(schema, text=kept)
        number = answer.get("version")
        return RegisteredSchema(
            schema_id,
            answer.get("guid") or guid(schema),
            schema,
            subject,
            number if isinstance(number, int) else version,
        )

    def lookup(
        self, subject: str, schema: Schema, *, normalize: bool = False, deleted: bool = False
    ) -> RegisteredSchema:
        """Find a schema under a subject by its content."""
        subject, schema = check_subject(subject), check_schema(schema)
        found = self._call(
            lambda client: client.lookup_schema(subject, _sent(schema), normalize, None, deleted)
        )
        return self._registered(found, subject)

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

        It tells its reasons in words alone, and compares at the level that is set there: another one is a
        `kcodec.ConfigError`.
        """
        subject, schema = check_subject(subject), check_schema(schema)
        if (
            level is not None
            and check_level(level) != self.config(subject, default_to_global=True).compatibility
        ):
            raise ConfigError("a server checks compatibility at the level that is set there")
        path = f"compatibility/subjects/{_quoted(subject)}/versions"
        if version is not None:
            path += f"/{'latest' if version == -1 else version}"
        answer = self._ask("post", f"{path}?normalize={normalize}&verbose=True", _sent(schema).to_dict())
        return Compatibility(bool(answer.get("is_compatible")), (), tuple(answer.get("messages") or ()))

    def get(self, schema_id: int, subject: str | None = None, *, form: str = "") -> RegisteredSchema:
        """Find a schema by its id; `form` is the server's ``format`` of the text."""
        schema = self._received(self._call(lambda client: client.get_schema(schema_id, subject)))
        found = RegisteredSchema(schema_id, guid(schema), schema)
        query = {} if subject is None else {"subject": subject}
        return self._in_form(found, f"schemas/ids/{schema_id}", form, query)

    def _in_form(
        self, found: RegisteredSchema, path: str, form: str, query: Mapping[str, str] = MappingProxyType({})
    ) -> RegisteredSchema:
        """Return a schema with its text in a form; the client itself remembers texts whatever their form."""
        if not form:
            return found
        answer = self._ask("get", f"{path}?{urlencode({**query, 'format': form})}")
        return replace(found, schema=replace(found.schema, text=str(answer.get("schema"))))

    def get_by_guid(self, guid: str, *, form: str = "") -> RegisteredSchema:
        """Find a schema by its GUID; the client does not tell the id."""
        found = self._call(lambda client: client.get_schema_by_guid(guid))
        return self._in_form(
            RegisteredSchema(None, guid, self._received(found)), f"schemas/guids/{guid}", form
        )

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
        found = self._call(lambda client: client.get_version(subject, wanted, deleted))
        path = f"subjects/{_quoted(subject)}/versions/{wanted}"
        return self._in_form(self._registered(found, subject), path, form, {"deleted": _flag(deleted)})

    def get_latest_with_metadata(
        self, subject: str, properties: Mapping[str, str], *, deleted: bool = True
    ) -> RegisteredSchema:
        """Find the latest version whose metadata has all these properties; softly deleted ones count unless told."""
        subject = check_subject(subject)
        found = self._call(lambda client: client.get_latest_with_metadata(subject, dict(properties), deleted))
        return self._registered(found, subject)

    def associated_subjects(self, topic: str, is_key: bool, cluster: str = "-") -> list[str]:
        """Return the subjects that the server associates with a topic; none where it knows no associations."""
        kinds = ["key" if is_key else "value"]
        try:
            found = self._call(
                lambda client: client.get_associations_by_resource_name(topic, cluster, "topic", kinds)
            )
        except RegistryError as error:
            if error.status == 404:
                return []
            raise
        return [each.subject for each in found]

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
        query = urlencode(
            {
                "subjectPrefix": prefix or ":*:",
                "deleted": _flag(deleted),
                "deletedOnly": _flag(deleted_only),
                "offset": offset,
                "limit": limit,
            }
        )
        found: list[str] = self._ask("get", f"subjects?{query}")
        return found

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
        query = urlencode(
            {
                "deleted": _flag(deleted),
                "deletedOnly": _flag(deleted_only),
                "offset": offset,
                "limit": limit,
            }
        )
        found: list[int] = self._ask("get", f"subjects/{_quoted(check_subject(subject))}/versions?{query}")
        return found

    def schema_versions(
        self, schema_id: int, subject: str | None = None, *, deleted: bool = False
    ) -> list[SubjectVersion]:
        """Return where a schema of an id is registered."""
        found = self._call(lambda client: client.get_schema_versions(schema_id, subject, deleted))
        return [SubjectVersion(each.subject, each.version) for each in found]

    def referenced_by(
        self, subject: str, version: int | Literal["latest"] = "latest", *, deleted: bool = False
    ) -> list[int]:
        """Return the ids of the schemas that refer to a version."""
        path = f"subjects/{_quoted(check_subject(subject))}/versions/{version}/referencedby"
        found: list[int] = self._ask("get", f"{path}?deleted={_flag(deleted)}")
        return found

    def contexts(self) -> list[str]:
        """Return the names of the contexts."""
        found: list[str] = self._ask("get", "contexts")
        return found

    def config(self, subject: str | None = None, *, default_to_global: bool = False) -> Config:
        """Return what a subject is set to, or the registry as a whole."""
        query = f"?defaultToGlobal={_flag(default_to_global)}"
        return Config.of(self._ask("get", _place("config", subject) + query))

    def set_config(self, config: Config, subject: str | None = None) -> Config:
        """Set what is given of a configuration, and leave the rest as it is; returns what is given."""
        return Config.of(self._ask("put", _place("config", subject), config.json))

    def delete_config(self, subject: str | None = None) -> Config:
        """Set a subject back to what holds for all, or the registry to the defaults; returns what was set."""
        return Config.of(self._ask("delete", _place("config", subject)))

    def mode(self, subject: str | None = None, *, default_to_global: bool = False) -> str:
        """Return the mode of a subject, or of the registry as a whole."""
        query = f"?defaultToGlobal={_flag(default_to_global)}"
        return str(self._ask("get", _place("mode", subject) + query).get("mode"))

    def set_mode(self, mode: str, subject: str | None = None, *, force: bool = False) -> str:
        """Set the mode of a subject, or of the registry as a whole."""
        path = f"{_place('mode', subject)}?force={_flag(force)}"
        return str(self._ask("put", path, {"mode": check_mode(mode)}).get("mode"))

    def delete_mode(self, subject: str | None = None) -> str:
        """Set a subject back to the mode that holds for all; returns what was set."""
        return str(self._ask("delete", _place("mode", subject)).get("mode"))

    def delete_version(
        self, subject: str, version: int | Literal["latest"], *, permanent: bool = False
    ) -> int:
        """Delete a version: softly, then permanently."""
        subject = check_subject(subject)
        found: int = self._call(lambda client: client.delete_version(subject, version, permanent))
        self._call(lambda client: client.clear_caches())
        return found

    def delete_subject(self, subject: str, *, permanent: bool = False) -> list[int]:
        """Delete all versions of a subject: softly, then permanently."""
        subject = check_subject(subject)
        found: list[int] = self._call(lambda client: client.delete_subject(subject, permanent))
        self._call(lambda client: client.clear_caches())
        return found

    def close(self) -> None:
        """Close this process's client of the same address and configuration."""
        with _lock:
            client = _clients.pop(self._key(), None)
        if client is not None:
            client.close()

    def _key(self) -> Any:
        # A client's connections must not be used in a child of the process that opened them.
        settings = [
            (name, value if isinstance(value, (str, int, float)) else id(value))
            for name, value in self._config.items()
        ]
        return os.getpid(), self._url, frozenset(settings)

    def _client(self) -> Any:
        key = self._key()
        with _lock:
            client = _clients.get(key)
            if client is None:
                try:
                    from confluent_kafka.schema_registry import SchemaRegistryClient
                except ImportError as error:
                    raise ConfigError(
                        f"{self._url} needs confluent-kafka's registry client: pip install kcodec[registry] "
                        f"({error})"
                    ) from None
                try:
                    client = SchemaRegistryClient({"timeout": _TIMEOUT, **self._config, "url": self._url})
                except (ValueError, TypeError, AttributeError, OSError) as error:
                    raise ConfigError(f"{self._url}: {self._clean(error)}") from None
                _clients[key] = client
        return client

    def _call(self, request: Callable[[Any], _T]) -> _T:
        client = self._client()
        from confluent_kafka.schema_registry.error import SchemaRegistryError

        start = time.monotonic()
        try:
            return request(client)
        except SchemaRegistryError as error:
            status, code = error.http_status_code, error.error_code
            if not isinstance(code, int) or code < 0:
                # The client's number for an answer that is not the registry's.
                code = None
            message = self._clean(error.error_message)
            if status in (401, 403, 408, 429) or status >= 500:
                message = f"{self._url}: HTTP {status}: {message} (after {time.monotonic() - start:.1f} s)"
            raise RegistryError(message, status, code) from None
        except (AttributeError, KeyError) as error:
            raise RegistryError(
                f"{self._url}: the answer is not one that the client knows ({self._clean(error)})",
                None,
                50005,
            ) from None
        except Exception as error:
            # Whatever the client, its HTTP library and their authentication raise; it may hold a secret.
            raise RegistryError(
                f"{self._url}: {type(error).__name__}: {self._clean(error)} "
                f"(after {time.monotonic() - start:.1f} s)"
            ) from None

    def _ask(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """Send a request that the client has no function for, or one that leaves something out."""
        given = () if method in ("get", "delete") else (dict(body or {}),)
        return self._call(lambda client: getattr(client._rest_client, method)(path, *given))

    def _clean(self, message: object) -> str:
        text = str(message)
        for name, value in self._config.items():
            if isinstance(value, str) and value and _SECRET.search(name):
                for secret in {value, *(part for part in value.split(":") if len(part) > 3)}:
                    text = text.replace(secret, "***")
        return text

    def _registered(self, found: Any, subject: str, sent: Schema | None = None) -> RegisteredSchema:
        schema = (
            sent if sent is not None and found.schema.schema_str is None else self._received(found.schema)
        )
        if not isinstance(found.schema_id, int):
            raise RegistryError(f"{self._url}: the answer has no id", None, 50005)
        version = found.version if isinstance(found.version, int) else None
        return RegisteredSchema(found.schema_id, found.guid or guid(schema), schema, subject, version)

    def _received(self, found: Any) -> Schema:
        if not isinstance(found.schema_str, str):
            raise RegistryError(f"{self._url}: the answer has no schema", None, 50005)
        metadata = None
        if found.metadata is not None:
            kept = found.metadata
            metadata = Metadata.of(
                kept.properties and kept.properties.properties, kept.tags and kept.tags.tags, kept.sensitive
            )
        references = tuple(
            Reference(each.name, each.subject, each.version) for each in found.references or ()
        )
        rules = None if found.rule_set is None else RuleSet.of(found.rule_set.to_dict())
        return Schema(found.schema_str, found.schema_type or DEFAULT_TYPE, references, metadata, rules)


def _quoted(subject: str) -> str:
    return quote(subject, safe="")


def _flag(value: bool) -> str:
    return "true" if value else "false"


def _place(what: str, subject: str | None) -> str:
    return what if subject is None else f"{what}/{_quoted(check_subject(subject, whole=False))}"


def _unpickled(url: str, config: bytes) -> HttpRegistry:
    return HttpRegistry(url, pickle.loads(base64.b85decode(config)))


def _number(name: str, value: Any) -> Any:
    if value is None:
        return None
    try:
        number = value if isinstance(value, float) else float(value) if name == "timeout" else int(value)
    except (ValueError, TypeError, OverflowError):
        raise ConfigError(f"{name}={value!r} is not a number") from None
    if not 0 <= number < 1 << 31 or (name == "timeout" and not number):
        raise ConfigError(f"{name}={value!r} is out of range")
    return number


def _sent(schema: Schema) -> Any:
    from confluent_kafka.schema_registry import Metadata as SentMetadata
    from confluent_kafka.schema_registry import MetadataProperties, MetadataTags, SchemaReference
    from confluent_kafka.schema_registry import RuleSet as SentRules
    from confluent_kafka.schema_registry import Schema as SentSchema

    metadata = None
    if schema.metadata is not None:
        kept = schema.metadata
        metadata = SentMetadata(
            MetadataTags({path: list(tags) for path, tags in kept.tags}),
            MetadataProperties(dict(kept.properties)),
            list(kept.sensitive),
        )
    references = [SchemaReference(each.name, each.subject, each.version) for each in schema.references]
    rules = None if schema.rules is None else SentRules.from_dict(schema.rules.json)
    return SentSchema(schema.text, schema.type, references, metadata, rules)

"""The Schema Registry of Azure Event Hubs, asked by Azure's client: ``azure://namespace.servicebus.windows.net/group``."""

import uuid
from collections.abc import Callable, Mapping
from itertools import islice
from typing import Any

from kcodec._fork import fork_safe_lock
from kcodec.errors import ConfigError, RegistryError, one_line
from kcodec.registry.base import RegisteredSchema, Schema
from kcodec.registry.client_settings import pickled
from kcodec.registry.source import PartialRegistry, SchemaId, check_settings

#: Every setting, and what it does.
SETTINGS: dict[str, str] = {
    "credential": "an object of azure.identity, or another with get_token (default: DefaultAzureCredential())",
    "max.retries": "how often what failed is tried again (default 3)",
    "timeout": "seconds without a connection, or without an answer (default 60)",
}
_FORMATS = {"AVRO": "Avro", "JSON": "Json"}
#: What the service calls the formats: by its documents, and (JSON Schema) as it also answers.
_TYPES = {
    "avro": "AVRO",
    "json": "JSON",
    "application/schema+json": "JSON",
}
#: Versions of a schema that are listed at all.
_MOST = 100_000


def open_azure(url: str, config: Mapping[str, Any]) -> "AzureRegistry":
    """Open a registry of Azure by its URL and keys of `SETTINGS`; no request is made.

    Without a group in the URL, schemas are only found by their ids. Unless ``credential`` is given, credentials are
    found as by any client of Azure: environment, workload and managed identities, the login of ``az``. Without a
    namespace, or with a setting that is unknown or wrong, it is a `ConfigError`.

    >>> open_azure("azure://shop.servicebus.windows.net/orders", {})
    AzureRegistry('azure://shop.servicebus.windows.net/orders')
    """
    namespace, _, group = url.partition("://")[2].partition("/")
    if not namespace or "/" in group or "@" in namespace:
        raise ConfigError(
            "a registry of Azure is azure://namespace.servicebus.windows.net/group; credentials are not part of it"
        )
    check_settings("azure", config, SETTINGS)
    credential = config.get("credential")
    if credential is not None and not callable(getattr(credential, "get_token", None)):
        # What it is may be a secret.
        raise ConfigError(f"credential is an object with get_token, not {type(credential).__name__}")
    return AzureRegistry(namespace, group, config)


class AzureRegistry(PartialRegistry):
    """A registry of Azure: its subjects are the names of a group's schemas, and a version's id is its GUID.

    It pickles without its client.
    """

    def __init__(self, namespace: str, group: str, config: Mapping[str, Any]) -> None:
        super().__init__(f"azure://{namespace}/{group}".rstrip("/"))
        self._namespace = namespace
        self._group = group
        self._config = dict(config)
        self._client: Any = None
        self._lock = fork_safe_lock()

    def __reduce__(self) -> tuple[Any, ...]:
        return pickled(AzureRegistry, self._namespace, self._group, self._config)

    def close(self) -> None:
        """Close the connections."""
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()

    def _call(self, ask: Callable[[Any], Any]) -> Any:
        """Ask Azure's client; `LookupError` if there is no such schema, else what fails is a `RegistryError`."""
        client = self._connected()
        from azure.core.exceptions import AzureError, ResourceNotFoundError

        try:
            return ask(client)
        except ResourceNotFoundError as error:
            raise LookupError(one_line(error)) from error
        except AzureError as error:
            status = getattr(error, "status_code", None) or 500
            raise RegistryError(f"Azure: {one_line(error)}", status, 50001) from error

    def _connected(self) -> Any:
        with self._lock:
            if self._client is None:
                self._client = self._connect()
            return self._client

    def _connect(self) -> Any:
        try:
            from azure.schemaregistry import SchemaRegistryClient
        except ImportError:
            raise ConfigError("azure:// needs azure-schemaregistry: pip install kcodec[azure]") from None
        seconds = float(self._config.get("timeout", 60))
        return SchemaRegistryClient(
            self._namespace,
            self._config.get("credential") or _default_credential(),
            retry_total=int(self._config.get("max.retries", 3)),
            connection_timeout=seconds,
            read_timeout=seconds,
        )

    def _schema_of(self, schema_id: SchemaId) -> Schema:
        if not isinstance(schema_id, str):
            raise LookupError(f"Azure has no ids that are numbers, such as {schema_id}")
        # In paths, and in headers, Azure has them without hyphens.
        name = schema_id.replace("-", "")
        return _schema(self._call(lambda client: client.get_schema(name)))

    def _register(self, subject: str, schema: Schema) -> RegisteredSchema:
        return self._by_text("register_schema", subject, schema)

    def _find(self, subject: str, schema: Schema) -> RegisteredSchema:
        return self._by_text("get_schema_properties", subject, schema)

    def _by_text(self, name: str, subject: str, schema: Schema) -> RegisteredSchema:
        if schema.references:
            raise RegistryError("Azure keeps no references between schemas", 422, 42201)
        if schema.type not in _FORMATS:
            raise RegistryError(
                f"Azure: its client registers {' and '.join(_FORMATS)}, not {schema.type}", 422, 42201
            )
        given = (self._named_group(), subject, schema.text, _FORMATS[schema.type])
        found = self._call(lambda client: getattr(client, name)(*given))
        return RegisteredSchema(None, _guid(found), schema, subject, found.version)

    def _version(self, subject: str, number: int) -> RegisteredSchema:
        group = self._named_group()
        if number == -1:
            numbers = self._numbers(subject)
            if not numbers:
                raise LookupError(f"{subject} has no versions")
            number = numbers[-1]
        found = self._call(
            lambda client: client.get_schema(group_name=group, name=subject, version=int(number))
        )
        return RegisteredSchema(
            None, _guid(found.properties), _schema(found), subject, found.properties.version
        )

    def _numbers(self, subject: str) -> list[int]:
        group = self._named_group()
        # Azure's client leaves this call out; the one within it, made from the description of the API, has it.
        return sorted(
            self._call(
                lambda client: list(
                    islice(client._generated_client.list_schema_versions(group, subject), _MOST)
                )
            )
        )

    def _named_group(self) -> str:
        if not self._group:
            raise RegistryError(
                f"{self._url} names no group: schemas are only found by their ids", 422, 42201
            )
        return self._group


def _schema(found: Any) -> Schema:
    """Return what Azure's client tells of a schema."""
    # A text where Azure's client does not know it.
    name = str(getattr(found.properties.format, "value", found.properties.format))
    kind = _TYPES.get(name.replace(" ", "").lower())
    if kind is None:
        raise RegistryError(f"Azure: the schema {found.properties.id} is of the format {name!r}", 422, 42201)
    return Schema(found.definition, kind)


def _guid(properties: Any) -> str:
    return str(uuid.UUID(properties.id))


def _default_credential() -> Any:
    try:
        from azure.identity import DefaultAzureCredential
    except ImportError:
        raise ConfigError(
            "azure:// needs azure-identity, or a credential: pip install kcodec[azure]"
        ) from None
    return DefaultAzureCredential()

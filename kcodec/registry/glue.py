"""AWS Glue's Schema Registry: ``glue://region/registry``, asked by boto3."""

import time
from collections.abc import Mapping
from typing import Any

from kcodec._fork import fork_safe_lock
from kcodec.errors import ConfigError, RegistryError, one_line
from kcodec.registry.base import DEFAULT_TYPE, RegisteredSchema, Schema
from kcodec.registry.source import PartialRegistry, SchemaId, check_settings

#: Every setting, and what it does.
SETTINGS: dict[str, str] = {
    "endpoint.url": "where Glue answers, if not at the region's own address",
    "compatibility": "of schemas that are created: BACKWARD (default), NONE, FULL_ALL, ...",
    "profile": "the profile of AWS's files whose credentials count",
    "max.retries": "how often what failed is tried again (default 3)",
    "timeout": "seconds without a byte of an answer (default 60)",
}
_LEVELS = (
    "NONE", "DISABLED", "BACKWARD", "BACKWARD_ALL", "FORWARD", "FORWARD_ALL", "FULL", "FULL_ALL",
)  # fmt: skip
#: How often, and after how many seconds, Glue is asked whether it has checked a version, as AWS's serializers do.
_CHECKS, _WAIT = 10, 1.0
#: Versions of a schema that are listed: Glue's own limit of a registry is lower.
_MOST = 1_000_000


def open_glue(url: str, config: Mapping[str, Any]) -> "GlueRegistry":
    """Open a registry of Glue by its URL and keys of `SETTINGS`; no request is made.

    A URL that names no registry means ``default-registry``. Credentials are found as by any client of AWS: environment,
    files, roles. Without a region, or with a setting that is unknown, it is a `ConfigError`.

    >>> open_glue("glue://eu-central-1/orders", {})
    GlueRegistry('glue://eu-central-1/orders')
    """
    region, _, name = url.partition("://")[2].partition("/")
    if not region or "/" in name or "@" in region:
        raise ConfigError("a registry of Glue is glue://region/registry; credentials are not part of it")
    check_settings("glue", config, SETTINGS)
    level = str(config.get("compatibility", "BACKWARD")).upper()
    if level not in _LEVELS:
        raise ConfigError(f"compatibility={level} is not one of {', '.join(_LEVELS)}")
    return GlueRegistry(region, name or "default-registry", {**config, "compatibility": level})


class _NotThere(LookupError):
    """What Glue does not have; a `RegistryError` is a LookupError too, and may say that Glue refuses."""


class GlueRegistry(PartialRegistry):
    """A registry of Glue; its subjects are the names of Glue's schemas, and versions have their UUIDs as GUIDs.

    It pickles without its client.
    """

    def __init__(self, region: str, name: str, config: Mapping[str, Any]) -> None:
        super().__init__(f"glue://{region}/{name}")
        self._region = region
        self._name = name
        self._config = dict(config)
        self._client: Any = None
        self._lock = fork_safe_lock()

    def __reduce__(self) -> tuple[Any, ...]:
        return GlueRegistry, (self._region, self._name, self._config)

    def _call(self, name: str, **arguments: Any) -> dict[str, Any]:
        """Make a request; `_NotThere` if there is no such thing, else what fails is a `RegistryError`."""
        client = self._connected()
        try:
            return getattr(client, name)(**arguments)
        except client.exceptions.EntityNotFoundException as error:
            raise _NotThere(one_line(error)) from error
        except client.exceptions.ClientError as error:
            status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 500)
            raise RegistryError(f"Glue: {one_line(error)}", status, 50001) from error

    def _connected(self) -> Any:
        with self._lock:
            if self._client is None:
                self._client = self._connect()
            return self._client

    def _connect(self) -> Any:
        try:
            import boto3
            from botocore.config import Config
        except ImportError:
            raise ConfigError("glue:// needs boto3: pip install kcodec[glue]") from None
        seconds = float(self._config.get("timeout", 60))
        retries = {"mode": "standard", "max_attempts": 1 + int(self._config.get("max.retries", 3))}
        # Clients have the default session's credentials, which threads may not ask for at once: this one has its own.
        session = boto3.session.Session(profile_name=self._config.get("profile"), region_name=self._region)
        return session.client(
            "glue",
            endpoint_url=self._config.get("endpoint.url"),
            config=Config(connect_timeout=seconds, read_timeout=seconds, retries=retries),
        )

    def _schema_of(self, schema_id: SchemaId) -> Schema:
        if not isinstance(schema_id, str):
            raise LookupError(f"Glue has no ids that are numbers, such as {schema_id}")
        return _schema(self._available(self._call("get_schema_version", SchemaVersionId=schema_id)))

    def _register(self, subject: str, schema: Schema) -> RegisteredSchema:
        if schema.references:
            raise RegistryError("Glue keeps no references between schemas", 422, 42201)
        try:
            return self._find(subject, schema)
        except _NotThere:
            pass
        try:
            found = self._call(
                "register_schema_version", **self._place(subject), SchemaDefinition=schema.text
            )
        except _NotThere:
            found = self._create(subject, schema)
        return self._checked(found, subject, schema)

    def _create(self, subject: str, schema: Schema) -> dict[str, Any]:
        client = self._connected()
        arguments: dict[str, Any] = {
            "RegistryId": {"RegistryName": self._name},
            "SchemaName": subject,
            "DataFormat": schema.type,
            "Compatibility": self._config["compatibility"],
            "SchemaDefinition": schema.text,
        }
        try:
            found = self._call("create_schema", **arguments)
        except RegistryError as error:
            if not isinstance(error.__cause__, client.exceptions.AlreadyExistsException):
                raise
            # Another producer was faster.
            return self._call("register_schema_version", **self._place(subject), SchemaDefinition=schema.text)
        return {"SchemaVersionId": found["SchemaVersionId"], "Status": found.get("SchemaVersionStatus")}

    def _checked(self, found: dict[str, Any], subject: str, schema: Schema) -> RegisteredSchema:
        """Return a version once Glue has found it compatible."""
        schema_id = str(found["SchemaVersionId"])
        status = found.get("Status")
        for _ in range(_CHECKS):
            if status != "PENDING":
                break
            time.sleep(_WAIT)
            status = self._call("get_schema_version", SchemaVersionId=schema_id).get("Status")
        if status == "FAILURE":
            raise RegistryError(f"Glue: the schema version {schema_id} is not compatible", 409, 40901)
        if status != "AVAILABLE":
            raise RegistryError(f"Glue: the schema version {schema_id} is {status}", 500, 50001)
        return RegisteredSchema(None, schema_id, schema, subject)

    def _find(self, subject: str, schema: Schema) -> RegisteredSchema:
        found = self._call("get_schema_by_definition", **self._place(subject), SchemaDefinition=schema.text)
        # One that was refused before is found again, with the status that it got.
        return self._checked(found, subject, schema)

    def _version(self, subject: str, number: int) -> RegisteredSchema:
        is_latest = number == -1
        wanted = (
            {"LatestVersion": True} if is_latest else {"LatestVersion": False, "VersionNumber": int(number)}
        )
        found = self._available(
            self._call("get_schema_version", **self._place(subject), SchemaVersionNumber=wanted)
        )
        version = None if is_latest else int(number)
        return RegisteredSchema(None, str(found["SchemaVersionId"]), _schema(found), subject, version)

    def _numbers(self, subject: str) -> list[int]:
        """Return the numbers up to that of a schema's latest version; Glue reuses none that was deleted."""
        latest = int(self._call("get_schema", **self._place(subject))["LatestSchemaVersion"])
        if latest > _MOST:
            raise RegistryError(f"Glue: {subject} has {latest} versions, and {_MOST} are listed", 500, 50001)
        return list(range(1, latest + 1))

    def _place(self, subject: str) -> dict[str, Any]:
        """Return the argument that names a schema."""
        return {"SchemaId": {"RegistryName": self._name, "SchemaName": subject}}

    def _available(self, found: dict[str, Any]) -> dict[str, Any]:
        if found.get("Status") != "AVAILABLE":
            told = f"{found.get('SchemaVersionId')} is {found.get('Status')}, not AVAILABLE"
            raise RegistryError(f"Glue: the schema version {told}", 500, 50001)
        return found


def _schema(found: Mapping[str, Any]) -> Schema:
    text, kind = found.get("SchemaDefinition"), found.get("DataFormat") or DEFAULT_TYPE
    if not isinstance(text, str) or not isinstance(kind, str):
        raise RegistryError("Glue: the answer has no schema", None, 50005)
    return Schema(text, kind)

"""Schemas by id and by subject."""

import re
from collections.abc import Mapping
from typing import Any

from kcodec.errors import ConfigError
from kcodec.formats.language import Difference
from kcodec.registry.base import Reference, RegisteredSchema, Schema, SchemaRegistry, SubjectVersion, guid
from kcodec.registry.compatibility.levels import Compatibility
from kcodec.registry.compatibility.pair import differences, losses
from kcodec.registry.metadata import Metadata
from kcodec.registry.references import Resolved, resolve
from kcodec.registry.rules import Rule, RuleSet
from kcodec.registry.settings import Config
from kcodec.registry.source import SchemaSource, of

__all__ = [
    "Compatibility",
    "Config",
    "Difference",
    "Metadata",
    "Reference",
    "RegisteredSchema",
    "Resolved",
    "Rule",
    "RuleSet",
    "Schema",
    "SchemaRegistry",
    "SchemaSource",
    "SubjectVersion",
    "differences",
    "guid",
    "losses",
    "of",
    "open",
    "resolve",
]

#: What is given for a URL by who means a database, and holds no credentials.
_FILE = re.compile(r"[\w./ ~-]+\.(?:db|sqlite3?)")


#: Entry points of this group open registries: their names are schemes.
GROUP = "kcodec.registries"


def open(url: str, config: Mapping[str, Any] | None = None) -> SchemaRegistry:
    """Open a registry.

    Parameters
    ----------
    url : str
        - ``memory://scope``: in the memory of this process, shared by all that name the same scope;
        - ``sqlite:///schemas.db``, ``sqlite:////var/lib/schemas.db``: in a file, relative or absolute, which
          several processes may use at once;
        - ``http://host:8081``, ``https://host``, or several of these separated by commas: a Schema Registry
          server. Credentials may stand in the address: ``https://user:password@host``; they go there alone;
        - ``glue://region/registry``: AWS Glue, by boto3 (``pip install kcodec[glue]``);
        - ``azure://namespace.servicebus.windows.net/group``: the Schema Registry of Azure Event Hubs, by Azure's client
          (``pip install kcodec[azure]``);
        - ``apicurio://host:8080``, ``apicurio+https://host``: Apicurio Registry by its own API, for its global ids;
          what Confluent's clients write there is found at ``http://host:8080/apis/ccompat/v7``;
        - a scheme of a plugin: entry points of the group ``kcodec.registries`` are named after their schemes, and are
          functions of the URL and the configuration, such as one that calls `of`.
    config : mapping, optional
        For servers: any configuration of ``confluent_kafka.schema_registry.SchemaRegistryClient`` but
        ``url``, numbers also as text; ``timeout``, for a whole request, is 60 seconds unless given, and
        ``max.response.bytes`` 64 MiB. What fails for want of a connection or with status 408, 429, 500, 502, 503 or
        504 is tried again, up to ``max.retries`` times (3).

    Returns
    -------
    SchemaRegistry
        Nothing is asked of a server until it is used.

    Raises
    ------
    ConfigError
        If the URL is none of these, a setting is unknown, there is configuration for a registry that takes none, or
        credentials are in some addresses only, or both there and in ``basic.auth.user.info``.
    RegistryError
        50001, if a file cannot be opened or is not a registry.

    Examples
    --------
    >>> registry = open("memory://example")
    >>> registered = registry.register("orders-value", Schema('{"type": "int"}'))
    >>> registered.id, registered.version, registered.schema.text
    (1, 1, '"int"')
    >>> registry.get(1).guid == registered.guid
    True
    """
    if not isinstance(url, str):
        raise ConfigError(f"a registry's URL is a str, not {type(url).__name__}")
    scheme, separator, place = url.partition("://")
    scheme = scheme.strip().lower()
    if separator and scheme in ("http", "https"):
        from kcodec.registry.http import HttpRegistry

        return HttpRegistry(url, config)
    opener = _opener(scheme) if separator else None
    if opener is not None:
        return opener(url, dict(config or {}))
    if not separator and _FILE.fullmatch(url):
        raise ConfigError(f"{url!r} has no scheme: for a registry in this file it is 'sqlite:///{url}'")
    if config:
        raise ConfigError(f"a {scheme}:// registry takes no configuration")
    if separator and scheme == "memory":
        from kcodec.registry.memory import MemoryRegistry

        return MemoryRegistry.shared(place)
    if separator and scheme == "sqlite" and len(place) > 1 and place[0] == "/":
        from kcodec.registry.sqlite import SqliteRegistry

        return SqliteRegistry(place[1:])
    # What follows the scheme may hold credentials.
    what = f"{scheme}://" if separator else "a URL without a scheme"
    raise ConfigError(
        f"{what} is not memory://scope, sqlite:///file, http(s)://host, glue://region/registry, "
        "azure://namespace/group, apicurio://host or a plugin's"
    )


def _opener(scheme: str) -> Any:
    """Return what opens registries of a scheme that is Glue's, Azure's, Apicurio's or a plugin's; None for others."""
    if scheme == "glue":
        from kcodec.registry.glue import open_glue

        return open_glue
    if scheme == "azure":
        from kcodec.registry.azure import open_azure

        return open_azure
    if scheme in ("apicurio", "apicurio+https"):
        from kcodec.registry.apicurio import ApicurioRegistry

        return ApicurioRegistry
    if scheme in ("memory", "sqlite"):
        return None
    from importlib.metadata import entry_points

    found = [each for each in entry_points(group=GROUP) if each.name.lower() == scheme]
    if len(found) > 1:
        raise ConfigError(f"several packages open {scheme}://: {', '.join(each.value for each in found)}")
    try:
        return found[0].load() if found else None
    except Exception as error:
        raise ConfigError(f"what opens {scheme}:// cannot be loaded: {error}") from error

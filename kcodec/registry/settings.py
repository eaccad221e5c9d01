"""What a registry, a context or a subject is set to: its compatibility, its mode."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from kcodec.errors import ConfigError, RegistryError
from kcodec.registry.compatibility.levels import check_level
from kcodec.registry.metadata import Metadata
from kcodec.registry.rules import RuleSet

MODES = ("READWRITE", "READONLY", "READONLY_OVERRIDE", "IMPORT", "FORWARD")

POLICIES = ("STRICT", "LENIENT", "LOGICAL")


@dataclass(frozen=True, repr=False)
class Config:
    """The configuration of a registry, a context or a subject; None stands for what is not set there.

    Attributes
    ----------
    compatibility : str or None
        The level: see `kcodec.registry.compatibility.levels.LEVELS`.
    compatibility_group : str or None
        A property of metadata: versions are compared with those that have the same value of it.
    compatibility_policy : str or None
        STRICT, or LENIENT: differences of JSON Schemas that only closed content models bring then pass.
    normalize : bool or None
        Whether schemas are normalized when they are registered or looked up.
    validate_fields : bool or None
        Whether names of fields that are reserved are refused.
    alias : str or None
        The subject that is meant where this one is named.
    default_metadata, override_metadata : Metadata or None
        What a new version's metadata have where they lack it; what they have whatever they say.
    default_rule_set, override_rule_set : RuleSet or None
        The same of rules.

    Examples
    --------
    >>> Config.of({"compatibilityLevel": "full"})
    Config(compatibility='FULL')
    >>> Config(normalize=True).json
    {'normalize': True}
    """

    compatibility: str | None = None
    compatibility_group: str | None = None
    compatibility_policy: str | None = None
    normalize: bool | None = None
    validate_fields: bool | None = None
    alias: str | None = None
    default_metadata: Metadata | None = None
    override_metadata: Metadata | None = None
    default_rule_set: RuleSet | None = None
    override_rule_set: RuleSet | None = None

    def __repr__(self) -> str:
        given = ((name, getattr(self, name)) for name in _KEYS)
        return f"Config({', '.join(f'{name}={value!r}' for name, value in given if value is not None)})"

    def __post_init__(self) -> None:
        if self.compatibility is not None:
            object.__setattr__(self, "compatibility", check_level(self.compatibility))
        policy = self.compatibility_policy
        if policy is not None:
            policy = policy.upper() if isinstance(policy, str) else ""
            if policy not in POLICIES:
                raise RegistryError(
                    f"Invalid compatibility policy. Valid values are {', '.join(POLICIES)}", 422, 42212
                )
            object.__setattr__(self, "compatibility_policy", policy)
        for name, kind in (
            ("compatibility_group", str),
            ("normalize", bool),
            ("validate_fields", bool),
            ("alias", str),
            ("default_metadata", Metadata),
            ("override_metadata", Metadata),
            ("default_rule_set", RuleSet),
            ("override_rule_set", RuleSet),
        ):
            value = getattr(self, name)
            if value is not None and not isinstance(value, kind):
                raise RegistryError(f"{_KEYS[name]} is not a {kind.__name__}", 422, 42203)

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> "Config":
        """Make one of the body of a request or of an answer; keys that are not known are ignored.

        Raises
        ------
        RegistryError
            If a value is not one that its key may have.
        """
        found = {name: body[key] for name, key in _KEYS.items() if body.get(key) is not None}
        if "compatibility" not in found and body.get("compatibilityLevel") is not None:
            found["compatibility"] = body["compatibilityLevel"]
        for name, make in _OBJECTS.items():
            if name in found:
                try:
                    found[name] = make(found[name])
                except (AttributeError, TypeError, ValueError):
                    raise RegistryError(f"{_KEYS[name]} is not an object of its kind", 400, 400) from None
        return cls(**found)

    @property
    def json(self) -> dict[str, Any]:
        """What is set, under the server's keys."""
        found = {key: value for name, key in _KEYS.items() if (value := getattr(self, name)) is not None}
        for name in _OBJECTS:
            if _KEYS[name] in found:
                found[_KEYS[name]] = found[_KEYS[name]].json
        return found

    def without(self, keys: Iterable[str]) -> "Config":
        """Return this configuration without what stands under some of the server's keys."""
        names = {key: name for name, key in _KEYS.items()} | {"compatibilityLevel": "compatibility"}
        return replace(self, **{names[key]: None for key in keys if key in names})

    def over(self, other: "Config") -> "Config":
        """Return this configuration, with what is not set here as it is in another one."""
        if other is NOTHING or self is NOTHING:
            return self if other is NOTHING else other
        return replace(self, **{name: getattr(other, name) for name in _KEYS if getattr(self, name) is None})


_KEYS = {
    "compatibility": "compatibility",
    "compatibility_group": "compatibilityGroup",
    "compatibility_policy": "compatibilityPolicy",
    "normalize": "normalize",
    "validate_fields": "validateFields",
    "alias": "alias",
    "default_metadata": "defaultMetadata",
    "override_metadata": "overrideMetadata",
    "default_rule_set": "defaultRuleSet",
    "override_rule_set": "overrideRuleSet",
}

#: What is an object in JSON, and what makes one of it.
_OBJECTS: dict[str, Callable[[Any], Any]] = {
    "default_metadata": Metadata.of_json,
    "override_metadata": Metadata.of_json,
    "default_rule_set": RuleSet.of,
    "override_rule_set": RuleSet.of,
}

#: The configuration of a place where nothing is set.
NOTHING = Config()

#: What holds where nothing is set.
DEFAULTS = Config("BACKWARD", normalize=False, validate_fields=False)


def check_config(config: Any) -> None:
    """Raise `ConfigError` if what is to be set is not a `Config`, such as a level alone."""
    if not isinstance(config, Config):
        given = repr(config) if isinstance(config, str) else "..."
        raise ConfigError(f"a configuration is a Config({given}), not a {type(config).__name__}")


def check_mode(mode: Any) -> str:
    """Return a mode in upper case; refuse (42204) what is none."""
    found = mode.upper() if isinstance(mode, str) else None
    if found not in MODES:
        raise RegistryError(
            "Invalid mode. Valid values are READWRITE, READONLY, READONLY_OVERRIDE, IMPORT, and FORWARD",
            422,
            42204,
        )
    return found

"""The settings of rules, under the names that Confluent's serializers have for them."""

from collections.abc import Mapping
from typing import Any

from kcodec.errors import ConfigError
from kcodec.registry.rules import Rule

#: What all of these settings begin with; behind it stands the name of a rule, or `_ALL`.
PREFIX = "rule.executors."
_ALL = "_default_"
_PARAM = "param."
#: Options of Spark's sources come in lower case.
_OWN = {"onfailure": "onFailure", "onsuccess": "onSuccess", "disabled": "disabled"}
#: Parameters that are no secrets.
OPEN = frozenset(
    [
        "cache.expiry.secs",
        "client.id",
        "encrypt.alternate.kms.key.ids",
        "namespace",
        "profile",
        "role.arn",
        "role.session.name",
        "tenant.id",
    ]
)


class RuleSettings:
    """What a serde sets of rules: of one by its name, of those of a type, or of all of them.

    ``rule.executors._default_.param.secret`` is a parameter of all rules, such as the credentials of a key management
    service, and ``rule.executors._ENCRYPT_.param.secret`` of those of the type ``ENCRYPT``; ``onFailure``,
    ``onSuccess`` and ``disabled`` of ``rule.executors.NAME`` stand for what the rule says itself.
    Capital letters make no difference in them: of the options of Spark's sources, none are left.
    Parameters are in no ``repr``, and of them only those of `OPEN` are in a pickle: another process has the credentials
    of its own environment. Another setting of this prefix is a `ConfigError`.

    >>> settings = RuleSettings.of({"rule.executors._default_.param.secret": "mine"})
    >>> settings, settings.parameters("encrypt")
    (<RuleSettings>, {'secret': 'mine'})
    """

    def __init__(self) -> None:
        self._parameters: dict[str, dict[str, str]] = {}
        self._own: dict[tuple[str, str], str] = {}

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> "RuleSettings":
        """Return the settings of rules among those of a serde."""
        made = cls()
        for key, value in config.items():
            if not is_rule_setting(key):
                continue
            given, _, rest = key.removeprefix(PREFIX).partition(".")
            name = given.lower()
            if name and rest.startswith(_PARAM) and rest != _PARAM:
                made._parameters.setdefault(name, {})[rest.removeprefix(_PARAM)] = str(value)
            elif name and rest.lower() in _OWN:
                made._own[name, _OWN[rest.lower()]] = str(value)
            else:
                raise ConfigError(
                    f"unknown setting {key!r}: of a rule there are {PREFIX}NAME.param.*, {PREFIX}NAME.onFailure, "
                    f"{PREFIX}NAME.onSuccess and {PREFIX}NAME.disabled, and {_ALL} stands for the name of each"
                )
        return made

    def parameters(self, name: str, kind: str = "") -> dict[str, str]:
        """Return the parameters of a rule, over those of its type, over those of all."""
        return {
            key: value
            for each in reversed(_names(name, kind))
            for key, value in self._parameters.get(each, {}).items()
        }

    @property
    def secrets(self) -> list[str]:
        """The settings that no other process gets."""
        return [
            f"{PREFIX}{name}.{_PARAM}{key}"
            for name, values in self._parameters.items()
            for key in values
            if key not in OPEN
        ]

    def is_disabled(self, rule: Rule, enable_at: str | None) -> bool:
        """Return whether a rule is left out; `enable_at` is where those of its set run."""
        found = self._of_rule(rule, "disabled")
        if found is not None:
            return found.strip().lower() == "true"
        return rule.disabled or enable_at not in (None, "ALL", "CLIENT")

    def failure(self, rule: Rule, mode: str) -> str:
        """Return what is done where a rule fails: ``ERROR``, ``NONE`` or another action.

        A rule for both directions may name one for each, that of writing first.
        """
        found = self._of_rule(rule, "onFailure")
        return _action(rule, mode, rule.on_failure if found is None else found) or "ERROR"

    def success(self, rule: Rule, mode: str) -> str:
        """Return what is done where a rule does not fail: ``NONE``, unless it says another action."""
        found = self._of_rule(rule, "onSuccess")
        return _action(rule, mode, rule.on_success if found is None else found) or "NONE"

    def _of_rule(self, rule: Rule, setting: str) -> str | None:
        found = (self._own.get((each, setting)) for each in _names(rule.name, rule.type or ""))
        return next((each for each in found if each is not None), None)

    def __repr__(self) -> str:
        return "<RuleSettings>"

    def __getstate__(self) -> dict[str, Any]:
        kept = {
            name: {key: value for key, value in values.items() if key in OPEN}
            for name, values in self._parameters.items()
        }
        return {"_parameters": kept, "_own": self._own}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RuleSettings) and self.__dict__ == other.__dict__

    __hash__ = None  # type: ignore[assignment]


def _names(name: str, kind: str) -> tuple[str, str, str]:
    """Return what settings of a rule stand under, those that count first."""
    return name.lower(), f"_{kind.lower()}_", _ALL


def _action(rule: Rule, mode: str, named: str | None) -> str:
    action = named or ""
    if rule.mode in ("WRITEREAD", "UPDOWN") and "," in action:
        action = action.split(",")[0 if mode in ("WRITE", "UPGRADE") else 1]
    return action.strip()


def is_rule_setting(key: object) -> bool:
    """Return whether a setting of a serde is one of rules.

    >>> is_rule_setting("rule.executors._default_.disabled"), is_rule_setting("use.latest.version")
    (True, False)
    """
    return isinstance(key, str) and key.startswith(PREFIX)

"""Rules that are registered with a schema: kept, and part of its identity, but not run here."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

from kcodec.registry.metadata import listed

__all__ = ["Rule", "RuleSet"]


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule, such as a condition on messages.

    Tags and parameters are sorted tuples, whatever they are made of.

    Examples
    --------
    >>> Rule("positive", type="CEL", expr="message.a > 0", kind="CONDITION").json
    {'name': 'positive', 'kind': 'CONDITION', 'mode': 'WRITEREAD', 'type': 'CEL', 'expr': 'message.a > 0'}
    """

    name: str
    doc: str | None = None
    kind: str = "TRANSFORM"
    mode: str = "WRITEREAD"
    type: str | None = None
    tags: tuple[str, ...] = ()
    params: tuple[tuple[str, str], ...] = ()
    expr: str | None = None
    on_success: str | None = None
    on_failure: str | None = None
    disabled: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "tags", tuple(sorted(set(self.tags))))
        object.__setattr__(self, "params", tuple(sorted(dict(self.params).items())))

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> "Rule":
        """Make one of a server's JSON."""
        given = {name: body[key] for name, key in _KEYS.items() if body.get(key) is not None}
        if "params" in given:
            given["params"] = tuple(given["params"].items())
        return cls(**given)

    @property
    def json(self) -> dict[str, Any]:
        """The rule under the server's keys."""
        found: dict[str, Any] = {}
        for name, key in _KEYS.items():
            value = getattr(self, name)
            if value:
                found[key] = dict(value) if name == "params" else list(value) if name == "tags" else value
        return found

    @property
    def texts(self) -> Iterator[str]:
        """What a digest of the rule is made of, in order."""
        yield from (each for each in (self.name, self.doc, self.kind, self.mode, self.type) if each)
        yield from self.tags
        for pair in self.params:
            yield from pair
        yield from (each for each in (self.expr, self.on_success, self.on_failure) if each)
        if self.disabled:
            yield "\x01"


_KEYS = {
    each.name: {"on_success": "onSuccess", "on_failure": "onFailure"}.get(each.name, each.name)
    for each in fields(Rule)
}


@dataclass(frozen=True, slots=True)
class RuleSet:
    """The rules of a schema: for other versions of it, for what a message says, for how it is written.

    Attributes
    ----------
    migration, domain, encoding : tuple of Rule
        The rules of each of these kinds.

    Examples
    --------
    >>> rule = Rule("positive", type="CEL", expr="message.a > 0", kind="CONDITION")
    >>> list(RuleSet(domain=(rule,)).json)
    ['domainRules']
    """

    migration: tuple[Rule, ...] = ()
    domain: tuple[Rule, ...] = ()
    encoding: tuple[Rule, ...] = ()

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> "RuleSet":
        """Make one of a server's JSON."""
        return cls(*(tuple(Rule.of(each) for each in listed(body, key)) for key in _KINDS))

    def over(self, other: "RuleSet | None") -> "RuleSet":
        """Return these rules, after those of others that have other names."""
        if other is None:
            return self
        pairs = zip(
            (other.migration, other.domain, other.encoding),
            (self.migration, self.domain, self.encoding),
            strict=True,
        )
        return RuleSet(*(_merged(old, new) for old, new in pairs))

    @property
    def json(self) -> dict[str, Any]:
        """The rules under the server's keys."""
        kinds = zip(_KINDS, (self.migration, self.domain, self.encoding), strict=True)
        return {key: [each.json for each in rules] for key, rules in kinds if rules}


_KINDS = ("migrationRules", "domainRules", "encodingRules")


def _merged(old: tuple[Rule, ...], new: tuple[Rule, ...]) -> tuple[Rule, ...]:
    names = {each.name for each in new}
    return (*(each for each in old if each.name not in names), *new)

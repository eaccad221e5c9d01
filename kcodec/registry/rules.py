"""Rules that are registered with a schema: part of its identity; serdes run them."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any, NoReturn

from kcodec.errors import RegistryError, check_booleans, check_kind
from kcodec.registry.metadata import distinct, listed


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule, such as a condition on messages.

    Attributes
    ----------
    name : str
        Its name, one of its kind in a set.
    doc : str or None
        What it is for.
    kind : str
        ``TRANSFORM`` or ``CONDITION``.
    mode : str
        When it runs: ``UPGRADE``, ``DOWNGRADE``, ``UPDOWN``, ``WRITE``, ``READ`` or ``WRITEREAD``.
    type : str or None
        What runs it, such as ``CEL``.
    tags : tuple of str
        Tags of the fields that it is about; sorted, whatever it is made of.
    params : tuple of (str, str)
        Its parameters, sorted by their names; also made of a mapping.
    expr : str or None
        Its expression.
    on_success, on_failure : str or None
        What is done then.
    disabled : bool
        Whether it is left out.

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
        check_booleans(disabled=self.disabled)
        object.__setattr__(self, "tags", distinct("tags", self.tags))
        object.__setattr__(self, "params", tuple(sorted(dict(self.params).items())))

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> "Rule":
        """Make one of a server's JSON."""
        given = {name: body[key] for name, key in _KEYS.items() if body.get(key) is not None}
        if "params" in given:
            given["params"] = tuple(given["params"].items())
        if isinstance(given.get("disabled"), str):
            # Jackson takes both as text.
            given["disabled"] = {"true": True, "false": False}.get(given["disabled"], given["disabled"])
        return cls(**{"name": "", **given})

    @property
    def json(self) -> dict[str, Any]:
        """The rule under the server's keys."""
        found: dict[str, Any] = {}
        for name, key in _KEYS.items():
            value = getattr(self, name)
            if value:
                found[key] = dict(value) if name == "params" else list(value) if name == "tags" else value
        return found

    def check(self) -> None:
        """Refuse a rule that no registry takes: 42210."""
        name = self.name
        if not name:
            _refuse("Missing rule name")
        for text in self.texts:
            if not isinstance(text, str):
                _refuse(f"{text!r} of a rule is not text")
        if len(name) > _MAX_NAME:
            _refuse("Rule name too long")
        if not (name[0].isalpha() or name[0] == "_"):
            _refuse(f"Illegal initial character in rule name: {name}")
        if not all(each.isalpha() or each.isdecimal() or each in "_-" for each in name):
            _refuse(f"Illegal character in rule name: {name}")
        if self.kind not in _RULE_KINDS:
            _refuse(f"Rule kind {self.kind!r} is not one of {', '.join(_RULE_KINDS)}")
        if self.type is None:
            _refuse("Missing rule type")
        several = any("," in (each or "") for each in (self.on_success, self.on_failure))
        if several and self.mode not in ("WRITEREAD", "UPDOWN"):
            _refuse("Multiple actions only valid with WRITEREAD and UPDOWN")

    @property
    def texts(self) -> Iterator[str]:
        """The texts that a digest of the rule is made from, in order."""
        yield from (each for each in (self.name, self.doc, self.kind, self.mode, self.type) if each)
        yield from self.tags
        for pair in self.params:
            yield from pair
        yield from (each for each in (self.expr, self.on_success, self.on_failure) if each)
        if self.disabled:
            yield "\x01"


_RULE_KINDS = ("TRANSFORM", "CONDITION")

#: Characters that a name may have.
_MAX_NAME = 256


def _refuse(message: str) -> NoReturn:
    raise RegistryError(message, 422, 42210)


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
        The rules of each of these kinds; a tuple whatever sequence it is made of.
    enable_at : str or None
        Where they run: ``ALL`` (the same as None), ``CLIENT``, ``GATEWAY``, ``SERVER`` or ``NONE``. Serdes are clients.

    Examples
    --------
    >>> rule = Rule("positive", type="CEL", expr="message.a > 0", kind="CONDITION")
    >>> list(RuleSet(domain=(rule,)).json)
    ['domainRules']
    """

    migration: tuple[Rule, ...] = ()
    domain: tuple[Rule, ...] = ()
    encoding: tuple[Rule, ...] = ()
    enable_at: str | None = None

    def __post_init__(self) -> None:
        for name in ("migration", "domain", "encoding"):
            rules = getattr(self, name)
            check_kind(Iterable, "a sequence of Rule", **{name: rules})
            object.__setattr__(self, name, tuple(rules))
            for rule in getattr(self, name):
                check_kind(Rule, "a Rule", **{name: rule})

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> "RuleSet":
        """Make one of a server's JSON."""
        migration, domain, encoding = (tuple(Rule.of(each) for each in listed(body, key)) for key in _KINDS)
        return cls(migration, domain, encoding, body.get(_ENABLE_AT))

    def over(self, other: "RuleSet | None") -> "RuleSet":
        """Return these rules, after those of others that have other names."""
        if other is None:
            return self
        pairs = zip(other._kinds, self._kinds, strict=True)
        migration, domain, encoding = (_merged(old, new) for old, new in pairs)
        return RuleSet(migration, domain, encoding, self.enable_at or other.enable_at)

    @property
    def _kinds(self) -> tuple[tuple[Rule, ...], ...]:
        return self.migration, self.domain, self.encoding

    def __iter__(self) -> Iterator[Rule]:
        for rules in self._kinds:
            yield from rules

    @property
    def texts(self) -> Iterator[str]:
        """The texts that a digest of the rules is made from, in order."""
        for rule in self:
            yield from rule.texts
        if self.enable_at is not None:
            yield self.enable_at

    def check(self) -> None:
        """Refuse rules that no registry takes: 42210."""
        if self.enable_at is not None and self.enable_at not in _PLACES:
            _refuse(f"Rules enabled at {self.enable_at!r}, which is not one of {', '.join(_PLACES)}")
        names: set[str] = set()
        for kind, rules, modes in (
            ("Migration", self.migration, ("UPGRADE", "DOWNGRADE", "UPDOWN")),
            ("Domain", self.domain, ("WRITE", "READ", "WRITEREAD")),
            ("Encoding", self.encoding, ("WRITE", "READ", "WRITEREAD")),
        ):
            for rule in rules:
                rule.check()
                if rule.name in names:
                    _refuse(f"Found rule with duplicate name '{rule.name}'")
                names.add(rule.name)
                if rule.mode not in modes:
                    _refuse(f"{kind} rules can only be {', '.join(modes)}")

    @property
    def json(self) -> dict[str, Any]:
        """The rules under the server's keys."""
        kinds = zip(_KINDS, self._kinds, strict=True)
        found: dict[str, Any] = {key: [each.json for each in rules] for key, rules in kinds if rules}
        return found if self.enable_at is None else {**found, _ENABLE_AT: self.enable_at}


_KINDS = ("migrationRules", "domainRules", "encodingRules")
_ENABLE_AT = "enableAt"
_PLACES = ("ALL", "CLIENT", "GATEWAY", "SERVER", "NONE")


def _merged(old: tuple[Rule, ...], new: tuple[Rule, ...]) -> tuple[Rule, ...]:
    names = {each.name for each in new}
    return (*(each for each in old if each.name not in names), *new)

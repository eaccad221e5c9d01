"""Which rules of a schema run when its values are read or written, in which order, and what they are told."""

from dataclasses import dataclass

from kcodec.contracts.settings import RuleSettings
from kcodec.registry.base import Schema
from kcodec.registry.keys.values import ALGORITHMS, DEFAULT_ALGORITHM
from kcodec.registry.rules import Rule, RuleSet

#: Types of rules that encrypt fields, and whole payloads.
FIELDS, PAYLOAD = "ENCRYPT", "ENCRYPT_PAYLOAD"
#: When rules run that have both directions.
_BOTH = {"WRITE": "WRITEREAD", "READ": "WRITEREAD", "UPGRADE": "UPDOWN", "DOWNGRADE": "UPDOWN"}


@dataclass(frozen=True, slots=True)
class EncryptRule:
    """A rule that encrypts."""

    #: Its name.
    name: str
    #: The tags of the fields that it is about; none for all.
    tags: tuple[str, ...]
    #: What is done where it fails: ``NONE`` leaves the value as it is, anything else makes an error of its row.
    failure: str
    #: The key that encrypts its keys; empty where they are not told.
    kek_name: str = ""
    kms_type: str = ""
    kms_key_id: str = ""
    #: What encrypts values.
    algorithm: str = DEFAULT_ALGORITHM
    #: After how many days there is a new key; 0 for never. If there may be several, values begin with a version.
    expiry_days: int = 0
    #: Why the rule cannot run at all; empty if it can.
    wrong: str = ""
    #: Its type, which settings may name.
    type: str = ""


@dataclass(frozen=True, slots=True)
class Contract:
    """What the rules of a schema do with its values, read or written."""

    #: The schema that has the rules.
    schema: Schema
    #: Its subject, which the keys are those of; empty if it is not known.
    subject: str
    #: What is done with fields, in this order.
    fields: tuple[EncryptRule, ...] = ()
    #: What is done with the bytes of payloads.
    payload: tuple[EncryptRule, ...] = ()
    #: Whether there are rules of other types, so that all of them run row by row and these tuples are empty.
    by_row: bool = False


@dataclass(frozen=True, slots=True)
class RowRule:
    """A rule, and its position among the rules of a phase."""

    #: The rule.
    rule: Rule
    #: Whether it runs: it is of the direction, and not left out.
    runs: bool
    #: What is done then: ``NONE``, ``ERROR`` or another action.
    success: str
    failure: str


@dataclass(frozen=True, slots=True)
class Phase:
    """Rules that run one after the other, on a value or its payload."""

    #: ``WRITE``, ``READ``, ``UPGRADE`` or ``DOWNGRADE``.
    mode: str
    #: The version that a migration comes from.
    source: Schema | None
    #: The schema that the rules look at values by; of a migration, the version that it leads to.
    target: Schema
    #: The rules, in the order in which they run.
    rules: tuple[RowRule, ...]


def contract_of(schema: Schema, subject: str | None, mode: str, settings: RuleSettings) -> Contract | None:
    """Return what is to be done with the values of a schema; None if its rules do nothing with them.

    The mode is ``READ`` or ``WRITE``.

    >>> from kcodec.registry import RuleSet
    >>> rule = Rule("pii", type="ENCRYPT", tags=("PII",), params={"encrypt.kek.name": "orders"})
    >>> found = contract_of(Schema('"string"', rules=RuleSet(domain=(rule,))), "t-value", "READ", RuleSettings())
    >>> found.fields[0].kek_name, found.payload
    ('orders', ())
    """
    if schema.rules is None:
        return None
    subject, place = subject or "", schema.rules.enable_at
    if any(
        (rule.type or "").upper() not in (FIELDS, PAYLOAD) and _runs(rule, place, mode, settings)
        for rule in (*schema.rules.domain, *schema.rules.encoding)
    ):
        return Contract(schema, subject, by_row=True)
    fields = _running(schema, schema.rules.domain, place, FIELDS, mode, settings)
    payload = _running(schema, schema.rules.encoding, place, PAYLOAD, mode, settings)
    return Contract(schema, subject, fields, payload) if fields or payload else None


def phase(
    rules: RuleSet | None,
    kind: str,
    mode: str,
    target: Schema,
    settings: RuleSettings,
    source: Schema | None = None,
) -> Phase | None:
    """Return the rules of a kind, an attribute of their set, in the order in which they run; None if none of them does.

    What was done last is undone first: for reading, and for the way back to an earlier version, the order is reversed.
    """
    if rules is None:
        return None
    given: tuple[Rule, ...] = getattr(rules, kind)
    ordered = given if mode in ("WRITE", "UPGRADE") else given[::-1]
    found = tuple(
        RowRule(
            rule,
            _runs(rule, rules.enable_at, mode, settings),
            settings.success(rule, mode),
            settings.failure(rule, mode),
        )
        for rule in ordered
    )
    return Phase(mode, source, target, found) if any(each.runs for each in found) else None


def _runs(rule: Rule, enable_at: str | None, mode: str, settings: RuleSettings) -> bool:
    return rule.mode in (mode, _BOTH[mode]) and not settings.is_disabled(rule, enable_at)


def _running(
    schema: Schema,
    rules: tuple[Rule, ...],
    enable_at: str | None,
    kind: str,
    mode: str,
    settings: RuleSettings,
) -> tuple[EncryptRule, ...]:
    """Return the rules of a type that run; what was encrypted last is decrypted first."""
    found, seen = [], set()
    for rule in rules:
        what = rule.kind, rule.mode, rule.type, rule.tags
        # Of several for the same tags the first runs alone.
        is_first = not rule.tags or what not in seen
        seen.add(what)
        if (
            is_first
            and (rule.type or "").upper() == kind
            and rule.kind == "TRANSFORM"
            and _runs(rule, enable_at, mode, settings)
        ):
            found.append(encrypt_rule(schema, rule, mode, settings))
    return tuple(found if mode == "WRITE" else reversed(found))


def encrypt_rule(schema: Schema, rule: Rule, mode: str, settings: RuleSettings) -> EncryptRule:
    """Return what a rule says: its parameters, or properties of the schema's metadata of the same names."""
    properties = {} if schema.metadata is None else dict(schema.metadata.properties)
    parameters = {**properties, **dict(rule.params)}

    def told(key: str) -> str:
        return parameters.get(f"encrypt.{key}") or ""

    failure = settings.failure(rule, mode)
    days, algorithm = told("dek.expiry.days") or "0", told("dek.algorithm") or DEFAULT_ALGORITHM
    wrong = ""
    if not told("kek.name"):
        wrong = "it does not name a key: encrypt.kek.name"
    elif algorithm not in ALGORITHMS:
        wrong = f"encrypt.dek.algorithm={algorithm} is not {', '.join(ALGORITHMS)}"
    elif not days.isdecimal() or len(days) > 9:
        wrong = f"encrypt.dek.expiry.days={days} is not a number of days"
    if wrong:
        return EncryptRule(rule.name, rule.tags, failure, wrong=wrong, type=rule.type or "")
    return EncryptRule(
        rule.name,
        rule.tags,
        failure,
        told("kek.name"),
        told("kms.type"),
        told("kms.key.id"),
        algorithm,
        int(days),
        type=rule.type or "",
    )

"""Which rules of a schema run when its values are read or written, in which order, and what they are told."""

from dataclasses import dataclass

from kcodec.contracts.settings import RuleSettings
from kcodec.registry.base import Schema
from kcodec.registry.keys.values import ALGORITHMS, DEFAULT_ALGORITHM
from kcodec.registry.rules import Rule, RuleSet

__all__ = ["Contract", "EncryptRule", "contract_of"]

#: Types of rules that encrypt fields, and whole payloads.
_FIELDS, _PAYLOAD = "ENCRYPT", "ENCRYPT_PAYLOAD"


@dataclass(frozen=True, slots=True)
class EncryptRule:
    """A rule that encrypts.

    Attributes
    ----------
    name : str
        Its name.
    tags : tuple of str
        The tags of the fields that it is about; none for all.
    failure : str
        What is done where it fails: ``NONE`` leaves the value as it is, anything else makes an error of its row.
    kek_name, kms_type, kms_key_id : str
        The key that encrypts its keys; empty where they are not told.
    algorithm : str
        What encrypts values.
    expiry_days : int
        After how many days there is a new key; 0 for never. If there may be several, values begin with a version.
    wrong : str
        Why the rule cannot run at all; empty if it can.
    """

    name: str
    tags: tuple[str, ...]
    failure: str
    kek_name: str = ""
    kms_type: str = ""
    kms_key_id: str = ""
    algorithm: str = DEFAULT_ALGORITHM
    expiry_days: int = 0
    wrong: str = ""


@dataclass(frozen=True, slots=True)
class Contract:
    """What the rules of a schema do with its values, read or written.

    Attributes
    ----------
    schema : Schema
        The schema that has the rules.
    subject : str
        Its subject, which the keys are those of; empty if it is not known.
    fields : tuple of EncryptRule
        What is done with fields, in this order.
    payload : tuple of EncryptRule
        What is done with the bytes of payloads.
    refusal : str
        Why nothing may be written: a rule that would look at values, or change them, and that is not run here.
    """

    schema: Schema
    subject: str
    fields: tuple[EncryptRule, ...]
    payload: tuple[EncryptRule, ...]
    refusal: str = ""


def contract_of(schema: Schema, subject: str | None, mode: str, settings: RuleSettings) -> Contract | None:
    """Return what is to be done with the values of a schema; None if its rules do nothing with them.

    Parameters
    ----------
    schema : Schema
        A schema with its rules.
    subject : str or None
        The subject, if it is known.
    mode : str
        ``READ`` or ``WRITE``.
    settings : RuleSettings
        What the serde says of rules.

    Examples
    --------
    >>> from kcodec.registry import RuleSet
    >>> rule = Rule("pii", type="ENCRYPT", tags=("PII",), params={"encrypt.kek.name": "orders"})
    >>> found = contract_of(Schema('"string"', rules=RuleSet(domain=(rule,))), "t-value", "READ", RuleSettings())
    >>> found.fields[0].kek_name, found.payload
    ('orders', ())
    """
    if schema.rules is None:
        return None
    fields = _running(schema, schema.rules.domain, _FIELDS, mode, settings)
    payload = _running(schema, schema.rules.encoding, _PAYLOAD, mode, settings)
    refusal = "" if mode == "READ" else _refusal(schema.rules, settings)
    if not (fields or payload or refusal):
        return None
    return Contract(schema, subject or "", fields, payload, refusal)


def _refusal(rules: RuleSet, settings: RuleSettings) -> str:
    """Return why values are not written: the first rule for writing that is not run, and may not be passed over."""
    for rule in (*rules.domain, *rules.encoding):
        if (
            (rule.type or "").upper() not in (_FIELDS, _PAYLOAD)
            and rule.mode in ("WRITEREAD", "WRITE")
            and not settings.is_disabled(rule)
            and settings.failure(rule, "WRITE") != "NONE"
        ):
            return (
                f"the rule {rule.name} of type {rule.type} is not run here, so that values cannot be written"
            )
    return ""


def _running(
    schema: Schema, rules: tuple[Rule, ...], kind: str, mode: str, settings: RuleSettings
) -> tuple[EncryptRule, ...]:
    """Return the rules of a type that run; what was encrypted last is decrypted first."""
    found = [
        _encrypt_rule(schema, rule, mode, settings)
        for at, rule in enumerate(rules)
        if (rule.type or "").upper() == kind
        and rule.kind == "TRANSFORM"
        and rule.mode in ("WRITEREAD", mode)
        and not settings.is_disabled(rule)
        # Of several for the same tags the first runs alone.
        and not any(_same_tags(rule, other) for other in rules[:at])
    ]
    return tuple(found if mode == "WRITE" else reversed(found))


def _same_tags(rule: Rule, other: Rule) -> bool:
    return bool(rule.tags) and (rule.kind, rule.mode, rule.type, rule.tags) == (
        other.kind,
        other.mode,
        other.type,
        other.tags,
    )


def _encrypt_rule(schema: Schema, rule: Rule, mode: str, settings: RuleSettings) -> EncryptRule:
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
        return EncryptRule(rule.name, rule.tags, failure, wrong=wrong)
    return EncryptRule(
        rule.name,
        rule.tags,
        failure,
        told("kek.name"),
        told("kms.type"),
        told("kms.key.id"),
        algorithm,
        int(days),
    )

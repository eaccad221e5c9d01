"""Rules run by confluent-kafka's executors, for one value at a time; imported only where there are such rules."""

import re
import sys
from collections.abc import Callable
from typing import Any

import confluent_kafka
import jsonata  # type: ignore[import-untyped]
from celpy.celparser import CELParseError
from celpy.evaluation import CELEvalError
from confluent_kafka.schema_registry import Schema as TheirSchema
from confluent_kafka.schema_registry.rule_registry import RuleRegistry
from confluent_kafka.schema_registry.rules.cel.cel_executor import CelExecutor
from confluent_kafka.schema_registry.rules.cel.cel_field_executor import CelFieldExecutor
from confluent_kafka.schema_registry.rules.jsonata.jsonata_executor import JsonataExecutor
from confluent_kafka.schema_registry.schema_registry_client import Rule as TheirRule
from confluent_kafka.schema_registry.schema_registry_client import RuleKind, RuleMode
from confluent_kafka.schema_registry.serde import (
    FieldContext,
    FieldRuleExecutor,
    RuleConditionError,
    RuleContext,
    RuleExecutor,
)
from confluent_kafka.serialization import SerializationError

from kcodec._fork import fork_safe_lock
from kcodec.contracts.cipher import decrypt_values, encrypt_values
from kcodec.contracts.keyring import Session
from kcodec.contracts.row_rules import CODE, Refusal, RowRules
from kcodec.contracts.rules import FIELDS, PAYLOAD, Phase, RowRule, encrypt_rule
from kcodec.contracts.settings import RuleSettings
from kcodec.contracts.values import Values, values_of
from kcodec.plan.failure import bounded, step
from kcodec.registry.base import Schema

#: The oldest release whose executors are called so.
_OLDEST = "2.16.1"


def _numbers(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version)[:3]]


if _numbers(confluent_kafka.__version__) < _numbers(_OLDEST):
    raise ImportError(f"{confluent_kafka.__version__} is here, {_OLDEST} or newer is needed")

#: What JSONata may take for one value.
_MOST_MILLISECONDS = 5000


class _Refused(Exception):
    """A value that a rule refuses."""

    def __init__(self, path: str, code: str, reason: str) -> None:
        super().__init__(reason)
        self.refusal = Refusal(bounded(path), code, bounded(reason))


class _NotEncrypted(Exception):
    """Why a value is not encrypted or decrypted."""


class Runner:
    """What runs the rules of payloads of one schema, which has to be one that confluent-kafka has values of."""

    def __init__(self, rules: RowRules) -> None:
        self._rules = rules
        self._values: Values = values_of(rules)
        self._phases = [_Steps(each, rules.subject, self._values) for each in rules.phases]
        self._opening = None if rules.opening is None else _Steps(rules.opening, rules.subject, None)
        self._closing = None if rules.closing is None else _Steps(rules.closing, rules.subject, None)
        # What only looks at values leaves payloads as they are.
        self._is_changed = rules.given != rules.made or any(each.changes for each in self._phases)
        # The executors share compiled expressions, and what a session knows of keys.
        self._lock = fork_safe_lock()

    def run(self, payload: bytes, session: Session) -> bytes | Refusal:
        """Return a payload as the rules have it, or why they refuse it."""
        try:
            with self._lock:
                return self._run(payload, session)
        except _Refused as error:
            return error.refusal

    def _run(self, payload: bytes, session: Session) -> bytes:
        if self._opening is not None:
            payload = self._opening.run(payload, session)
        if self._phases:
            try:
                value = self._values.load(payload)
            except Exception as error:
                raise _Refused("", CODE, f"the value cannot be read for its rules: {_said(error)}") from None
            for each in self._phases:
                shaped = self._values.migrating if each.is_migration else self._values.migrated
                value = each.run(shaped(value), session)
            if self._is_changed:
                try:
                    payload = self._values.dump(self._values.migrated(value))
                except Exception as error:
                    reason = f"what the rules make of the value does not fit its schema: {_said(error)}"
                    raise _Refused("", CODE, reason) from None
        return payload if self._closing is None else self._closing.run(payload, session)


class _Steps:
    """The rules of a phase as their executors know them."""

    def __init__(self, phase: Phase, subject: str, values: Values | None) -> None:
        self.phase, self.subject = phase, subject
        self.is_migration = phase.mode in ("UPGRADE", "DOWNGRADE")
        self.changes = any(each.runs and each.rule.kind == "TRANSFORM" for each in phase.rules)
        self._source = None if phase.source is None else _theirs(phase.source)
        self._target = _theirs(phase.target)
        self._rules = [TheirRule.from_dict(each.rule.json) for each in phase.rules]
        self.encryption = [
            encrypt_rule(phase.target, each.rule, phase.mode, RuleSettings()) for each in phase.rules
        ]
        self._values = values
        self._executors: dict[str, RuleExecutor | None] = {}

    def run(self, message: Any, session: Session) -> Any:
        for at, each in enumerate(self.phase.rules):
            if each.runs:
                message, goes_on = self._run_rule(at, each, message, session)
                if not goes_on:
                    break
        return message

    def _run_rule(self, at: int, each: RowRule, message: Any, session: Session) -> tuple[Any, bool]:
        """Return what a rule makes of a value, and whether the next one runs."""
        rule = self._rules[at]
        executor = self._executor(each.rule.type or "")
        context = _Context(self, at, session)
        try:
            if executor is None:
                raise _NoExecutor(f"there is nothing that runs rules of type {each.rule.type}")
            result = executor.transform(context, message)
            if rule.kind == RuleKind.CONDITION:
                if not result:
                    raise RuleConditionError(rule)
            else:
                message = result
                if message is None:
                    raise ValueError("it makes nothing of the value")
        except Exception as error:
            if each.failure != "NONE" or isinstance(error, SerializationError):
                code = "encryption" if isinstance(error, _NotEncrypted) else CODE
                raise _Refused(context.path, code, f"the rule {each.rule.name}: {_said(error)}") from None
            return message, executor is not None
        if each.success != "NONE":
            raise _Refused("", CODE, f"the rule {each.rule.name}: onSuccess is {each.success}")
        return message, True

    def _executor(self, kind: str) -> RuleExecutor | None:
        """Return what runs rules of a type: one of Confluent's, or one that is registered with confluent-kafka."""
        kind = kind.upper()
        if kind not in self._executors:
            made = _EXECUTORS.get(kind)
            self._executors[kind] = (
                RuleRegistry.get_global_instance().get_executor(kind) if made is None else made()
            )
        return self._executors[kind]

    def context(self, at: int) -> tuple[Any, ...]:
        """Return the arguments of a rule's context, in confluent-kafka's order."""
        values = self._values
        mode = RuleMode(self.phase.mode)
        tags = None if values is None else values.tags
        walk = None if values is None else values.walk
        rules = self._rules
        return None, None, self._source, self._target, self.subject, mode, rules[at], at, rules, tags, walk


class _NoExecutor(Exception):
    """A type of rules that nothing runs."""


class _Context(RuleContext):  # type: ignore[misc]
    """What a rule is told; `path` is that of the field at which it failed."""

    __slots__ = ("_before", "path", "session", "steps")

    def __init__(self, steps: _Steps, at: int, session: Session) -> None:
        super().__init__(*steps.context(at))
        self.steps, self.session, self.path = steps, session, ""
        self._before = sys.exc_info()[1]

    def exit_field(self) -> None:
        """Leave a field; if an error does so, keep the path of the field."""
        if not self.path and sys.exc_info()[1] is not self._before:
            for each in self._field_contexts:
                self.path = step(self.path, each.name)
        super().exit_field()


class _BoundedJsonata(JsonataExecutor):  # type: ignore[misc]
    """JSONata that ends: a function may call itself for good, and all rules run under one lock."""

    def __init__(self) -> None:
        super().__init__()
        self._expressions: dict[str, jsonata.Jsonata] = {}

    def transform(self, ctx: RuleContext, message: Any) -> Any:
        text = ctx.rule.expr
        found = self._expressions.get(text)
        if found is None:
            found = self._expressions[text] = jsonata.Jsonata(text)
        # The time counts from here on, and not only for the first value.
        found.environment.set_runtime_bounds(_MOST_MILLISECONDS, None)
        return found.evaluate(message)


class _FieldEncryption(FieldRuleExecutor):  # type: ignore[misc]
    """Fields encrypted with the keys of the serde."""

    def type(self) -> str:
        return FIELDS

    def new_transform(self, ctx: RuleContext) -> Callable[[RuleContext, FieldContext, Any], Any]:
        return _changed_field


def _changed_field(ctx: RuleContext, field: FieldContext, value: Any) -> Any:
    kind = field.type_name()
    if value is None:
        return None
    if kind not in ("STRING", "BYTES"):
        if ctx.steps.phase.mode == "WRITE":
            raise _NotEncrypted(f"a field of type {kind} is not encrypted")
        return value
    if kind == "BYTES":
        return _encrypted(ctx, value, is_text=False)
    return _encrypted(ctx, value.encode(), is_text=True).decode()


class _PayloadEncryption(RuleExecutor):  # type: ignore[misc]
    """Payloads encrypted with the keys of the serde."""

    def type(self) -> str:
        return PAYLOAD

    def transform(self, ctx: RuleContext, message: bytes) -> bytes:
        return _encrypted(ctx, message, is_text=False)


def _encrypted(ctx: RuleContext, value: bytes, *, is_text: bool) -> bytes:
    """Return a value encrypted, or decrypted if it is read."""
    steps, session = ctx.steps, ctx.session
    rule = steps.encryption[ctx.index]
    if rule.wrong:
        raise _NotEncrypted(rule.wrong)
    if steps.phase.mode == "WRITE":
        key = session.write(rule, steps.subject)
        if isinstance(key, str):
            raise _NotEncrypted(key)
        made = encrypt_values([value], key[0], version=key[1], encoded=is_text)
    else:
        made, failed = decrypt_values(
            [value],
            lambda version: session.read(rule, steps.subject, version),
            versioned=rule.expiry_days > 0,
            encoded=is_text,
        )
        if failed:
            raise _NotEncrypted(failed[0])
    assert made[0] is not None
    return made[0]


_EXECUTORS: dict[str, Callable[[], RuleExecutor]] = {
    "CEL": CelExecutor,
    "CEL_FIELD": CelFieldExecutor,
    "JSONATA": _BoundedJsonata,
    FIELDS: _FieldEncryption,
    PAYLOAD: _PayloadEncryption,
}


def _theirs(schema: Schema) -> Any:
    return TheirSchema.from_dict(schema.json)


def _said(error: BaseException) -> str:
    """Return the words of an error on one line."""
    # CEL's have the class and the arguments of another one behind their words.
    words = error.args[0] if isinstance(error, CELEvalError) and error.args else error
    text = " ".join(str(words).split())
    if isinstance(error, CELParseError):
        text = f"the expression is no CEL: {text}"
    return text or type(error).__name__

"""The settings of rules, by the names that Java's serializers have for them (Confluent's commit 794611bd)."""

import pytest
from cases import cases

from kcodec import DecodeError, Serde
from kcodec.contracts.settings import RuleSettings
from kcodec.registry import Rule, RuleSet, Schema
from kcodec.registry.memory import MemoryRegistry

NAMED = {
    "rule.executors._default_.param.secret": "all",
    "rule.executors._default_.param.profile": "p",
    "rule.executors._ENCRYPT_.param.secret": "encrypting",
    "rule.executors.mine.param.secret": "mine",
}


@cases(
    ("name", "kind", "secret"),
    [
        ("mine", "ENCRYPT", "mine"),
        ("other", "ENCRYPT", "encrypting"),
        ("other", "CEL", "all"),
        ("other", "", "all"),
    ],
)
def test_parameters_of_a_rule_stand_over_those_of_its_type_and_of_all(name, kind, secret):
    assert RuleSettings.of(NAMED).parameters(name, kind) == {"secret": secret, "profile": "p"}


@cases(
    ("config", "is_refused"),
    [
        ({}, True),
        ({"_CEL_.onFailure": "NONE"}, False),
        ({"_cel_.onfailure": "NONE"}, False),
        ({"_JSONATA_.onFailure": "NONE"}, True),
        ({"_CEL_.onFailure": "NONE", "no.onFailure": "ERROR"}, True),
        ({"_default_.onFailure": "ERROR", "_CEL_.onFailure": "NONE"}, False),
        ({"_CEL_.disabled": "true"}, False),
        ({"_CEL_.disabled": "true", "no.disabled": "false"}, True),
    ],
)
def test_settings_of_all_rules_of_a_type(config, is_refused):
    registry = MemoryRegistry()
    rule = Rule("no", kind="CONDITION", mode="READ", type="CEL", expr="message == 6")
    registry.register("t-value", Schema('"int"', rules=RuleSet(domain=(rule,))))
    config = {f"rule.executors.{key}": value for key, value in config.items()}
    serde = Serde("AVRO", registry, topic="t", config={"use.latest.version": True, **config})
    values = serde.serialize([5])
    if is_refused:
        with pytest.raises(DecodeError, match="the rule no"):
            serde.deserialize(values)
    else:
        assert serde.deserialize(values).to_pylist() == [5]


def test_what_is_done_where_a_rule_succeeds():
    rule = Rule("r", kind="CONDITION", mode="WRITEREAD", type="CEL", on_success="DLQ")
    for config, actions in (
        ({}, ("DLQ", "DLQ")),
        ({"_CEL_.onSuccess": "NONE"}, ("NONE", "NONE")),
        ({"_CEL_.onSuccess": "NONE", "r.onSuccess": "ERROR,NONE"}, ("ERROR", "NONE")),
    ):
        settings = RuleSettings.of({f"rule.executors.{key}": value for key, value in config.items()})
        assert tuple(settings.success(rule, mode) for mode in ("WRITE", "READ")) == actions

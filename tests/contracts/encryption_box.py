"""A registry's server in a box, with confluent-kafka's serializers on one side of it and ours on the other."""

import json
import os
from contextlib import contextmanager

import pytest

# The extra `rules`: without it tests of these are skipped.
pytest.importorskip("celpy")

from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.rule_registry import RuleRegistry
from confluent_kafka.schema_registry.rules.cel.cel_executor import CelExecutor
from confluent_kafka.schema_registry.rules.cel.cel_field_executor import CelFieldExecutor
from confluent_kafka.schema_registry.rules.encryption.encrypt_executor import (
    EncryptionExecutor,
    FieldEncryptionExecutor,
)
from confluent_kafka.schema_registry.rules.encryption.localkms.local_driver import LocalKmsDriver
from confluent_kafka.schema_registry.rules.jsonata.jsonata_executor import JsonataExecutor
from confluent_kafka.serialization import MessageField, SerializationContext
from registry_server import serve

from kcodec import Serde
from kcodec.registry import Rule, RuleSet, Schema
from kcodec.registry import open as open_registry
from kcodec.registry.memory import MemoryRegistry

SECRET = "the secret of the box"
#: Random records of each test that compares with confluent-kafka in both directions.
RECORDS = int(os.environ.get("KCODEC_RECORDS", "50"))
SETTINGS = {"rule.executors._default_.param.secret": SECRET}
PARAMETERS = {"encrypt.kek.name": "pii", "encrypt.kms.type": "local-kms", "encrypt.kms.key.id": "mykey"}

LocalKmsDriver.register()


class Box:
    """The server, and what reads and writes by it."""

    def __init__(self, registry, served):
        self.registry, self.url, self.requests = registry, served.url, served.requests
        self.client = SchemaRegistryClient.new_client({"url": served.url})

    def register(
        self,
        subject,
        text,
        kind="AVRO",
        *,
        name="encrypt",
        tags=("PII",),
        payload=False,
        metadata=None,
        **changes,
    ):
        """Register a schema with a rule that encrypts; underscores of parameters stand for dots."""
        told = {key.replace("_", "."): value for key, value in changes.items() if key.startswith("encrypt")}
        more = {key: value for key, value in changes.items() if not key.startswith("encrypt")}
        kind_of_rule = "ENCRYPT_PAYLOAD" if payload else "ENCRYPT"
        rule = Rule(name, **{"type": kind_of_rule, "tags": tags, "params": {**PARAMETERS, **told}, **more})
        rules = RuleSet(encoding=(rule,)) if payload else RuleSet(domain=(rule,))
        text = text if isinstance(text, str) else json.dumps(text)
        return self.registry.register(subject, Schema(text, kind, metadata=metadata, rules=rules))

    def serde(self, name, topic, config=None, **arguments):
        """Return a serde of ours, which asks the server."""
        settings = {"use.latest.version": True, "auto.register.schemas": False, **SETTINGS, **(config or {})}
        return Serde(name, open_registry(self.url), topic=topic, config=settings, **arguments)

    def their(self, kind, *arguments, conf=None, secret=SECRET, **named):
        """Return a serializer or deserializer of theirs."""
        rules = RuleRegistry()
        for executor in (
            FieldEncryptionExecutor,
            EncryptionExecutor,
            CelExecutor,
            CelFieldExecutor,
            JsonataExecutor,
        ):
            rules.register_executor(executor())
        settings = {"use.latest.version": True, **(conf or {})}
        if "Deserializer" not in kind.__name__:
            settings["auto.register.schemas"] = False
        return kind(*arguments, conf=settings, rule_conf={"secret": secret}, rule_registry=rules, **named)


@contextmanager
def box():
    registry = MemoryRegistry()
    with serve(registry) as served:
        yield Box(registry, served)


def context(topic):
    return SerializationContext(topic, MessageField.VALUE)

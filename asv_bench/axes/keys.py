"""Encrypted fields: keys in a registry and in a column, and rules of a schema."""

import base64
import itertools
import json
from collections.abc import Callable
from typing import Any

from axes.axis import Axis
from kcodec import Serde, registry
from kcodec.registry import Rule, RuleSet, Schema
from kcodec.registry.keys.material import new_material
from kcodec.registry.keys.services import wrap
from kcodec.registry.keys.values import Dek, Kek

_SECRET = {"secret": "of the benchmark"}
_CONFIG = {
    "use.latest.version": True,
    "auto.register.schemas": False,
    **{f"rule.executors._default_.param.{name}": value for name, value in _SECRET.items()},
}
_ROWS = 10_000
_SCOPES = itertools.count()


def _fresh() -> Any:
    return registry.open(f"memory://keys-{next(_SCOPES)}")


def _schema(fields: int, **parameters: str) -> Schema:
    """Return a schema of texts, each with a tag and a rule of its own."""
    made = [
        {"name": f"f{number}", "type": "string", "confluent:tags": [f"T{number}"]} for number in range(fields)
    ]
    params = {
        "encrypt.kek.name": "kek",
        "encrypt.kms.type": "local-kms",
        "encrypt.kms.key.id": "key",
        **parameters,
    }
    rules = [
        Rule(f"rule{number}", type="ENCRYPT", tags=(f"T{number}",), params=params) for number in range(fields)
    ]
    text = json.dumps({"type": "record", "name": "R", "fields": made})
    return Schema(text, "AVRO", rules=RuleSet(domain=tuple(rules)))


def _serde(held: Any, **more: Any) -> Serde:
    return Serde("AVRO", held, topic="t", config=_CONFIG, **more)


def _texts(rows: int, fields: int = 1) -> list[dict[str, str]]:
    return [{f"f{number}": "x" for number in range(fields)}] * rows


def keks(count: int) -> Callable[[], Any]:
    """Decrypt a column whose rows have as many schemas, each with keys of its own, by a serde that knows none yet."""
    held = _fresh()
    parts = []
    for number in range(count):
        held.register("t-value", _schema(1, **{"encrypt.kek.name": f"kek{number}"}))
        parts.append(_serde(held).serialize(_texts(_ROWS // count)).to_pylist())
    payloads = [each for part in zip(*parts, strict=True) for each in part]
    reader = {"type": "record", "name": "R", "fields": [{"name": "f0", "type": "string"}]}
    return lambda: _serde(held, reader_schema=reader).deserialize(payloads)


def deks(count: int) -> Callable[[], Any]:
    """Decrypt a column whose values have as many versions of a key."""
    held = _fresh()
    held.register("t-value", _schema(1, **{"encrypt.dek.expiry.days": "1"}))
    kek = held.keys.register_kek(Kek("kek", "local-kms", "key"))
    payloads = []
    for version in range(1, count + 1):
        material = wrap(kek, new_material("AES256_GCM"), _SECRET)
        held.keys.register_dek(
            Dek("kek", "t-value", version, "AES256_GCM", base64.b64encode(material).decode())
        )
        payloads += _serde(held).serialize(_texts(_ROWS // count)).to_pylist()
    serde = _serde(held)
    assert serde.deserialize(payloads).null_count == 0
    return lambda: serde.deserialize(payloads)


def held_deks(count: int) -> Callable[[], Any]:
    """Find a key among many of a registry, all of which one key encrypts."""
    held = _fresh()
    held.keys.register_kek(Kek("kek", "local-kms", "key"))
    for number in range(count):
        held.keys.register_dek(Dek("kek", f"s{number}", encrypted_key_material="c2VjcmV0"))
    names = itertools.cycle(range(count))
    return lambda: held.keys.dek("kek", f"s{next(names)}")


def rules(count: int) -> Callable[[], Any]:
    held = _fresh()
    held.register("t-value", _schema(count))
    serde = _serde(held)
    payloads = serde.serialize(_texts(100, count))
    serde.deserialize(payloads)
    return lambda: serde.deserialize(payloads)


AXES = {
    "keks": Axis("decrypt 10,000 rows of KEKs, all new", (1, 10, 100, 1_000), keks),
    "deks": Axis("decrypt 10,000 rows of versions of a DEK", (1, 10, 100, 1_000), deks),
    "held_deks": Axis("find a DEK among those of a registry", (1, 10, 100, 1_000, 10_000), held_deks),
    "rules": Axis("decrypt 100 rows by rules, of a field each", (1, 3, 10, 30, 100), rules),
}

"""Encrypted fields: one text field of 15 decrypted, beside what `cryptography` needs for its values alone."""

import base64
import binascii
import json
from typing import Any

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from kcodec import Serde
from kcodec.registry import Rule, RuleSet, Schema
from kcodec.registry.keys.material import key_of, new_material
from kcodec.registry.keys.values import Dek, Kek
from kcodec.registry.memory import MemoryRegistry

from . import ROWS

_FIELDS = [{"name": f"count{number}", "type": "long"} for number in range(7)]
_FIELDS += [{"name": f"text{number}", "type": "string"} for number in range(7)]
_EMAIL = {"name": "email", "type": "string", "confluent:tags": ["PII"]}
_SCHEMA = json.dumps({"type": "record", "name": "Customer", "fields": [*_FIELDS, _EMAIL]})
_RULE = Rule("encrypt", type="ENCRYPT", tags=("PII",), params={"encrypt.kek.name": "pii"})


class _Keys:
    """One key that is shared, so that no key management service is asked."""

    def __init__(self, material: bytes) -> None:
        self._material = base64.b64encode(material).decode()

    def kek(self, name: str, **named: Any) -> Kek:
        return Kek(name, "none", "none", shared=True)

    def dek(self, kek_name: str, subject: str, version: int, algorithm: str, **named: Any) -> Dek:
        return Dek(kek_name, subject, 1, algorithm, key_material=self._material)

    def register_kek(self, kek: Kek, **named: Any) -> Kek:
        return kek

    def register_dek(self, dek: Dek) -> Dek:
        return dek


class EncryptedField:
    """15 fields, of which one is encrypted or none is; and the values of that one alone, by a loop."""

    params = (["encrypted", "plain"],)
    param_names = ("field",)

    def setup(self, field: str) -> None:
        registry = MemoryRegistry()
        material = new_material("AES256_GCM")
        registry.keys = _Keys(material)  # type: ignore[assignment]
        rules = RuleSet(domain=(_RULE,)) if field == "encrypted" else None
        registry.register("customers-value", Schema(_SCHEMA, rules=rules))
        rows = [
            {
                **{each["name"]: at for each in _FIELDS[:7]},
                **{each["name"]: f"text {at}" for each in _FIELDS[7:]},
                "email": f"user{at:08}@example.com",
            }
            for at in range(ROWS)
        ]
        config = {"use.latest.version": True}
        self.serde = Serde("AVRO", registry, topic="customers", config=config)
        self.values = self.serde.serialize(rows)
        self.rows = self.serde.deserialize(self.values)
        plain = Serde(
            "AVRO", registry, topic="customers", config={**config, "rule.executors.encrypt.disabled": "true"}
        )
        self.texts = [text.encode() for text in plain.deserialize(self.values).field("email").to_pylist()]
        self.cipher = AESGCM(key_of("AES256_GCM", material))

    def time_decode(self, field: str) -> None:
        self.serde.deserialize(self.values)

    def time_encode(self, field: str) -> None:
        self.serde.serialize(self.rows)

    def time_cryptography_alone(self, field: str) -> None:
        if field == "encrypted":
            decode, decrypt = binascii.a2b_base64, self.cipher.decrypt
            for text in self.texts:
                data = decode(text)
                decrypt(data[:12], data[12:], None)

"""What encrypted fields do where a key is missing, wrong, followed by another or taken back; and what shows no key."""

import base64
import json
import logging
import pickle
import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.schema_registry.rules.encryption.localkms.local_driver import LocalKmsDriver
from encryption_box import SECRET, SETTINGS, context

from kcodec import AvroCodec, ConfigError, DecodeError, EncodeError, RegistryError, Serde
from kcodec.contracts import encryption
from kcodec.contracts.encryption import Ruled, decrypt_fields
from kcodec.contracts.keyring import Keyring
from kcodec.contracts.rules import Contract, EncryptRule
from kcodec.contracts.settings import RuleSettings
from kcodec.formats.tagged import TaggedField
from kcodec.registry import Config, Metadata, Rule, RuleSet, Schema, of
from kcodec.registry.keys.services import KeyServiceError, wrap
from kcodec.registry.keys.values import Dek, Kek
from kcodec.registry.memory import MemoryRegistry


def order(*fields):
    return {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "int"}, *fields]}


TEXT = {"name": "email", "type": "string", "confluent:tags": ["PII"]}
BYTES = {"name": "raw", "type": "bytes", "confluent:tags": ["PII"]}
ITEMS = {
    "name": "lines",
    "type": {
        "type": "array",
        "items": {
            "type": "record",
            "name": "Line",
            "fields": [
                {"name": "notes", "type": {"type": "map", "values": "string"}, "confluent:tags": ["PII"]}
            ],
        },
    },
}
ORDER = order(TEXT)
ROWS = [{"id": 1, "email": "one"}, {"id": 2, "email": "two"}, None]


def written(box, topic, schema=ORDER, rows=ROWS, **rule):
    box.register(f"{topic}-value", schema, **rule)
    return box.serde("AVRO", topic, schema=schema).serialize(rows)


def other_key(box, topic, **config):
    return box.serde("AVRO", topic, {"rule.executors._default_.param.secret": "another", **config})


MANY = order(TEXT, BYTES, ITEMS)
MANY_ROWS = [
    {
        "id": number,
        "email": f"mail {number}",
        "raw": b"%d" % number,
        "lines": [{"notes": [("a", "b")]}] * number,
    }
    for number in range(9)
]


class TestManyContracts:
    """Rows of many schemas, each with a key of its own."""

    def values(self, box, topic):
        subject = f"{topic}-value"
        box.registry.set_config(Config("NONE"), subject)
        values, kind = [], AvroCodec(MANY).arrow_type
        for number, row in enumerate(MANY_ROWS):
            schema = {**MANY, "doc": str(number)}
            if number == 4:
                box.registry.register(subject, Schema(json.dumps(schema)))
            else:
                box.register(subject, schema, encrypt_kek_name=f"{topic}-{number}")
            values.append(box.serde("AVRO", topic).serialize(pa.array([row] * 2, kind)).to_pylist())
        return [*(each for part in zip(*values, strict=True) for each in part), None]

    def test_each_has_its_own(self, box, topic, impl):
        values = self.values(box, topic)
        serde = box.serde("AVRO", topic, reader_schema=MANY)
        assert serde.deserialize(values).to_pylist() == [*MANY_ROWS, *MANY_ROWS, None]
        # Some rows alone, and in another order.
        assert serde.deserialize(values[7:2:-1]).to_pylist() == MANY_ROWS[7:2:-1]

    def test_as_rows_of_few(self, box, topic, impl, monkeypatch):
        values = self.values(box, topic)
        for number in (2, 11):
            values[number] = values[number][:-4] + b"\2\2x\0"
        box.registry.keys.delete_dek(f"{topic}-3", f"{topic}-value")
        box.registry.keys.delete_dek(f"{topic}-3", f"{topic}-value", permanent=True)
        serde = box.serde("AVRO", topic, reader_schema=MANY)
        rows, report = serde.deserialize(values, errors="report")
        assert {3, 12} < set(report["row"].to_pylist())
        monkeypatch.setattr(encryption, "_FEW_GROUPS", 100)
        others, same = serde.deserialize(values, errors="report")
        assert (rows.to_pylist(), report.to_pylist()) == (others.to_pylist(), same.to_pylist())
        assert rows.null_count == 1 + len(report)

    def test_bytes_of_a_fixed_size(self, box, topic, impl, monkeypatch):
        """They are of another type where they were encrypted."""
        fixed = pa.struct([("id", pa.int32()), ("raw", pa.binary(2))])
        array = pa.array([{"id": number, "raw": b"%02d" % number} for number in range(12)], fixed)
        contract = Contract(Schema('"int"'), "s", (EncryptRule("r", ("PII",), "NONE", "none"),))
        tagged = TaggedField(("raw",), "R.raw", frozenset(["PII"]), "BYTES")
        group = [(Ruled(contract, (tagged,)), np.array([number])) for number in range(1, 8)]
        ring = Keyring(MemoryRegistry(), RuleSettings())
        found, faults = encryption.decrypt_groups(array, group, ring)
        assert (found.type.field("raw").type, faults) == (pa.binary(), [])
        assert found[0].as_py() == {"id": 0, "raw": b"00"}

    def test_rows_are_looked_at_once(self, box, topic, impl, monkeypatch):
        """Not all of them for each contract."""
        looked = []

        def decrypt(array, *rest):
            looked.append(len(array))
            return decrypt_fields(array, *rest)

        values = self.values(box, topic)
        serde = box.serde("AVRO", topic, reader_schema=MANY)
        monkeypatch.setattr(encryption, "decrypt_fields", decrypt)
        serde.deserialize(values)
        assert sum(looked) < len(values)


class TestWithoutTheKey:
    def test_each_row_is_an_error(self, box, topic, impl):
        values = written(box, topic)
        rows, report = other_key(box, topic).deserialize(values, errors="report")
        assert rows.to_pylist() == [None, None, None]
        # As in other rows that failed, which Parquet's writer wants.
        assert all(field.nullable or not rows.field(field.name).null_count for field in rows.type)
        assert report["row"].to_pylist() == [0, 1]
        assert set(report["code"].to_pylist()) == {"encryption"}
        assert set(report["path"].to_pylist()) == {"email"}
        assert report["offset"].null_count == 2
        assert "the rule encrypt: local-kms does not decrypt by the key pii" in report["reason"][0].as_py()
        with pytest.raises(DecodeError, match="encryption: row 0, email"):
            other_key(box, topic).deserialize(values)
        with pytest.raises(DecodeError, match="encryption: row 0, email"):
            other_key(box, topic).deserialize_one(values[0].as_py())

    @pytest.mark.parametrize("place", ["rule", "setting"])
    def test_by_option_fields_stay_encrypted(self, box, topic, impl, place):
        rule, config = {}, {}
        if place == "rule":
            rule = {"on_failure": "ERROR,NONE"}
        else:
            config = {"rule.executors.encrypt.onFailure": "NONE"}
        values = written(box, topic, **rule)
        rows, report = other_key(box, topic, **config).deserialize(values, errors="report")
        closed = box.serde("AVRO", topic, {"rule.executors._default_.disabled": "true"}).deserialize(values)
        assert len(report) == 0
        assert rows.equals(closed)
        assert rows[0].as_py()["email"] != "one"

    @pytest.mark.parametrize("setting", ["onfailure", "disabled"])
    def test_settings_in_lower_case(self, box, topic, impl, setting):
        """As Spark's sources have all their options."""
        box.register(f"{topic}-value", ORDER, name="encryptPII")
        values = box.serde("AVRO", topic, schema=ORDER).serialize(ROWS)
        config = {f"rule.executors.encryptpii.{setting}": "true" if setting == "disabled" else "NONE"}
        rows = other_key(box, topic, **config).deserialize(values)
        assert rows[0].as_py()["email"] != "one"

    def test_nothing_is_written_in_the_clear(self, box, topic, impl):
        box.register(f"{topic}-value", ORDER)
        # Another secret than that of the key which there is.
        box.serde("AVRO", topic, schema=ORDER).serialize(ROWS)
        with pytest.raises(EncodeError, match="encryption: row 0, email"):
            other_key(box, topic).serialize(ROWS[:1])
        values, report = other_key(box, topic).serialize(ROWS, errors="report")
        assert values.null_count == 3
        assert report["code"].to_pylist() == ["encryption"] * 2

    def test_a_registry_without_keys(self, impl):
        rules = RuleSet(
            domain=(Rule("encrypt", type="ENCRYPT", tags=("PII",), params={"encrypt.kek.name": "k"}),)
        )
        registry = of({7: Schema(json.dumps(ORDER), rules=rules)})
        value = bytes([0, 0, 0, 0, 7, 2, 8]) + b"AAAA"
        with pytest.raises(DecodeError, match="keeps no keys"):
            Serde("AVRO", registry, topic="t").deserialize([value])
        with pytest.raises(DecodeError, match="no subject is known"):
            Serde("AVRO", registry).deserialize([value])

    @pytest.mark.parametrize("payload", [False, True])
    @pytest.mark.parametrize(
        ("changes", "config", "reason"),
        [
            ({"encrypt_kek_name": ""}, {}, "it does not name a key: encrypt.kek.name"),
            ({"encrypt_dek_algorithm": "AES1"}, {}, "encrypt.dek.algorithm=AES1 is not AES128_GCM, "),
            ({"encrypt_dek_expiry_days": "x"}, {}, "encrypt.dek.expiry.days=x is not a number of days"),
            ({"encrypt_kek_name": "new", "encrypt_kms_type": ""}, {}, "there is no key new, and the rule does not "),
            ({}, {"cache.expiry.secs": "x"}, "cache.expiry.secs=x is not a number of seconds"),
        ],
    )  # fmt: skip
    def test_rules_that_cannot_run(self, box, topic, impl, payload, changes, config, reason):
        box.register(f"{topic}-value", ORDER, payload=payload, **changes)
        config = {f"rule.executors._default_.param.{name}": value for name, value in config.items()}
        with pytest.raises(EncodeError, match=re.escape(f"the rule encrypt: {reason}")):
            box.serde("AVRO", topic, config).serialize(ROWS)
        # Nor is a key made for them.
        with pytest.raises(RegistryError):
            box.registry.keys.dek("pii", f"{topic}-value")

    def test_the_rule_must_mean_the_key_that_there_is(self, box, topic, impl):
        written(box, topic)
        box.register(f"{topic}2-value", ORDER, encrypt_kms_key_id="another")
        with pytest.raises(EncodeError, match="the key pii has the kms key id mykey, the rule another"):
            box.serde("AVRO", f"{topic}2").serialize(ROWS)


class TestDamaged:
    @pytest.mark.parametrize("expiry", ["0", "1"])
    @pytest.mark.parametrize("algorithm", ["AES128_GCM", "AES256_GCM", "AES256_SIV"])
    def test_a_row_costs_itself(self, box, topic, impl, algorithm, expiry):
        rule = {"encrypt_dek_algorithm": algorithm, "encrypt_dek_expiry_days": expiry}
        schema = order(TEXT, BYTES)
        rows = [{"id": at, "email": f"text {at}", "raw": b"bytes"} for at in range(6)]
        values = written(box, topic, schema, rows, **rule)
        plain = box.serde("AVRO", topic, {"rule.executors.encrypt.disabled": "true"})
        raw = plain.deserialize(values).to_pylist()
        raw[0]["email"] = "not Base64!"
        raw[1]["email"] = ""
        raw[2]["raw"] = raw[2]["raw"][:-1]
        raw[3]["raw"] = b"\0\0\0\0\x09" + raw[3]["raw"][5:]
        raw[4]["raw"] = raw[4]["raw"][:3]
        again = box.serde(
            "AVRO", topic, {"rule.executors.encrypt.disabled": "true"}, schema=schema
        ).serialize(raw)
        found, report = box.serde("AVRO", topic).deserialize(again, errors="report")
        assert found.to_pylist() == [None] * 5 + [rows[5]]
        assert report["row"].to_pylist() == [0, 1, 2, 3, 4]
        assert report["path"].to_pylist() == ["email", "email", "raw", "raw", "raw"]
        assert set(report["code"].to_pylist()) == {"encryption"}
        with pytest.raises(DecodeError, match="row 0, email"):
            box.serde("AVRO", topic).deserialize(again)

    def test_any_bytes_may_be_versions(self, box, topic, impl):
        rule = {"encrypt_dek_expiry_days": "1"}
        schema = order(BYTES)
        written(box, topic, schema, [{"id": 0, "raw": b""}], **rule)
        plain = box.serde("AVRO", topic, {"rule.executors.encrypt.disabled": "true"}, schema=schema)
        rows = [{"id": at, "raw": b"\0" + at.to_bytes(4, "big") + bytes(40)} for at in range(2, 400)]
        before = len(box.requests)
        _, report = box.serde("AVRO", topic).deserialize(plain.serialize(rows), errors="report")
        assert len(report) == 398
        asked = [each for each in box.requests[before:] if "/deks/" in each]
        assert len(asked) == 100
        assert "one of more than 100 unknown keys" in report["reason"][397].as_py()

    def test_paths_name_items_and_keys(self, box, topic, impl):
        schema = order(ITEMS)
        rows = [
            {"id": 1, "lines": []},
            {"id": 2, "lines": [{"notes": []}, {"notes": [("a", "x"), ("b", "y")]}]},
        ]
        values = written(box, topic, schema, rows)
        plain = box.serde("AVRO", topic, {"rule.executors.encrypt.disabled": "true"}, schema=schema)
        raw = plain.deserialize(values).to_pylist()
        raw[1]["lines"][1]["notes"][1] = ("b", "damaged")
        _, report = box.serde("AVRO", topic).deserialize(plain.serialize(raw), errors="report")
        assert report["path"].to_pylist() == ["lines[1].notes['b']"]

    def test_errors_of_decoding_stay_what_they_are(self, box, topic, impl):
        values = written(box, topic).to_pylist()
        values[0] = values[0][:-1]
        values.append(b"\0\0\0\0\x7f\0")
        rows, report = box.serde("AVRO", topic).deserialize(values, errors="report")
        assert rows.to_pylist() == [None, ROWS[1], None, None]
        assert report["code"].to_pylist() == ["truncated", "unknown_schema_id"]

    def test_text_that_is_not_utf8(self, box, topic, impl):
        schema = order(BYTES)
        values = written(box, topic, schema, [{"id": 1, "raw": b"\xff"}])
        plain = box.serde("AVRO", topic, {"rule.executors.encrypt.disabled": "true"})
        text = base64.b64encode(plain.deserialize(values).to_pylist()[0]["raw"]).decode()
        box.register(f"{topic}-value", order({**TEXT, "default": ""}, {**BYTES, "default": ""}))
        own = box.serde("AVRO", topic, {"rule.executors.encrypt.disabled": "true"})
        again = own.serialize([{"id": 1, "email": text, "raw": b""}], errors="raise")
        _, report = box.serde("AVRO", topic).deserialize(again, errors="report")
        assert report["reason"].to_pylist() == ["the rule encrypt: the decrypted text is not UTF-8"]


class TestKeys:
    def test_a_new_key_after_some_days(self, box, topic, impl, monkeypatch):
        values = written(box, topic, encrypt_dek_expiry_days="1").to_pylist()
        first = time.time()
        monkeypatch.setattr(time, "time", lambda: first + 2 * 24 * 3600)
        serde = box.serde("AVRO", topic, schema=ORDER)
        values += serde.serialize(ROWS).to_pylist()
        assert box.registry.keys.dek_versions("pii", f"{topic}-value") == [1, 2]
        assert serde.deserialize(values).to_pylist() == ROWS * 2
        monkeypatch.undo()
        theirs = box.their(AvroDeserializer, box.client)
        assert [theirs(value, context(topic)) for value in values] == ROWS * 2
        # The second is not expired by now.
        box.serde("AVRO", topic, schema=ORDER).serialize(ROWS)
        assert box.registry.keys.dek_versions("pii", f"{topic}-value") == [1, 2]

    def test_another_key_from_some_version_on(self, box, topic, impl):
        values = written(box, topic).to_pylist()
        values += written(box, topic, encrypt_kek_name=f"{topic}-2").to_pylist()
        newest = {"use.latest.version": False}
        serde = box.serde("AVRO", topic, newest, reader_schema="latest")
        assert serde.deserialize(values).to_pylist() == ROWS * 2
        _, report = box.serde("AVRO", topic).deserialize(values, errors="report")
        assert report["row"].to_pylist() == [0, 1]

    def test_keys_are_asked_for_once(self, box, topic, impl):
        values = written(box, topic)
        serde = box.serde("AVRO", topic)
        before = len(box.requests)
        for _ in range(3):
            serde.deserialize(values)
        asked = [each for each in box.requests[before:] if "dek-registry" in each]
        assert len(asked) == 2

    def test_keys_are_asked_for_again_after_a_while(self, box, topic, impl):
        values = written(box, topic)
        kept = box.serde("AVRO", topic)
        asking = box.serde("AVRO", topic, {"rule.executors.encrypt.param.cache.expiry.secs": "0"})
        for serde in (kept, asking):
            assert serde.deserialize(values).to_pylist() == ROWS
        box.registry.keys.delete_dek("pii", f"{topic}-value")
        box.registry.keys.delete_dek("pii", f"{topic}-value", permanent=True)
        assert kept.deserialize(values).to_pylist() == ROWS
        with pytest.raises(DecodeError, match=r"Key '.*' not found"):
            asking.deserialize(values)

    def test_a_key_deleted_softly_still_reads(self, box, topic, impl):
        values = written(box, topic)
        box.registry.keys.delete_dek("pii", f"{topic}-value")
        assert box.serde("AVRO", topic).deserialize(values).to_pylist() == ROWS
        with pytest.raises(EncodeError, match=r"already exists|not found"):
            box.serde("AVRO", topic, schema=ORDER).serialize(ROWS)

    def test_shared_keys_come_from_the_registry(self, box, topic, impl, monkeypatch):
        monkeypatch.setenv("LOCAL_SECRET", "of the server alone")
        box.registry.keys.register_kek(Kek(topic, "local-kms", "theirs", shared=True))
        rule = {"encrypt_kek_name": topic, "encrypt_kms_key_id": "theirs"}
        values = written(box, topic, **rule)
        assert other_key(box, topic).deserialize(values).to_pylist() == ROWS
        theirs = box.their(AvroDeserializer, box.client, secret="none of theirs")
        assert [theirs(each, context(topic)) for each in values.to_pylist()] == ROWS

    def test_two_at_once_make_one_key(self, box, topic, impl):
        """Whoever comes second takes the key of the first."""
        box.register(f"{topic}-value", ORDER)
        serde = box.serde("AVRO", topic, schema=ORDER)
        keys = type(serde.registry.keys)
        real = keys.register_dek

        def late(self, dek):
            real(self, dek)
            return real(self, dek)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(keys, "register_dek", late)
            values = serde.serialize(ROWS)
        assert box.serde("AVRO", topic).deserialize(values).to_pylist() == ROWS


class TestNoKeyShows:
    def test_in_texts_and_pickles(self, box, topic, impl, caplog):
        values = written(box, topic)
        serde = box.serde("AVRO", topic, schema=ORDER)
        with caplog.at_level(logging.DEBUG):
            serde.deserialize(values)
            serde.serialize(ROWS)
            other_key(box, topic).deserialize(values, errors="report")
        dek = box.registry.keys.dek("pii", f"{topic}-value")
        state = pickle.dumps(serde)
        ring = serde._topic.ring
        keys = [found.cipher for found in ring._known.values()]
        assert len(keys) == 2
        told = (
            "".join(map(repr, [serde, serde._topic, serde._topic.config, ring, ring._known, dek]))
            + caplog.text
        )
        assert SECRET not in told
        assert SECRET.encode() not in state
        assert b"Cipher" not in state
        with pytest.raises(TypeError, match="does not pickle"):
            pickle.dumps(keys[0])

    def test_another_process_takes_its_credentials_from_its_environment(self, box, topic, impl, monkeypatch):
        values = written(box, topic)
        copy = pickle.loads(pickle.dumps(box.serde("AVRO", topic)))
        with pytest.raises(DecodeError, match="cannot load secret"):
            copy.deserialize(values)
        monkeypatch.setenv("LOCAL_SECRET", SECRET)
        assert copy.deserialize(values).to_pylist() == ROWS

    def test_errors_do_not_repeat_what_a_service_is_configured_with(self, impl, monkeypatch):
        def refuse(self, conf, url):
            raise ValueError(f"no use for {conf}")

        monkeypatch.setattr(LocalKmsDriver, "new_kms_client", refuse)
        with pytest.raises(KeyServiceError) as caught:
            wrap(Kek("k", "local-kms", "id", {"token": "hidden too"}), b"", {"secret": SECRET})
        assert SECRET not in str(caught.value)
        assert "hidden too" not in str(caught.value)

    @pytest.mark.parametrize("answer", [None, "text", 5], ids=str)
    def test_services_that_answer_with_no_bytes(self, box, topic, impl, monkeypatch, answer):
        values = written(box, topic)
        aead = SimpleNamespace(encrypt=lambda *_: answer, decrypt=lambda *_: answer)
        client = SimpleNamespace(get_aead=lambda _: aead)
        monkeypatch.setattr(LocalKmsDriver, "new_kms_client", lambda *_: client)
        with pytest.raises(DecodeError, match="a bytes-like object is required"):
            box.serde("AVRO", topic).deserialize(values)
        box.register(f"{topic}-2-value", ORDER)
        with pytest.raises(EncodeError, match="a bytes-like object is required"):
            box.serde("AVRO", f"{topic}-2", schema=ORDER).serialize(ROWS)

    def test_a_key_that_is_known_waits_for_no_other(self, box, topic, impl, monkeypatch):
        values = written(box, topic)
        serde = box.serde("AVRO", topic, schema=ORDER)
        serde.deserialize(values)
        began, go_on = threading.Event(), threading.Event()

        def hang(*_):
            began.set()
            go_on.wait(20)
            raise ValueError("late")

        monkeypatch.setattr(LocalKmsDriver, "new_kms_client", hang)
        with ThreadPoolExecutor(2) as threads:
            waiting = threads.submit(serde.serialize, ROWS)
            began.wait()
            try:
                assert threads.submit(serde.deserialize, values).result(10).to_pylist() == ROWS
            finally:
                go_on.set()
            with pytest.raises(EncodeError, match="late"):
                waiting.result()


class TestColumns:
    def test_ids_with_rules_and_without(self, box, topic, impl):
        """Each value is decrypted by the rules of its own schema, unless another is asked for."""
        subject = f"{topic}-value"
        box.registry.register(subject, Schema(json.dumps(ORDER), metadata=Metadata.of({"a": "1"})))
        plain = Serde("AVRO", box.registry, topic=topic, config={"use.latest.version": True}).serialize(ROWS)
        closed = written(box, topic)
        mixed = [*plain.to_pylist(), *closed.to_pylist(), *plain.to_pylist()]
        serde = Serde("AVRO", box.registry, topic=topic, config=SETTINGS)
        assert serde.deserialize(mixed).to_pylist() == ROWS * 3
        by_name = Serde("AVRO", box.registry, topic=topic, config=SETTINGS, reader_schema="latest")
        assert by_name.deserialize(mixed).to_pylist() == ROWS * 3
        # By the rules of the latest version, plain text is not encrypted as it should be.
        _, report = box.serde("AVRO", topic).deserialize(mixed, errors="report")
        assert report["row"].to_pylist() == [0, 1, 6, 7]

    def test_renamed_and_chosen_fields(self, box, topic, impl):
        values = written(box, topic)
        renamed = order({"name": "mail", "aliases": ["email"], "type": ["null", "string"]})
        found = box.serde("AVRO", topic, {"use.latest.version": False}, reader_schema=renamed).deserialize(
            values
        )
        assert [row and row["mail"] for row in found.to_pylist()] == ["one", "two", None]
        assert box.serde("AVRO", topic).select(["id"]).deserialize(values).to_pylist() == [
            {"id": 1},
            {"id": 2},
            None,
        ]

    @pytest.mark.parametrize("tags", [(), ("PII",)])
    def test_types_that_rules_do_not_encrypt(self, box, topic, impl, tags):
        schema = order({"name": "count", "type": "long", "confluent:tags": ["PII"]})
        box.register(f"{topic}-value", schema, tags=tags)
        with pytest.raises(EncodeError, match=r"encryption: row 0, (id|count).* is not encrypted"):
            box.serde("AVRO", topic).serialize([{"id": 1, "count": 2}])
        plain = box.serde("AVRO", topic, {"rule.executors.encrypt.disabled": "true"})
        values = plain.serialize(
            pa.array([{"id": 1, "count": 2}], pa.struct([("id", pa.int32()), ("count", pa.int64())]))
        )
        assert box.serde("AVRO", topic).deserialize(values).to_pylist() == [{"id": 1, "count": 2}]

    def test_what_cannot_be_looked_into_is_not_written(self, box, topic, impl):
        schema = '{"type": "object", "properties": {"email": {"type": "string", "confluent:tags": ["PII"]}}}'
        box.register(f"{topic}-value", schema, "JSON")
        with pytest.raises(
            EncodeError,
            match=r"encryption: row 0.* encrypts \$\.email, which cannot be found in a column of string",
        ):
            box.serde("JSON_SR", topic).serialize(pa.array(['{"email": "one"}']))

    @pytest.mark.parametrize(
        "change",
        [
            lambda rows: pa.chunked_array([rows[:1], rows[1:]]),
            lambda rows: pa.concat_arrays([rows, rows])[2:5],
            lambda rows: pa.StructArray.from_arrays(
                [rows.field(0), rows.field(1).dictionary_encode()], names=["id", "email"], mask=rows.is_null()
            ),
            lambda rows: pa.StructArray.from_arrays(
                [rows.field(0), rows.field(1).cast(pa.string_view())],
                names=["id", "email"],
                mask=rows.is_null(),
            ),
            lambda rows: pa.StructArray.from_arrays(
                [rows.field(0), rows.field(1).cast(pa.large_string())],
                names=["id", "email"],
                mask=rows.is_null(),
            ),
        ],
    )
    def test_layouts(self, box, topic, impl, change):
        box.register(f"{topic}-value", ORDER)
        rows = change(pa.array(ROWS, pa.struct([("id", pa.int32()), ("email", pa.string())])))
        serde = box.serde("AVRO", topic, schema=ORDER)
        values = serde.serialize(rows, use_threads=True)
        assert serde.deserialize(values, use_threads=True).to_pylist() == rows.to_pylist()

    def test_a_field_without_presence_is_never_absent(self, box, topic, impl):
        """Confluent's rules encrypt the empty text that a field of Protobuf has while it is not set."""
        text = 'syntax = "proto3"; import "confluent/meta.proto"; message M { int32 id = 1; '
        text += 'string email = 2 [(confluent.field_meta).tags = "PII"]; }'
        box.register(f"{topic}-value", text, "PROTOBUF")
        rows = pa.array([{"id": 1, "email": None}], pa.struct([("id", pa.int32()), ("email", pa.string())]))
        values = box.serde("PROTOBUF", topic).serialize(rows)
        assert box.serde("PROTOBUF", topic).deserialize(values).to_pylist() == [{"id": 1, "email": ""}]

    def test_base64_in_documents(self, box, topic, impl):
        """A property that is Base64 already is a column of bytes."""
        email = '{"type": "string", "contentEncoding": "base64", "confluent:tags": ["PII"]}'
        box.register(f"{topic}-value", f'{{"type": "object", "properties": {{"email": {email}}}}}', "JSON")
        serializer = box.their(JSONSerializer, None, box.client, None)
        value = serializer({"email": "AQID"}, context(topic))
        serde = box.serde("JSON_SR", topic)
        rows = serde.deserialize([value])
        assert rows.to_pylist() == [{"email": b"\1\2\3"}]
        theirs = box.their(JSONDeserializer, None, schema_registry_client=box.client)
        assert theirs(serde.serialize(rows)[0].as_py(), context(topic)) == {"email": "AQID"}

    def test_tags_of_metadata(self, box, topic, impl):
        untagged = order({"name": "email", "type": "string"})
        metadata = Metadata.of(tags={"Order.e*": ["PII"]})
        values = written(box, topic, untagged, metadata=metadata)
        assert box.serde("AVRO", topic).deserialize(values).to_pylist() == ROWS
        plain = box.serde("AVRO", topic, {"rule.executors.encrypt.disabled": "true"}).deserialize(values)
        assert plain[0].as_py()["email"] != "one"

    def test_what_is_registered_by_writing_is_encrypted(self, impl):
        """The rules of a schema that is given are registered with it, and hold at once."""
        rule = Rule(
            "encrypt",
            type="ENCRYPT",
            tags=("PII",),
            params={"encrypt.kek.name": "k", "encrypt.kms.type": "local-kms", "encrypt.kms.key.id": "i"},
        )
        registry = MemoryRegistry()
        schema = Schema(json.dumps(ORDER), rules=RuleSet(domain=(rule,)))
        serde = Serde("AVRO", registry, topic="t", schema=schema, config=SETTINGS)
        value = serde.serialize(ROWS)[0].as_py()
        assert registry.get(1).schema.rules == schema.rules
        assert b"\x06one" not in value
        assert serde.deserialize([value]).to_pylist() == ROWS[:1]
        assert serde.serialize_one({"id": 1, "email": "one"}) != serde.serialize_one(
            {"id": 1, "email": "one"}
        )
        assert serde.deserialize_one(serde.serialize_one({"id": 1, "email": "one"})) == ROWS[0]
        with pytest.raises(ConfigError, match="unions"):
            serde.serialize_one({"id": 1, "email": "one"}, unions="value")


class TestPayloads:
    @pytest.mark.parametrize("expiry", ["0", "1"])
    def test_both_ways(self, box, topic, impl, expiry):
        box.register(f"{topic}-value", ORDER, payload=True, encrypt_dek_expiry_days=expiry)
        serde = box.serde("AVRO", topic, schema=ORDER)
        serializer = box.their(AvroSerializer, box.client, None)
        written = [None if row is None else serializer(dict(row), context(topic)) for row in ROWS]
        for _ in range(2):
            # The second time the schema is known.
            assert serde.deserialize(written).to_pylist() == ROWS
        ours = serde.serialize(ROWS, as_list=True)
        assert b"one" not in ours[0]
        theirs = box.their(AvroDeserializer, box.client)
        assert [theirs(each, context(topic)) for each in ours] == ROWS
        assert serde.deserialize_one(ours[0]) == ROWS[0]

    def test_failures(self, box, topic, impl):
        box.register(f"{topic}-value", ORDER, payload=True)
        values = box.serde("AVRO", topic, schema=ORDER).serialize(ROWS).to_pylist()
        values[0] = values[0][:-1]
        rows, report = box.serde("AVRO", topic).deserialize(values, errors="report")
        assert rows.to_pylist() == [None, *ROWS[1:]]
        assert report.to_pylist()[0] | {"reason": ""} == {
            "row": 0,
            "offset": 5,
            "path": "",
            "code": "encryption",
            "reason": "",
            "schema_id": report["schema_id"][0].as_py(),
        }
        _, report = other_key(box, topic).serialize(ROWS, errors="report")
        assert report["code"].to_pylist() == ["encryption"] * 2


def test_settings():
    for key in ("rule.executors.encrypt", "rule.executors.encrypt.param.", "rule.executors.x.class"):
        with pytest.raises(ConfigError, match="unknown setting"):
            Serde("AVRO", MemoryRegistry(), config={key: "x"})
    assert Dek("k", "s").json == {"kekName": "k", "subject": "s", "version": 1, "algorithm": "AES256_GCM"}

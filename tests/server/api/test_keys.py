"""The calls of Confluent's DEK registry, with its answers and refusals."""

import base64
import json
import sqlite3
from urllib.parse import quote

import pytest
from asked import Asked
from cases import cases
from confluent_kafka.schema_registry.error import SchemaRegistryError
from confluent_kafka.schema_registry.rules.encryption.dek_registry.dek_registry_client import (
    DekAlgorithm,
    DekRegistryClient,
)
from registry_server import serve
from shop_users import KEPT, basic

from kcodec.registry.keys.material import key_of
from kcodec.registry.keys.services import unwrap
from kcodec.registry.keys.values import Kek
from kcodec.registry.memory import MemoryRegistry
from kcodec.registry.sqlite import SqliteRegistry

KEKS = "/dek-registry/v1/keks"
KEK = {"name": "pii", "kmsType": "local-kms", "kmsKeyId": "mykey"}
DEKS = f"{KEKS}/pii/deks"
DEK = {"subject": "orders-value", "encryptedKeyMaterial": "c2VjcmV0"}


@pytest.fixture
def known(ask):
    assert ask("POST", KEKS, KEK).status == 200
    assert ask("POST", f"{DEKS}/orders-value", DEK).status == 200
    return ask


def without_time(answer):
    assert answer.status == 200
    return {key: value for key, value in answer.json.items() if key != "ts"}


class TestKeks:
    def test_is_registered_and_found(self, ask):
        body = {**KEK, "kmsProps": {"b": "2", "a": "1"}, "doc": "of people", "shared": False}
        made = ask("POST", KEKS, body)
        assert made.json["ts"] > 0
        assert without_time(made) == {**body, "kmsProps": {"a": "1", "b": "2"}}
        assert ask("GET", f"{KEKS}/pii").json == made.json
        assert ask("GET", KEKS).json == ["pii"]

    @pytest.mark.parametrize(
        ("given", "kept"),
        [
            ("aws", "aws-kms"),
            ("AWS-KMS", "aws-kms"),
            ("azure", "azure-kms"),
            ("gcp", "gcp-kms"),
            ("hcvault", "hcvault"),
        ],
    )
    def test_services_have_other_names(self, ask, given, kept):
        assert ask("POST", KEKS, {**KEK, "kmsType": given}).json["kmsType"] == kept

    def test_exists_already(self, known):
        refusal = 409, 40971, "Key 'pii' already exists; use a different value"
        assert known("POST", KEKS, KEK).fault == refusal
        assert known("POST", KEKS, {**KEK, "kmsKeyId": "another"}).fault == refusal

    @cases(
        ("changes", "part"),
        [
            ({"name": None}, "name"),
            ({"name": ""}, "name"),
            ({"name": "1st"}, "name"),
            ({"name": "a b"}, "name"),
            ({"name": "x" * 257}, "name"),
            ({"name": 7}, "name"),
            ({"kmsType": None}, "kmsType"),
            ({"kmsKeyId": ""}, "kmsKeyId"),
            ({"kmsKeyId": ["x"]}, "kmsKeyId"),
            ({"kmsProps": {"a": 1}}, "kmsProps"),
            ({"kmsProps": []}, "kmsProps"),
            ({"kmsProps": "a"}, "kmsProps"),
            ({"doc": 1}, "doc"),
            ({"shared": "true"}, "shared"),
        ],
    )
    def test_parts_that_are_wrong(self, ask, changes, part):
        answer = ask("POST", KEKS, {**KEK, **changes})
        if changes == {"kmsProps": []}:
            assert answer.status == 200
        else:
            assert answer.fault == (422, 42271, part)

    def test_is_changed(self, known):
        changes = {"doc": "more", "kmsProps": {"a": "1"}, "kmsKeyId": "not this"}
        assert without_time(known("PUT", f"{KEKS}/pii", changes)) == {
            **KEK,
            "doc": "more",
            "kmsProps": {"a": "1"},
            "shared": False,
        }
        assert without_time(known("PUT", f"{KEKS}/pii", {"doc": None})) == {
            **KEK,
            "kmsProps": {"a": "1"},
            "shared": False,
        }
        assert known("PUT", f"{KEKS}/none", {}).fault == (404, 40470, "Key 'none' not found")

    def test_is_deleted_softly_then_for_good(self, known):
        assert known("DELETE", f"{KEKS}/pii").fault == (
            422,
            42272,
            "One or more references exist to the key pii",
        )
        assert known("DELETE", f"{DEKS}/orders-value").status == 204
        assert known("DELETE", f"{KEKS}/pii?permanent=true").fault[:2] == (422, 42272)
        assert known("DELETE", f"{DEKS}/orders-value?permanent=true").status == 204
        assert known("DELETE", f"{KEKS}/pii?permanent=true").fault == (
            404,
            40471,
            "Key 'pii' was not deleted first before being permanently deleted",
        )
        assert known("DELETE", f"{KEKS}/pii").status == 204
        assert known("GET", KEKS).json == []
        assert known("GET", f"{KEKS}?deleted=true").json == ["pii"]
        assert known("GET", f"{KEKS}/pii").fault == (404, 40470, "Key 'pii' not found")
        assert known("GET", f"{KEKS}/pii?deleted=true").json["deleted"] is True
        assert known("POST", f"{KEKS}/pii/undelete").status == 204
        assert known("GET", f"{KEKS}/pii").status == 200
        assert known("DELETE", f"{KEKS}/pii").status == 204
        # To register the same again is to have it again, to register another is not.
        assert known("POST", KEKS, {**KEK, "doc": "x"}).fault[:2] == (409, 40971)
        assert known("POST", KEKS, KEK).status == 200
        assert known("DELETE", f"{KEKS}/pii").status == 204
        assert known("DELETE", f"{KEKS}/pii?permanent=true").status == 204
        assert known("GET", f"{KEKS}/pii?deleted=true").fault[:2] == (404, 40470)
        assert known("DELETE", f"{KEKS}/pii").fault[:2] == (404, 40470)
        assert known("POST", f"{KEKS}/pii/undelete").fault[:2] == (404, 40470)

    def test_lists_by_subjects_and_in_pages(self, ask):
        for name in ("c", "a", "b"):
            ask("POST", KEKS, {**KEK, "name": name})
        ask("POST", f"{KEKS}/b/deks/orders-value", DEK)
        assert ask("GET", f"{KEKS}?offset=1&limit=1").json == ["b"]
        assert ask("GET", f"{KEKS}?subjectPrefix=orders").json == ["b"]
        assert ask("GET", f"{KEKS}?subjectPrefix=x&subjectPrefix=y").json == []


class TestDeks:
    def test_is_registered_and_found(self, known):
        kept = {**DEK, "kekName": "pii", "version": 1, "algorithm": "AES256_GCM"}
        assert without_time(known("GET", f"{DEKS}/orders-value")) == kept
        assert without_time(known("GET", f"{DEKS}/orders-value/versions/1?algorithm=AES256_GCM")) == kept
        assert without_time(known("GET", f"{DEKS}/orders-value/versions/latest")) == kept
        assert known("GET", DEKS).json == ["orders-value"]
        assert known("GET", f"{DEKS}/orders-value/versions").json == [1]
        other = known("GET", f"{DEKS}/orders-value?algorithm=AES256_SIV")
        assert other.fault == (404, 40470, "Key 'orders-value' not found")

    def test_versions_and_algorithms_count_for_themselves(self, known):
        for version in (3, 2):
            assert known("POST", f"{DEKS}/orders-value", {**DEK, "version": version}).status == 200
        assert known("POST", DEKS, {**DEK, "algorithm": "AES256_SIV"}).status == 200
        assert known("GET", f"{DEKS}/orders-value/versions").json == [1, 2, 3]
        assert known("GET", f"{DEKS}/orders-value/versions?algorithm=AES256_SIV").json == [1]
        assert known("GET", f"{DEKS}/orders-value/versions/-1").json["version"] == 3
        assert known("POST", f"{DEKS}/orders-value", DEK).fault == (
            409,
            40971,
            "Key 'orders-value' already exists; use a different value",
        )

    @pytest.mark.parametrize(
        ("path", "changes", "refusal"),
        [
            ("", {"subject": None}, (422, 42271, "subject")),
            ("", {"subject": "a\n"}, (422, 42271, "subject")),
            ("/other", {}, (422, 42271, "subject")),
            ("", {"algorithm": "AES512"}, (422, 42271, "algorithm")),
            ("", {"version": 0}, (422, 42271, "version")),
            ("", {"version": "1"}, (422, 42271, "version")),
            ("", {"encryptedKeyMaterial": None}, (422, 42271, "encryptedKeyMaterial")),
            ("", {"encryptedKeyMaterial": 1}, (422, 42271, "encryptedKeyMaterial")),
        ],
    )
    def test_parts_that_are_wrong(self, known, path, changes, refusal):
        assert known("POST", f"{DEKS}{path}", {**DEK, "version": 2, **changes}).fault == refusal

    def test_needs_a_key_that_encrypts_it(self, ask):
        for method, path, body in (
            ("GET", f"{KEKS}/none/deks", None),
            ("GET", f"{KEKS}/none/deks/s", None),
            ("GET", f"{KEKS}/none/deks/s/versions", None),
            ("POST", f"{KEKS}/none/deks/s", {**DEK, "subject": "s"}),
            ("DELETE", f"{KEKS}/none/deks/s", None),
            ("POST", f"{KEKS}/none/deks/s/undelete", None),
        ):
            assert ask(method, path, body).fault == (404, 40470, "Key 'none' not found"), path

    def test_is_deleted_softly_then_for_good(self, known):
        place = f"{DEKS}/orders-value"
        known("POST", place, {**DEK, "version": 2})
        assert known("DELETE", f"{place}/versions/1?permanent=true").fault == (
            404,
            40471,
            "Key 'orders-value' was not deleted first before being permanently deleted",
        )
        assert known("DELETE", f"{place}/versions/1").status == 204
        assert known("GET", f"{place}/versions/1").fault[:2] == (404, 40470)
        assert known("GET", f"{place}/versions/1?deleted=true").json["deleted"] is True
        assert known("GET", f"{place}/versions").json == [2]
        assert known("POST", f"{place}/versions/1/undelete").status == 204
        assert known("GET", f"{place}/versions").json == [1, 2]
        assert known("DELETE", place).status == 204
        assert known("GET", DEKS).json == []
        assert known("GET", f"{DEKS}?deleted=true").json == ["orders-value"]
        assert known("DELETE", f"{KEKS}/pii").status == 204
        assert known("POST", f"{place}/undelete").fault == (404, 40472, "Key 'pii' must be undeleted first")
        assert known("POST", f"{KEKS}/pii/undelete").status == 204
        assert known("POST", f"{place}/undelete").status == 204
        assert known("GET", f"{place}/versions").json == [1, 2]
        known("DELETE", place)
        assert known("DELETE", f"{place}?permanent=true").status == 204
        assert known("DELETE", place).fault == (404, 40470, "Key 'orders-value' not found")
        assert known("GET", f"{place}/versions/0").fault[:2] == (422, 42202)

    def test_subjects_of_contexts_and_with_slashes(self, known):
        for subject in (":.lab:a/b", "ä b"):
            place = f"{DEKS}/{quote(subject, safe='')}"
            assert known("POST", place, {**DEK, "subject": subject}).status == 200
            assert known("GET", place).json["subject"] == subject


class TestShared:
    def test_the_server_makes_and_shows_the_key(self, ask, monkeypatch):
        pytest.importorskip("tink")  # of the extra `rules`
        monkeypatch.setenv("LOCAL_SECRET", "of the server")
        ask("POST", KEKS, {**KEK, "shared": True})
        made = ask("POST", f"{DEKS}/s", {"subject": "s", "algorithm": "AES256_SIV"}).json
        material = base64.b64decode(made["keyMaterial"])
        assert len(key_of("AES256_SIV", material)) == 64
        kek = Kek("pii", "local-kms", "mykey")
        assert unwrap(kek, base64.b64decode(made["encryptedKeyMaterial"]), {}) == material
        assert ask("GET", f"{DEKS}/s?algorithm=AES256_SIV").json == made
        assert made["keyMaterial"] not in repr(ask.registry.keys.dek("pii", "s", 1, "AES256_SIV"))
        assert ask("POST", f"{KEKS}/pii/test").json["name"] == "pii"
        # Encrypted again, it is the same key.
        again = ask("POST", f"{DEKS}/s?rewrap=true", {"subject": "s", "algorithm": "AES256_SIV"}).json
        assert again["keyMaterial"] == made["keyMaterial"]
        assert again["encryptedKeyMaterial"] != made["encryptedKeyMaterial"]

    def test_without_the_service(self, ask, monkeypatch):
        monkeypatch.delenv("LOCAL_SECRET", raising=False)
        ask("POST", KEKS, {**KEK, "shared": True})
        status, code, message = ask("POST", f"{DEKS}/s", {"subject": "s"}).fault
        assert (status, code) == (500, 50070)
        assert message.startswith("Could not generate encrypted dek for s")
        assert ask("POST", f"{KEKS}/pii/test").fault[:2] == (500, 50070)
        ask("PUT", f"{KEKS}/pii", {"shared": False})
        assert ask("POST", f"{KEKS}/pii/test").fault == (422, 42271, "shared")


class TestAccess:
    @pytest.fixture
    def asked(self, tmp_path):
        file = tmp_path / "access.json"
        grants = [
            {"role": "read", "users": ["reader"], "subjects": ["orders-*"]},
            {"role": "write", "users": ["writer"], "subjects": ["orders-*", "pii"]},
            {"role": "admin", "users": ["owner"], "subjects": ["pii"]},
            {"role": "admin", "users": ["admin"]},
        ]
        names = ("reader", "writer", "owner", "admin")
        file.write_text(json.dumps({"users": dict.fromkeys(names, KEPT), "grants": grants}))
        found = Asked(access=str(file))
        yield lambda user, *request: found(*request, headers=basic(user))
        found.close()

    def test_by_roles_as_for_subjects(self, asked):
        refused = 403, 40301
        assert asked("reader", "POST", KEKS, KEK).fault[:2] == refused
        assert asked("writer", "POST", KEKS, {**KEK, "name": "other"}).fault[:2] == refused
        assert asked("writer", "POST", KEKS, KEK).status == 200
        assert asked("reader", "GET", f"{KEKS}/pii").status == 200
        assert asked("reader", "POST", f"{DEKS}/orders-value", DEK).fault[:2] == refused
        assert asked("writer", "POST", f"{DEKS}/orders-value", DEK).status == 200
        assert asked("admin", "POST", f"{DEKS}/hidden", {**DEK, "subject": "hidden"}).status == 200
        assert asked("reader", "GET", f"{DEKS}/orders-value").status == 200
        assert asked("reader", "GET", f"{DEKS}/hidden").fault[:2] == refused
        assert asked("reader", "GET", f"{DEKS}/hidden/versions").fault[:2] == refused
        assert asked("reader", "GET", DEKS).json == ["orders-value"]
        assert asked("reader", "DELETE", f"{DEKS}/orders-value").fault[:2] == refused
        assert asked("writer", "DELETE", f"{DEKS}/orders-value").status == 204
        assert asked("writer", "DELETE", f"{DEKS}/orders-value?permanent=true").fault[:2] == refused
        assert asked("writer", "PUT", f"{KEKS}/pii", {"doc": "x"}).fault[:2] == refused
        assert asked("admin", "PUT", f"{KEKS}/pii", {"doc": "x"}).status == 200
        assert asked("writer", "DELETE", f"{KEKS}/pii").fault[:2] == refused

    def test_what_the_server_asks_a_service_for_is_said_by_who_administers_all(self, asked):
        """It asks with its own credentials, and where the key says: elsewhere they would be somebody else's."""
        refused = 403, 40301
        shared = {**KEK, "shared": True}
        props = {"kmsProps": {"a": "b"}}
        for user in ("writer", "owner"):
            assert asked(user, "POST", KEKS, shared).fault[:2] == refused
        assert asked("owner", "POST", KEKS, KEK).status == 200
        assert asked("owner", "PUT", f"{KEKS}/pii", {**props, "shared": False}).status == 200
        assert asked("owner", "PUT", f"{KEKS}/pii", {"shared": True}).fault[:2] == refused
        assert asked("admin", "PUT", f"{KEKS}/pii", {"shared": True}).status == 200
        assert asked("owner", "PUT", f"{KEKS}/pii", {"kmsProps": {}}).fault[:2] == refused
        assert asked("owner", "PUT", f"{KEKS}/pii", {"doc": "x"}).status == 200
        assert asked("owner", "PUT", f"{KEKS}/pii", {"shared": False}).status == 200


def test_the_client_of_confluent_kafka():
    with serve(MemoryRegistry()) as served:
        client = DekRegistryClient.new_client({"url": served.url})
        kek = client.register_kek("pii", "local-kms", "mykey", False, {"a": "b"}, "doc")
        assert client.get_kek("pii").to_dict() == kek.to_dict()
        dek = client.register_dek("pii", "t-value", "c2VjcmV0", DekAlgorithm.AES128_GCM, 2)
        found = client.get_dek("pii", "t-value", DekAlgorithm.AES128_GCM, 2)
        assert found.to_dict() == dek.to_dict()
        assert found.encrypted_key_material == "c2VjcmV0"
        with pytest.raises(SchemaRegistryError) as caught:
            client.get_dek("pii", "other-value")
        assert (caught.value.http_status_code, caught.value.error_code) == (404, 40470)


def test_keys_are_kept_in_a_file(tmp_path):
    first = SqliteRegistry(str(tmp_path / "registry.db"))
    first.keys.register_kek(Kek("pii", "local-kms", "mykey"))
    first.close()
    assert SqliteRegistry(str(tmp_path / "registry.db")).keys.kek_names() == ["pii"]


def test_a_file_of_an_older_format_gets_the_tables(tmp_path):
    path = tmp_path / "registry.db"
    SqliteRegistry(str(path)).close()
    with sqlite3.connect(path) as old:
        for table in ("deks", "keks", "changes"):
            old.execute(f"DROP TABLE {table}")
        for column in ("ts", "author"):
            old.execute(f"ALTER TABLE versions DROP COLUMN {column}")
        old.execute("PRAGMA user_version = 2")
    old.close()
    registry = SqliteRegistry(str(path))
    assert registry.keys.register_kek(Kek("pii", "local-kms", "mykey")).name == "pii"

"""Who changed what, and when: in the database of an embedded registry."""

import itertools
import pickle
import time

import pytest

from kcodec.errors import RegistryError
from kcodec.registry import Config, Schema
from kcodec.registry.keys.values import Dek, Kek
from kcodec.registry.memory import MemoryRegistry, _scopes
from kcodec.registry.sqlite import SqliteRegistry
from kcodec.registry.store.change_log import ACTIONS, author, time_text

INT, LONG, TEXT = Schema('"int"'), Schema('"long"'), Schema('"string"')


@pytest.fixture(params=["memory", "file"])
def registry(request, tmp_path):
    if request.param == "memory":
        yield MemoryRegistry()
        return
    registry = SqliteRegistry(str(tmp_path / "schemas.db"))
    yield registry
    registry.close()


@pytest.fixture
def anna():
    token = author.set("anna")
    yield "anna"
    author.reset(token)


def seen(registry, **wanted):
    """What was changed, the oldest first."""
    return [
        (each.action, each.subject, each.version, each.detail)
        for each in reversed(registry.changes(**wanted))
    ]


def test_each_change_is_logged_once(registry):
    registry.register("a", INT)
    registry.register("a", INT)
    registry.register(":.lab:b", TEXT)
    registry.register("a", LONG)
    registry.delete_version("a", 1)
    registry.delete_version("a", 1, permanent=True)
    registry.delete_subject(":.lab:b")
    registry.delete_subject(":.lab:b", permanent=True)
    registry.delete_context(".lab")
    registry.set_config(Config(compatibility="FULL", normalize=True), "a", cleared=["alias"])
    registry.delete_config("a")
    registry.set_config(Config(compatibility="NONE"))
    registry.set_mode("READONLY", "a")
    registry.delete_mode("a")
    registry.set_mode("READONLY")
    registry.delete_modes()
    assert seen(registry) == [
        ("register", "a", 1, {"id": 1}),
        ("register", ":.lab:b", 1, {"id": 1}),
        ("register", "a", 2, {"id": 2}),
        ("delete_version", "a", 1, {"permanent": False}),
        ("delete_version", "a", 1, {"permanent": True}),
        ("delete_subject", ":.lab:b", None, {"permanent": False, "versions": [1]}),
        ("delete_subject", ":.lab:b", None, {"permanent": True, "versions": [1]}),
        ("delete_context", ":.lab:", None, {}),
        (
            "set_config",
            "a",
            None,
            {"set": {"compatibility": "FULL", "normalize": True}, "cleared": ["alias"]},
        ),
        ("delete_config", "a", None, {}),
        ("set_config", None, None, {"set": {"compatibility": "NONE"}}),
        ("set_mode", "a", None, {"mode": "READONLY", "force": False}),
        ("delete_mode", "a", None, {}),
        ("set_mode", None, None, {"mode": "READONLY", "force": False}),
        ("delete_mode", None, None, {}),
    ]
    assert {action for action, *_ in seen(registry)} == {
        each for each in ACTIONS if "kek" not in each and "dek" not in each
    }


def test_imports_are_logged(registry):
    registry.register("a", INT)
    registry.delete_subject("a")
    registry.set_mode("IMPORT")
    registry.register("a", TEXT, schema_id=7, version=3)
    registry.register("a", TEXT, schema_id=7, version=3)
    registry.delete_version("a", 3)
    registry.register("a", TEXT, schema_id=7, version=3)
    assert seen(registry)[2:] == [
        ("delete_version", "a", 1, {"permanent": True}),
        ("set_mode", None, None, {"mode": "IMPORT", "force": False}),
        ("register", "a", 3, {"id": 7}),
        ("delete_version", "a", 3, {"permanent": False}),
        ("register", "a", 3, {"id": 7}),
    ]


def test_keys_are_logged_without_what_is_secret(registry):
    keys = registry.keys
    keys.register_kek(Kek("pii", "local-kms", "mykey", (("secret", "s3cr3t"),)))
    keys.update_kek("pii", {"doc": "of persons", "kmsProps": {"secret": "n3w"}})
    keys.update_kek("pii", {"doc": "of persons"})
    keys.register_dek(Dek("pii", "a", encrypted_key_material="c2VjcmV0"))
    keys.delete_dek("pii", "a")
    keys.delete_dek("pii", "a")
    keys.undelete_dek("pii", "a")
    keys.delete_dek("pii", "a")
    keys.delete_dek("pii", "a", permanent=True)
    keys.delete_kek("pii")
    keys.delete_kek("pii")
    keys.undelete_kek("pii")
    keys.delete_kek("pii")
    keys.delete_kek("pii", permanent=True)
    dek = {"kek": "pii", "algorithm": "AES256_GCM"}
    assert seen(registry) == [
        (
            "register_kek",
            None,
            None,
            {"kek": "pii", "kms_type": "local-kms", "kms_key_id": "mykey", "shared": False},
        ),
        ("update_kek", None, None, {"kek": "pii", "changed": ["kmsProps", "doc"]}),
        ("register_dek", "a", 1, {**dek, "rewrap": False}),
        ("delete_dek", "a", 1, {**dek, "permanent": False}),
        ("undelete_dek", "a", 1, dek),
        ("delete_dek", "a", 1, {**dek, "permanent": False}),
        ("delete_dek", "a", 1, {**dek, "permanent": True}),
        ("delete_kek", None, None, {"kek": "pii", "permanent": False}),
        ("undelete_kek", None, None, {"kek": "pii"}),
        ("delete_kek", None, None, {"kek": "pii", "permanent": False}),
        ("delete_kek", None, None, {"kek": "pii", "permanent": True}),
    ]
    for secret in ("s3cr3t", "n3w", "c2VjcmV0"):
        assert secret not in str(registry.changes())


def test_what_fails_is_not_logged(registry):
    registry.register("a", INT)
    registry.set_mode("READONLY")
    before = registry.changes()
    for change in (
        lambda: registry.register("a", LONG),
        lambda: registry.delete_subject("a"),
        lambda: registry.delete_mode("nothing"),
        lambda: registry.keys.delete_kek("nothing"),
    ):
        with pytest.raises(RegistryError):
            change()
    assert registry.changes() == before


def test_what_is_taken_back_is_not_logged(registry):
    def fails():
        registry.register("b", INT)
        raise RegistryError("no", 500, 50001)

    made, failed = registry.database.together([lambda: registry.register("a", INT), fails])
    assert (made.subject, str(failed)) == ("a", "no")
    assert seen(registry) == [("register", "a", 1, {"id": 1})]


def test_a_version_and_its_change_have_one_time(registry, monkeypatch):
    clock = itertools.count(1_700_000_000)
    monkeypatch.setattr("kcodec.registry.store.change_log.time.time", lambda: next(clock))
    registry.register("a", INT)
    [change] = registry.changes()
    assert registry.origins("a", [1])[1].ts == change.ts


def test_who_and_when(registry, anna):
    start = int(time.time() * 1000)
    registry.register("a", INT)
    author.set("")
    registry.register("a", LONG)
    later, first = registry.changes()
    assert (first.user, later.user) == (anna, "")
    assert start <= first.ts <= later.ts <= time.time() * 1000
    assert registry.origins("a", [1, 2, 3]) == {1: (first.ts, anna), 2: (later.ts, "")}
    assert registry.origins("a", []) == registry.origins("nothing", [1]) == {}
    registry.delete_version("a", 1)
    assert registry.origins("a", [1]) == {1: (first.ts, anna)}
    assert first.json == {
        "number": 1,
        "time": time_text(first.ts),
        "user": anna,
        "action": "register",
        "subject": "a",
        "version": 1,
        "detail": {"id": 1},
    }
    assert later.json["user"] is None


def test_an_alias_is_what_it_means(registry):
    registry.set_config(Config(alias="a"), "other")
    registry.register("other", INT)
    assert seen(registry, subject="a") == [("register", "a", 1, {"id": 1})]
    assert registry.origins("other", [1]) == registry.origins("a", [1])
    assert len(registry.origins("a", [1])) == 1


def test_some_changes(registry, anna):
    registry.register("a", INT)
    registry.register("b", INT)
    author.set("")
    registry.register("a", LONG)
    registry.set_mode("READONLY", "a")

    def numbers(**wanted):
        return [each.number for each in registry.changes(**wanted)]

    assert numbers() == [4, 3, 2, 1]
    assert numbers(subject="a") == [4, 3, 1]
    assert numbers(user=anna) == [2, 1]
    assert numbers(user="") == [4, 3]
    assert numbers(action="set_mode") == [4]
    assert numbers(before=3) == [2, 1]
    assert numbers(limit=2) == [4, 3]
    assert numbers(limit=2, offset=1) == [3, 2]
    assert numbers(subject="a", user=anna, action="register", before=4, limit=1) == [1]
    assert registry.count_changes() == 4
    assert registry.count_changes("a", user=anna) == 1


def test_large_settings_are_logged_by_their_names(registry):
    rules = {
        "domainRules": [
            {"name": "r", "kind": "CONDITION", "mode": "WRITE", "type": "CEL", "doc": "x" * 100_000}
        ]
    }
    registry.set_config(Config.of({"compatibility": "FULL", "defaultRuleSet": rules}), "a")
    assert seen(registry) == [
        ("set_config", "a", None, {"set": {"compatibility": "FULL"}, "replaced": ["defaultRuleSet"]})
    ]


def test_a_copy_has_the_changes():
    registry = MemoryRegistry("logged")
    registry.register("a", INT)
    pickled = pickle.dumps(registry)
    _scopes.pop("logged", None)
    copy = pickle.loads(pickled)
    assert copy is not registry
    assert copy.changes() == registry.changes() != []

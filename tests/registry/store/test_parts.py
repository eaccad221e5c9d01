"""The parts of an embedded registry, each without the registry."""

import pytest

from kcodec.errors import RegistryError
from kcodec.registry import Config, Reference, Schema
from kcodec.registry.compatibility import levels
from kcodec.registry.metadata import Metadata
from kcodec.registry.settings import DEFAULTS
from kcodec.registry.store.admission import Admission, populated
from kcodec.registry.store.change_log import ChangeLog
from kcodec.registry.store.content import dump, load
from kcodec.registry.store.database import Database
from kcodec.registry.store.ids import Ids
from kcodec.registry.store.own_settings import OwnSettings
from kcodec.registry.store.registration import Registrar
from kcodec.registry.store.settings import EVERYWHERE, SettingsTable, is_top, place_of
from kcodec.registry.store.versions import VersionsTable

INT, LONG = Schema('"int"'), Schema('"long"')


def record(name):
    """Return the schema of a record without fields."""
    return Schema(f'{{"type":"record","name":"{name}","fields":[]}}')


@pytest.fixture
def database():
    database = Database(":memory:", "memory://parts")
    with database.transaction(write=True):
        yield database


@pytest.fixture
def settings(database):
    return SettingsTable(database)


@pytest.fixture
def ids(database, settings):
    return Ids(database, settings)


@pytest.fixture
def versions(database, settings):
    return VersionsTable(database, settings)


@pytest.fixture
def log(database):
    return ChangeLog(database)


@pytest.fixture
def own(settings, versions, log):
    return OwnSettings(settings, versions, log)


@pytest.fixture
def registrar(settings, ids, versions):
    return Registrar(settings, ids, versions, Admission(versions))


@pytest.fixture
def add(ids, versions):
    """A function that registers a schema without any rule."""

    def add(subject, schema, context="."):
        return versions.add(subject, schema, *ids.give(context, schema, None), versions.next_number(subject))

    return add


def refused(code, ask, *arguments, **named):
    with pytest.raises(RegistryError) as caught:
        ask(*arguments, **named)
    assert caught.value.error_code == code
    return str(caught.value)


class TestDatabase:
    def test_a_call_that_fails_leaves_nothing_of_the_transaction(self):
        database = Database(":memory:", "memory://x")

        def insert(name, fails=False):
            database.execute("INSERT INTO contexts VALUES (?, 1)", (name,))
            if fails:
                raise RegistryError("refused", 409, 40901)
            return name

        found = database.together(
            [lambda: insert("a"), lambda: insert("b", fails=True), lambda: insert("a"), lambda: insert("c")]
        )
        assert (found[0], found[1].error_code, found[3]) == ("a", 40901, "c")
        assert "UNIQUE" in str(found[2])
        with database.transaction():
            assert database.execute("SELECT name FROM contexts").fetchall() == [("a",), ("c",)]

    def test_no_statement_runs_once_it_is_closed(self):
        database = Database(":memory:", "memory://x")
        database.close()
        assert refused(50001, database.execute, "SELECT 1") == "the registry was closed while in use"

    def test_its_errors_name_it(self):
        database = Database(":memory:", "memory://x")
        with pytest.raises(RegistryError, match=r"^memory://x: no such table: none"), database.transaction():
            database.execute("SELECT 1 FROM none")


class TestSettings:
    def test_the_nearest_holds(self, settings):
        for place, level in ((EVERYWHERE, "FULL"), (":.lab:", "NONE"), (":.lab:a", "FORWARD")):
            settings.set_config(place, Config(level))
            settings.set_mode(place, "READONLY" if level == "NONE" else "IMPORT")
        levels = [settings.effective(place).compatibility for place in (":.lab:a", ":.lab:b", "c")]
        assert levels == ["FORWARD", "NONE", "FULL"]
        modes = [settings.effective_mode(place) for place in (":.lab:a", ":.lab:b", "c")]
        assert modes == ["IMPORT", "READONLY", "IMPORT"]
        assert settings.modes(":.lab:") == {":.lab:": "READONLY", ":.lab:a": "IMPORT"}
        assert settings.modes(":.lab:a") == {":.lab:a": "IMPORT"}
        settings.drop(":.lab:a")
        assert settings.effective(":.lab:a").compatibility == "NONE"
        assert settings.places() == [":.__GLOBAL:", ":.lab:"]

    def test_aliases(self, settings):
        settings.set_config("a", Config(alias=":.lab:b"))
        settings.set_config(":.lab:b", Config("FULL"))
        assert settings.subject("a") == ":.lab:b"
        name, config = settings.meant("a")
        assert (name, config.compatibility) == (":.lab:b", "FULL")
        assert settings.meant("c")[0] == settings.subject("c") == "c"

    def test_what_a_mode_allows(self, settings):
        settings.set_mode("imported", "IMPORT")
        settings.set_mode("shown", "READONLY")
        assert settings.check_registration("imported", True)
        assert not settings.check_registration("other", False)
        assert "not in read-write" in refused(42205, settings.check_registration, "imported", False)
        assert "not in import" in refused(42205, settings.check_registration, "other", True)
        assert "in read-only" in refused(42205, settings.check_mode, "shown")

    def test_places(self):
        assert [place_of(each) for each in (None, "a", ":.:a", ":.lab:")] == ["", "a", "a", ":.lab:"]
        assert [is_top(each) for each in ("", EVERYWHERE, "a", ":.lab:")] == [True, True, False, False]


class TestIds:
    def test_each_context_gives_its_own(self, ids):
        numbers = [ids.give(*each)[1] for each in ((".", INT, None), (".lab", LONG, None), (".", INT, None))]
        assert numbers == [1, 1, 1]
        assert ids.give(".lab", INT, 40)[1] == ids.highest(".lab") == 40
        assert ids.give(".lab", Schema('"string"'), None)[1] == 41
        assert ids.of_guid(ids.by_id(1, None)[0].guid) == [(".", 1), (".lab", 40)]
        assert ids.contexts() == [".", ".lab"]
        refused(42205, ids.give, ".", LONG, 1)
        refused(42211, ids.delete_context, ".lab")
        refused(40401, ids.delete_context, ".none")

    def test_where_a_schema_is(self, ids, add):
        add("a", INT)
        add("b", INT)
        assert ids.place(1, "b") == ("b", 1)
        assert ids.place(1, "none") == ("a", 1)
        assert ids.places(1, None, deleted=False) == [("a", 1), ("b", 1)]
        assert ids.by_guid(ids.by_id(1, "a")[0].guid)[1] == "."
        refused(40403, ids.by_id, 2, None)
        refused(40403, ids.place, 1, ":.lab:a")


class TestVersions:
    def test_what_is_softly_deleted_is_found_if_that_is_asked(self, versions, add):
        add("a", INT)
        add("a", LONG)
        versions.delete("a", 2, permanent=False)
        assert versions.states("a") == {1: False, 2: True}
        assert versions.get_version("a", "latest").schema == INT
        assert versions.get_version("a", 2, deleted=True).schema == LONG
        assert versions.find("a", LONG) is None
        assert versions.find("a", LONG, deleted=True).version == 2
        assert versions.numbers("a", deleted_only=True) == [2]
        refused(40402, versions.get_version, "a", 2)
        refused(40401, versions.check_exists, "none", deleted=True)
        assert versions.next_number("a") == 3

    def test_the_last_version_takes_the_settings_along(self, versions, settings, add):
        add("a", INT)
        settings.set_config("a", Config("NONE"))
        versions.delete("a", 1, permanent=True)
        assert (versions.all(), settings.places()) == ([], [])

    def test_what_is_referred_to_stays(self, versions, add):
        add("a", INT)
        add("b", Schema('"long"', references=(Reference("x", "a", 1),)))
        assert versions.referring("a", 1, deleted=False) == [2]
        refused(42206, versions.check_unused, "a", 1, deleted=False)
        versions.check_unused("a", 1, deleted=False, besides="b")
        versions.delete("b", 1, permanent=False)
        versions.check_unused("a", 1, deleted=False)
        refused(42206, versions.check_unused, "a", 1, deleted=True)

    def test_what_is_brought_keeps_its_number(self, versions, ids):
        placed = ids.give(".", INT, 7)
        assert versions.bring("a", INT, *placed, 5).version == 5
        assert versions.bring("a", INT, *placed, None).version == 5
        refused(42205, versions.bring, "a", LONG, *ids.give(".", LONG, 8), 5)
        versions.delete("a", 5, permanent=False)
        assert versions.bring("a", INT, *placed, 5).version == 5
        assert versions.states("a") == {5: False}

    def test_only_softly_deleted_versions_are_cleared(self, versions, add):
        add("a", INT)
        add(":.lab:b", LONG, ".lab")
        refused(42205, versions.clear, "")
        versions.delete(":.lab:b", 1, permanent=False)
        versions.clear(":.lab:")
        assert versions.subjects("", deleted=True, deleted_only=False, offset=0, limit=-1) == ["a"]


class TestAdmission:
    def test_the_text_that_is_kept(self, versions, add):
        admission = Admission(versions)
        add("item", Schema('{"type":"record","name":"Item","fields":[]}'))
        given = Schema('["null", "Item"]', references=(Reference("Item", "item", -1),))
        kept, _ = admission.canonical(given, ".", config=Config())
        assert (kept.text, kept.references[0].version) == ('["null","Item"]', 1)
        refused(42201, admission.canonical, Schema("{"), ".", config=Config())
        refused(42201, admission.canonical, given, ".lab", config=Config())

    def test_compatibility(self, versions, add):
        admission = Admission(versions)
        add("a", LONG)
        kept, parsed = admission.compared(INT, ".", Config(), False)
        verdicts = [
            admission.compatibility("a", kept, parsed, Config(level)).compatible
            for level in ("BACKWARD", "FORWARD", "NONE")
        ]
        assert verdicts == [False, True, True]

    def test_what_a_schema_takes_from_others(self):
        owner = Metadata.of({"owner": "shop"})
        config = Config(override_metadata=owner)
        assert populated(Schema(""), LONG, config) == Schema('"long"', metadata=owner)
        refused(42201, populated, Schema(""), None, config)


class TestOwnSettings:
    def test_a_place_of_its_own_and_what_holds(self, own):
        refused(40408, own.config, "a")
        refused(40409, own.mode, "a")
        assert (
            own.config("a", default_to_global=True) == own.config(None) == Config("BACKWARD").over(DEFAULTS)
        )
        assert own.mode("a", default_to_global=True) == own.mode(None) == "READWRITE"
        own.set_config(Config("FULL", normalize=True), "a")
        own.set_config(Config("NONE"), "a")
        assert own.config("a") == Config("NONE", normalize=True)
        assert own.delete_config("a") == Config("NONE", normalize=True)
        refused(40401, own.delete_config, "a")
        refused(40401, own.delete_mode, "a")

    def test_only_what_changed_is_logged_and_large_parts_by_name_alone(self, own, log):
        own.set_config(Config("FULL", default_metadata=Metadata.of({"owner": "shop"})), "a")
        own.set_config(Config(normalize=True), "a", cleared=["defaultMetadata", "normalize"])
        refused(42204, own.set_mode, "FORWARD", "a")
        own.set_mode("READONLY", None)
        refused(42205, own.set_config, Config("NONE"), "a")
        assert own.config("a") == Config("FULL", normalize=True)
        assert [(each.action, each.subject, each.detail) for each in reversed(log.newest())] == [
            ("set_config", "a", {"set": {"compatibility": "FULL"}, "replaced": ["defaultMetadata"]}),
            ("set_config", "a", {"set": {"normalize": True}, "cleared": ["defaultMetadata"]}),
            ("set_mode", None, {"mode": "READONLY", "force": False}),
        ]

    def test_import_takes_places_without_versions(self, own, versions, add):
        add("a", INT)
        refused(42205, own.set_mode, "IMPORT", "a")
        assert own.set_mode("IMPORT", "a", force=True) == "IMPORT"
        assert own.delete_mode("a") == "IMPORT"
        versions.delete("a", 1, permanent=False)
        own.set_mode("IMPORT", "a")
        assert versions.states("a") == {}

    def test_the_modes_of_a_context_go_together(self, own):
        for place in (":.lab:", ":.lab:a", "a"):
            own.set_mode("READONLY", place)
        assert own.delete_modes(":.lab:") == "READONLY"
        refused(40409, own.mode, ":.lab:a")
        assert own.mode("a") == "READONLY"
        assert own.delete_modes(None) == "READWRITE"
        refused(40409, own.mode, "a")


class TestRegistrar:
    def test_what_is_registered_keeps_its_id_and_version(self, registrar):
        stored = registrar.store(registrar.prepare("a", Schema('{"type": "int"}')))
        assert (stored.id, stored.version, stored.schema) == (1, 1, INT)
        assert registrar.prepare("a", INT) == stored == registrar.find("a", INT)
        refused(40403, registrar.find, "a", LONG)
        refused(40401, registrar.find, "none", INT)

    def test_what_others_stored_meanwhile_counts(self, registrar, versions):
        first, second, third = (registrar.prepare("a", each) for each in (LONG, LONG, INT))
        assert registrar.store(first) == registrar.store(second)
        assert "incompatible" in refused(40901, registrar.store, third)
        assert registrar.store(third._replace(force=True)).version == 2
        assert versions.numbers("a") == [1, 2]

    def test_a_version_is_compared_once(self, registrar, settings, monkeypatch):
        compared = []
        monkeypatch.setattr(
            levels, "_differences", lambda known, new, old, policy: compared.append(old.root.name) or []
        )
        settings.set_config("a", Config("BACKWARD_TRANSITIVE"))
        for name in "ab":
            registrar.store(registrar.prepare("a", record(name)))
        compared.clear()
        first, second, third = (registrar.prepare("a", record(name)) for name in "cde")
        assert compared == ["b", "a"] * 3
        compared.clear()
        # While the database is locked, a schema is only compared with what others stored meanwhile.
        registrar.store(first)
        assert compared == []
        registrar.store(second)
        assert compared == ["c"]
        # What has another level since is compared with all that it asks for.
        settings.set_config("a", Config("FORWARD"))
        registrar.store(third)
        assert compared[1:] == ["e"]

    def test_what_does_not_fit_is_not_prepared(self, registrar):
        registrar.store(registrar.prepare("a", INT))
        assert "incompatible" in refused(40901, registrar.prepare, "a", Schema('"string"'))
        assert registrar.prepare("a", Schema('"string"'), force=True).force

    def test_a_number_that_is_given_again_is_compared_again(self, registrar, versions):
        registrar.store(registrar.prepare("a", INT))
        prepared = registrar.prepare("a", LONG)
        versions.delete("a", 1, permanent=True)
        registrar.store(registrar.prepare("a", Schema('"string"')))
        assert "incompatible" in refused(40901, registrar.store, prepared)

    def test_an_id_is_given_where_schemas_are_imported(self, registrar, settings):
        refused(42205, registrar.prepare, "a", INT, schema_id=7)
        settings.set_mode("a", "IMPORT")
        refused(42205, registrar.prepare, "a", INT)
        stored = registrar.store(registrar.prepare("a", Schema('{"type": "int"}'), schema_id=7, version=5))
        assert (stored.id, stored.version, stored.schema) == (7, 5, INT)
        refused(42205, registrar.store, registrar.prepare("a", LONG, schema_id=0))

    def test_compatibility_with_the_latest_or_all(self, registrar, settings):
        settings.set_config("a", Config("NONE"))
        for each in (Schema('"string"'), INT):
            registrar.store(registrar.prepare("a", each))

        def verdict(**asked):
            return registrar.compatibility("a", LONG, "BACKWARD_TRANSITIVE", **asked).compatible

        assert [verdict(), verdict(all_versions=True), verdict(only=1), verdict(only=2)] == [
            True,
            False,
            False,
            True,
        ]
        assert registrar.compatibility("a", Schema('"boolean"')).compatible
        refused(40402, registrar.compatibility, "a", LONG, None, 3)


def test_equal_schemas_have_equal_contents():
    schema = Schema('"int"', references=(Reference("x", "a", 1),), metadata=Metadata.of({"b": "1", "a": "2"}))
    assert load(dump(schema).encode()) == schema
    assert dump(schema) == dump(
        Schema(schema.text, "AVRO", schema.references, Metadata.of({"a": "2", "b": "1"}))
    )

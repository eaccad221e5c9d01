"""Settings and modes of subjects and contexts, and the order in which things are deleted."""

import pytest
from refusals import refused
from small_schemas import INT, LONG, TEXT, record

from kcodec.registry import Config, Reference, Schema
from kcodec.registry.memory import MemoryRegistry


class TestSettings:
    def test_levels(self, registry):
        assert registry.config().compatibility == "BACKWARD"
        with refused(404, 40408, "Subject 's' does not have subject-level compatibility configured"):
            registry.config("s")
        assert registry.config("s", default_to_global=True).compatibility == "BACKWARD"
        assert registry.set_config(Config("full"), "s").compatibility == "FULL"
        assert registry.config("s").compatibility == "FULL"
        assert registry.set_config(Config(normalize=True), "s") == Config(normalize=True)
        assert registry.config("s") == Config("FULL", normalize=True)
        registry.set_config(Config("NONE"))
        assert registry.config().compatibility == "NONE"
        assert registry.delete_config("s").compatibility == "FULL"
        with refused(404, 40408):
            registry.config("s")
        registry.delete_config()
        assert registry.config().compatibility == "BACKWARD"

    @pytest.mark.parametrize("version", [1, None])
    def test_settings_go_with_the_last_version(self, registry, version):
        registry.register("s", INT)
        registry.set_config(Config("NONE"), "s")
        registry.set_mode("READWRITE", "s")

        def delete(permanent):
            if version is None:
                registry.delete_subject("s", permanent=permanent)
            else:
                registry.delete_version("s", version, permanent=permanent)

        delete(False)
        assert registry.config("s").compatibility == "NONE"
        assert registry.mode("s") == "READWRITE"
        delete(True)
        with refused(404, 40408):
            registry.config("s")
        with refused(404, 40409):
            registry.mode("s")

    def test_deletions_are_refused_in_the_order_of_the_server(self, registry):
        registry.register("part", record("x", name="P"))
        whole = Schema('["null","P"]', references=(Reference("P", "part", 1),))
        registry.register("whole", whole)
        with refused(422, 42206):
            registry.delete_version("part", 1, permanent=True)
        with refused(422, 42206):
            registry.delete_subject("part", permanent=True)
        registry.delete_subject("whole")
        registry.delete_subject("part")
        registry.set_mode("READONLY")
        for call in (registry.delete_subject, lambda subject: registry.delete_version(subject, 1)):
            with refused(404, 40401):
                call("none")
        with refused(404, 40402):
            registry.delete_version("part", 2)
        with refused(404, 40406):
            registry.delete_version("part", 1)
        with refused(404, 40404):
            registry.delete_subject("part")
        with refused(422, 42205):
            registry.delete_version("part", 1, permanent=True)
        with refused(422, 42205):
            registry.delete_subject("part", permanent=True)

    def test_what_refers_to_its_own_subject_goes_with_it(self, registry):
        registry.set_config(Config("NONE"))
        registry.set_mode("IMPORT", "s")
        registry.register("s", record("x", name="P"), schema_id=1, version=2)
        registry.register(
            "s", Schema('["null","P"]', references=(Reference("P", "s", 2),)), schema_id=2, version=1
        )
        with refused(422, 42206):
            registry.delete_version("s", 2)
        assert registry.delete_subject("s") == [1, 2]
        assert registry.delete_subject("s", permanent=True) == [1, 2]

    def test_the_latest_version_is_not_softly_deleted(self, registry):
        registry.register("s", INT)
        registry.register("s", LONG)
        registry.delete_version("s", 2)
        assert registry.get_version("s", deleted=True).version == 1
        registry.delete_version("s", 1)
        with refused(404, 40402, "Version -1 not found"):
            registry.get_version("s", deleted=True)
        with refused(404, 40401):
            registry.get_version("s")
        if not registry.url.startswith("http"):
            with refused(404, 40402, "Version -1 not found"):
                registry.delete_version("s", "latest")

    def test_no_levels(self):
        with refused(422, 42203, "Invalid compatibility level"):
            Config("SIDEWAYS")
        with refused(422, 42204, "Invalid mode"):
            MemoryRegistry().set_mode("SLEEPY")

    def test_modes(self, registry):
        assert registry.mode() == "READWRITE"
        with refused(404, 40409, "Subject 's' does not have subject-level mode configured"):
            registry.mode("s")
        assert registry.mode("s", default_to_global=True) == "READWRITE"
        registry.register("s", INT)
        assert registry.set_mode("readonly", "s") == "READONLY"
        for call in (
            lambda: registry.register("s", LONG),
            lambda: registry.delete_version("s", 1),
            lambda: registry.delete_subject("s"),
        ):
            with refused(422, 42205, "is in read-only mode"):
                call()
        assert registry.get_version("s").schema == INT
        registry.register("t", INT)
        assert registry.delete_mode("s") == "READONLY"
        registry.register("s", LONG)
        registry.set_mode("READONLY_OVERRIDE")
        with refused(422, 42205):
            registry.register("s", record("a"))
        registry.set_mode("READWRITE", "s")
        with refused(409, 40901):
            registry.register("s", record("a"))

    def test_import_keeps_ids(self, registry):
        with refused(422, 42205, "is not in import mode"):
            registry.register("s", INT, schema_id=10)
        registry.register("t", LONG)
        with refused(422, 42205, "Cannot import since found existing subjects"):
            registry.set_mode("IMPORT")
        registry.set_mode("IMPORT", "s")
        found = registry.register("s", INT, schema_id=10, version=3)
        assert (found.id, found.version) == (10, 3)
        assert registry.register("s", INT, schema_id=10, version=3) == found
        with refused(422, 42205, "is not in read-write mode"):
            registry.register("s", TEXT)
        with refused(422, 42205, "Overwrite new schema with id 10 in context +is not permitted"):
            registry.register("s", TEXT, schema_id=10)
        with refused(422, 42205, "Subject 's' has another schema as version 3"):
            registry.register("s", TEXT, schema_id=12, version=3)
        # Nothing is compared.
        assert registry.register("s", TEXT, schema_id=7).version == 4
        registry.set_mode("READWRITE", "s")
        assert registry.register("u", record("a")).id > 10
        assert registry.get(10).schema == INT

    def test_what_is_imported_is_taken_as_it_is(self, registry):
        wrong = '{"type":"record","name":"R","fields":[{"name":"a","type":"int","default":"x"}]}'
        reserved = '{"type":"object","properties":{"b":{},"$$a":{}}}'
        registry.set_config(Config(validate_fields=True, normalize=True))
        with refused(422, 42201):
            registry.register("s", Schema(wrong))
        registry.set_mode("IMPORT")
        assert registry.register("s", Schema(wrong), schema_id=7).schema.text == wrong
        found = registry.register("t", Schema(reserved, "JSON"), schema_id=8, normalize=True)
        assert found.schema.text == reserved
        registry.delete_mode()
        assert registry.get_version("s").schema.text == wrong

    def test_import_of_what_is_softly_deleted(self, registry):
        registry.set_mode("IMPORT", "s")
        for version in (1, 2):
            registry.register("s", INT, schema_id=10, version=version)
        registry.register("s", LONG, schema_id=11)
        registry.delete_version("s", 2)
        assert registry.register("s", INT, schema_id=10, version=2).version == 2
        assert registry.versions("s") == [1, 2, 3]
        registry.delete_version("s", 2)
        assert registry.register("s", INT, schema_id=10).version == 1
        registry.delete_version("s", 1)
        assert registry.register("s", INT, schema_id=10).version == 4
        assert registry.versions("s", deleted=True) == [3, 4]

    @pytest.mark.parametrize("place", [None, ":.lab:", ":.lab:s"])
    def test_mode_import_drops_what_is_softly_deleted(self, registry, place):
        registry.set_config(Config("NONE"), ":.lab:s")
        registry.register(":.lab:s", INT)
        registry.delete_subject(":.lab:s")
        assert registry.set_mode("IMPORT", place) == "IMPORT"
        assert registry.subjects(deleted=True) == []
        with refused(404, 40403):
            registry.get(1, ":.lab:s")
        assert registry.config(":.lab:s").compatibility == "NONE"
        if place is None:
            # Its mode is that of the default context.
            registry.set_mode("IMPORT", ":.lab:")
        assert registry.register(":.lab:s", LONG, schema_id=1, version=1).version == 1

    def test_mode_import_keeps_what_is_referred_to(self, registry):
        registry.register("part", record("x", name="P"))
        registry.register("whole", Schema('["null","P"]', references=(Reference("P", "part", 1),)))
        for subject in ("whole", "part"):
            registry.delete_subject(subject)
        with refused(422, 42206):
            registry.set_mode("IMPORT", "part")
        assert registry.set_mode("IMPORT", "part", force=True) == "IMPORT"
        assert registry.subjects(deleted=True) == ["part", "whole"]

    def test_forward_takes_what_import_takes(self, registry):
        for place in (None, "s", ":.lab:"):
            with refused(422, 42204, "Forward mode only supported on global level"):
                registry.set_mode("FORWARD", place)
        registry.set_mode("forward", ":.__GLOBAL:")
        with refused(422, 42205, "Subject :.lab:s in context :.lab: is not in read-write mode"):
            registry.register(":.lab:s", INT)
        assert registry.register(":.lab:s", INT, schema_id=10, version=3).version == 3

    @pytest.mark.parametrize("place", [None, "s", ":.lab:"])
    def test_what_is_only_read_keeps_its_settings(self, registry, place):
        registry.set_config(Config("NONE"), place)
        registry.set_mode("READONLY", place)
        with refused(422, 42205, f"Subject {place or 'null'} in context .*is in read-only mode"):
            registry.set_config(Config("FULL"), place)
        with refused(422, 42205, "is in read-only mode"):
            registry.delete_config(place)
        assert registry.config(place).compatibility == "NONE"

    def test_a_version_that_is_given_is_the_next_one(self, registry):
        registry.set_config(Config("NONE"))
        assert registry.register("s", INT, version=1).version == 1
        with refused(422, 42201, "Version is not one more than previous version"):
            registry.register("s", LONG, version=3)
        for version in (1, 0, -1, None):
            assert registry.register("s", INT, schema_id=-1, version=version).version == 1
        assert registry.register("s", LONG, version=2).version == 2
        again = registry.register("s", INT, version=3)
        assert (again.id, again.version) == (1, 3)

    def test_aliases(self, registry):
        registry.register("real", INT)
        registry.set_config(Config(alias="real"), "nick")
        assert registry.get_version("nick").schema == INT
        assert registry.register("nick", LONG).version == 2
        assert registry.versions("nick") == registry.versions("real") == [1, 2]
        assert registry.lookup("nick", INT).version == 1
        assert registry.subjects() == ["real"]
        # An empty one is none.
        registry.set_config(Config(alias=""), "nick")
        assert registry.register("nick", INT).version == 1
        assert registry.versions("nick") == [1]


class TestContexts:
    def test_ids_are_those_of_a_context(self, registry):
        assert registry.register("s", INT).id == 1
        assert registry.register(":.lab:s", LONG).id == 1
        assert registry.get(1).schema == INT
        assert registry.get(1, ":.lab:s").schema == LONG
        assert registry.contexts() == [".", ".lab"]
        assert registry.subjects() == [":.lab:s", "s"]
        assert registry.subjects(":.lab:") == [":.lab:s"]
        assert registry.subjects(":.:") == registry.subjects(":.:s") == ["s"]
        assert registry.subjects(":*:") == registry.subjects(":*:s") == [":.lab:s", "s"]
        assert registry.subjects(":.:x") == registry.subjects(":*:x") == registry.subjects(":*:.lab") == []
        with refused(404, 40403):
            registry.get(2, ":.lab:s")

    def test_references_stay_in_their_context(self, registry):
        registry.register(":.lab:part", record("x", name="P"))
        whole = Schema(
            '{"type":"record","name":"W","fields":[{"name":"p","type":"P"}]}',
            references=(Reference("P", "part", 1),),
        )
        with refused(422, 42201):
            registry.register("whole", whole)
        found = registry.register(":.lab:whole", whole)
        assert registry.get_version(":.lab:whole").schema.references == (Reference("P", "part", 1),)
        assert registry.referenced_by(":.lab:part", 1) == [found.id]
        with refused(422, 42206):
            registry.delete_version(":.lab:part", 1)
        assert registry.check_compatibility(":.lab:whole", whole).compatible

    def test_settings_of_a_context(self, registry):
        registry.set_config(Config("NONE"), ":.lab:")
        assert registry.config(":.lab:s", default_to_global=True).compatibility == "NONE"
        for handle, subject in ((registry, ":.lab:s"), (registry, "s")):
            handle.register(subject, INT)
        assert registry.register(":.lab:s", TEXT).version == 2
        with refused(409, 40901):
            registry.register("s", TEXT)

    def test_settings_of_all_contexts(self, registry):
        assert registry.config(":.__GLOBAL:").compatibility == "BACKWARD"
        assert registry.mode(":.__GLOBAL:") == "READWRITE"
        registry.set_config(Config("NONE"))
        assert registry.config("s", default_to_global=True).compatibility == "NONE"
        assert registry.config(":.lab:s", default_to_global=True).compatibility == "BACKWARD"
        registry.set_config(Config("FULL"), ":.__GLOBAL:")
        for place, level in ((":.lab:s", "FULL"), (":.lab:", "FULL"), ("s", "NONE"), (":.__GLOBAL:", "FULL")):
            assert registry.config(place, default_to_global=True).compatibility == level
        registry.delete_config()
        assert registry.config().compatibility == "BACKWARD"
        assert registry.config("s", default_to_global=True).compatibility == "FULL"
        registry.set_mode("READONLY", ":.__GLOBAL:")
        for subject in ("s", ":.lab:s"):
            with refused(422, 42205, "is in read-only mode"):
                registry.register(subject, INT)
        registry.set_mode("READWRITE", ":.lab:")
        assert registry.register(":.lab:s", INT).version == 1
        assert registry.contexts() == [".", ".lab"]
        assert registry.delete_mode(":.__GLOBAL:") == "READONLY"
        assert registry.register("s", INT).version == 1

    def test_what_holds_beside_settings_of_ones_own(self, registry):
        registry.set_config(Config("NONE", normalize=True, compatibility_group="g", alias="other"))
        registry.set_config(Config(validate_fields=True), "s")
        registry.set_config(Config("FULL"), ":.lab:")
        registry.set_config(Config(validate_fields=True), ":.lab:s")
        for subject in ("s", ":.lab:s"):
            found = registry.config(subject, default_to_global=True)
            assert (found.compatibility, found.normalize, found.validate_fields) == ("BACKWARD", True, True)
            assert (found.compatibility_group, found.alias) == ("g", None)
        assert registry.config(":.lab:t", default_to_global=True) == Config(
            "FULL", normalize=False, validate_fields=False
        )

    @pytest.mark.parametrize("subject", [":.lab:", ":.lab:__EMPTY", ":.lab:a\x00", ":.__GLOBAL:s"])
    def test_names(self, registry, subject):
        with refused(422, 42208):
            registry.register(subject, INT)

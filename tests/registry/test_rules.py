"""What a registry demands of registrations: compatibility, modes, contexts, settings, the order of deletion."""

import hashlib
import pickle
import uuid

import pytest
from refusals import refused
from registry_server import serve

from kcodec import registry as registries
from kcodec.errors import ConfigError, RegistryError
from kcodec.registry import Config, Metadata, Reference, Rule, RuleSet, Schema, guid
from kcodec.registry.memory import MemoryRegistry

INT, LONG, TEXT = (Schema(f'"{name}"') for name in ("int", "long", "string"))


def record(*fields, name="R"):
    listed = ",".join(f'{{"name":"{field}","type":"int"}}' for field in fields)
    return Schema(f'{{"type":"record","name":"{name}","fields":[{listed}]}}')


@pytest.fixture(params=["memory", "sqlite", "http"])
def registry(request, tmp_path):
    if request.param == "memory":
        yield registries.open(f"memory://{uuid.uuid4()}")
    elif request.param == "sqlite":
        handle = registries.open(f"sqlite:///{tmp_path}/schemas.db")
        yield handle
        handle.close()
    else:
        with serve(MemoryRegistry()) as server:
            handle = registries.open(server.url)
            yield handle
            handle.close()


class TestCompatibility:
    def test_backward_unless_told(self, registry):
        registry.register("s", INT)
        assert registry.register("s", LONG).version == 2
        with refused(409, 40901, 'incompatible with an earlier schema for subject "s", details: \\['):
            registry.register("s", TEXT)
        assert registry.versions("s") == [1, 2]
        assert registry.lookup("s", INT).version == 1

    @pytest.mark.parametrize(
        ("level", "verdict"),
        [
            ("NONE", True),
            ("BACKWARD", False),
            ("FORWARD", True),
            ("FULL", False),
            ("FORWARD_TRANSITIVE", False),
        ],
    )
    def test_levels_of_a_subject(self, registry, level, verdict):
        registry.set_config(Config("NONE"))
        registry.register("s", TEXT)
        registry.register("s", LONG)
        registry.set_config(Config(level), "s")
        found = registry.check_compatibility("s", INT, version=None)
        assert found.compatible is verdict
        assert bool(found.messages) is not verdict
        if not verdict:
            assert found.messages[-1] == f"{{validateFields: 'false', compatibility: '{level}'}}"
            with refused(409, 40901):
                registry.register("s", INT)
        else:
            assert registry.register("s", INT).version == 3

    def test_one_version_is_compared_alone(self, registry):
        registry.set_config(Config("NONE"))
        for each in (LONG, TEXT, INT):
            registry.register("s", each)
        registry.set_config(Config("FORWARD_TRANSITIVE"))
        assert registry.check_compatibility("s", INT, version=1).compatible
        assert not registry.check_compatibility("s", INT, version=2).compatible
        assert registry.check_compatibility("s", INT).compatible
        assert not registry.check_compatibility("s", INT, version=None).compatible
        with refused(404, 40402):
            registry.check_compatibility("s", INT, version=9)
        with refused(422, 42202):
            registry.check_compatibility("s", INT, version=0)
        assert registry.check_compatibility("none", INT).compatible
        with refused(404, 40402):
            registry.check_compatibility("none", INT, version=1)

    @pytest.mark.parametrize(
        ("text", "kind"),
        [
            (record("a", "b").text, "AVRO"),
            ('{"type":"object","properties":{"a":{},"b":{"properties":{"c":{}}}}}', "JSON"),
            (
                'syntax = "proto3"; message M { oneof o { int32 c = 1; } } message N { int32 a = 1; }',
                "PROTOBUF",
            ),
        ],
    )
    def test_fields_that_metadata_reserve(self, registry, text, kind):
        def reserving(names):
            return Schema(text, kind, metadata=Metadata.of({"confluent:reserved": names}))

        assert registry.register("t", reserving("a")).version == 1
        registry.set_config(Config("NONE", validate_fields=True))
        with refused(409, 40901, "The new schema has field that conflicts with the reserved field a\\."):
            registry.register("s", reserving("x, a"))
        assert registry.register("s", reserving("x, c,,x ")).version == 1
        assert registry.register("s", reserving("c,y,x")).version == 2
        found = registry.check_compatibility("s", reserving("x, a"))
        assert found.messages == (
            *(
                f"The new schema has reserved field {name} removed from its metadata which is present in the old "
                "schema's metadata."
                for name in "cy"
            ),
            "The new schema has field that conflicts with the reserved field a.",
            "{validateFields: 'true', compatibility: 'NONE'}",
        )
        assert not found.compatible

    def test_another_level_can_be_asked_for(self, registry):
        registry.register("s", LONG)
        if registry.url.startswith("http"):
            with pytest.raises(ConfigError, match="at the level that is set"):
                registry.check_compatibility("s", INT, "forward")
            assert not registry.check_compatibility("s", INT, "backward").compatible
        else:
            assert registry.check_compatibility("s", INT, "forward").compatible
            found = registry.check_compatibility("s", INT)
            assert [each.type for each in found.differences] == ["TYPE_MISMATCH"]
            with refused(422, 42203):
                registry.check_compatibility("s", INT, "sideways")

    @pytest.mark.parametrize(
        ("kind", "old", "new"),
        [
            (
                "AVRO",
                '{"type":"record","name":"R","fields":[{"name":"a","type":"long"}]}',
                '{"type":"record","name":"R","fields":[{"name":"a","type":"int"},{"name":"b","type":"int"}]}',
            ),
            (
                "AVRO",
                '{"type":"enum","name":"E","symbols":["A","B"]}',
                '{"type":"enum","name":"E","symbols":["A"]}',
            ),
            (
                "PROTOBUF",
                'syntax = "proto3"; message M { int32 a = 1; string b = 2; }',
                'syntax = "proto3"; message M { string a = 1; int32 b = 2; }',
            ),
            (
                "JSON",
                '{"type":"object","properties":{"a":{"type":"integer"},"b":{"maxLength":9}}}',
                '{"type":"object","properties":{"a":{"type":"string"},"b":{"maxLength":3}}}',
            ),
        ],
    )
    def test_differences_are_told_whatever_the_registry(self, registry, kind, old, new):
        registry.register("s", Schema(old, kind))
        memory = registries.open(f"memory://{uuid.uuid4()}")
        memory.register("s", Schema(old, kind))
        wanted = memory.check_compatibility("s", Schema(new, kind)).differences
        found = registry.check_compatibility("s", Schema(new, kind)).differences
        assert wanted
        assert [each[:2] for each in found] == [each[:2] for each in wanted]
        if kind == "AVRO":
            assert found == wanted

    def test_a_refusal_has_all_that_the_registry_says(self, registry):
        def record(kind):
            names = (f"field_{number}" for number in range(30))
            fields = ",".join(f'{{"name":"{name}","type":"{kind}"}}' for name in names)
            return Schema(f'{{"type":"record","name":"R","fields":[{fields}]}}')

        registry.register("s", record("long"))
        with pytest.raises(RegistryError) as raised:
            registry.register("s", record("int"))
        assert raised.value.status == 409
        assert raised.value.details.count("TYPE_MISMATCH") == 30
        assert pickle.loads(pickle.dumps(raised.value)).details == raised.value.details

    def test_another_type_is_incompatible(self, registry):
        registry.register("s", INT)
        json = Schema('{"type":"integer"}', "JSON")
        assert registry.check_compatibility("s", json).messages[0] == (
            "Incompatible because of different schema type"
        )
        with refused(409, 40901):
            registry.register("s", json)

    def test_softly_deleted_versions_are_not_compared_with(self, registry):
        registry.register("s", TEXT)
        registry.register("other", TEXT)
        registry.delete_version("s", 1)
        assert registry.register("s", INT).version == 2

    def test_groups_are_compared_among_themselves(self, registry):
        registry.set_config(Config("BACKWARD", compatibility_group="major"), "s")

        def major(number, schema):
            return Schema(schema.text, metadata=Metadata.of({"major": number}))

        registry.register("s", major("1", TEXT))
        registry.register("s", major("2", INT))
        assert registry.register("s", major("2", LONG)).version == 3
        with refused(409, 40901):
            registry.register("s", major("1", LONG))
        assert registry.register("s", major("3", TEXT)).version == 4

    def test_policies(self, registry):
        def schema(*names):
            properties = ",".join(f'"{name}":{{"type":"string"}}' for name in names)
            return Schema(f'{{"type":"object","properties":{{{properties}}}}}', "JSON")

        registry.register("s", schema("a"))
        with refused(409, 40901):
            registry.register("s", schema("a", "b"))
        registry.set_config(Config(compatibility_policy="lenient"))
        assert registry.register("s", schema("a", "b")).version == 2

    def test_references_are_compared_through(self, registry):
        registry.register("part", record("x", name="P"))
        whole = '{"type":"record","name":"W","fields":[{"name":"p","type":"P"}%s]}'
        registry.register("whole", Schema(whole % "", references=(Reference("P", "part", 1),)))
        more = ',{"name":"q","type":"P"}'
        wider = Schema(whole % more, references=(Reference("P", "part", 1),))
        assert not registry.check_compatibility("whole", wider).compatible
        with refused(409, 40901):
            registry.register("whole", wider)


class TestNormalization:
    def test_by_argument_and_by_configuration(self, registry):
        plain = Schema('{"type":"object","properties":{"b":{},"a":{}}}', "JSON")
        found = registry.register("s", plain, normalize=True)
        assert found.schema.text == '{"properties":{"a":{},"b":{}},"type":"object"}'
        if not registry.url.startswith("http"):
            # confluent-kafka's client remembers what it has looked up, normalized or not.
            with refused(404, 40403):
                registry.lookup("s", plain)
        assert registry.lookup("s", plain, normalize=True).id == found.id
        registry.set_config(Config(normalize=True), "s")
        assert registry.lookup("s", plain).id == found.id
        assert registry.versions("s") == [1]

    def test_references_are_sorted_and_distinct(self, registry):
        registry.register("b", Schema('{"type":"string"}', "JSON"))
        registry.register("a", Schema('{"type":"integer"}', "JSON"))
        references = (Reference("b.json", "b", 1), Reference("a.json", "a", -1), Reference("a.json", "a", 1))
        schema = Schema('{"items":[{"$ref":"b.json"},{"$ref":"a.json"}]}', "JSON", references)
        kept = registry.register("s", schema, normalize=True).schema
        kept = registry.get_version("s").schema
        assert kept.references == (Reference("a.json", "a", 1), Reference("b.json", "b", 1))

    def test_reserved_names_of_fields(self, registry):
        schema = Schema('{"properties":{"$$a":{}}}', "JSON")
        registry.register("s", schema)
        registry.set_config(Config(validate_fields=True))
        with refused(422, 42201, "reserved"):
            registry.register("t", schema)


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


class TestRuleSets:
    def test_rules_are_kept_and_part_of_the_content(self, registry):
        rule = Rule(
            "r", kind="CONDITION", type="CEL", tags=("B", "A"), params=(("z", "1"),), expr="message.a > 0"
        )
        ruled = Schema(INT.text, rules=RuleSet(domain=(rule,)))
        assert registry.register("s", INT).id == 1
        found = registry.register("s", ruled)
        assert found.id == 2
        kept = registry.get_version("s", 2)
        assert (kept.schema, kept.guid) == (ruled, guid(ruled))
        assert registry.get(2).schema.rules == RuleSet.of(ruled.rules.json)
        assert registry.lookup("s", ruled).version == 2

    def test_where_rules_run_is_kept_and_part_of_the_content(self, registry):
        rule = Rule("r", kind="CONDITION", type="CEL", expr="message.a > 0")
        placed = [
            Schema(INT.text, rules=RuleSet(domain=(rule,), enable_at=place))
            for place in (None, "CLIENT", "NONE")
        ]
        assert [registry.register("s", each).version for each in placed] == [1, 2, 3]
        for number, each in enumerate(placed, 1):
            kept = registry.get_version("s", number)
            assert (kept.schema, kept.guid) == (each, guid(each))
        assert [each.rules.json.get("enableAt") for each in placed] == [None, "CLIENT", "NONE"]
        digest = hashlib.md5(b'"int"\1' + b"rCONDITIONWRITEREADCELmessage.a > 0" + b"CLIENT").hexdigest()
        assert guid(placed[1]).replace("-", "") == digest

    def test_where_rules_run_is_taken_from_settings(self, registry):
        rule = Rule("r", type="CEL")
        registry.set_config(Config(default_rule_set=RuleSet(domain=(rule,), enable_at="GATEWAY")), "s")
        registry.register("s", INT)
        assert registry.get_version("s").schema.rules == RuleSet(domain=(rule,), enable_at="GATEWAY")
        own = RuleSet(domain=(Rule("q", type="CEL"),), enable_at="CLIENT")
        registry.register("s", Schema(INT.text, rules=own))
        assert registry.get_version("s").schema.rules == RuleSet(
            domain=(rule, *own.domain), enable_at="CLIENT"
        )

    @pytest.mark.parametrize(
        ("rules", "message"),
        [
            (RuleSet(domain=(Rule("", type="CEL"),)), "Missing rule name"),
            (RuleSet(domain=(Rule("n" * 257, type="CEL"),)), "Rule name too long"),
            (RuleSet(domain=(Rule("1", type="CEL"),)), "Illegal initial character in rule name: 1"),
            (RuleSet(domain=(Rule("a.b", type="CEL"),)), "Illegal character in rule name: a.b"),
            (RuleSet(domain=(Rule("r"),)), "Missing rule type"),
            (RuleSet(domain=(Rule("r", type="CEL", kind="X"),)), "Rule kind 'X' is not one of"),
            (RuleSet(domain=(Rule("r", type="CEL"), Rule("r", type="CEL"))), "duplicate name 'r'"),
            (
                RuleSet((Rule("r", type="CEL", mode="UPDOWN"),), (Rule("r", type="CEL"),)),
                "duplicate name 'r'",
            ),
            (RuleSet(enable_at="client"), "Rules enabled at 'client', which is not one of ALL, CLIENT"),
            (RuleSet((Rule("r", type="JSONATA"),)), "Migration rules can only be UPGRADE, DOWNGRADE, UPDOWN"),
            (RuleSet(encoding=(Rule("r", type="ENCRYPT", mode="UPGRADE"),)), "Encoding rules can only be"),
            (
                RuleSet(domain=(Rule("r", type="CEL", mode="READ", on_failure="DLQ,NONE"),)),
                "Multiple actions",
            ),
        ],
    )
    def test_rules_that_no_registry_takes(self, registry, rules, message):
        with refused(422, 42210, message):
            registry.register("s", Schema(INT.text, rules=rules))
        assert registry.register("s", INT).version == 1
        for config in (Config(default_rule_set=rules), Config(override_rule_set=rules)):
            with refused(422, 42210, message):
                registry.set_config(config, "s")


class TestForms:
    def test_texts_in_other_forms(self, registry):
        registry.register("part", record("x", name="P"))
        text = '{"type":"record","name":"W","fields":[{"name":"p","type":"P"}]}'
        found = registry.register("whole", Schema(text, references=(Reference("P", "part", 1),)))
        resolved = text.replace('"P"', record("x", name="P").text)
        for got in (
            registry.get(found.id, form="resolved"),
            registry.get_by_guid(found.guid, form="resolved"),
            registry.get_version("whole", form="resolved"),
        ):
            assert (got.schema.text, got.guid) == (resolved, found.guid)
        assert registry.get(found.id, form="no such form").schema.text == text
        extended = "message M { extensions 5; } extend M { optional int32 a = 5; }"
        proto = registry.register("p", Schema(f'syntax = "proto2"; {extended}', "PROTOBUF"))
        assert (
            registry.get(proto.id, form="ignore_extensions").schema.text
            == 'syntax = "proto2";\n\nmessage M {}\n'
        )


class TestLists:
    def test_where_a_schema_is(self, registry):
        for subject in ("b", "a"):
            registry.register(subject, INT)
        registry.register("b", LONG)
        assert registry.schema_versions(1) == [("a", 1), ("b", 1)]
        registry.delete_version("a", 1)
        assert registry.schema_versions(1) == [("b", 1)]
        assert registry.schema_versions(1, deleted=True) == [("a", 1), ("b", 1)]
        with refused(404, 40403, "Schema 9 not found"):
            registry.schema_versions(9)

    def test_pages(self, registry):
        for number in range(5):
            registry.register(f"s{number}", INT)
        registry.register("other", INT)
        assert registry.subjects("s", offset=1, limit=2) == ["s1", "s2"]
        assert registry.subjects("s", offset=9) == []
        registry.delete_subject("s0")
        assert registry.subjects("s", limit=1) == ["s1"]
        assert registry.subjects("s", deleted=True, limit=1) == ["s0"]
        assert registry.subjects(deleted_only=True) == ["s0"]

    def test_versions_that_are_deleted(self, registry):
        registry.register("s", INT)
        registry.register("s", LONG)
        registry.delete_version("s", 1)
        assert registry.versions("s") == [2]
        assert registry.versions("s", deleted=True) == [1, 2]
        assert registry.versions("s", deleted_only=True) == [1]
        with refused(404, 40403):
            registry.lookup("s", INT)
        assert registry.lookup("s", INT, deleted=True).version == 1

    def test_referenced_by(self, registry):
        registry.register("part", record("x", name="P"))
        assert registry.referenced_by("part", 1) == []
        for subject in ("one", "two"):
            text = f'{{"type":"record","name":"W{subject}","fields":[{{"name":"p","type":"P"}}]}}'
            registry.register(subject, Schema(text, references=(Reference("P", "part", 1),)))
        assert registry.referenced_by("part") == [2, 3]
        registry.delete_version("one", 1)
        assert registry.referenced_by("part", 1) == [3]
        assert registry.referenced_by("part", 1, deleted=True) == [2, 3]
        registry.delete_subject("two")
        registry.delete_subject("part")
        assert registry.referenced_by("part", 1) == []
        assert registry.referenced_by("part", 1, deleted=True) == [2, 3]
        with refused(404, 40401):
            registry.referenced_by("none", 1)
        with refused(404, 40402):
            registry.referenced_by("part", 7)

    def test_the_latest_version_is_deleted_by_that_name(self, registry):
        registry.register("s", INT)
        registry.register("s", LONG)
        if not registry.url.startswith("http"):
            assert registry.delete_version("s", "latest") == 2
            assert registry.versions("s") == [1]

"""What a registry demands of registrations: compatibility, modes, contexts, settings, the order of deletion."""

import hashlib
import pickle
import re
import uuid

import pytest
from cases import cases
from refusals import refused
from small_schemas import INT, LONG, TEXT, record

from kcodec import registry as registries
from kcodec.errors import ConfigError, RegistryError
from kcodec.registry import Config, Metadata, Reference, Rule, RuleSet, Schema, guid


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

    @cases(
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

    @cases(
        ("wrong", "message"),
        [
            (lambda: Rule("r", type="ENCRYPT", tags="PII"), "tags='PII' is one text, not a sequence"),
            (lambda: Rule("r", type="ENCRYPT", tags=7), "tags=7 is not a sequence of texts"),
            (lambda: Rule.of({"name": "r", "tags": "PII"}), "tags='PII' is one text"),
            (lambda: Rule("r", type="ENCRYPT", disabled="false"), "disabled='false' is not True or False"),
            (lambda: Metadata.of(tags={"email": "PII"}), "tags='PII' is one text"),
            (lambda: Metadata.of(sensitive="owner"), "sensitive='owner' is one text"),
            (lambda: RuleSet(domain=Rule("r", type="CEL")), "domain=Rule(name='r'"),
            (lambda: RuleSet(domain=({"name": "r"},)), "domain={'name': 'r'} is not a Rule"),
        ],
    )
    def test_what_is_no_sequence_of_tags_or_rules(self, wrong, message):
        # The letters of "PII" are three tags, by which nothing would be encrypted.
        with pytest.raises(ConfigError, match=re.escape(message)):
            wrong()

    def test_rules_in_a_list(self):
        rule = Rule("r", type="CEL", expr="true")
        assert hash(RuleSet(domain=[rule])) == hash(RuleSet(domain=(rule,)))


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


@pytest.mark.parametrize(
    ("sent", "disabled"), [("false", False), ("true", True), (False, False), (None, False)]
)
def test_whether_a_rule_is_disabled_may_be_sent_as_text(sent, disabled):
    """As text "false" would be true, and what the rule encrypts written in the clear."""
    assert Rule.of({"name": "r", "type": "ENCRYPT", "disabled": sent}).disabled is disabled

"""What every registry answers, and how one is opened."""

import json
import pickle
import threading
import uuid
from dataclasses import replace
from itertools import pairwise

import pytest
from cases import cases
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused
from registry_server import serve
from shop_schemas import CART, INT, ORDER, taking_all
from vector_files import read_vectors

from kcodec import registry as registries
from kcodec.errors import ConfigError, RegistryError, SchemaError
from kcodec.registry import Metadata, Reference, RuleSet, Schema, guid, resolve
from kcodec.registry.base import check_subject, context_of, own_name, qualified
from kcodec.registry.memory import MemoryRegistry


@pytest.fixture(params=["memory", "sqlite", "http"])
def registry(request, tmp_path):
    if request.param == "memory":
        yield taking_all(registries.open(f"memory://{uuid.uuid4()}"))
    elif request.param == "sqlite":
        handle = taking_all(registries.open(f"sqlite:///{tmp_path}/schemas.db"))
        yield handle
        handle.close()
    else:
        with serve(taking_all(MemoryRegistry())) as server:
            handle = registries.open(server.url)
            yield handle
            handle.close()


class TestContract:
    """The same for every registry."""

    def test_options_that_are_no_booleans_change_nothing(self, registry):
        registry.register("a-value", INT)
        registry.delete_subject("a-value")
        for call in (
            lambda: registry.delete_subject("a-value", permanent="false"),
            lambda: registry.delete_version("a-value", 1, permanent="false"),
            lambda: registry.set_mode("IMPORT", "a-value", force="false"),
            lambda: registry.register("a-value", ORDER, normalize="false"),
        ):
            with pytest.raises(ConfigError, match="='false' is not True or False"):
                call()
        assert registry.versions("a-value", deleted=True) == [1]

    def test_ids_belong_to_content_and_versions_to_subjects(self, registry):
        first = registry.register("a-value", INT)
        assert (first.id, first.version, first.subject, first.schema) == (1, 1, "a-value", INT)
        assert first.guid == "ef524ea1-b91e-7317-3d93-8ade36c1db32"
        again = registry.register("a-value", Schema('{"type": "int"}'))
        assert (again.id, again.schema.text) == (1, '"int"')
        assert registry.register("b-value", INT).id == 1
        second = registry.register("a-value", ORDER)
        assert (second.id, second.version) == (2, 2)
        third = registry.register("b-value", Schema('"long"'))
        assert (third.id, third.version) == (3, 2)
        assert registry.versions("a-value") == [1, 2]
        assert registry.subjects() == ["a-value", "b-value"]

    def test_finds_by_every_name(self, registry):
        registry.register("s", INT)
        found = registry.register("s", ORDER)
        assert registry.get(2).schema == ORDER
        assert registry.get(2).guid == found.guid == guid(ORDER)
        assert registry.get_by_guid(found.guid).schema == ORDER
        assert registry.get_version("s", 1).schema == INT
        for latest in ("latest", -1):
            assert registry.get_version("s", latest) == found
        looked = registry.lookup("s", ORDER)
        assert (looked.id, looked.version) == (2, 2)

    def test_answers_as_the_server_does_when_there_is_nothing(self, registry):
        with refused(404, 40401):
            registry.get_version("s")
        with refused(404, 40401):
            registry.lookup("s", INT)
        with refused(404, 40401):
            registry.versions("s")
        registry.register("s", INT)
        with refused(404, 40402):
            registry.get_version("s", 7)
        with refused(422, 42202):
            registry.get_version("s", 0)
        with refused(404, 40403):
            registry.lookup("s", ORDER)
        with refused(404, 40403):
            registry.get(99)
        with refused(404, 40403):
            registry.get_by_guid("ffffffff-ffff-ffff-ffff-ffffffffffff")

    @cases(
        "schema",
        [
            Schema(""),
            Schema("{}"),
            Schema('{"type":"nonsense"}'),
            Schema('{"type":"record","fields":[]}'),
            Schema('["null","null"]'),
            Schema('{"type":"record","name":"1R","fields":[]}'),
            Schema('{"type":"record","name":"R","fields":[{"name":"a","type":"int","default":"x"}]}'),
            Schema("[" * 100_000),
            Schema('{"type":"array","items":' * 300 + '"int"' + "}" * 300),
            Schema('{"type":"record","name":"R","fields":[{"name":"a","type":"missing.T"}]}'),
            Schema('"int"', type="THRIFT"),
            Schema('"int"', references=(Reference("n.R", "nowhere", 1),)),
            Schema('"int"', references=(Reference("", "s", 1),)),
        ],
    )
    def test_refuses_what_is_no_schema(self, registry, schema):
        with refused(422, 42201):
            registry.register("s", schema)

    @cases(
        "subject",
        [
            *(
                "",
                "a\x00b",
                "__GLOBAL",
                "__EMPTY",
                ":.:__EMPTY",
                "a\x9fb",
                ":.",
                ":.:",
                ":.lab",
                ":.__GLOBAL:a",
            ),
            # Read once more, these would be other names.
            *(":.::.:a", ":.::.::.:a", ":.::.", ":.::.__GLOBAL:", ":.lab::.:a", ":.::*:a", ":*:a"),
        ],
    )
    def test_refuses_subject_names(self, registry, subject):
        with refused(422, 42208):
            registry.register(subject, INT)
        with refused(422, 42208):
            registry.delete_subject(subject)
        assert registry.subjects(deleted=True) == []

    @cases(
        "reference",
        [Reference("A", 5, 1), Reference(5, "s", 1), Reference("A", ["s"], 1), Reference("A", "s", True)],
    )
    def test_refuses_references_of_other_types(self, registry, reference):
        registry.register("s", INT)
        with refused(422, 42201):
            registry.register("t", Schema('"int"', references=(reference,)))

    def test_a_reference_from_a_context_to_the_default_one(self, registry):
        record = '{{"type":"record","name":"R","fields":[{}]}}'
        registry.register("s", Schema(record.format('{"name":"a","type":"int"}')))
        registry.register(":.lab:s", Schema(record.format("")))
        registry.register(":.lab:t", Schema('["null","R"]', references=(Reference("R", ":.:s", 1),)))
        assert '"name":"a"' in registry.get_version(":.lab:t", form="resolved").schema.text
        assert registry.referenced_by("s", 1)
        assert not registry.referenced_by(":.lab:s", 1)

    @pytest.mark.parametrize("subject", ["orders/eu-value", "a b", "ü?#%", ":.:plain", "x" * 1000])
    def test_takes_odd_subject_names(self, registry, subject):
        registry.register(subject, INT)
        assert registry.get_version(subject).id == 1
        assert registry.subjects() == [subject.removeprefix(":.:")]

    def test_references_are_kept_and_resolved_deepest_first(self, registry):
        registry.register("order", ORDER)
        cart = registry.register("cart", CART)
        assert registry.get(cart.id).schema == CART
        shop = Schema(
            '{"type":"record","name":"Shop","fields":[{"name":"a","type":"shop.Cart"},{"name":"b","type":"shop.Order"}]}',
            references=(Reference("shop.Cart", "cart", -1), Reference("shop.Order", "order", 1)),
        )
        kept = registry.get(registry.register("shop", shop).id).schema
        assert kept.references == (Reference("shop.Cart", "cart", 1), Reference("shop.Order", "order", 1))
        found = resolve(registry, kept)
        assert [each.reference.name for each in found] == ["shop.Order", "shop.Cart"]
        assert [each.schema for each in found] == [ORDER, CART]

    @pytest.mark.parametrize("subject", ["shop", ":.other:shop", ":.lab:shop"])
    def test_references_of_a_reference_are_in_its_own_context(self, registry, subject):
        registry.register(":.lab:order", ORDER)
        registry.register(":.lab:cart", CART)
        shop = '{"type":"record","name":"Shop","fields":[{"name":"cart","type":"shop.Cart"}]}'
        registry.register(subject, Schema(shop, references=(Reference("shop.Cart", ":.lab:cart", 1),)))
        resolved = registry.get_version(subject, form="resolved").schema.text
        assert '"name":"Cart"' in resolved
        assert '"name":"Order"' in resolved

    def test_finds_a_schema_sent_with_its_references_written_out(self, registry):
        registry.register("order", ORDER)
        cart = registry.register("cart", CART)
        inlined = CART.text.replace('"type":"Order"', f'"type":{ORDER.text}')
        assert registry.lookup("cart", Schema(inlined)).id == cart.id

    def test_metadata_is_part_of_the_content(self, registry):
        # Releases of the client before 2.16.1 cannot hash tags, and so neither send nor receive them.
        tags = {} if registry.url.startswith("http") else {"a": ["y", "x"]}
        tagged = Schema('"int"', metadata=Metadata.of({"app": "1"}, tags, ["app"]))
        assert registry.register("s", INT).id == 1
        found = registry.register("s", tagged)
        assert (found.id, found.version) == (2, 2)
        assert registry.get_version("s", 2).schema == tagged
        assert registry.get_latest_with_metadata("s", {"app": "1"}).id == 2
        with refused(404, 40403):
            registry.get_latest_with_metadata("s", {"app": "2"})

    def test_other_types_keep_their_text(self, registry):
        text = '{"type":"object"}'
        found = registry.register("j", Schema(text, "JSON"))
        assert registry.get(found.id).schema == Schema(text, "JSON")

    def test_protobuf_is_printed(self, registry):
        proto = 'syntax = "proto3";\nmessage M { int32 a = 1; }\n'
        printed = 'syntax = "proto3";\n\nmessage M {\n  int32 a = 1;\n}\n'
        assert registry.get(registry.register("p", Schema(proto, "PROTOBUF")).id).schema.text == printed
        with refused(422, 42201):
            registry.register("p", Schema("message M { Nope a = 1; }", "PROTOBUF"))

    @cases("text", ["", "{", "1", '"text"', "null", "[]", '{"minimum": NaN}', "[" * 100_000])
    def test_refuses_json_that_is_no_schema(self, registry, text):
        with refused(422, 42201):
            registry.register("j", Schema(text, "JSON"))
        assert registry.register("j", Schema("true", "JSON")).schema.text == "true"

    @cases(
        "schema",
        [
            '"int"',
            None,
            Schema(5),
            Schema('"int"', "XML"),
            Schema('"int"', references=["shop.Order"]),
            Schema('"int"', references=[Reference("", "order", 1)]),
            Schema('"int"', metadata={"app": "1"}),
        ],
    )
    def test_refuses_what_is_made_wrongly(self, registry, schema):
        with refused(422, 42201):
            registry.register("s", schema)
        registry.register("s", INT)
        with refused(422, 42201):
            registry.lookup("s", schema)

    def test_refuses_a_configuration_that_is_a_level(self, registry):
        for subject in (None, "s"):
            with pytest.raises(ConfigError, match=r"a configuration is a Config\('FULL'\), not a str"):
                registry.set_config("FULL", subject)

    def test_finds_nothing_by_what_is_no_guid(self, registry):
        for name in (None, 5, "x"):
            with refused(404, 40403):
                registry.get_by_guid(name)

    def test_deletes_softly_then_permanently(self, registry):
        registry.register("s", INT)
        registry.register("s", ORDER)
        with refused(404, 40407):
            registry.delete_version("s", 1, permanent=True)
        assert registry.delete_version("s", 1) == 1
        with refused(404, 40406):
            registry.delete_version("s", 1)
        assert registry.versions("s") == [2]
        with refused(404, 40402):
            registry.get_version("s", 1)
        assert registry.get_version("s", 1, deleted=True).id == 1
        assert registry.get(1).schema == INT
        assert registry.delete_version("s", 1, permanent=True) == 1
        with refused(404, 40403):
            registry.get(1)
        with refused(404, 40405):
            registry.delete_subject("s", permanent=True)
        assert registry.delete_subject("s") == [2]
        with refused(404, 40401):
            registry.get_version("s")
        with refused(404, 40404):
            registry.delete_subject("s")
        again = registry.register("s", INT)
        assert (again.id, again.version) == (3, 3)

    def test_keeps_what_others_refer_to(self, registry):
        registry.register("order", ORDER)
        registry.register("cart", CART)
        with refused(422, 42206):
            registry.delete_version("order", 1)
        with refused(422, 42206):
            registry.delete_subject("order")
        assert registry.versions("order") == [1]
        registry.delete_subject("cart")
        assert registry.delete_subject("order") == [1]
        with refused(422, 42206):
            registry.delete_version("order", 1, permanent=True)
        with refused(422, 42206):
            registry.delete_subject("order", permanent=True)
        assert registry.get(2, form="resolved").schema.text.count("Order") == 1
        registry.delete_subject("cart", permanent=True)
        assert registry.delete_subject("order", permanent=True) == [1]

    def test_what_is_registered_again_has_no_softly_deleted_versions(self, registry):
        registry.register("s", INT)
        registry.register("s", ORDER)
        registry.register("cart", replace(CART, references=(Reference("shop.Order", "s", 2),)))
        registry.delete_subject("cart")
        registry.delete_subject("s")
        assert registry.register("s", INT).version == 3
        assert registry.versions("s", deleted=True) == [2, 3]
        # The second version is referred to.
        assert registry.register("s", ORDER).version == 4
        assert registry.versions("s", deleted=True) == [2, 3, 4]

    def test_versions_that_refer_to_each_other_are_deleted_together(self, registry):
        registry.register("s", ORDER)
        registry.register("s", replace(CART, references=(Reference("shop.Order", "s", 1),)))
        assert registry.delete_subject("s") == [1, 2]
        assert registry.delete_subject("s", permanent=True) == [1, 2]

    def test_threads_share_a_handle(self, registry):
        def work(number):
            for step in range(10):
                registry.register(f"s{number}", Schema(f'{{"type":"fixed","name":"F","size":{step + 1}}}'))

        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(registry.get_version("s0", v).id for v in registry.versions("s0")) == list(range(1, 11))
        assert all(registry.versions(f"s{number}") == list(range(1, 11)) for number in range(4))

    def test_pickles(self, registry):
        registry.register("s", INT)
        copy = pickle.loads(pickle.dumps(registry))
        assert copy.get(1).schema == INT
        assert copy.url == registry.url
        copy.close()


class TestOpen:
    @cases(
        "url",
        ["", "schemas.db", "sqlite://", "sqlite:///", "redis://x", "http://", "http://a,ftp://b", "http://["],
    )
    def test_refuses_other_urls(self, url):
        with pytest.raises(ConfigError):
            registries.open(url)

    def test_embedded_registries_take_no_configuration(self, tmp_path):
        for url in ("memory://x", f"sqlite:///{tmp_path}/x.db"):
            with pytest.raises(ConfigError):
                registries.open(url, {"timeout": 1})

    def test_refuses_configuration_that_is_none(self):
        for config in ("timeout", 5):
            with pytest.raises(ConfigError, match="mapping"):
                registries.open("http://host", config)

    def test_a_file_without_a_scheme_is_told_what_it_is(self):
        with pytest.raises(ConfigError, match=r"'nope\.db' has no scheme: .* it is 'sqlite:///nope\.db'$"):
            registries.open("nope.db")
        with pytest.raises(ConfigError, match=r"it is 'sqlite:////var/nope\.sqlite'$"):
            registries.open("/var/nope.sqlite", {"timeout": 1})

    def test_no_error_shows_credentials(self):
        with pytest.raises(ConfigError) as info:
            registries.open("htps://me:hunter2@host")
        assert "hunter2" not in str(info.value)
        with pytest.raises(ConfigError) as info:
            registries.open("me:hunter2@host")
        assert "hunter2" not in str(info.value)


class TestReferences:
    class Chain:
        """A registry whose every schema refers to the next version, for ever or around."""

        def __init__(self, around):
            self.around = around

        def get_version(self, subject, version, *, deleted=False):
            following = (version + 1) % self.around
            schema = Schema('"int"', references=(Reference(f"n{following}", "s", following),))
            return registries.RegisteredSchema(1, "", schema)

    def test_circles_are_refused(self):
        with pytest.raises(SchemaError, match="circle"):
            resolve(self.Chain(3), Schema('"int"', references=(Reference("n0", "s", 0),)))

    def test_endless_chains_are_refused(self):
        with pytest.raises(SchemaError, match="deeper"):
            resolve(self.Chain(10**6), Schema('"int"', references=(Reference("n0", "s", 0),)))

    def test_too_many_are_refused(self):
        class Flat:
            def get_version(self, subject, version, *, deleted=False):
                return registries.RegisteredSchema(1, "", INT)

        many = tuple(Reference(f"n{number}", "s", number) for number in range(1, 1010))
        with pytest.raises(SchemaError, match="more than"):
            resolve(Flat(), Schema('"int"', references=many))

    def test_more_text_than_one_schema_may_need_is_refused(self):
        """A few large schemas, each of which may be registered, are soon more than a server's memory."""
        registry, references = MemoryRegistry(), []
        for number in range(5):
            text = f'{{"type":"fixed","name":"F{number}","size":1,"doc":"{"x" * (4 << 20)}"}}'
            registry.register(f"f{number}", Schema(text))
            references.append(Reference(f"F{number}", f"f{number}", 1))
        assert (
            registry.register("three", Schema('["F0", "F1", "F2"]', references=references[:3])).version == 1
        )
        with refused(422, 42201):
            registry.register("five", Schema('["F0", "F4"]', references=references))


def test_guids_of_the_real_registry(monkeypatch):
    # Some have rules that the server's own check refuses.
    monkeypatch.setattr(RuleSet, "check", lambda self: None)
    lines = read_vectors("registry_guid.jsonl.gz")
    for line in lines:
        registry, references = MemoryRegistry(), []
        registry.set_mode("IMPORT")
        for number, each in enumerate(line.get("references", ()), 1):
            registry.register(
                each["subject"],
                Schema(each["schema"], line["type"]),
                schema_id=number,
                version=each["version"],
            )
            references.append(Reference(each["name"], each["subject"], each["version"]))
        registry.set_mode("READWRITE")
        metadata, rules = line.get("metadata"), line.get("ruleSet")
        schema = Schema(
            line["schema"],
            line["type"],
            tuple(references),
            metadata
            and Metadata.of(metadata.get("properties"), metadata.get("tags"), metadata.get("sensitive")),
            rules and RuleSet.of(rules),
        )
        found = registry.register("s", schema, normalize=bool(line.get("normalize")))
        assert (found.schema.text, found.guid) == (line["canonical"], line["guid"]), line["id"]
        assert registry.get_version("s").schema == found.schema
    print(f"{len(lines)} GUIDs")
    assert len(lines) == 23


@cases("kind", ["float", "double"])
@cases(
    ("default", "kept"),
    [
        ('"NaN"', '"NaN"'),
        ('"Infinity"', '"Infinity"'),
        ('"-Infinity"', '"-Infinity"'),
        ("-1e400", '"-Infinity"'),
        ('{"a":["NaN"]}', None),
    ],
)
def test_defaults_that_are_not_finite_are_normalized(kind, default, kept):
    text = '{"type":"record","name":"R","fields":[{"name":"a","type":"%s","default":%s}]}'
    registry = MemoryRegistry()
    if kept is None:
        with pytest.raises(RegistryError, match="is not a value of"):
            registry.register("s", Schema(text % (kind, default)), normalize=True)
        return
    found = registry.register("s", Schema(text % (kind, default)), normalize=True)
    assert found.schema.text == text % (kind, kept)


def _ahead(number):
    """Return records each of which names the one that is defined after it."""
    names = [f"R{each}" for each in range(number)]
    fields = [
        {
            "name": f"f{name}",
            "type": {"type": "record", "name": name, "fields": [{"name": "f", "type": after}]},
        }
        for name, after in pairwise(names)
    ]
    fields.append({"name": "last", "type": {"type": "record", "name": names[-1], "fields": []}})
    return json.dumps({"type": "record", "name": "R", "fields": fields})


@cases(
    "text",
    [
        *("int", "", "n.R", '"\\"int\\""', "[", "null", "7"),
        *(f'{{"type": "enum", "name": "E", "symbols": [], "doc": "{doc}"}}' for doc in ("\ud800", "\\uD800")),
        _ahead(1000),
    ],
)
@cases("do", ["register", "check_compatibility"])
def test_what_is_no_schema_is_refused(do, text):
    registry = MemoryRegistry()
    with pytest.raises(RegistryError) as info:
        getattr(registry, do)("s", Schema(text))
    assert info.value.error_code == 42201


@pytest.mark.parametrize(
    "text", [_ahead(20), '"int" ', '{"type": "enum", "name": "E", "symbols": [], "d": "\\ud83d\\ude00ä"}']
)
def test_what_is_a_schema_is_checked(text):
    assert MemoryRegistry().check_compatibility("s", Schema(text)).compatible


@pytest.mark.parametrize("before", ["/* Licensed\n * to you */\n", "\n// Licensed to you\n"])
def test_a_licence_may_stand_before_avro(before):
    registry = MemoryRegistry()
    schema = Schema(before + '{"type": "int"}')
    assert registry.check_compatibility("s", schema).compatible
    assert registry.register("s", schema).schema.text == '"int"'
    assert registry.lookup("s", schema).version == 1
    with pytest.raises(RegistryError, match="not JSON that can be a schema"):
        registry.register("s", Schema("string"))


@given(st.text(":.*ab", max_size=12), st.booleans(), st.sampled_from([".", ".a"]))
def test_a_name_that_is_taken_means_itself(name, whole, context):
    """Whatever asks for a subject, and however often its name is read, means the same one."""
    try:
        found = check_subject(name, whole=whole)
    except RegistryError:
        return
    assert check_subject(found, whole=whole) == found
    assert (context_of(found), own_name(found)) == (context_of(name), own_name(name))
    assert qualified(found, ".") == found
    if name.startswith(":."):
        assert check_subject(qualified(name, context), whole=whole) == found

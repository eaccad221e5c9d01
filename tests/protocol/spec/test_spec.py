"""Message definitions: reading, the generator's verdicts, defaults, and the printed grammar."""

import json
import math
import uuid
import zipfile

import pytest
from cases import cases
from hypothesis import given
from hypothesis import strategies as st
from vector_files import read_vectors

from kcodec.errors import ConfigError, SchemaError
from kcodec.protocol import Definitions, FieldSpec, FieldType, MessageSpec, SpecError, Versions, load
from kcodec.protocol.message.headers import header_spec

#: Cases where the generator stops with a Java exception that has no words, and what kcodec says.
WORDLESS = {
    "no-name": "You must specify the name of the structure.",
    "no-type": "You must specify the type of the FooRequest message.",
    "field-no-name": "You must specify the name of the field.",
    "common-self-recursive": "Struct Foo has no version 0: it contains itself, or its versions begin later than those "
    "of field field1.",
    "default uuid 'AAAA'": "Invalid default for uuid field field1: AAAA",
}


def message(*fields, **members):
    base = {
        "apiKey": 1,
        "type": "request",
        "name": "FooRequest",
        "validVersions": "0-3",
        "flexibleVersions": "1+",
        "fields": list(fields),
    }
    return json.dumps({key: value for key, value in {**base, **members}.items() if value is not ...})


def field(name="a", kind="int32", versions="0+", **members):
    return {"name": name, "type": kind, "versions": versions, **members}


def refused(text, **options) -> SpecError:
    with pytest.raises(SpecError) as caught:
        MessageSpec.parse(text, "Foo.json", **options)
    assert isinstance(caught.value, SchemaError)
    assert caught.value.file == "Foo.json"
    return caught.value


def generator_words(error: str | None) -> str | None:
    """Take the sentence out of a Java exception, which Jackson may have wrapped."""
    if error is None:
        return None
    first, _, cause = error.partition(" <- ")
    return (cause if first.startswith(("ValueInst", "JsonMapping")) else first).split(": ", 1)[1]


def test_vectors_of_the_generator(shared, capsys):
    vectors = read_vectors("kafka_spec_validation.jsonl.gz", shared / "vectors")
    verdicts = {True: 0, False: 0}
    for vector in vectors:
        try:
            MessageSpec.parse(vector["spec"])
            said = None
        except SpecError as error:
            said = error.reason
        wanted = WORDLESS.get(vector["id"]) or generator_words(vector["err"])
        if vector["id"] == "bad-type":
            # kcodec also knows the two types that came later.
            wanted = wanted[:-1] + ", coordinator-key, coordinator-value]"
        assert said == wanted, vector["id"]
        verdicts[vector["ok"]] += 1
    with capsys.disabled():
        print(
            f"\n{len(vectors)} definitions: {verdicts[True]} accepted, {verdicts[False]} refused in the same words"
        )
    assert verdicts[True] + verdicts[False] == len(vectors) > 0


def test_all_of_kafkas_definitions(shared, capsys):
    definitions = load(shared / "kafka-messages")
    versions = fields = 0
    for spec in definitions.values():
        for version in spec.valid_versions:
            assert spec.describe(version).startswith(f"{spec.name} version {version} =>")
            versions += 1
        for struct in (spec.struct, *spec.structs.values()):
            for each in struct.fields:
                _ = each.default_value
                fields += 1
    with capsys.disabled():
        print(f"\n{len(definitions)} definitions, {versions} versions, {fields} fields")
    assert len(definitions) == 258


def test_a_header_has_no_header():
    with pytest.raises(ValueError, match="it has no header"):
        header_spec("request").header_version(0)


def test_a_definition_is_read():
    text = message(
        field(
            "TopicName",
            "string",
            nullableVersions="2+",
            default="null",
            entityType="topicName",
            about="Which.",
        ),
        field(
            "Tags",
            "[]Tag",
            "1+",
            tag=0,
            taggedVersions="2+",
            fields=[field("Key", "string", "1+", mapKey=True)],
        ),
        field("One", "Common", "0-1", ignorable=True),
        commonStructs=[{"name": "Common", "versions": "0+", "fields": [field("Id", "uuid")]}],
        deprecatedVersions="0",
        listeners=["broker", "controller"],
        latestVersionUnstable=True,
    ).replace('"default": "null"', '"default": "null", "nullableVersions": "0+"')
    spec = MessageSpec.parse(text)
    assert (spec.name, spec.type, spec.api_key) == ("FooRequest", "request", 1)
    assert spec.valid_versions == Versions(0, 3)
    assert str(spec.flexible_versions) == "1+"
    assert spec.listeners == ("broker", "controller")
    assert spec.latest_version_unstable
    assert spec.struct.deprecated_versions == Versions(0, 0)
    name, tags, one = spec.fields
    assert (name.json_name, name.snake_name, str(name.type)) == ("topicName", "topic_name", "string")
    assert (name.default_value, name.about, name.entity_type) == (None, "Which.", "topicName")
    assert tags.type == FieldType("Tag", True)
    assert [tags.tagged_in(version) for version in range(4)] == [False, False, True, True]
    assert spec.struct.regular_fields(1) == (name, tags, one)
    assert spec.struct.regular_fields(2) == (name,)
    assert spec.struct.tagged_fields(2) == (tags,)
    assert {name: struct.has_keys for name, struct in spec.structs.items()} == {"Common": False, "Tag": True}
    assert spec.describe(1).splitlines() == [
        "FooRequest version 1 => topic_name [tags] one _tagged_fields",
        "  topic_name => COMPACT_NULLABLE_STRING",
        "  tags => COMPACT_ARRAY of (key _tagged_fields)",
        "    key => COMPACT_STRING",
        "  one => (id _tagged_fields)",
        "    id => UUID",
    ]
    assert spec.describe(0).splitlines()[1] == "  topic_name => NULLABLE_STRING"
    assert spec.describe(3).splitlines()[2:4] == [
        "  _tagged_fields =>",
        "    0 tags => COMPACT_ARRAY of (key _tagged_fields)",
    ]
    with pytest.raises(ConfigError, match="FooRequest has no version 4: its versions are 0-3"):
        spec.describe(4)


@cases(
    ("text", "rule", "path", "reason"),
    [
        (
            message(validVersions="0+"),
            "open_valid_versions",
            "",
            "Message FooRequest does not specify a maximum version.",
        ),
        (
            message(flexibleVersions="1-2"),
            "flexible_versions_closed",
            "",
            "Field FooRequest specifies flexibleVersions 1-2, which is not open-ended.  flexibleVersions must be "
            "either none, or an open-ended range (that ends with a plus sign).",
        ),
        (
            message(field("s", "[]S", fields=[field("t", tag=-1, taggedVersions="1+")])),
            "negative_tag",
            "s.t",
            "Field t specifies a tag of -1.  Tags cannot be negative.",
        ),
        (
            message(field(tag=0)),
            "missing_tagged_versions",
            "a",
            "Field a specifies a tag of 0, but has no tagged versions.  If a tag is specified, taggedVersions must be "
            "specified as well.",
        ),
        (
            message(field(taggedVersions="1+")),
            "missing_tag",
            "a",
            "Field a does not specify a tag, but specifies tagged versions of 1+.  Please specify a tag, or remove the "
            "taggedVersions.",
        ),
        (
            message(field(tag=0, taggedVersions="1-2")),
            "tagged_versions_closed",
            "a",
            "Field a specifies taggedVersions 1-2, which is not open-ended.  taggedVersions must be either none, or an "
            "open-ended range (that ends with a plus sign).",
        ),
        (
            message(field("a", "string", tag=0, taggedVersions="1+", nullableVersions="2+")),
            "tagged_versions_nullable",
            "a",
            "Field a specifies nullableVersions 2+ and taggedVersions 1+.  Either all tagged versions must be "
            "nullable, or none must be.",
        ),
        (
            message(field(tag=0, taggedVersions="1+"), field("b", tag=0, taggedVersions="1+")),
            "duplicate_tag",
            "b",
            "In FooRequest, field b has a duplicate tag ID 0. All tags IDs must be unique.",
        ),
        (
            message(field("s", "[]S", fields=[field(tag=1, taggedVersions="1+")])),
            "tags_not_contiguous",
            "s",
            "In s, the tag IDs are not contiguous.  Make use of tag 0 before using any higher tag IDs.",
        ),
        (
            message(field("s", "[]S", fields=[field(tag=0, taggedVersions="1+", mapKey=True)])),
            "tagged_key",
            "s.a",
            "Tagged fields cannot be used as keys.",
        ),
        (
            message(field("r", "records", "1+", tag=0, taggedVersions="1+")),
            "tagged_records",
            "r",
            "Unsupported attempt to declare field `r` with `records` type as a tagged field.",
        ),
        (message(field("r", "[]records")), "records_array", "r", "Unsupported field type records"),
        (
            message(field(zeroCopy=True)),
            "zero_copy",
            "a",
            "Invalid zeroCopy value for a. Only fields of type bytes can use zeroCopy flag.",
        ),
        (
            message(field("a", "string", flexibleVersions="0+")),
            "flexible_versions_outside",
            "a",
            "The flexible versions for field a are 0+, which are not a subset of the flexible versions for the message "
            "as a whole, which are 1+",
        ),
        (
            message(field("c", "C"), commonStructs=[{"name": "C", "versions": "1+", "fields": []}]),
            "struct_versions",
            "c",
            "Struct C has no version 0: it contains itself, or its versions begin later than those of field c.",
        ),
        (
            message(field("a", "[][]int32")),
            "field_type",
            "a",
            "Can't have an array of arrays.  Use an array of structs containing an array instead.",
        ),
        (message(field("a", "[]")), "field_type", "a", "Can't parse array type [].  No element type found."),
        (message(field("a", "[]varint")), "field_type", "a", "Can't parse type varint"),
        (message(field("a", "[]uuid", "0+", nullableVersions="0+", fields=[field()])), None, None, None),
        (message(field(versions="0 - 3")), "versions_syntax", "a", 'For input string: "0 "'),
        (message(field(default="1.5")), "default_value", "a", "Invalid default for int32 field a: 1.5"),
        (
            message(field("a", "uint32", default="-1")),
            "default_value",
            "a",
            "Invalid default for uint32 field a: out of range.",
        ),
        (
            message(field("a", "uuid", default="=AAA")),
            "default_value",
            "a",
            "Invalid default for uuid field a: =AAA",
        ),
        (
            message(field("a", "float64", default="1,5")),
            "default_value",
            "a",
            "Invalid default for float64 field a: 1,5",
        ),
        (
            message(type="coordinator-key", apiKey=...),
            "coordinator_api_key",
            "",
            "The ApiKey must be set for messages FooRequest with type `coordinator-key`",
        ),
        (
            message(type="coordinator-key"),
            "coordinator_key_versions",
            "",
            "The Versions must be set to `0` for messages FooRequest with type `coordinator-key`",
        ),
        (
            message(type="coordinator-key", validVersions="0"),
            "coordinator_key_versions",
            "",
            "The FlexibleVersions are not supported for messages FooRequest  with type `coordinator-key`",
        ),
        (message(type="coordinator-key", validVersions="0", flexibleVersions="none"), None, None, None),
        (
            message(type="coordinator-value", apiKey=...),
            "coordinator_api_key",
            "",
            "The ApiKey must be set for messages with type `coordinator-value`",
        ),
        (message(headerVersions={"0": "1", "1+": "2"}), None, None, None),
        (
            message(headerVersions={}),
            "header_versions",
            "",
            "Message FooRequest specifies an empty headerVersions map.",
        ),
        (
            message(headerVersions={"0-1": "1", "3+": "2"}),
            "header_versions",
            "",
            "Message FooRequest has non-contiguous headerVersions: the range after 0-1 must start at version 2, "
            "but it starts at version 3.",
        ),
        (
            message(headerVersions={"0-1": "1"}),
            "header_versions",
            "",
            "Message FooRequest has headerVersions whose last range 0-1 is not open-ended; the last "
            "range must end with a plus sign.",
        ),
        (
            message(headerVersions={"0+": "1"}, type="data"),
            "header_versions",
            "",
            "The `headerVersions` property is only valid for messages with type `request` or `response`",
        ),
        (
            message(headerVersions={"0+": "1"}, type="response", apiKey=18),
            "header_versions",
            "",
            "Message FooRequest maps versions 0+ to response header version 1, but "
            "ApiVersionsResponse must use a v0 response header at every version so that older brokers can parse it "
            "(KIP-511).",
        ),
        (
            message(field(tag=[1])),
            "json_type",
            "a",
            "Cannot deserialize value of type `int` from Array value (token `JsonToken.START_ARRAY`)",
        ),
        (
            message(field(about={})),
            "json_type",
            "a",
            "Cannot deserialize value of type `java.lang.String` from Object value (token `JsonToken.START_OBJECT`)",
        ),
        (
            message(field(ignorable="yes")),
            "json_type",
            "a",
            'Cannot deserialize value of type `boolean` from String "yes": only "true" or "false" recognized',
        ),
        (
            "[]",
            "json_type",
            "",
            "Cannot deserialize value of type `org.apache.kafka.message.MessageSpec` from Array value "
            "(token `JsonToken.START_ARRAY`)",
        ),
        ("", "json", "", "not JSON: Expecting value: line 1 column 1 (char 0)"),
        ("[" * 100_000, "json", "", "not JSON: nested too deeply"),
        ('{"apiKey": NaN}', "json", "", "not JSON: NaN is not a number"),
    ],
)
def test_rules(text, rule, path, reason):
    if rule is None:
        assert MessageSpec.parse(text).name == "FooRequest"
        return
    error = refused(text)
    assert (error.rule, error.path, error.reason) == (rule, path, reason)
    assert str(error) == ": ".join(part for part in ("Foo.json", path, reason) if part)


def test_comments_are_no_part_of_texts():
    text = message(field(about="see // here /* there */")).replace('"fields"', '// "x": [\n/* " */ "fields"')
    assert MessageSpec.parse(text).fields[0].about == "see // here /* there */"


def test_scalars_are_converted():
    text = message(field(tag="0", taggedVersions="1+", ignorable="TRUE", default=5), apiKey="7", fields=...)
    text = (
        text[:-1] + ', "fields": {"name": "b", "type": "int8", "versions": 1, "mapKey": 0, "zeroCopy": null}}'
    )
    spec = MessageSpec.parse(text)
    assert spec.api_key == 7
    assert spec.fields == (FieldSpec("b", FieldType("int8"), Versions(1, 1)),)


@cases(
    ("kind", "default", "value"),
    [
        ("bool", "TRUE", True),
        ("bool", "", False),
        ("int8", "", 0),
        ("int8", "0x7f", 127),
        ("int8", "010", 8),
        ("int16", "-010", -8),
        ("int64", "+5", 5),
        ("uint16", "65535", 65535),
        ("uint32", "0xffffffff", 2**32 - 1),
        ("float64", "1e3", 1000.0),
        ("float64", "0x1p3", 8.0),
        ("float64", "1.5f", 1.5),
        ("float64", "-Infinity", -math.inf),
        ("float64", "", 0.0),
        ("uuid", "", uuid.UUID(int=0)),
        ("uuid", "AAAAAAAAAAAAAAAAAAAAAQ", uuid.UUID(int=1)),
        ("uuid", "AAAAAAAAAAAAAAAAAAAAAQ==", uuid.UUID(int=1)),
        ("float64", "\x011.5d\x02", 1.5),
        ("string", "x", "x"),
        ("string", "", ""),
        ("bytes", "", b""),
        ("records", "null", None),
        ("records", "", None),
        ("[]int32", "", ()),
        ("S", "", {}),
    ],
)
def test_default_values(kind, default, value):
    made = MessageSpec.parse(message(field("a", kind, default=default))).fields[0].default_value
    assert made == value
    assert type(made) is type(value)


@pytest.mark.parametrize("kind", ["string", "bytes", "[]int32", "S", "records"])
def test_null_as_default(kind):
    spec = MessageSpec.parse(message(field("a", kind, nullableVersions="0+", default="null")))
    assert spec.fields[0].default_value is None


def test_a_json_null_is_no_default():
    spec = MessageSpec.parse(message(field("a", "S", nullableVersions="0+", default=None)))
    assert spec.fields[0].default_value == {}


def test_nan_as_default():
    assert math.isnan(
        MessageSpec.parse(message(field("a", "float64", default="NaN"))).fields[0].default_value
    )


@pytest.mark.parametrize(
    ("kind", "default"),
    [("int8", "08"), ("int32", "0x-5"), ("uuid", "6ba7b810-9dad-11d1-80b4-00c04fd430c8")],
)
def test_defaults_that_only_the_java_compiler_refuses(kind, default):
    made = MessageSpec.parse(message(field("a", kind, default=default))).fields[0]
    with pytest.raises(SpecError, match=f"Invalid default for {kind} field a"):
        _ = made.default_value


def test_messages_without_versions():
    text = '{"type": "request", "name": "Gone", "apiKey": 4, "validVersions": "none"}'
    reason = "Version ranges none and none have no versions in common."
    assert refused(text).reason == reason
    spec = MessageSpec.parse(text, retired=True)
    assert spec.valid_versions.empty
    assert load([text])["Gone"] == spec
    with pytest.raises(ConfigError, match="Gone has no version 0: its versions are none"):
        spec.describe(0)


def test_folders_jars_and_texts(tmp_path):
    folder = tmp_path / "messages" / "deep"
    folder.mkdir(parents=True)
    (folder / "FooRequest.json").write_text("\ufeff// c\n" + message(), encoding="utf-8")
    (folder / "note.txt").write_text("no definition")
    jar = tmp_path / "kafka.jar"
    with zipfile.ZipFile(jar, "w") as archive:
        archive.writestr("common/message/FooRequest.json", message())
        archive.writestr("other/FooRequest.json", "no definition")
    for source in (
        tmp_path / "messages",
        str(folder / "FooRequest.json"),
        jar,
        [message()],
        {"Foo": message()},
    ):
        definitions = load(source)
        assert list(definitions) == ["FooRequest"]
        assert definitions.request(1).api_key == 1
    assert definitions["FooRequest"].file == "Foo"
    with pytest.raises(ConfigError, match="neither a folder"):
        load(folder / "note.txt")
    with pytest.raises(ConfigError, match="no message definitions"):
        load([])
    (folder / "Bad.json").write_bytes(b"\xff")
    with pytest.raises(SpecError, match=r"Bad\.json: not JSON"):
        load(folder / "Bad.json")


@pytest.mark.parametrize("is_jar", [False, True])
def test_each_file_of_a_folder_or_jar_is_read_by_itself(tmp_path, is_jar):
    old = json.dumps(
        {key: value for key, value in json.loads(message()).items() if key != "flexibleVersions"}
    )
    files = {"FooRequest": message().encode(), "Old": old.encode(), "Bad": b"\xff"}
    place = tmp_path / "kafka.jar" if is_jar else tmp_path
    if is_jar:
        with zipfile.ZipFile(place, "w") as archive:
            for name, data in files.items():
                archive.writestr(f"common/message/{name}.json", data)
    else:
        for name, data in files.items():
            (place / f"{name}.json").write_bytes(data)
    found = load(place)
    assert list(found) == ["FooRequest"]
    assert {name: error.rule for name, error in found.faults.items()} == {
        "Old": "missing_flexible_versions",
        "Bad": "json",
    }
    with pytest.raises(SpecError, match=r"Old\.json: You must specify a value for flexibleVersions"):
        found["Old"]
    if not is_jar:
        (place / "FooRequest.json").unlink()
        with pytest.raises(SpecError, match=r"Bad\.json: not JSON"):
            load(place)


def test_jars_that_expand_to_too_much(tmp_path):
    jar = tmp_path / "kafka.jar"
    for count, size in ((1, (1 << 20) + 1), (17, 1 << 20)):
        with zipfile.ZipFile(jar, "w", zipfile.ZIP_DEFLATED) as archive:
            for number in range(count):
                archive.writestr(f"message/M{number:02}.json", message(name=f"M{number:02}").ljust(size))
        with pytest.raises(SpecError, match=r"M(00|16)\.json: \d+ bytes are") as caught:
            load(jar)
        assert caught.value.rule == "file_size"


@pytest.mark.parametrize("step", [1, -1])
def test_chains_of_common_structs(step):
    def chain(levels):
        # Structs are looked at in the order of their names.
        names = [f"S{level:04}" for level in range(levels)][::step]
        inner = [*(field("a", name) for name in names[1:]), field("x", "int8")]
        common = [
            {"name": name, "versions": "0+", "fields": [each]}
            for name, each in zip(names, inner, strict=True)
        ]
        return message(field("all", names[0]), commonStructs=common)

    assert MessageSpec.parse(chain(98)).describe(0).count("=> INT8") == 1
    for levels in (101, 5000):
        with pytest.raises(SpecError, match="deeper than 100 levels"):
            MessageSpec.parse(chain(levels))


def test_structs_that_multiply():
    def doubling(levels):
        """Each common struct has two of the next."""
        common = [
            {
                "name": f"S{level}",
                "versions": "0+",
                "fields": [field("a", f"S{level + 1}"), field("b", f"S{level + 1}")],
            }
            for level in range(levels)
        ]
        common.append({"name": f"S{levels}", "versions": "0+", "fields": [field("x", "int8")]})
        return message(field("all", "S0"), commonStructs=common)

    assert MessageSpec.parse(doubling(10)).describe(0).count("=> INT8") == 1024
    with pytest.raises(SpecError, match="more than 10000 fields in S") as caught:
        MessageSpec.parse(doubling(40))
    assert caught.value.rule == "written_out_fields"


def test_nested_too_deeply():
    inner = []
    for _ in range(300):
        inner = [field("s", "[]S", fields=inner)]
    assert refused(message(*inner)).reason == "fields are nested too deeply"


@pytest.mark.parametrize("folder", ["common/message/", "common/metadata/", "message/"])
def test_where_jars_have_their_definitions(tmp_path, folder):
    """Those of kafka-metadata are not where those of kafka-clients are, and those of kafka-storage elsewhere again."""
    jar = tmp_path / "kafka.jar"
    with zipfile.ZipFile(jar, "w") as archive:
        archive.writestr(f"{folder}FooRequest.json", message())
        archive.writestr(f"org/{folder}FooRequest.json", "no definition")
    assert list(load(jar)) == ["FooRequest"]


def test_damaged_jars(tmp_path):
    jar = tmp_path / "kafka.jar"
    with zipfile.ZipFile(jar, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("common/message/FooRequest.json", message())
    whole = jar.read_bytes()
    for place in range(30, len(whole)):
        jar.write_bytes(whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :])
        try:
            assert list(load(jar)) == ["FooRequest"]
        except (ConfigError, SpecError):
            continue


def test_what_is_compressed_as_in_no_jar(tmp_path):
    jar = tmp_path / "kafka.jar"
    with zipfile.ZipFile(jar, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("common/message/FooRequest.json", message())
    with pytest.raises(
        ConfigError, match=r"kafka\.jar cannot be read: .*FooRequest\.json is compressed as nothing in"
    ):
        load(jar)


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("request", "Found more than one request with API key 1"),
        ("metadata", "Duplicate metadata record entry for type 1. Original claimant: A. New claimant: B"),
    ],
)
def test_numbers_are_unique_in_a_folder(kind, reason):
    texts = {
        f"{folder}/{name}.json": message(name=name, type=kind) for folder, name in (("x", "A"), ("x", "B"))
    }
    with pytest.raises(SpecError) as caught:
        load(texts)
    assert (caught.value.reason, caught.value.file) == (reason, "x/B.json")
    apart = load({f"{name}/{name}.json": message(name=name, type=kind) for name in "AB"})
    with pytest.raises(ConfigError, match="is A and B in the definitions"):
        apart.of_type(kind, 1)
    with pytest.raises(SpecError, match="Found more than one message with name A"):
        Definitions([*apart.values(), MessageSpec.parse(message(name="A"))])


@given(st.text())
def test_any_text_is_a_definition_or_an_error(text):
    try:
        MessageSpec.parse(text)
    except SpecError:
        return
    raise AssertionError("only a whole definition is one")


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 40000)
    | st.text(max_size=4)
    | st.sampled_from(["0+", "S", "[]S", "1-2"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["name", "type", "fields"]), inner)
    ),
    max_leaves=6,
)
members = st.sampled_from(
    [
        "name",
        "type",
        "versions",
        "fields",
        "tag",
        "taggedVersions",
        "nullableVersions",
        "flexibleVersions",
        "default",
    ]
)


@given(
    st.dictionaries(members, values),
    st.sampled_from(["fields", "commonStructs", "headerVersions", "listeners"]),
)
def test_any_member_is_read_or_an_error(made, place):
    document = json.loads(message(field("s", "[]S", fields=[field()])))
    document[place] = [{**field("s", "[]S"), **made}] if place != "headerVersions" else made
    try:
        spec = MessageSpec.parse(json.dumps(document))
    except SpecError:
        return
    for version in spec.valid_versions:
        spec.describe(version)

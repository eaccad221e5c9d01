"""What the pages show and what their forms do."""

import asyncio
import re
from dataclasses import replace

import pytest
from cases import cases
from toy_plugin import install

from kcodec.errors import RegistryError
from kcodec.registry import Config, Metadata, Reference, Schema
from kcodec.registry.compatibility.levels import LEVELS
from kcodec.server.page.app import RegistryPage
from kcodec.server.page.visit import link

INT, LONG, TEXT = '"int"', '"long"', '"string"'


def test_every_link_leads_to_a_whole_page(browser):
    pages = browser.crawl()
    assert {page.status for page in pages.values()} == {200}
    names = {re.sub(r".*/ui/([a-z]*).*", r"\1", address) for address in pages}
    assert names == {
        "",
        "subjects",
        "subject",
        "version",
        "schema",
        "compare",
        "check",
        "settings",
        "delete",
        "decode",
        "changes",
    }
    assert len({page.titles[0] for page in pages.values()}) > len(names)


def test_an_empty_registry_says_so(browser, registry):
    empty = type(browser)(RegistryPage(type(registry)("empty"), root_path="/ui"))
    assert "No schemas yet" in empty.get().text
    assert "No subjects yet" in empty.get("subjects").text
    assert "No subject matches" in browser.get("subjects?q=nothing+has+this").text


def test_overview(browser):
    page = browser.get()
    assert re.search(r"Subjects 5 .*Versions 7 .*Schemas 7 .*Contexts 2 ", page.text)
    assert "AVRO 4" in page.text
    assert "PROTOBUF 2" in page.text


def test_subjects_are_searched(browser):
    assert "5 subjects" in browser.get("subjects").text
    found = browser.get("subjects?q=ORDERS")
    assert "2 subjects" in found.text
    assert "clicks-value" not in found.text
    assert "1 subject in context .lab" in browser.get("subjects?context=.lab").text
    assert "gone-value" not in browser.get("subjects").text
    assert "gone-value deleted" in browser.get("subjects?deleted=1").text


def test_subjects_of_a_type(browser, registry):
    page = browser.get("subjects?type=PROTOBUF")
    found = {each for each in registry.subjects() if registry.get_version(each).schema.type == "PROTOBUF"}
    assert found
    assert f"{len(found)} subjects of type PROTOBUF" in page.text
    assert {each for each in registry.subjects() if each in page.html} == found
    assert "<option selected>PROTOBUF" in page.html
    assert "No subject matches" in browser.get("subjects?type=NONE").text
    registry.delete_subject(min(found))
    assert min(found) not in browser.get("subjects?type=PROTOBUF").text
    assert min(found) in browser.get("subjects?type=PROTOBUF&deleted=1").text


def test_ids_are_links_and_texts_are_kept_as_files(browser, registry):
    page = browser.get("subjects")
    for name in registry.subjects():
        found = registry.get_version(name)
        context = "&amp;context=.lab" if name.startswith(":.lab:") else ""
        assert re.search(rf'href="schema\?id={found.id}{context}[&"]', page.html), name
    page = browser.get("version?subject=orders-value&version=3")
    [(address, file)] = re.findall(r'href="(text[^"]*)" download="([^"]*)"', page.html)
    assert (address.replace("&amp;", "&"), file) == (
        link("text", subject="orders-value", version=3),
        "orders-value-v3.avsc",
    )
    registry.register("a/b: ö", Schema('syntax = "proto3"; message M {}', "PROTOBUF"))
    assert 'download="a_b-v1.proto"' in browser.get(link("version", subject="a/b: ö", version=1)).html


@cases(
    ("address", "name", "current"),
    [
        ("subjects", "Subjects", "page"),
        ("subject?name=orders-value", "Subjects", "true"),
        ("version?subject=orders-value&version=1", "Subjects", "true"),
        ("schema?id=1", "Subjects", "true"),
        ("compare?subject=orders-value&from=1&to=2", "Subjects", "true"),
        ("delete?subject=orders-value", "Subjects", "true"),
        ("check", "Check", "page"),
        ("decode", "Decode", "page"),
        ("settings", "Settings", "page"),
        ("", None, None),
    ],
)
def test_the_menu_says_where_one_is(browser, address, name, current):
    menu = re.search(r'<nav aria-label="Main">.*?</nav>', browser.get(address).html, re.DOTALL)[0]
    marked = re.findall(r'aria-current="(\w+)">(\w+)</a>', menu)
    assert marked == ([] if name is None else [(current, name)])


@pytest.mark.parametrize(
    ("wanted", "leads_to"),
    [
        ("1", "/ui/schema?id=1"),
        ("999", "/ui/subjects?q=999"),
        ("orders-value", "/ui/subject?name=orders-value"),
        ("orders", "/ui/subjects?q=orders"),
        ("", "/ui/subjects"),
    ],
)
def test_find(browser, wanted, leads_to):
    assert browser.get(link("find", q=wanted)).address.endswith(leads_to)


def test_find_a_guid(browser, registry):
    guid = registry.get(2).guid
    page = browser.get(link("find", q=guid.upper()))
    assert "Schema 2" in page.text
    assert guid in page.text


def test_lists_come_in_parts(registry, browser):
    with registry.database.transaction(write=True):
        for number in range(10_000):
            registry.register(f"topic-{number:05d}", Schema(INT))
    page = browser.get("subjects?q=topic")
    assert "10,000 subjects · part 1 of 200" in page.text
    assert "topic-00049" in page.text
    assert "topic-00050" not in page.text
    last = browser.get("subjects?q=topic&page=200")
    assert "topic-09999" in last.text
    assert "Next" not in last.text
    assert browser.get("subjects?q=topic&page=999999").text == last.text
    assert browser.get("subjects?page=-1").status == 400


def test_a_part_is_all_that_is_read_of_the_subjects(registry, browser, monkeypatch):
    for number in range(60):
        registry.register(f"topic-{number:05d}", Schema(INT))
    registry.delete_subject("topic-00002")
    asked, subjects = [], registry.subjects
    monkeypatch.setattr(
        registry, "subjects", lambda *given, **how: asked.append(how) or subjects(*given, **how)
    )
    alive, total = len(subjects()), len(subjects(deleted=True))
    page = browser.get("subjects")
    assert f"{alive} subjects · part 1 of 2" in page.text
    second = browser.get("subjects?page=2&deleted=1")
    assert f"{total} subjects · part 2 of 2" in second.text
    assert len(asked) > 2
    assert all(how["limit"] <= 50 for how in asked)
    shown = (page.text + browser.get("subjects?page=2").text).count("topic-")
    assert (shown, browser.get("subjects?q=topic").text.count("topic-")) == (59, 50)


def test_many_versions_come_in_parts(registry, browser):
    registry.set_config(Config("NONE"))
    for number in range(120):
        registry.register("many", Schema(f'{{"type":"fixed","name":"F","size":{number}}}'))
    page = browser.get("subject?name=many")
    assert "Version 120" in page.text
    assert "Version 71 " in page.text
    assert "Version 70 " not in page.text
    assert "Version 1 " in browser.get("subject?name=many&page=3").text


def test_a_version_shows_what_it_refers_to_and_what_refers_to_it(browser):
    page = browser.get("version?subject=customers-value&version=1")
    assert any(each.endswith("version?subject=shop%2Faddress.proto&version=1") for each in page.links)
    assert (
        'href="version?subject=shop%2Faddress.proto&amp;version=1">&#34;shop/address.proto&#34;</a>'
        in page.html
    )
    page = browser.get("version?subject=shop%2Faddress.proto&version=1")
    assert "Referred to by 1 customers-value , version 1" in page.text


def test_references_of_references_are_shown_both_ways(registry, browser):
    for name, needs in (("a", ""), ("b", "a"), ("c", "b")):
        field = f'{{"name":"x","type":"{needs}"}}' if needs else ""
        text = f'{{"type":"record","name":"{name}","fields":[{field}]}}'
        registry.register(name, Schema(text, references=(Reference(needs, needs, 1),) if needs else ()))
    page = browser.get("version?subject=c&version=1")
    assert re.search("Refers to 1 b , version 1 b a , version 1 a Referred to by 0", page.text)
    page = browser.get("version?subject=a&version=1")
    assert re.search(r"Referred to by 1 b , version 1 id \d+ c , version 1 id \d+ ", page.text)


def test_references_stay_in_their_context(registry, browser):
    registry.register(":.lab:a.proto", Schema('syntax = "proto3"; message A { }', "PROTOBUF"))
    registry.register(
        ":.lab:b",
        Schema(
            'syntax = "proto3"; import "a.proto"; message B { A a = 1; }',
            "PROTOBUF",
            (Reference("a.proto", "a.proto", 1),),
        ),
    )
    page = browser.get(link("version", subject=":.lab:b", version=1))
    target = next(each for each in page.links if "a.proto" in each)
    assert browser.get(target).status == 200
    assert "Referred to by 1 :.lab:b , version 1" in browser.get(target).text


def test_metadata_and_rules_are_shown_without_secrets(browser):
    page = browser.get("version?subject=orders-value&version=3")
    for each in ("owner billing", "PII", "positive", "message.id > 0", "hidden: sensitive"):
        assert each in page.text
    assert "s3cret" not in page.html


def test_forms_of_a_text(browser):
    page = browser.get("version?subject=customers-value&version=1&form=serialized")
    assert "serialized" in page.text
    plain = browser.request("GET", "text?subject=customers-value&version=1")
    assert plain.headers["content-type"] == "text/plain; charset=utf-8"
    assert plain.text.startswith('syntax = "proto3";')
    assert browser.request("GET", "text?subject=customers-value&form=serialized").text in page.text.replace(
        " ", ""
    )


def test_versions_are_compared_in_words(browser):
    text = browser.get("compare?subject=orders-value&from=2&to=3").text
    assert "type of id changed: long → string BACKWARD breaks FORWARD breaks" in text
    assert "field sku removed FORWARD breaks" in text
    assert "The field 'sku' at path '/fields/1' in the version 2 schema has no default value" in text
    assert "READER_FIELD_MISSING_DEFAULT_VALUE" in text
    text = browser.get("compare?subject=orders-value&from=1&to=2").text
    assert "field note added (default null)" in text
    assert "breaks" not in text.partition("Text, line by line")[0]
    assert "The texts are the same" in browser.get("compare?subject=orders-value&from=2&to=2").text


def test_logical_types_are_compared_in_words(registry, browser):
    for scale in (2, 3):
        schema = f'{{"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": {scale}}}'
        registry.register("prices-value", Schema(schema))
    page, _, changes = browser.get("compare?subject=prices-value").text.partition("What changed")
    assert "scale 2 -> 3: converted /" in page
    assert "scale 3 -> 2: converted if exact /" in page
    assert "breaks" not in page
    assert "scale changed: 2 → 3" in changes


def test_messages_are_compared_in_words(registry, browser):
    registry.set_config(Config("NONE"), "shop/address.proto")
    registry.register(
        "shop/address.proto",
        Schema(
            'syntax = "proto3"; package shop; message Address { int32 city = 1; bool new = 2; }', "PROTOBUF"
        ),
    )
    text = browser.get("compare?subject=shop%2Faddress.proto").text
    assert (
        "field scalar kind changed: city: string → int32 BACKWARD breaks FORWARD breaks #/Address/1" in text
    )
    assert "field added: new #/Address/2" in text


def test_what_is_read_otherwise_is_told_beside_the_rules(registry, browser):
    for subject, kind, text in (
        ("a", "PROTOBUF", 'syntax = "proto3"; message M { int32 n = 1; }'),
        ("b", "AVRO", '{"type":"record","name":"M","fields":[{"name":"n","type":"long"}]}'),
    ):
        registry.set_config(Config("NONE"), subject)
        registry.register(subject, Schema(text, kind))
        changed = text.replace("int32", "int64").replace('"long"', '"double"')
        registry.register(subject, Schema(changed, kind))
    text = browser.get("compare?subject=a").text
    assert "The rules of FORWARD let who reads with version 1 read what was written with version 2." in text
    assert "Not all is read as it was written: n: of more than 32 bits, int64 is cut to int32 #/M/1" in text
    assert "field type changed: n: int32 → int64 FORWARD loses #/M/1" in text
    assert text.count("Not all is read") == 1
    text = browser.get("compare?subject=b").text
    assert "of more than 53 bits, long is rounded to double /fields/0/type" in text
    assert "type of n changed: long → double FORWARD breaks BACKWARD loses" in text


def test_versions_of_different_types_are_compared(registry, browser):
    registry.set_config(Config("NONE"), "clicks-value")
    registry.register("clicks-value", Schema(INT))
    assert "One is JSON, the other AVRO" in browser.get("compare?subject=clicks-value").text


def test_deleted_versions_are_compared(registry, browser):
    registry.delete_version("orders-value", 1)
    assert "Version 1 to version 2" in browser.get("compare?subject=orders-value&from=1&to=2").text


def test_the_form_begins_with_the_latest_version(browser):
    page = browser.get("check?subject=orders-value")
    assert '"name": "note"' in page.fields["schema"]
    assert page.fields["properties"] == "key = s3cret\nowner = billing\n"
    assert "references" in browser.get("check?subject=customers-value").text.lower()


def verdicts(page):
    return {
        level: re.search(rf"{level}(?: in force)? (. \w+)", page.text.replace("_ ", "_"))[1]
        for level in LEVELS
    }


@pytest.mark.parametrize(
    "schema",
    [
        '{"type":"record","name":"Order","namespace":"shop","fields":[]}',
        '{"type":"record","name":"Order","namespace":"shop","fields":[{"name":"id","type":"string"},'
        '{"name":"note","type":["null","string"],"default":null},{"name":"more","type":"int"}]}',
        '{"type":"record","name":"Order","namespace":"shop","fields":[{"name":"id","type":["string","long"]},'
        '{"name":"sku","type":"string","default":""}]}',
        '{"type":"record","name":"Order","namespace":"shop","fields":[{"name":"id","type":"string"}]}',
        '{"type":"record","name":"Order","namespace":"shop","fields":[{"name":"id","type":["long","string"]},'
        '{"name":"sku","type":"string","default":""},{"name":"note","type":["null","string"],"default":null}]}',
        '"int"',
    ],
)
def test_a_check_gives_the_verdicts_of_all_levels(registry, browser, schema):
    page = browser.post("check", subject="orders-value", type="AVRO", schema=schema)
    expected = {
        level: "✓ passes"
        if registry.check_compatibility("orders-value", Schema(schema), level, None).compatible
        else "✕ breaks"
        for level in LEVELS
    }
    assert verdicts(page) == expected
    assert len(set(expected.values())) == 2
    assert page.fields["schema"] == schema
    assert registry.versions("orders-value") == [1, 2, 3]
    found = registry.check_compatibility("orders-value", Schema(schema), "FULL", None)
    for difference in found.differences:
        assert difference.type in page.text
        assert difference.path in page.text
        # The types, as the API says them.
        assert difference.message in page.text


def test_a_level_of_all_versions_names_the_one_that_breaks(browser):
    schema = '{"type":"record","name":"Order","namespace":"shop","fields":[{"name":"id","type":"string"}]}'
    page = browser.post("check", subject="orders-value", type="AVRO", schema=schema)
    assert "BACKWARD_TRANSITIVE: the new schema cannot read what version 2 wrote" in page.text


def test_a_schema_is_checked_and_registered(registry, browser):
    page = browser.post("check", subject="new", type="AVRO", schema=INT)
    assert "May be registered" in page.text
    assert "Register as the first version" in page.text
    page = browser.post("check", subject="new", type="AVRO", schema=INT, action="register")
    assert "/ui/version?subject=new&version=1&done=registered" in page.address
    assert "Registered." in page.text
    assert registry.get_version("new").schema.text == INT
    page = browser.post("check", subject="new", type="AVRO", schema=INT)
    assert "registered here already, as version 1" in page.text
    assert "Register as" not in page.text
    page = browser.post("check", subject="new", type="AVRO", schema=INT, action="register")
    assert "Nothing to do" in page.text
    page = browser.post("check", subject="new", type="AVRO", schema=TEXT)
    assert "Would be refused. It breaks BACKWARD" in page.text
    page = browser.post("check", subject="new", type="AVRO", schema=TEXT, action="register")
    assert page.status == 409
    assert "Not registered: incompatible" in page.text
    assert page.fields["schema"] == TEXT
    assert registry.versions("new") == [1]


def test_a_schema_with_references_and_metadata_is_registered(registry, browser):
    page = browser.post(
        "check",
        subject="customers-key",
        type="PROTOBUF",
        schema=browser.get("check?subject=customers-value").fields["schema"].replace("\n", "\r\n"),
        reference_name=["shop/address.proto", ""],
        reference_subject=["shop/address.proto", ""],
        reference_version=["latest", ""],
        properties="owner = me\r\n\r\n",
        action="register",
    )
    assert page.status == 200
    found = registry.get_version("customers-key").schema
    assert found.references == registry.get_version("customers-value").schema.references
    assert found.text == registry.get_version("customers-value").schema.text
    assert found.metadata.properties == (("owner", "me"),)


def test_a_new_version_keeps_rules_and_tags(registry, browser):
    registry.set_config(Config("NONE"), "orders-value")
    browser.post(
        "check", subject="orders-value", type="AVRO", schema=INT, properties="owner = x", action="register"
    )
    found, before = (
        registry.get_version("orders-value").schema,
        registry.get_version("orders-value", 3).schema,
    )
    assert found.text == INT
    assert found.rules == before.rules
    assert (found.metadata.tags, found.metadata.properties) == (before.metadata.tags, (("owner", "x"),))


@cases(
    ("fields", "words"),
    [
        ({"schema": "{"}, "42201"),
        ({"schema": INT, "type": "NONE"}, "42201"),
        ({"schema": INT, "subject": ""}, "42208"),
        ({"schema": INT, "subject": "a\nb"}, "42208"),
        ({"schema": INT, "properties": "no sign"}, "has no ="),
        (
            {"schema": INT, "reference_name": "a", "reference_subject": "nothing", "reference_version": "1"},
            "No schema reference found",
        ),
        (
            {"schema": INT, "reference_name": "a", "reference_subject": "b", "reference_version": "x"},
            "not a number",
        ),
        ({"schema": INT, "reference_name": "a", "reference_subject": "", "reference_version": ""}, "42201"),
    ],
)
@cases("action", ["check", "register"])
def test_what_is_no_schema_is_told_beside_the_form(browser, fields, words, action):
    page = browser.post("check", action=action, **{"subject": "new", "type": "AVRO", **fields})
    assert page.status == 422
    assert words in page.text
    assert page.fields["schema"] == fields["schema"]


def test_more_rows_for_references(browser):
    page = browser.get("check")
    assert page.html.count('name="reference_name"') == 2
    page = browser.post(
        "check",
        subject="s",
        type="AVRO",
        schema="{",
        action="rows",
        reference_name=["a", "b"],
        reference_subject=["c", "d"],
        reference_version=["1", "2"],
    )
    assert page.html.count('name="reference_name"') == 6
    assert page.fields["schema"] == "{"


def test_settings_are_set_and_cleared(registry, browser):
    page = browser.post(
        "settings",
        subject="clicks-value",
        compatibility="FULL",
        compatibility_policy="LENIENT",
        normalize="true",
    )
    assert "Settings saved" in page.text
    assert registry.config("clicks-value") == Config("FULL", None, "LENIENT", True)
    browser.post("settings", subject="clicks-value", normalize="false")
    assert registry.config("clicks-value") == Config(normalize=False)
    browser.post("settings", subject="clicks-value")
    with pytest.raises(RegistryError, match="does not have"):
        registry.config("clicks-value")
    override = Config(override_metadata=Metadata.of({"owner": "<b>"}))
    registry.set_config(override, "clicks-value")
    assert '"owner" : "<b>"' in browser.get("settings?subject=clicks-value").text
    page = browser.post("settings", subject="clicks-value", alias="", compatibility="NONE")
    assert registry.config("clicks-value") == replace(override, compatibility="NONE")
    browser.post("settings", subject=":.lab:", compatibility="FORWARD")
    assert registry.config(":.lab:orders-value", default_to_global=True).compatibility == "FORWARD"
    browser.post("settings", subject="", compatibility="NONE")
    assert registry.config().compatibility == "NONE"
    page = browser.post("settings", subject="", compatibility="SOME")
    assert page.status == 422
    assert "Invalid compatibility level" in page.text
    assert registry.config().compatibility == "NONE"


def test_modes_are_set_and_cleared(registry, browser):
    browser.post("settings", what="mode", subject="orders-value", mode="READONLY")
    assert registry.mode("orders-value") == "READONLY"
    assert "READONLY" in browser.get("subject?name=orders-value").text
    page = browser.post("check", subject="orders-value", type="AVRO", schema=INT)
    assert "nothing is registered here now" in page.text
    page = browser.post("check", subject="orders-value", type="AVRO", schema=INT, action="register")
    assert (page.status, "read-only mode" in page.text) == (422, True)
    browser.post("settings", what="mode", subject="orders-value", mode="")
    assert registry.mode("orders-value", default_to_global=True) == "READWRITE"
    page = browser.post("settings", what="mode", subject="", mode="IMPORT")
    assert "found existing subjects" in page.text
    browser.post("settings", what="mode", subject="", mode="IMPORT", force="1")
    assert registry.mode() == "IMPORT"


def test_an_alias_is_shown(registry, browser):
    registry.set_config(Config(alias="clicks-value"), "old-clicks")
    registry.set_config(Config(alias="clicks-value"), "orders-value")
    assert "alias of clicks-value" in browser.get("subjects").text
    assert browser.get("subject?name=old-clicks").status == 200
    assert "alias of clicks-value" in browser.get("subject?name=old-clicks").text


def test_deletion_in_two_steps(registry, browser):
    page = browser.get("delete?subject=orders-value&version=2")
    assert "Delete version 2?" in page.text
    page = browser.post("delete", subject="orders-value", version="2")
    assert "Version 2 deleted" in page.text
    assert registry.versions("orders-value") == [1, 3]
    assert "Version 2" not in browser.get("subject?name=orders-value").text
    assert "deleted" in browser.get("version?subject=orders-value&version=2").text
    assert '"sku"' in browser.get("check?subject=orders-value&version=2").fields["schema"]
    page = browser.get("delete?subject=orders-value&version=2")
    assert "This cannot be undone" in page.text
    browser.post("delete", subject="orders-value", version="2", permanent="1")
    assert registry.versions("orders-value", deleted=True) == [1, 3]
    browser.post("delete", subject="orders-value")
    assert "orders-value" not in registry.subjects()
    page = browser.post("delete", subject="orders-value", permanent="1")
    assert page.address.endswith("/ui/subjects?done=gone")
    assert "orders-value" not in registry.subjects(deleted=True)


def test_deletion_says_what_protects(registry, browser):
    page = browser.get("delete?subject=shop%2Faddress.proto")
    assert "customers-value , version 1 refers to version 1" in page.text
    page = browser.post("delete", subject="shop/address.proto")
    assert page.status == 422
    assert "One or more references exist" in page.text
    assert registry.versions("shop/address.proto") == [1]


@cases(
    ("address", "status"),
    [
        ("nothing", 404),
        ("subject?name=nothing", 404),
        ("version?subject=orders-value&version=9", 404),
        ("version?subject=orders-value&version=x", 400),
        ("version?subject=orders-value&version=99999999999", 400),
        ("version?subject=orders-value&version=4294967296", 422),
        ("schema?id=99", 404),
        ("schema?id=x", 400),
        ("schema?id=9999999999", 404),
        ("schema?guid=x", 404),
        ("schema?id=1&context=.nothing", 404),
        ("compare?subject=nothing", 404),
        ("compare?subject=orders-value&from=1&to=7", 404),
        ("subject", 422),
        ("subject?name=", 422),
        ("text?subject=nothing", 404),
        ("delete?subject=nothing", 404),
        ("delete?subject=orders-value&version=9", 404),
        ("static/nothing.css", 404),
        ("static/../app.py", 404),
        ("", 200),
    ],
)
def test_what_is_not_there(browser, address, status):
    page = browser.get(address)
    assert page.status == status
    assert status == 200 or str(status) in page.text


def test_methods(browser):
    response = browser.request("DELETE", "subjects")
    assert (response.status_code, response.headers["allow"]) == (405, "GET")
    assert browser.request("PUT", "check").headers["allow"] == "GET, POST"
    response = browser.request("HEAD", "subjects")
    assert (response.status_code, response.content) == (200, b"")
    assert int(response.headers["content-length"]) > 1000


def test_static_files(browser):
    style = re.search(r'href="(static/page\.css\?\w+)"', browser.get().html)[1]
    response = browser.request("GET", style)
    assert response.headers["content-type"] == "text/css; charset=utf-8"
    assert "immutable" in response.headers["cache-control"]
    assert "http" not in response.text
    assert browser.request("GET", "static/icon.svg").headers["content-type"] == "image/svg+xml"


@pytest.mark.parametrize("root", ["", "/ui", "/a/b"])
def test_any_root(registry, root):
    page = RegistryPage(registry, root_path=root)
    sent = []

    async def get(path):
        sent.clear()
        scope = {"type": "http", "method": "GET", "path": path, "query_string": b"", "headers": []}

        async def receive():
            return {"type": "http.request"}

        async def send(message):
            sent.append(message)

        await page(scope, receive, send)
        return sent[0]["status"], dict(sent[0]["headers"])

    assert asyncio.run(get(f"{root}/subjects"))[0] == 200
    assert asyncio.run(get(f"{root}/"))[0] == 200
    if root:
        status, headers = asyncio.run(get(root))
        assert (status, headers[b"location"]) == (307, root.rpartition("/")[2].encode() + b"/")


def test_failures_are_told_without_details(registry, browser, monkeypatch, caplog):
    monkeypatch.setattr(registry, "counts", lambda: 1 / 0)
    page = browser.get()
    assert page.status == 500
    assert "division" not in page.html
    assert "ZeroDivisionError" in caplog.text


def test_types_of_plugins(tmp_path, monkeypatch, registry, browser):
    install(tmp_path, monkeypatch)
    registry.register("toys", Schema("toy 4", "TOY"))
    assert "TOY 1" in browser.get().text
    page = browser.get("check?subject=toys")
    assert page.fields["schema"] == "toy 4"
    assert "<option selected>TOY</option>" in page.html
    page = browser.post("check", subject="toys", type="TOY", schema="toy 2")
    assert "4 bytes (path '' of the new schema)" in page.text
    browser.post("check", subject="toys", type="TOY", schema="toy 8", action="register")
    text = browser.get("compare?subject=toys").text
    assert "8 bytes (path '' of the version 1 schema)" in text
    page = browser.post("decode", message=f"{registry.get_version('toys', 1).id:010x}0000002a")
    assert "Value TOY 42" in page.text

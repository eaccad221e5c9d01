"""Names, texts, addresses, forms and messages of those who mean harm."""

import json
import time

import pytest
from cases import cases
from hypothesis import given
from hypothesis import strategies as st
from page_browser import ORIGIN, Browser

from kcodec.errors import RegistryError
from kcodec.registry import Config, Metadata, Reference, Rule, RuleSet, Schema
from kcodec.registry.memory import MemoryRegistry
from kcodec.server.page.app import RegistryPage
from kcodec.server.page.visit import link

EVIL = """"'><script>alert(1)</script><img src=x onerror=alert(1)>{{7*7}}${7*7}</textarea></title>--><svg onload=x>"""
ODD_SUBJECTS = [
    EVIL,
    "a/versions",
    "a/../b",
    "..",
    ".",
    "%2e%2e",
    "%00",
    "a%2Fb",
    "a+b c&d=e#f?g;h",
    "javascript:alert(1)",
    "//evil.example/x",
    "http://evil.example/",
    "ünï-✓-\U0001f600",
    "\u202egnp.exe",
    ":.lab:" + EVIL,
    "x" * 3000,
    " ",
    "a\\b",
    "'; DROP TABLE versions; --",
]


@pytest.fixture
def hostile(monkeypatch):
    # A file of an earlier release may have such rules.
    monkeypatch.setattr(RuleSet, "check", lambda self: None)
    registry = MemoryRegistry("hostile")
    quoted = json.dumps(EVIL)
    fields = f'[{{"name":"a","type":"int","doc":{quoted}}}]'
    schema = Schema(
        f'{{"type":"record","name":"R","doc":{quoted},"fields":{fields},"x-{json.dumps(EVIL)[1:-1]}":{quoted}}}',
        metadata=Metadata.of({EVIL: EVIL}, {EVIL: [EVIL]}),
        rules=RuleSet(
            domain=(Rule(EVIL, doc=EVIL, kind=EVIL, mode=EVIL, type=EVIL, expr=EVIL),),
            migration=(Rule(EVIL),),
            encoding=(Rule(EVIL),),
        ),
    )
    for place in (None, ":.__GLOBAL:"):
        registry.set_config(Config("NONE"), place)
    for subject in ODD_SUBJECTS:
        registry.register(subject, schema)
        registry.register(subject, Schema(f'{{"type":"object","description":{quoted}}}', "JSON"))
    registry.register(
        "json",
        Schema(
            '{"$ref":' + quoted + "}",
            "JSON",
            (Reference(EVIL, EVIL, 2),),
        ),
    )
    registry.register(
        "proto",
        Schema('syntax = "proto3"; option java_package = "</code><script>"; message M { }', "PROTOBUF"),
    )
    registry.set_config(Config("FULL", compatibility_group=EVIL, alias=EVIL), "alias")
    registry.set_config(Config(compatibility_group=EVIL), EVIL)
    registry.delete_version("..", 1)
    registry.delete_subject("a\\b")
    return registry


def test_nothing_of_a_registry_is_markup(hostile):
    pages = Browser(RegistryPage(hostile, root_path="/ui")).crawl("subjects?deleted=1")
    assert {page.status for page in pages.values()} == {200}
    assert len(pages) > 150
    shown = [page for page in pages.values() if EVIL in page.text]
    assert len(shown) > 50


@pytest.mark.parametrize("name", ODD_SUBJECTS)
def test_any_subject_is_shown_compared_set_and_deleted(hostile, name):
    browser = Browser(RegistryPage(hostile, root_path="/ui"))
    assert (
        f"name={'' if name == ' ' else link('', name=name)[8:]}" in browser.get("subjects?deleted=1").html
        or name == " "
    )
    for address in (
        link("subject", name=name, deleted=1),
        link("version", subject=name, version=2),
        link("compare", subject=name, **{"from": 1, "to": 2}),
        link("settings", subject=name),
        link("delete", subject=name),
    ):
        assert browser.get(address).status == 200
    page = browser.get(link("check", subject=name))
    assert page.fields["subject"] == name
    assert browser.post("settings", subject=name, compatibility="FULL").status == 200
    assert hostile.config(name).compatibility == "FULL"
    if hostile_is_alive(hostile, name):
        assert browser.post("delete", subject=name, version="2").status == (422 if name == EVIL else 200)


def hostile_is_alive(registry, name):
    return 2 in registry.versions(name, deleted=True) and name in registry.subjects()


@cases(
    "address",
    [
        "subjects?q=" + "%3Cscript%3E",
        "subject?name=%3Cscript%3Ealert(1)%3C/script%3E",
        "subject?name=a%0Ab",
        "subject?name=%00",
        "find?q=%3Cscript%3E",
        "find?q=%00",
        "find?q=a%0D%0ASet-Cookie:%20x=y",
        "find?q=//evil.example",
        "find?q=javascript:alert(1)",
        "check?subject=%3Cscript%3E",
        "settings?subject=%3Cscript%3E",
        "settings?subject=:.x%0A:",
        "decode?schema=%3Cscript%3E&context=%3Cscript%3E",
        "subjects?context=%3Cscript%3E&page=2",
        "compare?subject=orders-value&from=-1",
        "compare?subject=orders-value&to=1e3",
        "version?subject=orders-value&version=%D9%A3",
        "version?subject=orders-value&version=latest&form=%3Cscript%3E",
        "delete?subject=orders-value&version=%D9%A3",
        "schema?id=%D9%A3",
        "schema?id=1&context=x%0A",
        "subjects?done=%3Cscript%3E",
        "subjects?q=%FF",
        "subjects?q=%ED%A0%80",
        "subjects?" + "&".join(f"a{number}=1" for number in range(600)),
        "%3Cscript%3E",
        "subjects/%2e%2e/version",
        "a/b/c/d",
        "subject%2F..%2Fsettings",
        "subjects?q=" + "x" * 60_000,
    ],
)
def test_any_address(browser, address):
    response = browser.request("GET", address)
    assert response.status_code in (200, 303, 400, 404, 422)
    location = response.headers.get("location")
    assert location is None or location.startswith(("subjects?q=", "subject?name=", "schema?"))
    assert len(response.headers.get_list("set-cookie")) <= 1
    page = browser.get(address)
    assert "<script" not in page.html


def test_lone_surrogates_are_no_names(browser):
    for address in ("subject", "check", "settings", "delete"):
        assert browser.get(f"{address}?name=%ED%A0%80&subject=%ED%A0%80").status == 400


# Forms


@cases(
    "headers",
    [
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"sec-fetch-site": "none"},
        {"sec-fetch-site": "cross-site", "origin": ORIGIN},
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://registry:8082"},
        {"origin": "http://registry:8081.evil.example"},
    ],
)
def test_forms_of_other_sites_are_refused(registry, browser, headers):
    for address, fields in FORMS.items():
        page = browser.post(address, headers=headers, **fields)
        assert page.status == 403
        assert "another site" in page.text
    unchanged(registry)


FORMS = {
    "settings": {"subject": "", "compatibility": "NONE"},
    "check": {"subject": "new", "schema": '"int"', "type": "AVRO", "action": "register"},
    "delete": {"subject": "orders-value"},
    "decode": {"message": "00"},
}


def unchanged(registry):
    assert registry.config().compatibility == "BACKWARD"
    assert "new" not in registry.subjects()
    assert "orders-value" in registry.subjects()


@cases("token", ["", "x", "x" * 43, "é" * 43, None])
@cases("cookie", [None, "", "x" * 31, "y" * 43, "own"])
def test_forms_without_the_browsers_token_are_refused(registry, browser, token, cookie):
    browser.get()
    if cookie != "own":
        browser.cookies.clear()
        if cookie is not None:
            browser.cookies.set("kcodec_page", cookie)
    for address, fields in FORMS.items():
        data = fields if token is None else {**fields, "token": token}
        response = browser.request("POST", address, data=data, headers={"origin": ORIGIN})
        assert response.status_code == 403
    unchanged(registry)


def test_a_token_stays_with_its_browser(browser):
    first = browser.request("GET", "check")
    cookie = first.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert "Secure" not in cookie
    token = browser.cookies["kcodec_page"]
    assert f'name="token" value="{token}"' in first.text
    again = browser.request("GET", "check")
    assert "set-cookie" not in again.headers
    assert f'value="{token}"' in again.text
    other = Browser(browser.app)
    other.get()
    assert other.cookies["kcodec_page"] != token


def test_a_cookie_that_is_no_token_is_replaced(browser):
    browser.cookies.set("kcodec_page", 'x"><script>' * 5)
    response = browser.request("GET", "check")
    assert "set-cookie" in response.headers
    assert "<script" not in response.text


def test_forms_are_forms(registry, browser):
    browser.get()
    for kind in ("text/plain", "application/json", "multipart/form-data; boundary=x", ""):
        response = browser.request(
            "POST",
            "settings",
            content=b"subject=&compatibility=NONE&token=" + browser.cookies["kcodec_page"].encode(),
            headers={"content-type": kind, "origin": ORIGIN},
        )
        assert response.status_code == 415
    unchanged(registry)


def test_large_forms_are_refused(registry):
    browser = Browser(RegistryPage(registry, root_path="/ui", max_body=10_000))
    assert browser.post("check", subject="a", schema="x" * 9_000, type="AVRO").status == 422
    assert browser.post("check", subject="a", schema="x" * 10_000, type="AVRO").status == 413

    browser = Browser(RegistryPage(registry, root_path="/ui", max_schema=100))
    for action in ("check", "register"):
        page = browser.post("check", subject="a", schema=f'"int"{" " * 96}', type="AVRO", action=action)
        assert (page.status, "42209" in page.text) == (422, True)
        assert (
            browser.post("check", subject="a", schema=f'"int"{" " * 95}', type="AVRO", action=action).status
            == 200
        )
    browser = Browser(RegistryPage(registry, root_path="/ui", max_body=10_000))

    async def parts():
        for _ in range(20):
            yield b"x" * 1000

    kind = {"content-type": "application/x-www-form-urlencoded"}
    assert browser.request("POST", "check", content=parts(), headers=kind).status_code == 413


# Users


SEE_ORDERS = ("read", "orders-value")


def test_who_may_read_one_subject_sees_no_other(registry, limited):
    browser = limited(SEE_ORDERS)
    pages = browser.crawl("subjects")
    assert {page.status for address, page in pages.items() if "subject=orders" in address} == {200}
    for address, page in pages.items():
        for name in ("customers-value", "clicks-value", "shop/address.proto", "gone-value"):
            assert name not in page.html, address
    for address in (
        "subject?name=clicks-value",
        "version?subject=clicks-value&version=1",
        "compare?subject=clicks-value",
        "text?subject=clicks-value",
        "check?subject=clicks-value",
        "settings?subject=clicks-value",
        f"schema?id={registry.get_version('clicks-value').id}",
        f"schema?guid={registry.get_version('clicks-value').guid}",
        "delete?subject=orders-value",
    ):
        assert browser.get(address).status == 403, address
    for address in ("", "subjects", "settings", "decode"):
        assert ".lab" not in browser.get(address).text
    assert browser.get(link("find", q="clicks-value")).address.endswith("subjects?q=clicks-value")
    page = browser.post("check", subject="clicks-value", schema='"int"', type="AVRO")
    assert page.status == 403
    number = registry.get_version("clicks-value").id
    page = browser.post("decode", message=f"{number:010x}7b7d")
    assert "There is no such schema, or you may not read it" in page.text
    assert "properties" not in page.html


def test_who_may_only_read_is_offered_nothing_else(registry, limited):
    browser = limited(*(("read", each) for each in (None, *registry.subjects(), ":.lab:")))
    pages = browser.crawl()
    assert {page.status for page in pages.values()} == {200}
    assert not [address for address in pages if "/delete" in address]
    page = browser.post("check", subject="orders-value", schema='"string"', type="AVRO")
    assert "Register as" not in page.text
    more = json.loads(registry.get_version("orders-value").schema.text)
    more["fields"].append({"name": "more", "type": "int", "default": 0})
    page = browser.post("check", subject="orders-value", schema=json.dumps(more), type="AVRO")
    assert "Compatible, but your role may not register it." in page.text
    assert "May be registered" not in page.text
    for address, fields in {**FORMS, "check": {**FORMS["check"], "subject": "orders-value"}}.items():
        if address != "decode":
            page = browser.post(address, **fields)
            assert page.status == 403
    unchanged(registry)
    assert "s3cret" not in browser.get("check?subject=orders-value").html


def test_who_may_write_a_subject_registers_and_deletes_there_alone(registry, limited):
    browser = limited(("read", "new"), ("write", "new"), ("read", "orders-value"))
    assert browser.post("check", **FORMS["check"]).status == 200
    assert registry.versions("new") == [1]
    assert browser.post("check", **{**FORMS["check"], "subject": "orders-value"}).status == 403
    assert browser.post("delete", subject="orders-value").status == 403
    assert browser.post("delete", subject="new").status == 200
    assert browser.post("delete", subject="new", permanent="1").status == 403
    assert browser.get("delete?subject=new").status == 403
    assert (registry.versions("new", deleted=True), registry.subjects("new")) == ([1], [])
    # A reference is read too.
    page = browser.post(
        "check", **FORMS["check"], reference_name="a", reference_subject="clicks-value", reference_version="1"
    )
    assert page.status == 403


def test_who_may_change_a_subject_changes_no_other(registry, limited):
    browser = limited(("read", "orders-value"), ("admin", "orders-value"))
    assert browser.post("settings", subject="orders-value", compatibility="NONE").status == 200
    assert registry.config("orders-value").compatibility == "NONE"
    for subject in ("", "clicks-value", ":.lab:", "orders"):
        assert browser.post("settings", subject=subject, compatibility="NONE").status == 403
    # An alias of what another may read would be read.
    assert browser.post("settings", subject="orders-value", alias="clicks-value").status == 403
    assert registry.config("orders-value").alias is None
    registry.delete_subject("orders-value")
    assert browser.post("delete", subject="clicks-value", permanent="1").status == 403
    browser.post("delete", subject="orders-value", permanent="1")
    assert "orders-value" not in registry.subjects(deleted=True)


def test_references_to_what_may_not_be_read_lead_nowhere(limited):
    browser = limited(("read", "customers-value"))
    page = browser.get("version?subject=customers-value&version=1")
    assert page.status == 200
    assert "Refers to 1 shop/address.proto , version 1 shop/address.proto" in page.text
    browser = limited(("read", "shop/address.proto"))
    page = browser.get("version?subject=shop%2Faddress.proto&version=1")
    assert "customers" not in page.html


# Sizes


def test_many_references_are_bounded():
    registry = MemoryRegistry("references")
    registry.set_config(Config("NONE"))
    registry.register("s0", Schema('syntax = "proto3"; message M { }', "PROTOBUF"))
    for number in range(1, 60):
        names = [f"s{each}" for each in range(max(0, number - 8), number)]
        text = "".join(f'import "{each}"; ' for each in names) + f"message M{number} {{ }}"
        references = tuple(Reference(each, each, 1) for each in names)
        registry.register(f"s{number}", Schema('syntax = "proto3"; ' + text, "PROTOBUF", references))
    browser = Browser(RegistryPage(registry, root_path="/ui"))
    for subject in ("s0", "s59"):
        page = browser.get(f"version?subject={subject}&version=1")
        assert page.status == 200
        assert len(page.html) < 500_000


FIELDS = ",".join(f'{{"name":"f{number}","type":"int"}}' for number in range(3_000))
PROPERTIES = ",".join(f'"f{number}":{{"type":"string"}}' for number in range(3_000))
MESSAGE = "".join(f"int32 f{number} = {number};" for number in range(1, 3_000))


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("kind", "text", "before", "after"),
    [
        ("AVRO", f'{{"type":"record","name":"R","fields":[{FIELDS}]}}', '"int"', '"string"'),
        ("JSON", f'{{"properties":{{{PROPERTIES}}}}}', '"string"', '"integer"'),
        ("JSON", '{"description":"' + "x" * 1_000_000 + '"}', "x", "y"),
        ("JSON", f'{{"enum":{list(range(5_000))}}}', '{"', '{"title":"","'),
        ("PROTOBUF", f'syntax = "proto3"; message M {{{MESSAGE}}}', "int32 ", "string "),
    ],
    ids=["fields", "properties", "text", "values", "messages"],
)
def test_large_schemas_take_bounded_time(kind, text, before, after):
    registry = MemoryRegistry("large")
    registry.set_config(Config("NONE"))
    registry.register("large", Schema(text, kind))
    registry.register("large", Schema(text.replace(before, after), kind))
    browser = Browser(RegistryPage(registry, root_path="/ui"))
    start = time.process_time()
    for address in ("version?subject=large&version=1", "compare?subject=large", "check?subject=large"):
        response = browser.request("GET", address)
        assert response.status_code == 200
        assert len(response.content) < 12_000_000
    assert time.process_time() - start < 20


def test_deep_schemas_are_answered(browser):
    for text in ("[" * 30_000, '{"items":' * 20_000 + "{}" + "}" * 20_000, '{"type":' * 5_000):
        for kind in ("AVRO", "JSON", "PROTOBUF"):
            page = browser.post("check", subject="deep", type=kind, schema=text)
            assert page.status == 422


@given(st.binary(max_size=80), st.sampled_from(["auto", "hex", "base64"]))
def test_any_form_body(body, encoding):
    registry = MemoryRegistry("any")
    registry.register("a", Schema('"int"'))
    browser = Browser(RegistryPage(registry, root_path="/ui"))
    browser.get()
    fields = {"token": browser.cookies["kcodec_page"], "encoding": encoding}
    for address in ("decode", "check", "settings", "delete"):
        response = browser.request(
            "POST",
            address,
            content="&".join(f"{name}={value}" for name, value in fields.items()).encode() + b"&" + body,
            headers={"content-type": "application/x-www-form-urlencoded", "sec-fetch-site": "same-origin"},
        )
        assert response.status_code in (200, 303, 400, 404, 409, 422)


def test_registry_errors_are_told(registry, browser, monkeypatch):
    def fail(*_, **__):
        raise RegistryError("database disk image is malformed <script>", 500, 50001)

    monkeypatch.setattr(registry, "subjects", fail)
    page = browser.get("subjects")
    assert page.status == 500
    assert "50001" in page.text
    assert "disk image" in page.text

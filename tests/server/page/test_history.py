"""Who changed what, on pages: the list of changes, dates and authors of versions, lists by date."""

import re

import pytest
from page_browser import Browser, Page

from kcodec.registry import Config, Schema
from kcodec.registry.keys.values import Kek
from kcodec.registry.memory import MemoryRegistry
from kcodec.registry.store.change_log import author
from kcodec.server.page.app import RegistryPage

DATE = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d"


@pytest.fixture
def anna():
    token = author.set("anna")
    yield "anna"
    author.reset(token)


def test_changes_are_listed(browser, registry, anna):
    registry.set_config(Config(compatibility="FULL", normalize=True), "orders-value", cleared=["alias"])
    registry.keys.register_kek(Kek("pii", "local-kms", "mykey"))
    registry.delete_subject("clicks-value")
    registry.delete_subject("clicks-value", permanent=True)
    rows = re.split(DATE, browser.get("changes").text)[1:]
    assert [each.strip() for each in rows[:4]] == [
        "anna delete subject clicks-value – for good, versions 1",
        "anna delete subject clicks-value – versions 1",
        "anna register kek – – kek pii, kms type local-kms, kms key id mykey",
        "anna set config orders-value – compatibility FULL, normalize yes, cleared alias",
    ]
    assert all(each.strip().startswith("no name ") for each in rows[4:])
    # What is gone for good still has its changes, and no page of its own.
    gone = browser.get("changes?subject=clicks-value")
    assert "3 changes of clicks-value" in gone.text
    assert not [each for each in gone.links if "/ui/subject?" in each]
    assert [each for each in browser.get("changes?subject=orders-value").links if "/ui/subject?" in each]


def test_changes_are_searched(browser, registry, anna):
    registry.set_mode("READONLY", ":.lab:")
    assert "1 change by anna" in browser.get("changes?user=anna").text
    assert "1 change of :.lab: , the newest" in browser.get("changes?subject=:.lab:").text
    found = browser.get("changes?subject=orders-value&action=register")
    assert len(re.findall(DATE, found.text)) == len(registry.versions("orders-value", deleted=True))
    assert "None fits." in browser.get("changes?user=nobody").text
    refused = Page(browser.request("GET", "changes?action=drop"))
    assert (refused.status, "no such action" in refused.text) == (400, True)


def test_changes_come_in_parts(browser):
    registry = MemoryRegistry()
    for number in range(60):
        registry.register(f"s{number}", Schema('"int"'))
    browser = Browser(RegistryPage(registry, root_path="/ui"))
    first, second = browser.get("changes?action=register"), browser.get("changes?action=register&page=2")
    assert "60 changes · part 1 of 2" in first.text
    assert [each for each in first.links if each.endswith("changes?page=2&action=register")]
    assert [each for each in second.links if each.endswith("changes?page=1&action=register")]
    assert (len(re.findall(DATE, first.text)), len(re.findall(DATE, second.text))) == (50, 10)


def test_changes_are_for_administrators(limited):
    reader = limited(("read", None), ("read", "orders-value"))
    assert "Changes" not in reader.get("subject?name=orders-value").text
    assert Page(reader.request("GET", "changes")).status == 403
    owner = limited(("read", "orders-value"), ("admin", "orders-value"))
    assert Page(owner.request("GET", "changes")).status == 403
    page = owner.get("subject?name=orders-value")
    [link] = [each for each in page.links if "/changes" in each]
    assert "changes of orders-value" in owner.get(link).text


def test_versions_have_dates_and_authors(browser, registry, anna):
    found = registry.register("new-value", Schema('"string"'))
    for address in ("", "subjects", "subject?name=new-value", "version?subject=new-value&version=1"):
        assert re.search(rf"{DATE} by anna", browser.get(address).text), address
    # A file of an older format does not know them.
    with registry.database.transaction(write=True):
        registry.database.execute("UPDATE versions SET ts = NULL, author = NULL")
    for address in (
        "",
        "subjects",
        "subject?name=new-value",
        f"version?subject=new-value&version={found.version}",
    ):
        text = browser.get(address).text
        assert "not known" in text
        assert not re.search(DATE, text)


@pytest.mark.parametrize(("user", "is_told"), [("", False), ("shop", True)])
def test_who_has_no_name_is_told_none(registry, anna, user, is_told):
    registry.register("new-value", Schema('"string"'))
    page = RegistryPage(registry, root_path="/ui", user=lambda scope: user)
    text = Browser(page).get("version?subject=new-value&version=1").text
    assert re.search(DATE, text)
    assert ("by anna" in text) is is_told


def names(page):
    return [
        name for name in re.findall(r"<tr.*?><th|<th scope=\"row\"><a [^>]*><bdi>([^<]*)", page.html) if name
    ]


def test_subjects_are_sorted(registry):
    registry = MemoryRegistry()
    proto = Schema('syntax = "proto3"; message M {}', "PROTOBUF")
    for subject, schema in (("b", proto), ("c", Schema('"int"')), ("a", Schema('"int"'))):
        registry.register(subject, schema)
    registry.register("c", Schema('"long"'))
    with registry.database.transaction(write=True):
        for subject, version, ts in (("b", 1, 1), ("c", 1, 2), ("a", 1, 3), ("c", 2, 4)):
            registry.database.execute(
                "UPDATE versions SET ts = ? WHERE subject = ? AND version = ?", (ts, subject, version)
            )
    browser = Browser(RegistryPage(registry, root_path="/ui"))
    orders = {"": "abc", "-name": "cba", "-date": "cab", "date": "bac", "type": "acb"}
    for order, expected in orders.items():
        page = browser.get(f"subjects?sort={order}")
        assert "".join(names(page)) == expected, order
        assert re.search(rf'<option value="{order}" selected', page.html)
    # The latest version that is not deleted counts; a deleted subject if it is shown; what has no date comes last.
    registry.delete_version("c", 2)
    registry.delete_subject("a")
    assert "".join(names(browser.get("subjects?sort=-date"))) == "cb"
    assert "".join(names(browser.get("subjects?sort=-date&deleted=1"))) == "acb"
    with registry.database.transaction(write=True):
        registry.database.execute("UPDATE versions SET ts = NULL WHERE subject = 'a'")
    for order in ("date", "-date"):
        assert names(browser.get(f"subjects?sort={order}&deleted=1"))[-1] == "a"
    assert browser.request("GET", "subjects?sort=size").status_code == 400


def test_the_order_stays_in_the_parts_of_a_list():
    registry = MemoryRegistry()
    for number in range(60):
        registry.register(f"s{number:02}", Schema('"int"'))
    page = Browser(RegistryPage(registry, root_path="/ui")).get("subjects?sort=-name&page=2")
    assert names(page) == [f"s{number:02}" for number in reversed(range(10))]
    assert [each for each in page.links if each.endswith("subjects?page=1&sort=-name")]

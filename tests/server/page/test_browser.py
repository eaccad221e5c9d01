"""The pages in a real browser: Debian's chromium, through Playwright.

A click may return before the page that it leads to has come; `expect` waits for it.
"""

import re
import shutil
import threading
import time

import pyarrow as pa
import pytest
from fake_broker import FAST, FakeCluster
from page_browser import filled

from kcodec.kafka import write
from kcodec.registry import Config, Schema
from kcodec.server.page.app import RegistryPage

uvicorn = pytest.importorskip("uvicorn")
playwright = pytest.importorskip("playwright.sync_api")
expect = playwright.expect
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium: apt-get install chromium")

EVIL = "<img src=x onerror=alert(1)><script>alert(1)</script>"
PAGES = {
    "overview": "",
    "subjects": "subjects?deleted=1",
    "subject": "subject?name=orders-value",
    "version": "version?subject=orders-value&version=3",
    "schema": "schema?id=4",
    "compare": "compare?subject=orders-value&from=2&to=3",
    "check": "check?subject=customers-value",
    "settings": "settings?subject=orders-value",
    "delete": "delete?subject=shop%2Faddress.proto",
    "decode": "decode",
    "changes": "changes",
    "topics": "topics",
    "topic": "topic?name=orders",
    "not found": "subject?name=nothing",
}


@pytest.fixture(scope="module")
def chromium():
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def served():
    registry = filled()
    with FakeCluster({"orders": 2}) as cluster:
        broker = {**FAST, "bootstrap.servers": cluster.address}
        values = [b'{"id": 1}', EVIL.encode(), b"\0\0\0\0\1\2", b"x" * 5000, None]
        write(
            pa.table({"key": [b"a", b"b", None, b"k" * 500, b"a"], "value": values}), "orders", config=broker
        )
        cluster.committed["totals", "orders", 0] = 1
        yield from serving(registry, broker)


def serving(registry, broker):
    registry.register(EVIL, Schema('{"type":"enum","name":"E","symbols":["A"],"doc":"' + EVIL + '"}'))
    config = uvicorn.Config(
        RegistryPage(registry, root_path="/ui", broker=broker),
        port=0,
        lifespan="off",
        log_level="warning",
        ws="none",
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    deadline = time.monotonic() + 20
    while not server.started and time.monotonic() < deadline:
        time.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    yield registry, f"http://127.0.0.1:{port}/ui/"
    server.should_exit = True
    thread.join(20)


@pytest.fixture
def opened(chromium, served):
    """Open windows; whatever they complain about is an error."""
    contexts, complaints = [], []

    def make(**options):
        context = chromium.new_context(base_url=served[1], **options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: complaints.append(dialog.message))
        return page

    make.complaints = complaints
    yield make
    for context in contexts:
        context.close()
    assert [
        each for each in complaints if "404 (Not Found)" not in each and "409 (Conflict)" not in each
    ] == []


def test_a_schema_is_checked_registered_and_compared_without_javascript(opened, served):
    registry, _ = served
    registry.set_config(Config("BACKWARD"))
    page = opened(java_script_enabled=False)
    page.goto("")
    page.get_by_role("link", name="Register a schema").click()
    page.get_by_label("Subject", exact=True).fill("payments-value")
    page.get_by_label("Schema", exact=True).fill(
        '{"type": "record", "name": "Payment",\n "fields": [{"name": "id", "type": "long"}]}'
    )
    page.get_by_role("button", name="Check all levels").click()
    expect(page.get_by_text("May be registered.")).to_be_visible()
    expect(page.get_by_role("listitem").filter(has_text="passes")).to_have_count(7)
    page.get_by_role("button", name="Register as the first version").click()
    expect(page.get_by_role("status")).to_contain_text(re.compile(r"^\s*Registered\."))
    page.get_by_role("link", name="New version").click()
    text = page.get_by_label("Schema", exact=True)
    text.fill(text.input_value().replace('"long"', '"string"'))
    page.get_by_role("button", name="Check all levels").click()
    expect(page.get_by_text("Would be refused.")).to_be_visible()
    expect(page.get_by_text("TYPE_MISMATCH")).to_have_count(2)
    expect(page.get_by_role("button", name=re.compile("^Register"))).to_have_count(0)
    text.fill(text.input_value().replace('"string"', '["long", "string"]'))
    page.get_by_role("button", name="Check all levels").click()
    expect(page.get_by_role("listitem").filter(has_text="breaks")).to_have_count(4)
    page.get_by_role("button", name="Register as a new version").click()
    page.get_by_role("link", name="Compare with version 1").click()
    expect(page.get_by_text("FORWARD breaks:")).to_be_visible()
    expect(page.get_by_text('type of id changed: long → ["long", "string"]')).to_be_visible()
    assert registry.versions("payments-value") == [1, 2]


def test_a_message_is_decoded(opened, served):
    registry, _ = served
    found = registry.get_version("orders-value", 2)
    page = opened(java_script_enabled=False)
    page.goto("decode")
    page.get_by_label("Message").fill(f"00 {found.id:08x} 0206 736b75 00")
    page.get_by_role("button", name="Decode").click()
    expect(page.get_by_role("region", name="The value as JSON")).to_contain_text('"sku": "sku"')
    page.get_by_label("Message").fill(f"00 {found.id:08x} 0205")
    page.get_by_role("button", name="Decode").click()
    expect(page.get_by_role("alert")).to_contain_text("negative_length")
    expect(page.locator(".here")).to_have_text("05")


def test_settings_are_saved_and_versions_deleted(opened, served):
    registry, _ = served
    page = opened(java_script_enabled=False)
    page.goto("subject?name=clicks-value")
    page.get_by_role("link", name="Settings").last.click()
    page.get_by_label("Compatibility", exact=True).select_option("FULL_TRANSITIVE")
    page.get_by_role("button", name="Save configuration").click()
    expect(page.get_by_role("status")).to_be_visible()
    assert registry.config("clicks-value").compatibility == "FULL_TRANSITIVE"
    expect(page.get_by_label("Compatibility", exact=True)).to_have_value("FULL_TRANSITIVE")
    page.goto("subject?name=clicks-value")
    page.get_by_role("link", name="Delete…").click()
    page.get_by_role("button", name="Delete", exact=True).click()
    expect(page.get_by_role("status")).to_be_visible()
    assert "clicks-value" not in registry.subjects()
    page.get_by_role("link", name="Version 1").first.click()
    page.get_by_role("link", name="Register again").click()
    page.get_by_role("button", name="Check all levels").click()
    page.get_by_role("button", name="Register as the first version").click()
    expect(page.get_by_role("status")).to_contain_text("Registered.")
    assert registry.get_version("clicks-value").schema.type == "JSON"


def test_forms_of_other_sites_change_nothing(opened, served):
    registry, address = served
    page = opened()
    page.goto("check")
    form = f"""<form method="post" action="{address}settings"><input name="compatibility" value="NONE">
        <input name="token" value="{"x" * 43}"><button>Win</button></form>"""
    page.route("http://evil.example/", lambda route: route.fulfill(content_type="text/html", body=form))
    page.goto("http://evil.example/")
    page.get_by_role("button").click()
    expect(page.get_by_text("This form was sent from another site.")).to_be_visible()
    assert registry.config().compatibility != "NONE"
    assert "403 (Forbidden)" in opened.complaints.pop()


@pytest.mark.parametrize("scheme", [pytest.param("light", marks=pytest.mark.thorough), "dark"])
def test_pages_are_accessible(opened, scheme):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    page = opened(color_scheme=scheme)
    for name, address in PAGES.items():
        page.goto(address)
        found = axe.run(page)
        assert found.violations_count == 0, f"{name}: {found.generate_report()}"
    page.goto("check?subject=orders-value")
    page.get_by_label("Schema", exact=True).fill('"int"')
    page.get_by_role("button", name="Check all levels").click()
    page.get_by_text("Text, line by line, beside").click()
    expect(page.get_by_text("NAME_MISMATCH").or_(page.get_by_text("TYPE_MISMATCH")).nth(1)).to_be_visible()
    assert axe.run(page).violations_count == 0, axe.run(page).generate_report()
    page.goto("decode")
    page.get_by_label("Message").fill("00 00000002 0206 736b75 04")
    page.get_by_role("button", name="Decode").click()
    expect(page.get_by_role("alert")).to_be_visible()
    assert axe.run(page).violations_count == 0, axe.run(page).generate_report()
    backgrounds = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert backgrounds == {"light": "rgb(246, 247, 249)", "dark": "rgb(15, 18, 24)"}[scheme]


def test_pages_fit_a_telephone(opened):
    page = opened(viewport={"width": 360, "height": 740})
    for name, address in {**PAGES, "evil": "subjects?q=img"}.items():
        page.goto(address)
        assert page.evaluate("document.documentElement.scrollWidth") <= 360, name
        # Long lines go on below.
        cut = "[...document.querySelectorAll('.code')].filter(each => each.scrollWidth > each.clientWidth).length"
        assert page.evaluate(cut) == 0, name
    # So do columns, rather than to break a date.
    page.goto(PAGES["subject"])
    dates = page.locator("tbody th p")
    expect(dates).to_have_count(3)
    assert {each.evaluate("each => Math.round(each.offsetHeight / 22)") for each in dates.all()} == {1}


def test_keys_are_enough(opened):
    page = opened()
    page.goto("subjects")
    page.keyboard.press("Tab")
    skip = page.get_by_role("link", name="Skip to content")
    assert skip.evaluate("each => each === document.activeElement && each.getBoundingClientRect().left >= 0")
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Register a schema"
    page.keyboard.press("Tab")
    page.keyboard.type("clicks")
    page.keyboard.press("Enter")
    page.wait_for_url("**/subjects?q=clicks*")
    expect(page.get_by_role("link", name="clicks-value", exact=True)).to_be_visible()
    outline = page.evaluate(
        "() => { const each = document.querySelector('tbody a'); each.focus({focusVisible: true});"
        " return getComputedStyle(each).outlineStyle }"
    )
    assert outline == "solid"


def test_names_are_no_markup(opened):
    page = opened()
    for address in ("subjects?q=img", "", "find?q=1"):
        page.goto(address)
        assert page.evaluate("document.scripts.length + document.querySelectorAll('main img').length") == 0
    page.goto("subjects?q=img")
    page.get_by_role("link", name=EVIL).first.click()
    expect(page.get_by_role("heading", level=1)).to_have_text(EVIL)
    # Even a script that were on a page would not run.
    page.evaluate(
        "() => { const each = document.createElement('script'); each.textContent = 'window.ran = 1';"
        " document.body.append(each) }"
    )
    assert page.evaluate("window.ran") is None
    assert "Content Security Policy" in opened.complaints.pop()

"""The pages of a broker's topics, over a broker of the tests' own."""

import json
import re

import pyarrow as pa
import pytest
from asked import Asked
from fake_broker import FAST, FakeCluster
from page_browser import Browser, Page
from shop_users import KEPT, basic

import kcodec
from kcodec.cli.main import main
from kcodec.kafka import partition_of, topic_groups, write
from kcodec.registry import Schema
from kcodec.registry.memory import MemoryRegistry
from kcodec.server.page.app import RegistryPage
from kcodec.server.settings import ServerSettings

#: A key of partition 1 of 2.
KEY = next(key for key in (b"a", b"b", b"c", b"d") if partition_of([key], 2).to_pylist() == [1])
EVIL = "<script>alert(1)</script>"


@pytest.fixture
def cluster():
    with FakeCluster({"orders": 2, "empty": 1}) as made:
        yield made


@pytest.fixture
def settings(cluster):
    return {**FAST, "bootstrap.servers": cluster.address}


@pytest.fixture
def registry():
    return MemoryRegistry("topics")


@pytest.fixture
def browser(registry, settings):
    return Browser(RegistryPage(registry, root_path="/ui", broker=settings))


def put(settings, topic="orders", **columns):
    write(pa.table(columns), topic, config=settings)


def test_topics_are_listed(browser, settings):
    put(settings, value=[b"a", b"b", b"c"])
    page = browser.get("topics")
    assert "2 topics" in page.text
    assert re.search(r"orders 2 3 \d+ ", page.text)
    assert re.search(r"empty 1 0 ", page.text)
    found = browser.get("topics?q=ORD")
    assert "1 topic with “ orders" not in found.text
    assert "empty" not in found.text
    assert "No topic matches" in browser.get("topics?q=nothing").text
    assert "/ui/topics" in " ".join(browser.get().links)


@pytest.mark.parametrize("format", ["AVRO", "PROTOBUF", "JSON_SR"])
@pytest.mark.parametrize("frame", [None, "CONFLUENT_HEADER"])
def test_records_are_decoded_with_their_schemas(browser, registry, settings, format, frame):
    serde = kcodec.Serde(format, registry, topic="orders", frame=frame)
    rows = pa.array([{"sku": "one"}, {"sku": EVIL}, None])
    write(pa.table({"key": [b"k", None, b"k"], "value": rows}), "orders", value=serde, config=settings)
    page = browser.get("topic?name=orders")
    [number] = {each.id for each in registry.newest(1)}
    assert '"one"' in page.text
    assert "alert(1)" in page.text
    assert EVIL not in page.html
    assert f"schema?id={number}" in page.html
    assert "null" in page.text
    assert "Schemas of values" in page.text
    assert "3 records" in page.text


def test_what_has_no_schema_is_shown_as_it_is(browser, settings):
    values = [b'{"a": 1}', "häuser".encode(), b"\xff\xfe\x01", (7).to_bytes(4, "big", signed=True), None, b""]
    put(settings, value=values, key=[b"x" * 3000] + [None] * 5)
    text = browser.get("topic?name=orders").text
    for shown in ('{"a": 1} JSON', "häuser text", "ff fe 01 binary", "7 int32", "null", "empty"):
        assert shown in text
    assert f"{'x' * 2000} and 1,000 characters more" in text


def test_what_cannot_be_decoded_says_why(browser, registry, settings):
    number = registry.register(
        "orders-value", Schema('{"type":"record","name":"R","fields":[{"name":"a","type":"int"}]}')
    ).id
    put(
        settings,
        value=[b"\0\0\0\x7f\xff\x02", b"\0" + number.to_bytes(4, "big") + b"\xff\xff\xff\xff\xff\xff"],
    )
    text = browser.get("topic?name=orders").text
    assert "00 00 00 7f ff 02 schema id 32767 Schema 32767 not found" in text
    assert "ff ff ff ff ff ff schema id 1 varint_overlong: the varint has more bytes" in text


def test_records_that_no_program_of_ours_writes(browser, registry, settings):
    """Headers that are null, or no frames; times beyond the year 9999."""
    number = registry.register("orders-value", Schema('"string"')).id
    name = "__value_schema_id"
    headers = [
        [{"key": name, "value": None}, {"key": name, "value": b"\0" + number.to_bytes(4, "big")}],
        [{"key": name, "value": None}],
        [{"key": name, "value": b"\1\2"}],
    ]
    times = pa.array([1 << 62, None, -1], pa.timestamp("us", "UTC"))
    put(settings, value=[b"\6abc", b"\xff", b"\xfe"], headers=headers, timestamp=times)
    text = browser.get("topic?name=orders").text
    assert f'"abc" frame CONFLUENT_HEADER, schema id {number} 2' in text
    assert "ff binary 1" in text
    assert "fe binary 1" in text


def test_long_values_are_cut(browser, settings):
    put(settings, value=[b"\xff" * 10_000])
    assert "and 28,002 characters more" in browser.get("topic?name=orders").text


def test_the_last_records_come_first(browser, settings):
    put(settings, value=[str(number).encode() for number in range(100)], key=[KEY] * 100)
    page = browser.get("topic?name=orders")
    assert re.findall(r'<th scope="row">[01]: (\d+)', page.html) == [str(each) for each in range(99, 89, -1)]


def test_groups_and_their_lag(browser, cluster, settings):
    put(settings, value=[b"a", b"b", b"c"], key=[KEY] * 3)
    assert "No group has committed" in browser.get("topic?name=orders").text
    cluster.committed["totals", "orders", 1] = 1
    cluster.committed["totals", "empty", 0] = 0
    cluster.committed["others", "empty", 0] = 0
    assert topic_groups("orders", config=settings).to_pylist() == [
        {"group": "totals", "partition": 1, "committed": 1, "start": 0, "end": 3, "lag": 2}
    ]
    assert re.search(r"Lag totals 1 1 2 ", browser.get("topic?name=orders").text)


def test_a_topic_that_is_not_there(browser):
    for name in ("nothing", "", "^.*", "a" * 300, EVIL):
        page = Page(browser.request("GET", "topic", params={"name": name}))
        assert page.status in (404, 502), name
        assert EVIL not in page.html
    assert Page(browser.request("GET", "topic?name=nothing")).status == 404


def test_a_broker_that_is_down_is_said_to_be(registry):
    settings = {**FAST, "default.api.timeout.ms": 100, "bootstrap.servers": "127.0.0.1:1"}
    browser = Browser(RegistryPage(registry, root_path="/ui", broker=settings))
    for address in ("topics", "topic?name=orders"):
        page = Page(browser.request("GET", address))
        assert (page.status, "The broker does not answer" in page.text) == (502, True)


def test_without_a_broker_there_are_no_topics(registry):
    browser = Browser(RegistryPage(registry, root_path="/ui"))
    assert "Topics" not in browser.get().text
    assert Page(browser.request("GET", "topics")).status == 404


def test_topics_are_for_administrators_of_everything(limited, settings):
    browser = limited(("read", None), ("admin", "orders-value"), broker=settings)
    assert "Topics" not in browser.get().text
    for address in ("topics", "topic?name=orders"):
        assert browser.request("GET", address).status_code == 403


def test_the_server_shows_them(registry, settings, tmp_path):
    path = tmp_path / "access.json"
    grants = [{"role": "admin", "users": ["root"]}, {"role": "write", "users": ["shop"]}]
    path.write_text(json.dumps({"users": {"root": KEPT, "shop": KEPT}, "grants": grants}))
    ask = Asked(registry, access=str(path), broker=settings)
    assert b"orders" in ask("GET", "/ui/topics", headers=basic("root")).data
    assert ask("GET", "/ui/topics", headers=basic("shop")).status == 403
    assert ask("GET", "/ui/topics").status == 401
    ask.close()


def test_settings_of_a_broker_are_text_and_not_shown():
    settings = ServerSettings(broker={"bootstrap.servers": "b:9092", "sasl.password": "sesame"})
    assert "sesame" not in repr(settings)
    assert ServerSettings(**json.loads(settings.json)) == settings


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--broker-config", "client.properties"], "--broker-config is for --broker"),
        (["--broker", "b:x"], "b:x"),
        (["--broker", "b", "--broker-config", "client.properties"], "unknown setting 'sasl.user'"),
    ],
)
def test_options_that_are_wrong(tmp_path, monkeypatch, capsys, arguments, reason):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "client.properties").write_text("sasl.user=me\n")
    assert main(["registry", "serve", "memory://", *arguments]) == 2
    assert reason in capsys.readouterr().err

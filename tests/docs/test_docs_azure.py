"""The examples of the page about Azure run, against the tests' registry of Azure and a broker of their own."""

from azure_registry import azure_server
from doc_pages import DOCS, blocks
from fake_broker import FakeCluster


def test_azure_event_hubs(monkeypatch, tmp_path):
    names: dict[str, object] = {}
    with azure_server(tmp_path, monkeypatch) as server, FakeCluster({"orders": 1}) as cluster:
        for block in blocks(DOCS / "howto" / "event_hubs.md"):
            placed = block.replace("broker:9092", cluster.address)
            placed = placed.replace("azure://my-namespace.servicebus.windows.net/orders", server.url)
            exec(compile(placed, "event_hubs.md", "exec"), names)

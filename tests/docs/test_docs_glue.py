"""The examples of the page about Glue run, against moto's server and a broker of the tests' own."""

from doc_pages import DOCS, blocks, needs_spark
from fake_broker import FakeCluster
from glue import CREDENTIALS, glue_server


def test_amazon_msk_with_glue(monkeypatch):
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    names: dict[str, object] = {}
    with glue_server() as server, server.registry() as url, FakeCluster({"orders": 1}) as cluster:
        monkeypatch.setenv("AWS_ENDPOINT_URL_GLUE", server.endpoint)
        for block in (each for each in blocks(DOCS / "howto" / "msk_glue.md") if not needs_spark(each)):
            placed = block.replace("broker:9092", cluster.address).replace("glue://eu-central-1/orders", url)
            exec(compile(placed, "msk_glue.md", "exec"), names)

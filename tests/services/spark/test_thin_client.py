"""A client that has neither Java nor py4j, at a server whose Python workers have no kcodec."""

import json
from pathlib import Path

import pytest
from processes import run
from topics import Message, order, order_schema, serializer

import kcodec

HERE = Path(__file__).parent


@pytest.mark.parametrize("part", ["queries", pytest.param("streams", marks=pytest.mark.thorough)])
def test_all_that_a_thin_client_does(
    part, thin, packages, connect_server, kafka, registry_url, topic, tmp_path
):
    value = serializer(registry_url, order_schema(), topic)
    messages = [Message(b"good-%d" % number, value(order(number))) for number in range(30)]
    poison = [Message(b"poison", value(order(30))[:-1]), Message(b"tombstone", None)]
    # Its worker asks for this id, with what Python brings and what was shipped.
    poison.append(Message(b"unknown", b"\0\0\x98\x96\x80" + value(order(31))[5:]))
    kafka.produce(topic, messages + poison)
    kafka.create(f"{topic}-copy")
    # Neither Java nor what else this process finds by its environment.
    environment = {"PATH": "/nowhere", "HOME": str(tmp_path), "PYTHONPATH": str(packages)}
    arguments = [
        part,
        connect_server.address,
        kafka.address,
        registry_url,
        topic,
        str(tmp_path / "checkpoint"),
    ]
    printed = run(thin, HERE / "thin_client.py", *arguments, env=environment, cwd=tmp_path)
    told = json.loads(printed.splitlines()[-1])
    assert "kcodec -: call kcodec_spark.ship(spark), or install kcodec==" in told["before"]
    assert told["after"].endswith(f"kcodec {kcodec.__version__}: ready")
    ids = list(range(30))
    assert told["registry"].endswith(": ready")
    if part == "streams":
        assert told["streamed"] == told["batches"] == told["copied"] == ids
        return
    assert told["ids"] == told["read"] == told["copied"] == ids
    assert sorted(told["errors"]) == [["poison", "truncated"], ["unknown", "unknown_schema_id"]]
    assert told["tombstones"] == 1
    assert told["failfast"].startswith("kcodec.errors.DecodeError: ")
    assert told["sql"] == [[number, order(number)["customer"]] for number in (0, 1)]
    assert told["read errors"] == ["truncated", "unknown_schema_id"]
    assert told["same"] == told["written"] == len(ids)

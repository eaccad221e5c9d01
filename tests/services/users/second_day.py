"""The second day with a topic, as a user has it: of a broker and a registry, and of nothing of this checkout.

Run in a folder of its own, with the addresses of both and the name of a topic that is not there yet.
"""

import json
import os
import re
import subprocess
import sys
import urllib.parse
import urllib.request
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from deltalake import DeltaTable, write_deltalake
from pyiceberg.catalog.sql import SqlCatalog

import kcodec
from kcodec import kafka

SERVERS, REGISTRY, TOPIC = sys.argv[1:]


def told(*command: str) -> str:
    """Return what the console script prints, which was installed beside Python."""
    done = subprocess.run(
        [Path(sys.executable).with_name("kcodec"), *command], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, f"{command}: {done.stderr}"
    return done.stdout


browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())


def page(place: str, **form: str) -> str:
    """Return a page of the registry, or what it answers to its form when that is filled in."""
    with browser.open(f"{REGISTRY}/ui/{place}", timeout=20) as answer:
        text = answer.read().decode()
    if not form:
        return text
    token = re.search(r'name="token" value="([^"]+)"', text)[1]
    sent = urllib.parse.urlencode({"token": token, **form}).encode()
    request = urllib.request.Request(f"{REGISTRY}/ui/{place}", sent, {"Origin": REGISTRY})
    with browser.open(request, timeout=20) as answer:
        return answer.read().decode()


# The rows of a file, and the schema that they would be written with.
rows = pa.table(
    {"id": [1, 2, 3, 1], "status": ["new", "new", "new", "paid"], "amount": [10.5, None, 3.0, 10.5]}
)
pq.write_table(rows, "orders.parquet")
derived = told("registry", "derive", "orders.parquet", "--name=Order", "--namespace=shop")
schema = kcodec.schema_of(rows, name="Order", namespace="shop")
assert json.loads(derived) == json.loads(schema)

# Into a topic: order 1 changes, and order 2 is deleted.
told("topics", "create", TOPIC, "-b", SERVERS, "--partitions=2", "--set", "cleanup.policy=compact")
orders = kcodec.Serde("AVRO", REGISTRY, topic=TOPIC, schema=schema)
keys = kcodec.Serde("AVRO", REGISTRY, topic=TOPIC, is_key=True, schema='"long"')
writing = {"servers": SERVERS, "key": keys}
kafka.write(
    pa.table({"key": rows["id"], "value": pa.array(rows.to_pylist())}), TOPIC, value=orders, **writing
)
kafka.write([{"key": 2, "value": None}], TOPIC, value=orders, **writing)

# Look before you write code.
looked = kafka.inspect(TOPIC, servers=SERVERS, registry=REGISTRY)
assert (looked.value.format, looked.value.frame, looked.value.nulls) == ("AVRO", "CONFLUENT", 1)
assert looked.value.fields["field"].to_pylist() == rows.column_names
sample = json.loads(told("topics", TOPIC, "-b", SERVERS, "--registry", REGISTRY, "--sample", "-o", "json"))
assert sample["value"]["columns"] == "id BIGINT, status STRING, amount DOUBLE"
lines = told(
    *("consume", TOPIC, "-b", SERVERS, "--registry", REGISTRY, "--value=avro", "-o", "json"),
    *("--where", "value.status like 'p%' and value.amount is not null", "--columns=value"),
)
assert [json.loads(line)["value"]["id"] for line in lines.splitlines()] == [1]


def read(**options):
    return kafka.read(TOPIC, servers=SERVERS, value=orders, **options)


# The whole topic as tables of Delta and Iceberg.
reader = read(columns=["value.*"])
assert duckdb.sql("SELECT count(*), sum(amount) FROM reader").fetchall() == [(5, 24.0)]
write_deltalake("all_delta", read(columns=["value.*"]))
assert DeltaTable("all_delta").to_pyarrow_table().num_rows == 5
catalog = SqlCatalog("local", uri="sqlite:///catalog.db", warehouse=f"file://{os.getcwd()}/warehouse")
catalog.create_namespace("shop")
everything = read(columns=["value.*"]).read_all()
catalog.create_table("shop.everything", schema=everything.schema).append(everything)
assert len(catalog.load_table("shop.everything").scan().to_arrow()) == 5

# The current state: the newest row of each key, without those that are deleted.
current = read(key=keys, latest_by_key=True, columns=["value.*"]).read_all().sort_by("id")
assert current["status"].to_pylist() == ["paid", "new"]
write_deltalake("current_delta", current)
iceberg = catalog.create_table("shop.current", schema=current.schema)
iceberg.append(current)

# What has come since, merged by key into both.
ends = {TOPIC: {each.partition: each.end for each in kafka.find_ranges(TOPIC, servers=SERVERS)}}
news = [{"key": 3, "value": None}, {"key": 4, "value": {"id": 4, "status": "new", "amount": 1.0}}]
kafka.write(news, TOPIC, value=orders, **writing)
changed = read(key=keys, start=ends, latest_by_key="deletes", columns=["key", "value"]).read_all()
value = changed["value"].combine_chunks()
there = pa.table(value.drop_null().flatten(), names=rows.column_names)
gone = pc.filter(changed["key"], pc.is_null(changed["value"])).to_pylist()
assert (there["id"].to_pylist(), gone) == ([4], [3])
source = pa.table({"id": changed["key"], **{name: value.field(name) for name in rows.column_names[1:]}})
source = source.append_column("deleted", value.is_null())
(
    DeltaTable("current_delta")
    .merge(source, "target.id = source.id", source_alias="source", target_alias="target")
    .when_matched_delete("source.deleted")
    .when_matched_update({name: f"source.{name}" for name in rows.column_names})
    .when_not_matched_insert({name: f"source.{name}" for name in rows.column_names}, "NOT source.deleted")
    .execute()
)
with iceberg.transaction() as transaction:
    transaction.delete(f"id IN ({', '.join(map(str, gone))})")
    transaction.append(there)
for table in (DeltaTable("current_delta").to_pyarrow_table(), iceberg.scan().to_arrow()):
    assert table.sort_by("id").select(["id", "status"]).to_pylist() == [
        {"id": 1, "status": "paid"},
        {"id": 4, "status": "new"},
    ]

# A group reads on, and is set back.
group = f"{TOPIC}-totals"
with kafka.follow(TOPIC, start="earliest", group=group, servers=SERVERS, value=orders) as follower:
    seen = 0
    while seen < 7:
        seen += len(follower.poll(20))
    assert follower.lag == 0
    follower.commit()


def totals(*arguments: str) -> list[dict]:
    printed = told("groups", group, "-b", SERVERS, *arguments, "-o", "json")
    return [json.loads(line) for line in printed.splitlines()]


assert sum(each["lag"] for each in totals()) == 0
back = ("--reset", "earliest", "--topic", TOPIC)
assert {each["offset"] for each in totals(*back, "--dry-run")} == {0}
assert sum(each["lag"] for each in totals()) == 0
totals(*back)
assert sum(each["lag"] for each in totals()) == 7

# What colleagues look at: the subject, its version, and a message that somebody pasted.
subject = f"{TOPIC}-value"
assert subject in page("subjects")
assert "status" in page(f"version?subject={subject}&version=1")
pasted = kafka.read(TOPIC, servers=SERVERS, columns=["value"]).read_all()["value"].drop_null()[0].as_py()
shown = page("decode", message=pasted.hex())
assert re.search(r"10\.5", shown)
assert "problem" not in shown

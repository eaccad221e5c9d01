"""Rows of Connect's JSON, made of schemas and payloads."""

import json

DECIMAL = {"type": "bytes", "name": "org.apache.kafka.connect.data.Decimal", "parameters": {"scale": "2"}}


def struct(**fields):
    return {"type": "struct", "fields": [{"field": name, **part} for name, part in fields.items()]}


def rows(*pairs):
    return [json.dumps({"schema": schema, "payload": payload}).encode() for schema, payload in pairs]


def codes(table):
    return table["row"].to_pylist(), table["code"].to_pylist()

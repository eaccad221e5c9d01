"""Schemas of Avro as small as they can be."""

from kcodec.registry import Schema

INT, LONG, TEXT = (Schema(f'"{name}"') for name in ("int", "long", "string"))


def record(*fields, name="R"):
    listed = ",".join(f'{{"name":"{field}","type":"int"}}' for field in fields)
    return Schema(f'{{"type":"record","name":"{name}","fields":[{listed}]}}')

"""What tests of JSON Schemas read and write by."""

import pyarrow as pa

from kcodec import JsonSchemaCodec

INTEGER, STRING, NUMBER, BOOLEAN = ({"type": kind} for kind in ("integer", "string", "number", "boolean"))


def codec(*schemas, **arguments):
    return JsonSchemaCodec(*schemas, **arguments)


def decoded(schema, *documents, **arguments):
    return codec(schema, **arguments).decode([each.encode() for each in documents]).to_pylist()


def encoded(schema, *rows, kind=None, **arguments):
    made = codec(schema, **arguments)
    column = pa.array(rows, made.arrow_type if kind is None else kind)
    return [None if each is None else each.decode() for each in made.encode(column).to_pylist()]

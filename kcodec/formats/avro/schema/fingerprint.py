"""The fingerprint of a schema that single objects begin with: CRC-64-AVRO of its parsing canonical form.

As ``SchemaNormalization`` of Avro Java computes both; the specification has them under "Schema Fingerprints".
"""

import functools

from kcodec.formats.avro.schema.model import NAMED, PRIMITIVES, Schema

_EMPTY = 0xC15D213AA4D7A795


def parsing_form(schema: Schema) -> str:
    """Return what of a schema matters to its bytes, as text: full names, no attributes that readers do not need.

    >>> from kcodec.formats.avro.schema.parse import parse
    >>> parsing_form(parse('{"type": "fixed", "size": 2, "doc": "two", "namespace": "n", "name": "F"}'))
    '{"name":"n.F","type":"fixed","size":2}'
    """
    return _form(schema, set())


def _form(schema: Schema, seen: set[str]) -> str:
    if schema.type == "union":
        return f"[{','.join(_form(branch, seen) for branch in schema.branches)}]"
    if schema.type in PRIMITIVES:
        return f'"{schema.type}"'
    if schema.type not in NAMED:
        assert schema.item is not None, "arrays and maps have items"
        items = "items" if schema.type == "array" else "values"
        return f'{{"type":"{schema.type}","{items}":{_form(schema.item, seen)}}}'
    if schema.name in seen:
        return f'"{schema.name}"'
    seen.add(schema.name)
    if schema.type == "record":
        fields = (f'{{"name":"{each.name}","type":{_form(each.type, seen)}}}' for each in schema.fields)
        rest = f'"fields":[{",".join(fields)}]'
    elif schema.type == "enum":
        quoted = (f'"{symbol}"' for symbol in schema.symbols)
        rest = f'"symbols":[{",".join(quoted)}]'
    else:
        rest = f'"size":{schema.size}'
    return f'{{"name":"{schema.name}","type":"{schema.type}",{rest}}}'


def fingerprint(schema: Schema) -> bytes:
    """Return the fingerprint of a schema as it stands in single objects: 8 bytes, the least significant first.

    >>> from kcodec.formats.avro.schema.parse import parse
    >>> fingerprint(parse('"int"')).hex()
    '8f5c393f1ad57572'
    """
    crc, table = _EMPTY, _table()
    for byte in parsing_form(schema).encode():
        crc = (crc >> 8) ^ table[(crc ^ byte) & 0xFF]
    return crc.to_bytes(8, "little")


@functools.cache
def _table() -> list[int]:
    table = []
    for number in range(256):
        crc = number
        for _ in range(8):
            crc = (crc >> 1) ^ (_EMPTY if crc & 1 else 0)
        table.append(crc)
    return table

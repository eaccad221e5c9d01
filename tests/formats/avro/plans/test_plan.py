"""Plans of large schemas: work that grows with the square of their size would not end within a test's time."""

import pyarrow as pa
import pytest

from kcodec.errors import SchemaError
from kcodec.formats.avro.changes.compatibility import MAX_DIFFERENCES, differences
from kcodec.formats.avro.changes.resolution import apply_aliases
from kcodec.formats.avro.codec import AvroCodec, AvroReader, AvroWriter
from kcodec.formats.avro.plans.encode_plan import encode_plan
from kcodec.formats.avro.plans.plan import decode_plan
from kcodec.formats.avro.schema.model import canonical, same
from kcodec.formats.avro.schema.parse import parse
from kcodec.formats.avro.schema.types import AvroOptions, arrow_type

SYMBOLS = [f"s{number}" for number in range(200_000)]
BRANCHES = range(20_000)


def enum(symbols, **more):
    return {"type": "enum", "name": "E", "symbols": symbols, **more}


def union(size=0, names=BRANCHES):
    return [{"type": "fixed", "name": f"F{number}", "size": size + 1} for number in names]


def record(names, name="R"):
    return {"type": "record", "name": name, "fields": [{"name": each, "type": "int"} for each in names]}


def test_symbols():
    writer, reader = parse(enum(SYMBOLS)), parse(enum(SYMBOLS[::-1][1:], default="s0"))
    assert decode_plan(writer, reader).root.symbols == (*SYMBOLS[:-1], "s0")
    assert encode_plan(writer, pa.string()).root.symbols == tuple(SYMBOLS)
    assert not differences(reader, writer)
    assert differences(parse(enum(SYMBOLS[:-1])), writer)[0].message == "[s199999]"
    assert parse(canonical(reader)).symbols == reader.symbols


def test_defaults_that_are_symbols():
    fields = [{"name": "e", "type": enum(SYMBOLS[:20_000])}]
    fields += [{"name": f"f{i}", "type": "E", "default": f"s{i}"} for i in range(20_000)]
    reader = parse({"type": "record", "name": "R", "fields": fields})
    writer = parse({"type": "record", "name": "R", "fields": fields[:1]})
    assert decode_plan(writer, reader).root.children[-1].data == bytes.fromhex("beb802")
    assert len(encode_plan(reader, arrow_type(writer)).root.children) == 20_001


@pytest.mark.parametrize("names", ["index", pytest.param("type", marks=pytest.mark.thorough)])
def test_branches(names):
    options = AvroOptions(union_members=names)
    writer, reader = parse(union()), parse(union(names=BRANCHES[::-1]))
    kind = arrow_type(reader, options)
    last = decode_plan(writer, reader, options, kind).root.children[0]
    assert last.size == len(BRANCHES) - 1
    assert len(encode_plan(reader, kind, options).root.children) == len(BRANCHES)
    assert not differences(reader, writer)
    assert not same(reader, writer)


def test_branches_that_are_all_different():
    writer, reader = parse(union()), parse(union(names=range(20_000, 40_000)))
    plan = decode_plan(writer, reader)
    assert {child.code for child in plan.root.children} == {"unresolvable"}
    assert plan.root.children[0].reason.endswith(", F20099 and 19900 more")
    assert len(differences(reader, writer)) == MAX_DIFFERENCES


def test_fields_and_aliases():
    names = [f"f{number}" for number in range(20_000)]
    writer = parse(record(names))
    reader = record([f"g{number}" for number in range(20_000)])
    for field, name in zip(reader["fields"], names, strict=True):
        field["aliases"] = [name]
    reader = parse(reader)
    assert [field.name for field in apply_aliases(writer, reader).fields] == [
        field.name for field in reader.fields
    ]
    assert not differences(reader, writer)
    wanted = AvroOptions(fields=[field.name for field in reader.fields])
    assert arrow_type(reader, wanted).num_fields == 20_000


def test_whole_codecs(impl):
    codec = AvroCodec(enum(SYMBOLS))
    column = pa.array(["s0", "s199999"])
    assert codec.decode(codec.encode(column)).equals(column)
    branches = parse(union(names=range(5_000)))
    writer, kind = AvroWriter(branches), AvroReader(branches).arrow_type
    rows = pa.array([{"member4999": b"x"}], kind)
    encoded, faults = writer.encode(rows)
    assert (encoded.to_pylist(), faults) == ([bytes.fromhex("8e4e") + b"x"], [])


def test_types_nested_too_deeply_to_be_compared():
    chain = [
        {"type": "record", "name": f"R{number}", "fields": [{"name": "f", "type": f"R{number + 1}"}]}
        for number in range(20_000)
    ]
    reader, writer = (parse([*chain, record(["x"], "R20000")]).branches[0] for _ in range(2))
    with pytest.raises(SchemaError, match="too deeply"):
        differences(reader, writer)

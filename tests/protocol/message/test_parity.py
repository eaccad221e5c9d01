"""The compiled row loops give what the plain ones give: on valid, truncated and mutated bytes, and on odd values."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka_definitions import definitions
from vector_files import read_vectors

from kcodec._impl import IMPLEMENTATIONS, kernel
from kcodec.plan import Limits
from kcodec.protocol.message.codec import UNKNOWN, MessageCodec
from kcodec.protocol.message.plan import MessagePart, decode_plan, encode_plan, message_type
from kcodec.protocol.spec.message import MessageSpec

EVERYTHING = MessageSpec.parse("""{
    "type": "data", "name": "Everything", "validVersions": "0-3", "flexibleVersions": "2+", "fields": [
    {"name": "Flag", "type": "bool", "versions": "0+", "default": "true"},
    {"name": "I8", "type": "int8", "versions": "0+"},
    {"name": "I16", "type": "int16", "versions": "0+"},
    {"name": "U16", "type": "uint16", "versions": "1+", "default": "40000", "ignorable": true},
    {"name": "I32", "type": "int32", "versions": "0+"},
    {"name": "U32", "type": "uint32", "versions": "0+"},
    {"name": "I64", "type": "int64", "versions": "1+", "default": "-5"},
    {"name": "F64", "type": "float64", "versions": "0+"},
    {"name": "Id", "type": "uuid", "versions": "0+"},
    {"name": "Text", "type": "string", "versions": "0+"},
    {"name": "Plain", "type": "string", "versions": "0+", "flexibleVersions": "none"},
    {"name": "MaybeText", "type": "string", "versions": "0+", "nullableVersions": "1+", "default": "none at all"},
    {"name": "Data", "type": "bytes", "versions": "0+"},
    {"name": "MaybeData", "type": "bytes", "versions": "1+", "nullableVersions": "1+", "default": "null"},
    {"name": "Batches", "type": "records", "versions": "0+", "nullableVersions": "0+"},
    {"name": "Numbers", "type": "[]int32", "versions": "0+"},
    {"name": "Longs", "type": "[]int64", "versions": "0+", "nullableVersions": "2+"},
    {"name": "Shorts", "type": "[]int16", "versions": "0+"},
    {"name": "Words", "type": "[]string", "versions": "0+"},
    {"name": "Nothings", "type": "[]Nothing", "versions": "0+", "fields": [
        {"name": "Later", "type": "string", "versions": "3+", "default": "later"}]},
    {"name": "Pairs", "type": "[]Pair", "versions": "0+", "fields": [
        {"name": "Key", "type": "string", "versions": "0+", "mapKey": true},
        {"name": "Values", "type": "[]Value", "versions": "0+", "nullableVersions": "0+", "fields": [
            {"name": "V", "type": "int8", "versions": "0+"},
            {"name": "Note", "type": "string", "versions": "2+", "taggedVersions": "2+", "tag": 0}]}]},
    {"name": "Inner", "type": "Shared", "versions": "0+"},
    {"name": "MaybeInner", "type": "Shared", "versions": "1+", "nullableVersions": "1+", "default": "null"},
    {"name": "TagNumber", "type": "int32", "versions": "2+", "taggedVersions": "2+", "tag": 0, "default": "7"},
    {"name": "TagText", "type": "string", "versions": "2+", "taggedVersions": "2+", "tag": 1,
     "nullableVersions": "2+", "default": "null"},
    {"name": "TagFloat", "type": "float64", "versions": "2+", "taggedVersions": "2+", "tag": 2},
    {"name": "TagList", "type": "[]int64", "versions": "2+", "taggedVersions": "2+", "tag": 3},
    {"name": "TagStruct", "type": "Tagged", "versions": "2+", "taggedVersions": "2+", "tag": 4,
     "nullableVersions": "2+", "default": "null", "fields": [
        {"name": "A", "type": "bool", "versions": "2+"},
        {"name": "B", "type": "[]string", "versions": "2+"}]},
    {"name": "TagShared", "type": "Shared", "versions": "2+", "taggedVersions": "2+", "tag": 5},
    {"name": "TagLater", "type": "bool", "versions": "3+", "taggedVersions": "3+", "tag": 6},
    {"name": "TagId", "type": "uuid", "versions": "2+", "taggedVersions": "2+", "tag": 7}],
    "commonStructs": [{"name": "Shared", "versions": "0+", "fields": [
        {"name": "X", "type": "int16", "versions": "0+"},
        {"name": "Y", "type": "bytes", "versions": "0+", "nullableVersions": "0+"}]}]}""")

VERSIONS = tuple(EVERYTHING.valid_versions)
NARROW = Limits(max_zero_byte_items=9, max_expansion=40)


def values(spec, version):
    """Draw messages of a version, as dicts."""
    leaves = {
        "bool": st.booleans(),
        "uuid": st.binary(min_size=16, max_size=16),
        "string": st.text(max_size=40) | st.just("é" * 200),
        "bytes": st.binary(max_size=200),
        "records": st.binary(max_size=40),
        "float64": st.floats(),
    }
    for bits in (8, 16, 32, 64):
        leaves[f"int{bits}"] = st.integers(-(1 << bits - 1), (1 << bits - 1) - 1)
        leaves[f"uint{bits}"] = st.integers(0, (1 << bits) - 1)
    structs = spec.structs

    def record(fields):
        drawn = {f.json_name: field(f) for f in fields if version in f.versions}
        tags = st.dictionaries(st.integers(8, 1 << 20), st.binary(max_size=5), max_size=2)
        unknown = tags.map(lambda tags: [{"tag": tag, "data": tags[tag]} for tag in sorted(tags)])
        if not spec.flexible_in(version):
            return st.fixed_dictionaries({}, optional=drawn)
        return st.fixed_dictionaries({}, optional={**drawn, UNKNOWN: unknown})

    def field(each):
        kind = each.type.element
        item = record(structs[kind].fields) if kind in structs else leaves[kind]
        value = st.lists(item, max_size=3) if each.type.is_array else item
        return st.none() | value if each.nullable_in(version) else value

    return record(spec.fields)


ANY = {version: values(EVERYTHING, version) for version in VERSIONS}
KERNELS = [kernel("protocol.message._kernel", impl) for impl in IMPLEMENTATIONS]


def programs(plan, limits=None, lenient=False):
    return [(module, module.Program(plan, limits or Limits(), lenient)) for module in KERNELS]


def same(outcomes):
    native, pure = map(repr, outcomes)
    assert native == pure
    return outcomes[0]


def check_decoding(rows, plan, one, limits=None, lenient=False):
    """Decode rows with both, in columns and one by one; what fails fails alike."""
    array = pa.array(rows, pa.binary())
    decoded = []
    for module, program in programs(plan, limits, lenient):
        column, faults = module.decode(array, [program], trailing=lenient)
        column.validate(full=True)
        assert column.null_count == len(faults)
        decoded.append((column.to_pylist(), faults))
    same(decoded)
    faults = {fault.row: fault for fault in decoded[0][1]}
    for number, row in enumerate(rows):
        message, fault = same(
            [
                module.decode_one(row, program, trailing=lenient)
                for module, program in programs(one, limits, lenient)
            ]
        )
        assert (message is None) == (number in faults)
        assert fault == (faults[number]._replace(row=0) if number in faults else None)


def plans(version):
    kind = message_type(EVERYTHING, VERSIONS, unknown_tags=True)
    alone = message_type(EVERYTHING, [version], unknown_tags=True)
    part = [MessagePart(EVERYTHING, version)]
    return decode_plan(part, kind), decode_plan(part, alone), encode_plan(part, kind)


PLANS = {version: plans(version) for version in VERSIONS}


@given(st.data(), st.sampled_from(VERSIONS))
def test_messages_come_back(data, version):
    wide, alone, writing = PLANS[version]
    message = data.draw(ANY[version])
    encoded, fault = same([module.encode_one(message, program) for module, program in programs(writing)])
    assert fault is None
    check_decoding([encoded], wide, alone)
    (native, program), _ = programs(wide)
    column, _ = native.decode(pa.array([encoded]), [program])
    again = same(
        [
            [
                part.to_pylist() if isinstance(part, pa.Array) else part
                for part in module.encode(column, [program])
            ]
            for module, program in programs(writing)
        ]
    )
    assert again == [[encoded], []]


@given(st.data(), st.sampled_from(VERSIONS), st.booleans(), st.sampled_from([None, NARROW]))
def test_damaged_messages_fail_alike(data, version, lenient, limits):
    wide, alone, writing = PLANS[version]
    encoded, _ = KERNELS[0].encode_one(data.draw(ANY[version]), programs(writing)[0][1])
    rows = []
    for _ in range(20):
        row = bytearray(encoded)
        for _ in range(data.draw(st.integers(1, 3))):
            at = data.draw(st.integers(0, len(row)))
            piece = data.draw(st.sampled_from([b"\0", b"\1", b"\2", b"\x80", b"\xff", b"\x7f\xff\xff\xff"]))
            row[at : at + data.draw(st.integers(0, 2))] = piece
        rows.append(bytes(row))
    check_decoding(rows, wide, alone, limits, lenient)


@given(st.data(), st.sampled_from(VERSIONS))
def test_truncated_messages_fail_alike(data, version):
    wide, alone, writing = PLANS[version]
    encoded, _ = KERNELS[0].encode_one(data.draw(ANY[version]), programs(writing)[0][1])
    step = len(encoded) // 60 + 1
    check_decoding(
        [encoded[:at] for at in range(data.draw(st.integers(0, 59)) % step, len(encoded), step)], wide, alone
    )


ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3) | st.binary(max_size=20),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=2), inner, max_size=2),
    max_leaves=4,
)


#: What stands for unknown tags, more or less.
ENTRIES = st.fixed_dictionaries(
    {},
    optional={
        "tag": st.none() | st.integers(-1, 1 << 33),
        "data": st.none() | st.binary(max_size=2) | st.integers(),
    },
)


@given(st.data(), st.sampled_from(VERSIONS))
def test_odd_values_are_refused_alike(data, version):
    message = data.draw(ANY[3])
    names = [field.json_name for field in EVERYTHING.fields] + ["stranger", UNKNOWN]
    for name in data.draw(st.lists(st.sampled_from(names), max_size=2)):
        message[name] = data.draw(ODD | st.lists(ENTRIES, max_size=2))
    writing = PLANS[version][2]
    same([module.encode_one(message, program) for module, program in programs(writing)])


TYPES = {
    pa.null(): st.none(),
    pa.int8(): st.integers(-128, 127),
    pa.uint16(): st.integers(0, 65535),
    pa.int64(): st.integers(-(1 << 40), 1 << 40),
    pa.uint64(): st.integers(0, (1 << 64) - 1),
    pa.bool_(): st.booleans(),
    pa.float64(): st.floats(),
    pa.string(): st.text(max_size=3),
    pa.large_binary(): st.binary(max_size=3),
    pa.binary(16): st.binary(min_size=16, max_size=16),
    pa.list_(pa.null()): st.lists(st.none(), max_size=1),
    pa.list_(pa.string()): st.lists(st.text(max_size=2), max_size=2),
    pa.large_list(pa.int16()): st.lists(st.integers(-9, 9), max_size=2),
    pa.struct([("x", pa.int64()), ("y", pa.string())]): st.fixed_dictionaries(
        {}, optional={"x": st.integers(-9, 1 << 20), "y": st.text(max_size=2)}
    ),
}


@given(st.data(), st.sampled_from(VERSIONS))
def test_columns_of_other_types_are_written_alike(data, version):
    """Nulls, missing columns, wider and narrower integers, 64-bit offsets, and types that do not fit at all."""
    whole = message_type(EVERYTHING, VERSIONS, unknown_tags=True, large=data.draw(st.booleans()))
    odd = data.draw(st.sets(st.sampled_from(whole.names), max_size=3))
    kept = [field.with_nullable(True) for field in whole if field.name in odd or data.draw(st.booleans())]
    kind = pa.struct(
        [
            field.with_type(data.draw(st.sampled_from(list(TYPES)))) if field.name in odd else field
            for field in kept
        ]
    )
    rows = []
    for _ in range(3):
        message = data.draw(ANY[3])
        row = {field.name: message.get(field.name) for field in kind}
        for name in odd & row.keys():
            row[name] = data.draw(st.none() | TYPES[kind.field(name).type])
        rows.append(data.draw(st.sampled_from([row, row, row, None])))
    array = pa.array(rows, kind)
    plan = encode_plan([MessagePart(EVERYTHING, version)], kind)
    encoded = []
    for module, program in programs(plan):
        column, faults = module.encode(array.slice(1), [program])
        encoded.append((column.to_pylist(), faults))
    same(encoded)


@pytest.mark.parametrize("lenient", [False, True])
def test_every_vector_cut_at_each_byte(shared, lenient):
    """All vectors, each cut at each of its bytes and with each byte turned over: values or faults, never more."""
    loaded = definitions(shared)
    rows = 0
    for line in read_vectors("kafka_protocol_vectors.jsonl.gz", shared / "vectors")[::23]:
        if line["set"] not in loaded:
            continue
        spec, version, data = loaded[line["set"]][line["name"]], line["version"], bytes.fromhex(line["hex"])
        if len(data) > 250:
            continue
        part = [MessagePart(spec, version)]
        kind = message_type(spec, [version], unknown_tags=True)
        cut = [data[:at] for at in range(len(data))]
        turned = [data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :] for at in range(len(data))]
        plan = decode_plan(part, kind)
        check_decoding([*cut, *turned], plan, plan, lenient=lenient)
        rows += 2 * len(data)
    assert rows > 5_000


def test_the_versions_of_rows_are_found_alike():
    rows = pa.array([b"\0\1x", None, b"\0", b"\0\2", b"\xff\xff", b"\0\7", b""])
    for at, key in ((0, None), (1, None), (0, 2), (1, -1)):
        assert len({bytes(module.version_selector(rows, [1, 2], at, key)) for module in KERNELS}) == 1
    assert memoryview(bytes(KERNELS[0].version_selector(rows, [1, 2], 0))).cast("i").tolist() == [
        0,
        0,
        0,
        1,
        2,
        2,
        0,
    ]


def test_a_codec_of_everything_in_all_versions(impl):
    codec = MessageCodec.for_versions(EVERYTHING, unknown_tags=True)
    rows = [codec.encode_one({}, version) for version in VERSIONS]
    column = codec.decode(rows, versions=VERSIONS)
    assert [row["maybeText"] for row in column.to_pylist()] == ["none at all"] * 4
    assert [row["u16"] for row in column.to_pylist()] == [40000] * 4
    assert codec.encode(column, versions=VERSIONS).to_pylist() == rows


def test_records_of_structs_that_are_absent(impl):
    """Records are null by default, also where that of the whole struct is not."""
    codec = MessageCodec(
        """{"type": "data", "name": "M", "validVersions": "0-1", "flexibleVersions": "1+", "fields": [
        {"name": "Old", "type": "Batches", "versions": "0", "fields": [
            {"name": "Data", "type": "records", "versions": "0+"}]},
        {"name": "New", "type": "Inner", "versions": "1+", "taggedVersions": "1+", "tag": 0, "fields": [
            {"name": "Size", "type": "int8", "versions": "1+"},
            {"name": "Data", "type": "records", "versions": "1+"}]}]}""",
        1,
    )
    column = codec.decode([b"\0", b"\1\0\4\5\2x\0"])
    column.validate(full=True)
    assert column.to_pylist() == [{"new": {"size": 0, "data": None}}, {"new": {"size": 5, "data": b"x"}}]
    assert codec.decode_one(b"\0") == column[0].as_py()
    assert codec.encode(column).to_pylist() == [b"\0", b"\1\0\4\5\2x\0"]
    both = MessageCodec.for_versions(codec.spec)
    assert both.decode([b"\0"], versions=[1]).to_pylist() == [{"old": {"data": None}, **column[0].as_py()}]

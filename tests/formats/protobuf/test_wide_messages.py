"""Messages of many fields, whose bits take several words: read and written as upb does, by both kernels alike."""

import random
import time
from functools import partial

import pyarrow as pa
import pytest
import side_by_side
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from hypothesis import given, settings
from hypothesis import strategies as st
from random_messages import damaged, payload, schema_text, spoiled

from kcodec import ProtobufCodec

same_decode = partial(side_by_side.same_decode, "formats.protobuf._kernel")
same_encode = partial(side_by_side.same_encode, "formats.protobuf._kernel")


def upb_class(codec, name):
    pool = descriptor_pool.DescriptorPool()
    for file in descriptor_pb2.FileDescriptorSet.FromString(codec.descriptor_set).file:
        pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(name))


@pytest.mark.thorough
@given(st.integers(0, 1 << 32), st.sampled_from([(64, 65), (66, 127), (128, 130), (131, 300)]))
@settings(max_examples=4)
def test_as_upb(seed, fields):
    rnd = random.Random(seed)
    # upb takes no enum as the values of a map that does not begin with 0.
    text = schema_text(rnd, fields).replace("A = 1;", "A = 0;")
    codec = ProtobufCodec(text, "p.M0", unknown_fields="keep", well_known=(), recursive_depth=3)
    upb = upb_class(codec, "p.M0")
    message = codec._reader.message
    # upb may end the process for an entry of a map without its value, if that is a message.
    good = [payload(rnd, message, density, values=1) for density in (0.05, 0.3, 0.9)]
    rows = [*good, *(upb.FromString(row).SerializeToString() for row in good)] * rnd.choice((1, 4))
    decoded = codec.decode(rows)
    written = codec.encode(decoded)
    assert [upb.FromString(row) for row in written.to_pylist()] == [upb.FromString(row) for row in rows]
    assert same_encode(codec.encode_plan(decoded.type), decoded).equals(written)
    assert side_by_side.comparable(same_decode([codec.decode_plan], rows)) == side_by_side.comparable(decoded)
    worse = pa.array([spoiled(rnd, row) for row in decoded.to_pylist()], decoded.type)
    same_encode(codec.encode_plan(decoded.type), worse)
    fields_of = [field.name for field in message.fields]
    chosen = codec.select(rnd.sample(fields_of, 3))
    for each in (codec, chosen):
        same_decode([each.decode_plan], [*rows, *(damaged(rnd, row, good) for row in rows), None])


def test_a_oneof_of_very_many_members_is_compiled_in_time_that_grows_with_them():
    """It took the square of them: half a minute for a schema of 400 KB, when the first row was read."""
    count = 12_000
    members = "".join(f"int32 a{number}={number};" for number in range(1, count + 1))
    pairs = "".join(
        f"oneof o{number} {{int32 a{number}={number}; int32 b{number}={number + 1};}}"
        for number in range(1, count, 2)
    )
    row = b"\x08\x01" + b"\xc0\xaf\x05\x05"  # fields 1 and 11,000
    for body, expected in ((f"oneof o {{{members}}}", {"a11000"}), (pairs, {"a1", "b10999"})):
        codec = ProtobufCodec(f'syntax = "proto3"; message M {{{body}}}', oneofs="case")
        start = time.monotonic()
        column = codec.decode([row])
        assert time.monotonic() - start < 10
        found = {name: value for name, value in column[0].as_py().items() if value is not None}
        assert {value for value in found.values() if isinstance(value, str)} == expected
        assert {name for name, value in found.items() if isinstance(value, int)} == expected

"""The same values in each layout that Arrow has for them are written as the same bytes."""

import random

import pyarrow as pa
import pyarrow.compute as pc
from cases import cases

from kcodec import AvroCodec, JsonCodec, ProtobufCodec, schema_of

ROWS = 700
KIND = pa.struct(
    [
        pa.field("text", pa.string(), False),
        pa.field("note", pa.string()),
        pa.field("raw", pa.binary(), False),
        pa.field("texts", pa.list_(pa.field("item", pa.string(), False)), False),
        pa.field("pair", pa.list_(pa.field("item", pa.int32(), False)), False),
        pa.field("by_name", pa.map_(pa.string(), pa.field("value", pa.string(), False)), False),
    ]
)


def drawn(seed):
    drawn = random.Random(seed)

    def text():
        # Of all sizes around those that are copied in one step.
        return drawn.choice("xé") * drawn.choice([0, 1, 15, 16, 31, 32, 33, 63, 64, 65, 200])

    return pa.array(
        [
            {
                "text": text(),
                "note": text() if drawn.random() < 0.7 else None,
                "raw": text().encode(),
                "texts": [text() for _ in range(drawn.randint(0, 3))],
                "pair": [drawn.randint(-9, 9), 7],
                "by_name": [(key, text()) for key in "abc"[: drawn.randint(0, 3)]],
            }
            for _ in range(ROWS)
        ],
        KIND,
    )


def large(array):
    kind = array.type
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        return array.cast(pa.large_string() if pa.types.is_string(kind) else pa.large_binary())
    if pa.types.is_list(kind):
        items = large(array.values)
        kind = pa.large_list(kind.value_field.with_type(items.type))
        return pa.LargeListArray.from_arrays(array.offsets.cast(pa.int64()), items, kind)
    return array


def of_fixed_size(array):
    if array.type != KIND.field("pair").type:
        return array
    return pa.FixedSizeListArray.from_arrays(array.values, type=pa.list_(array.type.value_field, 2))


def view(array):
    kinds = {pa.string(): pa.string_view(), pa.binary(): pa.binary_view()}
    return array.cast(kinds[array.type]) if array.type in kinds else array


def dictionary(array):
    return array.dictionary_encode() if pa.types.is_string(array.type) else array


def run_ends(array):
    return pc.run_end_encode(array) if pa.types.is_string(array.type) else array


def sliced(array):
    return pa.concat_arrays([array[:3], array])[3:]


CODECS = {
    "AVRO": lambda: AvroCodec(schema_of(pa.schema(list(KIND)), name="Row")),
    "PROTOBUF": lambda: ProtobufCodec(schema_of(pa.schema(list(KIND)), "PROTOBUF", name="Row"), "Row"),
    "JSON": lambda: JsonCodec(KIND),
}


@cases("layout", [large, of_fixed_size, view, dictionary, run_ends, sliced])
@cases("format", CODECS)
def test_same_bytes(impl, format, layout):
    codec = CODECS[format]()
    array = drawn(f"{format}{layout.__name__}")
    parts = [layout(array.field(number)) for number in range(KIND.num_fields)]
    fields = [field.with_type(part.type) for field, part in zip(KIND, parts, strict=True)]
    assert codec.encode(pa.StructArray.from_arrays(parts, fields=fields)).equals(codec.encode(array))

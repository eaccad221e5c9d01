"""Every kind of column that users hand in is decoded as the plain binary array of the same rows."""

import base64
import gzip
import uuid

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from cases import cases

import kcodec
from kcodec import AvroCodec
from kcodec.columns.arrays.given import arrays, payloads
from kcodec.columns.stream import reader_of
from kcodec.protocol import read_batches, write_batches

SCHEMA = {
    "type": "record",
    "name": "R",
    "fields": [{"name": "n", "type": "int"}, {"name": "s", "type": ["null", "string"]}],
}
ROWS = [
    b"\x02\x02\x06abc",
    b"\x04\x00",
    None,
    b"\x06\x02\x00",
    b"\x08\x02\x5a" + b"long text " * 4 + b"of it",
]
VALUES = [
    {"n": 1, "s": "abc"},
    {"n": 2, "s": None},
    None,
    {"n": 3, "s": ""},
    {"n": 4, "s": "long text " * 4 + "of it"},
]
BINARY = [pa.binary(), pa.large_binary(), pa.binary_view()]
TEXT = [pa.string(), pa.large_string(), pa.string_view()]


@pytest.fixture
def codec(impl):
    return kcodec.AvroCodec(SCHEMA)


class Producer:
    """An object that offers nothing but Arrow's C interface."""

    def __init__(self, column):
        self.column = column


class ArrayProducer(Producer):
    def __arrow_c_array__(self, requested_schema=None):
        return self.column.__arrow_c_array__(requested_schema)


class StreamProducer(Producer):
    def __arrow_c_stream__(self, requested_schema=None):
        return self.column.__arrow_c_stream__(requested_schema)


@cases("kind", BINARY + TEXT, ids=str)
def test_each_layout(codec, kind):
    # All bytes of the rows are ASCII, so text holds them too.
    decoded = codec.decode(pa.array(ROWS, pa.binary()).cast(kind))
    decoded.validate(full=True)
    assert decoded.to_pylist() == VALUES


def test_fixed_width(impl):
    codec = kcodec.AvroCodec({"type": "fixed", "name": "F", "size": 3})
    rows = [b"abc", None, b"def"]
    assert codec.decode(pa.array(rows, pa.binary(3))).to_pylist() == rows
    assert codec.decode(pa.array(rows, pa.binary(3)).slice(1)).to_pylist() == rows[1:]


def test_fixed_width_of_nothing(impl):
    codec = kcodec.AvroCodec("null", "null")
    assert codec.decode(pa.array([b"", None], pa.binary(0)), errors="report")[1].num_rows == 0


@cases("kind", BINARY + TEXT, ids=str)
@cases("first", range(6))
def test_slices(codec, kind, first):
    values = pa.array(ROWS * 3, pa.binary()).cast(kind)
    for size in (0, 1, 5, 15):
        expected = (VALUES * 3)[first : first + size]
        assert codec.decode(values.slice(first, size)).to_pylist() == expected


def test_a_slice_of_a_slice_up_to_the_last_byte(codec):
    values = pa.array(ROWS * 20).slice(3).slice(40)
    assert codec.decode(values).to_pylist() == (VALUES * 20)[43:]
    assert codec.decode(values.slice(len(values) - 1)).to_pylist() == VALUES[-1:]


@cases("kind", BINARY + TEXT, ids=str)
def test_a_column_without_data(codec, kind):
    assert codec.decode(pa.array([], kind)).to_pylist() == []
    assert codec.decode(pa.nulls(3, kind)).to_pylist() == [None] * 3
    assert codec.decode(pa.array([b""] * 2).cast(kind), errors="null").to_pylist() == [None] * 2


def test_chunks(codec):
    chunks = [pa.array(ROWS[:2]), pa.array([], pa.binary()), pa.array(ROWS[2:])]
    decoded = codec.decode(pa.chunked_array(chunks))
    assert isinstance(decoded, pa.ChunkedArray)
    assert [len(chunk) for chunk in decoded.chunks] == [2, 0, 3]
    assert decoded.to_pylist() == VALUES
    empty = codec.decode(pa.chunked_array([], pa.binary()))
    assert (empty.type, len(empty)) == (codec.arrow_type, 0)


def test_rows_of_a_report_count_over_chunks(codec):
    values = pa.chunked_array([ROWS[:2], [b"\x80"], [b"\x02", *ROWS[:1]]], pa.binary())
    decoded, report = codec.decode(values, errors="report")
    assert decoded.to_pylist() == [*VALUES[:2], None, None, VALUES[0]]
    assert report["row"].to_pylist() == [2, 3]
    with pytest.raises(kcodec.DecodeError) as raised:
        codec.decode(values)
    assert raised.value.row == 2


@pytest.mark.parametrize("rows", [ROWS, tuple(ROWS)], ids=["list", "tuple"])
def test_python_rows(codec, rows):
    assert codec.decode(rows).to_pylist() == VALUES
    assert codec.decode(rows[:0]).to_pylist() == []


@pytest.mark.parametrize("producer", [ArrayProducer, StreamProducer])
def test_producers(codec, producer):
    column = pa.array(ROWS)
    if producer is StreamProducer:
        column = pa.chunked_array([column[:2], column[2:]])
    decoded = codec.decode(producer(column))
    assert isinstance(decoded, pa.ChunkedArray) == (producer is StreamProducer)
    assert decoded.to_pylist() == VALUES


@cases(
    "kind",
    [
        *BINARY,
        *TEXT,
        pa.list_(pa.binary_view()),
        pa.map_(pa.string(), pa.string_view()),
        pa.struct([("a", pa.binary_view())]),
    ],
    ids=str,
)
def test_parts_of_a_column_without_rows(kind, impl):
    """Over Arrow's C interface, a slice without rows has no memory, and its offset nevertheless."""
    text = "long text of a row"
    row = [text] if pa.types.is_list(kind) else [("k", text)] if pa.types.is_map(kind) else text
    whole = pa.array([{"a": text} if pa.types.is_struct(kind) else row, None], kind)
    column = pa.chunked_array([whole.slice(1, 0), whole, whole.slice(2)])
    assert kcodec.rows(StreamProducer(column)) == whole.to_pylist()
    assert kcodec.rows(ArrayProducer(whole.slice(1, 0))) == []
    if kind in BINARY + TEXT:
        assert payloads(StreamProducer(column))[0][1].equals(whole)
        batches = write_batches(pa.table(StreamProducer(pa.table({"value": column}))))
        assert read_batches(batches)["value"].cast(pa.binary()).to_pylist() == [text.encode(), None]


def test_polars(codec):
    polars = pytest.importorskip("polars")
    assert codec.decode(polars.Series("value", ROWS, polars.Binary)).to_pylist() == VALUES
    assert codec.decode(polars.Series("value", ROWS, polars.Binary)[2:]).to_pylist() == VALUES[2:]


def test_objects_of_polars_are_not_written_as_their_addresses(impl):
    polars = pytest.importorskip("polars")
    codec = AvroCodec('{"type": "record", "name": "R", "fields": [{"name": "u", "type": "bytes"}]}')
    frame = polars.DataFrame({"u": polars.Series([uuid.UUID(int=5)], dtype=polars.Object)})
    for values in (frame, frame["u"]):
        with pytest.raises(TypeError, match="polars' column 'u' is of Python objects: cast them"):
            codec.encode(values)
    with pytest.raises(TypeError, match="column 'u' is of Python objects"):
        reader_of(frame)
    with pytest.raises(
        TypeError, match=r"LazyFrame is not an Arrow column, .*; collect\(\) gives the columns"
    ):
        codec.encode(frame.lazy())
    wide = polars.DataFrame({"u": [2**100]}, schema={"u": polars.Int128})
    with pytest.raises(TypeError, match="column 'u' is of Int128, which Arrow does not have: cast it"):
        codec.encode(wide)


def test_duckdb(codec):
    duckdb = pytest.importorskip("duckdb")
    table = pa.table({"value": pa.array(ROWS)})
    with duckdb.connect() as connection:
        connection.register("messages", table)
        relation = connection.sql("select value from messages")
        column = relation.to_arrow_table()["value"]
    assert codec.decode(column).to_pylist() == VALUES


def test_values_of_which_none_shows(codec):
    children = [pa.array([0, 2], pa.int32()), pa.array(["a", "b"])]
    broken = pa.Array.from_buffers(pa.run_end_encoded(pa.int32(), pa.string()), 2, [None], children=children)
    for values in (broken.slice(0, 0), pa.DictionaryArray.from_arrays(pa.array([], pa.int8()), broken)):
        assert codec.decode(values).to_pylist() == []


def test_dictionaries_run_ends_and_extensions(codec):
    rows = ROWS[:1] * 3 + ROWS[1:3]
    plain = pa.array(rows)
    expected = VALUES[:1] * 3 + VALUES[1:3]
    assert codec.decode(plain.dictionary_encode()).to_pylist() == expected
    runs = pa.RunEndEncodedArray.from_arrays([3, 4, 5], pa.array([rows[0], *rows[3:]]))
    assert codec.decode(runs).to_pylist() == expected
    assert codec.decode(runs.slice(2)).to_pylist() == expected[2:]
    opaque = pa.ExtensionArray.from_storage(pa.opaque(pa.binary(), "message", "test"), plain)
    assert codec.decode(opaque).to_pylist() == expected


@cases("kind", [pa.binary(1), *BINARY, *TEXT], ids=str)
def test_dictionaries_and_run_ends_of_each_layout(impl, kind):
    codec = kcodec.AvroCodec("int")
    values = pa.array([b"\2", None, b"\4"], pa.binary()).cast(kind)
    dictionary = pa.DictionaryArray.from_arrays(pa.array([2, 0, None, 1]), values)
    assert codec.decode(dictionary).to_pylist() == [2, 1, None, None]
    assert codec.decode(dictionary.slice(1, 2)).to_pylist() == [1, None]
    runs = pa.RunEndEncodedArray.from_arrays([2, 3, 5], values)
    assert codec.decode(runs).to_pylist() == [1, 1, None, 2, 2]
    assert codec.decode(runs.slice(1, 3)).to_pylist() == [1, None, 2]


def test_polars_categories(impl):
    polars = pytest.importorskip("polars")
    column = polars.Series(["\2", None, "\4", "\2"]).cast(polars.Categorical)
    assert kcodec.AvroCodec("int").decode(column).to_pylist() == [1, None, 2, 1]


def test_a_column_without_a_type_is_null(codec):
    assert codec.decode(pa.nulls(2)).to_pylist() == [None, None]


@cases(
    "values",
    [pa.array([1, 2]), pa.array([{"a": b""}]), pa.array([[b"a"]]), pa.array([True]), pa.array([1.5])],
    ids=lambda values: str(values.type),
)
def test_columns_of_another_type(codec, values):
    with pytest.raises(TypeError, match=r"binary|bytes"):
        codec.decode(values)


def test_a_table_is_not_the_column_of_its_payloads(codec):
    with pytest.raises(TypeError, match="such as one of the table's columns"):
        codec.decode(pa.table({"value": [b"\x02"], "offset": [1]}))


@cases("values", [b"abc", "abc", 7, None, {"a": 1}, iter([b"a"])], ids=lambda values: type(values).__name__)
def test_what_is_no_column(codec, values):
    name = type(values).__name__
    with pytest.raises(TypeError, match=f"^{name} is not an Arrow column, nor a list of bytes$"):
        codec.decode(values)
    with pytest.raises(TypeError, match=f"^{name} is not an Arrow column, nor a list of values") as raised:
        codec.encode(values)
    assert str(raised.value).endswith("; pyarrow.table(...) makes columns of it") == (name == "dict")


def test_a_list_of_something_else(codec):
    for values in ([1, 2], [{"n": 1}], [b"", object()], ["\ud800"]):
        with pytest.raises(TypeError, match=r"a list holds bytes and None.*pyarrow\.array makes"):
            codec.decode(values)
    for values in ([b"", object()], ["\ud800"], [1, "a"], [{"n": 1}, 7]):
        with pytest.raises(TypeError, match=r"row [01] of the list does not fit"):
            codec.encode(values)


def test_arrays_share_memory():
    values = pa.array(ROWS)
    (same,), chunked = arrays(values)
    assert same is values
    assert not chunked
    (taken,), _ = payloads(ArrayProducer(values))
    assert [buffer.address for buffer in taken.buffers()] == [buffer.address for buffer in values.buffers()]


def test_batches_and_tables_are_structs():
    batch = pa.record_batch({"n": pa.array([1, 2]), "s": pa.array(["a", None])})
    (struct,), chunked = arrays(batch)
    assert struct.to_pylist() == batch.to_pylist()
    assert not chunked
    parts, chunked = arrays(pa.Table.from_batches([batch, batch]))
    assert [len(part) for part in parts] == [2, 2]
    assert chunked


def test_encode_takes_the_same_sources(codec):
    column = pa.array(VALUES, codec.arrow_type)
    wanted = ROWS
    assert codec.encode(column).to_pylist() == wanted
    assert codec.encode(ArrayProducer(column)).to_pylist() == wanted
    assert codec.encode(pa.chunked_array([column[:1], column[1:]])).to_pylist() == wanted
    assert codec.encode(column.slice(1, 3)).to_pylist() == wanted[1:4]
    batch = pa.RecordBatch.from_struct_array(column.filter(column.is_valid()))
    assert codec.encode(batch).to_pylist() == [row for row in wanted if row is not None]


def test_encode_of_map_entries_that_start_later(impl):
    # Producers other than pyarrow may give the entries of a map an offset of their own.
    entries = pa.array([{"key": key, "value": n} for n, key in enumerate("abcd")])
    fields = [pa.field("key", pa.string(), nullable=False), pa.field("value", pa.int64())]
    entries = pa.StructArray.from_arrays([entries.field(0), entries.field(1)], fields=fields)
    offsets = pa.array([0, 1, 3], pa.int32()).buffers()[1]
    maps = pa.Array.from_buffers(pa.map_(*fields), 2, [None, offsets], children=[entries.slice(1)])
    assert maps.values.field(0).to_pylist() == ["b", "c", "d"]
    codec = kcodec.AvroCodec({"type": "map", "values": "long"})
    assert codec.encode(maps).to_pylist() == [b"\x02\x02b\x02\x00", b"\x04\x02c\x04\x02d\x06\x00"]
    assert codec.encode(maps.slice(1)).to_pylist() == [b"\x04\x02c\x04\x02d\x06\x00"]


def test_encode_of_list_items_that_start_later(impl):
    items = pa.array(["x", "a", "bc", None]).slice(1)
    offsets = pa.array([0, 1, 2], pa.int32()).buffers()[1]
    lists = pa.Array.from_buffers(pa.list_(pa.string()), 2, [None, offsets], children=[items])
    codec = kcodec.AvroCodec({"type": "array", "items": "string"})
    assert codec.encode(lists).to_pylist() == [b"\x02\x02a\x00", b"\x02\x04bc\x00"]


def test_rows_that_look_framed_say_so(impl):
    """A codec without a registry, for what a registry's serializer has written."""
    framed = b"\0\0\0\0\x07" + b"\x02\x02\x06abc"
    text = 'syntax = "proto3"; message M { int64 n = 1; }'
    kind = pa.struct([("n", pa.int32())])
    codecs = (
        AvroCodec(SCHEMA),
        kcodec.JsonCodec(kind),
        kcodec.ConnectJsonCodec(kind, schemas_enable=False),
        kcodec.ProtobufCodec(text),
    )
    for codec in codecs:
        reasons = codec.decode([framed, b"\0\0\0\0\x07", b"\x02"], errors="report")[1]["reason"].to_pylist()
        assert "looks framed: schema id 7; kcodec.Serde reads that" in reasons[0]
        assert not any("framed" in reason for reason in reasons[1:])
        with pytest.raises(kcodec.DecodeError, match="looks framed: schema id 7"):
            codec.decode(pa.chunked_array([[b"{}"][:0], [framed]], pa.binary()))


@cases(
    ("data", "hint"),
    [
        (b"Obj\x01\x04\x14avro.codec", "looks like a container file of Avro"),
        (b"PAR1\x15\x04\x15", "looks like a Parquet file"),
        (gzip.compress(b"\x02\x02\x06abc", mtime=0), "looks compressed by gzip: decompress it first"),
        (b"\x28\xb5\x2f\xfd\x04\x58", "looks compressed by zstd: decompress it first"),
    ],
)
def test_rows_that_are_files_say_so(impl, data, hint):
    """By codecs and by serdes, for columns and for single values."""
    for codec in (AvroCodec(SCHEMA), kcodec.JsonCodec("n INT")):
        report = codec.decode([b"\xff" * 12, data, None], errors="report")[1]
        assert [hint in reason for reason in report["reason"].to_pylist()] == [False, True]
        with pytest.raises(kcodec.DecodeError, match=hint):
            codec.decode_one(data)
    serde = kcodec.Serde("AVRO", "memory://files", topic="t", schema=SCHEMA)
    report = serde.deserialize([b"\xff" * 12, data], errors="report")[1]
    assert [hint in reason for reason in report["reason"].to_pylist()] == [False, True]
    with pytest.raises(kcodec.DecodeError, match=hint):
        serde.deserialize_one(data)


def test_json_given_to_a_serde_says_so(impl):
    serde = kcodec.Serde("AVRO", "memory://files", topic="t", schema=SCHEMA)
    reasons = serde.deserialize([b'{"n": 1}', b"{}    ", b"{1}   "], errors="report")[1]["reason"].to_pylist()
    assert ["looks like JSON without a frame" in reason for reason in reasons] == [True, False, False]
    with pytest.raises(kcodec.DecodeError) as found:
        AvroCodec(SCHEMA).decode([b'{"n": 1}'])
    assert "looks like" not in str(found.value)


def test_bytes_that_are_text_given_to_a_serde_say_so(impl):
    serde = kcodec.Serde("AVRO", "memory://texts", topic="t", schema=SCHEMA)
    data = serde.serialize_one({"n": 7, "s": "text"})
    texts = [
        data.hex(),
        data.hex().upper(),
        base64.b64encode(data).decode(),
        "000000",
        "AAAA",
        "00000x",
        "0000000",
    ]
    reasons = serde.deserialize(texts, errors="report")[1]["reason"].to_pylist()
    hints = ["hexadecimal digits"] * 2 + ["Base64"]
    assert all(
        f"looks like {hint} of a framed value" in each for hint, each in zip(hints, reasons, strict=False)
    )
    assert not any("looks like" in each for each in reasons[3:])
    # Without a frame they may be data.
    assert (
        "looks like" not in AvroCodec('"string"').decode(texts, errors="report")[1]["reason"].to_pylist()[0]
    )


def test_frames_of_pandas_without_the_types_of_arrow(impl):
    frame = pa.table({"m": pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int32()))}).to_pandas()
    hint = "column m .*; to_pandas\\(types_mapper=pandas.ArrowDtype\\) keeps the types of columns"
    with pytest.raises(TypeError, match=hint):
        kcodec.JsonCodec("m MAP<STRING, INT>").encode(frame)
    with pytest.raises(TypeError, match=hint):
        reader_of(frame)
    # Of what has nothing to do with types that were lost, the hint would lead nowhere.
    for other in (pd.DataFrame([[1, 2]], columns=["m", "m"]), pd.DataFrame({"m": [1j]})):
        with pytest.raises(
            TypeError, match=r"Duplicate column names found|column m with type complex128"
        ) as told:
            kcodec.JsonCodec("m INT").encode(other)
        assert "types_mapper" not in str(told.value)


def test_a_number_in_a_list_of_texts():
    with pytest.raises(TypeError, match="row 1 of the list does not fit string at s: 7 is no text"):
        kcodec.JsonCodec("s STRING").encode([{"s": "a"}, {"s": 7}])


class TestTables:
    """Decoded structs declare fields that are never null, and null rows are null in them."""

    def test_rows_of_tombstones(self, codec, tmp_path):
        rows = codec.decode(ROWS)
        table = codec.to_table(rows)
        assert table.to_pylist()[2] == {"n": None, "s": None}
        assert all(field.nullable for field in table.schema)
        table.validate(full=True)
        parquet.write_table(table, tmp_path / "rows.parquet")
        assert parquet.read_table(tmp_path / "rows.parquet").equals(table)
        assert codec.to_table(rows, drop_null=True).num_rows == len(ROWS) - 1

    def test_chunks_slices_and_other_types(self, codec):
        rows = pa.chunked_array([codec.decode(ROWS).slice(1, 2), codec.decode(ROWS[:1])])
        assert codec.to_table(rows).column("n").to_pylist() == [2, None, 1]
        assert codec.to_table(rows, drop_null=True).column("n").to_pylist() == [2, 1]
        assert codec.to_table(rows.slice(0, 0)).num_rows == 0
        assert codec.to_table(pa.array([{}, None], pa.struct([]))).num_rows == 2
        with pytest.raises(TypeError, match="only structs"):
            codec.to_table(pa.array([1]))


class Marked(pa.ExtensionType):
    """An extension type of Python's, which has no hash."""

    def __init__(self, storage):
        super().__init__(storage, "kcodec.test.marked")

    def __arrow_ext_serialize__(self):
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage, serialized):
        return cls(storage)


@pytest.mark.parametrize(
    "codec",
    [
        kcodec.AvroCodec(
            '{"type": "record", "name": "R", "fields": [{"name": "A", "type": ["null", "int"], "default": null}]}'
        ),
        kcodec.JsonCodec(pa.schema([("A", pa.int32())])),
        kcodec.ConnectJsonCodec(),
        kcodec.ProtobufCodec('syntax = "proto3"; message R { int32 A = 1; }'),
        kcodec.JsonSchemaCodec({"properties": {"A": {"type": "integer"}}}),
        kcodec.KsqlCodec("PROTOBUF_NOSR", "A INT, B INT"),
    ],
    ids=lambda codec: type(codec).__name__,
)
def test_extension_types_are_written_as_their_storage(codec):
    plain = pa.array([{"A": 1}, None, {"A": 2}], pa.struct([("A", pa.int32())]))
    marked = pa.ExtensionArray.from_storage(Marked(plain.type), plain)
    assert codec.encode(marked.slice(1)).equals(codec.encode(plain.slice(1)))
    assert codec.encode(pa.chunked_array([marked])).chunk(0).equals(codec.encode(plain))
    inner = pa.ExtensionArray.from_storage(Marked(pa.int32()), plain.field("A"))
    struct = pa.StructArray.from_arrays([inner], ["A"], mask=plain.is_null())
    assert codec.encode(struct).equals(codec.encode(plain))

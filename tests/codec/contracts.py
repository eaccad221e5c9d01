"""What every codec must pass, whatever its format.

`Contract` holds the tests; `contract_examples.py` has a codec of each format. A new format adds an
example there and tests of its own for what only it does.
"""

import gc
import pickle
from itertools import pairwise

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from contract_examples import Example
from hypothesis import given, settings
from hypothesis import strategies as st
from side_by_side import THREADS, answer, at_once, comparable, on_both
from strategies import damaged
from tries import tries

from kcodec import CODES, ConfigError, DecodeError, EncodeError, MessageCodec, release_unused
from kcodec.codec import ERRORS, REPORT, Codec

# One codec of each format -----------------------------------------------------------------------------


# What every codec must pass ---------------------------------------------------------------------------


def text_of(values: pa.Array) -> pa.Array:
    """Return the same bytes as a column of strings, whether they are text or not."""
    return values.view(pa.large_string() if pa.types.is_large_binary(values.type) else pa.string())


def never_null(array: pa.Array) -> bool:
    """Return whether fields that are never null have no nulls beneath null rows: Parquet's writer refuses them."""
    if not pa.types.is_struct(array.type):
        return True
    parts = [(field, array.field(number)) for number, field in enumerate(array.type)]
    return all((field.nullable or not part.null_count) and never_null(part) for field, part in parts)


def layouts(example: Example) -> dict[str, pa.Array]:
    """Return the payloads, a null among them, in every layout of Arrow that holds them."""
    payloads = [*example.payloads[:1], None, *example.payloads[1:]]
    small, large, view = (
        (pa.string(), pa.large_string(), pa.string_view())
        if example.is_text
        else (pa.binary(), pa.large_binary(), pa.binary_view())
    )
    other = "?" if example.is_text else b"?"
    values = example.column(payloads)
    found = {
        "small": values,
        "large": pa.array(payloads, large),
        "view": pa.array(payloads, view),
        "slice": pa.array([other, *payloads, other], small).slice(1, len(payloads)),
        "large slice": pa.array([other, *payloads, other], large).slice(1, len(payloads)),
        "slice of a view": pa.array([other, *payloads, other * 40], view).slice(1, len(payloads)),
        "dictionary": values.dictionary_encode(),
    }
    if example.as_text:
        found["text"] = text_of(values)
        found["large text"] = text_of(found["large"])
        found["slice of text"] = text_of(found["slice"])
        found["view of text"] = found["view"].view(pa.string_view())
    return found


class Contract:
    """What every codec must pass. A subclass has the fixtures `impl` and `example`."""

    def test_rows_there_and_back(self, impl, example):
        codec = example.make()
        array = codec.decode(example.column(example.payloads))
        array.validate(full=True)
        assert array.type == codec.arrow_type
        assert array.to_pylist() == example.rows
        values = codec.encode(array)
        values.validate(full=True)
        assert values.to_pylist() == example.payloads
        assert codec.encode(pa.array(example.rows, codec.arrow_type)).equals(values)

    def test_nulls_both_ways(self, impl, example):
        codec = example.make()
        nulls = codec.decode(example.column([None, None]))
        nulls.validate(full=True)
        assert (nulls.type, nulls.to_pylist()) == (codec.arrow_type, [None, None])
        assert codec.decode(pa.nulls(2)).equals(nulls)
        assert never_null(nulls)
        written = codec.encode(nulls)
        assert written.to_pylist() == [None, None]
        array = codec.decode(example.column([None, *example.payloads, None]))
        assert array.to_pylist() == [None, *example.rows, None]
        assert codec.encode(array).to_pylist() == [None, *example.payloads, None]
        assert codec.encode(array).type == written.type

    def test_no_rows(self, impl, example):
        codec = example.make()
        whole = codec.decode(example.column(example.payloads))
        kind = codec.encode(whole).type
        for empty in ([], pa.array([], kind), pa.array(example.payloads, kind).slice(0, 0)):
            decoded, report = codec.decode(empty, errors="report")
            decoded.validate(full=True)
            assert (decoded.type, len(decoded), report.num_rows) == (codec.arrow_type, 0, 0)
        for empty in (whole.slice(len(whole)), pa.array([], codec.arrow_type)):
            encoded = codec.encode(empty)
            encoded.validate(full=True)
            assert (encoded.type, len(encoded)) == (kind, 0)
        assert codec.decode(pa.chunked_array([], kind)).type == codec.arrow_type
        assert codec.encode(pa.chunked_array([], codec.arrow_type)).type == kind

    def test_chunks(self, impl, example):
        codec = example.make()
        array = codec.decode(example.column(example.payloads))
        kind = codec.encode(array).type
        payloads = pa.array([*example.payloads, None, *example.payloads], kind)
        cuts = [0, 1, 1, 3, len(payloads)]
        chunks = pa.chunked_array([payloads[begin:end] for begin, end in pairwise(cuts)], kind)
        decoded = codec.decode(chunks)
        decoded.validate(full=True)
        assert isinstance(decoded, pa.ChunkedArray)
        assert decoded.type == codec.arrow_type
        assert decoded.to_pylist() == codec.decode(payloads).to_pylist()
        assert [len(chunk) for chunk in decoded.chunks] == [len(chunk) for chunk in chunks.chunks]
        encoded = codec.encode(decoded)
        assert isinstance(encoded, pa.ChunkedArray)
        assert encoded.equals(chunks)
        assert [len(chunk) for chunk in encoded.chunks] == [len(chunk) for chunk in chunks.chunks]

    def test_every_layout(self, impl, example):
        codec = example.make()
        rows = [*example.rows[:1], None, *example.rows[1:]]
        for name, values in layouts(example).items():
            decoded = codec.decode(values)
            decoded.validate(full=True)
            assert decoded.to_pylist() == rows, name
            assert codec.decode(values.slice(1)).to_pylist() == rows[1:], name

    def test_single_values_are_those_of_columns(self, impl, example):
        codec = example.make()
        if not isinstance(codec, Codec) or isinstance(codec, MessageCodec):
            # Messages and serdes have objects of their own, and tests of these.
            return
        payloads = [*example.payloads, None]
        assert codec.decode_list(payloads) == [*example.rows, None]
        assert [codec.decode_one(payload) for payload in payloads] == [*example.rows, None]
        assert codec.decode_list(example.column(payloads)) == [*example.rows, None]
        assert codec.encode_list([*example.rows, None]) == payloads
        assert [codec.encode_one(row) for row in [*example.rows, None]] == payloads

    def test_faults_of_single_values_are_those_of_columns(self, impl, example):
        codec = example.make()
        if not isinstance(codec, Codec):
            return
        damaged = [None, *(payload[:-1] for payload in example.payloads), *example.payloads]
        column, expected = codec.decode(damaged, errors="report")
        objects, report = codec.decode_list(damaged, errors="report")
        assert report.equals(expected)
        assert objects == column.to_pylist() == codec.decode_list(damaged, errors="null")
        for fault in expected.to_pylist():
            with pytest.raises(DecodeError) as caught:
                codec.decode_one(damaged[fault["row"]])
            assert [getattr(caught.value, name) for name in ("offset", "code", "path", "reason")] == [
                fault[name] for name in ("offset", "code", "path", "reason")
            ]

    def test_slices_of_what_is_written(self, impl, example):
        codec = example.make()
        payloads = [*example.payloads, None, *example.payloads]
        array = codec.decode(example.column(payloads))
        for begin in range(len(payloads)):
            assert codec.encode(array.slice(begin, 3)).to_pylist() == payloads[begin : begin + 3]
        around = pa.concat_arrays([array, array]).slice(1, len(array))
        assert codec.encode(around).to_pylist() == [*payloads[1:], *payloads[:1]]

    def test_other_layouts_of_what_is_written(self, impl, example):
        """Columns of text are dictionaries, runs or views, beside others that are never null but in rows that are."""
        codec = example.make()
        payloads = [None, *example.payloads]
        array = codec.decode(example.column(payloads))
        if not pa.types.is_struct(array.type):
            return
        for laid in (
            pc.dictionary_encode,
            pc.run_end_encode,
            lambda part: part.cast(pa.string_view()),
            lambda part: part.cast(pa.large_string()),
        ):
            parts = [laid(part) if part.type == pa.string() else part for part in array.flatten()]
            fields = [field.with_type(part.type) for field, part in zip(array.type, parts, strict=True)]
            laid_out = pa.StructArray.from_arrays(parts, fields=fields, mask=array.is_null())
            assert codec.encode(laid_out).to_pylist() == payloads

    def test_errors_of_decode(self, impl, example):
        if example.bad is None:
            return
        codec = example.make()
        good = example.payloads[0]
        kind = example.column([]).type
        chunks = [[good, example.bad, None], [], [good, good], [example.bad]]
        values = pa.chunked_array(chunks, kind)
        with pytest.raises(DecodeError) as caught:
            codec.decode(values)
        assert (caught.value.row, caught.value.code) == (1, example.code)
        rows = [example.rows[0], None, None, example.rows[0], example.rows[0], None]
        assert codec.decode(values, errors="null").to_pylist() == rows
        decoded, report = codec.decode(values, errors="report")
        decoded.validate(full=True)
        assert decoded.to_pylist() == rows
        assert all(map(never_null, [*decoded.chunks, codec.decode([example.bad], errors="null")]))
        assert report.schema == REPORT
        assert (report["row"].to_pylist(), report["code"].to_pylist()) == ([1, 5], [example.code] * 2)
        offset, path = caught.value.offset, caught.value.path
        assert (report["offset"].to_pylist(), report["path"].to_pylist()) == ([offset] * 2, [path] * 2)
        # The numbers of rows count from where a slice begins.
        assert codec.decode(values.slice(1), errors="report")[1]["row"].to_pylist() == [0, 4]

    def test_errors_of_encode(self, impl, example):
        if example.unwritable is None:
            return
        codec = example.make()
        bad = example.unwritable
        # Of the same type as the row that is not written.
        good = bad.slice(0, 0)
        chunked = pa.chunked_array([pa.concat_arrays([pa.nulls(2, bad.type), bad]), good, bad])
        with pytest.raises(EncodeError) as caught:
            codec.encode(chunked)
        assert caught.value.row == 2
        assert caught.value.code in CODES
        assert codec.encode(chunked, errors="null").to_pylist() == [None] * 4
        encoded, report = codec.encode(chunked, errors="report")
        encoded.validate(full=True)
        assert encoded.to_pylist() == [None] * 4
        assert report.schema == REPORT
        assert (report["row"].to_pylist(), report["code"].to_pylist()) == ([2, 3], [caught.value.code] * 2)
        assert report["offset"].to_pylist() == [None, None]

    def test_unknown_errors(self, impl, example):
        codec = example.make()
        for errors in ("ignore", "RAISE", "", None, 1):
            for call in (codec.decode, codec.encode):
                with pytest.raises(ConfigError, match=f"errors={errors!r} is not one of {', '.join(ERRORS)}"):
                    call(pa.nulls(1), errors=errors)

    def test_what_is_not_a_column(self, impl, example):
        codec = example.make()
        for values in (5, "text", object()):
            with pytest.raises(TypeError):
                codec.decode(values)

    @pytest.mark.sampled(2)
    def test_threads_share_a_codec(self, impl, example):
        payloads = example.column([*example.payloads, example.bad, None] * (200 if impl == "native" else 10))
        expected, faults = example.make().decode(payloads, errors="report")
        values = example.make().encode(expected)
        # A codec of its own, whose program is first needed by all of them at once.
        codec = example.make()
        step = len(payloads) // THREADS

        def work(number):
            column, report = codec.decode(payloads, errors="report")
            part = codec.decode(payloads.slice(number * step, step), errors="null")
            first = None
            try:
                codec.decode(payloads)
            except DecodeError as error:
                first = error.args
            return (
                column,
                report,
                part.equals(expected.slice(number * step, step)),
                first,
                codec.encode(column),
            )

        results = at_once(work)
        assert len({first for *_, first, _ in results}) == 1
        for column, report, parts_equal, _, encoded in results:
            assert column.equals(expected)
            assert report.equals(faults)
            assert parts_equal
            assert encoded.equals(values)

    @pytest.mark.parametrize("chunks", [False, True], ids=["array", "chunks"])
    def test_rows_are_shared_among_threads(self, impl, example, chunks, monkeypatch):
        monkeypatch.setattr(pa, "cpu_count", lambda: 3)
        monkeypatch.setattr("kcodec.codec._MIN_ROWS", 4)
        monkeypatch.setattr("kcodec.codec._MAX_ROWS", 8)
        rows = [*example.payloads, None] * 9
        if example.bad is not None:
            rows[5] = rows[17] = rows[-1] = example.bad
        values = example.column(rows)
        given = pa.chunked_array([values[:1], values[1:1], values[1:]]) if chunks else values
        codec = example.make()
        expected, faults = codec.decode(values, errors="report")
        decoded, report = codec.decode(given, errors="report", use_threads=True)
        assert isinstance(decoded, pa.ChunkedArray)
        decoded.validate(full=True)
        assert decoded.num_chunks >= 3
        assert decoded.combine_chunks().equals(expected)
        assert report.equals(faults)
        assert codec.decode(given, errors="null", use_threads=True).equals(decoded)
        if example.bad is not None:
            with pytest.raises(DecodeError) as alone:
                codec.decode(given)
            with pytest.raises(DecodeError) as shared:
                codec.decode(given, use_threads=True)
            assert shared.value.args == alone.value.args
        encoded = codec.encode(decoded if chunks else expected, use_threads=True)
        assert isinstance(encoded, pa.ChunkedArray)
        encoded.validate(full=True)
        assert encoded.combine_chunks().equals(codec.encode(expected))

    def test_errors_of_encode_on_threads(self, impl, example, monkeypatch):
        if example.unwritable is None:
            return
        monkeypatch.setattr(pa, "cpu_count", lambda: 3)
        monkeypatch.setattr("kcodec.codec._MIN_ROWS", 2)
        bad = example.unwritable
        array = pa.concat_arrays([pa.nulls(3, bad.type), bad, pa.nulls(6, bad.type), bad, bad])
        codec = example.make()
        expected, faults = codec.encode(array, errors="report")
        encoded, report = codec.encode(array, errors="report", use_threads=True)
        assert encoded.combine_chunks().equals(expected)
        assert report.equals(faults)
        with pytest.raises(EncodeError) as caught:
            codec.encode(array, use_threads=True)
        assert caught.value.row == 3

    def test_lists(self, impl, example, monkeypatch):
        codec = example.make()
        rows = [*example.payloads, None, *example.payloads]
        array = codec.decode(example.column(rows))
        if not example.is_text:
            assert codec.decode(rows).equals(array)
            assert codec.decode(tuple(rows)).equals(array)
        assert codec.encode(array, as_list=True) == rows
        assert codec.encode(pa.chunked_array([array[:1], array[1:]]), as_list=True) == rows
        listed, report = codec.encode(array.slice(1), errors="report", as_list=True)
        assert (listed, report.num_rows) == (rows[1:], 0)
        monkeypatch.setattr("kcodec.codec._MIN_ROWS", 1)
        assert codec.encode(array, as_list=True, use_threads=True) == rows
        assert codec.encode(array.slice(len(array)), as_list=True) == []

    def test_what_is_handed_out_is_given_back(self, impl, example):
        codec = example.make()
        values = example.column([*example.payloads, None] * 50)
        left = []
        # The first time, what earlier tests left is freed, and what is kept for ever is made.
        for _ in range(3):
            array = codec.decode(values)
            encoded = codec.encode(array)
            assert encoded.to_pylist() == values.to_pylist()
            del array, encoded
            gc.collect()
            release_unused()
            left.append(pa.total_allocated_bytes())
        assert left[1] == left[2]

    def test_truncated_and_mutated_payloads(self, example):
        """Both implementations give the same values, or the same errors, for the same rows."""
        found = [None]
        for payload in example.payloads:
            data = payload.encode() if isinstance(payload, str) else payload
            found += [data[:end] for end in range(len(data))]
            for at, byte in enumerate(data):
                found += [
                    data[:at] + bytes([other]) + data[at + 1 :]
                    for other in (byte ^ 0xFF, byte ^ 1, 0x22, 0x80)
                ]
        same_answers(example, found)

    @settings(max_examples=tries(30))
    @given(data=st.data())
    def test_damaged_payloads(self, example, data):
        same_answers(example, data.draw(st.lists(st.none() | payloads_of(example), max_size=6)))

    @settings(max_examples=tries(8))
    @given(data=st.data())
    def test_calls_leave_later_ones_as_they_are(self, example, data):
        """A codec that was used gives what a new one does, and what it gave stays."""
        used = example.make()
        rows = st.lists(st.none() | payloads_of(example), max_size=4)
        calls = st.tuples(rows, st.sampled_from([0, 1, 70, 700]), st.integers(0, 3))
        given_out = []
        for payloads, times, first in data.draw(st.lists(calls, min_size=2, max_size=6)):
            values = payload_column(example, payloads * times).slice(first)
            found, expected = (
                (codec, codec.decode(values, errors="report")) for codec in (used, example.make())
            )
            assert answer(*found[1]) == answer(*expected[1])
            parts = [codec.encode(decoded, errors="report") for codec, (decoded, _) in (found, expected)]
            assert answer(*parts[0]) == answer(*parts[1])
            given_out += [(part, comparable(part)) for part in (found[1][0], parts[0][0])]
        assert all(comparable(part) == before for part, before in given_out)


def payloads_of(example: Example) -> st.SearchStrategy[bytes]:
    """Draw bytes that are like payloads, or are payloads."""
    if not example.payloads:
        return st.binary(max_size=30)
    good = [each.encode() if isinstance(each, str) else each for each in example.payloads]
    return st.sampled_from(good).flatmap(damaged)


def payload_column(example: Example, payloads: list[bytes | None]) -> pa.Array:
    """Make a column of bytes, which are text where payloads are."""
    if example.is_text:
        payloads = [None if each is None else each.decode("utf-8", "replace") for each in payloads]
    return example.column(payloads)


def same_answers(example: Example, payloads: list[bytes | None]) -> None:
    """Decode payloads with both implementations, and encode what is left of them."""
    codec = example.make()
    values = payload_column(example, payloads)
    on_both(lambda: answer(*codec.decode(values, errors="report")))
    array = codec.decode(values, errors="null")
    on_both(lambda: [part.to_pylist() for part in codec.encode(array, errors="report")])


class Identity:
    """What makes a codec a value. A subclass has the fixtures `impl` and `example`."""

    def test_pickles_compares_and_prints(self, impl, example):
        codec = example.make()
        fresh = pickle.loads(pickle.dumps(codec))
        codec.encode(codec.decode(example.column(example.payloads)))
        used = pickle.loads(pickle.dumps(codec))
        for copy in (fresh, used, example.make()):
            assert copy == codec
            assert hash(copy) == hash(codec)
            assert repr(copy) == repr(codec)
            assert copy.arrow_type == codec.arrow_type
            assert copy.decode(example.column(example.payloads)).to_pylist() == example.rows
        other = example.other()
        assert (codec == other, codec != other) == (False, True)
        assert repr(other) != repr(codec)
        assert pickle.loads(pickle.dumps(other)) == other
        assert codec != repr(codec)
        assert repr(codec).startswith(f"{type(codec).__name__}(")

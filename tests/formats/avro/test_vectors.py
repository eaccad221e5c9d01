"""Every line of the vectors made by Avro Java 1.12.1: what is decoded, resolved, refused and written."""

from collections import Counter

import pyarrow as pa
import pytest
from avro_values import Refused, of_vector
from side_by_side import comparable
from vector_files import read_vectors

from kcodec.errors import CODES, SchemaError
from kcodec.formats.avro.codec import AvroCodec
from kcodec.formats.avro.schema.parse import parse
from kcodec.formats.avro.schema.types import AvroOptions

LINES = read_vectors("avro_vectors.jsonl.gz")
OPTIONS = AvroOptions(wide_decimals="string")

# Rules are those of the notes on Avro Java, ``reference/avro.md``.

#: Lines with values that Avro Java hands out and kcodec refuses. Java checks neither precision (rule 13) nor
#: times of day, and a timestamp in microseconds has no room for all milliseconds.
REFUSED_VALUES = {
    "decode/decimal/over-precision-38": {"decimal_precision"},
    "decode/decimal/over-precision-39": {"decimal_precision"},
    "decode/logical/extreme-local-timestamp-millis": {"out_of_range"},
    "decode/logical/extreme-time-micros": {"out_of_range"},
    "decode/logical/extreme-timestamp-millis": {"out_of_range"},
}

#: The same for resolved values: bytes read as text must be UTF-8 (11), decimals have their precision (13).
REFUSED_RESOLVED = {
    "resolve/logical/bytes-to-decimal": {"decimal_precision"},
    "resolve/logical/string-to-decimal": {"decimal_precision"},
    "resolve/promo-array/bytes-string": {"invalid_utf8"},
    "resolve/promo-exact/bytes-string": {"invalid_utf8"},
    "resolve/promo-from-nullable/bytes-string": {"invalid_utf8"},
    "resolve/promo-map/bytes-string": {"invalid_utf8"},
    "resolve/promo-nullable/bytes-string": {"invalid_utf8"},
    "resolve/promo-root/bytes-string": {"invalid_utf8"},
    "resolve/promo-to-nullable/bytes-string": {"invalid_utf8"},
    "resolve/union/bytes-to-string": {"invalid_utf8"},
}

#: A union's default takes the branch that holds it exactly (9): Java makes 1.5 an int of 1, 2**32 one of 0.
OTHER_VALUES = {
    "resolve/default/union-int-double": {"member0": None, "member1": "3ff8000000000000"},
    "resolve/default/union-int-long-big": 1 << 32,
}

#: A fixed's default must have its size (10): Java pads or cuts it.
REFUSED_PAIRS = {
    "resolve/default/fixed-long": "default of n: 4 bytes for a fixed of 3",
    "resolve/default/fixed-short": "default of n: 1 bytes for a fixed of 3",
}

#: Damage that Avro Java reads over and kcodec refuses, by the code of its fault.
DIFFERENT_VERDICTS = {
    # Rule 12: bits beyond the type.
    "varint_overflow": {
        "malformed/varint/int-ffffffff1f",
        "malformed/varint/int-8080808010",
        "malformed/varint/int-8080808020",
        "malformed/varint/long-ffffffffffffffffff02",
        "malformed/varint/long-ffffffffffffffffff7f",
        "malformed/varint/long-80808080808080808002",
        "malformed/varint/enum-index-2-to-32",
        "malformed/varint/union-index-2-to-32",
        "malformed/varint/date-2-to-31",
    },
    # Rule 13: Java reads the bytes, and fails to make a number of them.
    "empty_decimal": {
        "malformed/length/decimal-empty",
        "malformed/length/decimal-empty-field",
    },
    # Rule 13.
    "invalid_boolean": {
        "malformed/boolean/7f",
    },
    # Rule 13.
    "invalid_utf8": {
        "malformed/utf8/overlong-nul",
        "malformed/utf8/overlong-slash",
        "malformed/utf8/overlong-c1",
        "malformed/utf8/surrogate-high",
        "malformed/utf8/truncated-2",
        "malformed/utf8/truncated-3",
        "malformed/utf8/lone-continuation",
        "malformed/utf8/two-continuations",
        "malformed/utf8/five-bytes",
        "malformed/utf8/six-bytes",
        "malformed/utf8/latin1",
        "malformed/utf8/good-bad-good",
        "malformed/utf8/long-then-bad",
        "malformed/utf8/two-bad-map-keys",
        "malformed/utf8/in-array",
        "malformed/utf8/uuid",
    },
    # Rule 14: Long.MIN.
    "block_count": {
        "malformed/block/array-int--9223372036854775808",
        "malformed/block/map-int--9223372036854775808",
        "malformed/block/array-null--9223372036854775808",
        "malformed/block/first-long-min-then-more",
    },
    # Rule 14.
    "block_size": {
        "malformed/block/size-long-max",
    },
    # Rule 15: a length is checked also where the value is dropped.
    "negative_length": {
        "malformed/skip/string-negative",
        "malformed/skip/bytes-negative",
        "malformed/skip/bytes-long-min",
        "malformed/skip/map-key-negative",
    },
    # a time of day.
    "out_of_range": {
        "malformed/other/time-micros-a-day",
    },
}


def lines(kind):
    return [line for line in LINES if line["kind"] == kind]


def test_no_kind_is_left_out():
    assert Counter(line["kind"] for line in LINES) == {
        "decode": 242,
        "decode_recursive": 13,
        "resolve": 284,
        "malformed": 211,
    }


def outcomes(schema, kind, values, options=OPTIONS):
    """Return what each row is expected to be: (value, None) or (None, code)."""
    result = []
    for value in values:
        try:
            result.append((of_vector(schema, value, kind, options), None))
        except Refused as refused:
            result.append((None, str(refused)))
    return result


def decode(codec, rows):
    payloads = [bytes.fromhex(row) for row in rows]
    array, report = codec.decode(pa.array(payloads, pa.binary()), errors="report")
    array.validate(full=True)
    codes = {fault["row"]: fault["code"] for fault in report.to_pylist()}
    return array, [(value, codes.get(i)) for i, value in enumerate(comparable(array))]


def test_decode(impl):
    refused = {}
    for line in lines("decode"):
        codec = AvroCodec(line["schema"], wide_decimals="string")
        expected = outcomes(parse(line["schema"]), codec.arrow_type, line["values"])
        array, found = decode(codec, line["rows"])
        assert found == expected, line["id"]
        codes = {code for _, code in expected if code}
        if codes:
            refused[line["id"]] = codes
        if line["canonical"]:
            good = [i for i, (_, code) in enumerate(expected) if code is None]
            written = codec.encode(array.take(pa.array(good, pa.int64())))
            written.validate(full=True)
            found = [None if row is None else row.hex() for row in written.to_pylist()]
            # A row that is null stays a null row: it is not written as a null of the schema.
            rows = [None if expected[i][0] is None else line["rows"][i] for i in good]
            assert found == rows, line["id"]
    assert refused == REFUSED_VALUES


def test_decode_recursive(impl):
    for line in lines("decode_recursive"):
        with pytest.raises(SchemaError, match="contains itself"):
            AvroCodec(line["schema"])
        schema = parse(line["schema"])
        for depth in (1, 2, 12):
            options = AvroOptions(recursive_depth=depth)
            codec = AvroCodec(line["schema"], recursive_depth=depth)
            expected = outcomes(schema, codec.arrow_type, line["values"], options)
            array, found = decode(codec, line["rows"])
            assert found == expected, (line["id"], depth)
        if line["canonical"] and line["id"] != "decode_recursive/list-long":  # which is deeper than 12
            written = [None if row is None else row.hex() for row in codec.encode(array).to_pylist()]
            assert written == [
                row if value is not None else None
                for row, (value, _) in zip(line["rows"], found, strict=True)
            ], line["id"]


def test_resolve(impl):
    refused, other, pairs, failed = {}, {}, {}, Counter()
    for line in lines("resolve"):
        depth = 12 if "/recursive" in line["id"] else None
        try:
            # What Java makes of a logical type that the reader's schema changes.
            how = {"recursive_depth": depth, "wide_decimals": "string", "compat": "avro"}
            codec = AvroCodec(line["writer"], line["reader"], **how)
        except SchemaError as error:
            if "error" in line:
                failed[line["stage"]] += 1
            else:
                pairs[line["id"]] = str(error)
            continue
        if "error" in line or line["id"] in REFUSED_PAIRS:
            # A wrong default costs the rows that need it.
            rows = [bytes.fromhex(row) for row in line["rows"]] or [b""]
            _, report = codec.decode(rows, errors="report")
            assert report["code"].to_pylist() == ["unresolvable"] * len(rows), line["id"]
            if "error" in line:
                failed[f"{line['stage']}, for rows"] += 1
            else:
                pairs[line["id"]] = report["reason"][0].as_py().partition("wrong: ")[2]
            continue
        options = AvroOptions(wide_decimals="string", recursive_depth=depth)
        expected = outcomes(parse(line["reader"]), codec.arrow_type, line["values"], options)
        _, found = decode(codec, line["rows"])
        if found != expected and line["id"] in OTHER_VALUES:
            other[line["id"]] = found[0][0]["n"]
            continue
        assert found == expected, line["id"]
        codes = {code for _, code in expected if code and code != "unresolvable"}
        if codes:
            refused[line["id"]] = codes
    assert refused == REFUSED_RESOLVED
    assert other == OTHER_VALUES
    assert pairs == REFUSED_PAIRS
    assert failed == {"parse-reader, for rows": 12, "resolver": 2}


def test_malformed(impl):
    verdicts = Counter()
    different: dict[str, set[str]] = {}
    for line in lines("malformed"):
        schema, reader = line["schema"], line.get("reader", line["schema"])
        depth = 3 if "contains itself" in refusal(reader) else None
        codec = AvroCodec(schema, reader, recursive_depth=depth)
        row = bytes.fromhex(line["row"])
        _, report = codec.decode([row], errors="report")
        code = report["code"][0].as_py() if report.num_rows else None
        if code:
            assert code in CODES
            assert 0 <= report["offset"][0].as_py() <= len(row), line["id"]
        java = line["java"]
        if isinstance(java, dict) and "error" in java:
            verdicts["both refuse"] += 1
            assert code, line["id"]
            continue
        if code == "trailing_bytes" and line["trailing"]:
            codec = AvroCodec(schema, reader, trailing=True)
            verdicts["trailing bytes"] += 1
        elif code:
            different.setdefault(code, set()).add(line["id"])
            verdicts["only kcodec refuses"] += 1
            continue
        else:
            verdicts["both accept"] += 1
        expected = outcomes(parse(reader), codec.arrow_type, [java])
        assert decode(codec, [line["row"]])[1] == expected, line["id"]
    assert different == DIFFERENT_VERDICTS
    assert verdicts == {
        "both refuse": 139,
        "only kcodec refuses": 38,
        "both accept": 22,
        "trailing bytes": 12,
    }


def refusal(schema):
    try:
        AvroCodec(schema)
    except SchemaError as error:
        return str(error)
    return ""

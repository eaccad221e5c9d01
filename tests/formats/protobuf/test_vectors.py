"""Columns against protobuf-java: every shared row, decoded and encoded again, on both implementations."""

from cases import cases
from protobuf_values import column_value, same
from protobuf_vectors import ROWS, SCHEMAS, is_stricter, items

from kcodec import ProtobufCodec

#: Unknown numbers of a closed enum in a map: the answer of generated classes, as docs/protobuf.md says.
GENERATED = ("map-unknown", "map-known-then-unknown", "closed-open")
#: Messages nested as deep as may be: only the columns of this chain.
CHAINS = {
    "k.recursive2.M": [*["g", "m"] * 51, "v"],
    "k.recursive3.M": [*["left"] * 101, "v"],
    "depth-map": [*["named"] * 52, "v"],
}


def codec_of(row, cache={}):  # noqa: B006
    key = row["message"]
    fields = None
    if "/depth-" in row["id"] and key in CHAINS:
        chain = CHAINS["depth-map" if "/depth-map" in row["id"] else key]
        fields = (".".join(chain),)
    if (key, fields) not in cache:
        cache[key, fields] = ProtobufCodec(
            SCHEMAS[row["schema"]],
            key,
            recursive_depth=103 if fields else 4,
            fields=fields,
            unknown_fields="keep",
            unsigned="native",
            well_known=(),
        )
    return cache[key, fields]


def wanted(row):
    return row.get("generated", row["value"]) if row["id"].endswith(GENERATED) else row["value"]


@cases("row", ROWS, ids=lambda row: row["id"])
def test_row(impl, row):
    codec = codec_of(row)
    value = wanted(row)
    array, faults = codec.decode([bytes.fromhex(row["row"])], errors="report")
    array.validate(full=True)
    if "error" in value or is_stricter(row):
        assert faults.num_rows == 1
        return
    assert faults.num_rows == 0
    found = array.to_pylist()[0]
    if row["schema"] == "message_set2":
        # The column has items of a message set as they stand on the wire.
        found["set"]["_unknown_fields"] = items(found["set"]["_unknown_fields"])
    assert same(found, column_value(value, codec.arrow_type))
    encoded = row["row"] if row.get("canonical") else row.get("encoded")
    if encoded is not None and codec._arguments["fields"] is None and row["schema"] != "recursive3":
        assert codec.encode(array)[0].as_py().hex() == encoded


def test_counts():
    assert sum(row["kind"] == "decode" for row in ROWS) == 205
    assert sum(row["kind"] == "malformed" for row in ROWS) == 183
    assert sum(map(is_stricter, ROWS)) == 9

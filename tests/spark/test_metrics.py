"""Arguments of the columns of an observation; what they count is tested with a broker."""

import uuid

import pyarrow as pa
import pytest

from kcodec import ConfigError
from kcodec.frames import FRAMES, GLUE, Frame, key_text
from kcodec_spark import metrics, schema_id


def test_a_value_that_is_no_column(spark):
    for call in (lambda: metrics(3), lambda: metrics("value", 3), lambda: schema_id(None)):
        with pytest.raises(TypeError, match="a Column or the name of one, not"):
            call()


#: Ids that frames have, of which those of 8 bytes may be below 0.
IDS = {4: [0, 7, 2**31, 2**32 - 1], 8: [0, 1 << 40, 2**63 - 1, -1, -(2**63)]}
GUID = uuid.UUID("01234567-89ab-cdef-fedc-ba9876543210")
OTHERS = (
    Frame(b"K"),
    Frame(b"", 8),
    Frame(b"\xca\xfe\0", 8, compression="zlib"),
    Frame(b"K", 8, "bytes"),
    Frame(b"", 16, "bytes", "none"),
)


def ids_of(frame):
    if not frame.has_text_ids:
        return IDS[frame.id_size]
    return [GUID.bytes[: frame.id_size], bytes(frame.id_size)]


def test_ids_of_each_frame(spark):
    """As error reports have them; null where a value begins otherwise, or ends in its frame."""
    frames = [*(each for each in FRAMES.values() if each.id_size and not each.header), *OTHERS]
    for frame in frames:
        heads = [frame.written(key) for key in ids_of(frame)]
        wanted = [key_text(key) for key in ids_of(frame)]
        others = [heads[0][:-1], b"", None]
        if frame.compression:
            at = len(frame.prefix)
            heads.append(heads[0][:at] + b"\5" + heads[0][at + 1 :])
            wanted.append(wanted[0])
            others.append(heads[0][:at] + b"\1" + heads[0][at + 1 :])
        if frame.prefix:
            others.append(b"\xff" + heads[0][1:])
        rows = [(at, each) for at, each in enumerate([*heads, *others, heads[0] + b"payload"])]
        table = spark.createDataFrame(pa.table({"at": [at for at, _ in rows], "value": [v for _, v in rows]}))
        found = table.select("at", schema_id("value", frame=frame).alias("id")).orderBy("at").collect()
        assert [row.id for row in found] == [*wanted, *[None] * len(others), wanted[0]], frame


def test_metrics_of_a_frame(spark):
    values = [GLUE.written(bytes([each % 3] * 16)) for each in range(9)]
    table = spark.createDataFrame(pa.table({"value": [*values, None, b"\0\0\0\0\7x"]}))
    counts = table.select(*metrics("value", frame="glue")).first().asDict()
    assert counts == {"rows": 11, "tombstones": 1, "schema_ids": 3}


@pytest.mark.parametrize("frame", ["AZURE", "CONFLUENT_HEADER", "NONE", Frame(b"", 0)], ids=str)
def test_frames_that_are_in_no_column(frame):
    for call in (schema_id, lambda data, frame: metrics(data, frame=frame)):
        with pytest.raises(ConfigError, match="values do not begin with an id by"):
            call("value", frame=frame)
    with pytest.raises(ConfigError, match="did you mean 'GLUE'"):
        schema_id("value", frame="GLUEE")

"""What is said of rows that fail because they are framed otherwise than they are read, or are no messages at all."""

from collections.abc import Sequence

import pyarrow as pa

from kcodec.columns.faults import Faults
from kcodec.columns.framed.frames import framed_rows
from kcodec.errors import Fault
from kcodec.frames import Frame

#: What rows begin like that are framed otherwise, by the names of the frames.
_LOOKS = {
    "CONFLUENT": "Confluent's frame",
    "GLUE": "Glue's header",
    "APICURIO": "Apicurio's frame",
    "SINGLE_OBJECT": "a single object of Avro's",
}
#: What rows begin like that are no messages, and what reads them.
_FILES = {
    "AVRO_FILE": "looks like a container file of Avro: fastavro.reader and polars.read_avro read that",
    "PARQUET": "looks like a Parquet file: pyarrow.parquet reads that",
    "GZIP": "looks compressed by gzip: decompress it first",
    "ZSTD": "looks compressed by zstd: decompress it first",
}
#: What rows look like that may be data to whoever reads no frame.
_TEXTS = {
    "JSON": "looks like JSON without a frame: kcodec.JsonCodec and kcodec.ConnectJsonCodec read that",
    "HEX": "looks like hexadecimal digits of a framed value: bytes.fromhex makes bytes of them",
    "BASE64": "looks like Base64 of a framed value: base64.b64decode makes bytes of it",
}
#: What is wrong with a row whose frame is another than is read.
_OF_FRAMES = ("frame_magic", "frame_truncated", "unknown_schema_id", "compression")


def name_other_frames(faults: Sequence[Fault], values: pa.Array, frame: Frame) -> Sequence[Fault]:
    """Return faults of a serde, with reasons that say so where a row begins like another frame, or like a file."""
    if not faults:
        return faults
    every = Faults.of(faults)
    found: dict[int, str] = {}
    for at, name, _ in framed_rows(values, every.rows):
        if name == frame.name:
            continue
        _, code, reason = every.way(at)
        if code in _OF_FRAMES:
            hint = _FILES.get(name) or _TEXTS.get(name) or f"looks like {_LOOKS[name]}: frame={name}"
            found[at] = f"{reason} ({hint})"
    return every.with_reasons(found)


def name_frames(faults: Sequence[Fault], values: pa.Array) -> Sequence[Fault]:
    """Return faults of decoding, with reasons that say so where a row looks framed, by a small id, or like a file."""
    if not faults:
        return faults
    every = Faults.of(faults)
    found: dict[int, str] = {}
    for at, name, key in framed_rows(values, every.rows):
        if name in _FILES:
            found[at] = f"{every.way(at)[2]} ({_FILES[name]})"
            continue
        if name in _TEXTS:
            continue
        hint = (
            f"looks framed: schema id {key!r}; kcodec.Serde reads that"
            if name == "CONFLUENT"
            else f"looks like {_LOOKS[name]}: kcodec.Serde with frame={name} reads that"
        )
        found[at] = f"{every.way(at)[2]} ({hint}, in Spark give subject and schemaRegistryAddress)"
    return every.with_reasons(found)

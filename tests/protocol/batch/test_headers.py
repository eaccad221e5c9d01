"""The list of batches."""

import io

import pyarrow as pa
import pytest

from kcodec import DecodeError
from kcodec.protocol.batch import headers, read
from kcodec.protocol.batch.compression import CODECS
from kcodec.protocol.batch.headers import list_batches
from kcodec.protocol.batch.write import write_batches

TABLE = pa.table({"offset": [10, 11, 15, 16], "value": [b"x" * 100, b"", None, b"twelve bytes"]})


@pytest.mark.parametrize("window", [1, 100, 1 << 20])
def test_lists_of_files(impl, window, tmp_path, monkeypatch):
    data = b"".join(write_batches(TABLE, compression=codec) for codec in CODECS * 3)
    data += write_batches(TABLE.select(["value"]), magic=1, compression="gzip")
    whole = list_batches(data)
    monkeypatch.setattr(headers, "_WINDOW", window)
    monkeypatch.setattr(read, "_WINDOW", window)
    path = tmp_path / "log"
    path.write_bytes(data)
    for source in (path, str(path), io.BytesIO(data), data):
        assert list_batches(source).equals(whole)
    assert whole["position"].to_pylist()[1:] == whole["size"].to_numpy().cumsum()[:-1].tolist()
    path.write_bytes(data + bytes(20) + b"1" * 20)
    with pytest.raises(DecodeError) as caught:
        list_batches(path)
    assert (caught.value.row, caught.value.offset) == (16, len(data) + 8)
    path.write_bytes(b"")
    assert list_batches(path).equals(whole[:0])

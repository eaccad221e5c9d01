"""Log segments: what is read of them, and from where."""

import os
import struct
import sys

import pyarrow.fs
import pytest
from partition_files import FIRST, data, name, offsets, write_segments

from kcodec import ConfigError, DecodeError
from kcodec.protocol import list_batches, read_batches, read_segment, stream_segment


@pytest.fixture
def folder(tmp_path):
    return write_segments(tmp_path)


def test_uncommitted(impl, folder):
    assert offsets(folder / name(0)) == [0, 1, 2, 3, 5, 7, 8, 11, 12, 13]
    assert offsets(folder / name(0), control="only") == [4, 6, 9, 10]
    assert read_segment(folder / name(0)).equals(read_batches(FIRST))


def test_checkpoints_and_passing_names(impl, tmp_path):
    for file in ("00000000000000000042-0000000003.checkpoint", "bootstrap.checkpoint", name(0) + ".deleted"):
        (tmp_path / file).write_bytes(data(5, count=3))
        assert offsets(tmp_path / file) == [5, 6, 7]
        assert offsets(tmp_path / file, isolation="read_committed") == [5, 6, 7]


@pytest.mark.skipif(sys.platform in ("darwin", "win32"), reason="names are text there")
def test_folders_whose_names_are_not_text(impl, tmp_path):
    folder = tmp_path / os.fsdecode(b"caf\xe9")
    folder.mkdir()
    write_segments(folder)
    assert offsets(folder / name(0), isolation="read_committed") == offsets(
        write_segments(tmp_path) / name(0), isolation="read_committed"
    )


def test_faults_are_reported(impl, tmp_path):
    good = data(0)
    (tmp_path / name(0)).write_bytes(good + good[:-1] + b"x" + data(2))
    table, faults = read_segment(tmp_path / name(0), errors="report")
    assert table.column("offset").to_pylist() == [0, 2]
    assert faults.select(["row", "code"]).to_pylist() == [{"row": 1, "code": "crc_mismatch"}]
    assert offsets(tmp_path / name(0), errors="skip") == [0, 2]
    with pytest.raises(DecodeError):
        read_segment(tmp_path / name(0))
    assert list_batches(tmp_path / name(0)).column("crc_valid").to_pylist() == [True, False, True]


def test_other_filesystems(impl, folder):
    filesystem = pyarrow.fs.SubTreeFileSystem(str(folder), pyarrow.fs.LocalFileSystem())
    for isolation in ("read_uncommitted", "read_committed"):
        there = read_segment(name(0), filesystem=filesystem, isolation=isolation)
        assert there.to_pylist() == read_segment(folder / name(0), isolation=isolation).to_pylist()
    (folder / name(0, "index")).write_bytes(struct.pack(">ii", 3, 99))
    assert read_segment(name(0, "index"), filesystem=filesystem).to_pylist() == [
        {"offset": 3, "position": 99}
    ]


def test_what_is_refused(tmp_path, folder):
    for call, match in [
        (lambda: read_segment("a.txt"), "is not one of .log, .checkpoint, .index"),
        (lambda: read_segment(folder), "is a folder: give the name of a file in it"),
        (lambda: read_segment(folder / name(0), filesystem="s3"), "filesystem='s3' is not a pyarrow.fs"),
        (lambda: read_segment(folder / name(0), isolation="serializable"), "not one of read_uncommitted"),
        (lambda: read_segment(folder / name(0, "index"), check_crc=False), "takes no option"),
        (lambda: read_segment(folder / name(0), control="x"), "control='x'"),
        (lambda: stream_segment(folder / name(0, "index")), "is not a log"),
        (lambda: stream_segment(folder / name(0), isolation="x"), "isolation='x'"),
        (lambda: stream_segment(folder / name(0), errors="report"), "not for streams"),
    ]:
        with pytest.raises(ConfigError, match=match):
            call()
    (tmp_path / "x.index").write_bytes(b"")
    with pytest.raises(ConfigError, match="does not start with an offset"):
        read_segment(tmp_path / "x.index")
    (tmp_path / name(3, "txnindex")).write_bytes(b"\0\1" + bytes(32))
    with pytest.raises(DecodeError, match="unsupported_version"):
        read_segment(tmp_path / name(3, "txnindex"))
    with pytest.raises(FileNotFoundError):
        read_segment(tmp_path / name(99))

"""``kcodec dump-log`` of files of every kind that are damaged: a verdict, never a crash, whatever the bytes."""

import random
import struct

import pytest
from partition_files import FIRST, entry, name

from kcodec.cli.main import main
from kcodec.wire import crc32c

LOG = name(0)


def snapshot() -> bytes:
    """Write the state of two producers as a broker does."""
    entries = b"".join(
        struct.pack(">qhiqiqiq", number, 0, 3, 7, 2, 1_700_000_000_000, 0, -1) for number in (1, 2)
    )
    body = struct.pack(">i", 2) + entries
    return struct.pack(">hI", 1, crc32c(body)) + body


FILES = {
    LOG: FIRST,
    name(0, "index"): struct.pack(">iiii", 1, 0, 5, 150),
    name(0, "timeindex"): struct.pack(">qiqi", 1, 1, 9, 5),
    name(0, "txnindex"): entry(2, 2, 6, 0) + entry(1, 7, 9, 7),
    name(20, "snapshot"): snapshot(),
}
FORMS = {
    "log": [
        ["--print-data-log", "--deep-iteration"],
        ["--format", "json", "--print-data-log"],
        ["--offsets-decoder"],
    ],
    "": [[], ["--format", "json"]],
}


def damages(content: bytes, seed: int) -> list[bytes]:
    """Cut, change and extend bytes, most often where numbers are."""
    rng = random.Random(seed)
    found = [content[:size] for size in range(min(len(content), 40))]
    found += [content[: rng.randrange(len(content) + 1)] for _ in range(10)]
    for place in range(0, len(content), max(1, len(content) // 40)):
        for value in (b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", b"\x80\0\0\0", b"\0\0\0\0"):
            found.append((content[:place] + value + content[place + 4 :])[: len(content)])
    for _ in range(20):
        changed = bytearray(content)
        for _ in range(rng.randrange(1, 6)):
            changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
        found.append(bytes(changed))
    return [*found, rng.randbytes(500), content + rng.randbytes(50), bytes(4096), content + bytes(4096)]


@pytest.mark.sampled(5)
@pytest.mark.parametrize("damaged", FILES)
def test_damage_is_told(damaged, impl, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for file, content in FILES.items():
        (tmp_path / file).write_bytes(content)
    kind = damaged.rpartition(".")[2]
    statuses = set()
    variants = damages(FILES[damaged], 7)
    for number, content in enumerate(variants if impl == "native" else variants[::5]):
        (tmp_path / damaged).write_bytes(content)
        forms = FORMS.get(kind, FORMS[""])
        # Indexes are compared with the log beside them.
        for file in (damaged, name(0, "index")) if kind == "log" and number % 3 == 0 else (damaged,):
            form = forms[number % len(forms)] if file == damaged else []
            status = main(["dump-log", file, *form])
            shown = capsys.readouterr()
            statuses.add(status)
            assert status in (0, 1, 2)
            assert bool(status) == bool(shown.err), (content, shown)
            assert "Traceback" not in shown.err
            assert len(shown.out) < 200_000
            assert all(len(line) < 2_000 for line in shown.err.splitlines())
    assert {0, 1} <= statuses

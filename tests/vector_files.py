"""The vectors of the reference implementations."""

import gzip
import json
from pathlib import Path

HERE = Path(__file__).parent


def read_vectors(name: str, folder: Path = HERE / "vectors") -> list[dict]:
    """Read a gzipped file of one JSON object a line; values hold U+2028, so only newlines separate lines."""
    with gzip.open(folder / name, "rt", encoding="utf-8", newline="\n") as file:
        return [json.loads(line) for line in file.read().split("\n") if line]

from typing import Any

def to_text(
    data: Any,
    offsets: Any,
    width: int,
    stride: int,
    rows: int,
    first: int,
    scale: int,
    plain: bool,
    precision: int,
    out: Any,
    out_offsets: Any,
) -> int: ...
def from_text(
    data: Any,
    offsets: Any,
    width: int,
    stride: int,
    rows: int,
    first: int,
    scale: int,
    precision: int,
    size: int,
    out: Any,
    out_offsets: Any,
) -> int: ...
def to_slots(
    data: Any,
    offsets: Any,
    width: int,
    stride: int,
    rows: int,
    precision: int,
    words: int,
    rescale: int,
    out: Any,
) -> None: ...
def from_slots(
    slots: Any, words: int, rows: int, rescale: int, size: int, out: Any, out_offsets: Any
) -> None: ...

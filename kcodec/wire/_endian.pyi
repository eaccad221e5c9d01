from typing import Any

def move(
    source: Any,
    offset: int,
    stride: int,
    target: Any,
    target_offset: int,
    target_stride: int,
    count: int,
    size: int,
    swap: bool,
) -> None: ...

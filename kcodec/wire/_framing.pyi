from typing import Any

from kcodec.frames import Layout

def split(
    data: Any,
    offsets: Any,
    width: int,
    stride: int,
    rows: int,
    first: int,
    valid: Any,
    ids: Any,
    starts: Any,
    guids: Any,
    levels: Any,
    level_ends: Any,
) -> int: ...
def join(
    data: Any,
    offsets: Any,
    width: int,
    stride: int,
    rows: int,
    valid: Any,
    keys: Any,
    key_size: int,
    one_key: bool,
    levels: Any,
    level_ends: Any,
    level_rows: int,
    out: Any,
    out_offsets: Any,
) -> None: ...
def split_heads(
    data: Any,
    offsets: Any,
    width: int,
    stride: int,
    rows: int,
    valid: Any,
    layout: Layout,
    keys: Any,
    starts: Any,
) -> None: ...
def join_heads(
    data: Any,
    offsets: Any,
    width: int,
    stride: int,
    rows: int,
    valid: Any,
    heads: Any,
    head_size: int,
    one_head: bool,
    out: Any,
    out_offsets: Any,
) -> None: ...

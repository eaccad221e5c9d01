from typing import Any

MAX_LEVELS: int

def split(
    data: Any, offsets: Any, width: int, stride: int, rows: int, valid: Any, ids: Any, starts: Any, guids: Any
) -> bool: ...
def indexes(
    data: Any,
    offsets: Any,
    width: int,
    stride: int,
    rows: int,
    first: int,
    valid: Any,
    starts: Any,
    values: Any,
    value_offsets: Any,
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
    index_data: Any,
    index_offsets: Any,
    index_rows: int,
    out: Any,
    out_offsets: Any,
) -> None: ...
def write_indexes(values: Any, offsets: Any, rows: int, out: Any, out_offsets: Any) -> int: ...

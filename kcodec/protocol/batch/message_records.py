"""Records inside of messages: those of a produce request or a fetch response, as rows."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from kcodec._lazy import compute as pc
from kcodec.columns.arrays.nested import multiples
from kcodec.columns.types.plain import is_bytes, is_list
from kcodec.errors import ConfigError, DecodeError, check_kind
from kcodec.protocol.batch.read import BatchOptions, read_batches
from kcodec.protocol.batch.schema import record_schema


def expand_records(messages: Any, path: str, *, keep: Sequence[str] = (), **options: Any) -> pa.Table:
    """Read the record batches that messages hold.

    Parameters
    ----------
    messages : pyarrow.StructArray or ChunkedArray
        As `MessageCodec.decode` returns them.
    path : str
        The field of type ``records``, with the arrays and structs that it is in, such as
        ``"responses.partitions.records"``.
    keep : sequence of str
        Other fields on the way there, which each record gets: paths such as ``"responses.topic"``.
    **options
        Of `kcodec.protocol.read_batches`, but for ``errors="report"``.

    Returns
    -------
    pyarrow.Table
        One row a record: ``row``, the number of its message; the fields in `keep`, named by their paths; and the
        columns of `kcodec.protocol.read_batches`.

    Raises
    ------
    DecodeError
        If a batch cannot be read and ``errors`` is ``"raise"``: ``row`` is that of the message, ``offset`` is
        where in its records.
    ConfigError
        If there is no such field, or an option is wrong.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from kcodec.protocol import MessageCodec, write_batches
    >>> codec = MessageCodec('''{"type": "data", "name": "Push", "validVersions": "0", "flexibleVersions": "none",
    ...   "fields": [{"name": "Parts", "type": "[]Part", "versions": "0+", "fields": [
    ...     {"name": "Index", "type": "int32", "versions": "0+"},
    ...     {"name": "Records", "type": "records", "versions": "0+", "nullableVersions": "0+"}]}]}''', 0)
    >>> batches = write_batches(pa.table({"value": [b"a", b"b"]}))
    >>> message = codec.encode_one({"parts": [{"index": 7, "records": batches}, {"index": 8, "records": None}]})
    >>> table = expand_records(codec.decode([message]), "parts.records", keep=["parts.index"])
    >>> table.select(["row", "parts.index", "offset", "value"]).to_pylist()
    [{'row': 0, 'parts.index': 7, 'offset': 0, 'value': b'a'}, {'row': 0, 'parts.index': 7, 'offset': 1, 'value': b'b'}]
    """
    BatchOptions.of(options).check()
    if options.get("errors") == "report":
        raise ConfigError('errors="report" is not one of raise, skip here')
    check_kind(pa.Array | pa.ChunkedArray, "an Arrow column", messages=messages)
    check_kind(str, "text", path=path)
    array = messages.combine_chunks() if isinstance(messages, pa.ChunkedArray) else messages
    beside: dict[str, pa.Array] = {"row": multiples(1, len(array), pa.int64())}
    steps = path.split(".")
    for depth, step in enumerate(steps):
        prefix = "".join(f"{each}." for each in steps[:depth])
        for name in keep:
            if name.rpartition(".")[0] == prefix[:-1]:
                beside[name] = _field(array, name.rpartition(".")[2], name)
        array = _field(array, step, prefix + step)
        if is_list(array.type):
            parents = pc.list_parent_indices(array)
            beside = {name: column.take(parents) for name, column in beside.items()}
            array = pc.list_flatten(array)
    missing = [name for name in keep if name not in beside]
    if missing:
        raise ConfigError(f"{missing[0]} is not a field on the way to {path}")
    if not is_bytes(array.type):
        raise ConfigError(f"{path} holds {array.type}, not records")
    tables, places = [record_schema(options.get("views", True)).empty_table()], []
    for place, value in enumerate(array):
        if value.is_valid:
            try:
                table = read_batches(value.as_buffer(), **options)
            except DecodeError as error:
                row = beside["row"][place].as_py()
                raise DecodeError(row, error.offset, path, error.code, error.reason) from None
            tables.append(table)
            places += [place] * len(table)
    records = pa.concat_tables(tables)
    taken = pa.array(places, pa.int64())
    columns = {name: beside[name].take(taken) for name in ("row", *keep)}
    for name in records.column_names:
        columns[name] = records[name]
    return pa.table(columns)


def _field(array: pa.Array, name: str, path: str) -> pa.Array:
    if not pa.types.is_struct(array.type) or array.type.get_field_index(name) < 0:
        raise ConfigError(f"there is no field {path}")
    return pc.struct_field(array, name)

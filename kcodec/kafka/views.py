"""Records whose keys and values are views of fetched batches: filtered and counted, where pyarrow does neither."""

import pyarrow as pa

_PYARROW = int(pa.__version__.partition(".")[0])


def filtered(records: pa.RecordBatch, mask: pa.Array) -> pa.RecordBatch:
    """Return the records for which a mask is true, as they are: with views of the same bytes.

    >>> records = pa.record_batch({"value": pa.array([b"a", b"b" * 20, None], pa.binary_view())})
    >>> filtered(records, pa.array([False, True, True])).to_pydict()
    {'value': [b'bbbbbbbbbbbbbbbbbbbb', None]}
    """
    arrays = [
        _filtered_views(column, mask) if column.type == pa.binary_view() else column.filter(mask)
        for column in records.columns
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=records.schema)


def size_of(records: pa.RecordBatch) -> int:
    """Return how many bytes the columns of records take; views count all that they share."""
    try:
        return records.nbytes
    except pa.ArrowTypeError:
        # Older ones of pyarrow do not count what views refer to.
        return records.get_total_buffer_size()


def _filtered_views(array: pa.Array, mask: pa.Array) -> pa.Array:
    # Arrow does not filter them, but values of 16 bytes, which they are. Before pyarrow 19 it does not take them back.
    if _PYARROW < 19:
        return array.cast(pa.binary()).filter(mask).cast(array.type)
    validity, views, *data = array.buffers()
    found = pa.Array.from_buffers(pa.binary(16), len(array), [validity, views], offset=array.offset)
    found = found.filter(mask)
    return pa.Array.from_buffers(array.type, len(found), [*found.buffers(), *data], offset=found.offset)

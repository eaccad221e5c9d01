"""The memory that is kept from one call to the next."""

from kcodec._impl import kernel


def release_unused() -> None:
    """Give memory that is kept for the next call back to pyarrow's pool.

    Columns and encoded values are written into memory of pyarrow's pool. Once the last array that uses it is gone, up
    to 64 MiB of it are kept for what is written next, since new memory can take as long to get as what is decoded
    into it. Small columns are copied out of where they were decoded, of which up to 40 MiB are kept for the next call;
    most of that is room which nothing has been written to. `pyarrow.total_allocated_bytes` counts what is kept. So
    this is for programs that measure, or that have done with kcodec for a while; `release_unused` of the pool then
    gives it back to the system.

    Examples
    --------
    >>> import pyarrow as pa
    >>> import kcodec
    >>> codec = kcodec.AvroCodec('"long"')
    >>> len(codec.encode(pa.array(range(100_000))))
    100000
    >>> kept = pa.total_allocated_bytes()
    >>> kcodec.release_unused()
    >>> pa.total_allocated_bytes() < kept
    True
    """
    for name in ("columns.built._memory", "columns.built._builder"):
        kernel(name, "native").release_unused()

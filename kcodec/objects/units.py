"""Units of times: what stands in a column, and what is written of it."""


def micros_each(unit: int, factor: int) -> int:
    """Return how many microseconds one of a written number is; negative where a microsecond is so many of them.

    Columns count `unit` in a second, and hold what is written times `factor`, as the nodes of plans have it.

    >>> micros_each(1_000_000, 1000), micros_each(1_000_000_000, 1)
    (1000, -1000)
    """
    written = unit // factor if factor > 0 else unit * -factor
    return 1_000_000 // written if written <= 1_000_000 else -(written // 1_000_000)

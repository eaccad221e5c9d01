"""Benchmarks of kcodec. ``KCODEC_BENCH_ROWS`` sets the rows of a column (default 20,000)."""

import os

#: Rows of a column, for most of them.
ROWS = int(os.environ.get("KCODEC_BENCH_ROWS", "20000"))

"""Benchmarks of kcodec. ``KCODEC_BENCH_ROWS`` sets the rows of a column (default 20,000)."""

"""What brings functions to Spark's Python workers, and what runs there around a codec."""

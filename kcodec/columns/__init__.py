"""Arrow memory: input columns as rows of bytes, output columns that grow in pyarrow's memory pool."""

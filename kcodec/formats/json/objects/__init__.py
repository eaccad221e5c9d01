"""JSON documents to Python objects, by the plans that columns are read by."""

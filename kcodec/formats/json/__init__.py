"""JSON documents, and the JSON engine that its dialects run on."""

"""Protocol Buffers: schemas, columns of messages, and their JSON form."""

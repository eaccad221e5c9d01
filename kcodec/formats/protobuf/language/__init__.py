"""The schema language: .proto texts and descriptors, to one syntax tree and back, and what the tree means."""

"""Records of a topic as rows of its statement and back."""

"""The seam between schema languages and those who store, frame and serve their schemas."""

"""What a subject demands of a new version."""

"""Python modules and pages made of message definitions."""

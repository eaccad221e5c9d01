"""What JVM systems do with values: numbers, text that is not UTF-8, JSON as Jackson reads and quotes it."""

"""ksqlDB's statements: their text, and what they say."""

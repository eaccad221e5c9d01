"""Tests with real services. A package, so that its classic Spark session ends with the last of them."""

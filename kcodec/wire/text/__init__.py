"""Single values as text for compiled code: UTF-8, numbers, times, base64, JSON."""

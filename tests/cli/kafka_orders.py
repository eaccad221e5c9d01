"""Rows that are in a topic where commands are tested."""

ORDER = {
    "type": "record",
    "name": "Order",
    "fields": [{"name": "id", "type": "long"}, {"name": "note", "type": ["null", "string"], "default": None}],
}
ROWS = [{"id": 1, "note": "ä"}, {"id": 2, "note": None}, {"id": 3, "note": "z"}]

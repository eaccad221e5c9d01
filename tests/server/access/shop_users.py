"""What each user of the shop may do."""

from kcodec.server.access.passwords import hashed

#: Everybody's password.
KEPT = hashed("secret")
GRANTS = [
    {"role": "admin", "users": ["root"]},
    {"role": "write", "users": ["shop"], "groups": ["team"], "subjects": ["orders-*", ":.lab:*"]},
    {"role": "read", "users": ["shop"], "subjects": ["common"]},
    {"role": "admin", "users": ["owner"], "subjects": ["orders-*"]},
    {"role": "read", "users": ["reader"]},
]

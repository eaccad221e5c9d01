"""The users of the shop: what each may do, and how each logs in."""

import base64

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


def basic(user, password="secret"):
    return {"authorization": "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()}

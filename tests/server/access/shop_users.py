"""The users of the shop: what each may do, and how each logs in."""

import base64

#: What is kept of everybody's password, at the least cost: trying it takes no time.
KEPT = "scrypt:1:1:1:AAAAAAAAAAAAAAAAAAAAAA==:NiUss+Ui7BmDduiM3yCR2oCf629FD+1j+oOf6rio8E4="
GRANTS = [
    {"role": "admin", "users": ["root"]},
    {"role": "write", "users": ["shop"], "groups": ["team"], "subjects": ["orders-*", ":.lab:*"]},
    {"role": "read", "users": ["shop"], "subjects": ["common"]},
    {"role": "admin", "users": ["owner"], "subjects": ["orders-*"]},
    {"role": "read", "users": ["reader"]},
]


def basic(user, password="secret"):
    return {"authorization": "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()}

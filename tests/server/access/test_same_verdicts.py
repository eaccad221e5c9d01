"""What a user may do is the same by the pages and by the calls of the API."""

from urllib.parse import quote, urlencode

import pytest
from asked import Asked
from shop_users import basic

from kcodec.registry import Config, Reference, Schema
from kcodec.registry.memory import MemoryRegistry

TOKEN = "t" * 32
FORM_HEADERS = {
    "content-type": "application/x-www-form-urlencoded",
    "cookie": f"kcodec_page={TOKEN}",
    "host": "registry:8081",
    "origin": "http://registry:8081",
    "sec-fetch-site": "same-origin",
}

USERS = ("root", "owner", "shop", "reader", "nobody", None)
SUBJECTS = ("orders-value", "common", ":.lab:x")
#: A schema that each of the subjects has, and one that needs another subject.
PLAIN = {"schema": '"long"'}
NEEDS = {"schema": '"h"', "references": [{"name": "h", "subject": ":.:hidden", "version": 1}]}
NEEDS_FORM = {
    "schema": '"h"',
    "reference_name": "h",
    "reference_subject": ":.:hidden",
    "reference_version": "1",
}

#: What is done with a subject: the page and its fields (sent as a form, if the name of the page begins with +), and the
#: call that does the same, and its body.
ACTS = {
    "list versions": ("subject", {}, "GET /subjects/{}/versions", None),
    "read": ("version", {"version": 1}, "GET /subjects/{}/versions/1", None),
    "read the text": ("text", {"version": 1}, "GET /subjects/{}/versions/1/schema", None),
    "resolve": (
        "text",
        {"version": 2, "form": "resolved"},
        "GET /subjects/{}/versions/2?format=resolved",
        None,
    ),
    "read settings": ("settings", {}, "GET /config/{}?defaultToGlobal=true", None),
    "read changes": ("changes", {}, "GET /kcodec/v1/changes?subject={}", None),
    "look up": ("+check", PLAIN, "POST /subjects/{}", PLAIN),
    "look up what needs more": ("+check", NEEDS_FORM, "POST /subjects/{}", NEEDS),
    "register": ("+check", {**PLAIN, "action": "register"}, "POST /subjects/{}/versions", PLAIN),
    "register what needs more": (
        "+check",
        {**NEEDS_FORM, "action": "register"},
        "POST /subjects/{}/versions",
        NEEDS,
    ),
    "delete a version": ("+delete", {"version": 1}, "DELETE /subjects/{}/versions/1", None),
    "delete a version for good": (
        "+delete",
        {"version": 1, "permanent": 1},
        "DELETE /subjects/{}/versions/1?permanent=true",
        None,
    ),
    "delete all": ("+delete", {}, "DELETE /subjects/{}", None),
    "delete all for good": ("+delete", {"permanent": 1}, "DELETE /subjects/{}?permanent=true", None),
    "set": ("+settings", {"compatibility": "NONE"}, "PUT /config/{}", {"compatibility": "NONE"}),
    "set an alias": ("+settings", {"alias": "hidden"}, "PUT /config/{}", {"alias": "hidden"}),
    "set the mode": ("+settings", {"what": "mode", "mode": "IMPORT"}, "PUT /mode/{}", {"mode": "IMPORT"}),
    "clear the mode": ("+settings", {"what": "mode"}, "DELETE /mode/{}", None),
}


def filled():
    registry = MemoryRegistry()
    registry.register("hidden", Schema('{"type": "record", "name": "h", "fields": []}'))
    for subject in SUBJECTS:
        registry.set_config(Config("NONE"), subject)
        registry.register(subject, Schema('"long"'))
        registry.register(subject, Schema('"h"', references=(Reference("h", ":.:hidden", 1),)))
    return registry


def by_page(ask, page, fields, subject, user):
    """The status of what a page answers."""
    fields = {"name" if page == "subject" else "subject": subject, **fields}
    if not page.startswith("+"):
        return ask("GET", f"/ui/{page}?{urlencode(fields)}", headers=user).status
    body = urlencode({**fields, "type": "AVRO", "token": TOKEN}).encode()
    return ask("POST", f"/ui/{page[1:]}", body, headers={**FORM_HEADERS, **user}).status


def by_call(ask, call, body, subject, user):
    """The status of what a call of the API answers."""
    method, target = call.format(quote(subject, safe="")).split()
    return ask(method, target, body, headers=user).status


@pytest.mark.parametrize("act", ACTS)
def test_pages_and_calls_let_a_user_do_the_same(file, act):
    page, fields, call, body = ACTS[act]
    allowed = {}
    asked = None
    for user in USERS:
        for subject in SUBJECTS:
            statuses = []
            for ask_for, what, given in ((by_page, page, fields), (by_call, call, body)):
                asked = asked or Asked(filled(), access=file())
                statuses.append(ask_for(asked, what, given, subject, basic(user) if user else {}))
                if statuses[-1] not in (401, 403) and not call.startswith("GET"):
                    # It may have changed something.
                    asked.close()
                    asked = None
            verdicts = {status not in (401, 403) for status in statuses}
            assert len(verdicts) == 1, (user, subject, statuses)
            allowed[user, subject] = verdicts.pop()
    if asked is not None:
        asked.close()
    assert [allowed[user, "common"] for user in ("root", "nobody", None)] == [True, False, False]

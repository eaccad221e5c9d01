"""The call that lists changes: who may ask for which, and how they are written."""

import json
import re

import pytest
from asked import Asked
from shop_users import KEPT, basic

from kcodec.registry import Schema
from kcodec.registry.memory import MemoryRegistry
from kcodec.registry.sqlite import SqliteRegistry

PATH = "/kcodec/v1/changes"
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
GRANTS = [
    {"role": "admin", "users": ["root"]},
    {"role": "write", "users": ["shop"]},
    {"role": "admin", "users": ["owner"], "subjects": ["orders-*"]},
]


@pytest.fixture(params=[MemoryRegistry, SqliteRegistry])
def guarded(request, tmp_path):
    users = dict.fromkeys(("root", "shop", "owner", "nobody"), KEPT)
    path = tmp_path / "access.json"
    path.write_text(json.dumps({"users": users, "grants": GRANTS}))
    registry = request.param(*([str(tmp_path / "schemas.db")] if request.param is SqliteRegistry else []))
    asked = Asked(registry, access=str(path))
    yield asked
    asked.close()


def listed(ask, query="", **more):
    answer = ask("GET", f"{PATH}{query}", **more)
    assert answer.status == 200, answer.data
    return [(each["number"], each["user"], each["action"], each["subject"]) for each in answer.json]


def test_who_did_what(guarded):
    body = {"schema": '"int"'}
    assert guarded("POST", "/subjects/orders-value/versions", body, basic("shop")).status == 200
    assert guarded("PUT", "/config/orders-value", {"compatibility": "FULL"}, basic("owner")).status == 200
    assert guarded("PUT", "/mode", {"mode": "READONLY"}, basic("root")).status == 200
    assert guarded("DELETE", "/subjects/orders-value", headers=basic("shop")).status == 422
    found = guarded("GET", PATH, headers=basic("root")).json
    for each in found:
        assert MOMENT.fullmatch(each.pop("time"))
    assert found == [
        {
            "number": 3,
            "user": "root",
            "action": "set_mode",
            "subject": None,
            "version": None,
            "detail": {"mode": "READONLY", "force": False},
        },
        {
            "number": 2,
            "user": "owner",
            "action": "set_config",
            "subject": "orders-value",
            "version": None,
            "detail": {"set": {"compatibility": "FULL"}},
        },
        {
            "number": 1,
            "user": "shop",
            "action": "register",
            "subject": "orders-value",
            "version": 1,
            "detail": {"id": 1},
        },
    ]


def test_administrators_see_changes_of_what_is_theirs(guarded):
    guarded.registry.register("orders-value", Schema('"int"'))
    guarded.registry.register("hidden", Schema('"int"'))
    assert len(listed(guarded, headers=basic("root"))) == 2
    assert listed(guarded, "?subject=orders-value", headers=basic("owner")) == [
        (1, None, "register", "orders-value")
    ]
    for user, query in (("owner", ""), ("owner", "?subject=hidden"), ("shop", "?subject=orders-value")):
        status, code, message = guarded("GET", f"{PATH}{query}", headers=basic(user)).fault
        assert (status, code) == (403, 40301)
        assert message.startswith(f"User {user} is denied operation admin on ")
    assert guarded("GET", PATH).fault == (401, 40101, "Unauthorized")
    assert guarded("POST", PATH, headers=basic("root")).status == 405


def test_pages_of_changes(ask):
    for number in range(5):
        ask.register(f"s{number}")
    numbers = [5, 4, 3, 2, 1]
    assert [each[0] for each in listed(ask)] == numbers
    assert [each[0] for each in listed(ask, "?limit=2")] == numbers[:2]
    assert [each[0] for each in listed(ask, "?limit=2&before=4")] == [3, 2]
    assert [each[0] for each in listed(ask, "?limit=2&offset=3")] == numbers[3:]
    assert [each[0] for each in listed(ask, "?limit=0&offset=-1&before=0")] == numbers
    assert [each[0] for each in listed(ask, "?limit=2000000")] == numbers
    assert listed(ask, "?subject=s2&action=register&user=") == [(3, None, "register", "s2")]
    assert listed(ask, "?user=nobody") == listed(ask, "?action=delete_kek") == []
    status, code, message = ask("GET", f"{PATH}?action=drop").fault
    assert (status, code) == (400, 400)
    assert message.startswith("The action 'drop' is none of register, delete_version, ")
    assert ask("GET", f"{PATH}?limit=many").status == 404


def test_a_path_in_a_context_means_its_subjects(ask):
    ask("POST", "/contexts/.lab/subjects/a/versions", {"schema": '"int"'})
    ask.register("a")
    assert listed(ask, "?subject=:.lab:a") == [(1, None, "register", ":.lab:a")]
    answer = ask("GET", f"/contexts/.lab{PATH}?subject=a")
    assert [each["subject"] for each in answer.json] == [":.lab:a"]


def test_changes_of_a_page_are_its_users(guarded):
    page = guarded("GET", "/ui/check", headers=basic("shop"))
    token = re.search(rb'name="token" value="([^"]+)"', page.data)[1].decode()
    headers = {
        "content-type": "application/x-www-form-urlencoded",
        "cookie": page.headers["set-cookie"].partition(";")[0],
        **basic("shop"),
    }
    form = f"action=register&subject=a&type=AVRO&schema=%22int%22&token={token}".encode()
    assert guarded("POST", "/ui/check", form, headers).status == 303
    assert listed(guarded, headers=basic("root")) == [(1, "shop", "register", "a")]
    # Who may administer sees the page and the way there, others the names of authors alone.
    root = guarded("GET", "/ui/changes", headers=basic("root"))
    assert (root.status, b"<bdi>shop</bdi>" in root.data) == (200, True)
    assert guarded("GET", "/ui/changes", headers=basic("shop")).status == 403
    shown = guarded("GET", "/ui/version?subject=a&version=1", headers=basic("shop")).data
    assert b"<bdi>shop</bdi>" in shown
    assert b'href="changes' not in shown


def test_an_answer_is_not_kept_beyond_a_change(ask):
    ask.register("a")
    assert len(listed(ask)) == len(listed(ask)) == 1
    ask.register("b")
    assert len(listed(ask)) == 2
